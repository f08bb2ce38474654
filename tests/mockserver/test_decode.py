"""Decoding: every spelling of the same data, and every way to spell it wrong."""

import gzip
import json
from typing import Any

import ormsgpack
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wafermock.mockserver.decode import MAX_DEPTH, MAX_GZIP_MEMBERS, decode, holds_data
from wafermock.mockserver.refusal import Refusal

JSON = "application/json"
MSGPACK = ("application/msgpack", "application/vnd.msgpack", "application/x-msgpack")
TAKEN = (JSON, *MSGPACK)
LIMIT = 100_000

DATA = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


def read(
    raw: bytes, content_type: str | None = JSON, encoding: str | None = None, **other: Any
) -> Any:
    return decode(raw, content_type, encoding, **{"media_types": TAKEN, "max_body": LIMIT, **other})


def refused(
    raw: bytes, content_type: str | None = JSON, encoding: str | None = None, **other: Any
) -> Refusal:
    with pytest.raises(Refusal) as caught:
        read(raw, content_type, encoding, **other)
    return caught.value


@given(DATA, st.sampled_from(TAKEN), st.booleans())
@example(2**64 - 1, MSGPACK[0], True)
@example({"": {"": []}}, JSON, False)
def test_every_spelling_gives_the_same_data(value: Any, content_type: str, zipped: bool) -> None:
    raw = json.dumps(value).encode() if content_type == JSON else ormsgpack.packb(value)
    encoding = None
    if zipped:
        raw, encoding = gzip.compress(raw, mtime=0), "gzip"
    assert read(raw, content_type, encoding) == value


@given(st.binary(), st.sampled_from(TAKEN), st.sampled_from([None, "gzip"]))
def test_any_bytes_are_data_or_refused(raw: bytes, content_type: str, encoding: str | None) -> None:
    error = None
    try:
        value = read(raw, content_type, encoding)
    except Refusal as refusal:
        error = refusal.error
    else:
        json.dumps(value, allow_nan=False).encode()
    assert error in {None, "empty_body", "malformed_json", "malformed_msgpack", "malformed_gzip"}


@given(DATA, st.binary(min_size=1), st.sampled_from(MSGPACK))
def test_msgpack_with_something_behind(value: Any, behind: bytes, content_type: str) -> None:
    assert refused(ormsgpack.packb(value) + behind, content_type).error == "malformed_msgpack"


@given(DATA, st.data())
def test_msgpack_cut_short(value: Any, data: st.DataObject) -> None:
    whole = ormsgpack.packb(value)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    assert refused(cut, MSGPACK[0]).error in ("malformed_msgpack", "empty_body")


@pytest.mark.parametrize(
    ("content_type", "works"),
    [
        (None, True),
        ("", True),
        ("application/json", True),
        ("APPLICATION/JSON", True),
        (" application/json ; charset=utf-8", True),
        ('application/json;charset="UTF-8"', True),
        ("application/json; profile=x", True),
        ("application/json;charset=latin-1", False),
        ("application/json; charset=utf-16", False),
        ("text/json", False),
        ("text/plain", False),
        ("application/x-www-form-urlencoded", False),
        ("application/json, application/json", False),
        ("json", False),
        ("application/jsonx", False),
        ("*/*", False),
        ("multipart/form-data; boundary=x", False),
    ],
)
def test_content_type(content_type: str | None, works: bool) -> None:
    if works:
        assert read(b"{}", content_type) == {}
    else:
        refusal = refused(b"{}", content_type)
        assert refusal.error == "unsupported_media_type"
        assert refusal.headers["Accept-Post"] == ", ".join(TAKEN)
        assert refusal.values["supported"] == ", ".join(TAKEN)


@pytest.mark.parametrize("taken", ["*/*", "application/*", "application/hal+json"])
def test_ranges_and_suffixes(taken: str) -> None:
    assert read(b'{"a":1}', "application/hal+json", media_types=[taken]) == {"a": 1}


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/xml", "application/x-www-form-urlencoded", "application/pdf"],
)
def test_a_body_that_is_no_data_is_its_text(content_type: str) -> None:
    assert not holds_data(content_type)
    assert read("é=1&b".encode(), content_type, media_types=[content_type]) == "é=1&b"
    assert read(b"\xff\x00", content_type, media_types=[content_type]) == "\\xff\x00"
    assert refused(b"", content_type, media_types=[content_type]).error == "empty_body"


@pytest.mark.parametrize("encoding", [None, "", "identity", "Identity", " identity "])
def test_identity(encoding: str | None) -> None:
    assert read(b"{}", JSON, encoding) == {}


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "x-gzip", " gzip "])
def test_gzip(encoding: str) -> None:
    assert read(gzip.compress(b"{}"), JSON, encoding) == {}


