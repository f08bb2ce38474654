"""From the bytes of a body to what they mean: content coding, charset, JSON, event streams.

Everything that is wrong on the way is told, and as much as can be read is read all the same, so
that one fault does not hide the others.
"""

import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from wafermock.spec.media_type import charset, essence

from .event_stream import BOM, MEDIA_TYPE, Event, parse
from .exchange import Arrival, Decoded, Exchange, Received

DONE = "[DONE]"

# A body is not unpacked to more than this: a small one can hold gigabytes of zeros.
MOST = 8 * 2**20

# What is nested deeper is not read (RFC 8259, section 9, leaves such a bound to a parser): rules
# walk through values by recursion.
DEEPEST = 100

FaultKind = Literal[
    "coding",  # Content-Encoding says something that the bytes are not, or nobody can read
    "coding unsaid",  # the bytes are gzip, and Content-Encoding does not say so
    "too large",  # unpacked, the body is larger than MOST
    "charset",  # the media type says another charset than UTF-8
    "UTF-8",  # a whole answer's body is not UTF-8 (for streams: see their own faults)
    "BOM",  # a whole answer's JSON begins with a byte order mark
    "JSON",  # no JSON at all
    "junk behind JSON",  # one JSON text, and something behind it: read as no JSON
    "NaN",  # NaN, Infinity or -Infinity, which JSON does not have; read as Python reads it
    "key twice",  # a key that stands twice in an object; the last one is read
    "surrogate",  # half a surrogate pair, escaped: no character; read as U+FFFD
    "too deep",  # nested deeper than can be read
]


class Fault(str):
    """A sentence of what is wrong, its `kind`, and `where` it is: `body` or `chunk 3` (from 0)."""

    kind: FaultKind
    where: str
    __slots__ = ("kind", "where")

    def __new__(cls, kind: FaultKind, sentence: str, where: str = "body") -> "Fault":
        fault = super().__new__(cls, sentence if where == "body" else f"{where}: {sentence}")
        fault.kind = kind
        fault.where = where
        return fault

    def __getnewargs__(self) -> tuple[FaultKind, str, str]:  # type: ignore[override]
        """Copies are made of what it was made of."""
        return (self.kind, self.removeprefix(f"{self.where}: "), self.where)


@dataclass(frozen=True)
class Unreadable:
    """What stands in `Decoded.chunks` for the data of an event that are no JSON."""

    text: str
    why: str


def decode(received: Received) -> Decoded:
    """Decode an answer. Raises nothing, whatever the bytes are: see `Decoded.faults`, each of
    which is a `Fault`."""
    faults: list[Fault] = []
    arrivals = _uncoded(received, faults)
    body = b"".join(arrival.data for arrival in arrivals)
    media_type, charset = content_type(received)
    if charset is not None and charset.lower() not in ("utf-8", "utf8"):
        faults.append(Fault("charset", f"the media type says charset={charset}"))
    if media_type == MEDIA_TYPE or _looks_like_events(body):
        stream = parse(arrivals, whole=received.ended == "complete")
        data = [event.data for event in stream.events if event.data != DONE]
        chunks = tuple(_chunk(text, number, faults) for number, text in enumerate(data))
        return Decoded(media_type, body, stream=stream, chunks=chunks, faults=tuple(faults))
    value, is_json = _whole(body, media_type, faults)
    return Decoded(media_type, body, value, is_json, faults=tuple(faults))


def content_type(received: Received) -> tuple[str, str | None]:
    """Return media type and charset, in lower case, of an answer (RFC 9110, section 8.3.1); of the
    first Content-Type if there are several, and an empty media type if there is none."""
    named = next((v for name, v in received.headers if name.lower() == "content-type"), "")
    return essence(named), charset(named)


def data_of(decoded: Decoded) -> Iterator[tuple[Event, Any]]:
    """Yield each event of a stream with the value of its data: a JSON value, `Unreadable`, or the
    text `[DONE]` as `DONE` itself."""
    chunks = iter(decoded.chunks)
    for event in decoded.stream.events if decoded.stream else ():
        yield event, DONE if event.data == DONE else next(chunks)


