"""An answer whose head is made once goes out as the bytes that aiohttp makes of it."""

import asyncio

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.clock import FROZEN_TIME
from wafermock.mockserver.exchange import Answer
from wafermock.mockserver.mock import Mock
from wafermock.mockserver.one_write import OneWrite, one_write
from wafermock.mockserver.server import HttpServer, _in_one, _stamp
from wafermock.mockserver.service import Service
from wafermock.spec import load_contract

STAMP = _stamp(int(FROZEN_TIME))

# Names and values as aiohttp takes them; what it refuses is asked below.
NAMES = st.from_regex(r"\A[a-z][a-z0-9-]{0,12}\Z").filter(lambda name: name != "connection")
VALUES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=20)
ANSWERS = st.builds(
    lambda **parts: Answer(**parts),  # with the class itself it would look up its annotations
    status=st.sampled_from((200, 201, 299, 400, 404, 422, 429, 500, 503, 599)),
    headers=st.dictionaries(NAMES, VALUES, max_size=4).map(
        lambda more: {"content-type": "text/plain", **more}
    ),
    parts=st.lists(st.binary(max_size=40), max_size=3).map(tuple),
    streamed=st.booleans(),
)
USUAL = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
PLAIN = {"content-type": "text/plain"}
WHOLE = Answer(200, PLAIN, (b"words",))


async def _sent(answer: Answer, request: bytes = USUAL, *, by_aiohttp: bool) -> tuple[bytes, bool]:
    """Ask a server that has this answer; return all it sends, and whether it was one write."""
    made: list[web.StreamResponse] = []

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        chunked = answer.streamed and request.version >= (1, 1)
        response = None if by_aiohttp else one_write(request, answer, STAMP)
        made.append(response or _in_one(answer, FROZEN_TIME, chunked=chunked))
        return made[-1]

    runner = web.ServerRunner(web.Server(handle, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    reader, writer = await asyncio.open_connection(*runner.addresses[0][:2])
    writer.write(request)
    writer.write_eof()
    got = await reader.read()
    writer.close()
    await runner.cleanup()
    return got, type(made[0]) is not web.Response


@given(ANSWERS)
def test_the_bytes_are_those_of_aiohttp(answer: Answer) -> None:
    async def both() -> None:
        theirs, _ = await _sent(answer, by_aiohttp=True)
        ours, in_one = await _sent(answer, by_aiohttp=False)
        assert ours == theirs
        assert in_one or "date" in answer.headers or "server" in answer.headers

    asyncio.run(both())


@pytest.mark.parametrize(
    "request_bytes",
    [
        USUAL.replace(b"HTTP/1.1", b"HTTP/1.0"),
        USUAL.replace(b"Host: a", b"Host: a\r\nConnection: close"),
        USUAL.replace(b"POST", b"HEAD"),
    ],
)
@pytest.mark.parametrize("answer", [WHOLE, Answer(200, PLAIN, (b"a", b"b"), streamed=True)])
def test_an_unusual_request_is_left_to_aiohttp(request_bytes: bytes, answer: Answer) -> None:
    _, in_one = asyncio.run(_sent(answer, request_bytes, by_aiohttp=False))
    assert not in_one


@pytest.mark.parametrize(
    "answer",
    [
        Answer(204, PLAIN, ()),
        Answer(304, PLAIN, ()),
        Answer(200, {}, (b"words",)),
        Answer(200, {**PLAIN, "Date": "today"}, (b"words",)),
        Answer(200, {**PLAIN, "Content-Length": "5"}, (b"words",)),
        Answer(200, {**PLAIN, "Connection": "close"}, (b"words",)),
        Answer(200, {**PLAIN, "x": "a\r\nb: c"}, (b"words",)),
        Answer(200, {**PLAIN, "x": "\0"}, (b"words",)),
        Answer(200, {**PLAIN, "x": "\ud800"}, (b"words",)),
    ],
)
def test_what_an_answer_says_itself_is_left_to_aiohttp(answer: Answer) -> None:
    assert not answer.fields


async def test_who_does_not_read_gets_no_more() -> None:
    """Each request has a writer of its own, none of which has much to wait for by itself."""
    came: list[web.BaseRequest] = []

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        came.append(request)
        if len(came) == 1:
            request.protocol.pause_writing()  # as the transport does that cannot send
        response = one_write(request, WHOLE, STAMP)
        assert response is not None
        return response

    runner = web.ServerRunner(web.Server(handle, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    reader, writer = await asyncio.open_connection(*runner.addresses[0][:2])
    writer.write(USUAL * 2)
    await reader.readuntil(b"words")
    for _ in range(50):  # of these turns the second request wants a few
        await asyncio.sleep(0)
    assert len(came) == 1
    came[0].protocol.resume_writing()
    await reader.readuntil(b"words")
    writer.close()
    await runner.cleanup()


def test_nobody_asks_whether_a_response_holds_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """A response of aiohttp is a mapping, and before 3.12 its truth was that of a mapping."""

    def asked(response: OneWrite) -> bool:
        raise AssertionError("this has no items")

    monkeypatch.setattr(OneWrite, "__bool__", asked)

    async def ask() -> bytes:
        server = HttpServer(Service(Mock(load_contract())))
        await server.start()
        reader, writer = await asyncio.open_connection(server.host, server.port)
        writer.write(b"GET /v1/models HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k\r\n\r\n")
        status = await reader.readline()
        writer.close()
        await server.stop()
        return status

    assert asyncio.run(ask()) == b"HTTP/1.1 200 OK\r\n"