@pytest.mark.parametrize("encoding", ["br", "deflate", "zstd", "gzip, gzip", "gzip,br", "utf-8"])
def test_other_encodings(encoding: str) -> None:
    refusal = refused(gzip.compress(b"{}"), JSON, encoding)
    assert refusal.error == "unsupported_content_encoding"
    assert refusal.headers == {"Accept-Encoding": "gzip"}


ZIPPED = gzip.compress(b'{"a":1}', mtime=0)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'{"a":1}', "not what gzip writes"),
        (ZIPPED + b"x", "ends early"),
        (ZIPPED + b"xxxxxxxxxxxxxxxxxxxxxxxx", "not what gzip writes"),
        (ZIPPED + b"\x00\x00\x00", "not what gzip writes"),
        (ZIPPED + ZIPPED[:-3], "ends early"),
        (ZIPPED[:-8] + b"\x00\x00\x00\x00" + ZIPPED[-4:], "not what gzip writes"),  # CRC-32
        (ZIPPED[:-4] + b"\xff\x00\x00\x00", "not what gzip writes"),  # ISIZE
        *((ZIPPED[:end], "ends early") for end in range(1, len(ZIPPED))),
    ],
)
def test_bad_gzip(raw: bytes, reason: str) -> None:
    refusal = refused(raw, JSON, "gzip")
    assert refusal.error == "malformed_gzip"
    assert reason in refusal.values["reason"]


def test_empty_bodies() -> None:
    assert refused(b"").error == "empty_body"
    assert refused(b"", MSGPACK[1]).error == "empty_body"
    assert refused(b"", JSON, "gzip").error in ("empty_body", "malformed_gzip")
    assert refused(gzip.compress(b""), JSON, "gzip").error == "empty_body"


def test_gzip_of_several_members() -> None:
    parts = [gzip.compress(part) for part in (b"", b'{"a"', b"", b":1}", b"")]
    assert read(b"".join(parts), JSON, "gzip") == {"a": 1}


def test_gzip_of_too_many_members() -> None:
    empty = gzip.compress(b"")
    end = gzip.compress(b"{}")
    assert read(empty * (MAX_GZIP_MEMBERS - 1) + end, JSON, "gzip") == {}
    refusal = refused(empty * MAX_GZIP_MEMBERS + end, JSON, "gzip")
    assert refusal.error == "malformed_gzip"
    assert "members" in refusal.values["reason"]


