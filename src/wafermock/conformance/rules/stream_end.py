"""FRAMING: how a stream ends, when its events come, and how a body ends."""

from collections.abc import Iterator

from ..assembly import is_chunk
from ..decoded import DONE
from ..exchange import Exchange
from ..rule import Bench, Breach
from .framed import (
    BOOK,
    CONTRACT,
    OBSERVED,
    STREAM,
    data_in,
    done,
    ended,
    ends_in,
    ends_in_error,
    misspelt,
    received_by,
    short,
    sized,
    stream_of,
    streamed,
    told_length,
    unsized,
)

# Seconds. A body that ends so long behind `[DONE]` keeps a client waiting for nothing.
LINGERS = 1.0
# Seconds. A stream that is held back for less may only have been slow to come.
HELD = 0.5
# A stream of fewer chunks may well come at once.
MANY = 10

# ---------------------------------------------------------------------- the end of a stream


@BOOK.rule(
    "STREAM-DONE",
    "SHOULD",
    "`[DONE]` ends a stream.",
    source=OBSERVED,
    guards="A client cannot tell an answer that ended from one that a proxy cut off.",
    applies=lambda exchange: ended(exchange) and not ends_in_error(exchange),
    needs="a stream that ended by itself, without an error",
)
def stream_done(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    data = data_in(exchange)
    pending = stream_of(exchange).pending
    if ends_in(exchange) or any(misspelt(event.data) for event, _ in data):
        return
    if pending is None or pending.data != DONE:  # told by STREAM-CLOSED
        yield Breach("`data: [DONE]`", short(data[-1][0].data) if data else "nothing")


@BOOK.rule(
    "STREAM-DONE-SPELT",
    "MUST",
    "The end is spelt `[DONE]`: in capitals, without quotation marks.",
    source=f"{CONTRACT}/itemSchema",
    guards="A client compares the text, and parses anything else as JSON.",
    applies=streamed,
    needs=STREAM,
)
def stream_done_spelt(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    for number, (event, _) in enumerate(data_in(exchange)):
        if misspelt(event.data):
            yield Breach(DONE, short(event.data), f"event {number}")
            return


@BOOK.rule(
    "STREAM-DONE-ONCE",
    "MUST",
    "`[DONE]` comes once.",
    source=f"{CONTRACT}/itemSchema",
    guards="The second one is left in the connection, or parsed as JSON.",
    applies=done,
    needs="a stream with `[DONE]`",
)
def stream_done_once(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    ends = ends_in(exchange)
    if len(ends) > 1:
        yield Breach("one `[DONE]`", f"{len(ends)}", f"event {ends[1]}")


@BOOK.rule(
    "STREAM-DONE-LAST",
    "MUST",
    "Nothing comes behind `[DONE]`.",
    source=f"{CONTRACT}/itemSchema",
    guards="Clients stop reading at `[DONE]`: what comes behind it is lost.",
    applies=done,
    needs="a stream with `[DONE]`",
)
def stream_done_last(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    stream, data = stream_of(exchange), data_in(exchange)
    first = ends_in(exchange)[0]
    behind = [(at, event) for at, (event, value) in enumerate(data) if at > first]
    for at, event in behind:
        if event.data != DONE:
            yield Breach("the end of the body", short(event.data), f"event {at}")
            return
    end = data[first][0].end
    for fault in stream.faulty("junk", "unknown field", "no data", "unclosed"):
        if fault.at >= end:
            yield Breach("the end of the body", short(fault.text), f"byte {fault.at}")
            return


@BOOK.rule(
    "STREAM-END",
    "MUST",
    "The body ends right behind `[DONE]`.",
    source=CONTRACT,
    guards="A client that reads to the end of the body hangs, though it has all of the answer.",
    applies=done,
    needs="a stream with `[DONE]`",
)
def stream_end(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    received = received_by(exchange)
    expected = "the end of the body behind `[DONE]`"
    lingered = received.seconds - data_in(exchange)[ends_in(exchange)[0]][0].at
    if received.ended in ("timeout", "overlong"):
        yield Breach(expected, f"no end: {received.ended}")
    elif received.ended == "complete" and lingered > LINGERS:
        # That is slow, but an end: a network may be slow as well.
        yield Breach(expected, f"an end {lingered:.1f} s later", state="WARN")


@BOOK.rule(
    "STREAM-PACE",
    "MAY",
    "Events come as they are made: the stream is not held back and sent at once.",
    source=OBSERVED,
    guards="A user sees nothing for the whole time, as without a stream; a proxy that buffers.",
    applies=lambda exchange: ended(exchange) and len(exchange.answer.chunks) >= MANY,
    needs=f"a stream of {MANY} chunks or more",
)
def stream_pace(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    events = stream_of(exchange).events
    held = events[0].at - _time_before_words(exchange)
    spread = events[-1].at - events[0].at
    if held >= HELD and spread <= held / 10:
        actual = (
            f"{len(events)} events within {spread:.3f} s, after {events[0].at:.3f} s of silence"
        )
        yield Breach("events spread over the time of the answer", actual)


def _time_before_words(exchange: Exchange) -> float:
    """What the server itself says it took before the first token: queue and prompt, seconds."""
    for chunk in reversed(exchange.answer.chunks):
        told = chunk.get("time_info") if is_chunk(chunk) else None
        if isinstance(told, dict):
            times = [told.get(name) for name in ("queue_time", "prompt_time")]
            return sum(t for t in times if isinstance(t, int | float) and 0 <= t < 1e6)
    return 0.0


# ---------------------------------------------------------------------- the end of a body


@BOOK.rule(
    "BODY-LENGTH",
    "MUST",
    "A body is as long as its Content-Length says, and its head is one of HTTP.",
    source="RFC 9112, sections 2 to 6",
    guards="A client waits for bytes that never come, or takes the rest for the next answer.",
    applies=sized,
    needs="an answer with Content-Length",
)
def body_length(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    received, said = received_by(exchange), told_length(exchange) or ""
    size = len(received.raw)
    if received.ended == "cut":
        why = f"; {received.framing_fault}" if received.framing_fault else ""
        yield Breach(f"{said} bytes", f"{size} bytes{why}", "header Content-Length")
    elif received.framing_fault:
        yield Breach("a message framed by RFC 9112", received.framing_fault)
    elif received.ended == "complete" and said.strip() != str(size):
        yield Breach(f"{size} bytes", f"Content-Length {short(said)}", "header Content-Length")


@BOOK.rule(
    "BODY-END",
    "MUST",
    "A body ends as the framing of HTTP says: with the last chunk, not with the connection.",
    source="RFC 9112, sections 6.3, 7.1 and 8",
    guards="A client cannot tell a whole answer from one that is cut off; SDKs raise an error.",
    applies=unsized,
    needs="an answer without Content-Length",
)
def body_end(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
    received = received_by(exchange)
    if received.framing_fault:
        yield Breach("a body framed by RFC 9112", received.framing_fault)
    elif received.ended == "cut":
        yield Breach("the end of the body", f"the connection ended after {len(received.raw)} bytes")
