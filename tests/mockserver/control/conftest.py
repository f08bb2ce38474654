"""A bench in this process: a service, its control, and the interface asked as a browser would."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from wafermock.mockserver.control.control import Control, Observed
from wafermock.mockserver.control.entry import PLAIN, Why
from wafermock.mockserver.exchange import Answer, Request
from wafermock.mockserver.mock import Mock
from wafermock.mockserver.service import Service, Turn

KEY = "csk-0123456789abcdefghij"
LOOPBACK = "127.0.0.1"
HOST = "127.0.0.1:4010"


@dataclass(frozen=True)
class Bench:
    """A mock under control."""

    service: Service
    control: Control

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: str = "",
        headers: dict[str, str] | None = None,
        remote: str | None = LOOPBACK,
    ) -> Answer:
        """Ask the control interface. A body that is no text goes as JSON."""
        raw = (
            b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        )
        given = {"host": HOST}
        if body is not None:
            given["content-type"] = "application/json"
        full = path if path == "/metrics" else f"/__wafermock__{path}"
        request = Request(method, full, query, given | (headers or {}), raw)
        return self.control.interface.answer(request, remote)

    def get(self, path: str, **more: Any) -> Any:
        """Return what a GET answers, which must go well."""
        answer = self.ask("GET", path, **more)
        assert answer.status == 200, answer.body
        return json.loads(answer.body)

    def do(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """Return what another method answers, which must go well."""
        answer = self.ask(method, path, body, **more)
        assert answer.status in (200, 201), answer.body
        return json.loads(answer.body)

    def call(
        self,
        body: Any = None,
        *,
        path: str = "/v1/chat/completions",
        headers: dict[str, str] | None = None,
        scope: str = "",
        why: Why = PLAIN,
        method: str = "POST",
        query: str = "",
        answer: Answer | None = None,
    ) -> Observed:
        """Send a call to the mock and observe it; it is in flight."""
        data = body if body is not None else chat("Hello!")
        raw = data if isinstance(data, bytes) else json.dumps(data).encode()
        given = {"authorization": f"Bearer {KEY}", "content-type": "application/json", "host": HOST}
        full = f"/t/{quote(scope, safe='')}{path}" if scope else path
        request = Request(method, full, query, given | (headers or {}), raw)
        given_answer = answer or self.service.begin(request).answer
        return self.control.note(request, _turn(given_answer, why, scope))


def _turn(answer: Answer, why: Why, scope: str) -> Turn:
    """A turn with this answer, given for these reasons."""
    nearest = tuple((miss.rule, miss.differences) for miss in why.nearest)
    acting: Any = None
    if why.in_play:
        defects = (why.defect,) if why.defect else ()
        acting = SimpleNamespace(delivery=why.delivery, failure=why.failure, defects=defects)
    return Turn(replace(answer, rule=why.rule, nearest=nearest), acting=acting, scope=scope)


def chat(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": text}], **more}


@pytest.fixture(scope="session")
def say() -> Callable[..., dict[str, Any]]:
    """`say("Hello!", stream=True)`: the body of a chat request."""
    return chat


@pytest.fixture
def make_bench(make_mock: Callable[..., Mock]) -> Callable[..., Bench]:
    """`make_bench(entries=10)`: a bench with options of Control."""

    def make(**options: Any) -> Bench:
        service = Service(make_mock())
        return Bench(service, Control(service, **options))

    return make


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    return make_bench()
