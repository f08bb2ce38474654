"""Framing: JSON values as a WHATWG event stream, the way the API writes it."""

import json
import re
from collections.abc import Iterable
from typing import Any

CONTENT_TYPE = "text/event-stream; charset=utf-8"
DONE = b"data: [DONE]\n\n"

# WHATWG HTML, section 9.2.5: these end a line, and no other sign does.
_END_OF_LINE = re.compile("\r\n|\n|\r")


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


def _text(value: Any) -> str:
    return value if isinstance(value, str) else encode_json(value).decode()
