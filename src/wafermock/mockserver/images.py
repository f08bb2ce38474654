"""Images in messages: data URIs really decoded, and what they cost in tokens."""

import base64
import binascii
import math
import re
import struct
from typing import Any

from .canned import parts_of
from .refusal import Refusal

_DATA_URI = re.compile(r"data:image/(png|jpeg|jpg);base64,", re.IGNORECASE)

# Where the documents show a request with an image, such a name stands for its data: the example
# holds {BASE64_IMAGE}, the curl sample sends ${BASE64_IMAGE} as it is. It stands for this size.
_PLACEHOLDER = re.compile(r"\$?\{[A-Za-z_][A-Za-z0-9_]*\}")
_PLACEHOLDER_SIZE = (512, 512)

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
# A JPEG marker: any number of fill bytes, then its code (ITU-T T.81, B.1.1.2).
_MARKER = re.compile(rb"\xff+([^\xff])", re.DOTALL)
# Start-of-frame markers (table B.1), which hold the size.
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
# Markers without a segment behind them.
_LONE_MARKERS = {0x01, *range(0xD0, 0xDA)}
# A real file has a few dozen segments before its first frame.
_MOST_SEGMENTS = 10_000


def image_tokens(
    message: dict[str, Any], vision: dict[str, int], lenient: bool = False
) -> list[tuple[str, int]]:
    """Return each image of a message, as its data URI, and how many tokens it costs.

    `vision` is a model's, of `models.yaml`. Raises Refusal for an image that is no data URI of a
    PNG or a JPEG; a lenient count passes it over.
    """
    found = []
    for part in parts_of(message):
        if part.get("type") != "image_url":
            continue
        url = part["image_url"]["url"]
        try:
            found.append((url, _tokens(image_size(url), vision)))
        except Refusal:
            if not lenient:
                raise
    return found


def _tokens(size: tuple[int, int], vision: dict[str, int]) -> int:
    """Scale an image to the model's number of pixels and count the squares that fit in it."""
    width, height = size
    scale = math.sqrt(vision["token_pixels"] / (width * height))
    step = vision["token_step"]
    squares = max(1, int(width * scale // step)) * max(1, int(height * scale // step))
    return min(squares, vision["max_tokens"])


def image_size(url: str) -> tuple[int, int]:
    """Return the width and height in pixels of an image in a data URI.

    Raises Refusal for what is no image; a placeholder of the documents passes for one.
    """
    match = _DATA_URI.match(url)
    if match is None:
        reason = "it is not a data URI of the form data:image/{png,jpeg};base64,..."
        raise Refusal("image_not_readable", reason=reason)
    if _PLACEHOLDER.fullmatch(url, match.end()):
        return _PLACEHOLDER_SIZE
    try:
        data = base64.b64decode(url[match.end() :], validate=True)
    except (binascii.Error, ValueError):
        raise Refusal("image_not_readable", reason="its data is not base64") from None
    declared = match[1].lower().replace("jpg", "jpeg")
    size = _png_size(data) if declared == "png" else _jpeg_size(data)
    if size is None or 0 in size:
        raise Refusal("image_not_readable", reason=f"its data is not a {declared.upper()} image")
    return size


def _png_size(data: bytes) -> tuple[int, int] | None:
    """Read the size from the first chunk, IHDR (PNG, section 11.2.1)."""
    if not data.startswith(_PNG) or data[12:16] != b"IHDR" or len(data) < 24:
        return None
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Read the size from the first frame header (ITU-T T.81, B.2.2)."""
    if not data.startswith(_JPEG):
        return None
    at = 2
    for _ in range(_MOST_SEGMENTS):
        marker = _MARKER.match(data, at)
        if marker is None:
            break
        at = marker.end()
        code = marker[1][0]
        if code in _FRAMES:
            if len(data) < at + 7:
                break
            height, width = struct.unpack(">HH", data[at + 3 : at + 7])
            return width, height
        if code not in _LONE_MARKERS:
            at += int.from_bytes(data[at : at + 2], "big")
    return None
