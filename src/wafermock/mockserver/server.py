"""The edge: HTTP by aiohttp. The only module of this room that knows sockets."""

import asyncio
import re
from collections.abc import Callable, Mapping
from email.utils import formatdate
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from aiohttp import HttpVersion11, hdrs

from . import web
from .clock import Clock, Stopwatch
from .draws import Draws
from .exchange import Answer, Request
from .one_write import goes_at_once, one_write, write_first, write_last
from .service import Service, Turn

if TYPE_CHECKING:
    from .acting import Early
    from .control.control import Control
    from .control.held import Held

# How long streams in flight may take to end when the server is told to stop, in seconds.
GRACE = 5.0

SERVER = "wafermock"

Response = TypeVar("Response", bound=web.StreamResponse)


class _Connection(web.RequestHandler):
    """A connection that answers broken HTTP with the catalogue's error, and tells no tracebacks."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        left = isinstance(exc, ConnectionError)
        if left or self._manager is None or request.writer.output_size > 0:
            raise ConnectionError("nobody is there to hear it, or an answer is on its way already")
        if isinstance(exc, web.RequestPayloadError):  # the framing of the body is broken
            status, message = 400, str(exc)
        if status >= 500:
            self.log_exception("Error handling request", exc_info=exc)
        service: Service = self._manager.service  # type: ignore[attr-defined]
        # Behind its first line a parser's message shows the bytes and points at one of them.
        reason = (message or "").partition("\n")[0].rstrip(":")
        answer = service.protocol_error(status, reason)
        return _closing(_in_one(answer, service.clock.time()))


class _Server(web.Server):
    def __init__(self, service: Service, handler: Callable[..., Any]) -> None:
        super().__init__(
            handler,
            access_log=None,
            auto_decompress=False,
            # Nothing is delivered to a client that has hung up, and nothing waits to be.
            handler_cancellation=True,
        )
        self.service = service

    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)


class HttpServer:
    """A service behind a socket. `await start()`, then `port` is the real port; `await stop()`.

    `grace` is how long `stop` waits for answers in flight, in seconds above 0. With a `control` the
    calls are noted, and its interface and page are served beside the API.
    """

    def __init__(
        self,
        service: Service,
        host: str = "127.0.0.1",
        port: int = 0,
        grace: float = GRACE,
        control: "Control | None" = None,
    ) -> None:
        self.service = service
        self.control = control
        self.host = host
        self.port = port
        self._grace = grace
        self._http = _Server(service, self.handle)
        self._listening: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """The address of the server, without a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    async def start(self) -> None:
        """Listen. Raises OSError when the address cannot be had."""
        ports = await self._listen()
        if len(set(ports)) > 1:  # a name with several addresses, and port 0: one a address
            self._close()
            self.port = ports[0]
            ports = await self._listen()
        self.port = ports[0]

    async def _listen(self) -> list[int]:
        """Listen on every address of the host, and return the port of each."""
        self._listening = await asyncio.get_running_loop().create_server(
            self._http, self.host, self.port, reuse_address=True, backlog=1024
        )
        return [socket.getsockname()[1] for socket in self._listening.sockets]

    def _close(self) -> None:
        """Take no new connections."""
        if self._listening is not None:
            self._listening.close()
            self._listening = None

    async def stop(self) -> None:
        """Take no new requests, finish those in flight within the grace, close."""
        if self.control is not None:
            self.control.close()
        self._close()
        await asyncio.sleep(0)  # what came before that is begun
        self._http.pre_shutdown()
        # aiohttp waits so long twice: until an answer is sent, then until its handler is over.
        await self._http.shutdown(self._grace / 2)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request that came to this socket, or to another one."""
        watch = self.service.clock.stopwatch()
        path, _, query = _target(request.raw_path).partition("?")
        headers = _headers(request.raw_headers)
        controls = self.control is not None and self.control.serves(path)
        body = await self._body(
            request, lambda: None if controls else Request(request.method, path, query, headers)
        )
        asked = Request(request.method, path, query, headers, body.data)
        if controls and self.control is not None:
            # In a thread: to search ten thousand calls takes longer than a stream can wait.
            answer = await asyncio.to_thread(
                self.control.interface.answer, asked, request.remote or ""
            )
            return _in_one(answer, self.service.clock.time())
        begin = self.service.begin
        turn = begin(asked) if body.early is None else begin(asked, body.early)
        seen = self.control.note(asked, turn) if self.control is not None else None
        closing = body.refused and _waits_for_leave(request)
        ending = "client gone"

        def over(how: str = "complete") -> None:
            # Only the first call counts. It is before the last byte: who has that may look at once.
            turn.end()
            if seen is not None:
                seen.end(watch.seconds, how)

        try:
            if turn.acting:
                response = await _performed(request, turn, watch, self.service.clock, over)
            elif seen is not None and seen.held is not None:
                response = await _held(request, turn.answer, seen.held, self.service.clock, over)
            else:
                response = await _delivered(
                    request, turn.answer, watch, self.service.clock, over, closing=closing
                )
            ending = "complete"
        except _StreamDropped:
            ending = "dropped"
            raise
        finally:
            over(ending)
            if ending == "client gone" and turn.answer.streamed:
                self.service.left(turn.scope)
        if closing:
            # The body will not come (RFC 9110, section 10.1.1): do not linger for it.
            request.content.feed_eof()
            _closing(response)
        return response

    async def _body(
        self, request: web.BaseRequest, head_of: Callable[[], Request | None]
    ) -> "_Body":
        """Read a body. What acts before it is settled by the head of the request, if it has one.

        Most requests give no reason to look for that, so the head is made where one does.
        """
        early: Early | None = None
        limit = self.service.mock.settings.max_body
        length, waits = request.content_length or 0, _waits_for_leave(request)
        if (waits or length > limit) and (head := head_of()):
            early = self.service.at_head(head)
            limit = max(limit, early.max_body or 0) if early else limit
        if length > limit:
            return _Body(b"\0" * (limit + 1), early, refused=True)
        if waits and not (early and not early.says_continue):
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.writer.output_size = 0  # as aiohttp's own router does
        body = await _read(request, limit)
        # What comes in chunks has not told its length before.
        if len(body) > limit and early is None and (head := head_of()):
            early = self.service.at_head(head)
            if early and (early.max_body or 0) > limit:
                limit = early.max_body or 0
                body += await _read(request, limit)
        # What was read of one that is too long goes by how the network cut it.
        return _Body(body if len(body) <= limit else b"\0" * (limit + 1), early)


class _Body(NamedTuple):
    """The body of a request. One over the bound is `refused` unread where it told its length, else
    read until it is over: more bytes than the bound stand for it in both cases."""

    data: bytes
    early: "Early | None" = None
    refused: bool = False


class _StreamDropped(ConnectionResetError):
    """A stream under control was dropped: aiohttp says nothing of a connection that is reset."""


async def _read(request: web.BaseRequest, limit: int) -> bytes:
    """Read a request's body up to a bound; more bytes than that tell that it was longer."""
    parts = []
    size = 0
    while size <= limit and not request.content.at_eof():
        part = await request.content.readany()
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _takes_chunks(request: web.BaseRequest) -> bool:
    """Say whether an answer may come in chunks, which are of HTTP/1.1 alone (RFC 9112, section 7.1;
    RFC 9113, section 8.2.2)."""
    return request.version == HttpVersion11


