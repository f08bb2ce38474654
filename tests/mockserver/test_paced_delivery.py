"""Answers in time, over a socket: a server in the test's own loop, whose clock the test moves.

A manual clock runs only when it is told to, so what has been delivered at a moment is exact. A
negative (`nothing more has come`) is looked at once the server waits for the clock: what it had
to write is then written.
"""

import asyncio
import contextlib
import gc
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from email.utils import formatdate
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from cerebras.cloud.sdk import AsyncCerebras, RateLimitError
from msgspec import field

from wafermock.mockserver.clock import FROZEN_TIME, Clock
from wafermock.mockserver.limits import Limiter, parse_limits
from wafermock.mockserver.pace import read_pace
from wafermock.mockserver.queueing import Queue
from wafermock.mockserver.server import HttpServer
from wafermock.mockserver.service import Service, Turn

# A bound for what hangs, in seconds; nothing waits for it as long as all is well.
PATIENCE = 30

DAY = 86_400.0
GET = b"GET /v1/models HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer key\r\n\r\n"
BODY = {"model": "gpt-oss-120b", "prompt": "Hello!", "max_tokens": 60}
STREAM = {**BODY, "stream": True}
TALK = {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": "Hello!"}]}
TOKENS_LEFT = "x-ratelimit-remaining-tokens-day"


class Watched(Turn, frozen=True):
    """A turn that tells when it is over."""

    over: asyncio.Event = field(default_factory=asyncio.Event)

    def end(self) -> None:
        super().end()
        self.over.set()


class Paced(HttpServer):
    """A server that tells its turns, for tests that compare what came with what was to come."""

    def __init__(self, service: Service, **more: Any) -> None:
        super().__init__(service, **more)
        self.turns: list[Watched] = []
        begin = service.begin

        def recorded(request: Any) -> Turn:
            turn = begin(request)
            self.turns.append(Watched(turn.answer, turn.admission))
            return self.turns[-1]

        service.begin = recorded  # type: ignore[method-assign]

    @property
    def clock(self) -> Clock:
        return self.service.clock

    async def waits(self, count: int = 1) -> None:
        """Return when so many answers wait for the clock."""
        assert await asyncio.to_thread(self.clock.until_waiting, count, PATIENCE)


Start = Callable[..., Awaitable[Paced]]


@pytest.fixture
async def start(
    make_mock: Callable[..., Any], capfd: pytest.CaptureFixture[str]
) -> AsyncIterator[Start]:
    """`await start("tpd=1M", ttft="2s")`: a server with a manual clock; it must say nothing."""
    servers: list[Paced] = []
    faults: list[Any] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: faults.append(context))
    bound = loop.call_later(PATIENCE, lambda: [task.cancel() for task in asyncio.all_tasks()])

    async def start(
        *limits: str,
        ttft: str | None = "2s",
        tokens_per_second: str | None = "10",
        queue: float | None = None,
        retry_after: bool = False,
        grace: float = 0.01,
        host: str = "127.0.0.1",
        **settings: Any,
    ) -> Paced:
        clock = Clock("manual")
        pace = read_pace(ttft, tokens_per_second)
        limiter = Limiter(parse_limits(limits), clock, retry_after=retry_after)
        service = Service(make_mock(pace=pace, **settings), clock, limiter, Queue(queue))
        server = Paced(service, host=host, grace=grace)
        await server.start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        await server.stop()
        assert server.clock.waiting == 0
    bound.cancel()
    gc.collect()  # a task that was lost would complain now
    assert (faults, capfd.readouterr().err) == ([], "")


