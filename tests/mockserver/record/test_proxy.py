"""Passing on: byte for byte, as it comes, whatever happens to the upstream."""

import asyncio
import gzip
import json
import re
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from wafermock.mockserver.record.upstream import read_address

from .conftest import NOBODY, Running, Upstream, ask, body_of, request, says

Start = Callable[..., Awaitable[Any]]

OK = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a":1}'
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
DONE = b"data: [DONE]\n\n"
BODY = b'{"model": "m", "messages": []}'


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def test_a_request_goes_on_unchanged(upstream: Start, recording: Start) -> None:
    up: Upstream = await upstream(says(OK))
    run: Running = await recording(up.url)
    target = "/v1/chat/%63ompletions?b=%20&a=1&&c"
    sent = request("PATCH", target, BODY, X_Odd="\xe9 \xff", Authorization="Bearer k", TE="gzip",
                   Accept_Encoding="gzip;q=1.0,  deflate", Keep_Alive="5")  # fmt: skip
    await ask(run.proxy.port, sent)
    head, _, body = up.requests[0].partition(b"\r\n\r\n")
    assert head.split(b"\r\n") == [
        b"PATCH " + target.encode() + b" HTTP/1.1",
        f"Host: 127.0.0.1:{up.port}".encode(),
        b"X-Odd: \xe9 \xff",
        b"Authorization: Bearer k",
        b"Accept-Encoding: gzip;q=1.0,  deflate",
        b"Content-Type: application/json",
        b"Content-Length: 30",
        b"Connection: close",
    ]
    assert body == BODY


async def test_an_answer_comes_back_unchanged(upstream: Start, recording: Start) -> None:
    answer = (
        b"HTTP/1.1 418 Short and stout\r\nX-B: 2\r\nset-cookie: a=1\r\nSet-Cookie: b=2\r\n"
        b"X-Latin: \xe9\r\nContent-Length: 3\r\nConnection: x-hop\r\nX-Hop: gone\r\n\r\nabc"
    )
    up = await upstream(says(answer))
    run = await recording(up.url)
    got, _ = await ask(run.proxy.port, request("GET", "/teapot"))
    assert got == (
        b"HTTP/1.1 418 Short and stout\r\nX-B: 2\r\nset-cookie: a=1\r\nSet-Cookie: b=2\r\n"
        b"X-Latin: \xe9\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc"
    )


async def test_a_path_of_the_upstream_stands_in_front(upstream: Start, recording: Start) -> None:
    up = await upstream(says(OK))
    run = await recording(f"{up.url}/gateway/")
    await ask(run.proxy.port, request("GET", "http://elsewhere.example/v1/models?x=1"))
    assert up.requests[0].startswith(b"GET /gateway/v1/models?x=1 HTTP/1.1\r\n")


async def test_a_chunked_request_is_passed_on_as_it_comes(
    upstream: Start, recording: Start
) -> None:
    up = await upstream(says(OK))
    run = await recording(up.url)
    head = request("POST", "/v1/x", Transfer_Encoding="chunked", Content_Type="application/json")
    await ask(run.proxy.port, head + chunk(b'{"a"') + chunk(b":1}") + b"0\r\n\r\n")
    assert up.head["Transfer-Encoding"] == "chunked"
    assert body_of(up.requests[0]) == b'{"a":1}'


async def test_a_stream_comes_event_by_event_with_trailers(
    upstream: Start, recording: Start
) -> None:
    go = asyncio.Queue[bytes]()

    async def answer(up: Upstream, reader: Any, writer: Any, sent: bytes) -> None:
        while data := await go.get():
            writer.write(data)
            await writer.drain()

    up = await upstream(answer)
    run = await recording(up.url)
    reader, writer = await asyncio.open_connection("127.0.0.1", run.proxy.port)
    writer.write(request(body=BODY, TE="trailers"))
    go.put_nowait(STREAM)
    head = await reader.readuntil(b"\r\n\r\n")
    assert head == STREAM[:-2] + b"Connection: close\r\n\r\n"
    # Each part is heard before the next one is sent: nothing waits for more.
    for data in (b"data: 1\n", b"\ndata: ", b"2\n\n"):
        go.put_nowait(chunk(data))
        assert await reader.readexactly(len(chunk(data))) == chunk(data)
    go.put_nowait(b"0\r\nX-Checksum: 7\r\nx-b: \r\n\r\n")
    assert await reader.read() == b"0\r\nX-Checksum: 7\r\nx-b: \r\n\r\n"
    go.put_nowait(b"")
    writer.close()
    assert up.head["TE"] == "trailers"


