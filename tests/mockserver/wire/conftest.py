"""A small server that performs plans, and a client that sees every byte of them, and when."""

import asyncio
import json
import logging
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pytest
from aiohttp import web

from wafermock.mockserver.clock import Clock
from wafermock.mockserver.draws import Draws
from wafermock.mockserver.exchange import Answer
from wafermock.mockserver.wire import DEFECTS, DELIVERIES, Catalogue, Plan, failure_catalogue, plan
from wafermock.mockserver.wire.perform import perform

PATIENCE = 10


class Stage:
    """Performs plans on 127.0.0.1, by their number in `x-plan`. Its clock is a manual one."""

    def __init__(self) -> None:
        self.clock = Clock("manual")
        self.plans: list[Plan] = []
        self.outcomes: list[str] = []
        self.over = threading.Semaphore(0)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        server = web.Server(self._handle, handler_cancellation=True, access_log=None)
        runner = web.ServerRunner(server, shutdown_timeout=1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        await request.read()
        watch = self.clock.stopwatch()
        outcome = "done"
        try:
            return await perform(request, self.plans[int(request.headers["x-plan"])], watch)
        except BaseException as error:
            outcome = type(error).__name__
            raise
        finally:
            self.outcomes.append(outcome)
            self.over.release()

    def __enter__(self) -> "Stage":
        self._thread.start()
        assert self._ready.wait(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def add(self, made: Plan) -> str:
        """Take a plan; returns its number, for the header `x-plan`."""
        self.plans.append(made)
        return str(len(self.plans) - 1)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE)

    def ask(self, made: Plan, method: str = "POST") -> bytes:
        """Return a request that is answered by a plan."""
        return (
            f"{method} /v1 HTTP/1.1\r\nHost: localhost\r\nx-plan: {self.add(made)}\r\n"
            f"Content-Length: 0\r\n\r\n"
        ).encode()

    def watch(self, made: Plan) -> "Seen":
        """Perform a plan whose connection ends, and return what came, and when."""
        seen = Seen()
        times = sorted({*(w.offset for w in made.wire()), made.end} - {0.0})
        with closing(self.connect()) as connection:
            connection.sendall(self.ask(made))
            now = 0.0
            for time in times:
                assert self.clock.until_waiting()
                seen.take(connection, now, waiting=False)
                self.clock.advance(time - now)
                now = time
            seen.take(connection, now, waiting=True)
        assert self.over.acquire(timeout=PATIENCE)
        return seen


class Fields(dict[str, str]):
    """Headers by name; one that is not there is empty."""

    def __missing__(self, name: str) -> str:
        return ""


def data_of(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {}


@dataclass
class Seen:
    """What came over a connection: pieces with their times, and how it ended."""

    pieces: list[tuple[float, bytes]] = field(default_factory=list)
    ended: str = "open"

    def take(self, connection: socket.socket, now: float, *, waiting: bool) -> None:
        connection.settimeout(PATIENCE if waiting else 0.0)
        try:
            while data := connection.recv(65536):
                self.pieces.append((now, data))
            self.ended = "closed"
        except BlockingIOError:
            pass
        except ConnectionResetError:
            self.ended = "reset"

    @cached_property
    def raw(self) -> bytes:
        return b"".join(data for _, data in self.pieces)

    def at(self, time: float) -> bytes:
        """What had come by a time."""
        return b"".join(data for when, data in self.pieces if when <= time)

    @property
    def status(self) -> int:
        return int(self.raw.split(b" ", 2)[1])

    @property
    def version(self) -> bytes:
        return self.raw[:8]

    @cached_property
    def fields(self) -> list[tuple[str, str]]:
        head = self.raw.partition(b"\r\n\r\n")[0].decode()
        pairs = [line.partition(":") for line in head.split("\r\n")[1:]]
        return [(name, value.strip()) for name, _, value in pairs]

    @cached_property
    def headers(self) -> "Fields":
        return Fields((name.lower(), value) for name, value in self.fields)

    @cached_property
    def _body(self) -> tuple[bytes, list[bytes], bool]:
        """The body, its chunks, and whether it is whole by the rules of HTTP."""
        rest = self.raw.partition(b"\r\n\r\n")[2]
        if self.headers["transfer-encoding"] != "chunked":
            length = self.headers["content-length"]
            return rest, [rest], not length or int(length) == len(rest)
        chunks: list[bytes] = []
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            if int(size, 16) == 0:
                return b"".join(chunks), chunks, rest == b"\r\n"
            chunks.append(rest[: int(size, 16)])
            assert rest[int(size, 16) :].startswith(b"\r\n"), "a torn chunk"
            rest = rest[int(size, 16) + 2 :]
        return b"".join(chunks), chunks, False

    @property
    def body(self) -> bytes:
        return self._body[0]

    @property
    def chunks(self) -> list[bytes]:
        return self._body[1]

    @property
    def whole(self) -> bool:
        return self._body[2]

    @property
    def value(self) -> Any:
        """The JSON of the body; an empty object where it is none."""
        return data_of(self.body)

    @property
    def last(self) -> Any:
        """The JSON of the last event, as `value`."""
        return data_of(self.events[-1]["data"]) if self.events else {}

    @cached_property
    def events(self) -> list[dict[str, str]]:
        """The events of the body, as WHATWG HTML, section 9.2.6 reads them."""
        text = self.body.decode("utf-8").removeprefix("\ufeff")
        events: list[dict[str, str]] = []
        event: dict[str, str] = {}
        data: list[str] = []
        for line in re.split("\r\n|\n|\r", text)[:-1]:
            if not line:
                if data:
                    events.append({**event, "data": "\n".join(data)})
                event, data = {}, []
                continue
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data":
                data.append(value)
            elif name:
                event[name] = value
        return events

    @property
    def values(self) -> list[Any]:
        """The JSON of the events; `[DONE]` and what is no JSON as texts."""
        found = []
        for event in self.events:
            try:
                found.append(json.loads(event["data"]))
            except ValueError:
                found.append(event["data"])
        return found

    @property
    def completions(self) -> list[dict[str, Any]]:
        """Every chunk of a stream, or the whole answer alone."""
        is_stream = self.headers["content-type"].startswith("text/event-stream")
        values = self.values if is_stream else [self.value]
        return [v for v in values if isinstance(v, dict) and "choices" in v]

    @property
    def choices(self) -> list[dict[str, Any]]:
        return [choice for value in self.completions for choice in value["choices"]]

    @property
    def calls(self) -> list[dict[str, Any]]:
        return [
            call
            for choice in self.choices
            for call in (choice.get("delta") or choice.get("message") or {}).get("tool_calls", ())
        ]

    @property
    def text(self) -> str:
        """All words of the first choice."""
        parts = [
            (c.get("delta") or c.get("message") or c).get("content") or c.get("text") or ""
            for c in self.choices
            if c["index"] == 0
        ]
        return "".join(parts)

    @property
    def arguments(self) -> list[str]:
        """The arguments of each tool call, assembled."""
        joined: dict[int, str] = {}
        for at, call in enumerate(self.calls):
            index = call.get("index", at)
            joined[index] = joined.get(index, "") + call["function"]["arguments"]
        return list(joined.values())

    @property
    def usage(self) -> dict[str, Any]:
        return next(v["usage"] for v in reversed(self.completions) if "usage" in v)


# ---------------------------------------------------------------------- what is asked

TEXT = "Zeig mir 漢字, é und 🙂!"
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "unit": {"type": "string"}},
            "required": ["city", "unit"],
            "additionalProperties": False,
        },
    },
}
FORMAT = {
    "type": "json_schema",
    "json_schema": {
        "name": "answer",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "count": {"type": "integer"}},
            "required": ["city", "count"],
            "additionalProperties": False,
        },
    },
}
CHAT = {
    "model": "gpt-oss-120b",
    "messages": [{"role": "user", "content": "Say something long about rivers."}],
    "max_completion_tokens": 60,
    "reasoning_effort": "low",
}
ECHO = {"model": "gpt-oss-120b", "prompt": TEXT, "echo": True, "max_tokens": 20}
TOOLS = {**CHAT, "tools": [WEATHER], "tool_choice": "required", "max_completion_tokens": 200}
CHAT_PATH, TEXT_PATH = "/v1/chat/completions", "/v1/completions"
# By a name for each: where it is asked, and what.
ASKED: dict[str, tuple[str, Any]] = {
    "chat": (CHAT_PATH, CHAT),
    "chat stream": (CHAT_PATH, {**CHAT, "stream": True}),
    "text": (TEXT_PATH, ECHO),
    "text stream": (TEXT_PATH, {**ECHO, "stream": True}),
    "two": (CHAT_PATH, {**CHAT, "n": 2}),
    "two stream": (CHAT_PATH, {**CHAT, "n": 2, "stream": True}),
    "tools": (CHAT_PATH, TOOLS),
    "tools stream": (CHAT_PATH, {**TOOLS, "stream": True}),
    "tools whole stream": (CHAT_PATH, {**TOOLS, "model": "zai-glm-4.7", "stream": True,
                                       "reasoning_effort": None}),
    "json": (CHAT_PATH, {**CHAT, "response_format": FORMAT, "max_completion_tokens": 300}),
    "json stream": (CHAT_PATH, {**CHAT, "response_format": FORMAT, "stream": True,
                                "max_completion_tokens": 300}),
    "logprobs": (CHAT_PATH, {**CHAT, "logprobs": True, "top_logprobs": 3}),
    "logprobs stream": (CHAT_PATH, {**CHAT, "logprobs": True, "top_logprobs": 3, "stream": True}),
    "tier": (CHAT_PATH, {**CHAT, "service_tier": "auto"}),
    "text logprobs": (TEXT_PATH, {**ECHO, "logprobs": 2}),
    "latin": (TEXT_PATH, {**ECHO, "prompt": "Één café"}),
    "error": (CHAT_PATH, {"model": "gpt-oss-120b"}),
}  # fmt: skip


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


