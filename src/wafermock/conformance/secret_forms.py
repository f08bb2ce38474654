"""The forms in which a secret may stand in bytes: all of them give it away."""

import base64
import json
import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote_from_bytes

from .http1_request import header_bytes

# Shorter texts are no secrets: they are in every text, and to take them out would spoil it.
SHORTEST = 4
# A form of a secret is at most so many times as long as the secret: `\\\\u0061` of JSON in JSON.
LONGEST_FORM = 8

_BASE64_SIGN = re.compile(rb"[A-Za-z0-9+/_-]")
# Base64 says `%2B`, `%2F` and `%3D` in a query.
_BASE64_TAIL = re.compile(rb"(?:[A-Za-z0-9+/_=-]|%2[bBfF]|%3[dD])*")
_NEVER = re.compile(rb"(?!)")


def written(secret: str) -> set[bytes]:
    """Return the ways in which a secret is written as bytes: encodings, and mistaken ones."""
    utf8 = secret.encode("utf-8", "surrogatepass")
    mistaken = utf8.decode("latin-1").encode("utf-8")
    as_json = json.dumps(secret)[1:-1].encode()
    return {utf8, mistaken, as_json, header_form(secret)}


def header_form(text: str) -> bytes:
    """Return the bytes of a text as a header holds it, whatever the text."""
    return header_bytes(re.sub(r"[\r\n\0]", "?", text))


class Forms:
    """Finds secrets in bytes: as they are, percent-encoded, escaped as in JSON, as hexadecimal
    digits, and in Base64 wherever they begin there."""

    def __init__(self, secrets: Sequence[bytes]) -> None:
        cores = [core for secret in secrets for core in _base64_cores(secret)]
        self._plain = _any(map(re.escape, secrets))
        self._escaped = _any(b"".join(map(_sign, secret)) for secret in secrets)
        self._hexadecimal = _any(b"(?i:%b)" % secret.hex().encode() for secret in secrets)
        self._base64 = _any(b"".join(map(_base64_sign, core)) for core in cores)
        self._beginnings = {
            *secrets,
            *cores,
            *(quote_from_bytes(secret, safe="").encode() for secret in secrets),
            *(secret.hex().encode() for secret in secrets),
        }

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Return where secrets are, in order; what overlaps is one."""
        found = [match.span() for match in self._plain.finditer(data)]
        if b"%" in data or b"\\" in data:
            found += [match.span() for match in self._escaped.finditer(data)]
        found += [match.span() for match in self._hexadecimal.finditer(data)]
        found += [_widened(match.span(), data) for match in self._base64.finditer(data)]
        return _joined(sorted(found))

    def beginning_at_end(self, data: bytes) -> int:
        """Return how many bytes at the end are the beginning of a secret that was cut there."""
        return max(
            (
                length
                for form in self._beginnings
                for length in range(SHORTEST, min(len(form), len(data) + 1))
                if data.endswith(form[:length])
            ),
            default=0,
        )


def _any(patterns: Iterable[bytes]) -> re.Pattern[bytes]:
    ways = list(patterns)
    return re.compile(b"|".join(ways)) if ways else _NEVER


def _sign(byte: int) -> bytes:
    """Return a pattern of one byte: as it is, percent-encoded, escaped, as a number of JSON."""
    plain = re.escape(bytes([byte]))
    ways = [plain, b"%%(?:25)?(?i:%02x)" % byte, rb"\\{1,2}(?:x|u00)(?i:%02x)" % byte]
    if not chr(byte).isalnum():
        ways.append(rb"\\{1,3}" + plain)
    return b"(?:" + b"|".join(ways) + b")"


def _base64_cores(secret: bytes) -> list[bytes]:
    """Return the part of a Base64 text (RFC 4648) that the secret alone decides, for each of the
    three places where it may begin in a group of three bytes."""
    cores = []
    for offset in range(3):
        data = base64.b64encode(b"\0" * offset + secret)
        first = -(-offset * 8 // 6)
        last = (offset + len(secret)) * 8 // 6
        if last - first >= SHORTEST:
            cores.append(data[first:last])
    return cores


def _base64_sign(sign: int) -> bytes:
    if sign == ord("+"):
        return rb"(?:[+-]|%2[bB])"
    if sign == ord("/"):
        return rb"(?:\\?[/_]|%2[fF])"
    return bytes([sign])


def _widened(span: tuple[int, int], data: bytes) -> tuple[int, int]:
    """Widen a place in Base64 by its neighbours: they have bits of the secret in them."""
    start, end = span
    while start > 0 and span[0] - start < SHORTEST and _BASE64_SIGN.match(data, start - 1):
        start -= 1
    tail = _BASE64_TAIL.match(data, end)
    return start, tail.end() if tail else end


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined
