"""Upstreams that say what a test wants, byte for byte, and recorders in front of them."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from wafermock.mockserver.record.answering import ScriptAnswers
from wafermock.mockserver.record.proxy import RecordingProxy
from wafermock.mockserver.record.recorder import Recorder
from wafermock.mockserver.record.script_file import ScriptFile
from wafermock.mockserver.record.upstream import read_address
from wafermock.mockserver.script import Script
from wafermock.spec import load_contract

# A bound for what hangs, in seconds; nothing waits for it as long as all is well.
PATIENCE = 30

Reader, Writer = asyncio.StreamReader, asyncio.StreamWriter


@pytest.fixture(autouse=True)
async def _bounded() -> AsyncIterator[None]:
    async with asyncio.timeout(PATIENCE):
        yield


@dataclass
class Upstream:
    """A server that reads a request, keeps it, and answers what `answer` writes."""

    answer: Callable[["Upstream", Reader, Writer, bytes], Awaitable[None]]
    requests: list[bytes] = field(default_factory=list)
    port: int = 0
    connections: list[Writer] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def head(self) -> dict[str, str]:
        """The headers of the last request, names as they were sent."""
        lines = self.requests[-1].partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]
        return dict(line.split(": ", 1) for line in lines)

    @property
    def body(self) -> bytes:
        return self.requests[-1].partition(b"\r\n\r\n")[2]

    async def _connected(self, reader: Reader, writer: Writer) -> None:
        self.connections.append(writer)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.lower().split(b"\r\n")
            length = next((int(x[15:]) for x in lines if x.startswith(b"content-length:")), 0)
            at = len(self.requests)
            if b"transfer-encoding: chunked" in lines:
                body = await reader.readuntil(b"0\r\n\r\n")
            elif b"expect: 100-continue" in lines:
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                body = await reader.readexactly(length)
            else:
                body = await reader.readexactly(length)
            self.requests.insert(at, head + body)
            await self.answer(self, reader, writer, head + body)
        except ConnectionError:
            pass
        finally:
            writer.close()


def says(*parts: bytes, then: str = "close") -> Callable[..., Awaitable[None]]:
    """Answer with some bytes, then close the connection, reset it, or keep it and be silent."""

    async def answer(upstream: Upstream, reader: Reader, writer: Writer, request: bytes) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
        if then == "reset":
            sock: socket.socket = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        elif then == "silence":
            await reader.read()

    return answer


@pytest.fixture
async def upstream() -> AsyncIterator[Callable[..., Awaitable[Upstream]]]:
    """`await upstream(says(...))` starts one; it ends with the test."""
    async with contextlib.AsyncExitStack() as stack:

        async def start(answer: Callable[..., Awaitable[None]]) -> Upstream:
            made = Upstream(answer)
            server = await asyncio.start_server(made._connected, "127.0.0.1", 0, limit=2**20)
            made.port = server.sockets[0].getsockname()[1]

            def end() -> None:
                server.close()
                for writer in made.connections:
                    writer.transport.abort()

            stack.callback(end)
            return made

        yield start


@dataclass
class Running:
    """A recorder at work: the proxy, the file, and what was said."""

    proxy: RecordingProxy
    recorder: Recorder
    path: Path
    said: list[str]

    @property
    def script(self) -> str:
        return self.path.read_text(encoding="utf-8")

    async def settled(self) -> str:
        """Stop; return the script."""
        await self.proxy.stop()
        return self.script


@pytest.fixture
async def recording(tmp_path: Path) -> AsyncIterator[Callable[..., Awaitable[Running]]]:
    """`await recording(url)` starts a recorder in front of an upstream."""
    async with contextlib.AsyncExitStack() as stack:

        async def start(url: str, name: str = "out.yaml", **options: Any) -> Running:
            path = tmp_path / name
            said: list[str] = []
            recorder = Recorder(ScriptFile(path), options.pop("patterns", ()), said.append)
            proxy = RecordingProxy(read_address(url), recorder, **options)
            await proxy.start()
            stack.push_async_callback(proxy.stop)
            return Running(proxy, recorder, path, said)

        yield start


@pytest.fixture
async def replaying(
    recording: Callable[..., Awaitable[Running]],
) -> Callable[[Path], Awaitable[Running]]:
    """`await replaying(path)` serves a recorded script; behind it there is no upstream."""

    async def start(path: Path) -> Running:
        answers = ScriptAnswers(Script.load(path), load_contract())
        return await recording(NOBODY, "not-written.yaml", answers=answers)

    return start


# Nobody listens there, and nobody else can: the address is taken.
_TAKEN = socket.socket()
_TAKEN.bind(("127.0.0.1", 0))
NOBODY = f"http://127.0.0.1:{_TAKEN.getsockname()[1]}"


def request(
    method: str = "POST", target: str = "/v1/chat/completions", body: bytes = b"", **fields: str
) -> bytes:
    """Write a request that closes its connection behind it."""
    headers = {"Host": "localhost", "Connection": "close", **fields}
    if body:
        headers.setdefault("Content-Type", "application/json")
        headers["Content-Length"] = str(len(body))
    lines = [f"{method} {target} HTTP/1.1"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


async def ask(port: int, *parts: bytes) -> tuple[bytes, str]:
    """Send bytes; return all that comes, and how it ended: `close` or `reset`."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    got = b""
    try:
        for part in parts:
            writer.write(part)
        while data := await reader.read(65536):
            got += data
    except ConnectionResetError:
        return got, "reset"
    finally:
        writer.close()
    return got, "close"


def body_of(answer: bytes) -> bytes:
    """Return the body of an answer, without its chunks."""
    head, _, body = answer.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" not in head.lower():
        return body
    parts = []
    while body:
        line, _, body = body.partition(b"\r\n")
        size = int(line, 16)
        parts.append(body[:size])
        body = body[size + 2 :]
        if not size:
            break
    return b"".join(parts)
