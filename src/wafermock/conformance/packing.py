"""Compressed bodies, looked into for what must not be written down, and packed again without it."""

import gzip
import zlib

# How gzip begins (RFC 1952, section 2.3.1).
GZIP = b"\x1f\x8b"
# So much of a compressed body is looked into, in bytes of what it means.
LOOKED_INTO = 4 * 1024 * 1024
# The codings that can be (RFC 9110, section 8.4.1).
CODINGS = frozenset({"gzip", "x-gzip", "deflate"})


def _names(coding: str) -> list[str]:
    """Return the codings that a Content-Encoding lists, in the order in which they were applied."""
    named = [name.strip().lower() for name in coding.split(",")]
    return [name for name in named if name not in ("", "identity")]


def unpacked(body: bytes, coding: str) -> tuple[bytes, bool]:
    """Return what a body means, as far as it can be read, and whether more of it can be by nobody.

    Bytes that are not of their coding mean nothing; a coding that is not known here may mean
    anything.
    """
    known = True
    for name in reversed(_names(coding)):
        if name not in CODINGS:
            return b"", False
        body, whole = _inflated(body)
        known = known and whole
    return body, known


def packed(meaning: bytes, coding: str) -> bytes:
    """Return a body of a meaning, the same bytes each time; empty for a coding not known here."""
    for name in _names(coding):
        if name not in CODINGS:
            return b""
        is_deflate = name == "deflate"
        meaning = zlib.compress(meaning) if is_deflate else gzip.compress(meaning, mtime=0)
    return meaning


def _inflated(body: bytes) -> tuple[bytes, bool]:
    # With a header of gzip or zlib, and without any: servers mistake `deflate` for that.
    for bits in (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):
        meaning, whole = _members(body, bits)
        if meaning:
            return meaning, whole
    return b"", True


def _members(body: bytes, bits: int) -> tuple[bytes, bool]:
    """Read one compressed member behind the other (RFC 1952, section 2.2), up to a fault."""
    reading = zlib.decompressobj(bits)
    meaning = bytearray()
    try:
        for start in range(0, len(body), 1024):
            data = body[start : start + 1024]
            while data:
                if reading.eof:
                    reading = zlib.decompressobj(bits)
                meaning += reading.decompress(data, LOOKED_INTO + 1 - len(meaning))
                if len(meaning) > LOOKED_INTO:
                    return bytes(meaning[:LOOKED_INTO]), False
                data = reading.unused_data
    except zlib.error:
        pass
    return bytes(meaning), True
