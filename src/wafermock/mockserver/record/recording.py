"""One exchange as the recorder saw it, and what of its answer is worth keeping."""

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from wafermock.spec.media_type import essence

from ..event_stream import event_ends
from ..exchange import Request
from .redaction import Redactor

# What is inflated to be looked through, at most, in bytes.
MOST = 256 * 1024 * 1024


class Ending(Enum):
    """How an answer ended: whole, or with the connection reset, closed, or silent too long."""

    WHOLE = "whole"
    RESET = "reset"
    CLOSED = "closed"
    SILENT = "silent"


class Piece(Struct, frozen=True):
    """Bytes of a body that came together, and when: seconds after the request."""

    at: float
    data: bytes


class Recording(Struct, frozen=True):
    """A request and what the upstream answered.

    `status` is None where no head came whole; `head_bytes` is how much of it did. `ended_at` is in
    seconds after the request.
    """

    request: Request
    status: int | None
    headers: tuple[tuple[str, str], ...]
    pieces: tuple[Piece, ...]
    ending: Ending
    ended_at: float
    head_bytes: int = 0

    @property
    def content_type(self) -> str:
        return header(self.headers, "content-type")

    @property
    def content_encoding(self) -> str:
        return header(self.headers, "content-encoding").strip().lower()


class Unreadable(Exception):
    """A body that cannot be looked through for secrets, so that it must not be kept."""


# Headers that belong to one connection (RFC 9110, section 7.6.1), say how the body was framed, are
# another time another value, or are secrets as a whole.
NOT_KEPT = frozenset(
    {
        "age", "alt-svc", "cf-ray", "connection", "content-length", "date", "keep-alive", "nel",
        "proxy-authenticate", "proxy-connection", "report-to", "server", "set-cookie", "te",
        "trailer", "transfer-encoding", "upgrade", "via",
    }
)  # fmt: skip

# RFC 9110, section 5.5: other control characters are dangerous, and servers refuse to send them.
_FIELD_VALUE = re.compile(r"[\t -~\x80-\U0010ffff]*")

# Answers whose bytes are worth something as they come. All others are read when they are whole.
_TOLD_AS_THEY_COME = ("event-stream", "ndjson", "jsonl", "json-seq", "stream+json")


def is_streamed(content_type: str) -> bool:
    """Say whether an answer of this type is told as it comes."""
    return essence(content_type).endswith(_TOLD_AS_THEY_COME)


def header(headers: Iterable[tuple[str, str]], name: str) -> str:
    """Return a header by its name in lower case, values of several joined; '' without it."""
    return ", ".join(value for key, value in headers if key.lower() == name)


def kept_headers(headers: Iterable[tuple[str, str]], redactor: Redactor) -> dict[str, str]:
    """Return the headers that matter, names in lower case, without secrets.

    Those that come several times are joined (RFC 9110, section 5.3).
    """
    kept: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        if key not in NOT_KEPT and _FIELD_VALUE.fullmatch(value):
            # Bytes that are not UTF-8 came as lone surrogates, which no script can hold.
            value = value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            hidden = redactor.header(key, value)
            kept[key] = f"{kept[key]}, {hidden}" if key in kept else hidden
    return kept


def without_secrets(recording: Recording, redactor: Redactor) -> Recording:
    """Return a recording whose headers and body hold no secrets.

    A compressed body without secrets stays as it came; one with secrets is kept as it reads,
    without its coding. Raises Unreadable for a body that cannot be looked through.
    """
    headers = kept_headers(recording.headers, redactor)
    pieces = recording.pieces
    if recording.content_encoding not in ("", "identity"):
        whole = recording.ending is Ending.WHOLE
        read = list(inflated(pieces, recording.content_encoding, whole=whole))
        hidden = _hidden(read, recording.content_type, redactor)
        if hidden != read:
            del headers["content-encoding"]
            pieces = tuple(hidden)
    else:
        pieces = tuple(_hidden(pieces, recording.content_type, redactor))
    told = is_streamed(recording.content_type)
    pieces = tuple(recut(pieces) if told else in_one(pieces))
    return replace(recording, headers=tuple(headers.items()), pieces=pieces)


def _hidden(pieces: Sequence[Piece], content_type: str, redactor: Redactor) -> list[Piece]:
    datas = redactor.pieces([piece.data for piece in pieces], content_type)
    return [Piece(piece.at, data) for piece, data in zip(pieces, datas, strict=True)]


def can_read(coding: str) -> bool:
    """Say whether a content coding can be looked through."""
    return coding.strip().lower() in ("gzip", "x-gzip", "deflate", "identity", "")


def inflated(
    pieces: Iterable[Piece], content_encoding: str, *, whole: bool = True
) -> Iterator[Piece]:
    """Undo the compression of a body, piece by piece.

    Raises Unreadable for another coding than gzip and deflate (RFC 9110, section 8.4.1), for
    several, for data that is not what it says, and where a `whole` one ends early.
    """
    if not can_read(content_encoding):
        raise Unreadable(f"its coding {content_encoding!r} cannot be read")
    pieces = list(pieces)
    if not any(piece.data for piece in pieces):
        yield from pieces
        return
    wbits = 31 if "gzip" in content_encoding else _deflate_wbits(pieces)
    reader, left = zlib.decompressobj(wbits), MOST
    for piece in pieces:
        data, rest = b"", piece.data
        while rest:
            try:
                part = reader.decompress(rest, left + 1)
            except zlib.error:
                raise Unreadable(f"it is not {content_encoding} as it says") from None
            data += part
            left -= len(part)
            if left < 0:
                raise Unreadable(f"it inflates to more than {MOST} bytes")
            rest = reader.unused_data if reader.eof else b""
            if rest:  # another member (RFC 1952, section 2.2)
                reader = zlib.decompressobj(wbits)
        yield Piece(piece.at, data)
    if whole and not reader.eof:
        raise Unreadable(f"its {content_encoding} ends early")


def _deflate_wbits(pieces: Sequence[Piece]) -> int:
    """`deflate` is zlib's format; some servers send it without zlib's head."""
    head = b"".join(piece.data for piece in pieces)[:2]
    zlib_head = len(head) == 2 and head[0] & 0x0F == 8 and int.from_bytes(head, "big") % 31 == 0
    return 15 if zlib_head else -15


def in_one(pieces: Sequence[Piece]) -> list[Piece]:
    """Join a body that is read when it is whole: how the network cut it means nothing."""
    data = b"".join(piece.data for piece in pieces)
    return [Piece(pieces[-1].at, data)] if data else []


def recut(pieces: Sequence[Piece]) -> list[Piece]:
    """Cut a stream where its events end; lines, for one of lines.

    An event comes when its last byte does: what came before of it waits.
    """
    data = b"".join(piece.data for piece in pieces)
    arrivals, size = [], 0
    for piece in pieces:
        size += len(piece.data)
        arrivals.append((size, piece.at))
    cut, start, at = [], 0, 0
    for end in _ends(data):
        while arrivals[at][0] < end:
            at += 1
        cut.append(Piece(arrivals[at][1], data[start:end]))
        start = end
    return cut


def _ends(data: bytes) -> Iterator[int]:
    """Yield where events (or, in a stream without blank lines, lines) end, and the data's end."""
    at = 0
    for at in list(event_ends(data)) or [found.end() for found in re.finditer(rb"\n", data)]:
        yield at
    if at < len(data):
        yield len(data)
