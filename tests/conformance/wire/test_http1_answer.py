"""Reading answers: every legal framing, every broken one, cut anywhere."""

import re

import h11
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wafermock.conformance.http1_answer import LONGEST_HEAD, AnswerReader, NotHttp

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def read(*pieces: bytes, method: str = "POST", close: bool = True) -> AnswerReader:
    reader = AnswerReader(method)
    for at, piece in enumerate(pieces):
        reader.feed(piece, float(at))
    if close:
        reader.close()
    return reader


def body(reader: AnswerReader) -> bytes:
    return b"".join(arrival.data for arrival in reader.arrivals)


LEGAL = {
    "length": (OK + b"Content-Length: 5\r\n\r\nhello", b"hello"),
    "no body": (OK + b"Content-Length: 0\r\n\r\n", b""),
    "until the close": (OK + b"\r\nhello", b"hello"),
    "until the close, empty": (OK + b"\r\n", b""),
    "old": (b"HTTP/1.0 200 OK\r\n\r\nhello", b"hello"),
    "chunked": (CHUNKED + b"5\r\nhello\r\n0\r\n\r\n", b"hello"),
    "chunks": (CHUNKED + b"1\r\nh\r\n004\r\nello\r\n00\r\n\r\n", b"hello"),
    "hexadecimal": (CHUNKED + b"A\r\n0123456789\r\nb\r\n0123456789a\r\n0\r\n\r\n",
                    b"01234567890123456789a"),
    "extension": (CHUNKED + b'5;a=b;c="d;\\" e"\r\nhello\r\n0 ; last\r\n\r\n', b"hello"),
    "trailers": (CHUNKED + b"5\r\nhello\r\n0\r\nX-Sum: 1\r\nX-Two:2\r\n\r\n", b"hello"),
    "chunked in capitals": (
        OK + b"TRANSFER-ENCODING: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", b"hello"),
    "data like a frame": (CHUNKED + b"7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n", b"\r\n0\r\n\r\n"),
    "empty reason": (b"HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello", b"hello"),
    "interim": (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK
                + b"Content-Length: 5\r\n\r\nhello", b"hello"),
    "continue": (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 5\r\n\r\nhello",
                 b"hello"),
    "not modified": (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", b""),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
}  # fmt: skip


@pytest.mark.parametrize("name", LEGAL)
def test_what_is_legal_has_no_fault(name: str) -> None:
    raw, expected = LEGAL[name]
    reader = read(raw)
    assert (reader.framing_fault, reader.complete, body(reader)) == ("", True, expected)


@pytest.mark.parametrize("name", LEGAL)
def test_it_does_not_matter_where_bytes_are_cut(name: str) -> None:
    raw, expected = LEGAL[name]
    bytewise = read(*(raw[i : i + 1] for i in range(len(raw))))
    assert (bytewise.framing_fault, bytewise.complete, body(bytewise)) == ("", True, expected)
    for cut in range(len(raw)):
        reader = read(raw[:cut], raw[cut:])
        assert (reader.framing_fault, reader.complete, body(reader)) == ("", True, expected)


def test_head_is_kept_as_it_was_sent() -> None:
    reader = read(OK + b"X-B: 2\r\nx-a:1\r\nX-B:  two words \t\r\nempty:\r\nCaf: \xe9\r\n\r\n")
    assert reader.head is not None
    assert reader.head.headers == (
        ("X-B", "2"), ("x-a", "1"), ("X-B", "two words"), ("empty", ""), ("Caf", "é"),
    )  # fmt: skip
    assert (reader.head.status, reader.head.reason, reader.head.http) == (200, "OK", "1.1")


def test_bytes_keep_their_times() -> None:
    reader = read(b"HTTP/1.1 100 Continue\r\n\r\n", CHUNKED[:9], CHUNKED[9:], b"1\r\na\r\n1\r\nb",
                  b"\r\n", b"1\r\nc\r\n0\r\n\r\n")  # fmt: skip
    assert reader.first_byte == 1.0
    assert reader.continued
    assert [(a.at, a.data) for a in reader.arrivals] == [(3.0, b"ab"), (5.0, b"c")]


def test_head_has_no_body() -> None:
    reader = read(OK + b"Content-Length: 5\r\n\r\n", method="HEAD", close=False)
    assert (reader.complete, reader.framing_fault) == (True, "")


# Answer, what the fault says, what could be read of the body, whether it is whole.
BROKEN = {
    "too short": (OK + b"Content-Length: 9\r\n\r\nhello", "closed after 5 of 9 bytes", b"hello", 0),
    "too long": (OK + b"Content-Length: 3\r\n\r\nhello", "2 bytes behind the end", b"hel", 1),
    "one more": (CHUNKED + b"0\r\n\r\n!", "1 byte behind the end", b"", 1),
    "body with 204": (b"HTTP/1.1 204 No\r\nContent-Length: 2\r\n\r\nhi", "204 has no body", b"", 1),
    "no last chunk": (CHUNKED + b"5\r\nhello\r\n", "before the last chunk", b"hello", 0),
    "no end of trailers": (CHUNKED + b"0\r\n", "before the last chunk", b"", 0),
    "within a chunk": (CHUNKED + b"9\r\nhello", "before the last chunk", b"hello", 0),
    "no size": (CHUNKED + b"5\r\nhello\r\nxyz\r\n", "no size of a chunk: 'xyz'", b"hello", 0),
    "negative size": (CHUNKED + b"-5\r\nhello\r\n", "no size of a chunk", b"", 0),
    "size 0x": (CHUNKED + b"0x5\r\nhello\r\n0\r\n\r\n", "no size of a chunk", b"", 0),
    "empty size": (CHUNKED + b"\r\nhello", "no size of a chunk: ''", b"", 0),
    "huge size": (CHUNKED + b"f" * 17 + b"\r\nhello", "no size of a chunk", b"", 0),
    "longer chunk": (CHUNKED + b"3\r\nhello\r\n0\r\n\r\n", "longer than it says", b"hel", 0),
    "space in size": (CHUNKED + b"5 \r\nhello\r\n0\r\n\r\n", "no extension", b"hello", 1),
    "extension": (CHUNKED + b"5;=\r\nhello\r\n0\r\n\r\n", "no extension", b"hello", 1),
    "size without CR": (CHUNKED + b"5\nhello\r\n0\r\n\r\n", "without CR", b"hello", 1),
    "data without CR": (CHUNKED + b"5\r\nhello\n0\r\n\r\n", "without CR", b"hello", 1),
    "trailer": (CHUNKED + b"0\r\nno colon\r\n\r\n", "without a colon", b"", 1),
    "endless size": (CHUNKED + b"5" * 20_000, "without an end", b"", 0),
    "both": (OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
             "both Transfer-Encoding and Content-Length", b"hi", 1),
    "lengths differ": (OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
                       "different things: 5, 6", b"hello", 1),
    "length twice": (OK + b"Content-Length: 5, 5\r\n\r\nhello", "more than once", b"hello", 1),
    "no length": (OK + b"Content-Length: five\r\n\r\nhello", "is no length: 'five'", b"hello", 1),
    "length +5": (OK + b"Content-Length: +5\r\n\r\nhello", "is no length", b"hello", 1),
    "length -5": (OK + b"Content-Length: -5\r\n\r\nhello", "is no length", b"hello", 1),
    "length in other digits": (OK + b"Content-Length: \xb2\r\n\r\nhello", "no length", b"hello", 1),
    "gzip coding": (OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
                    "nobody asked for: gzip", b"hi", 1),
    "chunked not last": (OK + b"Transfer-Encoding: chunked, gzip\r\n\r\nhi", "gzip", b"hi", 1),
    "chunked twice": (OK + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
                      "chunked more than once", b"", 1),
    "chunked in 1.0": (b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                       "HTTP/1.0", b"", 1),
    "bare LF": (b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", "without CR", b"hello", 1),
    "one bare LF": (OK + b"A: b\nContent-Length: 5\r\n\r\nhello", "without CR", b"hello", 1),
    "bare CR": (OK + b"A: b\rc\r\nContent-Length: 5\r\n\r\nhello", "control char", b"hello", 1),
    "NUL": (OK + b"A: b\0\r\nContent-Length: 5\r\n\r\nhello", "control character", b"hello", 1),
    "folded": (OK + b"A: b\r\n c\r\nContent-Length: 5\r\n\r\nhello", "folded", b"hello", 1),
    "space before colon": (OK + b"Content-Length : 5\r\n\r\nhello", "before the", b"hello", 1),
    "no colon": (OK + b"nonsense\r\nContent-Length: 5\r\n\r\nhello", "a colon", b"hello", 1),
    "no name": (OK + b"a b: c\r\nContent-Length: 5\r\n\r\nhello", "no name", b"hello", 1),
    "blank line": (b"\r\n" + OK + b"Content-Length: 5\r\n\r\nhello", "blank line", b"hello", 1),
    "no space": (b"HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello", "no space", b"hello", 1),
    "version": (b"HTTP/2.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", "HTTP/2.0", b"hello", 1),
    "small letters": (b"http/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "is none", b"hello", 1),
    "status 999": (b"HTTP/1.1 999 No\r\nContent-Length: 5\r\n\r\nhello", "no status", b"hello", 1),
    "status 000": (b"HTTP/1.1 000 No\r\nContent-Length: 5\r\n\r\nhello", "no status", b"hello", 1),
    "switched": (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", "nobody asked", b"", 1),
    "interim with body": (b"HTTP/1.1 100 Go\r\nContent-Length: 0\r\n\r\n" + OK
                          + b"Content-Length: 5\r\n\r\nhello", "interim answer", b"hello", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_told_and_read_as_far_as_it_goes(name: str) -> None:
    raw, fault, expected, whole = BROKEN[name]
    for reader in (read(raw), read(*(raw[i : i + 1] for i in range(len(raw))))):
        assert fault in reader.framing_fault
        assert body(reader) == expected
        assert reader.complete is bool(whole)
        assert not reader.keeps_alive


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "closed without an answer"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "no answer of HTTP: 'SSH-2.0"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "within the head"),
        (b"<html><body>old", "no answer of HTTP: '<html>"),
        (b"HTTP/1.1 OK\r\n\r\n", "no status line: 'HTTP/1.1 OK'"),
        (b"HTTP/1.1 20 OK\r\n\r\n", "no status line"),
        (b"HTTP/1.1 2000 OK\r\n\r\n", "no status line"),
        (OK + b"Content-Type: a\r\n", "within the head"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "after an interim answer"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 40, "more than 32 interim"),
        (OK + b"A: " + b"b" * LONGEST_HEAD, "a head longer than"),
    ],
)
def test_what_is_no_answer(raw: bytes, reason: str) -> None:
    with pytest.raises(NotHttp, match=re.escape(reason)) as caught:
        read(raw)
    assert len(str(caught.value)) < 200


def test_a_broken_connection_ends_no_body() -> None:
    reader = AnswerReader("GET")
    reader.feed(OK + b"\r\nhel", 0.0)
    reader.close("Connection reset by peer")
    assert not reader.complete
    assert reader.framing_fault.startswith("the connection broke (Connection reset by peer)")
    assert body(reader) == b"hel"


@pytest.mark.parametrize(
    ("head", "keeps"),
    [
        (OK + b"Content-Length: 0\r\n\r\n", True),
        (OK + b"Content-Length: 0\r\nConnection: Close\r\n\r\n", False),
        (OK + b"Content-Length: 0\r\nConnection: a, close\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n", True),
        (CHUNKED + b"0\r\n\r\n", True),
    ],
)
def test_which_connections_are_kept(head: bytes, keeps: bool) -> None:
    assert read(head, close=False).keeps_alive is keeps


def test_faults_are_bounded() -> None:
    lines = b"".join(b"%d bad\r\n" % number for number in range(5_000))
    reader = read(OK + lines + b"Content-Length: 5\r\n\r\nhello")
    assert len(reader.faults) == 20
    assert body(reader) == b"hello"


# ------------------------------------------------------------------------- properties


@settings(max_examples=200)
@given(st.lists(st.binary(max_size=60), max_size=6), st.sampled_from(["GET", "HEAD", "POST"]))
def test_nothing_but_not_http_is_raised(pieces: list[bytes], method: str) -> None:
    for start in (b"", OK, CHUNKED, OK + b"Content-Length: 20\r\n\r\n"):
        try:
            reader = read(start, *pieces, method=method)
        except NotHttp:
            continue
        assert reader.over


HEADERS = st.lists(
    st.tuples(
        st.sampled_from([b"x-a", b"X-B", b"Set-Cookie"]),
        st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=8).map(str.encode),
    ),
    max_size=4,
)


@given(HEADERS, st.lists(st.binary(min_size=1, max_size=40), max_size=5), st.data())
def test_it_reads_what_another_implementation_writes(
    headers: list[tuple[bytes, bytes]], pieces: list[bytes], data: st.DataObject
) -> None:
    """h11 writes an answer; cut into pieces anywhere, it is read back without a fault."""
    server = h11.Connection(h11.SERVER)
    server.receive_data(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    server.next_event()
    framing = data.draw(st.sampled_from(["length", "chunked"]))
    length = [(b"Content-Length", b"%d" % len(b"".join(pieces)))] if framing == "length" else []
    raw = server.send(h11.Response(status_code=200, headers=[*headers, *length])) or b""
    for piece in pieces:
        raw += server.send(h11.Data(data=piece)) or b""
    raw += server.send(h11.EndOfMessage()) or b""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=5)))
    reader = read(*(raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)),
                  close=False)  # fmt: skip
    assert (reader.framing_fault, reader.complete, body(reader)) == ("", True, b"".join(pieces))


@settings(max_examples=150)
@given(st.data())
def test_where_another_implementation_is_content_it_says_the_same(data: st.DataObject) -> None:
    """Mutated answers: what h11 reads to the end, this reader reads to the same bytes."""
    raw, _ = LEGAL[data.draw(st.sampled_from(sorted(LEGAL)))]
    at = data.draw(st.integers(0, len(raw) - 1))
    mutated = raw[:at] + data.draw(st.binary(max_size=2)) + raw[at + data.draw(st.integers(0, 2)) :]
    expected = _read_by_h11(mutated)
    if expected is not None:
        reader = read(mutated)
        assert (reader.complete, body(reader)) == (True, expected)


def _read_by_h11(raw: bytes) -> bytes | None:
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method="GET", target="/", headers=[("Host", "a")]))
    client.send(h11.EndOfMessage())
    read = b""
    try:
        for data in (raw, b""):
            client.receive_data(data)
            while (event := client.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
                if isinstance(event, h11.Data):
                    read += event.data
                if isinstance(event, h11.EndOfMessage):
                    return bytes(read)
                if isinstance(event, h11.ConnectionClosed):
                    return None
    except h11.ProtocolError:
        return None
    return None
