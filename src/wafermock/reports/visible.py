"""Texts and bytes of a server, made fit to be shown: nothing in them acts, nothing in them hides.

Control characters move a terminal's cursor, bidirectional marks reorder a line, zero-width ones
hide: each is written as the escape that names it. Whoever reads such a text sees what was sent.
"""

import re

# Whatever has no ink of its own, as the inside of a class of a regular expression: C0 and C1
# controls but tabs and line feeds, soft hyphen, bidirectional and zero-width marks, line and
# paragraph separators, interlinear and musical marks, half surrogate pairs, tags, and the
# noncharacters, which are an error in HTML and partly in XML. Listed rather than asked of
# unicodedata, whose tables differ between versions of Python.
NO_INK = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
) + "".join(f"{chr(plane | 0xFFFE)}{chr(plane | 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
_UNSEEN = re.compile(f"[\t\n{NO_INK}]")
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str, *, lines: bool = False) -> str:
    """Write what cannot be seen as escapes: `\\x1b`, `\\u202e`. With `lines`, line feeds and tabs
    stay, for whoever shows a text on several lines."""

    def escape(match: re.Match[str]) -> str:
        character = match[0]
        if lines and character in "\n\t":
            return character
        number = ord(character)
        if number < 0x100:
            return _NAMED.get(character) or f"\\x{number:02x}"
        return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"

    return _UNSEEN.sub(escape, text)


def cut(text: str, limit: int) -> str:
    """Shorten a text to so many characters, and say how many were left out."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit:,} more characters)"


def line(text: str, limit: int = 500) -> str:
    """Show a text on one line."""
    return cut(visible(cut(text, limit)), limit * 2)


def block(text: str, limit: int = 2000) -> str:
    """Show a text on as many lines as it has."""
    return cut(visible(cut(text, limit), lines=True), limit * 2)


def body(data: bytes, limit: int = 2000, omitted: int = 0) -> str:
    """Show a body: UTF-8 as text, any other byte as `\\xff`; at most about `limit` bytes of it.

    `omitted` is the number of bytes that were not kept at all.
    """
    kept = data[:limit]
    left = len(data) - len(kept) + omitted
    if left and len(kept) < len(data):
        # Not within a character: at most three bytes of one can be the last.
        for size in range(len(kept), max(len(kept) - 4, 0), -1):
            if data[size] & 0xC0 != 0x80:
                left += len(kept) - size
                kept = data[:size]
                break
    text = visible(kept.decode("utf-8", "backslashreplace"), lines=True)
    return f"{text}… ({left:,} more bytes)" if left else text
