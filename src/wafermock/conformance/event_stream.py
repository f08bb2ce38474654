"""WHATWG event streams (HTML, sections 9.2.5 and 9.2.6), read by the letter and by the careless.

`parse` does what the standard says and tells everything odd on the way. `read_carelessly` does
what many clients do: every line that begins with `data:` is a datum.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

from .exchange import Arrival

MEDIA_TYPE = "text/event-stream"
BOM = b"\xef\xbb\xbf"

LineEnd = Literal["LF", "CR", "CRLF"]

# What can be odd in a stream. None of it stops the parser of the standard; some of it costs events.
Kind = Literal[
    "invalid UTF-8",  # a byte that is not UTF-8: read as U+FFFD
    "BOM at the start",  # which the standard takes away
    "BOM inside",  # before a field's name, which it makes unknown
    "mixed line ends",  # a line that ends otherwise than the first
    "junk",  # a line that is nothing like a field: it is ignored
    "unknown field",  # a field that the standard does not have: it is ignored
    "comment",
    "event",  # a field `event`: the event has a name
    "id",
    "bad id",  # with U+0000 in it: it is ignored
    "retry",
    "bad retry",  # not digits alone: it is ignored
    "no data",  # fields and a blank line, but no data: no event
    "unclosed",  # fields, and no blank line before the end: no event
]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something odd. `at` is a position in the body, in bytes; `event` is how many events were
    complete before it; `text` is what stands there, or its beginning."""

    kind: Kind
    at: int
    event: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """An event. `data` are its data lines, joined with LF; `fields` all its fields in order.

    `start` and `end` are positions in the body, in bytes, from its first field or comment to
    behind its blank line; `at` is when its blank line came, in seconds after the request was sent.
    `id` is the last event id, that of an earlier event if this one has none.
    """

    data: str
    start: int
    end: int
    at: float
    name: str = "message"
    id: str = ""
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Stream:
    """A body read as an event stream. `pending` is what would have been an event if a blank line
    had closed it. `line_ends` counts how lines end; `retry` is the last valid one, milliseconds."""

    events: tuple[Event, ...]
    faults: tuple[Fault, ...] = ()
    pending: Event | None = None
    line_ends: dict[LineEnd, int] = field(default_factory=dict)
    retry: int | None = None

    def faulty(self, *kinds: Kind) -> list[Fault]:
        """Return the faults of some kinds, in the order in which they stand."""
        return [fault for fault in self.faults if fault.kind in kinds]


def parse(arrivals: Iterable[Arrival], *, whole: bool = True) -> Stream:
    """Read the bytes of a body as the standard says. Where they were cut makes no difference but
    to the times. Raises nothing.

    `whole`: the body ended by itself. Else the last line, which no line end closes, may have been
    meant to go on, and nothing is said of it."""
    parts = [arrival for arrival in arrivals if arrival.data]
    reading = _Reading(_Times(parts))
    body = b"".join(part.data for part in parts)
    # A CR at the end may be the half of CR LF that had come when somebody left.
    reading.read(body if whole else body.removesuffix(b"\r"), whole)
    return reading.stream()


def read_carelessly(body: bytes) -> tuple[str, ...]:
    """Return the data that a careless client sees: each line that begins with `data:`, without
    white space around it. It knows of no blank lines, no other fields and no byte order mark."""
    lines = _END.split(body)
    data = (line[5:] for line in lines if line.startswith(b"data:"))
    return tuple(datum.decode("utf-8", "replace").strip() for datum in data)


# Section 9.2.5: these end a line, and no other sign does. No byte of a longer character is one of
# them, so that lines can be told before they are decoded.
_END = re.compile(rb"\r\n?|\n")
_ENDS: dict[bytes, LineEnd] = {b"\n": "LF", b"\r": "CR", b"\r\n": "CRLF"}

# What people call fields. The grammar of the standard takes anything but a colon.
_FIELD_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_EXCERPT = 80


class _Times:
    """When the byte at a position came."""

    def __init__(self, parts: Sequence[Arrival]) -> None:
        self._ends = list(accumulate(len(part.data) for part in parts))
        self._at = [part.at for part in parts]

    def __call__(self, position: int) -> float:
        if not self._at:
            return 0.0
        return self._at[min(bisect_right(self._ends, position), len(self._at) - 1)]


