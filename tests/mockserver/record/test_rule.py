"""From recordings to rules and their text: exact, whatever the bytes are."""

import base64
import gzip
import json
import zlib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wafermock.mockserver.exchange import Request
from wafermock.mockserver.record.recording import (
    Ending,
    Piece,
    Recording,
    Unreadable,
    in_one,
    inflated,
    recut,
    without_secrets,
)
from wafermock.mockserver.record.redaction import Redactor
from wafermock.mockserver.record.rule import rule_of, written
from wafermock.spec.yaml_data import read_yaml

ASKED = Request("POST", "/v1/chat/completions", "", {}, b'{"model": "m", "stream": true}')
EVENTS = {"content-type": "text/event-stream"}


def recording(
    *pieces: tuple[float, bytes],
    headers: dict[str, str] | None = None,
    request: Request = ASKED,
    ending: Ending = Ending.WHOLE,
) -> Recording:
    return Recording(
        request,
        200,
        tuple((headers or {}).items()),
        tuple(Piece(*piece) for piece in pieces),
        ending,
        pieces[-1][0] if pieces else 0.5,
    )


def body_of(rule: dict[str, object]) -> bytes:
    reply = rule["reply"]
    assert isinstance(reply, dict)
    return b"".join(
        base64.b64decode(p["base64"]) if "base64" in p else p["text"].encode()
        for p in reply["parts"]
    )


LINES = st.sampled_from(["data: ", "\n", "\n\n", "\r\n", "\r", " ", "\t", "#", ": ", "é", "🙂",
                         "\x85", "\u2028", "\ufeff", "\x7f", "\x00", '"', "\\", "---", "|", "- a",
                         "%", "\ufffe", "\x1b", "{", "'"])  # fmt: skip


@given(st.lists(st.lists(LINES | st.text(max_size=5)).map("".join), max_size=5), st.text())
def test_text_is_read_as_it_was_written(texts: list[str], title: str) -> None:
    rule = {
        "name": title,
        "match": {"recorded": "0" * 32},
        "reply": {
            "status": 200,
            "headers": {"content-type": title, title: "x"},
            "failure": {"name": "reset_in_body", "after": 3},
            "parts": [{"at": 0.5, "text": text} for text in texts],
        },
    }
    read = read_yaml("rules:\n" + written(rule) + written(rule), Path("x.yaml"))
    assert read == {"rules": [rule, rule]}


@given(st.binary(max_size=50), st.lists(st.integers(0, 50), max_size=5), st.booleans())
@example(b"\xd7}4", [], False)  # 1300 in Base64
@example(b"\xb6\xbb\x9e", [], True)  # true
def test_bytes_are_kept(body: bytes, cuts: list[int], streamed: bool) -> None:
    cuts = sorted({min(cut, len(body)) for cut in cuts})
    pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    timed = [(float(at), piece) for at, piece in enumerate(pieces)]
    clean = without_secrets(recording(*timed, headers=EVENTS if streamed else None), Redactor())
    rule = rule_of(clean, Redactor(), 1)
    read = read_yaml("rules:\n" + written(rule), Path("x.yaml"))["rules"][0]
    assert read == rule
    assert body_of(read) == b"".join(piece.data for piece in clean.pieces)
    if b"@" not in body:
        assert body_of(read) == body


def test_a_stream_is_cut_where_its_events_end() -> None:
    came = [Piece(1, b"data: a\n"), Piece(2, b"\ndata: b\n\ndata:"), Piece(3, b" c\r\n\r\nda")]
    assert recut(came) == [
        Piece(2, b"data: a\n\n"),
        Piece(2, b"data: b\n\n"),
        Piece(3, b"data: c\r\n\r\n"),
        Piece(3, b"da"),
    ]
    assert recut([Piece(1, b'{"a":1}\n{"b"'), Piece(2, b":2}\n")]) == [
        Piece(1, b'{"a":1}\n'),
        Piece(2, b'{"b":2}\n'),
    ]
    assert recut([]) == []
    mixed = b"a\n\r\nb\r\n\nc\r\rd\n\n\ne"
    assert [piece.data for piece in recut([Piece(1, mixed)])] == [
        b"a\n\r\n", b"b\r\n\n", b"c\r\r", b"d\n\n", b"\ne",
    ]  # fmt: skip
    assert in_one([Piece(1, b"a"), Piece(2, b"b")]) == [Piece(2, b"ab")]
    assert in_one([Piece(1, b"")]) == []


def test_a_long_stream_is_cut_in_one_pass() -> None:
    """To look for every kind of end behind every event took time by the square of the length."""
    came = [Piece(at, b'data: {"id": "x"}\n\n') for at in range(200_000)]
    assert recut(came) == came