class Wire:
    """A connection, byte by byte, that can also tell what has come so far."""

    def __init__(self, server: HttpServer, *, buffer: int | None = None) -> None:
        self.socket = socket.socket()
        if buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        # The kernel accepts; the loop need not run for it.
        self.socket.connect(("127.0.0.1", server.port))
        self.socket.setblocking(False)
        self._unread = b""

    async def send(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self.socket, data)

    async def _more(self) -> bool:
        part = await asyncio.get_running_loop().sock_recv(self.socket, 65536)
        self._unread += part
        return part != b""

    async def until(self, end: bytes) -> bytes:
        """Read up to some bytes, and those too."""
        while end not in self._unread:
            assert await self._more(), f"closed before {end!r}: {self._unread!r}"
        found, self._unread = self._unread.split(end, 1)
        return found + end

    async def exactly(self, size: int) -> bytes:
        while len(self._unread) < size:
            assert await self._more(), f"closed {size - len(self._unread)} bytes too early"
        found, self._unread = self._unread[:size], self._unread[size:]
        return found

    async def head(self) -> tuple[int, dict[str, str]]:
        first, *fields = (await self.until(b"\r\n\r\n")).decode().strip().split("\r\n")
        headers = {}
        for line in fields:
            name, _, value = line.partition(": ")
            assert name.lower() not in headers
            headers[name.lower()] = value
        return int(first.split(" ")[1]), headers

    async def chunk(self) -> bytes:
        """Read one chunk of a chunked body; the last one is empty."""
        size = int(await self.until(b"\r\n"), 16)
        data = await self.exactly(size)
        assert await self.until(b"\r\n") == b"\r\n"
        return data

    async def chunks(self) -> bytes:
        parts = []
        while part := await self.chunk():
            parts.append(part)
        return b"".join(parts)

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        status, headers = await self.head()
        if headers.get("transfer-encoding") == "chunked":
            return status, headers, await self.chunks()
        return status, headers, await self.exactly(int(headers["content-length"]))

    def nothing_more(self) -> bool:
        """Say whether all that has come so far was read."""
        with contextlib.suppress(BlockingIOError):
            self._unread += self.socket.recv(65536)
        return self._unread == b""

    async def ended(self) -> bool:
        try:
            return not await self._more() and self._unread == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self.socket.close()

    def hang_up(self, rudely: bool) -> None:
        if rudely:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()


def request(body: Any = STREAM, version: str = "1.1", path: str = "/v1/completions") -> bytes:
    raw = json.dumps(body).encode()
    return (
        f"POST {path} HTTP/{version}\r\nHost: a\r\nAuthorization: Bearer key\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(raw)}\r\n"
    ).encode() + b"Connection: keep-alive\r\n\r\n%s" % raw


def together(turn: Turn) -> list[tuple[float, bytes]]:
    """Join the parts of an answer that may go at the same moment."""
    moments: dict[float, bytes] = {}
    assert turn.answer.offsets is not None
    for offset, part in zip(turn.answer.offsets, turn.answer.parts, strict=True):
        moments[offset] = moments.get(offset, b"") + part
    return list(moments.items())


# ---------------------------------------------------------------------- when parts go


async def test_each_part_goes_when_its_time_has_come(start: Start) -> None:
    server = await start(queue=1.0)
    with closing(Wire(server)) as wire:
        await wire.send(request())
        status, headers = await wire.head()
        assert (status, headers["transfer-encoding"]) == (200, "chunked")
        assert headers["content-type"] == "text/event-stream; charset=utf-8"
        parts = together(server.turns[0])
        assert len(parts) > 10
        assert parts[0][0] == 3.0  # a second in the queue, two for the prompt
        passed = 0.0
        for offset, data in parts:
            await server.waits()
            server.clock.advance(offset - passed - 0.001)
            await server.waits()
            assert wire.nothing_more()
            server.clock.advance(0.001)
            assert await wire.chunk() == data
            passed = offset
        assert await wire.chunk() == b""
        assert wire.nothing_more()
        # What the answer tells of its time is what has passed.
        event = server.turns[0].answer.parts[-2].removeprefix(b"data: ")
        times = json.loads(event)["time_info"]
        assert times["total_time"] == passed == server.clock.passage() / 1e9
        assert times["created"] == server.clock.time()
        assert times["queue_time"] == 1.0


