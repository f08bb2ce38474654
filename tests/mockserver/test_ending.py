"""How a call ended: noted before its last byte, and not before much of it that nobody reads."""

import asyncio
import json
import re
import socket
from pathlib import Path

import pytest

from wafermock import serving
from wafermock.mockserver.one_write import write_last
from wafermock.mockserver.server import HttpServer
from wafermock.spec import load_contract

PLAIN = {"stream": False}
STREAM = {"stream": True}


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ending") / "long.json"
    path.write_text(json.dumps({"rules": [{"name": "long", "reply": {"text": "word " * 40_000}}]}))
    return path


def asked(body: dict[str, bool], version: str = "1.1", header: str = "") -> bytes:
    message = [{"role": "user", "content": "hi"}]
    content = json.dumps({"model": "gpt-oss-120b", "messages": message, **body}).encode()
    lines = (
        f"POST /v1/chat/completions HTTP/{version}", "Host: a", "Authorization: Bearer k",
        "Content-Type: application/json", f"Content-Length: {len(content)}", header,
    )  # fmt: skip
    return "".join(f"{line}\r\n" for line in lines if line).encode() + b"\r\n" + content


WAYS = [
    asked(PLAIN),
    asked(STREAM),
    asked(PLAIN, header="Connection: close"),
    asked(STREAM, header="Connection: close"),
    asked(PLAIN, "1.0"),
    asked(STREAM, "1.0"),
    asked(PLAIN, header="X-Wafermock-Delivery: one_write"),
    asked(STREAM, header="X-Wafermock-Delivery: one_write"),
]


@pytest.mark.parametrize("request_bytes", WAYS)
async def test_who_leaves_much_unread_is_gone(script: Path, request_bytes: bytes) -> None:
    made = serving.service(load_contract(), max_body=10_000, script=[script])
    control = serving.control(made)
    server = HttpServer(made, control=control, grace=0.01)
    await server.start()
    assert server._listening is not None
    for listening in server._listening.sockets:  # else the system takes megabytes by itself
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)
    await asyncio.get_running_loop().sock_connect(client, (server.host, server.port))
    reader, writer = await asyncio.open_connection(sock=client, limit=1024)
    writer.write(request_bytes)
    assert (await reader.readline()).endswith(b"200 OK\r\n")
    entry = control.journal[1]
    assert entry.ending is None
    await server.stop()
    writer.transport.abort()
    assert entry.ending == "client gone"


@pytest.mark.parametrize("request_bytes", WAYS)
async def test_who_reads_all_has_it_complete(script: Path, request_bytes: bytes) -> None:
    made = serving.service(load_contract(), max_body=10_000, script=[script])
    control = serving.control(made)
    server = HttpServer(made, control=control)
    await server.start()
    reader, writer = await asyncio.open_connection(server.host, server.port, limit=2**25)
    writer.write(request_bytes)
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    if length is not None:
        body = await reader.readexactly(int(length[1]))
    elif b"chunked" in head.lower():
        body = await reader.readuntil(b"\r\n0\r\n\r\n")
    else:
        body = await reader.read()
    assert len(body) > 200_000
    assert control.journal[1].ending == "complete"
    writer.close()
    await server.stop()


class Writer:
    """Notes what becomes of an answer, in order."""

    def __init__(self) -> None:
        self.seen: list[bytes | str] = []

    async def write(self, data: bytes) -> None:
        self.seen.append(data)

    async def drain(self) -> None:
        self.seen.append("waited")

    def over(self) -> None:
        self.seen.append("over")


@pytest.mark.parametrize("size", [0, 1, 65_536])
async def test_what_goes_at_once_is_over_before_it_goes(size: int) -> None:
    writer = Writer()
    await write_last(writer, b"a" * size, writer.over)  # type: ignore[arg-type]
    assert writer.seen == ["over", b"a" * size]


async def test_of_more_the_last_is_kept_until_the_rest_has_gone() -> None:
    writer = Writer()
    await write_last(writer, b"first" + b"a" * 65_536, writer.over)  # type: ignore[arg-type]
    assert writer.seen == [b"first", "waited", "over", b"a" * 65_536]
