"""The edge: a proxy in front of one upstream, which passes on and lets a recorder see.

The server side is aiohttp's, but for the answer: its bytes go to the connection directly, as
aiohttp would set headers of its own and knows no trailers. The only module here that serves.
"""

import asyncio
import json
import socket
import ssl
import struct
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.web_protocol import RequestHandler

from ..clock import Clock
from ..exchange import Request
from ..interruption import Interruption
from ..wire.perform import perform
from .answering import ScriptAnswers
from .http_answer import (
    AnswerReader,
    Data,
    End,
    Head,
    NotHTTP,
    end_to_end,
    last_chunk,
    written_chunk,
    written_head,
)
from .passing import Exchange, Listener
from .recording import Ending, Piece, Recording
from .request_head import asked, target_of, to_upstream
from .upstream import Address, Arrival, Connection, Unreachable, connect

# How long an upstream may say nothing, in seconds.
TIMEOUT = 600.0
# How long exchanges in flight may take to end when the proxy is told to stop, in seconds.
GRACE = 5.0


class _Connection(RequestHandler):
    """A connection that answers broken HTTP in a line, and tells no tracebacks."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if request.writer.output_size > 0:
            raise ConnectionError("an answer is on its way already")
        if isinstance(exc, web.RequestPayloadError):  # the framing of the body is broken
            status, message = 400, str(exc)
        if status >= 500:
            self.log_exception("Error handling request", exc_info=exc)
        # Behind its first line a parser's message shows the bytes and points at one of them.
        reason = (message or "").partition("\n")[0].rstrip(":")
        return _own_answer(status, reason or "it cannot be answered")


class _Server(web.Server):
    def __call__(self) -> RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)


class _Passed(web.StreamResponse):
    """Stands for an answer that is on the wire already: aiohttp has nothing to add to it."""

    def __init__(self, status: int, *, keeps_connection: bool) -> None:
        super().__init__(status=status)
        self._keep_alive = keeps_connection  # what aiohttp decides while it prepares an answer

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        return None


class RecordingProxy:
    """Passes on to one upstream. `await start()`, then `port` is the real port; `await stop()`.

    `answers` is asked before the upstream is; what it answers is not recorded. `timeout` is how
    long the upstream may be silent, in seconds. `clock` reads seconds that only go forward.
    `context` verifies the upstream's certificate (default: by the system's authorities).
    """

    def __init__(
        self,
        address: Address,
        recorder: Listener,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        answers: ScriptAnswers | None = None,
        timeout: float = TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.address = address
        self.recorder = recorder
        self.host = host
        self.port = port
        self._answers = answers
        self._timeout = timeout
        self._clock = clock
        self._context = (context or ssl.create_default_context()) if address.is_tls else None
        self._keeping: set[asyncio.Task[None]] = set()
        self._runner: web.ServerRunner | None = None
        self._is_stopping = False

    @property
    def url(self) -> str:
        """The address of the proxy, without a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    async def start(self) -> None:
        """Listen. Raises OSError when the address cannot be had."""
        server = _Server(
            self.handle, access_log=None, auto_decompress=False, handler_cancellation=True
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=GRACE)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.host, self.port, reuse_address=True, backlog=1024)
        try:
            await site.start()
        except BaseException:
            await self._runner.cleanup()
            raise
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Take no new requests, finish those in flight, close."""
        self._is_stopping = True
        if self._runner is not None:
            await self._runner.cleanup()
        if self._keeping:
            await asyncio.wait(self._keeping)

    # ------------------------------------------------------------------ one exchange

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pass a request on, and its answer back."""
        began = self._clock()
        if request.method == hdrs.METH_CONNECT:
            return _own_answer(405, "this is no forward proxy: set it as the base URL of a client")
        body: bytes | None = None
        if self._answers is not None:
            watch = Clock().stopwatch()
            body = await _whole_body(request)
            planned = self._answers.plan(
                _request(request, body),
                (request.version.major, request.version.minor),
                keep_alive=bool(request.keep_alive),
            )
            if planned is not None:
                return await perform(request, planned, watch)
        start = self.recorder.start()
        exchange = Exchange(_request(request, body or b""), began)
        try:
            response, ending, at = await self._passed_on(request, exchange, start, body)
        except (asyncio.CancelledError, ConnectionError):
            if not exchange.is_done:
                who = "the recorder was stopped" if self._is_stopping else "the client left"
                self.recorder.pass_over(start, f"{who} before the answer was whole")
                raise
            # It has heard all that there was to hear, and did not wait for the connection's end.
            await self._keep(start, exchange.recording(Ending.WHOLE, self._clock()))
            raise
        if ending is not None:
            await self._keep(start, exchange.recording(ending, at))
        return _reset(request) if ending is Ending.RESET else response

    async def _keep(self, start: int, recording: Recording) -> None:
        """Keep an exchange, even if the client leaves meanwhile."""
        keeping = asyncio.create_task(self.recorder.keep(start, recording))
        self._keeping.add(keeping)
        keeping.add_done_callback(self._keeping.discard)
        await asyncio.shield(keeping)

    async def _passed_on(
        self, request: web.BaseRequest, exchange: Exchange, start: int, body: bytes | None
    ) -> tuple[web.StreamResponse, Ending | None, float]:
        """Pass an exchange on; return how it ended, and when. None: it is not to be kept."""
        try:
            connection = await connect(self.address, self._clock, self._timeout, self._context)
        except Unreachable as error:
            reason = f"{self.address.authority} cannot be reached: {error}"
            if not error.refused:
                self.recorder.pass_over(start, reason)
                return _own_answer(502, reason), None, 0
            # The client sees what it would have seen of the upstream: a connection that fails.
            at = self._clock()
            body = await _whole_body(request) if body is None else body
            exchange.request = _request(request, body)
            self.recorder.learn(exchange.request)
            return _Passed(502, keeps_connection=False), Ending.RESET, at
        sending = asyncio.create_task(self._send(request, connection, exchange, body))
        try:
            return await self._pass(request, connection, exchange, sending, start)
        finally:
            sending.cancel()
            await asyncio.wait({sending})
            connection.close()

    async def _send(
        self,
        request: web.BaseRequest,
        connection: Connection,
        exchange: Exchange,
        body: bytes | None,
    ) -> None:
        """Send the request as it comes; then the exchange has all of it."""
        first_line = f"{request.method} {self.address.prefix}{target_of(request.raw_path)} HTTP/1.1"
        is_chunked = "chunked" in request.headers.get(hdrs.TRANSFER_ENCODING, "").lower()
        headers = to_upstream(
            request.raw_headers,
            self.address.authority,
            is_chunked=is_chunked,
            has_leave=body is not None,
        )
        await connection.send(written_head(first_line, headers))
        parts: list[bytes] = []
        async for part in _body(request, body):
            parts.append(part)
            await connection.send(written_chunk(part) if is_chunked else part)
        if is_chunked:
            await connection.send(last_chunk())
        exchange.request = _request(request, b"".join(parts))
        self.recorder.learn(exchange.request)

    async def _pass(
        self,
        request: web.BaseRequest,
        connection: Connection,
        exchange: Exchange,
        sending: "asyncio.Task[None]",
        start: int,
    ) -> tuple[web.StreamResponse, Ending | None, float]:
        reader = AnswerReader(request.method)
        client = _Client(request)
        ending, at = await self._read(connection, reader, client, exchange)
        exchange.head_bytes = len(reader.begun)
        if ending is not Ending.WHOLE:
            # A head that is not whole is passed on all the same: the client shall see the cut.
            await client.write(reader.begun)
        status = exchange.head.status if exchange.head else 502
        if not await _sent(sending, waits=_waits_for_leave(request) and not client.has_leave):
            # The rest of the request may never come: do not linger for it.
            request.content.feed_eof()
            self.recorder.pass_over(start, "it ended before the whole request was heard")
            return _Passed(status, keeps_connection=False), None, at
        keeps = ending is Ending.WHOLE and not client.must_close
        return _Passed(status, keeps_connection=keeps), ending, at

    async def _read(
        self,
        connection: Connection,
        reader: AnswerReader,
        client: "_Client",
        exchange: Exchange,
    ) -> tuple[Ending, float]:
        """Pass on what comes; return how it ended, and when."""
        while True:
            came = await connection.receive(self._timeout)
            if not isinstance(came, Arrival):
                at, ending = came
                end = reader.close() if ending is Ending.CLOSED else None
                if end is not None:
                    await client.end(end)
                return (Ending.WHOLE if end is not None else ending), at
            try:
                for event in reader.feed(came.data):
                    await self._event(event, came.at, client, exchange)
            except NotHTTP:
                return Ending.CLOSED, came.at
            if reader.ended:
                return Ending.WHOLE, came.at

    async def _event(
        self, event: Head | Data | End, at: float, client: "_Client", exchange: Exchange
    ) -> None:
        if isinstance(event, Head):
            if event.is_interim:
                await client.interim(event)
                return
            exchange.head = event
            await client.head(event)
        elif isinstance(event, Data):
            exchange.pieces.append(Piece(at - exchange.began, event.data))
            self.recorder.hear(exchange, at, is_over=False)
            await client.data(event.data)
        else:
            self.recorder.hear(exchange, at, is_over=True)
            await client.end(event)


