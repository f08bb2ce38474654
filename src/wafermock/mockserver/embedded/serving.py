"""The socket: one server in a thread with an event loop of its own, for all spaces."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from wafermock.spec.errors import ErrorEntry

from ..refusal import Refusal
from ..scope import split_scope
from ..server import HttpServer
from ..service import Service, Turn

if TYPE_CHECKING:
    from .. import web
    from ..acting import Early
    from ..exchange import Request
    from .bench import Bench

# How long streams in flight may take to end, in seconds: nobody reads them any more.
GRACE = 0.2

# How long a start or a stop may take before something is wrong, in seconds.
LONGEST = 30.0

# A request came to a space that is there no more.
CLOSED = ErrorEntry(
    name="space_closed",
    status=404,
    shape="flat",
    type="not_found_error",
    param="space",
    code="space_closed",
    message="The space {space!r} is closed: the test that it belongs to is over.",
    when="A client goes on after its test, or was given the URL of another test.",
    source="wafermock",
    assumed=True,
)


class Spaces:
    """The spaces of a server by name. Any thread may open and close."""

    def __init__(self, home: Bench) -> None:
        self.home = home
        # A space has a server without a socket: it handles a request just as one with a socket.
        self.servers: dict[str, HttpServer] = {}
        self._open: dict[str, Bench] = {}
        self._closed: set[str] = set()

    def open(self, name: str, bench: Bench) -> None:
        """Put a space there. Raises ValueError: there is one of that name, or has been."""
        if name in self._open or name in self._closed:
            raise ValueError(f"there is a space {name!r} already")
        self._open[name] = bench

    def close(self, name: str) -> None:
        """Answer nobody there any more."""
        self._closed.add(name)
        self._open.pop(name, None)
        self.servers.pop(name, None)

    def find(self, name: str) -> Bench | None:
        """Return the bench of a space; None: there is none of that name."""
        return self._open.get(name)

    def is_closed(self, name: str) -> bool:
        """Say whether there has been a space of that name."""
        return name in self._closed

    @property
    def benches(self) -> list[Bench]:
        """All that are open, the home first."""
        return [self.home, *self._open.values()]


class _ClosedService(Service):
    """Tells whoever calls a closed space that it is closed."""

    def begin(self, request: Request, early: Early | None = None) -> Turn:
        refusal = Refusal(CLOSED, space=split_scope(request.path)[0])
        refusal.headers["x-should-retry"] = "false"
        return Turn(self.mock.refuse(refusal, request))

    def at_head(self, head: Request) -> Early | None:
        return None


class SpacesServer(HttpServer):
    """A server that lets each space answer its own requests; others are the home's."""

    def __init__(self, spaces: Spaces, host: str, port: int) -> None:
        home = spaces.home
        super().__init__(home.service, host, port, GRACE, home.control)
        self._spaces = spaces
        spaces.servers.clear()  # those of another event loop, if it ran before
        self._over = HttpServer(_ClosedService(home.service.mock))

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        name = split_scope(request.raw_path.partition("?")[0])[0]
        if not name:
            return await super().handle(request)
        server = self._spaces.servers.get(name) or self._opened(name)
        if server is not None:
            return await server.handle(request)
        if self._spaces.is_closed(name):
            return await self._over.handle(request)
        return await super().handle(request)

    def _opened(self, name: str) -> HttpServer | None:
        bench = self._spaces.find(name)
        if bench is None:
            return None
        server = self._spaces.servers[name] = HttpServer(bench.service, control=bench.control)
        return server

    async def stop(self) -> None:
        """Drop what is held in every space, then close."""
        for bench in self._spaces.benches:
            bench.control.close()
        await super().stop()


class Server(Protocol):
    """What can run in a thread: it has an address once it has started."""

    @property
    def url(self) -> str: ...
    async def start(self) -> None: ...
    async def stop(self) -> None: ...


class ServerThread:
    """A server running in a thread. `start`, then `address`; `stop`. Both may be called again.

    `make` makes the server, in the event loop that it runs in; `name` is the thread's.
    """

    def __init__(self, make: Callable[[], Server], name: str = "wafermock") -> None:
        self._make = make
        self._name = name
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._address = ""
        self._error: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None

    @property
    def is_running(self) -> bool:
        return self._thread is not None

    @property
    def address(self) -> str:
        """The address without a path. Raises RuntimeError while the server does not run."""
        __tracebackhide__ = True
        if not self.is_running:
            raise RuntimeError("the mock server does not run; write `with MockServer() as mock:`")
        return self._address

    def start(self) -> None:
        """Listen. Raises OSError when the address cannot be had, RuntimeError: it runs already."""
        __tracebackhide__ = True
        with self._lock:
            if self._thread is not None:
                raise RuntimeError("the mock server runs already")
            ready = threading.Event()
            self._error = None
            # A daemon, so that a server which nobody stops does not keep the interpreter alive.
            thread = threading.Thread(target=self._run, args=(ready,), name=self._name, daemon=True)
            thread.start()
            if not ready.wait(LONGEST):
                raise TimeoutError(f"the mock server did not start within {LONGEST:g} s")
            if self._error is not None:
                thread.join()
                # Where in the thread it was raised says nothing to who wants an address.
                raise self._error.with_traceback(None)
            self._thread = thread
            atexit.register(self.stop)

    def stop(self) -> None:
        """Close all connections, those with open streams too, and end the thread. A server that
        does not run is stopped already."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is None:
                return
            atexit.unregister(self.stop)
            if self._loop is not None and self._end is not None:
                self._loop.call_soon_threadsafe(self._end.set)
            thread.join(LONGEST)

    async def stop_soon(self) -> None:
        """Do the same without standing in the way of the caller's event loop."""
        await asyncio.to_thread(self.stop)

    def _run(self, ready: threading.Event) -> None:
        try:
            with asyncio.Runner() as runner:
                runner.run(self._serve(ready))
        except BaseException as error:
            self._error = error
        finally:
            ready.set()

    async def _serve(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = asyncio.Event()
        server = self._make()
        await server.start()
        self._address = server.url
        ready.set()
        try:
            await self._end.wait()
        finally:
            await server.stop()
