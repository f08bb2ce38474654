"""Sets of characters, as regular expressions name them."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TypeAlias

LAST = 0x10FFFF

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Code points from and to, both included, in order."""


class RegexSyntax(ValueError):
    """The pattern is not one that is understood here."""


DIGITS: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
SPACE: Ranges = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A),
    (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))

# Characters that stand for the scripts and categories; enough to write some text in each.
SAMPLED: Ranges = ((0x20, 0x7E), (0xA0, 0x24F), (0x370, 0x4FF), (0x5D0, 0x5EA), (0x620, 0x669))
SCRIPTS: dict[str, Ranges] = {
    "latin": ((0x41, 0x5A), (0x61, 0x7A), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x24F)),
    "greek": ((0x391, 0x3A1), (0x3A3, 0x3C9)),
    "cyrillic": ((0x400, 0x45F),),
    "hebrew": ((0x5D0, 0x5EA),),
    "arabic": ((0x621, 0x63A),),
    "han": ((0x4E00, 0x4FFF),),
    "hiragana": ((0x3041, 0x3096),),
    "katakana": ((0x30A1, 0x30FA),),
    "hangul": ((0xAC00, 0xAD00),),
    "thai": ((0xE01, 0xE30),),
    "ascii": ((0, 0x7F),),
    "any": ((0, LAST),),
}
CATEGORIES = {
    "letter": "L", "uppercase_letter": "Lu", "lowercase_letter": "Ll", "number": "N",
    "decimal_number": "Nd", "digit": "Nd", "punctuation": "P", "punct": "P", "symbol": "S",
    "separator": "Z", "space_separator": "Zs", "mark": "M", "other": "C", "control": "Cc",
    "alphabetic": "L", "alpha": "L", "uppercase": "Lu", "upper": "Lu", "lowercase": "Ll",
    "lower": "Ll", "titlecase_letter": "Lt", "other_letter": "Lo", "letter_number": "Nl",
    "white_space": "Z", "id_start": "L", "id_continue": "L", "xid_start": "L",
    "xid_continue": "L", "currency_symbol": "Sc", "math_symbol": "Sm",
}  # fmt: skip


def union(*sets: Ranges) -> Ranges:
    """Code points that stand in any of the sets, in order and without overlap."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(pair for ranges in sets for pair in ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """Code points that do not stand in the set; surrogates never do."""
    out, next_free = [], 0
    for low, high in union(ranges, ((0xD800, 0xDFFF),)):
        if low > next_free:
            out.append((next_free, low - 1))
        next_free = high + 1
    if next_free <= LAST:
        out.append((next_free, LAST))
    return tuple(out)


def intersection(one: Ranges, other: Ranges) -> Ranges:
    """Code points that stand in both."""
    return tuple((max(a, c), min(b, d)) for a, b in one for c, d in other if max(a, c) <= min(b, d))


@lru_cache(maxsize=256)
def property_ranges(name: str) -> Ranges:
    """Characters of a Unicode property as `\\p{...}` names it, from the sampled ones."""
    key, _, value = name.partition("=")
    wanted = (value or key).strip().lower().replace(" ", "_").replace("-", "_")
    if wanted in SCRIPTS:
        return SCRIPTS[wanted]
    category = CATEGORIES.get(wanted, (value or key).strip())
    points = [
        point
        for low, high in SAMPLED
        for point in range(low, high + 1)
        if unicodedata.category(chr(point)).startswith(category)
    ]
    if not points:
        raise RegexSyntax(f"unknown Unicode property {name!r}")
    return union(tuple((point, point) for point in points))