async def test_a_whole_answer_goes_when_it_is_complete(start: Start) -> None:
    server = await start()
    with closing(Wire(server)) as wire:
        await wire.send(request(BODY))
        await server.waits()
        total = json.loads(server.turns[0].answer.body)["time_info"]["total_time"]
        server.clock.advance(total - 0.001)
        await server.waits()
        assert wire.nothing_more()
        server.clock.advance(0.001)
        status, headers, body = await wire.answer()
        assert (status, body) == (200, server.turns[0].answer.body)
        assert headers["content-length"] == str(len(body))
        # A late look at the clock brings nothing forward, and the connection is usable.
        await wire.send(request(BODY))
        await server.waits()
        assert wire.nothing_more()
        server.clock.advance(total)
        assert (await wire.answer())[0] == 200


async def test_setting_the_clock_lets_no_time_pass(start: Start) -> None:
    server = await start()
    with closing(Wire(server)) as wire:
        await wire.send(request(BODY))
        await server.waits()
        server.clock.set(FROZEN_TIME + DAY)
        await server.waits()
        assert wire.nothing_more()
        server.clock.advance(DAY)
        assert (await wire.answer())[0] == 200


async def test_errors_and_what_is_no_completion_do_not_wait(start: Start) -> None:
    server = await start("rpm=1", queue=1.0)
    head = request({**TALK, "service_tier": "flex"}, path="/v1/chat/completions")
    wanted = {
        request({"model": "m"}): 422,
        request({**STREAM, "max_tokens": "x"}): 422,
        request(path="/nowhere"): 404,
        head.replace(b"Host:", b"queue_threshold: 900\r\nHost:"): 429,
        GET: 200,
    }
    with closing(Wire(server)) as wire:
        for sent, wanted_status in wanted.items():
            await wire.send(sent)
            status, headers, _ = await wire.answer()
            assert status == wanted_status
            assert "x-ratelimit-remaining-requests-minute" in headers


@pytest.mark.parametrize("version", ["1.0", "1.1"])
async def test_a_stream_leaves_no_doubt_of_its_end(start: Start, version: str) -> None:
    """HTTP/1.0 knows no chunks: the end of the connection ends the stream, whatever was asked."""
    server = await start()
    with closing(Wire(server)) as wire:
        await wire.send(request(version=version))
        status, headers = await wire.head()
        assert status == 200
        assert "content-length" not in headers
        await server.waits()
        server.clock.advance(DAY)
        body = server.turns[0].answer.body
        if version == "1.1":
            assert await wire.chunks() == body
            await wire.send(GET)
            assert (await wire.answer())[0] == 200
        else:
            assert "transfer-encoding" not in headers
            assert headers["connection"] == "close"
            assert await wire.exactly(len(body)) == body
            assert await wire.ended()


async def test_a_whole_answer_to_http_1_0_keeps_the_connection(start: Start) -> None:
    server = await start()
    with closing(Wire(server)) as wire:
        for _ in range(2):
            await wire.send(request(BODY, "1.0"))
            await server.waits()
            server.clock.advance(DAY)
            assert (await wire.answer())[0] == 200


async def test_pipelined_streams_come_one_after_the_other(start: Start) -> None:
    server = await start()
    with closing(Wire(server)) as wire:
        bodies = [STREAM, BODY, {**STREAM, "prompt": "Two"}]
        await wire.send(b"".join(map(request, bodies)) + GET)
        for number, body in enumerate(bodies):
            await server.waits()
            assert len(server.turns) == number + 1
            server.clock.advance(DAY)
            status, _, got = await wire.answer()
            assert (status, got) == (200, server.turns[number].answer.body)
            assert ("stream" in body) == server.turns[number].answer.streamed
        assert (await wire.answer())[0] == 200
        assert wire.nothing_more()


async def test_a_flood_behind_a_stream_waits_for_it(start: Start) -> None:
    """The server reads no more than it can answer; then it goes on."""
    server = await start()
    with closing(Wire(server)) as wire:
        sending = asyncio.create_task(wire.send(request() + GET * 3000))
        await server.waits()
        assert len(server.turns) == 1
        server.clock.advance(DAY)
        assert (await wire.answer())[0] == 200
        for _ in range(3000):
            assert (await wire.answer())[0] == 200
        await sending


