"""Reading an HTTP/1 answer from bytes as they come (RFC 9112). No socket in sight.

A recorder passes on what it reads, so nothing is lost here: header names keep their spelling and
order, data comes out as it went in, trailers are read.
"""

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

Headers = tuple[tuple[str, str], ...]
Framing = Literal["none", "length", "chunked", "close"]

# A head or a trailer section larger than this is none.
LARGEST_HEAD = 1024 * 1024
_LARGEST_CHUNK_LINE = 16 * 1024


class Head(Struct, frozen=True):
    """The beginning of an answer. `framing` says how the end of its body is told."""

    version: str
    status: int
    reason: str
    headers: Headers
    framing: Framing

    @property
    def is_interim(self) -> bool:
        """Whether another head follows (RFC 9110, section 15.2)."""
        return self.status < 200


class Data(Struct, frozen=True):
    """Bytes of the body."""

    data: bytes


class End(Struct, frozen=True):
    """The end of the body, with the trailers."""

    trailers: Headers = ()


class NotHTTP(Exception):
    """What came is no HTTP/1 answer."""


class AnswerReader:
    """Reads the answer to one request. `method` decides whether there is a body."""

    def __init__(self, method: str) -> None:
        self._method = method
        self._buffer = bytearray()
        self._state: Literal["head", "length", "size", "chunk", "chunk end", "trailers", "close",
                             "end"] = "head"  # fmt: skip
        self._left = 0

    @property
    def ended(self) -> bool:
        """Whether the answer is whole."""
        return self._state == "end"

    @property
    def begun(self) -> bytes:
        """What has come of a head that is not whole yet."""
        return bytes(self._buffer) if self._state == "head" else b""

    def feed(self, data: bytes) -> Iterator[Head | Data | End]:
        """Take bytes, yield what they complete. Raises NotHTTP; then nothing more can be read."""
        self._buffer += data
        while (event := self._next()) is not None:
            if not isinstance(event, Data) or event.data:
                yield event

    def close(self) -> End | None:
        """Take the end of the connection. Returns the End, if that is how the body ends."""
        if self._state != "close":
            return None
        self._state = "end"
        return End()

    def _next(self) -> Head | Data | End | None:
        if self._state == "head":
            return self._head()
        if self._state in ("length", "chunk"):
            return self._counted()
        if self._state == "close":
            return self._taken(len(self._buffer))
        if self._state == "size":
            return self._chunk_size()
        if self._state == "chunk end":
            return self._chunk_end()
        if self._state == "trailers":
            return self._trailers()
        return None

    def _taken(self, size: int) -> Data | None:
        if not size:
            return None
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return Data(data)

    def _counted(self) -> Data | End | None:
        if not self._left:
            self._state = "end" if self._state == "length" else "chunk end"
            return End() if self._state == "end" else Data(b"")
        found = self._taken(min(self._left, len(self._buffer)))
        if found is not None:
            self._left -= len(found.data)
        return found

    # ------------------------------------------------------------------ head

    def _head(self) -> Head | None:
        lines = self._section()
        if lines is None:
            return None
        match = _STATUS_LINE.fullmatch(lines[0])
        if match is None:
            raise NotHTTP(f"the first line is {lines[0][:80]!r}")
        version, status, reason = match.groups()
        headers = _fields(lines[1:])
        framing, self._left = self._framed(int(status), headers)
        head = Head(version, int(status), reason or "", headers, framing)
        if not head.is_interim:
            self._state = {"none": "length", "chunked": "size"}.get(framing, framing)  # type: ignore[assignment]
        return head

    def _section(self) -> list[str] | None:
        """Take lines up to a blank one; None until it has come."""
        match = _BLANK_LINE.search(self._buffer)
        if match is None or match.start() > LARGEST_HEAD:
            if len(self._buffer) > LARGEST_HEAD:
                raise NotHTTP(f"a head of more than {LARGEST_HEAD} bytes")
            return None
        raw = bytes(self._buffer[: match.start()])
        del self._buffer[: match.end()]
        return re.split("\r?\n", raw.decode("utf-8", "surrogateescape"))

    def _framed(self, status: int, headers: Headers) -> tuple[Framing, int]:
        """Decide how the body ends (RFC 9112, section 6.3), and on its length."""
        if self._method == "HEAD" or status < 200 or status in (204, 304):
            return "none", 0
        codings = _values(headers, "transfer-encoding")
        if codings:
            return ("chunked" if codings[-1].lower() == "chunked" else "close"), 0
        lengths = set(_values(headers, "content-length"))
        if not lengths:
            return "close", 0
        length = lengths.pop()
        if lengths or not (length.isascii() and length.isdecimal() and len(length) < 19):
            raise NotHTTP("its Content-Length is no single number")
        return "length", int(length)

    # ------------------------------------------------------------------ chunks

    def _chunk_size(self) -> Data | None:
        line = self._line()
        if line is None:
            return None
        match = _CHUNK_SIZE.match(line)
        if match is None:
            raise NotHTTP(f"a chunk's size is {line[:40]!r}")
        self._left = int(match[1], 16)
        self._state = "chunk" if self._left else "trailers"
        return Data(b"")

    def _chunk_end(self) -> Data | None:
        line = self._line()
        if line is None:
            return None
        if line:
            raise NotHTTP("a chunk is longer than it says")
        self._state = "size"
        return Data(b"")

    def _line(self) -> bytes | None:
        end = self._buffer.find(b"\n")
        if end < 0 or end > _LARGEST_CHUNK_LINE:
            if len(self._buffer) > _LARGEST_CHUNK_LINE:
                raise NotHTTP("a line between chunks has no end")
            return None
        line = bytes(self._buffer[:end]).removesuffix(b"\r")
        del self._buffer[: end + 1]
        return line

    def _trailers(self) -> End | None:
        match = re.match(b"\r?\n", self._buffer)
        if match is not None:
            del self._buffer[: match.end()]
            self._state = "end"
            return End()
        lines = self._section()
        if lines is None:
            return None
        self._state = "end"
        return End(_fields(lines))


