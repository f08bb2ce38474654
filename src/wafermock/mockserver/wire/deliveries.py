"""Deliveries: legal ways to put the same answer on the wire. Clients should read all alike."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from ..draws import Draws
from .catalogue import Catalogue, Parameter, Shelf
from .draft import DONE, Draft, Event, Style, Write, calls_in, choices_in, message_in
from .readers import READ, how_read

Values = Mapping[str, Any]

WRITES = Shelf("WRITES")
LINES = Shelf("LINES")
FIELDS = Shelf("FIELDS")
CHUNKS = Shelf("CHUNKS")
HTTP = Shelf("HTTP")

# ---------------------------------------------------------------------- what goes in one write


def _cut(data: bytes, places: list[int]) -> Iterator[bytes]:
    for start, end in zip([0, *places], [*places, len(data)], strict=True):
        if start < end:
            yield data[start:end]


def _cuts(draft: Draft, pieces: list[list[bytes]]) -> Draft:
    """Return a draft with each write in the pieces given for it."""
    return replace(
        draft,
        writes=tuple(
            Write(piece, write.offset)
            for write, cut in zip(draft.writes, pieces, strict=True)
            for piece in cut
        ),
    )


@WRITES.entry("Every byte is a write of its own.", READ, phase="sent")
def bytewise(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _cuts(draft, [[bytes([byte]) for byte in write.data] for write in draft.writes])


@WRITES.entry(
    "Writes of sizes drawn from the call, wherever they end.",
    READ,
    Parameter("most", "the largest write, in bytes", 40, least=1),
    phase="sent",
)
def random_pieces(draft: Draft, values: Values, draws: Draws) -> Draft:
    pieces = []
    for write in draft.writes:
        places, at = [], 0
        while (at := at + 1 + draws.below(values["most"])) < len(write.data):
            places.append(at)
        pieces.append(list(_cut(write.data, places)))
    return _cuts(draft, pieces)


@WRITES.entry(
    "A write ends inside every character of several bytes, behind its first byte.",
    READ + " A client that decodes each write by itself reads rubbish.",
    on="text beyond ASCII",
    phase="sent",
)
def inside_characters(draft: Draft, values: Values, draws: Draws) -> Draft:
    def cut(data: bytes) -> Iterator[bytes]:
        return _cut(data, [at + 1 for at, byte in enumerate(data) if byte >= 0xC0])

    return _cuts(draft, [list(cut(write.data)) for write in draft.writes])


@WRITES.entry(
    "A write ends inside every `data:`, behind its second letter.",
    READ,
    on="streams",
    phase="sent",
)
def inside_data(draft: Draft, values: Values, draws: Draws) -> Draft:
    def cut(data: bytes) -> Iterator[bytes]:
        starts = [at for at in range(len(data)) if data.startswith(b"data:", at)]
        return _cut(data, [at + 2 for at in starts if at == 0 or data[at - 1] in b"\r\n"])

    return _cuts(draft, [list(cut(write.data)) for write in draft.writes])


@WRITES.entry("All goes in one write, when the last of it may go.", READ)
def one_write(draft: Draft, values: Values, draws: Draws) -> Draft:
    late = tuple(replace(event, offset=draft.end) for event in draft.events)
    return replace(draft, events=late, start=draft.end, joined=True)


@WRITES.entry("Each event is a write of its own.", READ, on="streams", phase="sent")
def one_write_an_event(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft  # the writes of a framed stream are its events; nothing joins them here


# ---------------------------------------------------------------------- lines


@LINES.entry("Lines end with CR and LF.", READ, on="streams")
def crlf(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _styled(draft, Style(end="\r\n"))


@LINES.entry(
    "Lines end with CR and LF, and a write ends between the two.",
    READ,
    on="streams",
    phase="sent",
)
def between_cr_and_lf(draft: Draft, values: Values, draws: Draws) -> Draft:
    if not draft.streamed:
        return draft
    # JSON escapes the line ends of texts: a bare LF ends a line of the stream.
    return _cuts(draft, [list(_torn(write.data)) for write in draft.writes])


def _torn(data: bytes) -> Iterator[bytes]:
    data = data.replace(b"\n", b"\r\n")
    return _cut(data, [at for at in range(1, len(data)) if data[at - 1 : at + 1] == b"\r\n"])


@LINES.entry("Lines end with CR.", READ, on="streams")
def cr(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _styled(draft, Style(end="\r"))


@LINES.entry("Lines end with LF, as the API's do.", READ, on="streams")
def lf(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _styled(draft, Style(end="\n"))


@LINES.entry("Nothing stands between `data:` and the data.", READ, on="streams")
def no_space(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _styled(draft, Style(space=""))


def _styled(draft: Draft, style: Style) -> Draft:
    return replace(draft, style=style) if draft.streamed else draft


@LINES.entry(
    "A byte order mark leads the stream.",
    how_read("bom"),
    on="streams",
    phase="framed",
)
def bom(draft: Draft, values: Values, draws: Draws) -> Draft:
    if not draft.streamed or not draft.writes:
        return draft
    first, *rest = draft.writes
    return replace(draft, writes=(replace(first, data=b"\xef\xbb\xbf" + first.data), *rest))


# ---------------------------------------------------------------------- fields


@FIELDS.entry("Comments stand before every event.", READ, on="streams", phase="framed")
def comments(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _before_each(draft, ": a comment{end}:data: not data, a comment{end}")


@FIELDS.entry(
    "A comment and a blank line, as servers send to keep a connection alive, before every event.",
    READ,
    on="streams",
    phase="framed",
)
def keep_alives(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _before_each(draft, ": keep-alive{end}{end}")


def _before_each(draft: Draft, text: str) -> Draft:
    if not draft.streamed:
        return draft
    lead = text.format(end=draft.style.end).encode()
    return replace(draft, writes=tuple(replace(w, data=lead + w.data) for w in draft.writes))


@FIELDS.entry("The JSON of an event stands on several `data:` lines.", READ, on="streams")
def several_data_lines(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _each(draft, lambda event, _: replace(event, data=_on_lines(event)))


def _on_lines(event: Event) -> str:
    return (
        event.data if event.value is None else json.dumps(event.value, indent=1, ensure_ascii=False)
    )


@FIELDS.entry(
    "Every event has `event: message`, the name that events have anyway.",
    how_read("event_message"),
    on="streams",
)
def event_message(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _each(draft, lambda event, _: _with_field(event, "event", "message"))


@FIELDS.entry("Every event has an `id`.", READ, on="streams")
def ids(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _each(draft, lambda event, number: _with_field(event, "id", str(number)))


@FIELDS.entry(
    "Every event has `retry`.",
    READ,
    Parameter("milliseconds", "the time to wait before connecting anew", 3000),
    on="streams",
)
def retry(draft: Draft, values: Values, draws: Draws) -> Draft:
    wait = str(values["milliseconds"])
    return _each(draft, lambda event, _: _with_field(event, "retry", wait))


@FIELDS.entry("Every event has a field that nobody knows.", READ, on="streams")
def unknown_field(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _each(draft, lambda event, _: _with_field(event, "x-trace", "7"))


def _with_field(event: Event, name: str, value: str) -> Event:
    return replace(event, fields=(*event.fields, (name, value)))


def _each(draft: Draft, change: Any) -> Draft:
    return draft.with_events(
        [e if e.raw is not None else change(e, number) for number, e in enumerate(draft.events)]
    )


# ---------------------------------------------------------------------- chunks


@CHUNKS.entry(
    "`usage` and `time_info` come on a chunk of their own, behind the last, with `choices: []`.",
    READ + " A client that takes `choices[0]` of every chunk fails.",
    on="streams",
)
def usage_apart(draft: Draft, values: Values, draws: Draws) -> Draft:
    events: list[Event] = []
    for event in draft.events:
        events.append(event)
        if event.is_chunk and event.value["choices"] and "usage" in event.value:
            report = {k: v for k, v in event.value.items() if k in ("usage", "time_info")}
            rest = {k: v for k, v in event.value.items() if k not in report}
            events[-1] = event.holding(rest)
            events.append(event.holding({**rest, "choices": [], **report}))
    return draft.with_events(events)


@CHUNKS.entry(
    "The finish reason comes in the chunk with the last words, not in one of its own.",
    READ + " A client that takes the words or the finish reason of a chunk, not both, loses one.",
    on="streams",
)
def finish_with_content(draft: Draft, values: Values, draws: Draws) -> Draft:
    events: dict[int, Event] = dict(enumerate(draft.events))
    for at in draft.chunks:
        value = draft.events[at].value
        if len(choices_in(value)) != 1 or not value["choices"][0].get("finish_reason"):
            continue
        choice = value["choices"][0]
        before = [b for b in draft.chunks if b < at and _speaks(draft.events[b].value, choice)]
        if not before:
            continue
        words = draft.events[before[-1]].value["choices"][0]
        joined = {**words, "finish_reason": choice["finish_reason"]}
        # The report on the answer is in the chunk that finishes it: the later place is kept.
        events[at] = events[at].holding({**value, "choices": [joined]})
        del events[before[-1]]
    return draft.with_events(list(events.values()))


def _speaks(value: Any, choice: dict[str, Any]) -> bool:
    choices = choices_in(value)
    if len(choices) != 1 or choices[0].get("index") != choice.get("index"):
        return False
    message = message_in(choices[0])
    said = any(name in message for name in ("content", "reasoning", "text", "tokens"))
    return said or bool(calls_in(choices[0]))


@CHUNKS.entry("Every delta names the role again.", READ, on="chat streams")
def role_repeated(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(value: Any) -> None:
        for choice in choices_in(value):
            if isinstance(choice.get("delta"), dict):
                choice["delta"] = {"role": "assistant", **choice["delta"]}

    return draft.edited(change) if draft.streamed else draft


@CHUNKS.entry("The stream ends without `[DONE]`, as in 2025.", READ, on="streams")
def no_done(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft.with_events([event for event in draft.events if event.data != DONE])


@CHUNKS.entry(
    "Tool calls come whole, all calls of a choice in one chunk.", READ, on="streamed tool calls"
)
def tool_calls_whole(draft: Draft, values: Values, draws: Draws) -> Draft:
    joined: dict[tuple[Any, Any], dict[str, Any]] = {}  # by choice and call, in order
    last: dict[Any, int] = {}
    for at in draft.chunks:
        for choice in choices_in(draft.events[at].value):
            for call in calls_in(choice):
                known = joined.setdefault((choice.get("index"), call.get("index")), {})
                _assemble(known, call)
                last[choice.get("index")] = at
    events: list[Event] = []
    for at, event in enumerate(draft.events):
        choices = choices_in(event.value)
        if not any(calls_in(choice) for choice in choices):
            events.append(event)
            continue
        own = choices[0].get("index")
        if last.get(own) == at:
            calls = [call for (index, _), call in joined.items() if index == own]
            choice = {**choices[0], "delta": {**choices[0]["delta"], "tool_calls": calls}}
            events.append(event.holding({**event.value, "choices": [choice]}))
    return draft.with_events(events)


def _assemble(known: dict[str, Any], call: dict[str, Any]) -> None:
    """Add a fragment of a call to what is known of it."""
    function = {**call["function"]}
    if known:
        function["arguments"] = known["function"].get("arguments", "") + function.get(
            "arguments", ""
        )
        function = {**known["function"], **function}
    known.update({**call, "function": function})


@CHUNKS.entry(
    "Tool calls come in fragments: id and name first, then the arguments piece by piece.",
    READ,
    Parameter("size", "the characters of the arguments in one fragment", 5, least=1),
    on="streamed tool calls",
)
def tool_calls_fragmented(draft: Draft, values: Values, draws: Draws) -> Draft:
    events: list[Event] = []
    for event in tool_calls_whole(draft, values, draws).events:
        choices = choices_in(event.value)
        if not any(calls_in(choice) for choice in choices):
            events.append(event)
            continue
        for fragment in _fragments(calls_in(choices[0]), values["size"]):
            choice = {**choices[0], "delta": {"tool_calls": [fragment]}}
            events.append(event.holding({**event.value, "choices": [choice]}))
    return draft.with_events(events)


def _fragments(calls: list[dict[str, Any]], size: int) -> Iterator[dict[str, Any]]:
    for number, call in enumerate(calls):
        arguments = call["function"].get("arguments", "")
        index = call.get("index", number)
        yield {**call, "function": {**call["function"], "arguments": ""}, "index": index}
        for at in range(0, len(arguments), size):
            function = {"arguments": arguments[at : at + size]}
            yield {"function": function, "type": "function", "index": index}


@CHUNKS.entry(
    "JSON is written in ASCII: all other characters as `\\u` escapes.", READ, on="text beyond ASCII"
)
def escaped(draft: Draft, values: Values, draws: Draws) -> Draft:
    if not draft.streamed:
        return (
            draft if draft.value is None else replace(draft, body=json.dumps(draft.value).encode())
        )
    return _each(draft, lambda e, _: e if e.value is None else replace(e, data=json.dumps(e.value)))


# ---------------------------------------------------------------------- HTTP


@HTTP.entry("The answer is one of HTTP/1.0; its body ends where the connection does.", READ)
def http_1_0(draft: Draft, values: Values, draws: Draws) -> Draft:
    return replace(draft, version="HTTP/1.0", framing="close")


@HTTP.entry("The body ends where the connection does, in HTTP/1.1 too.", READ)
def close_delimited(draft: Draft, values: Values, draws: Draws) -> Draft:
    return replace(draft, framing="close")


@HTTP.entry("The length of the body is said before it, for streams too.", READ)
def known_length(draft: Draft, values: Values, draws: Draws) -> Draft:
    return replace(draft, framing="length")


@HTTP.entry("Header names are in capitals.", READ)
def loud_headers(draft: Draft, values: Values, draws: Draws) -> Draft:
    return replace(draft, headers=tuple((name.upper(), value) for name, value in draft.headers))


DELIVERIES = Catalogue(
    "delivery",
    "deliveries",
    [entry for shelf in (WRITES, LINES, FIELDS, CHUNKS, HTTP) for entry in shelf.entries],
)

# Where each event stays a write of its own. Elsewhere what may go at the same time goes together,
# and is cut from there.
APART = "one_write_an_event"
