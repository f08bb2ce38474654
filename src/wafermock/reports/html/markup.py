"""Texts and bytes as a page shows them: escaped, and with nothing in them that cannot be seen.

What steers a reader, a terminal or the direction of a line stands there as an escape, in `<i>`:
`\\u202e`. An escape has no attribute, so that it does no harm where markup does not belong.
"""

import re
from dataclasses import dataclass

from markupsafe import Markup, escape

from ..visible import NO_INK

# A page shows spaces that look like others too. U+FE0F and ZWJ within emoji are shown: bytes are at
# stake.
_UNSEEN = f"{NO_INK}\xa0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"
UNSEEN = re.compile(f"[{_UNSEEN}]")
_UNSEEN_IN_LINE = re.compile(f"[\t\n{_UNSEEN}]")
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


_CODE = re.compile("`([^`]+)`")


def _for_element(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _escaped(character: str) -> str:
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def line(text: str) -> Markup:
    """Return a text for a line of running text: ends of lines are escapes too."""
    marked = _UNSEEN_IN_LINE.sub(lambda found: f"<i>{_escaped(found[0])}</i>", str(escape(text)))
    return Markup(marked)


def block(text: str) -> Markup:
    """Return a text for `<pre>`: its tabs and line feeds are themselves, and so are its quotation
    marks, which need no escape there (and nowhere but in attributes)."""
    return Markup(UNSEEN.sub(lambda found: f"<i>{_escaped(found[0])}</i>", _for_element(text)))


def prose(text: str) -> Markup:
    """Return a sentence for a line of running text: what stands in `backticks` is code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(line(text))))


def plain(text: str) -> Markup:
    """Return a text for an attribute or `<title>`: escapes without markup."""
    return escape(_UNSEEN_IN_LINE.sub(lambda found: _escaped(found[0]), text))


def _block_of_bytes(data: bytes) -> Markup:
    """Return bytes for `<pre>`: those that are no UTF-8 as `\\xff`."""

    def mark(found: re.Match[str]) -> str:
        code = ord(found[0])
        if 0xDC80 <= code <= 0xDCFF:  # what surrogateescape makes of such a byte
            return f"<i>\\x{code - 0xDC00:02x}</i>"
        return f"<i>{_escaped(found[0])}</i>"

    return Markup(UNSEEN.sub(mark, _for_element(data.decode("utf-8", "surrogateescape"))))


_NOTHING = Markup()


@dataclass(frozen=True)
class Shown:
    """What is shown of bytes: their beginning, how many are left out, and their end."""

    head: Markup
    left_out: int = 0
    tail: Markup = _NOTHING


def shown(data: bytes, limit: int) -> Shown:
    """Show at most `limit` bytes, and a few more so that no character is torn. Of longer ones three
    quarters are their beginning, the rest their end, where streams go wrong."""
    if len(data) <= limit:
        return Shown(_block_of_bytes(data))
    head, tail = limit * 3 // 4, len(data) - limit // 4
    for _ in range(3):
        head += head < tail and _within_character(data, head)
        tail += _within_character(data, tail)
    return Shown(_block_of_bytes(data[:head]), tail - head, _block_of_bytes(data[tail:]))


def _within_character(data: bytes, at: int) -> bool:
    return at < len(data) and data[at] & 0xC0 == 0x80  # RFC 3629, section 3: 10xxxxxx
