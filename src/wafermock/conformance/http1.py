"""A client of HTTP/1.1 made for judging: it owns the socket, and keeps what came, and when."""

import asyncio
import os
import ssl
from collections.abc import Callable

from .exchange import Ending, Received, Sent
from .http1_answer import AnswerReader, NotHttp
from .http1_request import body_of
from .wire import NoAnswer, Patience

# So much of a body is handed to the socket at a time: an answer that comes meanwhile is seen.
PIECE = 64 * 1024
# So much is read at once of what is left in a socket.
LEFTOVER = 256 * 1024


class Connection(asyncio.Protocol):
    """A connection to the endpoint, which carries one exchange after the other.

    Only the protocol's callbacks read: bytes are given their time as soon as the event loop sees
    them, whatever the rest of the judge is doing.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._reader: AnswerReader | None = None
        self._changed = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._sent_at = 0.0
        self._heard_at = 0.0
        self._ending: Ending | None = None
        self._not_http: NotHttp | None = None
        self._leave_after: int | None = None
        self._most = 0
        self._early = b""  # bytes that came before the first request
        self.exchanges = 0
        self.idle_since = 0.0
        self.closed = False
        # Closed by the server before a byte of an answer, though it had served others before.
        self.stale = False
        # Bytes that came behind the end of an answer, before the next request.
        self.unasked = 0

    # ------------------------------------------------------------------- the transport's calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        now = self._loop.time()
        self._heard_at = now
        reader = self._reader
        if reader is not None:
            self._heard(reader, data, now)
        elif self.exchanges:
            self.unasked += len(data)
            self.abort()
        else:  # a server that will not serve says so before it is asked
            self._early += data

    def eof_received(self) -> bool:
        self._ended()
        return False  # the transport closes itself

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None and self._reader is not None and not self._is_over():
            self._salvage()
        self._ended(_words(exc) if exc else "")
        self._writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # ------------------------------------------------------------------- what is heard

    def _heard(self, reader: AnswerReader, data: bytes, now: float) -> None:
        try:
            reader.feed(data, max(0.0, now - self._sent_at))
        except NotHttp as fault:
            self._not_http = fault
        if reader.size > self._most:
            self._ending = "overlong"
        elif self._leave_after is not None and reader.head and reader.size >= self._leave_after:
            self._ending = "left"
        if self._ending and not reader.over:
            self.abort()
        self._changed.set()

    def _salvage(self) -> None:
        """Read what is still in the socket when writing failed: the answer of a server that
        would not read the request to its end. (What TLS holds back is lost.)"""
        transport, reader = self._transport, self._reader
        if transport is None or reader is None or transport.get_extra_info("ssl_object"):
            return
        try:
            number = transport.get_extra_info("socket").fileno()
            while (data := os.read(number, LEFTOVER)) and not self._is_over():
                self._heard(reader, data, self._loop.time())
        except OSError:
            pass  # nothing more to be had

    def _ended(self, broken: str = "") -> None:
        """The server closed the connection, or it broke."""
        if not self.closed:
            self.closed = True
            self._close_reader(broken)
        self._changed.set()

    def _close_reader(self, broken: str = "") -> None:
        reader = self._reader
        if reader is None or self._is_over():
            return
        self.stale = self.exchanges > 1 and reader.untouched
        try:
            reader.close(broken)
        except NotHttp as fault:
            self._not_http = fault

    def _is_over(self) -> bool:
        reader = self._reader
        return bool(self._ending or self._not_http or (reader and reader.over))

    # ------------------------------------------------------------------- an exchange

    @property
    def usable(self) -> bool:
        """Whether another exchange can go over it."""
        return not self.closed and self._reader is None

    async def exchange(self, sent: Sent, head: bytes, patience: Patience) -> Received:
        """Send a request, whose head is written already, and read what comes back. Raises
        NoAnswer."""
        reader = AnswerReader(sent.method)
        self._reader = reader
        self._changed.clear()
        self._ending = self._not_http = None
        self._leave_after, self._most = sent.leave_after, patience.body
        self.exchanges += 1
        self._sent_at = self._heard_at = self._loop.time()
        if self._early:
            self._heard(reader, self._early, self._heard_at)
        if self.closed:
            self._close_reader()
        try:
            whole = await self._write(sent, head, patience)
            await self._wait(patience)
            await asyncio.sleep(0)  # what is in the socket behind the answer shows now
            await self._await_the_close(sent, reader, patience)
            received = self._received(reader)
        except BaseException:
            self.abort()
            raise
        keeps = reader.keeps_alive and not self._ending and not _asks_to_close(sent)
        if whole and keeps and not self.closed:
            self._reader = None
            self.idle_since = self._loop.time()
        else:
            self.abort()
        return received

    async def _write(self, sent: Sent, head: bytes, patience: Patience) -> bool:
        """Write the request; say whether it went out whole. What comes meanwhile ends it."""
        assert self._transport is not None
        assert self._reader is not None
        if self.closed or self._is_over():
            return False
        pieces = list(body_of(sent))
        if not sent.expect_continue and len(pieces) == 1 and len(pieces[0]) < PIECE:
            self._transport.write(head + pieces[0])  # one packet, where one will do
            self._sent_at = self._loop.time()
            return True
        self._transport.write(head)
        self._sent_at = self._loop.time()
        if sent.expect_continue:
            reader = self._reader
            await self._news(lambda: reader.continued or reader.head is not None, patience.proceed)
            if reader.head is not None:
                return False  # refused, or answered: nobody waits for the body
        for piece in pieces:
            for start in range(0, len(piece), PIECE):
                if not await self._may_write(patience):
                    return False
                self._transport.write(piece[start : start + PIECE])
                self._sent_at = self._loop.time()
        return True

    async def _may_write(self, patience: Patience) -> bool:
        reader = self._reader
        assert reader is not None
        try:
            async with asyncio.timeout(patience.between):
                await self._writable.wait()
        except TimeoutError:
            raise NoAnswer(
                f"the server did not take the body of the request for {patience.between:g} s"
            ) from None
        # A loop's turn: an answer that is there already is seen before more is written.
        await asyncio.sleep(0)
        return not (self.closed or self._is_over())

    async def _wait(self, patience: Patience) -> None:
        """Wait until the answer is over, or time is."""
        reader = self._reader
        assert reader is not None
        while not self._is_over():
            left, why = self._time_left(patience)
            if left <= 0:
                if reader.head is None:
                    raise NoAnswer(why)
                self._ending = "timeout"
                return
            # With the first byte another bound begins to hold.
            if reader.untouched:
                await self._news(lambda: not reader.untouched, left)
            else:
                await self._news(self._is_over, left)

    async def _news(self, wanted: Callable[[], bool], seconds: float) -> bool:
        """Wait for something, or for the end of the exchange; say whether it came in time."""
        try:
            async with asyncio.timeout(seconds):
                while not (wanted() or self.closed or self._is_over()):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    def _time_left(self, patience: Patience) -> tuple[float, str]:
        """Return the seconds until the next bound, and what to say when it is reached."""
        reader, now = self._reader, self._loop.time()
        assert reader is not None
        whole = self._sent_at + patience.whole - now
        if reader.untouched:
            first = self._sent_at + patience.first_byte - now
            said = f"no byte of an answer within {patience.first_byte:g} s"
        else:
            first = self._heard_at + patience.between - now
            said = f"nothing more for {patience.between:g} s within the head of an answer"
        if first <= whole:
            return first, said
        return whole, f"no answer within {patience.whole:g} s"

    async def _await_the_close(self, sent: Sent, reader: AnswerReader, patience: Patience) -> None:
        """Where the connection is to end behind the answer, see that it does, and that nothing
        comes before (RFC 9112, section 9.6)."""
        said = _asks_to_close(sent) or reader.said_close
        if not (said and reader.complete and not self._ending) or self.closed:
            return
        try:
            async with asyncio.timeout(patience.closing):
                while not self.closed:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            reader.fault("the connection stays open behind `Connection: close`", "9.6")

    def _received(self, reader: AnswerReader) -> Received:
        if self._not_http is not None:
            raise NoAnswer(str(self._not_http))
        head = reader.head
        assert head is not None, "without a head there is a reason why"
        over = self._heard_at if reader.complete else self._loop.time()
        return Received(
            head.status,
            head.reason,
            head.headers,
            tuple(reader.arrivals),
            self._ending or ("complete" if reader.complete else "cut"),
            head.http,
            reader.first_byte,
            max(0.0, over - self._sent_at),
            reader.continued,
            reader.framing_fault,
        )

    def abort(self) -> None:
        """Hang up at once."""
        self.closed = True
        if self._transport is not None:
            self._transport.abort()
        self._changed.set()


async def connect(host: str, port: int, tls: ssl.SSLContext | None) -> Connection:
    """Open a connection. Raises OSError, of which `ssl.SSLError` is one."""
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(
        Connection, host, port, ssl=tls, server_hostname=host if tls else None
    )
    return connection


def _words(exc: Exception) -> str:
    return exc.strerror or type(exc).__name__ if isinstance(exc, OSError) else str(exc)


def _asks_to_close(sent: Sent) -> bool:
    return "close" in (sent.header("connection") or "").lower()
