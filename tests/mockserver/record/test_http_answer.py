"""Reading answers: the same events however the bytes are cut, and an error for what is none."""

import contextlib
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.record.http_answer import (
    AnswerReader,
    Data,
    End,
    Head,
    NotHTTP,
    end_to_end,
    last_chunk,
    written_chunk,
    written_head,
)

ANSWERS = {
    "length": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "nothing": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
    b"3;x=\"y\"\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
    "trailers": b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n"
    b"5\r\nhello\r\n0\r\nA: b\r\n\r\n",
    "lines ended by LF": b"HTTP/1.1 200\nTransfer-Encoding: chunked\n\n5\nhello\n0\nA: b\n\n",
    "interim": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "close": b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nhello",
    "folded": b"HTTP/1.1 200 OK\r\nA: b\r\n  c\r\nContent-Length: 5, 5\r\n\r\nhello",
}  # fmt: skip


def read(parts: Iterable[bytes], method: str = "GET") -> tuple[list[Head], bytes, End | None]:
    reader = AnswerReader(method)
    heads: list[Head] = []
    data, end = b"", None
    for part in parts:
        for event in reader.feed(part):
            assert end is None
            if isinstance(event, Head):
                heads.append(event)
            elif isinstance(event, Data):
                data += event.data
            else:
                end = event
    end = end or reader.close()
    assert reader.ended is (end is not None)
    return heads, data, end


@pytest.mark.parametrize("name", ANSWERS)
def test_answers(name: str) -> None:
    heads, data, end = read([ANSWERS[name]])
    assert data == (b"" if name == "nothing" else b"hello")
    assert heads[-1].status == 200
    has_trailers = name in ("trailers", "lines ended by LF")
    assert end == End((("A", "b"),) if has_trailers else ())
    if name == "folded":
        assert heads[0].headers[0] == ("A", "b c")


@given(st.sampled_from(sorted(ANSWERS)), st.data())
def test_cuts_change_nothing(name: str, data: st.DataObject) -> None:
    raw = ANSWERS[name]
    cuts = sorted(data.draw(st.sets(st.integers(0, len(raw)))))
    parts = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    assert read(parts) == read([raw])


@given(st.binary(max_size=200), st.data())
def test_whatever_comes_is_read_or_refused(raw: bytes, data: st.DataObject) -> None:
    start = data.draw(st.sampled_from([b"", *ANSWERS.values()]))
    cut = data.draw(st.integers(0, len(start)))
    with contextlib.suppress(NotHTTP):
        list(AnswerReader("GET").feed(start[:cut] + raw))


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 600 x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno header\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 20_000,
        b"HTTP/1.1 200 OK\r\nA: " + b"x" * 1_100_000,
    ],
)
def test_what_is_no_answer(raw: bytes) -> None:
    with pytest.raises(NotHTTP):
        read([raw])


@pytest.mark.parametrize("status", [b"204", b"304"])
def test_no_body(status: bytes) -> None:
    raw = b"HTTP/1.1 %s x\r\nContent-Length: 7\r\n\r\n" % status
    assert read([raw])[1:] == (b"", End())


def test_head_has_no_body() -> None:
    assert read([ANSWERS["length"].partition(b"hello")[0]], "HEAD")[1:] == (b"", End())


def test_headers_of_one_hop_go_no_further() -> None:
    headers = (("Connection", "close, X-Hop"), ("x-hop", "1"), ("A", "b"), ("TE", "trailers"))
    assert end_to_end(headers) == (("A", "b"),)


def test_writing() -> None:
    assert written_head("A", (("b", "c\udcff"),)) == b"A\r\nb: c\xff\r\n\r\n"
    assert written_chunk(b"x" * 26) == b"1a\r\n" + b"x" * 26 + b"\r\n"
    assert last_chunk((("a", "b"),)) == b"0\r\na: b\r\n\r\n"
