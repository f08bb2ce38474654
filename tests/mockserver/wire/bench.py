"""The real server in a thread, its clock moved by hand, and a plain socket to it."""

import asyncio
import socket
import threading
from contextlib import closing

from wafermock.mockserver.clock import FROZEN_TIME, Clock
from wafermock.mockserver.draws import Draws
from wafermock.mockserver.exchange import Request
from wafermock.mockserver.mock import Mock
from wafermock.mockserver.script import ScriptState
from wafermock.mockserver.server import HttpServer
from wafermock.mockserver.service import Service
from wafermock.mockserver.wire import Catalogue, plan

from .asked import named, wired
from .seen import PATIENCE, Seen


class Bench:
    """Answers over a socket; `hung_up` is released whenever a client has left a stream."""

    def __init__(self, mock: Mock, catalogues: dict[str, Catalogue]) -> None:
        self.mock = mock
        self.catalogues = catalogues
        self.clock = Clock("manual")
        self.service = Service(mock, self.clock)
        self.hung_up = threading.Semaphore(0)
        self._left, self.service.left = self.service.left, self._note  # type: ignore[method-assign]
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def _note(self, scope: str) -> None:
        self._left(scope)
        self.hung_up.release()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = HttpServer(self.service, grace=1)
        await server.start()
        self._port = server.port
        self._ready.set()
        await self._stop.wait()
        await server.stop()

    def __enter__(self) -> "Bench":
        self._thread.start()
        assert self._ready.wait(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self._port), PATIENCE)

    def get(
        self,
        asked: str | Request,
        kind: str = "",
        text: str = "",
        *,
        by_header: bool = True,
        headers: dict[str, str] | None = None,
    ) -> Seen:
        """Ask, and return all bytes that come, and when they came.

        The entry named is chosen by header here; else it has been chosen for this call already.
        """
        request = named(asked)
        chosen = {f"x-wafermock-{kind}": text} if kind and by_header else {}
        self.clock.set(FROZEN_TIME)  # what passes below is no part of any answer
        seen, now = Seen(method=request.method), 0.0
        with closing(self.connect()) as connection:
            connection.sendall(wired(request, **chosen, **(headers or {})))
            for time in self._times(request, kind, text):
                assert self.clock.until_waiting()
                seen.take(connection, now, waiting=False)
                self.clock.advance(time - now)
                now = time
            seen.take(connection, now, waiting=True)
        return seen

    def _times(self, request: Request, kind: str, text: str) -> list[float]:
        """Return when the server will wait: a plan of the same answer has the same times."""
        chosen = self.catalogues[kind].parse(text) if kind else None
        made = plan(
            self._twin().answer(request),
            method=request.method,
            delivery=chosen if kind == "delivery" else None,
            failure=chosen if kind == "failure" else None,
            defects=[chosen] if chosen and kind == "defect" else [],
            draws=Draws("times"),
        )
        return sorted({*(write.offset for write in made.wire()), made.end} - {0.0})

    def _twin(self) -> Mock:
        """Return a mock that says the same, and whose script counts for itself."""
        mock, script = self.mock, self.mock.script
        return Mock(mock.contract, mock.settings, ScriptState(script.script) if script else None)

    def hang_up(self, asked: str | Request) -> None:
        """Ask for a stream, leave in the midst of it, and wait until the server has noticed."""
        with closing(self.connect()) as connection:
            stalled = {"x-wafermock-failure": "stall:after=1,seconds=1h"}
            connection.sendall(wired(named(asked), **stalled))
            assert self.clock.until_waiting()
            assert b"data: " in connection.recv(65536)
        assert self.hung_up.acquire(timeout=PATIENCE)
