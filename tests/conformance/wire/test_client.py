"""The client against raw servers: what comes, when, how it ends, and over which connection."""

import asyncio
import struct
from dataclasses import replace
from socket import SO_LINGER, SOL_SOCKET

import pytest

from wafermock.conformance.client import USER_AGENT
from wafermock.conformance.exchange import Sent
from wafermock.conformance.http1 import connect
from wafermock.conformance.http1_answer import AnswerReader
from wafermock.conformance.wire import NoAnswer, Patience, Unreachable

from .conftest import LONG, Serve, request_of, short

OK = b"HTTP/1.1 200 OK\r\n"
HELLO = OK + b"Content-Length: 5\r\n\r\nhello"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
GET = Sent("GET", "/v1/models")
POST = Sent("POST", "/v1/x", (("Content-Type", "text/plain"),), b"body")

Reader, Writer = asyncio.StreamReader, asyncio.StreamWriter


async def test_an_exchange(serve: Serve) -> None:
    raw = await serve([HELLO])
    async with raw.client() as client:
        received = await client.send(POST)
    assert raw.requests == [
        b"POST /v1/x HTTP/1.1\r\nHost: localhost:%d\r\nUser-Agent: %b\r\n"
        b"Content-Type: text/plain\r\nContent-Length: 4\r\n\r\nbody"
        % (raw.port, USER_AGENT.encode())
    ]
    assert (received.status, received.raw, received.ended, received.framing_fault) == (
        200, b"hello", "complete", "",
    )  # fmt: skip
    assert (received.http, received.reason, received.continued) == ("1.1", "OK", False)
    assert received.headers == (("Content-Length", "5"),)
    assert 0 <= received.first_byte <= received.arrivals[0].at <= received.seconds


async def test_connections_are_kept_and_used_again(serve: Serve) -> None:
    raw = await serve([HELLO] * 20)
    async with raw.client() as client:
        for _ in range(20):
            assert (await client.send(GET)).raw == b"hello"
    assert raw.connections == 1