DEFLATED = zlib.compressobj(wbits=-15)
BARE = DEFLATED.compress(b"hello") + DEFLATED.flush()


@pytest.mark.parametrize(
    ("coding", "packed"),
    [
        ("gzip", gzip.compress(b"hello", mtime=0)),
        ("x-gzip", gzip.compress(b"hel", mtime=0) + gzip.compress(b"lo", mtime=0)),
        ("deflate", zlib.compress(b"hello")),
        ("deflate", BARE),
    ],
)
def test_inflating(coding: str, packed: bytes) -> None:
    pieces = [Piece(at, packed[at : at + 1]) for at in range(len(packed))]
    read = list(inflated(pieces, coding))
    assert b"".join(piece.data for piece in read) == b"hello"
    assert [piece.at for piece in read] == [piece.at for piece in pieces]
    with pytest.raises(Unreadable):
        list(inflated(pieces[:-3], coding))
    list(inflated(pieces[:-3], coding, whole=False))


@pytest.mark.parametrize("coding", ["br", "gzip, br", "aes128gcm"])
def test_codings_that_cannot_be_read(coding: str) -> None:
    with pytest.raises(Unreadable, match="cannot be read"):
        list(inflated([Piece(0, b"x")], coding))


def test_what_is_not_what_it_says() -> None:
    with pytest.raises(Unreadable, match="not gzip"):
        list(inflated([Piece(0, b"hello")], "gzip"))


def test_a_compressed_body_stays_or_is_read() -> None:
    headers = {"content-type": "application/json", "Content-Encoding": "GZIP"}
    plain = gzip.compress(b'{"a": 1}', mtime=0)
    clean = without_secrets(recording((0.1, plain), headers=headers), Redactor())
    assert clean.pieces == (Piece(0.1, plain),)
    assert clean.content_encoding == "gzip"
    packed = gzip.compress(b'{"a": "ada@example.org"}', mtime=0)
    clean = without_secrets(recording((0.1, packed), headers=headers), Redactor())
    assert clean.pieces == (Piece(0.1, b'{"a": "redacted@example.invalid"}'),)
    assert clean.content_encoding == ""


def test_the_headers_that_matter() -> None:
    headers = (
        ("Content-Type", "text/plain"),
        ("X-A", "1"),
        ("x-a", "2"),
        ("Date", "today"),
        ("Content-Length", "1"),
        ("Set-Cookie", "secret=cookie"),
        ("OpenAI-Organization", "my-org"),
        ("X-Broken", "a\x01b"),
        ("X-Latin", "\udce9"),
    )
    clean = without_secrets(Recording(ASKED, 200, headers, (), Ending.WHOLE, 0), Redactor())
    assert clean.headers == (
        ("content-type", "text/plain"),
        ("x-a", "1, 2"),
        ("openai-organization", "redacted"),
        ("x-latin", "\ufffd"),
    )


def test_a_rule_says_what_it_is_for() -> None:
    body = {
        "model": "gpt-oss-120b",
        "stream": True,
        "messages": [
            {"role": "system", "content": "be brief"},
            {
                "role": "user",
                "content": [{"type": "text", "text": "Write to\nada@example.org now"}],
            },
        ],
    }
    request = Request("POST", "/v1/chat/completions", "key=abc", {}, json.dumps(body).encode())
    rule = rule_of(recording((0.25, b"x"), request=request), Redactor(), 7)
    assert rule["name"] == (
        "#7 POST /v1/chat/completions?key=redacted: gpt-oss-120b, stream, "
        '"Write to redacted@example.invalid now"'
    )
    assert written(rule) == (
        f"- name: {json.dumps(rule['name'])}\n"
        "  match:\n"
        f'    recorded: "{rule["match"]["recorded"]}"\n'
        "  # newest\n"
        "  reply:\n"
        "    status: 200\n"
        "    parts:\n"
        "    - at: 0.25\n"
        "      text: |-\n"
        "        x\n"
    )


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"not json", b'{"messages": 3, "prompt": [1]}', b'{"messages": [3]}', b"\xff\0",
     b'{"prompt": ""}', b'"\\ud800"'],
)  # fmt: skip
def test_any_body_has_a_name(body: bytes) -> None:
    request = Request("POST", "/v1/\udcff", "", {}, body)
    rule = rule_of(recording(request=request), Redactor(), 1)
    read = read_yaml("rules:\n" + written(rule), Path("x.yaml"))
    assert read == {"rules": [rule]}