async def test_two_hundred_streams_at_once(start: Start) -> None:
    server = await start("tpd=100K")
    wires = [Wire(server) for _ in range(200)]
    try:
        for number, wire in enumerate(wires):
            await wire.send(request({**STREAM, "prompt": f"Number {number}", "n": 1 + number % 2}))
        await server.waits(200)
        for wire in wires:
            assert (await wire.head())[0] == 200
            assert wire.nothing_more()
        server.clock.advance(2.0)  # the first parts
        first = [await wire.chunk() for wire in wires]
        await server.waits(200)
        server.clock.advance(13.0)  # all of the others: no more than 120 tokens
        rest = [await wire.chunks() for wire in wires]
    finally:
        for wire in wires:
            wire.close()
    got = sorted(start + end for start, end in zip(first, rest, strict=True))
    assert got == sorted(turn.answer.body for turn in server.turns)
    assert len(set(got)) == 200
    for turn in server.turns:
        await turn.over.wait()
    used = sum(turn.answer.cost.used for turn in server.turns if turn.answer.cost)
    shown = server.service.limiter.headers("key", "gpt-oss-120b")
    refilled = 100_000 * 15 // 86_400
    assert shown[TOKENS_LEFT] == str(100_000 - used + refilled)


# ---------------------------------------------------------------------- limits and hanging up


@pytest.mark.parametrize("body", [BODY, STREAM], ids=["whole", "stream"])
@pytest.mark.parametrize("end", ["read", "closed", "reset"])
@pytest.mark.parametrize("begun", [False, True], ids=["waiting", "begun"])
async def test_an_answer_settles_when_it_is_over(
    start: Start, body: dict[str, Any], end: str, begun: bool
) -> None:
    """Read to its end or hung up on, in the middle or before anything came."""
    server = await start("tpd=1M")
    with closing(Wire(server)) as other, closing(Wire(server)) as wire:
        await other.send(request({**STREAM, "prompt": "The other"}))
        await server.waits()
        await wire.send(request(body))
        await server.waits(2)
        theirs, own = (turn.answer.cost for turn in server.turns)
        assert theirs is not None
        assert own is not None
        left = 1_000_000 - theirs.reserved - own.reserved
        assert server.turns[1].answer.headers[TOKENS_LEFT] == str(left)
        if begun:
            server.clock.advance(2.5)
            await server.waits(2)
            if body.get("stream"):
                assert (await wire.head())[1][TOKENS_LEFT] == str(left)
                assert (await wire.chunk()).startswith(b"data: {")
        left += own.reserved - own.used
        if end == "read":
            server.clock.advance(0.001)
            await server.waits(2)
            assert not server.turns[1].over.is_set()
            server.clock.advance(DAY / 2)
        else:
            wire.hang_up(rudely=end == "reset")
        await server.turns[1].over.wait()
        if end == "read":
            await server.turns[0].over.wait()
        else:
            shown = server.service.limiter.headers("key", "gpt-oss-120b")
            refilled = 1_000_000 * 2.5 / DAY if begun else 0
            assert int(shown[TOKENS_LEFT]) == pytest.approx(left + refilled, abs=1)
        server.clock.advance(DAY)
        assert (await other.answer())[2] == server.turns[0].answer.body


async def test_a_client_that_does_not_read(start: Start) -> None:
    """Its stream stands still with the buffers full; nobody else's does, and it can hang up."""
    server = await start(ttft="1s", tokens_per_second=None)
    with closing(Wire(server, buffer=4096)) as deaf, closing(Wire(server)) as other:
        await deaf.send(request({**STREAM, "n": 16, "max_tokens": 4000, "min_tokens": 4000}))
        await server.waits()
        server.clock.advance(2)
        assert (await deaf.head())[0] == 200
        await other.send(request())
        await server.waits()
        server.clock.advance(2)
        assert (await other.answer())[0] == 200
        assert not server.turns[0].over.is_set()
        deaf.hang_up(rudely=True)
        await server.turns[0].over.wait()


async def test_a_client_that_shuts_its_side(start: Start) -> None:
    """That is how a client hangs up that says nothing of it: the turn is over at once."""
    server = await start()
    with closing(Wire(server)) as wire:
        await wire.send(request())
        await server.waits()
        wire.socket.shutdown(socket.SHUT_WR)
        await server.turns[0].over.wait()


