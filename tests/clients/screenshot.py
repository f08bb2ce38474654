"""A picture as a client would send it."""

import base64
import struct
import zlib


def png(width: int = 64, height: int = 64) -> bytes:
    """A PNG file (RFC 2083) of random-looking colours: its base64 is many lines long."""
    rows = b"".join(
        b"\0" + bytes((x * x + 7 * y * x + 31 * c) % 256 for x in range(width) for c in range(3))
        for y in range(height)
    )
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def data_uri() -> str:
    return "data:image/png;base64," + base64.b64encode(png()).decode()