async def test_as_many_connections_as_requests_at_a_time(serve: Serve) -> None:
    arrived = asyncio.Barrier(4)

    async def together(reader: Reader, writer: Writer) -> None:
        while True:
            await request_of(reader)
            await arrived.wait()
            writer.write(HELLO)

    raw = await serve(together)
    async with raw.client() as client:
        for _ in range(3):
            await asyncio.gather(*(client.send(GET) for _ in range(4)))
    assert raw.connections == 4


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set when the client has read something of an answer."""
    event = asyncio.Event()

    class Telling(AnswerReader):
        def feed(self, data: bytes, at: float) -> None:
            super().feed(data, at)
            event.set()

    monkeypatch.setattr("wafermock.conformance.http1.AnswerReader", Telling)
    return event


async def test_arrivals_come_one_by_one(serve: Serve, heard: asyncio.Event) -> None:
    async def streaming(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        writer.write(CHUNKED + b"3\r\none\r\n")
        await heard.wait()
        writer.write(b"3\r\ntwo\r\n3\r\n333\r\n0\r\n\r\n")
        await reader.read()

    raw = await serve(streaming)
    async with raw.client() as client:
        received = await client.send(GET)
    assert [arrival.data for arrival in received.arrivals] == [b"one", b"two333"]
    assert received.arrivals[0].at < received.arrivals[1].at


@pytest.mark.parametrize(
    ("answer", "status", "raw_body", "ended", "fault"),
    [
        (OK + b"\r\nhello", 200, b"hello", "complete", ""),
        (OK + b"Content-Length: 9\r\n\r\nhello", 200, b"hello", "cut", "closed after 5 of 9"),
        (CHUNKED + b"5\r\nhello\r\n", 200, b"hello", "cut", "before the last chunk"),
        (CHUNKED + b"zz\r\nhello\r\n", 200, b"", "cut", "no size of a chunk"),
        (HELLO + b"junk", 200, b"hello", "complete", "4 bytes behind the end"),
        (b"HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n", 302, b"", "complete",
         ""),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + HELLO, 200, b"hello", "complete", ""),
    ],
)  # fmt: skip
async def test_endings(
    serve: Serve, answer: bytes, status: int, raw_body: bytes, ended: str, fault: str
) -> None:
    raw = await serve([answer])
    async with raw.client() as client:
        received = await client.send(GET)
    assert (received.status, received.raw, received.ended) == (status, raw_body, ended)
    assert fault in received.framing_fault
    assert bool(fault) == bool(received.framing_fault)


async def test_junk_behind_the_last_answer_is_seen_when_the_server_closes(
    serve: Serve, heard: asyncio.Event
) -> None:
    async def late(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        writer.write(OK + b"Connection: close\r\nContent-Length: 5\r\n\r\nhello")
        await heard.wait()
        writer.write(b"late")

    raw = await serve(late)
    async with raw.client() as client:
        received = await client.send(GET)
    assert received.framing_fault.startswith("4 bytes behind the end")
    assert received.raw == b"hello"


async def test_junk_on_a_kept_connection_is_noted(serve: Serve) -> None:
    junk = asyncio.Event()

    async def late(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        writer.write(HELLO)
        await junk.wait()
        writer.write(b"junk")
        await reader.read()

    raw = await serve(late)
    async with raw.client() as client:
        assert (await client.send(GET)).framing_fault == ""
        junk.set()
        async with asyncio.timeout(20):
            while not client._idle[0].unasked:  # noqa: ASYNC110  (nobody would set an event)
                await asyncio.sleep(0)
        assert (await client.send(GET)).raw == b"hello"
        assert ["behind the end of an answer" in note for note in client.notes] == [True]
    assert raw.connections == 2


async def test_who_says_close_closes(serve: Serve) -> None:
    async def stays(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        writer.write(HELLO)
        await reader.read()

    raw = await serve(stays)
    async with raw.client(short("closing")) as client:
        received = await client.send(Sent("GET", "/", (("Connection", "close"),)))
    assert "stays open" in received.framing_fault
    assert received.ended == "complete"


async def test_a_stale_connection_is_no_fault_of_the_server(serve: Serve) -> None:
    answered = 0

    async def one_each(reader: Reader, writer: Writer) -> None:
        nonlocal answered
        await request_of(reader)
        answered += 1
        writer.write(HELLO)
        # It closes when the next request is there, without having read it.
        await reader.read(1)

    raw = await serve(one_each)
    async with raw.client() as client:
        for _ in range(3):
            assert (await client.send(POST)).raw == b"hello"
    assert (raw.connections, answered) == (3, 3)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "closed without an answer"),
        (b"SSH-2.0-x\r\n", "no answer of HTTP"),
        (OK + b"A: b\r\n", "within the head"),
    ],
)
async def test_no_answer(serve: Serve, answer: bytes, reason: str) -> None:
    raw = await serve([answer])
    async with raw.client() as client:
        with pytest.raises(NoAnswer, match=reason):
            await client.send(POST)


@pytest.mark.parametrize(
    ("before", "bound", "reason"),
    [
        (b"", "first_byte", r"no byte of an answer within 0.2 s"),
        (b"", "whole", r"no answer within 0.2 s"),
        (OK + b"A:", "between", r"nothing more for 0.2 s within the head"),
    ],
)
async def test_a_server_that_says_nothing(
    serve: Serve, before: bytes, bound: str, reason: str
) -> None:
    async def silent(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        writer.write(before)
        await reader.read()

    raw = await serve(silent)
    async with raw.client(short(bound)) as client:
        with pytest.raises(NoAnswer, match=reason):
            await client.send(POST)


async def test_a_body_that_stops(serve: Serve) -> None:
    async def stops(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        writer.write(CHUNKED + b"3\r\none\r\n")
        await reader.read()

    raw = await serve(stops)
    async with raw.client(short("between")) as client:
        received = await client.send(POST)
    assert (received.raw, received.ended) == (b"one", "timeout")


async def drip(reader: Reader, writer: Writer) -> None:
    """Send without end."""
    await request_of(reader)
    writer.write(CHUNKED)
    while True:
        writer.write(b"4\r\ndrip\r\n")
        await writer.drain()
        await asyncio.sleep(0)  # the client reads in the same loop


async def test_a_body_without_end_is_timed_as_a_whole(serve: Serve) -> None:
    raw = await serve(drip)
    async with raw.client(Patience(whole=0.3)) as client:
        received = await client.send(POST)
    assert received.ended == "timeout"
    assert len(received.arrivals) > 3


async def test_a_body_without_end_is_bounded(serve: Serve) -> None:
    raw = await serve(drip)
    async with raw.client(replace(LONG, body=40)) as client:
        received = await client.send(POST)
    assert received.ended == "overlong"
    assert 40 < len(received.raw) < 1_000


@pytest.mark.parametrize("after", [0, 1, 40])
async def test_the_client_hangs_up(serve: Serve, after: int) -> None:
    left = asyncio.Event()

    async def noticing(reader: Reader, writer: Writer) -> None:
        try:
            await drip(reader, writer)
        except ConnectionError:
            left.set()

    raw = await serve(noticing)
    async with raw.client() as client:
        received = await client.send(Sent("GET", "/", leave_after=after))
        assert received.ended == "left"
        assert len(received.raw) >= after
        async with asyncio.timeout(10):
            await left.wait()


async def test_who_leaves_leaves_though_the_answer_is_whole(serve: Serve) -> None:
    raw = await serve([HELLO, HELLO])
    async with raw.client() as client:
        assert (await client.send(Sent("GET", "/", leave_after=5))).ended == "left"
        await client.send(GET)
    assert raw.connections == 2


async def test_a_connection_that_breaks(serve: Serve, heard: asyncio.Event) -> None:
    async def reset(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        writer.write(OK + b"\r\nhel")
        await heard.wait()  # a reset throws away what has not been read
        writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    raw = await serve(reset)
    async with raw.client() as client:
        received = await client.send(GET)
    assert (received.raw, received.ended) == (b"hel", "cut")
    assert "the connection broke" in received.framing_fault


@pytest.mark.parametrize("is_asked", [False, True])
async def test_a_server_that_hangs_up_at_once(serve: Serve, is_asked: bool) -> None:
    async def closing(reader: Reader, writer: Writer) -> None:
        if is_asked:
            await request_of(reader)

    raw = await serve(closing)
    async with raw.client() as client:
        for _ in range(5):
            with pytest.raises(NoAnswer, match="closed without an answer"):
                await client.send(POST)


async def test_a_server_that_answers_before_it_is_asked(serve: Serve) -> None:
    async def full(reader: Reader, writer: Writer) -> None:
        writer.write(b"HTTP/1.1 503 Full\r\nConnection: close\r\nContent-Length: 4\r\n\r\nfull")

    raw = await serve(full)
    async with raw.client() as client:
        for _ in range(5):
            received = await client.send(GET)
            assert (received.status, received.raw) == (503, b"full")
    # The same where the answer is there before the request is written.
    connection = await connect("localhost", raw.port, None)
    async with asyncio.timeout(20):
        while not connection.closed:  # noqa: ASYNC110  (nobody would set an event)
            await asyncio.sleep(0)
    received = await connection.exchange(GET, b"GET / HTTP/1.1\r\n\r\n", LONG)
    assert (received.status, received.raw, received.framing_fault) == (503, b"full", "")


# ------------------------------------------------------------------------- requests with bodies


async def test_chunked_bodies(serve: Serve) -> None:
    seen = b""

    async def reading(reader: Reader, writer: Writer) -> None:
        nonlocal seen
        seen = await reader.readuntil(b"0\r\n\r\n")
        writer.write(HELLO)

    raw = await serve(reading)
    async with raw.client() as client:
        await client.send(Sent("POST", "/", body=b"hello world", chunks=(1, 0, 5)))
    assert b"\r\nTransfer-Encoding: chunked\r\n" in seen
    assert seen.endswith(b"\r\n\r\n1\r\nh\r\n5\r\nello \r\n5\r\nworld\r\n0\r\n\r\n")


async def test_expect_continue(serve: Serve) -> None:
    async def asking(reader: Reader, writer: Writer) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"\r\nExpect: 100-continue\r\n" in head
        for _ in range(100):  # turns of the loop that the client runs in too
            await asyncio.sleep(0)
        assert not reader._buffer  # type: ignore[attr-defined]  # nothing is sent unasked
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert await reader.readexactly(4) == b"body"
        writer.write(HELLO)

    raw = await serve(asking)
    async with raw.client() as client:
        received = await client.send(Sent("POST", "/", body=b"body", expect_continue=True))
    assert (received.continued, received.raw, raw.faults) == (True, b"hello", [])


async def test_expect_continue_is_not_waited_for_without_end(serve: Serve) -> None:
    raw = await serve([HELLO])
    async with raw.client(short("proceed")) as client:
        received = await client.send(Sent("POST", "/", body=b"body", expect_continue=True))
    assert (received.continued, received.raw) == (False, b"hello")
    assert raw.requests[0].endswith(b"body")


async def test_a_refused_body_is_not_sent(serve: Serve) -> None:
    seen: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def refusing(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 417 No\r\nContent-Length: 2\r\n\r\nno")
        seen.set_result(await reader.read())

    raw = await serve(refusing)
    async with raw.client() as client:
        received = await client.send(Sent("POST", "/", body=b"body", expect_continue=True))
        assert await asyncio.wait_for(seen, 20) == b""
    assert (received.status, received.raw, received.continued) == (417, b"no", False)


async def test_a_large_body_goes_out_whole(serve: Serve) -> None:
    raw = await serve([HELLO])
    body = bytes(range(256)) * 20_000
    async with raw.client() as client:
        assert (await client.send(Sent("POST", "/", body=body))).raw == b"hello"
    assert raw.requests[0].endswith(body)


@pytest.mark.parametrize("closes", [True, False])
async def test_an_answer_before_the_body_has_gone_out(serve: Serve, closes: bool) -> None:
    """A server refuses an oversize body by its head, and does not read it."""

    async def refusing(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
        await writer.drain()
        if not closes:
            await asyncio.Event().wait()

    raw = await serve(refusing)
    async with raw.client() as client:
        received = await client.send(Sent("POST", "/", body=b"x" * 20_000_000))
    assert (received.status, received.raw, received.ended) == (413, b"big", "complete")


async def test_a_body_that_nobody_takes(serve: Serve) -> None:
    async def ignoring(reader: Reader, writer: Writer) -> None:
        await asyncio.Event().wait()

    raw = await serve(ignoring)
    async with raw.client(short("between")) as client:
        with pytest.raises(NoAnswer, match="did not take the body"):
            await client.send(Sent("POST", "/", body=b"x" * 50_000_000))


async def test_a_request_that_cannot_be_written_harms_no_connection(serve: Serve) -> None:
    raw = await serve([HELLO, HELLO])
    async with raw.client() as client:
        await client.send(GET)
        with pytest.raises(ValueError, match="cannot hold"):
            await client.send(Sent("GET", "/", (("A", "\r\n"),)))
        await client.send(GET)
    assert raw.connections == 1


async def test_cancelling_closes(serve: Serve) -> None:
    gone = asyncio.Event()

    async def waiting(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        await reader.read()
        gone.set()

    raw = await serve(waiting)
    async with raw.client() as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await client.send(GET)
        async with asyncio.timeout(10):
            await gone.wait()


# ------------------------------------------------------------------------- reaching the endpoint


async def test_nobody_listens(serve: Serve, unused_tcp_port: int) -> None:
    raw = await serve([])
    raw.port = unused_tcp_port
    async with raw.client() as client:
        with pytest.raises(Unreachable, match=f"nobody listens at localhost:{unused_tcp_port}"):
            await client.send(GET)


async def test_tls(serve: Serve) -> None:
    raw = await serve([HELLO] * 3, tls=True)
    async with raw.client() as client:
        for _ in range(3):
            assert (await client.send(POST)).raw == b"hello"
    assert raw.connections == 1


async def test_tls_body_until_the_close(serve: Serve) -> None:
    raw = await serve([OK + b"\r\nhello"], tls=True)
    async with raw.client() as client:
        received = await client.send(GET)
    assert (received.raw, received.ended) == (b"hello", "complete")


async def test_tls_that_is_not_trusted(serve: Serve) -> None:
    raw = await serve([HELLO], tls=True)
    async with raw.client(ca_file=None) as client:
        with pytest.raises(Unreachable, match=r"not trusted: .*--insecure"):
            await client.send(GET)
    async with raw.client(ca_file=None, insecure=True) as client:
        assert (await client.send(GET)).raw == b"hello"


async def test_no_tls_where_it_should_be(serve: Serve) -> None:
    async def plain(reader: Reader, writer: Writer) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad\r\n\r\n")

    raw = await serve(plain)
    raw.scheme = "https"
    async with raw.client() as client:
        with pytest.raises(Unreachable, match="TLS"):
            await client.send(GET)


async def test_tls_is_never_agreed_on(serve: Serve) -> None:
    async def silent(reader: Reader, writer: Writer) -> None:
        await reader.read()

    raw = await serve(silent)
    raw.scheme = "https"
    async with raw.client(Patience(connect=0.2)) as client:
        with pytest.raises(Unreachable, match=r"did not take a connection within 0.2 s"):
            await client.send(GET)


async def test_proxies_of_the_environment_are_not_used(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    raw = await serve([HELLO])
    async with raw.client() as client:
        assert (await client.send(GET)).raw == b"hello"


async def test_redirects_are_not_followed(serve: Serve) -> None:
    raw = await serve(
        [b"HTTP/1.1 307 T\r\nLocation: http://other.test/x\r\nContent-Length: 0\r\n\r\n"] * 2
    )
    async with raw.client() as client:
        for _ in range(2):
            assert (await client.send(POST)).status == 307
        assert client.notes == [
            "a redirect (307) to another host, http://other.test, was not followed"
        ]
    assert len(raw.requests) == 2