# ---------------------------------------------------------------------- the official SDK


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AsyncCerebras]:
    """A client of a server; while the SDK waits before it asks again, the server's clock runs."""

    def ask(server: Paced, retries: int = 0) -> AsyncCerebras:
        async def sleep(seconds: float) -> None:
            server.clock.advance(seconds)

        monkeypatch.setattr("anyio.sleep", sleep)
        return AsyncCerebras(
            api_key="key", base_url=server.url, max_retries=retries, warm_tcp_connection=False
        )

    return ask


@pytest.mark.parametrize("stream", [False, True])
async def test_the_sdk_sees_a_rate_limit_error(
    start: Start, ask: Callable[..., AsyncCerebras], stream: bool
) -> None:
    server = await start("rpm=3", ttft=None, tokens_per_second=None, retry_after=True)
    async with ask(server) as client:
        for _ in range(3):
            answer = await client.chat.completions.create(**TALK)
            assert answer.created == FROZEN_TIME
        with pytest.raises(RateLimitError) as caught:
            await client.chat.completions.create(**TALK, stream=stream)
        assert caught.value.body["code"] == "request_quota_exceeded"  # type: ignore[index]
        headers = caught.value.response.headers
        assert (headers["retry-after"], headers["retry-after-ms"]) == ("20", "20000")
        assert headers["x-ratelimit-remaining-requests-minute"] == "0"
        server.clock.advance(float(headers["retry-after"]))
        answer = await client.chat.completions.create(**TALK)
        assert answer.created == FROZEN_TIME + 20


async def test_the_sdk_asks_again_after_the_time_it_is_told(
    start: Start, ask: Callable[..., AsyncCerebras]
) -> None:
    server = await start("rpm=2", ttft=None, tokens_per_second=None, retry_after=True)
    async with ask(server, retries=1) as client:
        moments = [
            (await client.chat.completions.create(**TALK)).created - FROZEN_TIME for _ in range(4)
        ]
    assert moments == [0, 0, 30, 60]
    assert [turn.answer.status for turn in server.turns] == [200, 200, 429, 200, 429, 200]


async def test_the_sdk_reads_a_stream_as_it_comes(
    start: Start, ask: Callable[..., AsyncCerebras]
) -> None:
    server = await start()
    async with ask(server) as client:
        stream = await client.chat.completions.create(**TALK, stream=True)
        await server.waits()
        assert server.clock.passage() == 0  # its headers have come, and nothing else
        texts = []
        server.clock.advance(2)
        async for chunk in stream:
            texts.append(chunk.choices[0].delta.content or "")  # type: ignore[union-attr,index]
            server.clock.advance(1)
        again = asyncio.create_task(client.chat.completions.create(**TALK))
        await server.waits()
        server.clock.advance(DAY)
        assert "".join(texts) == (await again).choices[0].message.content  # type: ignore[union-attr,index]


# ---------------------------------------------------------------------- the clock on the wire


async def test_the_date_of_an_answer_is_the_clocks(start: Start) -> None:
    server = await start(ttft=None, tokens_per_second=None)
    with closing(Wire(server)) as wire:
        for moment in (FROZEN_TIME, 0.0, 4e9, 253402300799.0):
            server.clock.set(moment)
            for sent in (request(BODY), request(), request({}), GET):
                await wire.send(sent)
                _, headers, body = await wire.answer()
                assert headers["date"] == formatdate(moment, usegmt=True)
                if sent == request(BODY):
                    assert json.loads(body)["created"] == moment
        await wire.send(b"GARBAGE\r\n\r\n")
        _, headers, _ = await wire.answer()
        assert headers["date"] == formatdate(253402300799.0, usegmt=True)
        assert "x-ratelimit-limit-requests-day" in headers


# ---------------------------------------------------------------------- stopping


@pytest.mark.parametrize("body", [BODY, STREAM], ids=["whole", "stream"])
async def test_stopping_does_not_wait_for_ever(start: Start, body: dict[str, Any]) -> None:
    server = await start(grace=0.01)
    with closing(Wire(server)) as wire:
        await wire.send(request(body))
        await server.waits()
        await server.stop()
        assert server.turns[0].over.is_set()
        if "stream" in body:
            await wire.head()
        assert await wire.ended()


