"""Bodies that are no JSON any more, or that JSON does not promise anything about."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .source import Source

# A text that has gone wrong, made from the bytes of a good one; None where it does not fit.
Break = Callable[[bytes, Source], bytes | None]

# Deeper nesting than this is an attack, and none of this suite's business.
DEEPEST = 10_000


@dataclass(frozen=True)
class Broken:
    """One way to break a JSON text. `tolerated`: a parser may take it all the same, by `source`
    (a section of RFC 8259); `fault` is what the judge calls it."""

    kind: str
    make: Break
    source: str
    tolerated: bool = False
    fault: str = "JSON"


def is_json(text: bytes) -> bool:
    """Say whether bytes are one JSON text by RFC 8259, in UTF-8."""
    try:
        json.loads(text.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return False
    return not text.startswith(b"\xef\xbb\xbf")


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _truncated(text: bytes, source: Source) -> bytes:
    return text[: source.integer(1, len(text) - 1)]


def _flipped(text: bytes, source: Source) -> bytes | None:
    """Change single bits of it until it is no JSON any more."""
    changed = bytearray(text)
    for _ in range(64):
        changed[source.integer(0, len(text) - 1)] ^= 1 << source.integer(0, 7)
        if not is_json(bytes(changed)):
            return bytes(changed)
    return None


def _lost(text: bytes, source: Source) -> bytes | None:
    """Lose a piece out of the middle."""
    for _ in range(64):
        start = source.integer(1, len(text) - 2)
        rest = text[:start] + text[start + source.integer(1, 16) :]
        if not is_json(rest):
            return rest
    return None


def _doubled(text: bytes, source: Source) -> bytes | None:
    """Send a piece twice."""
    for _ in range(64):
        start = source.integer(1, len(text) - 2)
        end = start + source.integer(1, 16)
        doubled = text[:end] + text[start:]
        if not is_json(doubled):
            return doubled
    return None


_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')


def _in_string(what: bytes) -> Break:
    """Put bytes into one of the strings."""

    def put(text: bytes, source: Source) -> bytes:
        string = source.pick(list(_STRING.finditer(text)))
        at = string.start() + 1
        return text[:at] + what + text[at:]

    return put


def _behind(what: bytes) -> Break:
    return lambda text, source: text + what


def _before(what: bytes) -> Break:
    return lambda text, source: what + text


def _instead(what: bytes) -> Break:
    return lambda text, source: what


def _recoded(codec: str) -> Break:
    """Write it in another encoding, with letters in it that need one."""

    def recode(text: bytes, source: Source) -> bytes:
        value = json.loads(text)
        value["user"] = "Grüße"
        return json.dumps(value, ensure_ascii=False).encode(codec, "replace")

    return recode


def _with_member(member: bytes) -> Break:
    """Put one more member into the object, at its end."""
    return lambda text, source: text[:-1].rstrip() + b"," + member + b"}"


def _first_again(text: bytes, source: Source) -> bytes:
    """Say the first member twice, the same both times."""
    name, value = next(iter(json.loads(text).items()))
    again = json.dumps({name: value}, ensure_ascii=False).encode()
    return text[:-1] + b"," + again[1:]


def _nested(text: bytes, source: Source) -> bytes:
    depth = source.pick([200, 1_000, DEEPEST])
    kind = source.pick([b"[]", b"{}"])
    opening = kind[:1] if kind == b"[]" else b'{"a":'
    deep = opening * depth + b"1" + kind[1:] * depth
    name = json.dumps(list(json.loads(text))[-1]).encode()
    return text[:-1] + b"," + name + b":" + deep + b"}"


def _single_quotes(text: bytes, source: Source) -> bytes:
    return text.replace(b'"', b"'")


def _bare_names(text: bytes, source: Source) -> bytes:
    return re.sub(rb'"(\w+)":', rb"\1:", text)


def _form(text: bytes, source: Source) -> bytes:
    from urllib.parse import urlencode

    value: Mapping[str, Any] = json.loads(text)
    return urlencode({key: str(inner) for key, inner in value.items()}).encode()


WAYS: tuple[Broken, ...] = (
    Broken("truncated JSON", _truncated, "section 2"),
    Broken("bad UTF-8: a byte of no character", _in_string(b"\xff"), "section 8.1"),
    Broken("bad UTF-8: overlong", _in_string(b"\xc0\xaf"), "section 8.1"),
    Broken("bad UTF-8: half a surrogate pair", _in_string(b"\xed\xa0\x80"), "section 8.1"),
    Broken("bad UTF-8: a character cut off", _in_string(b"\xe2\x82"), "section 8.1"),
    Broken("bits flipped", _flipped, "section 2"),
    Broken("a piece lost", _lost, "section 2"),
    Broken("a piece sent twice", _doubled, "section 2"),
    Broken("duplicated key", _first_again, "section 4", tolerated=True),
    Broken("deep nesting", _nested, "section 9", fault="bytes"),
    Broken("junk behind: a bracket", _behind(b"}"), "section 2"),
    Broken("junk behind: another text", _behind(b" {}"), "section 2"),
    Broken("junk behind: NUL", _behind(b"\x00"), "section 2"),
    Broken("junk before", _before(b")]}',\n"), "section 2"),
    Broken("white space only", _instead(b" \r\n\t "), "section 2"),
    Broken("a list in place of an object", _instead(b"[]"), "section 2", fault="no object"),
    Broken("a string in place of an object", _instead(b'"hi"'), "section 2", fault="no object"),
    Broken("null in place of an object", _instead(b"null"), "section 2", fault="no object"),
    Broken("byte order mark", _before(b"\xef\xbb\xbf"), "section 8.1", tolerated=True),
    Broken("UTF-16", _recoded("utf-16-le"), "section 8.1"),
    Broken("UTF-16 with a mark", _recoded("utf-16"), "section 8.1"),
    Broken("UTF-32", _recoded("utf-32-be"), "section 8.1"),
    Broken("Latin-1", _recoded("latin-1"), "section 8.1"),
    Broken("half a surrogate pair, escaped", _in_string(b"\\ud83d"), "section 8.2", tolerated=True),
    Broken("a control character in a string", _in_string(b"\x01"), "section 9", tolerated=True),
    Broken("a line end in a string", _in_string(b"\n"), "section 9", tolerated=True),
    Broken("an escape that JSON lacks", _in_string(b"\\x41"), "section 9", tolerated=True),
    Broken("NaN", _with_member(b'"temperature":NaN'), "section 9", tolerated=True),
    Broken("Infinity", _with_member(b'"temperature":Infinity'), "section 9", tolerated=True),
    Broken("number out of range", _with_member(b'"temperature":1e400'), "section 6"),
    Broken(
        "number of many digits", _with_member(b'"seed":1' + b"0" * 400), "section 6", tolerated=True
    ),
    Broken(
        "number of very many digits",
        _with_member(b'"seed":1' + b"0" * 20_000),
        "section 6",
        tolerated=True,
    ),
    Broken("leading zero", _with_member(b'"seed":007'), "section 9", tolerated=True),
    Broken("plus sign", _with_member(b'"seed":+7'), "section 9", tolerated=True),
    Broken("hexadecimal number", _with_member(b'"seed":0x7'), "section 9", tolerated=True),
    Broken("trailing comma", lambda text, _: text[:-1] + b",}", "section 9", tolerated=True),
    Broken("comment", _before(b"// hello\n"), "section 9", tolerated=True),
    Broken("single quotes", _single_quotes, "section 9", tolerated=True),
    Broken("names without quotes", _bare_names, "section 9", tolerated=True),
    Broken("a form in place of JSON", _form, "section 2"),
)
