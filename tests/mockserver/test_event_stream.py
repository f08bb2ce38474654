"""Framing, read back with a parser written after the WHATWG standard (HTML, section 9.2.6)."""

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wafermock.mockserver.event_stream import (
    DONE,
    encode_json,
    event_ends,
    frame,
    frame_events,
    split_events,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
ANY_LINE_END = "\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"


def parse(stream: bytes) -> list[dict[str, str]]:
    """Read an event stream: a list of the fields of each event that is dispatched."""
    events: list[dict[str, str]] = []
    fields: dict[str, list[str]] = {}
    lines = re.split("\r\n|\n|\r", stream.decode())
    for line in lines[:-1]:
        if line:
            name, _, value = line.partition(":")
            fields.setdefault(name, []).append(value.removeprefix(" "))
            continue
        if "data" in fields:
            data = {"data": "\n".join(fields.pop("data"))}
            events.append({**{name: values[-1] for name, values in fields.items()}, **data})
        fields = {}
    assert lines[-1] == ""
    assert not fields, "the last event has no blank line"
    return events


@given(JSON)
@example({"a": ANY_LINE_END + "\x00\x7f🙂"})
def test_json_is_one_line(value: Any) -> None:
    raw = encode_json(value)
    assert b"\n" not in raw
    assert b"\r" not in raw
    assert json.loads(raw) == value


def test_json_is_compact_and_readable() -> None:
    assert encode_json({"b": [1, 2.5, None], "a": "é🙂"}) == '{"b":[1,2.5,null],"a":"é🙂"}'.encode()


@given(st.lists(JSON, max_size=5))
def test_a_stream_of_chunks_reads_back(chunks: list[Any]) -> None:
    parts = frame(chunks)
    assert len(parts) == len(chunks) + 1
    assert parts[-1] == DONE == b"data: [DONE]\n\n"
    assert all(part.startswith(b"data: ") and part.endswith(b"\n\n") for part in parts)
    *events, done = parse(b"".join(parts))
    assert [json.loads(event["data"]) for event in events] == chunks
    assert done == {"data": "[DONE]"}


@given(st.lists(st.text(st.sampled_from("ab: " + ANY_LINE_END)), min_size=1, max_size=4))
@example(["", "\n", "a\u2028b", " a", ":", "a\r\nb\rc\n"])
def test_events_with_data_read_back(texts: list[str]) -> None:
    parts = frame_events([{"data": text} for text in texts])
    assert len(parts) == len(texts)
    wanted = [re.sub("\r\n|\r", "\n", text) for text in texts]
    assert [event["data"] for event in parse(b"".join(parts))] == wanted


@given(st.lists(JSON.filter(lambda v: not (isinstance(v, dict) and "data" in v)), max_size=4))
def test_events_without_data_are_their_json(values: list[Any]) -> None:
    read = parse(b"".join(frame_events(values)))
    assert [json.loads(event["data"]) for event in read] == values


def test_all_fields() -> None:
    event = {"data": {"a": 1}, "id": 7, "event": "delta", "retry": 3000, "other": "x"}
    assert frame_events([event]) == (b'event: delta\nid: 7\nretry: 3000\ndata: {"a":1}\n\n',)


def test_data_that_is_no_text_is_json() -> None:
    for value in (None, True, 1.5, [], {}):
        (event,) = parse(b"".join(frame_events([{"data": value}])))
        assert json.loads(event["data"]) == value


@pytest.mark.parametrize(
    ("stream", "parts"),
    [
        (b"", []),
        (b"data: a", [b"data: a"]),
        (b"data: a\n", [b"data: a\n"]),
        (b"data: a\n\ndata: b\n\n", [b"data: a\n\n", b"data: b\n\n"]),
        (b"data: a\r\n\r\ndata: b", [b"data: a\r\n\r\n", b"data: b"]),
        (b"data: a\r\rdata: b\r\r", [b"data: a\r\r", b"data: b\r\r"]),
        # Line ends may be mixed, and a return with its line feed ends one line, not two.
        (b"data: a\r\n\ndata: b\n\r\n", [b"data: a\r\n\n", b"data: b\n\r\n"]),
        (b"data: a\n\rdata: b\r\r\n", [b"data: a\n\r", b"data: b\r\r\n"]),
        (b"data: a\r\ndata: b\r\n", [b"data: a\r\ndata: b\r\n"]),
    ],
)
def test_where_events_end(stream: bytes, parts: list[bytes]) -> None:
    assert list(split_events(stream)) == parts


@given(st.lists(st.sampled_from(["\n", "\r", "\r\n", "data: a", ": b", "data", "é"])).map("".join))
def test_parts_of_a_stream_hold_an_event_each(text: str) -> None:
    stream = f"{text}\n\n".encode()  # an event that no blank line ends is none
    parts = list(split_events(stream))
    assert b"".join(parts) == stream
    assert all(len(parse(part)) <= 1 for part in parts)
    assert [event for part in parts for event in parse(part)] == parse(stream)
    ends = list(event_ends(stream))
    assert ends == sorted(set(ends))
    assert all(stream[:end].endswith((b"\n\n", b"\r\r", b"\n\r", b"\n\r\n", b"\r\r\n"))
               for end in ends)  # fmt: skip
