"""Texts that match a regular expression, read from the standard library's own parser."""

import re
from importlib import import_module
from typing import Any

from .source import Source

# Python's parser of regular expressions; it has no public name.
codes: Any = import_module("re._constants")
parser: Any = import_module("re._parser")

# Repetitions without a bound go so far beyond the least.
MORE = 4
_CATEGORIES = {
    codes.CATEGORY_DIGIT: "0123456789",
    codes.CATEGORY_SPACE: " ",
    codes.CATEGORY_WORD: "abcxyz_0189",
    codes.CATEGORY_NOT_DIGIT: "ab- ",
    codes.CATEGORY_NOT_SPACE: "ab1-",
    codes.CATEGORY_NOT_WORD: "-. ",
}
_ASCII = "".join(map(chr, range(97, 123))) + "".join(map(chr, range(32, 97)))


def matching(pattern: str, source: Source) -> str | None:
    """Make a text in which a pattern is found, None where that cannot be done.

    What the parser reads and this does not follow (look-around, references back) makes a text
    that may not match: the result is checked, never believed.
    """
    try:
        text = _text(parser.parse(pattern), source)
        return text if re.search(pattern, text) else None
    except (re.error, OverflowError, RecursionError, KeyError, IndexError):
        return None


def lengths(pattern: str) -> tuple[int, int | None]:
    """Return how many characters a pattern that is anchored on both sides matches: the least,
    and the most (None: without bound, or not known)."""
    if not (pattern.startswith("^") and pattern.endswith("$")):
        return 0, None
    try:
        least, most = parser.parse(pattern).getwidth()
    except (re.error, OverflowError, RecursionError):
        return 0, None
    return int(least), int(most) if most < 100_000 else None


def stretched(pattern: str, length: int) -> str | None:
    """Make a text of a length that matches a pattern, None where no simple one does."""
    texts = (letter * length for letter in _ASCII)
    return next((text for text in texts if re.search(pattern, text)), None)


def _text(parsed: Any, source: Source) -> str:
    return "".join(_piece(operator, operand, source) for operator, operand in parsed)


def _piece(operator: Any, operand: Any, source: Source) -> str:
    if operator is codes.LITERAL:
        return chr(operand)
    if operator is codes.NOT_LITERAL:
        return source.pick([c for c in _ASCII if ord(c) != operand])
    if operator is codes.ANY:
        return source.pick(_ASCII)
    if operator is codes.IN:
        return source.pick(_set(operand))
    if operator is codes.BRANCH:
        return _text(source.pick(operand[1]), source)
    if operator is codes.SUBPATTERN:
        return _text(operand[-1], source)
    if operator in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        least, most, repeated = operand
        times = source.integer(least, min(int(most), least + MORE))
        return "".join(_text(repeated, source) for _ in range(times))
    return ""  # an anchor


def _set(items: Any) -> str:
    negated = items[0][0] is codes.NEGATE
    members = "".join(_member(operator, operand) for operator, operand in items)
    return "".join(c for c in _ASCII if c not in members) if negated else members


def _member(operator: Any, operand: Any) -> str:
    if operator is codes.LITERAL:
        return chr(operand)
    if operator is codes.RANGE:
        low, high = operand
        return "".join(map(chr, range(low, min(high, low + 127) + 1)))
    if operator is codes.CATEGORY:
        return _CATEGORIES[operand]
    return ""
