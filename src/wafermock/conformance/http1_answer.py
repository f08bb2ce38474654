"""Answers of HTTP/1.1 read from bytes, with no socket anywhere.

The reader is strict and forgiving at once: it tells every fault of an answer's framing, and keeps
what can still be read, because a judge needs the bytes most where they are wrong. What no reading
can make sense of is `NotHttp`.
"""

import re
from dataclasses import dataclass, field
from typing import Literal

from .exchange import Arrival, Headers

# A head of an answer, and one line of its chunked body, are no longer than this, in bytes.
LONGEST_HEAD = 256 * 1024
# What a fault of framing says where bytes came that belong to no answer.
BEHIND = "behind the end of the message"
LONGEST_LINE = 16 * 1024
# So many interim answers (RFC 9110, section 15.2) are put up with.
MOST_INTERIM = 32
# So many faults of one answer are told.
MOST_FAULTS = 20
# An excerpt of what was sent in place of what should have been.
EXCERPT = 60

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_STATUS_LINE = re.compile(rb"HTTP/(\d)\.(\d) (\d{3})( [\t\x20-\x7e\x80-\xff]*)?")
_LIKELY_STATUS_LINE = re.compile(rb"\s*HTTP/(\d+)(?:\.(\d+))?\s+(\d{3})(?!\d)\s*(.*)", re.I | re.S)
_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
_DIGITS = re.compile(r"[0-9]+")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})([\t ]*(?:;.*)?)", re.S)
_QUOTED = rb'"(?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"'
_EXTENSION = re.compile(
    rb"(?:[\t ]*;[\t ]*%b(?:[\t ]*=[\t ]*(?:%b|%b))?)*" % (_TOKEN.pattern, _TOKEN.pattern, _QUOTED)
)

Framing = Literal["none", "length", "chunked", "close"]


class NotHttp(Exception):
    """What came is no answer of HTTP/1; the argument says what it is instead."""


@dataclass
class Head:
    """The head of an answer: `headers` in their order, doubles kept, names as they were sent."""

    status: int
    reason: str
    http: str
    headers: Headers

    def values(self, name: str) -> list[str]:
        """Return the elements of a header that is a list, wherever they stand."""
        lines = [value for key, value in self.headers if key.lower() == name]
        return [
            part.strip(" \t") for line in lines for part in line.split(",") if part.strip(" \t")
        ]