@pytest.mark.parametrize("members", [1, 7])
def test_inflating_is_bounded(members: int) -> None:
    # A hundred million bytes; were they all inflated, the traced memory would show it.
    import tracemalloc

    bomb = gzip.compress(b" " * (10**8 // members), 9) * members
    tracemalloc.start()
    refusal = refused(bomb, JSON, "gzip", max_body=200_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert refusal.error == "body_too_large"
    assert refusal.values["limit"] == 200_000
    assert peak < 5_000_000


def test_the_bound_is_inclusive() -> None:
    body = b'"' + b"x" * (LIMIT - 2) + b'"'
    assert len(read(body)) == LIMIT - 2
    assert len(read(gzip.compress(body), JSON, "gzip")) == LIMIT - 2
    assert refused(body + b" ").error == "body_too_large"
    assert refused(gzip.compress(body + b" "), JSON, "gzip").error == "body_too_large"
    assert refused(gzip.compress(body) + gzip.compress(b" "), JSON, "gzip").error == (
        "body_too_large"
    )


@pytest.mark.parametrize(
    ("raw", "at", "reason"),
    [
        (b'{"a":1,}', 7, "property name enclosed in double quotes: line 1 column 8 (char 7)"),
        (b'{"a":[1, \n ]}', 11, "Expecting value: line 2 column 2 (char 11)"),
        (b"{'a':1}", 1, "property name"),
        (b'{"a" 1}', 5, "':' delimiter"),
        (b"[1 2]", 3, "',' delimiter"),
        (b'{"a":1}x', 7, "Extra data"),
        (b"{} {}", 3, "Extra data"),
        (b"01", 1, "Extra data"),
        (b" ", 1, "Expecting value"),
        (b"nul", 0, "Expecting value"),
        (b"{", 1, "property name"),
        (b'"\t"', 1, "control character"),
        (b'"\\x"', 1, "escape"),
        (b'"abc', 0, "Unterminated string"),
        (b'{"a":NaN}', 0, "NaN is not JSON"),
        (b"[-Infinity]", 0, "-Infinity is not JSON"),
        (b"[1e400]", 0, "1e400 is out of range"),
        (b"[-1e400]", 0, "out of range"),
        (b"1" * 5000, 0, "too many digits"),
        (b"\xef\xbb\xbf{}", 0, "byte order mark"),
        ("{}".encode("utf-16"), 0, "not UTF-8 at byte 0"),
        ("{}".encode("utf-16-le"), 1, "property name"),
        ("{}".encode("utf-32-be"), 0, "Expecting value"),
        (b'{"a":"\xff"}', 6, "not UTF-8 at byte 6"),
        (b'"\xed\xa0\x80"', 1, "not UTF-8"),  # a surrogate in UTF-8's clothes
        (b'"\\ud800"', 0, "surrogate"),
        (b'"\\udc00\\ud800"', 0, "surrogate"),
        (b'{"\\uDBFF":1}', 0, "surrogate"),
    ],
)
def test_bad_json(raw: bytes, at: int, reason: str) -> None:
    refusal = refused(raw)
    assert refusal.error == "malformed_json"
    assert refusal.values["loc"] == ["body", at]
    assert reason in refusal.values["reason"]
    assert "sys." not in refusal.values["reason"]  # nothing of the inside shows


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"\xc1", "Reserved"),
        (b"\xdf\xff\xff\xff\xff", ""),
        (b"\xdd\xff\xff\xff\xff", ""),
        (b"\xdb\xff\xff\xff\xff", ""),
        (b"\xc6\xff\xff\xff\xff", ""),
        (b"\x81\x01\x02", "invalid type"),  # a key that is a number
        (b"\x81\xc0\x01", "invalid type"),  # a key that is null
        (b"\x81\xc4\x01a\x01", ""),  # a key that is binary
        (b"\xa2\xff\xfe", "UTF-8"),
        (b"\xa3\xed\xa0\x80", "UTF-8"),
        (b"\x81\xa1a\xc4\x01b", "binary data has no place in JSON"),
        (b"\x91\xd6\xff\x00\x00\x00\x01", "an extension type has no place in JSON"),
        (b"\x91\xd4\x01a", "an extension type has no place in JSON"),
        (b"\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00", "Infinity"),
        (b"\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00", "NaN"),
        (b"\xca\x7f\xc0\x00\x00", "NaN"),
        (b'{"a":1}', ""),  # JSON under the wrong name
        (b"\x80\x80", "behind the value"),
    ],
)
def test_bad_msgpack(raw: bytes, reason: str) -> None:
    refusal = refused(raw, MSGPACK[2])
    assert refusal.error == "malformed_msgpack"
    assert reason in refusal.values["reason"]


def test_the_last_of_two_equal_keys_counts() -> None:
    assert read(b'{"a":1,"b":2,"a":3}') == {"a": 3, "b": 2}
    assert read(b"\x83\xa1a\x01\xa1b\x02\xa1a\x03", MSGPACK[0]) == {"a": 3, "b": 2}


def test_a_surrogate_pair_is_a_character() -> None:
    assert read(b'"\\ud83d\\ude42 \\\\ud800"') == "🙂 \\ud800"


@pytest.mark.parametrize("space", [b"", b" \n"])
@pytest.mark.parametrize(("opens", "closes"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_the_depth_of_json_is_bounded(space: bytes, opens: bytes, closes: bytes) -> None:
    def nested(depth: int) -> bytes:
        inner = b"[]" if opens == b"[" else b"{}"
        return space + opens * (depth - 1) + inner + closes * (depth - 1)

    read(nested(MAX_DEPTH))
    for depth in (MAX_DEPTH + 1, 1000, 15_000):
        refusal = refused(nested(depth))
        assert refusal.error == "malformed_json"
        assert refusal.values["reason"] == f"nested deeper than {MAX_DEPTH} levels"


@pytest.mark.parametrize(("opens", "last"), [(b"\x91", b"\x90"), (b"\x81\xa1a", b"\x80")])
def test_the_depth_of_msgpack_is_bounded(opens: bytes, last: bytes) -> None:
    read(opens * (MAX_DEPTH - 1) + last, MSGPACK[0])
    for depth in (MAX_DEPTH + 1, 1000, 1100, 30_000):
        refusal = refused(opens * (depth - 1) + last, MSGPACK[0])
        assert refusal.error == "malformed_msgpack"
        assert refusal.values["reason"] == f"nested deeper than {MAX_DEPTH} levels"


def test_many_brackets_are_not_depth() -> None:
    assert len(read(json.dumps([[]] * 1000).encode())) == 1000
    assert read(json.dumps("[" * 1000).encode()) == "[" * 1000