async def test_a_compressed_body_is_not_touched(upstream: Start, recording: Start) -> None:
    packed = gzip.compress(b'{"a": "b"}' * 50, mtime=0)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    up = await upstream(says(head + packed))
    run = await recording(up.url)
    got, _ = await ask(run.proxy.port, request(body=BODY, Accept_Encoding="gzip"))
    assert body_of(got) == packed


async def test_only_codings_that_can_be_looked_through_are_asked_for(
    upstream: Start, recording: Start
) -> None:
    up = await upstream(says(OK))
    run = await recording(up.url)
    await ask(run.proxy.port, request(body=BODY, Accept_Encoding="br;q=1, gzip;q=0.5, zstd, *"))
    assert up.head["Accept-Encoding"] == "gzip;q=0.5"
    await ask(run.proxy.port, request(body=BODY, Accept_Encoding="br"))
    assert up.head["Accept-Encoding"] == "identity"
    await ask(run.proxy.port, request(body=BODY))
    assert "Accept-Encoding" not in up.head


async def test_an_answer_in_another_coding_is_passed_on_and_not_kept(
    upstream: Start, recording: Start
) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 3\r\n\r\nxyz"
    up = await upstream(says(answer))
    run = await recording(up.url)
    got, _ = await ask(run.proxy.port, request(body=BODY))
    assert body_of(got) == b"xyz"
    await run.proxy.stop()
    assert not run.path.exists()
    assert "'br' cannot be read" in run.said[0]


async def test_redirects_are_the_clients(upstream: Start, recording: Start) -> None:
    answer = b"HTTP/1.1 307 Go\r\nLocation: http://other.example/x\r\nContent-Length: 0\r\n\r\n"
    up = await upstream(says(answer))
    run = await recording(up.url)
    got, _ = await ask(run.proxy.port, request(body=BODY))
    assert got.startswith(b"HTTP/1.1 307 Go\r\nLocation: http://other.example/x\r\n")
    assert len(up.requests) == 1


