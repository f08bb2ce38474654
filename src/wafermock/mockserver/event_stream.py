"""Framing: JSON values as a WHATWG event stream, as the API writes it, and where events end."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

CONTENT_TYPE = "text/event-stream; charset=utf-8"
DONE = b"data: [DONE]\n\n"

# WHATWG HTML, section 9.2.5: these end a line, and no other sign does.
_END_OF_LINE = re.compile("\r\n|\n|\r")
# Section 9.2.6: an event is over with a blank line. A return with its line feed ends one line.
_END_OF_EVENT = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")


# Made once: `json.dumps` makes an encoder for every call that asks for another form.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def encode_json(value: Any) -> bytes:
    """Write JSON the way the API does: compact, UTF-8, keys in the order given."""
    return _ENCODER.encode(value).encode()


def frame(chunks: Iterable[Any]) -> tuple[bytes, ...]:
    """Write each chunk as one event, `data: {json}` and a blank line, and `[DONE]` at the end."""
    return (*(b"data: " + encode_json(chunk) + b"\n\n" for chunk in chunks), DONE)


def frame_events(events: Iterable[Any]) -> tuple[bytes, ...]:
    """Write events given as objects with `data` (and `event`, `id`, `retry`), one part each.

    Anything else is the JSON of an event's data, and so is `data` that is no text. Lines are split
    as WHATWG event streams want it.
    """
    parts = []
    for event in events:
        fields = event if isinstance(event, dict) and "data" in event else None
        if fields is None:
            parts.append(b"data: " + encode_json(event) + b"\n\n")
            continue
        lines = [
            f"{name}: {line}"
            for name in ("event", "id", "retry", "data")
            if name in fields
            for line in _END_OF_LINE.split(_text(fields[name]))
        ]
        parts.append("\n".join([*lines, "\n"]).encode())
    return tuple(parts)


def event_ends(data: bytes) -> Iterator[int]:
    """Yield where events end in the bytes of a stream: behind the blank line of each, whichever
    way its lines end."""
    for found in _END_OF_EVENT.finditer(data):
        yield found.end()


def split_events(data: bytes) -> Iterator[bytes]:
    """Cut a stream behind each event. Joined, the parts are the stream: what no blank line ends
    comes last."""
    start = 0
    for end in event_ends(data):
        yield data[start:end]
        start = end
    if start < len(data):
        yield data[start:]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else encode_json(value).decode()
