"""Clients that lie about where a request ends, change the subject, or never come to the point.

Each sends bytes that a careless server would read as another request than its neighbour does (RFC
9112, section 11.2). The server's fixture fails a test when anything was said on standard error.
"""

import json
import re
import socket
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any
from urllib.parse import urlsplit

import pytest

PATIENCE = 30

FIELDS = b"Host: a\r\nAuthorization: Bearer key\r\nContent-Type: application/json\r\n"
BODY = json.dumps({"model": "m", "prompt": "good"}).encode()
HIDDEN = b"GET /v1/tcp_warming HTTP/1.1\r\n" + FIELDS + b"\r\n"
LAST = b"GET /v1/models HTTP/1.1\r\n" + FIELDS + b"Connection: close\r\n\r\n"

Send = Callable[..., list[int]]


def post(*fields: bytes, body: bytes = BODY, line: bytes = b"POST /v1/completions") -> bytes:
    head = b"".join(field + b"\r\n" for field in fields)
    return line + b" HTTP/1.1\r\n" + FIELDS + head + b"\r\n" + body


def chunked(body: bytes = BODY, *trailers: bytes) -> bytes:
    end = b"".join(trailer + b"\r\n" for trailer in trailers)
    return b"%x\r\n%s\r\n0\r\n%s\r\n" % (len(body), body, end)


def length(size: int) -> bytes:
    return b"Content-Length: %d" % size


@pytest.fixture
def connect(server: str) -> Callable[[], socket.socket]:
    parts = urlsplit(server)
    return lambda: socket.create_connection((parts.hostname, parts.port), PATIENCE)


@pytest.fixture
def send(connect: Callable[[], socket.socket]) -> Send:
    """`send(*parts)`: the status of each answer, up to the end of the connection."""

    def send(*parts: bytes, shut: bool = False) -> list[int]:
        received = []
        with closing(connect()) as wire:
            try:
                for part in parts:
                    wire.sendall(part)
                if shut:
                    wire.shutdown(socket.SHUT_WR)
                while part := wire.recv(65536):
                    received.append(part)
            except (BrokenPipeError, ConnectionResetError):
                pass  # hung up on while still sending
        found = re.findall(rb"HTTP/1\.[01] (\d{3}) ", b"".join(received))
        return [int(status) for status in found]

    return send


