"""Applications in this process as endpoints: ASGI apps without a socket, aiohttp apps with one.

Both speak as the client does: `await send(sent)` gives what came back.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote_to_bytes

from .client import Client
from .endpoint import Endpoint
from .exchange import Arrival, Received, Sent
from .wire import NoAnswer

Send = Callable[[Sent], Awaitable[Received]]
Message = MutableMapping[str, Any]

# How long an application may take to start, to stop, and to answer, in seconds.
PATIENCE = 60.0


def is_aiohttp(app: object) -> bool:
    """Say whether an application is one of aiohttp's; that is not imported for it."""
    kinds = type(app).__mro__
    return any(kind.__module__ == "aiohttp.web_app" for kind in kinds)


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[Send]:
    """Start an application, yield what sends requests to it, and stop it."""
    if is_aiohttp(app):
        async with _aiohttp(app) as send:
            yield send
    else:
        async with _lifespan(app):
            yield lambda sent: _asgi(app, sent)


@asynccontextmanager
async def _aiohttp(app: Any) -> AsyncIterator[Send]:
    from aiohttp import web

    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        async with Client(Endpoint.at(f"http://127.0.0.1:{port}")) as client:
            yield client.send
    finally:
        await runner.cleanup()


# ---------------------------------------------------------------------- ASGI 3.0


@asynccontextmanager
async def _lifespan(app: Any) -> AsyncIterator[None]:
    """Run an application's lifespan (ASGI's Lifespan Protocol); one may have none."""
    heard: asyncio.Queue[Message] = asyncio.Queue()
    said: asyncio.Queue[Message] = asyncio.Queue()
    await heard.put({"type": "lifespan.startup"})
    scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}
    task = asyncio.create_task(app(scope, heard.get, said.put))
    started = await _first(said, task)
    if started is not None and started["type"] == "lifespan.startup.failed":
        await asyncio.wait({task}, timeout=PATIENCE)
        raise NoAnswer(f"the application does not start: {started.get('message', '')}")
    try:
        yield
    finally:
        if started is not None:
            await heard.put({"type": "lifespan.shutdown"})
            await _first(said, task)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _first(said: "asyncio.Queue[Message]", task: "asyncio.Task[Any]") -> Message | None:
    """Wait for a message, or for the end of who may send it: then None."""
    waiting = asyncio.create_task(said.get())
    await asyncio.wait({waiting, task}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    if waiting.done():
        return waiting.result()
    waiting.cancel()
    return None


async def _asgi(app: Any, sent: Sent) -> Received:
    """Send a request to an application. Raises NoAnswer where it does not answer."""
    path, _, query = sent.target.partition("?")
    headers = [(n.lower().encode("latin-1"), v.encode("latin-1")) for n, v in sent.headers]
    lengths = [(b"content-length", str(len(sent.body)).encode())] if sent.body else []
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": sent.method,
        "scheme": "http",
        "path": unquote_to_bytes(path).decode("utf-8", "replace"),
        "raw_path": path.encode("ascii", "replace"),
        "query_string": query.encode("ascii", "replace"),
        "root_path": "",
        "headers": [(b"host", b"testserver"), *lengths, *headers],
        "client": ("127.0.0.1", 50000),
        "server": ("testserver", 80),
        "state": {},
    }
    answer = _Answer()
    requests = iter([{"type": "http.request", "body": sent.body, "more_body": False}])

    async def receive() -> Message:
        asked = next(requests, None)
        if asked is None:
            await answer.whole.wait()  # the client stays until it has all
        return asked or {"type": "http.disconnect"}

    try:
        async with asyncio.timeout(PATIENCE):
            await app(scope, receive, answer.take)
    except TimeoutError:
        raise NoAnswer(f"the application did not answer within {PATIENCE:g} s") from None
    except Exception as error:
        if answer.status is None:
            raise NoAnswer(f"the application raised {type(error).__name__}: {error}") from error
    return answer.received()


class _Answer:
    """What an application answers, as it comes."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.status: int | None = None
        self.whole = asyncio.Event()
        self._headers: tuple[tuple[str, str], ...] = ()
        self._arrivals: list[Arrival] = []
        self._first = 0.0

    async def take(self, message: Message) -> None:
        at = time.monotonic() - self.began
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            pairs = message.get("headers", ())
            self._headers = tuple((bytes(n).decode("latin-1"), bytes(v).decode("latin-1"))
                                  for n, v in pairs)  # fmt: skip
            self._first = at
        elif message["type"] == "http.response.body":
            if body := message.get("body", b""):
                self._arrivals.append(Arrival(at, bytes(body)))
            if not message.get("more_body", False):
                self.whole.set()

    def received(self) -> Received:
        if self.status is None:
            raise NoAnswer("the application ended without an answer")
        try:
            reason = HTTPStatus(self.status).phrase
        except ValueError:
            reason = ""
        return Received(
            self.status,
            reason,
            self._headers,
            tuple(self._arrivals),
            "complete" if self.whole.is_set() else "cut",
            first_byte=self._first,
            seconds=time.monotonic() - self.began,
        )