class _Client:
    """The client's side of an exchange, to which an answer is written as it comes."""

    def __init__(self, request: web.BaseRequest) -> None:
        self._request = request
        self._is_chunked = False
        self.must_close = not request.keep_alive
        self.has_leave = False

    async def write(self, data: bytes) -> None:
        """Write bytes. Raises ConnectionError when the client has left."""
        transport = self._request.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the client has left")
        if data:
            await self._request.writer.write(data)

    async def interim(self, head: Head) -> None:
        self.has_leave = self.has_leave or head.status == 100
        if self._request.version >= (1, 1):
            line = f"{head.version} {head.status} {head.reason}"
            await self.write(written_head(line, end_to_end(head.headers)))

    async def head(self, head: Head) -> None:
        """Write the head; the body's end is told as the upstream tells it, where that can be."""
        headers = list(end_to_end(head.headers))
        self._is_chunked = head.framing == "chunked" and self._request.version >= (1, 1)
        if self._is_chunked:
            headers = [pair for pair in headers if pair[0].lower() != "content-length"]
            headers.append(("Transfer-Encoding", "chunked"))
        elif head.framing in ("chunked", "close"):
            self.must_close = True
        if self.must_close:
            headers.append(("Connection", "close"))
        elif self._request.version < (1, 1):
            headers.append(("Connection", "keep-alive"))
        line = f"HTTP/1.1 {head.status} {head.reason}"
        await self.write(written_head(line, tuple(headers)))

    async def data(self, data: bytes) -> None:
        await self.write(written_chunk(data) if self._is_chunked else data)

    async def end(self, end: End) -> None:
        if self._is_chunked:
            await self.write(last_chunk(end.trailers))


