"""A proxy before the mock that speaks HTTP/2 (without TLS, to those who know it before), and passes
everything else on as it is."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import h2.config
import h2.connection
import h2.events

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# Of one connection to the next (RFC 9113, section 8.2.2).
HOP = {b"connection", b"transfer-encoding", b"keep-alive"}


@contextmanager
def front(url: str) -> Iterator[str]:
    """`with front("http://127.0.0.1:4010") as before:` -- the URL of the proxy."""
    there = urlsplit(url)
    ready = threading.Event()
    state: dict[str, object] = {}

    async def run() -> None:
        stop = asyncio.Event()
        proxy = _Proxy(there.hostname or "", there.port or 80)
        server = await asyncio.start_server(proxy.connected, "127.0.0.1", 0)
        state.update(
            port=server.sockets[0].getsockname()[1], stop=stop, loop=asyncio.get_running_loop()
        )
        ready.set()
        await stop.wait()
        server.close()
        for task in list(proxy.tasks):
            task.cancel()
        await asyncio.gather(*proxy.tasks, return_exceptions=True)

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield f"http://127.0.0.1:{state['port']}"
    finally:
        state["loop"].call_soon_threadsafe(state["stop"].set)  # type: ignore[attr-defined]
        thread.join(20)


class _Proxy:
    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port
        self.tasks: set[asyncio.Task[None]] = set()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            first = await reader.readexactly(len(PREFACE))
            if first == PREFACE:
                await self._http2(first, reader, writer)
            else:
                await self._pipe(first, reader, writer)
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            self.tasks.discard(task)

    async def _pipe(
        self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        back, to = await asyncio.open_connection(self.host, self.port)
        to.write(first)
        one, other = (
            asyncio.ensure_future(_copy(reader, to)),
            asyncio.ensure_future(_copy(back, writer)),
        )
        try:
            await asyncio.wait({one, other}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (one, other):
                task.cancel()
            to.close()

    async def _http2(
        self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        connection.initiate_connection()
        data, body, head = first, b"", {}
        while data:
            for event in connection.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    head = dict(event.headers)
                elif isinstance(event, h2.events.DataReceived):
                    body += event.data
                    connection.acknowledge_received_data(event.flow_controlled_length, 1)
                elif isinstance(event, h2.events.StreamEnded):
                    await self._pass_on(connection, head, body)
            writer.write(connection.data_to_send())
            data = await reader.read(65536)

    async def _pass_on(
        self, connection: h2.connection.H2Connection, head: dict[bytes, bytes], body: bytes
    ) -> None:
        """Ask the mock over HTTP/1.1 (`Via`: RFC 9110, section 7.6.3), and send its answer."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        lines = [head[b":method"] + b" " + head[b":path"] + b" HTTP/1.1"]
        lines += [b"%s: %s" % pair for pair in head.items() if not pair[0].startswith(b":")]
        lines += [b"host: " + head[b":authority"], b"via: 2.0 front", b"connection: close"]
        if b"content-length" not in head:
            lines.append(b"content-length: %d" % len(body))
        writer.write(b"\r\n".join([*lines, b"", body]))
        answer = await reader.read()
        writer.close()
        said, _, content = answer.partition(b"\r\n\r\n")
        status, *fields = said.split(b"\r\n")
        pairs = [tuple(map(bytes.strip, field.split(b":", 1))) for field in fields]
        headers = [(name.lower(), value) for name, value in pairs if name.lower() not in HOP]
        connection.send_headers(1, [(b":status", status.split(b" ")[1]), *headers])
        connection.send_data(1, content, end_stream=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