async def test_stopping_lets_a_stream_end_within_the_grace(start: Start) -> None:
    server = await start(grace=2 * PATIENCE)
    with closing(Wire(server)) as wire, closing(Wire(server)) as idle:
        await idle.send(GET)
        assert (await idle.answer())[0] == 200
        await wire.send(request() + GET)
        await server.waits()
        stopping = asyncio.create_task(server.stop())
        assert await idle.ended()  # so it is told to stop by now
        server.clock.advance(DAY)
        assert (await wire.answer())[2] == server.turns[1].answer.body
        assert await wire.ended()
        await stopping


async def test_no_file_stays_open(start: Start) -> None:
    gc.collect()
    before = len(os.listdir("/dev/fd"))
    server = await start()
    ends: list[Callable[[Wire], None]] = [
        lambda wire: wire.hang_up(True),
        lambda wire: wire.hang_up(False),
        lambda wire: wire.socket.shutdown(socket.SHUT_WR),
        lambda wire: None,
    ]
    sent = [b"", b"G", request()[:-5], request(), request(BODY), GET, b"GARBAGE\r\n\r\n"]
    wires = []
    for data in sent:
        for end in ends:
            wire = Wire(server)
            await wire.send(data)
            end(wire)
            wires.append(wire)
    await server.waits(2)
    await server.stop()
    for wire in wires:
        wire.close()
    gc.collect()
    assert len(os.listdir("/dev/fd")) == before


async def test_one_port_for_all_addresses_of_a_name(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`localhost` is two addresses on most machines, and a client may try either."""
    if not socket.has_ipv6:
        pytest.skip("there is no IPv6 here")
    resolve = socket.getaddrinfo

    def both(host: str, *arguments: Any, **more: Any) -> Any:
        if host != "localhost":
            return resolve(host, *arguments, **more)
        found = [resolve(address, *arguments, **more) for address in ("::1", "127.0.0.1")]
        return [entry for entries in found for entry in entries]

    monkeypatch.setattr("socket.getaddrinfo", both)
    server = await start(host="localhost", ttft=None, tokens_per_second=None)
    for address in ("::1", "127.0.0.1"):
        reader, writer = await asyncio.open_connection(address, server.port)
        writer.write(GET)
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        writer.close()


# ---------------------------------------------------------------------- the command


def post(connection: HTTPConnection, body: Any, **headers: str) -> tuple[int, Any, Any]:
    given = {"Authorization": "Bearer key", "Content-Type": "application/json", **headers}
    path = "/v1/chat/completions" if "messages" in body else "/v1/completions"
    connection.request("POST", path, json.dumps(body), given)
    response = connection.getresponse()
    return response.status, json.loads(response.read()), response.headers


@pytest.fixture
def connect(serve: Callable[..., Any]) -> Callable[..., HTTPConnection]:
    """`connect("--limits", "rpm=5")`: a connection to a server of the test's own."""

    def connect(*arguments: str) -> HTTPConnection:
        parts = urlsplit(serve(*arguments).url)
        return HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)

    return connect


def test_options_for_limits_queue_and_cache(connect: Callable[..., HTTPConnection]) -> None:
    limits = ("--limits", "rpm=3,tpd=1M", "--limits", "zai-glm-4.7:rpm=1", "--retry-after")
    with closing(connect(*limits, "--queue-time", "300ms", "--cache", "seen")) as connection:
        flex = {**TALK, "service_tier": "flex"}
        status, error, _ = post(connection, flex, queue_threshold="299")
        assert (status, error["code"]) == (429, "queue_exceeded")
        assert post(connection, flex, queue_threshold="300")[0] == 200
        long = {**BODY, "prompt": "some words " * 300}
        for known in (False, True):
            status, answer, headers = post(connection, long)
            assert status == 200
            assert answer["time_info"]["queue_time"] == 0.3
            cached = answer["usage"]["prompt_tokens_details"]["cached_tokens"]
            assert (cached > 0) == known
            assert cached % 128 == 0
        assert headers["x-ratelimit-limit-tokens-day"] == "1000000"
        status, error, headers = post(connection, BODY)
        assert (status, error["code"]) == (429, "request_quota_exceeded")
        assert headers["retry-after"] == "20"
        glm = {**BODY, "model": "zai-glm-4.7"}
        assert [post(connection, glm)[0] for _ in range(2)] == [200, 429]