_BLANK_LINE = re.compile(b"\r?\n\r?\n")
_STATUS_LINE = re.compile(r"(HTTP/1\.[01]) ([1-5][0-9]{2})(?: (.*))?")
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;|$)")
_FIELD = re.compile(r"([!#$%&'*+\-.^_`|~0-9A-Za-z]+)[ \t]*:[ \t]*(.*?)[ \t]*")


def _fields(lines: list[str]) -> Headers:
    fields: list[tuple[str, str]] = []
    for line in lines:
        if line[:1] in (" ", "\t") and fields:  # RFC 9112, section 5.2: a value that goes on
            name, value = fields[-1]
            fields[-1] = (name, f"{value} {line.strip()}")
            continue
        match = _FIELD.fullmatch(line)
        if match is None:
            raise NotHTTP(f"no header but {line[:80]!r}")
        fields.append((match[1], match[2]))
    return tuple(fields)


def _values(headers: Headers, name: str) -> list[str]:
    joined = ",".join(value for key, value in headers if key.lower() == name)
    return [value.strip() for value in joined.split(",") if value.strip()]


# ---------------------------------------------------------------------- what is passed on

# RFC 9110, section 7.6.1, and what older clients and proxies send.
_HOP_BY_HOP = frozenset(
    {
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
        "te", "transfer-encoding", "upgrade",
    }
)  # fmt: skip


def end_to_end(headers: Headers) -> Headers:
    """Return the headers that go all the way, not only to the next hop."""
    named = {value.lower() for value in _values(headers, "connection")}
    hop_by_hop = _HOP_BY_HOP | (named - {"content-length", "content-type", "authorization"})
    return tuple((name, value) for name, value in headers if name.lower() not in hop_by_hop)


def written_head(first_line: str, headers: Headers) -> bytes:
    """Write a first line and headers."""
    lines = [first_line, *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape")


def written_chunk(data: bytes) -> bytes:
    """Write a chunk (RFC 9112, section 7.1)."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def last_chunk(trailers: Headers = ()) -> bytes:
    """Write the end of a chunked body."""
    return written_head("0", trailers)
