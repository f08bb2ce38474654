"""Raw servers: every test says byte for byte what is sent."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from wafermock.conformance.client import Client
from wafermock.conformance.endpoint import Endpoint
from wafermock.conformance.wire import Patience

CERTIFICATE = Path(__file__).parents[2] / "mockserver" / "record" / "localhost.pem"

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

# Who runs into it hangs; nothing waits for it as long as all is well.
LONG = Patience(connect=20, first_byte=20, between=20, whole=20, proceed=20, closing=20)


def short(name: str) -> Patience:
    """Return a patience that ends soon in one way, which a test means to happen."""
    return replace(LONG, **{name: 0.2})  # type: ignore[arg-type]


async def request_of(reader: asyncio.StreamReader) -> bytes:
    """Read a request with a Content-Length, or none, to its end."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return head + await reader.readexactly(length)


@dataclass
class Raw:
    """A raw server, and what it saw."""

    port: int
    scheme: str = "http"
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)
    faults: list[BaseException] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{self.scheme}://localhost:{self.port}"

    def client(self, patience: Patience = LONG, **options: object) -> Client:
        if self.scheme == "https":
            options = {"ca_file": str(CERTIFICATE)} | options
        return Client(Endpoint.at(self.url, **options), patience)  # type: ignore[arg-type]


Serve = Callable[..., Awaitable[Raw]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """`await serve(script)` serves every connection by a script; `tls=True` with TLS.

    `await serve([b"...", ...])` answers each request with the next of these bytes, in one write,
    and closes behind the last."""
    stack = AsyncExitStack()
    running: set[asyncio.Task[None]] = set()

    async def start(script: Script | list[bytes], tls: bool = False, alpn: str = "") -> Raw:
        raw = Raw(0, "https" if tls else "http")

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            running.add(task)
            raw.connections += 1
            try:
                if callable(script):
                    await script(reader, writer)
                else:
                    for answer in script:
                        raw.requests.append(await request_of(reader))
                        writer.write(answer)
                        await writer.drain()
            except (ConnectionError, asyncio.IncompleteReadError):
                pass
            except asyncio.CancelledError:
                pass
            except BaseException as fault:
                raw.faults.append(fault)
            finally:
                writer.close()
                running.discard(task)

        context = None
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE)
            if alpn:
                context.set_alpn_protocols([alpn])
        server = await asyncio.start_server(answer, "localhost", 0, ssl=context)
        raw.port = server.sockets[0].getsockname()[1]
        for other in server.sockets[1:]:
            other.close()
        stack.callback(server.close)
        return raw

    yield start
    for task in list(running):
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    await stack.aclose()
