"""FRAMING: bytes that are no event stream, or one that ends wrongly."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from ...draws import Draws
from ...exchange import Request
from ..catalogue import Parameter, Shelf
from ..draft import DONE, Draft, Event
from ..requests import body_of, with_body

Values = Mapping[str, Any]

FRAMING = Shelf("FRAMING")
LAST = "`[DONE]` comes once, and last."
EVENTS = "The body is an event stream (WHATWG HTML, section 9.2)."
CLOSED = "A blank line closes every event; what it does not close is lost."
JSON_DATA = "The data of every event but `[DONE]` is one JSON text."


@FRAMING.entry(
    "A stream is not called text/event-stream.",
    "The media type of a stream is text/event-stream.",
    Parameter("value", "the header", "application/json", kind="text"),
    on="streams",
)
def stream_content_type(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft.with_header("content-type", values["value"]) if draft.streamed else draft


@FRAMING.entry(
    "A stream is said to be in another charset.",
    "Event streams are in UTF-8.",
    Parameter("value", "the charset", "iso-8859-1", kind="text"),
    on="streams",
)
def stream_charset(draft: Draft, values: Values, draws: Draws) -> Draft:
    named = f"text/event-stream; charset={values['value']}"
    return draft.with_header("content-type", named) if draft.streamed else draft


@FRAMING.entry(
    "A byte is in the stream that is not UTF-8.",
    "Event streams are in UTF-8.",
    on="streams",
    phase="framed",
)
def invalid_utf8(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _each_write(draft, lambda data: data.replace(b'"choices":', b'"\xff":0,"choices":', 1))


@FRAMING.entry(
    "Lines end with U+2028, which ends no line.",
    "Lines end with CR, LF or both.",
    on="streams",
    phase="framed",
)
def unicode_line_ends(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _each_write(draft, lambda data: data.replace(b"\n", "\u2028".encode()))


@FRAMING.entry(
    "A byte order mark stands before every event, not the first alone.",
    "A byte order mark stands at the start, if anywhere.",
    on="streams",
    phase="framed",
)
def bom_inside(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _each_write(draft, lambda data: b"\xef\xbb\xbf" + data)


@FRAMING.entry(
    "The last event is not closed by a blank line.", CLOSED, on="streams", phase="framed"
)
def no_last_blank_line(draft: Draft, values: Values, draws: Draws) -> Draft:
    if not (draft.streamed and draft.writes):
        return draft
    *before, last = draft.writes
    end = draft.style.end.encode()
    return replace(draft, writes=(*before, replace(last, data=last.data.removesuffix(end))))


@FRAMING.entry(
    "No blank line stands between two events: they become one.",
    CLOSED,
    on="streams",
    phase="framed",
)
def no_blank_line(draft: Draft, values: Values, draws: Draws) -> Draft:
    if len(draft.writes) < 3 or not draft.streamed:
        return draft
    at, end = len(draft.writes) // 2, draft.style.end.encode()
    cut = replace(draft.writes[at], data=draft.writes[at].data.removesuffix(end))
    return replace(draft, writes=(*draft.writes[:at], cut, *draft.writes[at + 1 :]))


@FRAMING.entry(
    "A line stands between events that is none of an event.",
    "No junk between events.",
    on="streams",
    phase="framed",
)
def junk_between(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _each_write(draft, lambda data: b"<junk>\n" + data)


@FRAMING.entry(
    "JSON is written over several lines, and only the first has `data:`.", EVENTS, on="streams"
)
def bare_lines(draft: Draft, values: Values, draws: Draws) -> Draft:
    def spread(event: Event) -> Event:
        start, comma, rest = event.data.partition(",")
        text = f"data: {start},\n{rest}\n\n"
        return replace(event, raw=text.encode()) if comma else event

    return _each_chunk(draft, spread)


@FRAMING.entry("Lines of JSON, without `data:` and blank lines.", EVENTS, on="streams")
def json_lines(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _each_chunk(draft, lambda event: replace(event, raw=f"{event.data}\n".encode()))


@FRAMING.entry("An event has empty data.", JSON_DATA, on="streams")
def empty_event(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _with_second(draft, lambda event: [event, replace(event, data="")])


@FRAMING.entry("The JSON of a chunk is torn over two events.", JSON_DATA, on="streams")
def torn_json(draft: Draft, values: Values, draws: Draws) -> Draft:
    def tear(event: Event) -> list[Event]:
        half = len(event.data) // 2
        return [replace(event, data=event.data[:half]), replace(event, data=event.data[half:])]

    return _with_second(draft, tear)


@FRAMING.entry("Two chunks are in one line of data.", JSON_DATA, on="streams")
def two_in_one(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _with_second(draft, lambda event: [replace(event, data=event.data * 2)])


def _with_second(draft: Draft, change: Callable[[Event], list[Event]]) -> Draft:
    """Put other events in place of the second chunk."""
    if len(draft.chunks) < 2:
        return draft
    at = draft.chunks[1]
    changed = change(draft.events[at])
    return draft.with_events([*draft.events[:at], *changed, *draft.events[at + 1 :]])


@FRAMING.entry("`[DONE]` comes twice.", LAST, on="streams")
def done_twice(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _done(draft, lambda done: [done, done])


@FRAMING.entry("`[DONE]` comes before the last chunk.", LAST, on="streams")
def done_not_last(draft: Draft, values: Values, draws: Draws) -> Draft:
    if not draft.chunks or draft.events[-1].data != DONE:
        return draft
    at = draft.chunks[-1]
    last = draft.events[at]
    done = replace(draft.events[-1], offset=last.offset)
    return draft.with_events([*draft.events[:at], done, *draft.events[at:-1]])


@FRAMING.entry("`[DONE]` is written in small letters.", LAST, on="streams")
def done_misspelt(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _done(draft, lambda done: [replace(done, data="[done]")])


@FRAMING.entry("`[DONE]` is a JSON text, in quotation marks.", LAST, on="streams")
def done_quoted(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _done(draft, lambda done: [replace(done, data='"[DONE]"')])


@FRAMING.entry(
    "Something comes behind `[DONE]`.",
    "Nothing comes behind `[DONE]`.",
    on="streams",
    phase="framed",
)
def junk_after_done(draft: Draft, values: Values, draws: Draws) -> Draft:
    if not (draft.streamed and draft.writes):
        return draft
    *before, last = draft.writes
    junk = replace(last, data=last.data + b"data: {}\n\n")
    return replace(draft, writes=(*before, junk))


def _done(draft: Draft, change: Callable[[Event], list[Event]]) -> Draft:
    return draft.with_events(
        [new for e in draft.events for new in (change(e) if e.data == DONE else [e])]
    )


@FRAMING.entry(
    "The body does not end behind `[DONE]`, for a long time.",
    "The body ends right behind `[DONE]`.",
    Parameter("seconds", "for how long", 600.0, kind="seconds"),
    on="streams",
    phase="sent",
)
def endless(draft: Draft, values: Values, draws: Draws) -> Draft:
    if not draft.streamed:
        return draft
    return replace(draft, end=draft.end + values["seconds"], joined=False)


@FRAMING.entry(
    "The connection ends without the last chunk of HTTP.",
    "The body ends as HTTP wants it (RFC 9112, section 7.1).",
    on="streams",
)
def no_last_chunk(draft: Draft, values: Values, draws: Draws) -> Draft:
    return replace(draft, ending="cut") if draft.streamed else draft


@FRAMING.entry(
    "`Content-Length` is wrong.",
    "The body is as long as its head says (RFC 9112, section 6.2).",
    Parameter(
        "by", "bytes said beyond those sent; negative: too few", 7, least=-1000, most=100_000
    ),
)
def content_length(draft: Draft, values: Values, draws: Draws) -> Draft:
    return replace(draft, framing="length", length_error=draft.length_error + values["by"])


@FRAMING.entry(
    "The whole stream is held back, and comes at once when it is done.",
    "Events come as they are made.",
    Parameter("seconds", "how long it is held back beyond its own time", 1.0, kind="seconds"),
    on="streams",
)
def buffered(draft: Draft, values: Values, draws: Draws) -> Draft:
    if not draft.streamed:
        return draft
    late = draft.end + values["seconds"]
    events = [replace(event, offset=late) for event in draft.events]
    return replace(draft.with_events(events), end=late, joined=True)


@FRAMING.entry(
    "A stream is asked for, and the answer is whole.",
    "`stream: true` is answered with an event stream.",
    on="streams",
    stage="request",
)
def stream_ignored(request: Request, values: Values, position: int) -> Request:
    return _streaming(request, asked=True, answered=False)


@FRAMING.entry(
    "A whole answer is asked for, and it is a stream.",
    "Without `stream: true` the answer is JSON.",
    on="whole answers",
    stage="request",
)
def always_streams(request: Request, values: Values, position: int) -> Request:
    return _streaming(request, asked=False, answered=True)


def _streaming(request: Request, *, asked: bool, answered: bool) -> Request:
    body = body_of(request)
    if body is None or (body.get("stream") is True) is not asked:
        return request
    return with_body(request, {**body, "stream": answered})


def _each_write(draft: Draft, change: Callable[[bytes], bytes]) -> Draft:
    if not draft.streamed:
        return draft
    return replace(draft, writes=tuple(replace(w, data=change(w.data)) for w in draft.writes))


def _each_chunk(draft: Draft, change: Callable[[Event], Event]) -> Draft:
    return draft.with_events([change(e) if e.is_chunk else e for e in draft.events])
