"""What the rules of FRAMING look at: which answers, and what stands in them."""

import re
from collections.abc import Iterator
from typing import Any

from ..decoded import DONE, Unreadable, came_whole, data_of, read_json
from ..event_stream import Event, Kind, Stream
from ..exchange import Exchange, Received
from ..once import once
from ..rule import Breach, RuleBook

BOOK = RuleBook("FRAMING")

CONTRACT = "#/paths/~1v1~1chat~1completions/post/responses/200/content/text~1event-stream"
GRAMMAR = "WHATWG HTML, section 9.2.5"
READING = "WHATWG HTML, section 9.2.6"
REGISTERED = "WHATWG HTML, IANA considerations, text/event-stream"
OBSERVED = "observed traffic, 2026"

STREAM = "an answer that is an event stream"


def streamed(exchange: Exchange) -> bool:
    return exchange.accepted and exchange.answer.is_stream


def ended(exchange: Exchange) -> bool:
    """A stream that ended by itself: only then is what is missing at its end a fault of its own."""
    return streamed(exchange) and came_whole(exchange)


def done(exchange: Exchange) -> bool:
    return streamed(exchange) and bool(ends_in(exchange))


def asked_for_stream(exchange: Exchange) -> bool:
    return exchange.accepted and exchange.wants_stream and _may_stream(exchange)


def asked_for_whole(exchange: Exchange) -> bool:
    """A request without `stream: true`. What is no object has asked for nothing."""
    plain = isinstance(exchange.asked, dict) and not exchange.wants_stream
    return exchange.accepted and plain and _may_stream(exchange)


def _may_stream(exchange: Exchange) -> bool:
    return exchange.operation is not None and exchange.operation.streams


def bodied(exchange: Exchange) -> bool:
    """RFC 9110, section 6.4.1: these answers never have a body, whatever their head says."""
    received = exchange.received
    return (
        received is not None
        and exchange.sent.method != "HEAD"
        and received.status not in (204, 304)
        and received.ended != "left"
    )


def sized(exchange: Exchange) -> bool:
    """An answer whose head tells the length of its body, and nothing else about its end."""
    return bodied(exchange) and told_length(exchange) is not None


def unsized(exchange: Exchange) -> bool:
    return bodied(exchange) and told_length(exchange) is None


def told_length(exchange: Exchange) -> str | None:
    received = received_by(exchange)
    if received.header("transfer-encoding") is not None:
        return None
    return received.header("content-length")


def received_by(exchange: Exchange) -> Received:
    assert exchange.received is not None, "rules judge answers"
    return exchange.received


def stream_of(exchange: Exchange) -> Stream:
    stream: Stream = exchange.answer.stream
    return stream


@once
def data_in(exchange: Exchange) -> list[tuple[Event, Any]]:
    return list(data_of(exchange.answer))


@once
def ends_in(exchange: Exchange) -> list[int]:
    """The positions of the events that say `[DONE]`."""
    return [at for at, (event, _) in enumerate(data_in(exchange)) if event.data == DONE]


def first_fault(exchange: Exchange, expected: str, *kinds: Kind) -> Iterator[Breach]:
    """Tell of the first fault of some kinds, and of how many there are."""
    found = stream_of(exchange).faulty(*kinds)
    if found:
        first = found[0]
        times = f" ({len(found)} times)" if len(found) > 1 else ""
        text = f": {first.text!r}" if first.text else ""
        yield Breach(
            expected, f"{first.kind}{text}{times}", f"event {first.event}, byte {first.at}"
        )


def unreadable(value: Any) -> bool:
    return isinstance(value, Unreadable)


def json_of(text: str) -> Any:
    return read_json(text, lambda kind, sentence: None)


def misspelt(data: str) -> bool:
    """Whether data mean `[DONE]`, and are written otherwise."""
    return data != DONE and len(data) < 20 and bool(_DONE.fullmatch(data))


_DONE = re.compile(r"""\s*["']?\s*\[?\s*done\s*\]?\s*["']?\s*""", re.IGNORECASE)


def several(data: str) -> bool:
    """Whether each line of an event's data would be the data of an event of its own."""
    lines = data.split("\n")
    return len(lines) > 1 and all(ln == DONE or not unreadable(json_of(ln)) for ln in lines)


def ends_in_error(exchange: Exchange) -> bool:
    """Whether a stream tells of an error: it ends there."""
    last = exchange.answer.chunks[-1:]
    return any(isinstance(value, dict) and "choices" not in value for value in last)


def short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