def _waits_for_leave(request: web.BaseRequest) -> bool:
    expects = request.headers.get(hdrs.EXPECT, "").lower() == "100-continue"
    return expects and request.version >= (1, 1)  # RFC 9110, section 10.1.1: ignored before 1.1


def _closing(response: Response) -> Response:
    """Make a response the last of its connection, and let it say so."""
    response.force_close()
    response.headers[hdrs.CONNECTION] = "close"
    return response


@lru_cache(maxsize=256)
def _target(raw: str) -> str:
    """Return the path and query of a request target, in one spelling.

    A target in absolute form loses scheme and authority (RFC 9112, section 3.2.2), and letters
    that need no percent-encoding lose it (RFC 3986, section 6.2.2.2).
    """
    if not raw.isascii():  # bytes that are not UTF-8 came as lone surrogates
        raw = raw.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    target = _AUTHORITY.sub("", raw)
    path, mark, query = target.partition("?")
    return _UNRESERVED.sub(lambda found: chr(int(found[1], 16)), path or "/") + mark + query


_AUTHORITY = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://[^/?]*")
_UNRESERVED = re.compile("%(2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])", re.IGNORECASE)


# A client sends much the same header again and again.
@lru_cache(maxsize=64)
def _headers(lines: tuple[tuple[bytes, bytes], ...]) -> Mapping[str, str]:
    """Return the header by names in lower case; it is shared by all requests that have it."""
    headers: dict[str, str] = {}
    for name, raw in lines:
        key, value = name.decode("utf-8", "replace").lower(), raw.decode("utf-8", "replace")
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return headers


