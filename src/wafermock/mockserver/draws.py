"""Deterministic choice: every number the mock invents is drawn from a digest of its inputs.

No clock, no global generator, no `hash()`: the same inputs give the same draws in every process
and Python version. Only `random()` and `getrandbits()` of a Mersenne Twister are used, since
they are specified; `choice`, `sample` and friends have changed between Python versions.
"""

import hashlib
import json
import random
from collections.abc import Sequence
from json.encoder import encode_basestring_ascii
from typing import Any, TypeVar

T = TypeVar("T")


def digest(*parts: object) -> bytes:
    """Return 16 bytes that stand for a sequence of JSON values or bytes.

    Two values that JSON and MessagePack can both carry give the same digest, whatever the order
    of their keys, and whether a whole number came as `1` or as `1.0`.
    """
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part if isinstance(part, bytes) else canonical(part).encode()
        state.update(len(data).to_bytes(8, "big"))
        state.update(data)
    return state.digest()


# Made once: `json.dumps` makes an encoder for every call that asks for another form.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), check_circular=False)


def canonical(value: Any) -> str:
    """Write JSON data in the one form that stands for all its spellings."""
    if type(value) is str:  # most of what is digested
        return encode_basestring_ascii(value)
    text = _ENCODER.encode(value)
    # So a whole number looks that came as a float: 1.0, 1e+16. Most data has none.
    return _ENCODER.encode(_whole(value)) if ".0" in text or "e+" in text else text


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def uuid4(digest: bytes) -> str:
    """Write 16 bytes as a UUID of version 4 (RFC 9562, section 5.4)."""
    bits = int.from_bytes(digest, "big")
    bits = (bits & ~(0xF << 76)) | (4 << 76)
    bits = (bits & ~(0x3 << 62)) | (2 << 62)
    text = f"{bits:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


class Draws:
    """A stream of deterministic choices for one purpose."""

    def __init__(self, *parts: object) -> None:
        self._random = random.Random(int.from_bytes(digest(*parts), "big"))

    def bytes(self) -> bytes:
        """Draw 16 bytes, to seed something else with."""
        return self._random.getrandbits(128).to_bytes(16, "big")

    def fraction(self) -> float:
        """Draw a number from 0 (included) to 1 (excluded)."""
        return self._random.random()

    def below(self, limit: int) -> int:
        """Draw a whole number from 0 to limit - 1."""
        return int(self._random.random() * limit)

    def between(self, low: float, high: float) -> float:
        """Draw a number from low to high."""
        return low + (high - low) * self._random.random()

    def pick(self, items: Sequence[T]) -> T:
        """Draw one of some items."""
        return items[self.below(len(items))]

    def picks(self, items: Sequence[T], count: int) -> list[T]:
        """Draw so many of some items; the same as picking them one by one."""
        fraction, limit = self._random.random, len(items)
        return [items[int(fraction() * limit)] for _ in range(count)]

    def hexadecimal(self, digits: int) -> str:
        """Draw a number in hexadecimal digits."""
        return f"{self._random.getrandbits(4 * digits):0{digits}x}"

    def uuid4(self) -> str:
        """Draw a UUID of version 4."""
        return uuid4(self.bytes())