def came_whole(exchange: Exchange) -> bool:
    """Say whether a body came to its end: what is missing then, the server left out."""
    cut = ("coding", "too large")
    return (
        exchange.received is not None
        and exchange.received.ended == "complete"
        and not any(isinstance(f, Fault) and f.kind in cut for f in exchange.answer.faults)
    )


# ---------------------------------------------------------------------- content coding


def _uncoded(received: Received, faults: list[Fault]) -> Sequence[Arrival]:
    """Take away the content codings, the last one first; keep the bytes where that fails."""
    named = [c.strip().lower() for c in (received.header("content-encoding") or "").split(",")]
    codings = [coding for coding in named if coding not in ("", "identity")]
    arrivals: Sequence[Arrival] = received.arrivals
    if not codings and received.raw[:3] == b"\x1f\x8b\x08":
        faults.append(Fault("coding unsaid", "the body is gzip, and no Content-Encoding says so"))
        return _unpacked("gzip", arrivals, faults) or arrivals
    for coding in reversed(codings):
        if coding not in _FORMATS:
            faults.append(Fault("coding", f"Content-Encoding {coding!r} is not known here"))
            break
        unpacked = _unpacked(coding, arrivals, faults)
        if unpacked is None:
            break
        arrivals = unpacked
    return arrivals


# zlib's window bits: 31 is gzip, 15 is zlib (which HTTP calls deflate; RFC 9110, section 8.4.1.2).
_FORMATS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


def _unpacked(
    coding: str, arrivals: Sequence[Arrival], faults: list[Fault]
) -> list[Arrival] | None:
    """Unpack arrival by arrival; None where not even the first bytes are of the coding."""
    unpacker = zlib.decompressobj(_FORMATS[coding])
    unpacked: list[Arrival] = []
    left = MOST
    begun = False
    for arrival in arrivals:
        data = arrival.data
        pieces: list[bytes] = []
        while data:
            if unpacker.eof:
                if coding == "deflate" or not b"\x1f\x8b".startswith(data[:2]):
                    faults.append(Fault("coding", f"{len(data)} bytes stand behind the {coding}"))
                    return [*unpacked, Arrival(arrival.at, b"".join(pieces))]
                unpacker = zlib.decompressobj(_FORMATS[coding])  # gzip may have several members
            try:
                piece = unpacker.decompress(data, left)
            except zlib.error as error:
                faults.append(Fault("coding", f"the body is not {coding}: {_plain(error)}"))
                partial = [*unpacked, Arrival(arrival.at, b"".join(pieces))]
                return partial if begun else None
            begun = begun or bool(piece)
            pieces.append(piece)
            left -= len(piece)
            if left <= 0:
                faults.append(Fault("too large", f"unpacked, the body is over {MOST} bytes"))
                return [*unpacked, Arrival(arrival.at, b"".join(pieces))]
            data = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
        unpacked.append(Arrival(arrival.at, b"".join(pieces)))
    if any(arrival.data for arrival in arrivals) and not unpacker.eof:
        faults.append(Fault("coding", f"the {coding} is cut: its end is missing"))
    return unpacked


def _plain(error: zlib.error) -> str:
    return str(error).rpartition(": ")[2]


# ---------------------------------------------------------------------- whole answers


_EVENTS = re.compile(rb"(?:data|event|id|retry)?:|data\r?\n")


def _looks_like_events(body: bytes) -> bool:
    """Say whether a body, whatever it is called, begins as an event stream does."""
    return _EVENTS.match(body.removeprefix(BOM)) is not None


def _whole(body: bytes, media_type: str, faults: list[Fault]) -> tuple[Any, bool]:
    called = media_type == "application/json" or media_type.endswith("+json")
    if not body or not (called or body.lstrip(b" \t\r\n\xef\xbb\xbf")[:1] in (b"{", b"[")):
        return None, False
    if body.startswith(BOM):
        faults.append(Fault("BOM", "the JSON begins with a byte order mark"))
        body = body[len(BOM) :]
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        bad = body[error.start : error.end].hex(" ")
        faults.append(Fault("UTF-8", f"byte {error.start} ({bad}) is not UTF-8"))
        text = body.decode("utf-8", "replace")
    value = read_json(text, lambda kind, sentence: faults.append(Fault(kind, sentence)))
    return (None, False) if isinstance(value, Unreadable) else (value, True)


