"""Whole answers of a script: a body, a file, or parts with their times."""

import base64
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from wafermock.spec.media_type import essence
from wafermock.spec.operation import SEQUENTIAL

from ..event_stream import CONTENT_TYPE as EVENT_STREAM
from ..event_stream import encode_json, split_events
from ..exchange import Answer

# The largest file that is taken for an answer, in bytes.
LARGEST_FILE = 64 * 1024 * 1024

# RFC 9110, sections 5.1 and 5.5.
_FIELD_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_FIELD_VALUE = re.compile(r"[\t -~\x80-\U0010ffff]*")
# What frames a body is the server's to say; what breaks it is a failure.
_FRAMING = frozenset({"connection", "content-length", "transfer-encoding", "trailer", "upgrade"})

_TYPES = {
    ".json": "application/json",
    ".sse": EVENT_STREAM,
    ".html": "text/html; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}

Fault = Callable[[str, tuple[Any, ...]], None]


def read_whole(value: Mapping[str, Any], folder: Path, fault: Fault) -> Answer | None:
    """Make the answer of a reply with `body`, `file` or `parts`; None where it has none of them.

    `fault(sentence, place)` is told of what cannot be used.
    """
    headers = read_headers(value.get("headers", {}), fault)
    status = value.get("status", 200)
    if "parts" in value:
        parts, offsets = _parts(value["parts"], fault)
        headers.setdefault("content-type", _guessed(b"".join(parts)))
        streamed = _is_stream(headers)
        return Answer(status, headers, parts or (b"",), streamed, offsets if parts else None)
    if "file" in value:
        path = folder / value["file"]
        raw = _read(path, fault)
        known = _TYPES.get(path.suffix.lower())
    elif "body" in value:
        given = value["body"]
        raw = given.encode() if isinstance(given, str) else encode_json(given)
        known = None if isinstance(given, str) else "application/json"
    else:
        return None
    headers.setdefault("content-type", known or _guessed(raw))
    if not _is_stream(headers):
        return Answer(status, headers, (raw,))
    return Answer(status, headers, tuple(split_events(raw)) or (b"",), streamed=True)


def _read(path: Path, fault: Fault) -> bytes:
    try:
        if path.stat().st_size > LARGEST_FILE:
            fault(f"{path.name} is larger than {LARGEST_FILE} bytes", ("file",))
            return b""
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        fault(f"{path}: {reason}; the path is seen from the script's folder", ("file",))
        return b""


def read_headers(given: Mapping[str, str], fault: Fault) -> dict[str, str]:
    """Return headers by their names in lower case; tell which of them cannot be sent."""
    headers = {}
    for name, value in given.items():
        if not _FIELD_NAME.fullmatch(name):
            fault(f"{name!r} is no name of a header", ("headers", name))
        elif name.lower() in _FRAMING:
            fault(
                f"{name} is written by the server; what breaks the framing is a `failure`",
                ("headers", name),
            )
        elif not _FIELD_VALUE.fullmatch(value):
            fault("a header's value is one line of text", ("headers", name))
        headers[name.lower()] = value
    return headers


def _parts(
    given: list[dict[str, Any]], fault: Fault
) -> tuple[tuple[bytes, ...], tuple[float, ...] | None]:
    parts: list[bytes] = []
    offsets: list[float] = []
    for at, part in enumerate(given):
        if ("text" in part) == ("base64" in part):
            fault("a part has either `text` or `base64`", ("parts", at))
        try:
            raw = base64.b64decode(part.get("base64", ""), validate=True)
        except ValueError:
            fault("not Base64", ("parts", at, "base64"))
            raw = b""
        parts.append(raw or part.get("text", "").encode())
        before = offsets[-1] if offsets else 0.0
        offset = float(part.get("at", before))
        if offset < before:
            fault(f"it goes before the part before it ({before:g} s)", ("parts", at, "at"))
        offsets.append(offset)
    timed = any("at" in part for part in given)
    return tuple(parts), tuple(offsets) if timed else None


def _guessed(raw: bytes) -> str:
    """Guess the content type of a body."""
    start = raw.lstrip()[:16]
    if start.startswith((b"data:", b"event:", b"id:", b"retry:", b":")):
        return EVENT_STREAM
    if start.startswith(b"<"):
        return _TYPES[".html"]
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return _TYPES[".txt"]
    return _TYPES[".json"]


def _is_stream(headers: Mapping[str, str]) -> bool:
    return essence(headers["content-type"]) == SEQUENTIAL
