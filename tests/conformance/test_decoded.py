"""From bytes to what they mean, and what was wrong on the way."""

import gzip
import json
import pickle
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.conformance import decoded as module
from wafermock.conformance.decoded import (
    DONE,
    Fault,
    Unreadable,
    content_type,
    data_of,
    decode,
    read_json,
)
from wafermock.conformance.exchange import Arrival, Decoded, Received

JSON = "application/json"
EVENTS = "text/event-stream"


def received(*pieces: bytes, media_type: str | None = JSON, coding: str | None = None) -> Received:
    given = [("content-type", media_type), ("Content-Encoding", coding)]
    headers = tuple((name, value) for name, value in given if value is not None)
    return Received(200, "", headers, tuple(Arrival(float(n), p) for n, p in enumerate(pieces)))


def kinds(answer: Decoded) -> list[str]:
    assert all(isinstance(fault, Fault) for fault in answer.faults)
    return [fault.kind for fault in answer.faults]  # type: ignore[attr-defined]


# ---------------------------------------------------------------------- JSON

READ: list[tuple[str, Any, list[str]]] = [
    ('{"a": [1, 2.5, "x", null, true]}', {"a": [1, 2.5, "x", None, True]}, []),
    (" \t\r\n1 \n", 1, []),
    ('"\\ud83d\\ude42"', "🙂", []),
    ("1" + "0" * 5000, float("inf"), []),
    ('{"a":1,"b":{"c":1,"c":2}}', {"a": 1, "b": {"c": 2}}, ["key twice"]),
    ('{"a":1,"a":2,"b":Infinity}', {"a": 2, "b": float("inf")}, ["NaN", "key twice"]),
    ("[-Infinity,-Infinity]", [float("-inf")] * 2, ["NaN"]),
    ('{"a":["\\uDE42"]}', {"a": ["\ufffd"]}, ["surrogate"]),
    ('{"\\ud83d":1}', {"\ufffd": 1}, ["surrogate"]),
    ("[" * 100 + "]" * 100, json.loads("[" * 100 + "]" * 100), []),
]
UNREAD: list[tuple[str, list[str]]] = [
    ("", ["JSON"]),
    (" ", ["JSON"]),
    ("\xa01", ["JSON"]),
    ("{'a': 1}", ["JSON"]),
    ('{"a": 1,}', ["JSON"]),
    ('{"a"', ["JSON"]),
    ('"a\nb"', ["JSON"]),
    ("01", ["junk behind JSON"]),
    ('{"a":1}{"a":1}', ["junk behind JSON"]),
    ("1\xa0", ["junk behind JSON"]),
    ("[NaN] x", ["NaN", "junk behind JSON"]),
    ("[" * 101 + "]" * 101, ["too deep"]),
    ("[" * 100_000, ["too deep"]),
    ('{"a":' * 100_000, ["too deep"]),
]


@pytest.mark.parametrize(("text", "value", "faults"), READ)
def test_json(text: str, value: Any, faults: list[str]) -> None:
    answer = decode(received(text.encode()))
    assert (answer.data, answer.is_json, kinds(answer)) == (value, True, faults)


@pytest.mark.parametrize(("text", "faults"), UNREAD)
def test_no_json(text: str, faults: list[str]) -> None:
    answer = decode(received(text.encode()))
    assert (answer.data, answer.is_json) == (None, False)
    assert kinds(answer) == (faults if text else [])  # an empty body is no JSON, and no fault
    assert isinstance(read_json(text, lambda kind, sentence: None), Unreadable)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(VALUES, st.booleans(), st.sampled_from([None, 0, 2]))
