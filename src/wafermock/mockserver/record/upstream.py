"""The way to the upstream: one connection an exchange, and what comes over it, with its times.

Written on asyncio's protocols, not on a client library: those read the end of a connection before
the bytes that came with it, hide trailers, and put headers in a spelling of their own.
"""

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Callable
from typing import cast
from urllib.parse import urlsplit

from msgspec import Struct

from .recording import Ending

# So many bytes may wait to be passed on before the upstream has to wait, too.
_WAITING = 1024 * 1024


class Address(Struct, frozen=True):
    """Where the upstream is. `prefix` stands in front of every path."""

    host: str
    port: int
    is_tls: bool
    prefix: str = ""

    @property
    def authority(self) -> str:
        """What the header Host says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = 443 if self.is_tls else 80
        return host if self.port == usual else f"{host}:{self.port}"


def read_address(url: str) -> Address:
    """Read the URL of an upstream; a `/v1` at its end, as openai wants it, stands in every path.

    Raises ValueError with a sentence that says what is wrong.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"{url!r} is no URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is no URL of a server; write it as https://api.cerebras.ai")
    if parts.username is not None or parts.password is not None:
        raise ValueError("the URL must not hold a key or password; clients send their own")
    if parts.query or parts.fragment:
        raise ValueError(f"{url!r} has a query or a fragment; only a path can stand there")
    is_tls = parts.scheme == "https"
    prefix = parts.path.rstrip("/").removesuffix("/v1")
    return Address(parts.hostname, port or (443 if is_tls else 80), is_tls, prefix)


class Unreachable(Exception):
    """No connection to the upstream. `refused` says that the network said so; otherwise the
    address or the certificate is wrong, which is no answer of an upstream at all."""

    def __init__(self, reason: str, *, refused: bool) -> None:
        super().__init__(reason)
        self.refused = refused


class Arrival(Struct, frozen=True):
    """Bytes, and when they came (the clock's reading)."""

    at: float
    data: bytes


class Connection(asyncio.Protocol):
    """A connection whose bytes come out in their order, its end last."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._arrivals: deque[Arrival] = deque()
        self._size = 0
        self._ending: tuple[float, Ending] | None = None
        self._came = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._transport: asyncio.Transport | None = None

    # ------------------------------------------------------------------ called by the loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._arrivals.append(Arrival(self._clock(), bytes(data)))
        self._size += len(data)
        if self._size > _WAITING and self._transport:
            self._transport.pause_reading()
        self._came.set()

    def connection_lost(self, exc: BaseException | None) -> None:
        ending = Ending.RESET if isinstance(exc, ConnectionError) else Ending.CLOSED
        self._ending = (self._clock(), ending)
        self._came.set()
        self._writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # ------------------------------------------------------------------ called by the proxy

    async def send(self, data: bytes) -> None:
        """Send bytes. A connection that has ended takes them and drops them."""
        if self._transport and self._ending is None:
            self._transport.write(data)
            await self._writable.wait()

    async def receive(self, patience: float) -> Arrival | tuple[float, Ending]:
        """Wait for bytes, or for the end: closed, reset, or silent for `patience` seconds."""
        if not self._arrivals and self._ending is None:
            self._came.clear()
            try:
                async with asyncio.timeout(patience):
                    await self._came.wait()
            except TimeoutError:
                return self._clock(), Ending.SILENT
        if self._arrivals:
            arrival = self._arrivals.popleft()
            self._size -= len(arrival.data)
            if self._size <= _WAITING and self._transport and self._ending is None:
                self._transport.resume_reading()
            return arrival
        assert self._ending is not None
        return self._ending

    def close(self) -> None:
        """Close at once, whatever is on its way."""
        if self._transport:
            self._transport.abort()


async def connect(
    address: Address,
    clock: Callable[[], float],
    patience: float,
    context: ssl.SSLContext | None,
) -> Connection:
    """Connect to the upstream, by TLS where there is a context, which verifies the certificate.

    Raises Unreachable, also when there is no connection after `patience` seconds.
    """
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(patience):
            _, connection = await loop.create_connection(
                lambda: Connection(clock), address.host, address.port, ssl=context
            )
    except TimeoutError:
        raise Unreachable(f"no connection in {patience:g} s", refused=True) from None
    except ssl.SSLError as error:
        reason = getattr(error, "verify_message", "") or error.reason or str(error)
        raise Unreachable(f"TLS: {reason}", refused=False) from None
    except OSError as error:
        refused = not isinstance(error, socket.gaierror)
        raise Unreachable(error.strerror or str(error), refused=refused) from None
    return connection