# ---------------------------------------------------------------------- the request


async def _sent(sending: "asyncio.Task[None]", *, waits: bool) -> bool:
    """Say whether the whole request was heard; the upstream may have answered before it was.

    A client that `waits` for leave to send its body has got an answer instead, and sends none.
    """
    if not (sending.done() or waits):
        await asyncio.wait({sending}, timeout=GRACE)
    return sending.done() and not sending.cancelled() and sending.exception() is None


async def _body(request: web.BaseRequest, body: bytes | None) -> AsyncIterator[bytes]:
    if body is not None:
        if body:
            yield body
        return
    while not request.content.at_eof():
        part = await request.content.readany()
        if part:
            yield part


async def _whole_body(request: web.BaseRequest) -> bytes:
    if _waits_for_leave(request):
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0
    return b"".join([part async for part in _body(request, None)])


def _waits_for_leave(request: web.BaseRequest) -> bool:
    expects = request.headers.get(hdrs.EXPECT, "").lower() == "100-continue"
    return expects and request.version >= (1, 1)  # RFC 9110, section 10.1.1: ignored before 1.1


def _request(request: web.BaseRequest, body: bytes) -> Request:
    return asked(request.method, target_of(request.raw_path), request.raw_headers, body)


# ---------------------------------------------------------------------- answers of its own


def _own_answer(status: int, message: str) -> web.StreamResponse:
    body = json.dumps({"message": f"wafermock record: {message}"}).encode()
    response = web.Response(status=status, body=body, content_type="application/json")
    response.force_close()
    response.headers[hdrs.CONNECTION] = "close"
    return response


def _reset(request: web.BaseRequest) -> web.StreamResponse:
    """End the client's connection with an RST, as the upstream has ended its own."""
    transport: Any = request.transport
    if transport is not None:
        sock: socket.socket | None = transport.get_extra_info("socket")
        if sock is not None and not transport.get_write_buffer_size():
            # Closing with a linger time of 0 resets (the socket manual, SO_LINGER).
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
        else:
            transport.close()
    return _Passed(502, keeps_connection=False)


async def record(proxy: RecordingProxy, ready: Callable[[RecordingProxy], None]) -> None:
    """Serve until SIGINT or SIGTERM. `ready` is called once the proxy answers."""
    await proxy.start()
    interruption = Interruption()
    ready(proxy)
    try:
        await interruption.wait()
    finally:
        await proxy.stop()
