"""Masking: what a call carries and nobody else may see.

What is a secret says the catalogue that `wafermock record` has too; the journal masks those that
open doors. Headers that are secrets lose their value whole. In texts, keys are found by the form
that vendors give them, and by the name of the member or parameter that holds them.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from urllib.parse import unquote

from ..record.catalogue import REDACTED, Pattern, catalogue

MASK = "***"
_SHORTEST = 6

# A member of a JSON object whose value is a text.
_MEMBER = re.compile(rb'"([^"\\]{1,100})"(\s{0,20}:\s{0,20})"(?:[^"\\]|\\.)+"')
_TEXT = "utf-8", "surrogateescape"


def masked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers (names in lower case) without secrets. A scheme, `Bearer`, stays."""
    return {
        name: _masked_header(name, value)[0] if _is_secret(name) else value
        for name, value in headers.items()
    }


def secrets_in(headers: Mapping[str, str]) -> list[str]:
    """Return the secrets that stand in headers (names in lower case), without their schemes."""
    return [_masked_header(name, value)[1] for name, value in headers.items() if _is_secret(name)]


class Mask:
    """Takes keys out of texts: what looks like one, and `known` secrets wherever they stand."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        # Shorter values are words of their own: `test` would spoil every text it stands in.
        self._known = [secret.encode() for secret in known if len(secret) >= _SHORTEST]

    def bytes(self, raw: bytes) -> bytes:
        """Return a body without the keys in it."""
        for secret in self._known:
            raw = raw.replace(secret, MASK.encode())
        # Most bodies hold none: to look for a few words is a hundred times as fast as to match.
        lowered = raw.lower()
        for signs, pattern in _forms():
            if any(sign in lowered for sign in signs):
                raw = _without(pattern, raw.decode(*_TEXT)).encode(*_TEXT)
        if any(sign in lowered for sign in _member_signs()):
            raw = _MEMBER.sub(_masked_member, raw)
        return raw

    def text(self, text: str) -> str:
        """Return a text without the keys in it."""
        return self.bytes(text.encode("utf-8", "replace")).decode("utf-8", "replace")

    def query(self, query: str) -> str:
        """Return a query without the keys in it."""
        return "&".join(map(_masked_parameter, self.text(query).split("&")))


@cache
def _forms() -> list[tuple[tuple[bytes, ...], Pattern]]:
    """List the forms of credentials, each with what tells that it may be there."""
    found = [pattern for pattern in catalogue().patterns if pattern.is_credential]
    return [(tuple(sign.encode() for sign in pattern.signs), pattern) for pattern in found]


@cache
def _member_signs() -> tuple[bytes, ...]:
    """List the ends of the names of members that hold credentials."""
    members = catalogue().credentials.members
    return tuple({name.rpartition("_")[2].encode() + b'"' for name in members})


def _without(pattern: Pattern, text: str) -> str:
    parts, at = [], 0
    for start, end in pattern.places(text):
        parts += [text[at:start], pattern.replacement.replace(REDACTED, MASK)]
        at = end
    return "".join([*parts, text[at:]])


def _masked_member(found: re.Match[bytes]) -> bytes:
    name = found[1].decode("utf-8", "replace")
    if not catalogue().credentials.is_member(name):
        return found[0]
    return b'"%s"%s"%s"' % (found[1], found[2], MASK.encode())


def _masked_parameter(pair: str) -> str:
    name, _, value = pair.partition("=")
    is_secret = value and catalogue().credentials.is_parameter(unquote(name))
    return f"{name}={MASK}" if is_secret else pair


def _is_secret(name: str) -> bool:
    return catalogue().credentials.is_header(name)


def _masked_header(name: str, value: str) -> tuple[str, str]:
    """Return what may be shown of a secret header, and the secret in it."""
    if name in ("cookie", "set-cookie"):
        return MASK, value
    scheme, blank, rest = value.partition(" ")
    return (f"{scheme} {MASK}", rest.strip()) if blank and scheme.isalpha() else (MASK, value)