@dataclass
class AnswerReader:
    """Reads one answer from bytes as they arrive. `method` is that of the request: it decides
    whether there is a body (RFC 9112, section 6.3).

    `complete` is true when the framing says that the answer has ended; `broken` when the framing
    cannot be followed any further. Either way nothing more is read.
    """

    method: str
    head: Head | None = None
    arrivals: list[Arrival] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    complete: bool = False
    broken: bool = False
    continued: bool = False
    first_byte: float = 0.0
    size: int = 0
    behind: int = 0

    def __post_init__(self) -> None:
        self._buffer = bytearray()
        self._framing: Framing = "close"
        self._left = 0  # bytes of the body, or of the chunk, that are still to come
        self._part: Literal["size", "data", "data end", "trailers"] = "size"
        self._interim = 0
        self._trailers = 0
        self._searched = 0
        self._body: list[bytes] = []

    @property
    def over(self) -> bool:
        return self.complete or self.broken

    @property
    def keeps_alive(self) -> bool:
        """Whether the connection may carry another exchange (RFC 9112, section 9.3)."""
        if self.head is None or not self.complete or self.framing_fault or self._framing == "close":
            return False
        options = {option.lower() for option in self.head.values("connection")}
        if self.head.http == "1.0":
            return "keep-alive" in options
        return "close" not in options

    @property
    def said_close(self) -> bool:
        """Whether the server says that it closes the connection behind the answer."""
        if self.head is None:
            return False
        return "close" in {option.lower() for option in self.head.values("connection")}

    def feed(self, data: bytes, at: float) -> None:
        """Read bytes that arrived `at` seconds after the request. Raises NotHttp."""
        if self.over:
            self.behind += len(data) if self.complete else 0
            return
        if self.head is None and not self._buffer:
            self.first_byte = at
        self._buffer += data
        while self.head is None and self._read_head():
            if self.head is None and self._buffer:
                self.first_byte = at  # the next head has begun
        if self.head is not None and not self.over:
            self._read_body()
        if self._body:
            whole = b"".join(self._body)
            self._body.clear()
            self.size += len(whole)
            self.arrivals.append(Arrival(at, whole))
        if self.complete and self._buffer:
            self.behind += len(self._buffer)
            self._buffer.clear()

    @property
    def untouched(self) -> bool:
        """Whether not a byte of an answer has come."""
        return self.head is None and not self._buffer and not self._interim

    def close(self, broken: str = "") -> None:
        """The server closed the connection, or, with the error's words, it broke. Raises NotHttp
        where no head of an answer had been read."""
        if self.over:
            return
        if self.head is None:
            raise NotHttp(self._no_head() + (f" ({broken})" if broken else ""))
        how = f"the connection broke ({broken})" if broken else "closed"
        if self._framing == "length":
            whole = self.size + self._left
            self._break(f"{how} after {self.size} of {whole} bytes of the body", "8")
        elif self._framing == "chunked":
            self._break(f"{how} before the last chunk was whole", "8")
        elif broken:
            self._break(f"{how} before the body had ended", "8")
        else:
            self.complete = True

    def _no_head(self) -> str:
        if not self._buffer and self._interim:
            return "closed after an interim answer, with no answer"
        if not self._buffer:
            return "closed without an answer"
        return f"closed within the head of an answer: {excerpt(bytes(self._buffer))}"

    def fault(self, what: str, section: str, standard: str = "RFC 9112") -> None:
        told = f"{what} ({standard}, section {section})"
        if told not in self.faults and len(self.faults) < MOST_FAULTS:
            self.faults.append(told)

    @property
    def framing_fault(self) -> str:
        """Everything that is wrong with the framing, in one text; empty: nothing is."""
        faults = list(self.faults)
        if self.behind:
            plural = "byte" if self.behind == 1 else "bytes"
            faults.append(f"{self.behind} {plural} {BEHIND} (RFC 9112, section 6.3)")
        return "; ".join(faults)

    def _break(self, what: str, section: str) -> None:
        self.faults.append(f"{what} (RFC 9112, section {section})")
        self.broken = True

    # --------------------------------------------------------------------------- head

    def _read_head(self) -> bool:
        """Take one head off the buffer, if a whole one is there."""
        self._skip_blank_lines()
        start = max(0, self._searched - 3)
        found = _HEAD_END.search(self._buffer, start)
        if not found:
            self._searched = len(self._buffer)
            if len(self._buffer) > LONGEST_HEAD:
                raise NotHttp(f"a head longer than {LONGEST_HEAD:,} bytes")
            if len(self._buffer) >= 8 and not bytes(self._buffer[:5]).upper() == b"HTTP/":
                raise NotHttp(f"no answer of HTTP: {excerpt(bytes(self._buffer))}")
            return False
        raw = bytes(self._buffer[: found.end()])
        del self._buffer[: found.end()]
        self._searched = 0
        head = self._parsed(raw)
        if 100 <= head.status < 200 and head.status != 101:
            self._interim += 1
            self.continued = self.continued or head.status == 100
            if head.values("content-length") or head.values("transfer-encoding"):
                self.fault(f"an interim answer ({head.status}) that speaks of a body", "6.1")
            if self._interim > MOST_INTERIM:
                raise NotHttp(f"more than {MOST_INTERIM} interim answers")
            return True
        self.head = head
        self._decide_framing(head)
        return True

    def _skip_blank_lines(self) -> None:
        blank = re.match(rb"[\r\n]+", self._buffer)
        if blank:
            self.fault("a blank line before the status line", "2.1")
            del self._buffer[: blank.end()]

    def _parsed(self, raw: bytes) -> Head:
        lines = raw.split(b"\n")[:-2]
        if any(not line.endswith(b"\r") for line in raw.split(b"\n")[:-1]):
            self.fault("a line of the head ends without CR", "2.2")
        lines = [line.removesuffix(b"\r") for line in lines]
        match = _STATUS_LINE.fullmatch(lines[0])
        if match and match[4] is None:
            self.fault("no space behind the status", "4")
        if not match:
            match = _LIKELY_STATUS_LINE.fullmatch(lines[0])
            if not match:
                raise NotHttp(f"no status line: {excerpt(lines[0])}")
            self.fault(f"a status line that is none: {excerpt(lines[0])}", "4")
        http = f"{int(match[1])}.{int(match[2] or 0)}"
        if http not in ("1.0", "1.1"):
            self.fault(f"an answer in HTTP/{http} to a request in HTTP/1.1", "2.3")
        status = int(match[3])
        if not 100 <= status < 600:
            self.fault(f"{status} is no status", "15", "RFC 9110")
        reason = (match[4] or b"").strip(b" \t").decode("latin-1")
        return Head(status, reason, http, self._fields(lines[1:]))

    def _fields(self, lines: list[bytes]) -> Headers:
        """Read header lines, or trailer lines."""
        fields: list[tuple[str, str]] = []
        for line in lines:
            if line[:1] in (b" ", b"\t"):
                self.fault(f"a folded or indented header line: {excerpt(line)}", "5.2")
                if fields:
                    name, value = fields[-1]
                    more = line.strip(b" \t").decode("latin-1")
                    fields[-1] = (name, f"{value} {more}".strip())
                continue
            name_bytes, colon, value_bytes = line.partition(b":")
            if not colon:
                self.fault(f"a header line without a colon: {excerpt(line)}", "5")
                continue
            if name_bytes.rstrip(b" \t") != name_bytes:
                self.fault(f"white space before the colon: {excerpt(line)}", "5.1")
                name_bytes = name_bytes.rstrip(b" \t")
            if not _TOKEN.fullmatch(name_bytes):
                self.fault(f"no name of a header: {excerpt(name_bytes)}", "5")
            if not _VALUE.fullmatch(value_bytes):
                self.fault(f"a control character in a header: {excerpt(line)}", "5.5", "RFC 9110")
            name = name_bytes.decode("latin-1")
            fields.append((name, value_bytes.strip(b" \t").decode("latin-1")))
        return tuple(fields)

    # --------------------------------------------------------------------------- framing

    def _decide_framing(self, head: Head) -> None:
        """Decide how long the body is: RFC 9112, section 6.3, rule by rule."""
        lengths = head.values("content-length")
        codings = [coding.lower() for coding in head.values("transfer-encoding")]
        if head.status == 101:
            self.fault("101 Switching Protocols, though nobody asked for it", "15.2.2", "RFC 9110")
        if self.method == "HEAD" or head.status in (101, 204, 304):
            if head.status in (101, 204) and (lengths or codings):
                self.fault(f"{head.status} has no body, and its head speaks of one", "6.1")
            self._framing, self.complete = "none", True
            return
        length = self._length(lengths)
        if codings:
            self._decide_coding(codings, head, bool(lengths))
        elif length is not None:
            self._framing, self._left = "length", length
            self.complete = length == 0

    def _decide_coding(self, codings: list[str], head: Head, has_length: bool) -> None:
        if has_length:
            self.fault("both Transfer-Encoding and Content-Length", "6.2")
        if head.http == "1.0":
            self.fault("Transfer-Encoding in an answer of HTTP/1.0", "6.1")
        others = [coding for coding in codings if coding != "chunked"]
        if others:
            self.fault(f"a transfer coding that nobody asked for: {', '.join(others)}", "7.4")
        if codings.count("chunked") > 1:
            self.fault("chunked more than once", "6.1")
        if codings[-1] == "chunked":
            self._framing = "chunked"

    def _length(self, lengths: list[str]) -> int | None:
        """Return what Content-Length says; None where it says nothing that can be followed."""
        if not lengths:
            return None
        bad = [length for length in lengths if not _DIGITS.fullmatch(length) or len(length) > 15]
        if bad:
            self.fault(f"Content-Length is no length: {excerpt(bad[0].encode('latin-1'))}", "6.3")
            return None
        said = {int(length) for length in lengths}
        if len(said) > 1:
            several = ", ".join(lengths[:4])
            self.fault(f"Content-Length says different things: {several}", "6.3")
            return None
        if len(lengths) > 1:
            self.fault("Content-Length stands more than once", "8.6", "RFC 9110")
        return said.pop()

    # --------------------------------------------------------------------------- body

    def _read_body(self) -> None:
        if self._framing == "chunked":
            while self._read_chunked():
                pass
        elif self._framing == "length":
            self._take_data()
            self.complete = self._left == 0
        else:
            self._body.append(bytes(self._buffer))
            self._buffer.clear()

    def _take_data(self) -> None:
        data = bytes(self._buffer[: self._left])
        if data:
            del self._buffer[: self._left]
            self._left -= len(data)
            self._body.append(data)

    def _read_chunked(self) -> bool:
        """Read the next part of a chunked body (RFC 9112, section 7.1), if it is there whole."""
        if self._part == "data":
            self._take_data()
            if self._left == 0:
                self._part = "data end"
            return self._left == 0
        if self._part == "data end":
            return self._read_data_end()
        line = self._line()
        if line is None:
            return False
        if self._part == "trailers":
            return self._read_trailer(line)
        return self._read_size(line)

    def _read_trailer(self, line: bytes) -> bool:
        if not line:
            self.complete = True
            return False
        self._fields([line])
        self._trailers += len(line)
        if self._trailers > LONGEST_HEAD:
            self._break(f"trailers longer than {LONGEST_HEAD:,} bytes", "7.1.2")
        return not self.broken

    def _read_data_end(self) -> bool:
        if self._buffer[:2] == b"\r\n":
            del self._buffer[:2]
        elif self._buffer[:1] == b"\n":
            self.fault("a chunk's data end without CR", "7.1")
            del self._buffer[:1]
        elif len(self._buffer) >= 2 or bytes(self._buffer[:1]) not in (b"", b"\r"):
            junk = excerpt(bytes(self._buffer))
            self._break(f"a chunk is longer than it says; then came {junk}", "7.1")
            return False
        else:
            return False
        self._part = "size"
        return True

    def _read_size(self, line: bytes) -> bool:
        match = _CHUNK_SIZE.fullmatch(line)
        if not match:
            self._break(f"no size of a chunk: {excerpt(line)}", "7.1")
            return False
        if match[2] and not _EXTENSION.fullmatch(match[2]):
            self.fault(f"no extension of a chunk: {excerpt(match[2])}", "7.1.1")
        self._left = int(match[1], 16)
        self._part = "data" if self._left else "trailers"
        return True

    def _line(self) -> bytes | None:
        """Take a line off the buffer; None: there is no whole line yet."""
        end = self._buffer.find(b"\n")
        if end < 0:
            if len(self._buffer) > LONGEST_LINE:
                self._break(f"a line of a chunked body without an end: "
                            f"{excerpt(bytes(self._buffer))}", "7.1")  # fmt: skip
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        if not line.endswith(b"\r"):
            self.fault("a line of a chunked body ends without CR", "7.1")
        return line.removesuffix(b"\r")


def excerpt(data: bytes) -> str:
    """Show the beginning of bytes in a sentence."""
    shown = repr(data[:EXCERPT])[1:]
    return shown + (f"... ({len(data)} bytes)" if len(data) > EXCERPT else "")
