"""FRAMING: whether an answer is a stream, and what lines, fields and data it is made of."""

import re
from collections.abc import Iterator

from ..decoded import content_type
from ..event_stream import MEDIA_TYPE, read_carelessly
from ..exchange import Exchange
from ..rule import Bench, Breach
from .framed import (
    BOOK,
    CONTRACT,
    GRAMMAR,
    OBSERVED,
    READING,
    REGISTERED,
    STREAM,
    asked_for_stream,
    asked_for_whole,
    data_in,
    ended,
    first_fault,
    json_of,
    misspelt,
    received_by,
    several,
    short,
    stream_of,
    streamed,
    unreadable,
)

# ---------------------------------------------------------------------- stream or not


@BOOK.rule(
    "STREAM-ASKED",
    "MUST",
    "`stream: true` is answered with an event stream.",
    source=CONTRACT,
    guards="A client that reads events waits for them, and finds an answer without words.",
    applies=asked_for_stream,
    needs="an accepted request with `stream: true`",
)
def stream_asked(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    if not exchange.answer.is_stream:
        media_type = exchange.answer.media_type or "no media type"
        yield Breach("an event stream", f"{media_type}, and no events")


@BOOK.rule(
    "STREAM-UNASKED",
    "MUST",
    "Without `stream: true` the answer is no event stream.",
    source="#/paths/~1v1~1chat~1completions/post/responses/200/content/application~1json",
    guards="A client that reads JSON fails at the first `data:`.",
    applies=asked_for_whole,
    needs="an accepted request without `stream: true`",
)
def stream_unasked(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    if exchange.answer.is_stream:
        yield Breach("one JSON text", "an event stream")


@BOOK.rule(
    "STREAM-MEDIA-TYPE",
    "MUST",
    "The media type of a stream is text/event-stream.",
    source=CONTRACT,
    guards="Clients choose by the media type whether they read events, JSON, or refuse the answer.",
    applies=streamed,
    needs=STREAM,
)
def stream_media_type(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    media_type = exchange.answer.media_type
    if media_type != MEDIA_TYPE:
        yield Breach(MEDIA_TYPE, media_type or "no Content-Type", "header Content-Type")


@BOOK.rule(
    "STREAM-CHARSET",
    "MUST",
    "A stream is called UTF-8, or its charset is not named.",
    source=REGISTERED,
    guards="A client that believes the charset reads rubbish beyond ASCII.",
    applies=streamed,
    needs=STREAM,
)
def stream_charset(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    _, charset = content_type(received_by(exchange))
    if charset is not None and charset.lower() != "utf-8":
        yield Breach("charset=utf-8", f"charset={charset}", "header Content-Type")


@BOOK.rule(
    "STREAM-EVENTS",
    "MUST",
    "A stream holds at least one event that is a chunk or an error.",
    source=CONTRACT,
    guards="A client ends without words and without an error, and takes the answer for empty.",
    applies=ended,
    needs=STREAM,
)
def stream_events(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    if not exchange.answer.chunks:
        size = len(exchange.answer.text)
        yield Breach("an event with data", f"none in {size} bytes")


# ---------------------------------------------------------------------- bytes and lines


@BOOK.rule(
    "STREAM-UTF8",
    "MUST",
    "A stream is UTF-8.",
    source=GRAMMAR,
    guards="A strict decoder ends the stream with an exception; a lenient one shows U+FFFD.",
    applies=streamed,
    needs=STREAM,
)
def stream_utf8(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    yield from first_fault(exchange, "UTF-8", "invalid UTF-8")


@BOOK.rule(
    "STREAM-LINE-ENDS",
    "MUST",
    "Lines end with CR, LF or both, and with no other sign.",
    source=GRAMMAR,
    guards="A client sees one line without an end, and no event at all.",
    applies=streamed,
    needs=STREAM,
)
def stream_line_ends(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    # Within JSON these signs are only characters: what is good JSON is not looked at.
    bad = [(event, value.text) for event, value in data_in(exchange) if unreadable(value)]
    pending = stream_of(exchange).pending
    if pending is not None and unreadable(json_of(pending.data)):
        bad.append((pending, pending.data))
    for event, text in bad:
        if sign := _OTHER_END.search(text):
            name = f"U+{ord(sign.group()[0]):04X}"
            yield Breach("CR, LF or CR LF at the end of a line", name, f"byte {event.start}")
            return


# Signs that end lines elsewhere (Unicode, section 5.8), where a field or nothing follows.
_OTHER_END = re.compile(
    r"[\v\f\x1c-\x1e\x85\u2028\u2029](?=[\v\f\x1c-\x1e\x85\u2028\u2029]|data:|$)"
)


@BOOK.rule(
    "STREAM-ONE-LINE-END",
    "SHOULD",
    "All lines of a stream end alike.",
    source=OBSERVED,
    guards="A client that looks for `\\n\\n` or `\\r\\n\\r\\n`, as the first was, misses events.",
    applies=streamed,
    needs=STREAM,
)
def stream_one_line_end(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    yield from first_fault(exchange, "one kind of line end", "mixed line ends")


@BOOK.rule(
    "STREAM-BOM",
    "SHOULD",
    "No byte order mark leads a stream.",
    source=OBSERVED,
    guards="The official SDKs lose the first event, and tell nobody.",
    applies=streamed,
    needs=STREAM,
)
def stream_bom(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    yield from first_fault(exchange, "no byte order mark", "BOM at the start")


@BOOK.rule(
    "STREAM-BOM-INSIDE",
    "MUST",
    "A byte order mark stands at the start of a stream, if anywhere.",
    source=READING,
    guards="It becomes part of a field's name, which nobody knows: the event is lost.",
    applies=streamed,
    needs=STREAM,
)
def stream_bom_inside(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    yield from first_fault(exchange, "no byte order mark inside", "BOM inside")


# ---------------------------------------------------------------------- events and fields


@BOOK.rule(
    "STREAM-CLOSED",
    "MUST",
    "A blank line closes the last event.",
    source=READING,
    guards="What no blank line closes is thrown away: the official SDKs lose it without an error.",
    applies=ended,
    needs=STREAM,
)
def stream_closed(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    yield from first_fault(exchange, "a blank line at the end", "unclosed")


@BOOK.rule(
    "STREAM-BLANK-LINE",
    "MUST",
    "A blank line stands between two events.",
    source=READING,
    guards="Two events become one, whose data are no JSON.",
    applies=streamed,
    needs=STREAM,
)
def stream_blank_line(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    for number, (event, value) in enumerate(data_in(exchange)):
        if unreadable(value) and several(event.data):
            yield Breach("one JSON text in an event", "one on each line", f"event {number}")
            return


@BOOK.rule(
    "STREAM-JUNK",
    "MUST",
    "No line stands in a stream that is neither a field nor a comment.",
    source=f"{CONTRACT}/itemSchema",
    guards="Clients that read line by line take it for data, or for the end.",
    applies=streamed,
    needs=STREAM,
)
def stream_junk(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    yield from first_fault(exchange, "fields and comments", "junk")


@BOOK.rule(
    "STREAM-DATA",
    "SHOULD",
    "Every event has data.",
    source=f"{CONTRACT}/itemSchema",
    guards="An event without data is none: what it was to say is not heard.",
    applies=streamed,
    needs=STREAM,
)
def stream_data(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    yield from first_fault(exchange, "data in every event", "no data")


@BOOK.rule(
    "STREAM-NAMES",
    "SHOULD",
    "Events have no names.",
    source=f"{CONTRACT}/itemSchema",
    guards="The official SDK gives named events another form: chunks without words.",
    applies=streamed,
    needs=STREAM,
)
def stream_names(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    yield from first_fault(exchange, "no field `event`", "event")


@BOOK.rule(
    "STREAM-FIELDS",
    "MAY",
    "Events have data and no other fields.",
    source=f"{CONTRACT}/itemSchema",
    guards="A client that takes every line for data reads `id` or `retry` as JSON.",
    applies=streamed,
    needs=STREAM,
)
def stream_fields(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    yield from first_fault(exchange, "data alone", "id", "retry", "unknown field")


@BOOK.rule(
    "STREAM-FIELD-VALUES",
    "SHOULD",
    "`retry` is digits, `id` is without U+0000.",
    source=READING,
    guards="The field is ignored: a client connects anew at the wrong time, or reads twice.",
    applies=streamed,
    needs=STREAM,
)
def stream_field_values(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    yield from first_fault(exchange, "digits; no U+0000", "bad retry", "bad id")


@BOOK.rule(
    "STREAM-JSON",
    "MUST",
    "The data of every event but `[DONE]` are one JSON text.",
    source=f"{CONTRACT}/itemSchema",
    guards="The client's JSON parser raises in the middle of an answer.",
    applies=streamed,
    needs=STREAM,
)
def stream_json(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    for number, (event, value) in enumerate(data_in(exchange)):
        if unreadable(value) and not misspelt(event.data) and not several(event.data):
            shown = f"{value.why}: {short(value.text)}" if value.text else value.why
            yield Breach("one JSON text", shown, f"event {number}")
            return


@BOOK.rule(
    "STREAM-PARSERS",
    "SHOULD",
    "A parser by the standard and one that goes by lines with `data:` read the same.",
    source=OBSERVED,
    guards="Many clients go by lines: they read other words than those who keep the standard.",
    applies=ended,
    needs=STREAM,
)
def stream_parsers(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    strict = [event.data.strip() for event in stream_of(exchange).events]
    careless = read_carelessly(exchange.answer.text)
    if strict == list(careless):
        return
    pairs = zip(strict, careless, strict=False)
    at = next((at for at, (one, other) in enumerate(pairs) if one != other), None)
    if at is None:
        yield Breach(f"{len(strict)} data", f"{len(careless)}, by lines alone")
    else:
        yield Breach(short(strict[at]), f"{short(careless[at])}, by lines alone", f"event {at}")