class _Reading:
    """The buffers of section 9.2.6, and what was odd."""

    def __init__(self, times: _Times) -> None:
        self._times = times
        self._events: list[Event] = []
        self._faults: list[Fault] = []
        self._line_ends: dict[LineEnd, int] = {}
        self._first_end: bytes | None = None
        self._last_id = ""
        self._retry: int | None = None
        self._pending: Event | None = None
        self._clear()

    def _clear(self) -> None:
        self._data: list[str] = []
        self._fields: list[tuple[str, str]] = []
        self._name = ""
        self._start: int | None = None

    def read(self, body: bytes, whole: bool) -> None:
        at = 0
        if body.startswith(BOM):
            self._fault("BOM at the start", 0)
            at = len(BOM)
        for end in _END.finditer(body, at):
            self._count(end.group(), end.start())
            if end.start() == at:
                self._dispatch(at, end.end())
            else:
                self._line(body[at : end.start()], at)
            at = end.end()
        if at < len(body) and whole:
            self._line(body[at:], at)
        self._close(len(body))

    def stream(self) -> Stream:
        return Stream(
            tuple(self._events),
            tuple(self._faults),
            self._pending,
            self._line_ends,
            self._retry,
        )

    def _fault(self, kind: Kind, at: int, text: str = "") -> None:
        self._faults.append(Fault(kind, at, len(self._events), text[:_EXCERPT]))

    def _count(self, end: bytes, at: int) -> None:
        name = _ENDS[end]
        if self._first_end is None:
            self._first_end = end
        elif end != self._first_end and name not in self._line_ends:
            self._fault("mixed line ends", at, f"{name} after {_ENDS[self._first_end]}")
        self._line_ends[name] = self._line_ends.get(name, 0) + 1

    def _line(self, raw: bytes, at: int) -> None:
        if self._start is None:
            self._start = at
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            line = raw.decode("utf-8", "replace")
            bad = raw[error.start : error.end].hex(" ")
            self._fault("invalid UTF-8", at + error.start, bad)
        name, colon, value = line.partition(":")
        if colon and not name:
            self._fault("comment", at, value)
            return
        self._field(name, value.removeprefix(" "), line, at)

    def _field(self, name: str, value: str, line: str, at: int) -> None:
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
            self._fault("event", at, value)
        elif name == "id":
            if "\0" in value:
                self._fault("bad id", at, value)
            else:
                self._last_id = value
                self._fault("id", at, value)
        elif name == "retry":
            # The standard wants ASCII digits; other digits are none to it.
            if value.isascii() and value.isdigit():
                self._retry = int(value[:18])
                self._fault("retry", at, value)
            else:
                self._fault("bad retry", at, value)
        else:
            self._other(name, line, at)
            return
        self._fields.append((name, value))

    def _other(self, name: str, line: str, at: int) -> None:
        if name.startswith("\ufeff"):
            self._fault("BOM inside", at, line)
        elif _FIELD_NAME.fullmatch(name) and name != line:
            self._fault("unknown field", at, line)
            self._fields.append((name, line[len(name) + 1 :].removeprefix(" ")))
        else:
            self._fault("junk", at, line)

    def _dispatch(self, at: int, end: int) -> None:
        if self._data:
            self._events.append(self._event(end, self._times(at)))
        elif self._fields:
            self._fault("no data", at, _listed(self._fields))
        self._clear()

    def _close(self, end: int) -> None:
        if self._data:
            self._pending = self._event(end, self._times(max(end - 1, 0)))
        if self._fields and self._start is not None:
            self._fault("unclosed", self._start, _listed(self._fields))

    def _event(self, end: int, at: float) -> Event:
        assert self._start is not None, "an event has a line"
        return Event(
            "\n".join(self._data),
            self._start,
            end,
            at,
            self._name or "message",
            self._last_id,
            tuple(self._fields),
        )


def _listed(fields: list[tuple[str, str]]) -> str:
    return ", ".join(f"{name}: {value[:40]}" for name, value in fields[:3])
