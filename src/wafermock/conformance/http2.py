"""One request over HTTP/2, for endpoints that offer it: by ALPN with TLS, without TLS to those who
know it before (RFC 9113, section 3.3). Needs the package `h2`, which the extra `conformance` has.

A connection for each request: what is judged is the answer, not how streams share a connection.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from .endpoint import Endpoint
from .exchange import Arrival, Ending, Headers, Received, Sent
from .http1_answer import excerpt
from .http1_request import chunks_of, complete_headers, full_target, header_bytes
from .wire import NoAnswer, Patience, reaching

if TYPE_CHECKING:
    import h2.connection
    import h2.events

# Headers of HTTP/1 that HTTP/2 has no place for (RFC 9113, section 8.2.2).
_OF_HTTP1 = {"host", "connection", "keep-alive", "transfer-encoding", "upgrade", "proxy-connection"}
_STREAM = 1
_FRAME_HEAD = 9
# The largest frame that a server may send to who did not allow more (RFC 9113, section 4.2).
LARGEST_FRAME = _FRAME_HEAD + 16_384


async def send(sent: Sent, endpoint: Endpoint, patience: Patience, *, user_agent: str) -> Received:
    """Send a request over HTTP/2 and read its answer.

    Raises Unreachable; NoAnswer, also where the endpoint does not offer HTTP/2 or `h2` is missing.
    """
    try:
        import h2.exceptions
    except ImportError:
        raise NoAnswer(
            "HTTP/2 needs the package h2: pip install 'wafermock[conformance]'"
        ) from None
    headers = request_headers(sent, endpoint, user_agent)
    tls = endpoint.tls("h2", "http/1.1")
    with reaching(endpoint, patience.connect):
        async with asyncio.timeout(patience.connect):
            transport, stream = await asyncio.get_running_loop().create_connection(
                lambda: _Stream(sent, patience),
                endpoint.host,
                endpoint.port,
                ssl=tls,
                server_hostname=endpoint.host if tls else None,
            )
    try:
        secured = transport.get_extra_info("ssl_object")
        if secured is not None and secured.selected_alpn_protocol() != "h2":
            raise NoAnswer("the endpoint does not offer HTTP/2 (ALPN)")
        return await stream.exchange(headers)
    except h2.exceptions.ProtocolError as fault:
        raise NoAnswer(f"HTTP/2 does not go on: {fault or type(fault).__name__}") from None
    finally:
        transport.abort()
        await asyncio.sleep(0)


def request_headers(sent: Sent, endpoint: Endpoint, user_agent: str) -> list[tuple[bytes, bytes]]:
    """Return the header section of a request (RFC 9113, section 8.3.1)."""
    authority = sent.header("host") or endpoint.authority
    pseudo = [
        (b":method", sent.method.encode("ascii")),
        (b":scheme", endpoint.scheme.encode("ascii")),
        (b":authority", authority.encode("ascii")),
        (b":path", full_target(sent.target, endpoint.base_path).encode("ascii")),
    ]
    headers = complete_headers(sent, host=endpoint.authority, user_agent=user_agent)
    return pseudo + [
        (header_bytes(name).lower(), header_bytes(value))
        for name, value in headers
        if name.lower() not in _OF_HTTP1
    ]


class _Stream(asyncio.Protocol):
    """The one stream of a connection."""

    def __init__(self, sent: Sent, patience: Patience) -> None:
        import h2.config
        import h2.connection

        # The judge wants to see what a library would refuse.
        settings = h2.config.H2Configuration(
            client_side=True, header_encoding=None, validate_inbound_headers=False
        )
        self._h2: h2.connection.H2Connection = h2.connection.H2Connection(settings)
        self._loop = asyncio.get_running_loop()
        self._sent = sent
        self._patience = patience
        self._transport: asyncio.Transport | None = None
        self._changed = asyncio.Event()
        self._sent_at = self._heard_at = self._loop.time()
        self._first_byte = 0.0
        self._status: int | None = None
        self._headers: Headers = ()
        self._arrivals: list[Arrival] = []
        self._size = 0
        self._continued = False
        self._faults: list[str] = []
        self._ending: Ending | None = None
        self._closed = False
        self._broken = False
        self._buffer = bytearray()
        self._why = ""

    # ------------------------------------------------------------------- the transport's calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._heard_at = self._loop.time()
        self._buffer += data
        while not self._broken and (frame := self._frame()):
            self._read_frame(frame)
        self._flush()
        self._changed.set()

    def _frame(self) -> bytes:
        """Take a frame off the buffer (RFC 9113, section 4.1): what breaks HTTP/2 is then lost
        alone, and not with all that came in the same packet."""
        size = _FRAME_HEAD + int.from_bytes(self._buffer[:3], "big")
        if len(self._buffer) >= _FRAME_HEAD and size > LARGEST_FRAME:
            self._breaks(f"no frame, or too large a one: {excerpt(bytes(self._buffer))}")
        if self._broken or len(self._buffer) < size:
            return b""
        frame = bytes(self._buffer[:size])
        del self._buffer[:size]
        return frame

    def _read_frame(self, frame: bytes) -> None:
        import h2.exceptions

        try:
            for event in self._h2.receive_data(frame):
                self._happened(event)
        except h2.exceptions.ProtocolError as fault:
            self._keep(frame)
            self._breaks(f"{type(fault).__name__}: {fault}".removesuffix(": "))

    def _breaks(self, what: str) -> None:
        self._broken = True
        self._faults.append(f"what came breaks HTTP/2: {what} (RFC 9113)")
        self._over("cut", self._faults[-1])

    def _keep(self, frame: bytes) -> None:
        """Keep the data of a frame that the library refused (RFC 9113, section 6.1)."""
        head, payload = frame[:_FRAME_HEAD], frame[_FRAME_HEAD:]
        if len(head) < _FRAME_HEAD or head[3] != 0 or self._status is None:
            return
        padding = payload[0] + 1 if payload and head[4] & 0x8 else 0
        data = payload[1 : len(payload) - padding + 1] if padding else payload
        self._data(data, 0)

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed = True
        if not self._ending:
            self._keep(bytes(self._buffer))
        self._over("cut", "closed without an answer")
        self._changed.set()

    # ------------------------------------------------------------------- what is heard

    def _happened(self, event: "h2.events.Event") -> None:
        import h2.events as events

        if isinstance(event, events.InformationalResponseReceived):
            self._continued = self._continued or (b":status", b"100") in (event.headers or ())
        elif isinstance(event, events.ResponseReceived):
            self._head(event.headers or [])
        elif isinstance(event, events.DataReceived):
            self._data(event.data or b"", event.flow_controlled_length or 0)
        elif isinstance(event, events.StreamEnded):
            self._over("complete", "")
        elif isinstance(event, events.StreamReset):
            what = f"the stream was reset, error {int(event.error_code or 0)}"
            self._faults.append(f"{what} (RFC 9113, section 6.4)")
            self._over("cut", what)
        elif isinstance(event, events.ConnectionTerminated):
            error = int(event.error_code or 0)
            if error or (event.last_stream_id or 0) < _STREAM:
                self._over("cut", f"the connection was ended, error {error}")

    def _head(self, headers: "list[tuple[bytes, bytes]]") -> None:
        self._first_byte = self._at()
        fields = [(bytes(k).decode("latin-1"), bytes(v).decode("latin-1")) for k, v in headers]
        said = dict(fields).get(":status", "")
        self._status = int(said) if said.isdecimal() and said.isascii() else 0
        self._headers = tuple(field for field in fields if not field[0].startswith(":"))
        self._leave()

    def _data(self, data: bytes, flowed: int) -> None:
        if flowed:
            self._h2.acknowledge_received_data(flowed, _STREAM)
        if data:
            self._arrivals.append(Arrival(self._at(), data))
            self._size += len(data)
        self._leave()

    def _leave(self) -> None:
        if self._size > self._patience.body:
            self._over("overlong", "")
        elif self._sent.leave_after is not None and self._size >= self._sent.leave_after:
            self._over("left", "")

    def _over(self, ending: Ending, why: str) -> None:
        self._ending = self._ending or ending
        self._why = self._why or why

    def _at(self) -> float:
        return max(0.0, self._heard_at - self._sent_at)

    # ------------------------------------------------------------------- the exchange

    async def exchange(self, headers: list[tuple[bytes, bytes]]) -> Received:
        """Send the request and read the answer. Raises NoAnswer."""
        self._h2.initiate_connection()
        has_body = bool(self._sent.body)
        self._h2.send_headers(_STREAM, headers, end_stream=not has_body)
        self._flush()
        self._sent_at = self._heard_at = self._loop.time()
        if self._sent.expect_continue:
            await self._news(lambda: self._continued or self._status is not None,
                             self._patience.proceed)  # fmt: skip
        if has_body and not (self._sent.expect_continue and self._status is not None):
            await self._write_body()
        await self._read()
        if self._status is None:
            raise NoAnswer(self._why or "closed without an answer")
        if not self._status:
            raise NoAnswer("an answer without a status (RFC 9113, section 8.3.2)")
        return Received(
            self._status,
            "",
            self._headers,
            tuple(self._arrivals),
            self._ending or "cut",
            "2",
            self._first_byte,
            self._at() if self._ending == "complete" else self._loop.time() - self._sent_at,
            self._continued,
            "; ".join(self._faults),
        )

    async def _write_body(self) -> None:
        """Send the body in frames that fit the window of the server; its chunks are frames."""
        for piece in chunks_of(self._sent):
            start = 0
            while start < len(piece):
                if not await self._news(lambda: self._window() > 0, self._patience.between):
                    raise NoAnswer("the server did not take the body of the request")
                if self._ending or self._closed:
                    return
                frame = piece[start : start + self._window()]
                self._h2.send_data(_STREAM, frame)
                self._flush()
                start += len(frame)
        if not (self._ending or self._closed):
            self._h2.end_stream(_STREAM)
            self._flush()
            self._sent_at = self._loop.time()

    def _window(self) -> int:
        if self._ending or self._closed:
            return 0
        return min(self._h2.local_flow_control_window(_STREAM), self._h2.max_outbound_frame_size)

    async def _read(self) -> None:
        while not self._ending:
            now = self._loop.time()
            bounds = [
                (self._sent_at + self._patience.whole, f"{self._patience.whole:g} s"),
                (self._heard_at + self._patience.between, f"{self._patience.between:g} s")
                if self._status is not None
                else (
                    self._sent_at + self._patience.first_byte,
                    f"{self._patience.first_byte:g} s",
                ),
            ]
            until, said = min(bounds)
            if until <= now:
                self._over("timeout", f"no answer within {said}")
                return
            if self._status is None:  # with the head another bound begins to hold
                await self._news(lambda: self._status is not None, until - now)
            else:
                await self._news(lambda: self._ending is not None, until - now)

    async def _news(self, wanted: Callable[[], bool], seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                while not (wanted() or self._ending or self._closed):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    def _flush(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            data = self._h2.data_to_send()
            if data:
                self._transport.write(data)