def test_options_for_pace_and_clock(connect: Callable[..., HTTPConnection]) -> None:
    pace = ("--ttft", "2ms", "--tokens-per-second", "100000", "--jitter", "50%")
    begin = int(time.time())
    with closing(connect(*pace, "--clock", "real")) as connection:
        _, answer, _ = post(connection, BODY)
        times, tokens = answer["time_info"], answer["usage"]["completion_tokens"]
        assert 0.001 <= times["prompt_time"] <= 0.003
        assert times["prompt_time"] != 0.002
        assert 0.5 * tokens / 1e5 <= times["completion_time"] <= 1.5 * tokens / 1e5
        assert begin <= answer["created"] <= time.time()


def test_option_for_the_models_own_speed(
    connect: Callable[..., HTTPConnection], contract: Callable[[str], Any]
) -> None:
    speed = contract("documented").models["gpt-oss-120b"]["speed"]
    with closing(connect("--model-speed")) as connection:
        _, answer, _ = post(connection, BODY)
    times, usage = answer["time_info"], answer["usage"]
    assert times["prompt_time"] == pytest.approx(usage["prompt_tokens"] / speed["prompt"], abs=1e-8)
    took = usage["completion_tokens"] / speed["completion"]
    assert times["completion_time"] == pytest.approx(took, abs=1e-8)


SERVE = [sys.executable, "-m", "wafermock.cli", "serve", "--port"]

# The command with a fiftieth of its grace: whether it ends is to be seen, not how long it takes.
HURRIED = """
from functools import partial
from wafermock.mockserver import process, server
process.HttpServer = partial(server.HttpServer, grace=server.GRACE / 50)
from wafermock.cli import main
main()
"""


def test_sigterm_ends_a_stream_that_would_take_hours() -> None:
    command = [sys.executable, "-c", HURRIED, "serve", "--port", "0", "--ttft", "3h"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            address = urlsplit(process.stdout.readline().split()[-1])
            with socket.create_connection((address.hostname, address.port), PATIENCE) as wire:
                wire.sendall(request())
                assert wire.recv(15) == b"HTTP/1.1 200 OK"
                process.send_signal(signal.SIGTERM)
                while wire.recv(65536):
                    pass
                _, said = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        assert (process.returncode, said) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_more_connections_than_files() -> None:
    """One line says so, once; and when connections are closed, others are served."""
    limited = ["sh", "-c", 'ulimit -n 40; exec "$@"', "sh", *SERVE, "0"]
    with subprocess.Popen(
        limited, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        address = urlsplit(process.stdout.readline().split()[-1])
        where = (address.hostname, address.port)
        crowd = [socket.create_connection(where, PATIENCE) for _ in range(60)]
        line = process.stderr.readline()
        assert line.startswith("wafermock: Too many open files: ")
        for wire in crowd:
            wire.close()
        with socket.create_connection(where, PATIENCE) as wire:
            wire.sendall(GET)
            assert wire.recv(15) == b"HTTP/1.1 200 OK"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == ""


@pytest.mark.parametrize("host", ["a..b", "x" * 64])
def test_what_is_no_host_name(host: str) -> None:
    done = subprocess.run(
        [*SERVE, "0", "--host", host], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"wafermock: cannot listen on {host}:0: this is no host name\n"


def test_nobody_reads_where_it_listens() -> None:
    """`wafermock serve | true` serves all the same, and ends without a complaint."""
    program = (
        "import os, sys, types, wafermock.cli as cli;"
        "reading, writing = os.pipe(); os.close(reading); os.dup2(writing, 1);"
        "cli._announce(types.SimpleNamespace(url='http://127.0.0.1:1'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