async def test_interim_answers_are_passed_on(upstream: Start, recording: Start) -> None:
    up = await upstream(says(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", OK))
    run = await recording(up.url)
    reader, writer = await asyncio.open_connection("127.0.0.1", run.proxy.port)
    writer.write(request(body=BODY, Expect="100-continue")[: -len(BODY)])
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(BODY)
    got = await reader.read()
    writer.close()
    assert got.startswith(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert up.body == BODY


async def test_a_connection_serves_many(upstream: Start, recording: Start) -> None:
    up = await upstream(says(OK))
    run = await recording(up.url)
    reader, writer = await asyncio.open_connection("127.0.0.1", run.proxy.port)
    for _ in range(3):
        writer.write(request(body=BODY).replace(b"Connection: close\r\n", b""))
        assert await reader.readexactly(len(OK)) == OK
    writer.close()
    assert len(up.requests) == 3


async def test_a_client_of_http_1_0_gets_no_chunks(upstream: Start, recording: Start) -> None:
    up = await upstream(says(STREAM + chunk(b"data: 1\n\n") + b"0\r\n\r\n"))
    run = await recording(up.url)
    old = request(body=BODY).replace(b"HTTP/1.1", b"HTTP/1.0")
    got, _ = await ask(run.proxy.port, old)
    assert b"chunked" not in got
    assert body_of(got) == b"data: 1\n\n"


async def test_head_and_answers_without_a_body(upstream: Start, recording: Start) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
    up = await upstream(says(answer))
    run = await recording(up.url)
    got, _ = await ask(run.proxy.port, request("HEAD", "/v1/models"))
    assert got == answer[:-2] + b"Connection: close\r\n\r\n"
    up.answer = says(b"HTTP/1.1 204 No Content\r\n\r\n")
    got, _ = await ask(run.proxy.port, request("DELETE", "/v1/files/1"))
    assert got == b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"


# ---------------------------------------------------------------------- an upstream that fails

PARTIAL = STREAM + chunk(b"data: 1\n\n")


@pytest.mark.parametrize(
    ("answer", "then", "passed", "ends", "failure"),
    [
        (b"", "reset", b"", "reset", "{name: reset_before_headers}"),
        (b"", "close", b"", "close", "{name: close_before_headers}"),
        (b"HTTP/1.1 200 O", "reset", b"HTTP/1.1 200 O", "reset",
         "{name: reset_in_headers, after: 14}"),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n", "close", b"HTTP/1.1 200 OK\r\nA: b\r\n", "close",
         "{name: reset_in_headers, after: 23}"),
        (PARTIAL, "reset", chunk(b"data: 1\n\n"), "reset", "{name: reset_in_body, after: 9}"),
        (PARTIAL, "close", chunk(b"data: 1\n\n"), "close", "{name: close_in_body, after: 9}"),
        (OK[:-2], "close", b'{"a":', "close", "{name: close_in_body, after: 5}"),
        (b"HTTP/1.1 200 OK\r\n\r\nabc", "reset", b"abc", "reset",
         "{name: reset_in_body, after: 3}"),
        (PARTIAL + b"zz\r\n", "silence", chunk(b"data: 1\n\n"), "close",
         "{name: close_in_body, after: 9}"),
    ],
)  # fmt: skip
async def test_a_failure_is_passed_on_and_recorded(
    upstream: Start,
    recording: Start,
    answer: bytes,
    then: str,
    passed: bytes,
    ends: str,
    failure: str,
) -> None:
    up = await upstream(says(answer, then=then))
    run = await recording(up.url)
    got, ended = await ask(run.proxy.port, request(body=BODY))
    assert got.endswith(passed)
    assert ended == ends
    assert f"    failure: {failure}\n" in await run.settled()


async def test_the_end_of_a_connection_ends_a_body_without_a_length(
    upstream: Start, recording: Start
) -> None:
    up = await upstream(says(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nabc"))
    run = await recording(up.url)
    got, ended = await ask(run.proxy.port, request(body=BODY))
    assert (body_of(got), ended) == (b"abc", "close")
    assert "failure" not in await run.settled()


async def test_an_upstream_that_refuses(recording: Start) -> None:
    run = await recording(NOBODY)
    assert await ask(run.proxy.port, request(body=BODY)) == (b"", "reset")
    assert "failure: {name: reset_before_headers}" in await run.settled()


@pytest.mark.parametrize("said", [b"", PARTIAL])
async def test_an_upstream_that_falls_silent(
    upstream: Start, recording: Start, said: bytes
) -> None:
    up = await upstream(says(said, then="silence"))
    run = await recording(up.url, timeout=0.3)
    got, ended = await ask(run.proxy.port, request(body=BODY))
    assert ended == "close"
    assert bool(got) == bool(said)
    name = "close_in_body" if said else "close_before_headers"
    assert f"name: {name}" in await run.settled()
    at = re.findall(r"at: ([\d.]+)", run.script)[-1]
    assert float(at) >= 0.3


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
async def test_an_error_is_an_answer(upstream: Start, recording: Start, status: int) -> None:
    error = b'{"message": "no"}'
    head = b"HTTP/1.1 %d No\r\nRetry-After: 3\r\nContent-Length: %d\r\n\r\n" % (status, len(error))
    up = await upstream(says(head + error))
    run = await recording(up.url)
    got, _ = await ask(run.proxy.port, request(body=BODY))
    assert got.startswith(b"HTTP/1.1 %d No\r\n" % status)
    script = await run.settled()
    assert f"    status: {status}\n" in script
    assert '      "retry-after": "3"\n' in script


async def test_a_client_that_leaves_is_not_recorded(upstream: Start, recording: Start) -> None:
    left = asyncio.Event()

    async def answer(up: Upstream, reader: Any, writer: Any, sent: bytes) -> None:
        writer.write(PARTIAL)
        await reader.read()  # until the recorder hangs up, since the client has
        left.set()

    up = await upstream(answer)
    run = await recording(up.url)
    reader, writer = await asyncio.open_connection("127.0.0.1", run.proxy.port)
    writer.write(request(body=BODY))
    await reader.readuntil(b"data: 1\n\n\r\n")
    writer.close()
    await left.wait()
    await run.proxy.stop()
    assert run.said == ["not recorded: exchange 1: the client left before the answer was whole"]
    assert run.recorder.lost == 1
    assert not run.path.exists()


async def test_a_client_that_leaves_behind_the_last_event_is(
    upstream: Start, recording: Start
) -> None:
    left = asyncio.Event()

    async def answer(up: Upstream, reader: Any, writer: Any, sent: bytes) -> None:
        writer.write(PARTIAL + chunk(DONE))
        await reader.read()
        left.set()

    up = await upstream(answer)
    run = await recording(up.url)
    reader, writer = await asyncio.open_connection("127.0.0.1", run.proxy.port)
    writer.write(request(body=BODY))
    await reader.readuntil(b"[DONE]\n\n\r\n")
    writer.close()
    await left.wait()
    script = await run.settled()
    assert "data: [DONE]" in script
    assert "failure" not in script


async def test_an_answer_before_the_request_is_whole(upstream: Start, recording: Start) -> None:
    async def answer(reader: Any, writer: Any) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too large\r\nContent-Length: 0\r\n\r\n")
        await reader.read()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    run = await recording(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    reader, writer = await asyncio.open_connection("127.0.0.1", run.proxy.port)
    writer.write(request(body=BODY, Expect="100-continue")[: -len(BODY)])
    assert (await reader.read()).startswith(b"HTTP/1.1 413 Too large\r\n")
    writer.close()
    await run.proxy.stop()
    assert "before the whole request" in run.said[0]
    server.close()


async def test_broken_requests_reach_nobody(upstream: Start, recording: Start) -> None:
    up = await upstream(says(OK))
    run = await recording(up.url)
    got, _ = await ask(run.proxy.port, b"nonsense\r\n\r\n")
    assert b" 400 Bad Request\r\n" in got
    assert b'{"message": "wafermock record: Invalid method encountered"}' in got
    got, _ = await ask(run.proxy.port, request("CONNECT", "example.org:443"))
    assert b"base URL" in got
    assert not up.requests


async def test_certificates_are_verified(recording: Start, tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).with_name("localhost.pem"))

    async def answer(reader: Any, writer: Any) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    url = f"https://localhost:{server.sockets[0].getsockname()[1]}"
    run = await recording(url)
    got, _ = await ask(run.proxy.port, request("GET", "/v1/models"))
    assert got.startswith(b"HTTP/1.1 502 ")
    assert b"self-signed certificate" in got
    assert run.recorder.lost == 1
    trusting = ssl.create_default_context(cafile=str(Path(__file__).with_name("localhost.pem")))
    run = await recording(url, context=trusting)
    got, _ = await ask(run.proxy.port, request("GET", "/v1/models"))
    assert body_of(got) == b'{"a":1}'
    server.close()


def test_a_version_at_the_end_of_an_upstream_is_in_every_path_already() -> None:
    assert read_address("http://a:1/x/v1/").prefix == "/x"


@pytest.mark.parametrize(
    ("url", "wrong"),
    [
        ("api.cerebras.ai", "is no URL of a server"),
        ("ftp://x", "is no URL of a server"),
        ("https://", "is no URL of a server"),
        ("https://k:v@host", "must not hold a key"),
        ("https://host?x=1", "a query"),
        ("https://host:99999", "no URL"),
    ],
)
def test_what_is_no_upstream(url: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        read_address(url)


def test_addresses() -> None:
    assert read_address("https://api.cerebras.ai/").authority == "api.cerebras.ai"
    assert read_address("http://[::1]:8080/a/").authority == "[::1]:8080"
    assert read_address("http://[::1]:8080/a/").prefix == "/a"


async def test_parallel_exchanges_stand_in_the_order_of_their_start(
    upstream: Start, recording: Start
) -> None:
    gates = {name: asyncio.Event() for name in "abcd"}
    came = asyncio.Queue[str]()

    async def answer(up: Upstream, reader: Any, writer: Any, sent: bytes) -> None:
        name = json.loads(sent.partition(b"\r\n\r\n")[2])["model"]
        came.put_nowait(name)
        await gates[name].wait()
        writer.write(OK)
        await writer.drain()

    up = await upstream(answer)
    run = await recording(up.url)
    asked = {}
    for name in "abcd":
        body = json.dumps({"model": name}).encode()
        asked[name] = asyncio.create_task(ask(run.proxy.port, request(body=body)))
        assert await came.get() == name
    for number, name in enumerate("cadb", start=1):
        gates[name].set()
        await asked[name]
        # It is there at once, and in its place, though others are under way.
        assert len(re.findall("^- name:", run.script, re.MULTILINE)) == number
    names = re.findall(r'^- name: "#(\d) POST \S+: (\w)"', await run.settled(), re.MULTILINE)
    assert names == [("1", "a"), ("2", "b"), ("3", "c"), ("4", "d")]