async def _performed(
    request: web.BaseRequest, turn: Turn, watch: Stopwatch, clock: Clock, over: Callable[[], None]
) -> web.StreamResponse:
    """Put an answer on the wire as a delivery, a failure or defects will have it."""
    from .wire import plan
    from .wire.perform import perform

    acting = turn.acting
    assert acting is not None
    made = plan(
        turn.answer,
        http_version=(request.version.major, request.version.minor),
        method=request.method,
        keep_alive=request.keep_alive,
        delivery=acting.delivery,
        failure=acting.failure,
        defects=acting.defects,
        draws=Draws("wire", turn.answer.headers.get("x-request-id", "")),
    )
    date = _date(int(clock.time()))
    return await perform(request, made, watch, (("date", date), ("server", SERVER)), over)


async def _held(
    request: web.BaseRequest, answer: Answer, held: "Held", clock: Clock, over: Callable[[], None]
) -> web.StreamResponse:
    """Deliver a stream part by part, each when whoever holds it lets it go."""
    from .control.held import Dropped

    response = web.StreamResponse(status=answer.status, headers=_fields(answer, clock.time()))
    if _takes_chunks(request):
        response.enable_chunked_encoding()
    else:
        _closing(response)
    await response.prepare(request)
    try:
        for index, part in enumerate(answer.parts):
            await held.reach(index)
            await response.write(part)
        await held.reach(len(answer.parts))
    except Dropped:
        if request.transport is not None:
            request.transport.abort()
        raise _StreamDropped("the stream was dropped") from None
    over()
    await response.write_eof()
    return response


async def _delivered(
    request: web.BaseRequest,
    answer: Answer,
    watch: Stopwatch,
    clock: Clock,
    over: Callable[[], None],
    *,
    closing: bool,
) -> web.StreamResponse:
    """Deliver an answer, or return it ready for delivery. `watch` began with the request.

    `over` is called before the last of a paced one; `closing`: it will be made the last of its
    connection.
    """
    if answer.offsets is None or not answer.streamed:
        if answer.offsets is not None:
            await watch.reach(answer.offsets[-1])
        # An unpaced stream goes in one write: one write an event costs twelve times as much.
        now = clock.time()
        written = None if closing else one_write(request, answer, _stamp(int(now)))
        if written is not None:  # a response is a mapping, and has no items
            await written.begin(request)
            return written
        response = _in_one(answer, now, chunked=answer.streamed and _takes_chunks(request))
        if not closing and request.method != hdrs.METH_HEAD:
            await _begin(request, response, answer.body)
        return response
    stream = web.StreamResponse(status=answer.status, headers=_fields(answer, clock.time()))
    if _takes_chunks(request):
        stream.enable_chunked_encoding()
    else:
        _closing(stream)  # nothing else ends a body whose length is not told
    await stream.prepare(request)
    last = answer.offsets[-1]
    for offset, together in groupby(zip(answer.offsets, answer.parts, strict=True), itemgetter(0)):
        data = b"".join(part for _, part in together)
        await watch.reach(offset)
        if offset == last:
            await write_last(request.writer, data, over)
        else:
            await stream.write(data)
    over()
    await stream.write_eof()
    return stream


async def _begin(request: web.BaseRequest, response: web.Response, body: bytes) -> None:
    """Send what of a response may have to wait for a slow reader, and leave it the last."""
    if not goes_at_once(body):
        await response.prepare(request)
        response.body = await write_first(request.writer, body)


def _in_one(answer: Answer, now: float, *, chunked: bool = False) -> web.Response:
    response = web.Response(status=answer.status, headers=_fields(answer, now), body=answer.body)
    if chunked:
        response.enable_chunked_encoding()
    return response


def _fields(answer: Answer, now: float) -> dict[str, str]:
    """Return the header of an answer. Its date is the clock's, so that it repeats too."""
    return {**answer.headers, "date": _date(int(now)), "server": SERVER}


@lru_cache(maxsize=16)
def _stamp(unix: int) -> bytes:
    """Return what stands in the head of every answer, in bytes."""
    return f"date: {_date(unix)}\r\nserver: {SERVER}\r\n".encode()


@lru_cache(maxsize=16)
def _date(unix: int) -> str:
    return formatdate(unix, usegmt=True)  # RFC 9110, section 5.6.7