def _chunk(text: str, number: int, faults: list[Fault]) -> Any:
    where = f"chunk {number}"
    return read_json(text, lambda kind, sentence: faults.append(Fault(kind, sentence, where)))


# ---------------------------------------------------------------------- JSON

Tell = Callable[[FaultKind, str], object]

_WHITE = " \t\n\r"  # RFC 8259, section 2; Python's own idea of white space is wider
# Half a pair can only come by an escape: UTF-8 has no bytes for it.
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Odd(ValueError):
    """There is something to tell."""


def _all_different(found: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(found)
    if len(value) != len(found):
        raise _Odd
    return value


def _refused(name: str) -> float:
    raise _Odd


# Made once, for what is good JSON; only for the rest is a decoder made that knows what to tell.
_GOOD = json.JSONDecoder(object_pairs_hook=_all_different, parse_constant=_refused)


def read_json(text: str, tell: Tell) -> Any:
    """Read one JSON text (RFC 8259) and `tell` what is wrong with it. Returns `Unreadable` for
    what is no JSON text. Infinity may still come of a number too large (`1e999`)."""
    start = len(text) - len(text.lstrip(_WHITE))
    try:
        value, end = _GOOD.raw_decode(text, start)
    except (ValueError, RecursionError):
        found = _told(text, start, tell)
        if isinstance(found, Unreadable):
            return found
        value, end = found
    rest = text[end:].strip(_WHITE)
    if rest:
        return _unreadable(text, "junk behind JSON", f"{_shown(rest)} stands behind the JSON", tell)
    if text.count("[") + text.count("{") > DEEPEST and _is_deep(value):
        return _unreadable(text, "too deep", "it is nested too deeply", tell)
    if _ESCAPED_SURROGATE.search(text) and (half := _half(value)) is not None:
        tell("surrogate", f"{_shown(half)} holds half of a surrogate pair")
        return _whole_characters(value)
    return value


def _told(text: str, start: int, tell: Tell) -> tuple[Any, int] | Unreadable:
    """Read JSON that is odd or none, and tell each kind of oddity once."""
    odd: dict[FaultKind, str] = {}

    def constant(name: str) -> float:
        odd.setdefault("NaN", f"{name} is no number of JSON")
        return float(name)

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(found)
        if len(value) != len(found):
            counted = Counter(name for name, _ in found)
            twice = counted.most_common(1)[0][0]
            odd.setdefault("key twice", f"the key {_shown(twice)} stands twice in an object")
        return value

    def read(**more: Any) -> tuple[Any, int]:
        decoder = json.JSONDecoder(object_pairs_hook=pairs, parse_constant=constant, **more)
        return decoder.raw_decode(text, start)

    try:
        try:
            found = read()
        except json.JSONDecodeError:
            raise
        except ValueError:  # Python reads no integer of more than 4300 digits
            found = read(parse_int=float)
    except json.JSONDecodeError as error:
        why = f"{error.msg} at character {error.pos}" if text.strip(_WHITE) else "it is empty"
        return _unreadable(text, "JSON", why, tell)
    except RecursionError:
        return _unreadable(text, "too deep", "it is nested too deeply", tell)
    for kind, sentence in odd.items():
        tell(kind, sentence)
    return found


def _unreadable(text: str, kind: FaultKind, why: str, tell: Tell) -> Unreadable:
    tell(kind, why)
    return Unreadable(text, why)


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return any(isinstance(item, dict | list) for item in level)


def _half(value: Any) -> str | None:
    """Return a text in a JSON value that holds half of a surrogate pair."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            if _SURROGATE.search(item):
                return item
        elif isinstance(item, dict):
            waiting += [*item, *item.values()]
        elif isinstance(item, list):
            waiting += item
    return None


def _whole_characters(value: Any) -> Any:
    """Put U+FFFD for every half of a surrogate pair: nothing can encode one."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_whole_characters(k): _whole_characters(item) for k, item in value.items()}
    return [_whole_characters(item) for item in value] if isinstance(value, list) else value


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 40 else f"{text[:40]}…")
