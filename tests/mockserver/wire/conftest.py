"""A small server that performs plans, and a client that sees every byte of them, and when."""

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from aiohttp import web

from wafermock.mockserver.clock import Clock
from wafermock.mockserver.draws import Draws
from wafermock.mockserver.exchange import Answer
from wafermock.mockserver.mock import Mock
from wafermock.mockserver.script import Script, ScriptState
from wafermock.mockserver.wire import DEFECTS, DELIVERIES, Catalogue, Plan, failure_catalogue, plan
from wafermock.mockserver.wire.perform import perform

from .asked import ASKED
from .seen import PATIENCE, Seen


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
def slow_mock(make_mock: Any, contract: Any, tmp_path_factory: pytest.TempPathFactory) -> Mock:
    """A mock that takes its time for those who ask it to speak slowly, and for nobody else."""
    script = tmp_path_factory.mktemp("script") / "slow.yaml"
    script.write_text(
        "rules:\n"
        "  - match: {last: {contains: slowly}}\n"
        "    reply: {pace: {ttft: 1s, tokens_per_second: 10}}\n"
    )
    mock: Mock = make_mock("observed", models="strict", api_key="key", max_body=100_000)
    mock.script = ScriptState(Script.load([script], contract("observed")))
    return mock


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