@pytest.fixture(autouse=True)
def silence(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing of this is worth a word in a log."""
    yield
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


@pytest.fixture(scope="session")
def answers(make_mock: Any, ask: Any) -> Callable[[str], Answer]:
    """`answers("chat stream")`: the real answer of the mock to a request of that name."""
    mock = make_mock("observed", models="strict", api_key="key")
    made = {name: ask(mock, path, body) for name, (path, body) in ASKED.items()}
    assert {a.status for name, a in made.items() if name != "error"} == {200}
    return made.__getitem__


@pytest.fixture(scope="session")
def failures(contract: Any) -> Catalogue:
    return failure_catalogue(contract("observed").errors)


@pytest.fixture(scope="session")
def planned(failures: Catalogue, answers: Any) -> Callable[..., Plan]:
    """`planned("chat stream", failure="stall:after=2")`: the plan of a connection that ends."""

    def make(
        answer: str | Answer,
        *,
        delivery: str | None = None,
        failure: str | None = None,
        defects: tuple[str, ...] = (),
        **more: Any,
    ) -> Plan:
        given = answers(answer) if isinstance(answer, str) else answer
        return plan(
            given,
            delivery=None if delivery is None else DELIVERIES.parse(delivery),
            failure=None if failure is None else failures.parse(failure),
            defects=[DEFECTS.parse(text) for text in defects],
            draws=Draws("test"),
            **{"keep_alive": False, **more},
        )

    return make


@pytest.fixture(scope="session")
def seen(stage: Stage, planned: Callable[..., Plan]) -> Callable[..., Seen]:
    """`seen("chat stream", failure="stall")`: what came over a socket, and when."""
    return lambda *arguments, **more: stage.watch(planned(*arguments, **more))


@pytest.fixture(scope="session")
def clients(stage: Stage) -> Iterator[dict[str, Any]]:
    from cerebras.cloud.sdk import Cerebras
    from openai import OpenAI

    options: dict[str, Any] = {"api_key": "key", "max_retries": 0}
    with (
        Cerebras(base_url=stage.url, warm_tcp_connection=False, **options) as cerebras,
        OpenAI(base_url=f"{stage.url}/v1", **options) as openai,
    ):
        yield {"cerebras": cerebras, "openai": openai}