@pytest.mark.parametrize(
    "sent",
    [
        # Two ways to say how long the body is, in either order.
        post(length(5), b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + HIDDEN),
        post(b"Transfer-Encoding: chunked", length(5), body=b"0\r\n\r\n" + HIDDEN),
        post(length(len(HIDDEN)), length(0), body=HIDDEN),
        post(b"Content-Length: %d, 0" % len(HIDDEN), body=HIDDEN),
        # A coding that a proxy may not know as `chunked`.
        post(b"Transfer-Encoding: xchunked", body=chunked()),
        post(b"Transfer-Encoding: chunked, identity", body=chunked()),
        post(b"Transfer-Encoding: identity, chunked, chunked", body=chunked()),
        post(b"Transfer-Encoding: \x0bchunked", body=chunked()),
        post(b"Transfer-Encoding : chunked", body=chunked()),
        post(b"Transfer-Encoding:\r\n chunked", body=chunked()),
        post(b"X: y\rTransfer-Encoding: chunked", body=chunked()),
        post(b"Transfer-Encoding: chunked\nX: y", body=chunked()),
        post(b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity", body=chunked()),
        # Numbers that are none.
        *(
            post(b"Content-Length: " + number)
            for number in (b"+32", b"0x20", b"3_2", b"32 32", b"\xb2", b"", b"9" * 30, b"-0")
        ),
        # Chunks that lie.
        *(
            post(b"Transfer-Encoding: chunked", body=body)
            for body in (
                b"0x20\r\n" + BODY + b"\r\n0\r\n\r\n",
                b"-1\r\n" + BODY + b"\r\n0\r\n\r\n",
                b"f" * 20 + b"\r\n" + BODY,
                b"5\r\n" + BODY + b"\r\n0\r\n\r\n",
                b"%x\n%s\n0\n\n" % (len(BODY), BODY),
                chunked(BODY, b"no colon"),
                chunked(BODY, b"X: " + b"y" * 100_000),
                chunked(BODY, *[b"X: y"] * 10_000),
            )
        ),
        # A body that is shorter than it says: what follows is no request.
        post(length(10)),
        # Two hosts, or none.
        post(b"Host: b", length(len(BODY))),
        post(length(len(BODY))).replace(b"Host: a\r\n", b""),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(send: Send, sent: bytes) -> None:
    """And nothing that follows it on the connection is answered."""
    statuses = send(sent, HIDDEN)
    # An error of a body may come after the answer to its head: 4xx only, and one or two of them.
    assert len(statuses) <= 2
    assert all(400 <= status < 500 for status in statuses), statuses


@pytest.mark.parametrize(
    ("statuses", "parts"),
    [
        ([200, 200], [post(b"Transfer-Encoding: chunked", body=chunked(BODY, b"X-A: b"))]),
        ([200, 200], [post(b"Transfer-Encoding: Chunked", b"TE: trailers", body=chunked())]),
        ([405, 200], [b"TRACE /v1/models HTTP/1.1\r\n" + FIELDS + b"\r\n"]),
        ([404, 200], [b"CONNECT example.org:443 HTTP/1.1\r\n" + FIELDS + b"\r\n"]),
        ([404, 200], [post(length(len(BODY)), line=b"POST /v1/nothing")]),
        ([200, 200], [post(length(len(BODY)), line=b"GET /v1/models")]),
        ([200, 200], [post(length(len(BODY)), line=b"HEAD /v1/models")]),
        ([200], [b"\r\n\r\n"]),
    ],
)
def test_what_is_odd_but_clear_is_answered(
    send: Send, statuses: list[int], parts: list[bytes]
) -> None:
    assert send(*parts, LAST) == statuses


@pytest.mark.parametrize("protocol", [b"h2c", b"websocket", b"TLS/1.3", b"tcp", b"\xff"])
@pytest.mark.parametrize("first", [HIDDEN, post(length(len(BODY)))])
def test_an_upgrade_is_not_taken_up(
    connect: Callable[[], socket.socket], protocol: bytes, first: bytes
) -> None:
    """It is an offer that a server may ignore (RFC 9110, section 7.8); Java's client makes it."""
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\nUpgrade: "
    asked = first.replace(b"Host:", offer + protocol + b"\r\nHost:", 1)
    with closing(connect()) as wire, wire.makefile("rb") as answers:
        for sent in (asked, first, asked, HIDDEN):
            wire.sendall(sent)
            assert answers.readline() == b"HTTP/1.1 200 OK\r\n"
            size = 0
            while (line := answers.readline().lower()) != b"\r\n":
                name, _, value = line.partition(b":")
                size = int(value) if name == b"content-length" else size
            assert len(answers.read(size)) == size


@pytest.mark.parametrize(
    "sent",
    [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
        b"\x80\x2e\x01\x03\x01\0\x15\0\0\0\x10",  # TLS as SSL 2 began it
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"EHLO localhost\r\n",
        b'{"jsonrpc": "2.0"}\n',
        bytes(100_000),
        b"\n" * 100_000 + b"x\n",
    ],
)
def test_another_protocol(send: Send, sent: bytes) -> None:
    assert send(sent) in ([400], [])  # none: hung up on while still sending


@pytest.mark.parametrize("end", [length(1000), b"Transfer-Encoding: chunked"])
def test_a_body_that_never_comes(send: Send, end: bytes) -> None:
    assert send(post(end, body=b"5\r\nab"), shut=True) == []


def test_many_who_never_come_to_the_point(connect: Callable[[], socket.socket], send: Send) -> None:
    """A hundred connections with half a request each; others are served meanwhile."""
    whole = post(length(len(BODY)))
    with ExitStack() as stack:
        slow = [stack.enter_context(closing(connect())) for _ in range(100)]
        for number, wire in enumerate(slow):
            wire.sendall(whole[: number * len(whole) // 100])
        assert send(LAST) == [200]
        for wire in slow:
            wire.sendall(b"X")
        assert send(LAST) == [200]


def test_fields_up_to_their_bounds(send: Send) -> None:
    def fields(*more: bytes) -> bytes:
        return LAST.replace(b"Host:", b"".join(more) + b"Host:", 1)

    assert send(fields(b"X: " + b"x" * 8000 + b"\r\n")) == [200]
    assert send(fields(*(b"X%d: y\r\n" % number for number in range(100)))) == [200]
    assert send(fields(*(b"X%d: y\r\n" % number for number in range(1000)))) in ([400], [])
    assert send(LAST.replace(b"/v1/models", b"/v1/models?" + b"x" * 8000)) == [200]


def test_a_large_body_dribbled_in_chunks_of_one_byte(send: Send) -> None:
    body = BODY + b" " * 20_000
    dribble = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    assert send(post(b"Transfer-Encoding: chunked", body=dribble), LAST) == [200, 200]


def test_an_answer_never_repeats_a_line_break(connect: Callable[[], socket.socket]) -> None:
    """What a client sends comes back in fields and messages: never as a field of its own."""
    evil = b"example=a%0d%0aX-Evil: 1; code=\\r\\nX-Evil: 1"
    sent: list[Any] = [
        LAST.replace(b"/v1/models", b"/v1/models/%0d%0aX-Evil:%201"),
        LAST.replace(b"Host:", b"Prefer: " + evil + b"\r\nHost:", 1),
    ]
    for request in sent:
        with closing(connect()) as wire:
            wire.sendall(request)
            with wire.makefile("rb") as answer:
                head = answer.read().partition(b"\r\n\r\n")[0]
            assert b"\nx-evil" not in head.lower()
