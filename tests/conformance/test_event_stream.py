"""The parser of event streams: against the standard's own examples, and against a plain one."""

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wafermock.conformance.event_stream import Event, parse, read_carelessly
from wafermock.conformance.exchange import Arrival


def read(body: bytes) -> list[tuple[str, str, str]]:
    return [(event.name, event.data, event.id) for event in parse([Arrival(0.0, body)]).events]


def kinds(body: bytes) -> list[str]:
    return [fault.kind for fault in parse([Arrival(0.0, body)]).faults]


# WHATWG HTML, section 9.2.6: the examples at its end, and what its steps say.
EXAMPLES: list[tuple[bytes, list[tuple[str, str, str]]]] = [
    (b"data: YHOO\ndata: +2\ndata: 10\n\n", [("message", "YHOO\n+2\n10", "")]),
    (
        b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event",
        [("message", "first event", "1"), ("message", "second event", "")],
    ),
    (b"data\n\ndata\ndata\n\ndata:", [("message", "", ""), ("message", "\n", "")]),
    (b"data:test\n\ndata: test\n\n", [("message", "test", "")] * 2),
    (b"event: a\ndata: 1\n\ndata: 2\n\n", [("a", "1", ""), ("message", "2", "")]),
    (b"event: a\n\ndata: 2\n\n", [("message", "2", "")]),
    (b"id: 7\ndata: 1\n\ndata: 2\n\n", [("message", "1", "7"), ("message", "2", "7")]),
    (b"id: 7\n\ndata: 2\n\n", [("message", "2", "7")]),
    (b"id: 1\0\ndata: 2\n\n", [("message", "2", "")]),
    (b"\xef\xbb\xbfdata: 1\n\n", [("message", "1", "")]),
    (b"\xef\xbb\xbf\xef\xbb\xbfdata: 1\n\ndata: 2\n\n", [("message", "2", "")]),
    (b"data: 1\r\rdata: 2\r\n\r\ndata: 3\n\n", [("message", n, "") for n in "123"]),
    (b"data: 1\n\r\n", [("message", "1", "")]),
    (b"Data: 1\ndata : 2\n data: 3\n\n", []),
    (b"data: \xff\xe6\xbc\n\n", [("message", "\ufffd\ufffd", "")]),
    (b"", []),
    (b"\xef\xbb\xbf", []),
]


@pytest.mark.parametrize(("body", "events"), EXAMPLES)
def test_examples(body: bytes, events: Any) -> None:
    assert read(body) == events


FAULTS: list[tuple[bytes, list[str]]] = [
    (b"data: 1\n\n", []),
    (b"\xef\xbb\xbfdata: 1\n\n", ["BOM at the start"]),
    (b"data: 1\n\n\xef\xbb\xbfdata: 2\n\n", ["BOM inside"]),
    (b"data: 1\n\r\n\r\n", ["mixed line ends"]),
    (b"data: \xff\n\n", ["invalid UTF-8"]),
    (b"junk\ndata: 1\n\n", ["junk"]),
    (b'{"a": 1}\n', ["junk"]),
    (b"x-trace: 1\ndata: 1\n\n", ["unknown field"]),
    (b": hello\n:\ndata: 1\n\n", ["comment", "comment"]),
    (b"event: a\ndata: 1\n\n", ["event"]),
    (b"id: 1\nretry: 5\ndata: 1\n\n", ["id", "retry"]),
    ("retry: ٣\nid: \0\ndata: 1\n\n".encode(), ["bad retry", "bad id"]),
    (b"event: a\n\n", ["event", "no data"]),
    (b": alive\n\n", ["comment"]),
    (b"data: 1\n", ["unclosed"]),
    (b"data: 1", ["unclosed"]),
    (b"data: 1\n\n: bye", ["comment"]),
]


@pytest.mark.parametrize(("body", "expected"), FAULTS)
def test_faults(body: bytes, expected: list[str]) -> None:
    assert kinds(body) == expected


def test_places_and_times() -> None:
    stream = parse([Arrival(1, b"data: 1\n"), Arrival(2, b""), Arrival(3, b"\ndata: \xe6")])
    [event] = stream.events
    assert (event.start, event.end, event.at) == (0, 9, 3)
    assert event.fields == (("data", "1"),)
    assert stream.pending == Event("\ufffd", 9, 16, 3, fields=(("data", "\ufffd"),))
    bad, unclosed = stream.faults
    assert (bad.kind, bad.at, bad.event, bad.text) == ("invalid UTF-8", 15, 1, "e6")
    assert (unclosed.kind, unclosed.at) == ("unclosed", 9)
    assert stream.line_ends == {"LF": 2}
    assert parse([Arrival(0, b"retry: 5\nretry: x\n\n")]).retry == 5


def test_a_large_stream_is_no_burden() -> None:
    """No quadratic cost: so many events in so many pieces end the suite if there were one."""
    events = 10_000
    stream = parse(Arrival(at, b'data: {"n": 1}\n\n') for at in range(events))
    assert len(stream.events) == events
    assert [stream.events[at].at for at in (0, 1, events - 1)] == [0, 1, events - 1]


