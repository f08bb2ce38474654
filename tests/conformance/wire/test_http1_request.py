"""Requests as bytes: another implementation reads in them what was to be sent."""

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.conformance.exchange import Sent
from wafermock.conformance.http1_request import body_of, full_target, head_of


def written(sent: Sent, base_path: str = "") -> bytes:
    head = head_of(sent, host="example.test:81", base_path=base_path, user_agent="wafermock/1")
    return head + b"".join(body_of(sent))


def test_a_request_is_written_as_it_was_told() -> None:
    sent = Sent("POST", "/v1/x?a=b", (("X-B", "1"), ("x-a", "é"), ("X-B", "2")), b"hello")
    assert written(sent, "/base") == (
        b"POST /base/v1/x?a=b HTTP/1.1\r\nHost: example.test:81\r\nUser-Agent: wafermock/1\r\n"
        b"X-B: 1\r\nx-a: \xe9\r\nX-B: 2\r\nContent-Length: 5\r\n\r\nhello"
    )


@pytest.mark.parametrize(
    ("sent", "there", "not_there"),
    [
        (Sent("GET", "/"), b"", b"Content-Length"),
        (Sent("POST", "/"), b"\r\nContent-Length: 0\r\n", b"Transfer-Encoding"),
        (Sent("GET", "/", body=b"x"), b"\r\nContent-Length: 1\r\n", b"Transfer-Encoding"),
        (Sent("POST", "/", (("content-length", "7"),), b"x"), b"\r\ncontent-length: 7\r\n",
         b"Content-Length"),
        (Sent("POST", "/", (("HOST", "b"), ("User-agent", ""))), b"HOST: b\r\nUser-agent: \r\n",
         b"wafermock"),
        (Sent("POST", "/", body=b"x", chunks=()), b"\r\nTransfer-Encoding: chunked\r\n",
         b"Content-Length"),
        (Sent("POST", "/", body=b"x", expect_continue=True), b"\r\nExpect: 100-continue\r\n",
         b"Transfer"),
    ],
)  # fmt: skip
def test_what_http_wants_is_added_where_it_lacks(
    sent: Sent, there: bytes, not_there: bytes
) -> None:
    assert there in written(sent)
    assert not_there not in written(sent)


@pytest.mark.parametrize(
    "sent",
    [
        Sent("POST", "/", (("A", "b\r\nC: d"),)),
        Sent("POST", "/", (("A\n", "b"),)),
        Sent("POST", "/", (("A", "b\0"),)),
        Sent("GET / HTTP/1.1\r\n", "/"),
        Sent("", "/"),
    ],
)
def test_what_would_be_another_request_is_refused(sent: Sent) -> None:
    with pytest.raises(ValueError, match="cannot"):
        written(sent)


@pytest.mark.parametrize(
    ("target", "base", "written_as"),
    [
        ("/v1/models", "", "/v1/models"),
        ("/v1/models", "/x", "/x/v1/models"),
        ("v1", "", "/v1"),
        ("*", "/x", "*"),
        ("/a b\r\nc%20\x00", "", "/a%20b%0D%0Ac%20%00"),
        ("/é漢\ud800", "", "/%C3%A9%E6%BC%A2%ED%A0%80"),
        ("/a?b=[1]&c={}", "", "/a?b=[1]&c={}"),
    ],
)
def test_targets(target: str, base: str, written_as: str) -> None:
    assert full_target(target, base) == written_as


@given(
    st.binary(max_size=200),
    st.one_of(st.none(), st.lists(st.integers(0, 50), max_size=6).map(tuple)),
    st.lists(
        st.tuples(st.sampled_from(["X-A", "x-b"]), st.text("abcxyz 0123;=", max_size=9)), max_size=3
    ).map(tuple),
)
def test_another_implementation_reads_what_was_to_be_sent(
    body: bytes, chunks: tuple[int, ...] | None, headers: tuple[tuple[str, str], ...]
) -> None:
    raw = written(Sent("POST", "/v1/x", headers, body, chunks=chunks))
    server = h11.Connection(h11.SERVER)
    server.receive_data(raw)
    request = server.next_event()
    assert isinstance(request, h11.Request)
    assert request.target == b"/v1/x"
    own = [(name, value) for name, value in request.headers.raw_items() if name[:2] in b"X-x-"]
    assert [(n.decode(), v.decode()) for n, v in own] == [(n, v.strip()) for n, v in headers]
    read = b""
    while isinstance(event := server.next_event(), h11.Data):
        read += event.data
    assert isinstance(event, h11.EndOfMessage)
    assert read == body