def test_good_json_has_no_fault(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    try:
        body = text.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        body = json.dumps(value).encode()
    answer = decode(received(body))
    assert answer.is_json
    if "surrogate" in kinds(answer):
        json.dumps(answer.data, ensure_ascii=False).encode()  # nothing in it stops an encoder
    else:
        assert (answer.data, answer.faults) == (value, ())


# ---------------------------------------------------------------------- bodies

BODIES: list[tuple[bytes, str | None, Any, list[str]]] = [
    (b"\xef\xbb\xbf{}", JSON, {}, ["BOM"]),
    (b'{"a":"caf\xe9"}', JSON, {"a": "caf\ufffd"}, ["UTF-8"]),
    (b"{}", "application/json; charset=UTF-8", {}, []),
    (b"{}", 'application/json; charset="utf-16"', {}, ["charset"]),
    (b"{}", "application/problem+json", {}, []),
    (b' {"a":1}', "text/plain", {"a": 1}, []),
    (b"[1]", None, [1], []),
    (b"<html>", "text/html", None, []),
    (b"Bad Gateway", "text/plain", None, []),
    (b"<html>", JSON, None, ["JSON"]),
    (b"\xff\xfe", "application/octet-stream", None, []),
    (b"", JSON, None, []),
]


@pytest.mark.parametrize(("body", "media_type", "value", "faults"), BODIES)
def test_bodies(body: bytes, media_type: str | None, value: Any, faults: list[str]) -> None:
    answer = decode(received(body, media_type=media_type))
    assert (answer.data, answer.is_stream, kinds(answer)) == (value, False, faults)


def test_content_type() -> None:
    assert content_type(received(media_type=' Text/HTML ; a=b; Charset="x" ')) == ("text/html", "x")
    assert content_type(Received(200)) == ("", None)
    twice = (("Content-Type", JSON), ("content-type", "text/html"))
    assert content_type(Received(200, headers=twice)) == (JSON, None)


# ---------------------------------------------------------------------- streams


def test_stream() -> None:
    body = b'data: {"a":1,"a":2}\n\ndata: [DONE]\n\ndata: {\n\ndata: NaN\n\n'
    answer = decode(received(body, media_type=EVENTS))
    assert answer.is_stream
    assert not answer.is_json
    assert answer.chunks[0] == {"a": 2}
    assert isinstance(answer.chunks[1], Unreadable)
    assert answer.faults[0] == "chunk 0: the key 'a' stands twice in an object"
    assert [(fault.kind, fault.where) for fault in answer.faults] == [  # type: ignore[attr-defined]
        ("key twice", "chunk 0"), ("JSON", "chunk 1"), ("NaN", "chunk 2"),
    ]  # fmt: skip
    values = [value for _, value in data_of(answer)]
    assert values[:2] == [{"a": 2}, DONE]
    assert list(data_of(decode(received(b"{}")))) == []


@pytest.mark.parametrize("media_type", [None, JSON, "text/plain"])
@pytest.mark.parametrize(
    "body", [b"data: 1\n\n", b"\xef\xbb\xbfdata:1\n\n", b": hi\n\ndata: 1\n\n"]
)
def test_streams_are_known_by_their_bytes(body: bytes, media_type: str | None) -> None:
    assert decode(received(body, media_type=media_type)).chunks == (1,)


def test_faults_are_copied_whole() -> None:
    answer = decode(received(b"data: {\n\ndata: [\n\n", media_type=EVENTS))
    copied = pickle.loads(pickle.dumps(answer))
    assert (copied, kinds(copied)) == (answer, kinds(answer))
    assert [fault.where for fault in copied.faults] == ["chunk 0", "chunk 1"]


# ---------------------------------------------------------------------- content coding

TEXT = json.dumps({"a": "漢字" * 100}).encode()
GZIP, ZLIB = gzip.compress(TEXT, mtime=0), zlib.compress(TEXT)
CODED: list[tuple[bytes, str | None, bool, list[str]]] = [
    (GZIP, "gzip", True, []),
    (GZIP, "X-GZIP", True, []),
    (ZLIB, "deflate", True, []),
    (gzip.compress(ZLIB, mtime=0), "deflate, gzip", True, []),
    (gzip.compress(TEXT[:50], mtime=0) + gzip.compress(TEXT[50:], mtime=0), "gzip", True, []),
    (TEXT, "identity", True, []),
    (TEXT, "", True, []),
    (GZIP, None, True, ["coding unsaid"]),
    (TEXT, "gzip", True, ["coding"]),
    (TEXT, "br", True, ["coding"]),
    (GZIP + b"junk", "gzip", True, ["coding"]),
    (GZIP[:-4], "gzip", True, ["coding"]),
    (GZIP[:8] + b"junk" * 9, "gzip", False, ["coding"]),
    (b"", "gzip", False, []),
]


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize(("body", "coding", "whole", "faults"), CODED)
def test_content_coding(
    body: bytes, coding: str | None, whole: bool, faults: list[str], cut: bool
) -> None:
    pieces = [body[at : at + 1] for at in range(len(body))] if cut else [body]
    answer = decode(received(*pieces, coding=coding))
    assert (answer.text == TEXT) is whole
    assert [kind for kind in kinds(answer) if kind.startswith("coding")] == faults


def test_a_cut_gzip_is_read_as_far_as_it_goes() -> None:
    answer = decode(received(GZIP[:40], coding="gzip"))
    assert TEXT.startswith(answer.text)
    assert kinds(answer)[0] == "coding"


def test_events_in_gzip_keep_their_times() -> None:
    packer = zlib.compressobj(wbits=31)
    pieces = [packer.compress(b"data: 1\n\n") + packer.flush(zlib.Z_SYNC_FLUSH) for _ in range(3)]
    answer = decode(received(*pieces, packer.flush(), media_type=EVENTS, coding="gzip"))
    assert [event.at for event in answer.stream.events] == [0, 1, 2]
    assert answer.faults == ()


def test_bombs_are_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 1000)
    answer = decode(received(gzip.compress(b"[" + b" " * 100_000 + b"]"), coding="gzip"))
    assert len(answer.text) == 1000
    assert kinds(answer)[0] == "too large"


@given(
    st.lists(st.binary(max_size=20) | st.sampled_from([GZIP, ZLIB, TEXT, b"data: ", b"\n\n"])),
    st.sampled_from([None, "gzip", "deflate", "gzip, deflate", "br", ",", "gzip,gzip"]),
    st.sampled_from([None, JSON, EVENTS, "text/event-stream; charset", ";;=", "a/b;charset==x"]),
)
def test_nothing_raises(pieces: list[bytes], coding: str | None, media_type: str | None) -> None:
    kinds(decode(received(*pieces, coding=coding, media_type=media_type)))