# ---------------------------------------------------------------------- any stream

LINE = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=12)
FIELD = st.sampled_from(["event", "id", "retry", "x-field"])
EVENT = st.tuples(
    st.lists(LINE, min_size=1, max_size=3),  # data
    st.lists(st.tuples(FIELD, LINE), max_size=2),
)


@st.composite
def written(draw: st.DrawFn) -> tuple[list[str], bytes]:
    """The data of events, and the stream that holds them, in one of the ways that are legal."""
    expected, text = [], draw(st.sampled_from(["", "\ufeff"]))
    ends = draw(st.sampled_from([["\n"], ["\r"], ["\r\n"], ["\n", "\r\n"]]))
    for data, others in draw(st.lists(EVENT, max_size=6)):
        expected.append("\n".join(data))
        fields = [("data", line) for line in data]
        for field in others:
            fields.insert(draw(st.integers(0, len(fields))), field)
        lines = []
        for name, value in fields:
            space = " " if value.startswith(" ") or draw(st.booleans()) else ""
            lines.append(f"{name}:{space}{value}")
        if draw(st.booleans()):
            comment = ":" + draw(LINE)
            lines.insert(draw(st.integers(0, len(lines))), comment)
        lead = [": alive", ""] if draw(st.booleans()) else []
        text += "".join(line + draw(st.sampled_from(ends)) for line in [*lead, *lines, ""])
    return expected, text.encode()


def cut(body: bytes, places: list[int]) -> list[Arrival]:
    edges = sorted({0, len(body), *(place % (len(body) + 1) for place in places)})
    pairs = pairwise(edges)
    return [Arrival(float(at), body[start:end]) for at, (start, end) in enumerate(pairs)]


@given(written())
def test_legal_streams_are_read_alike(case: tuple[list[str], bytes]) -> None:
    expected, body = case
    stream = parse([Arrival(0.0, body)])
    assert [event.data for event in stream.events] == expected
    assert not stream.faulty("junk", "invalid UTF-8", "BOM inside", "no data", "unclosed")
    edges = [edge for event in stream.events for edge in (event.start, event.end)]
    assert edges == sorted(edges)
    assert all(body[: event.end][-1:] in (b"\r", b"\n") for event in stream.events)


SIGNS = st.sampled_from(
    [
        "data",
        "data:",
        "data: ",
        ":",
        " ",
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        "id:",
        "event:",
        "retry:",
        "x:",
    ]
)
PARTS = st.lists(
    SIGNS.map(str.encode) | st.binary(max_size=4) | st.just(b"\xef\xbb\xbf") | st.just(b"\0"),
    max_size=30,
).map(b"".join)


@given(PARTS | written().map(lambda case: case[1]), st.lists(st.integers(0, 999), max_size=8))
def test_cuts_change_nothing_but_times(body: bytes, places: list[int]) -> None:
    whole, pieces = parse([Arrival(0.0, body)]), parse(cut(body, places))
    assert pieces.faults == whole.faults
    assert timeless(pieces.events) == timeless(whole.events)
    times = [event.at for event in pieces.events]
    assert times == sorted(times)


def timeless(events: tuple[Event, ...]) -> list[Any]:
    return [(e.data, e.start, e.end, e.name, e.id, e.fields) for e in events]


def plainly(body: bytes) -> list[tuple[str, str, str]]:
    """Section 9.2.6, step by step, over decoded text."""
    text = body.decode("utf-8", "replace").removeprefix("\ufeff")
    lines = re.split("\r\n|\n|\r", text)[:-1]  # what no line end ends is thrown away
    events, data, name, last_id = [], "", "", ""
    for line in lines:
        if line == "":
            if data:
                events.append((name or "message", data.removesuffix("\n"), last_id))
            data = name = ""
            continue
        if line.startswith(":"):
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data += value + "\n"
        elif field == "id" and "\0" not in value:
            last_id = value
    return events


@given(PARTS)
@example(b"\xef\xbb\xbf\xef\xbb\xbfdata:\n\n")
@example(b"data:\xe6\r\xbc\r\r")
def test_agrees_with_the_standard_step_by_step(body: bytes) -> None:
    assert read(body) == plainly(body)


def test_careless_clients_go_by_lines() -> None:
    assert read_carelessly(b"data: 1\ndata:2\r\nid: 3\rdata: 4 ") == ("1", "2", "4")
    assert read_carelessly("\ufeffdata: 1\n data: 2\n".encode()) == ()
    assert read_carelessly("data: a\u2028data: \xff".encode("latin-1", "replace")) == (
        "a?data: \ufffd",
    )


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_stream_that_was_left_anywhere_shows_no_more_than_it_has(end: bytes) -> None:
    """Whoever hangs up may have had the half of a line, of a character, of CR LF."""
    body = end.join((b": hello", b"data: \xe6\xbc\xa2", b"", b"id: 1", b"data: x", b"", b""))
    for cut in range(len(body)):
        faults = parse([Arrival(0.0, body[:cut])], whole=False).faults
        assert {fault.kind for fault in faults} <= {"comment", "id", "unclosed"}, cut
