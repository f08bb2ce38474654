"""Strings of the formats that JSON Schema (2020-12 validation, section 7.3) and OpenAPI name.

Every date lies in fixed years: no clock is read.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from .draws import Draws

if TYPE_CHECKING:
    from .vocabulary import Vocabulary

Writer: TypeAlias = "Callable[[Draws, Vocabulary], str]"


@lru_cache(maxsize=512)
def format_check(name: str) -> Callable[[str], bool]:
    """The validator's own test of a format; an unknown format admits every string."""
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator({"format": name}, validate_formats=True).is_valid


def _date(draws: Draws, _: Vocabulary) -> str:
    year, month, day = draws.between(2020, 2026), draws.between(1, 12), draws.between(1, 28)
    return f"{year:04}-{month:02}-{day:02}"


def _time(draws: Draws, _: Vocabulary) -> str:
    hour, minute, second = draws.between(0, 23), draws.between(0, 59), draws.between(0, 59)
    return f"{hour:02}:{minute:02}:{second:02}Z"


def _date_time(draws: Draws, words: Vocabulary) -> str:
    return f"{_date(draws, words)}T{_time(draws, words)}"


def _duration(draws: Draws, _: Vocabulary) -> str:
    return draws.pick(("P{}D", "PT{}H", "PT{}M", "P{}W")).format(draws.between(1, 30))


def _hex(draws: Draws, digits: int) -> str:
    return f"{draws.between(0, 16**digits - 1):0{digits}x}"


def _uuid(draws: Draws, _: Vocabulary) -> str:
    variant = draws.pick("89ab")
    return (
        f"{_hex(draws, 8)}-{_hex(draws, 4)}-4{_hex(draws, 3)}-{variant}{_hex(draws, 3)}-"
        f"{_hex(draws, 12)}"
    )


def _ipv4(draws: Draws, _: Vocabulary) -> str:
    block = draws.pick(("192.0.2", "198.51.100", "203.0.113"))  # RFC 5737: for documentation
    return f"{block}.{draws.between(1, 254)}"


def _ipv6(draws: Draws, _: Vocabulary) -> str:
    return f"2001:db8:{_hex(draws, 4)}::{_hex(draws, 4)}"  # RFC 3849: for documentation


def _hostname(draws: Draws, words: Vocabulary) -> str:
    return f"{words.word()}.example.{draws.pick(('com', 'org', 'net'))}"


def _email(_: Draws, words: Vocabulary) -> str:
    return str(words.faker.safe_email())


def _uri(draws: Draws, words: Vocabulary) -> str:
    return f"https://{_hostname(draws, words)}/{words.word()}"


def _reference(draws: Draws, words: Vocabulary) -> str:
    return f"/{words.word()}/{words.word()}"


def _byte(_: Draws, words: Vocabulary) -> str:
    return base64.b64encode(words.word().encode()).decode()


FORMATS: dict[str, Writer] = {
    "date": _date,
    "full-date": _date,
    "time": _time,
    "date-time": _date_time,
    "datetime": _date_time,
    "duration": _duration,
    "email": _email,
    "idn-email": _email,
    "hostname": _hostname,
    "host-name": _hostname,
    "idn-hostname": _hostname,
    "ipv4": _ipv4,
    "ip-address": _ipv4,
    "ip": _ipv4,
    "ipv6": _ipv6,
    "uri": _uri,
    "url": _uri,
    "iri": _uri,
    "uri-reference": _reference,
    "iri-reference": _reference,
    "uriref": _reference,
    "uri-template": lambda draws, words: f"/{words.word()}/{{{words.word()}}}",
    "json-pointer": _reference,
    "json-pointer-uri-fragment": lambda draws, words: "#" + _reference(draws, words),
    "relative-json-pointer": lambda draws, words: f"{draws.between(0, 3)}/{words.word()}",
    "regex": lambda draws, words: f"^{words.word()}[0-9]+$",
    "uuid": _uuid,
    "guid": _uuid,
    "byte": _byte,
    "base64": _byte,
    "binary": lambda draws, words: words.word(),
    "password": lambda draws, words: f"{words.word()}-{_hex(draws, 6)}",
    "color": lambda draws, words: f"#{_hex(draws, 6)}",
    "phone": lambda draws, words: words.text("phone", ""),
    "html": lambda draws, words: f"<p>{words.sentence()}</p>",
    "markdown": lambda draws, words: f"**{words.word()}** {words.sentence()}",
    "semver": lambda draws, words: words.text("version", ""),
    "int32": lambda draws, words: str(draws.between(0, 9999)),
    "int64": lambda draws, words: str(draws.between(0, 9999)),
    "decimal": lambda draws, words: f"{draws.between(0, 999)}.{draws.between(10, 99)}",
}

SHORTEST: dict[str, str] = {
    "email": "a@b.co",
    "idn-email": "a@b.co",
    "hostname": "a",
    "idn-hostname": "a",
    "ipv6": "::1",
    "ipv4": "10.0.0.1",
    "uri": "a:b",
    "iri": "a:b",
    "uri-reference": "",
    "iri-reference": "",
    "uri-template": "",
    "json-pointer": "",
    "relative-json-pointer": "0",
    "regex": "a",
    "duration": "P1D",
    "date-time": "2024-01-01T00:00:00Z",
}
"""The shortest sensible string of a format, for a `maxLength` that the usual one is beyond."""


def lengthened(name: str, text: str, length: int) -> str:
    """The text brought to `length` characters in a way that keeps the format where it can."""
    missing = length - len(text)
    if missing <= 0:
        return text
    if name in ("email", "idn-email"):
        local, at, domain = text.partition("@")
        add = min(missing, 64 - len(local))
        labels = "".join("." + "a" * 30 for _ in range(0, max(missing - add, 0), 31))
        return local + "a" * add + at + domain.replace(".", labels + ".", 1)
    if name in ("hostname", "idn-hostname"):
        return ("a" * 60 + ".") * (missing // 61) + "a" * (missing % 61) + text
    if name in ("date-time", "time"):
        return text.replace("Z", "." + "0" * max(missing - 1, 1) + "Z")
    if name == "uuid":
        return text
    return text + "a" * missing
