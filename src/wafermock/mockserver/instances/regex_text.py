"""Strings that a regular expression matches, of a wanted length; and the engine that decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from .charset import Ranges, RegexSyntax, intersection, union
from .draws import Draws
from .regex import (
    UNBOUNDED,
    Back,
    Chars,
    Either,
    Group,
    Look,
    Repeat,
    Sequence,
    Tree,
    anchored,
    backtracks,
    lengths,
    parse,
)

BACKTRACK_LIMIT = 50_000
REGEX_SIZE_LIMIT = 10_000_000

_PLAIN: Ranges = ((0x61, 0x7A),)
_ALNUM: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A))
_PRINTABLE: Ranges = ((0x20, 0x7E),)
_TEXT: Ranges = ((0x20, 0x7E), (0xA0, 0xD7FF), (0xE000, 0xFFFD))
_LONGEST = 4_000


def pattern_options() -> object:
    """The limits that the validator's engine matches every pattern under."""
    import jsonschema_rs

    return jsonschema_rs.FancyRegexOptions(
        backtrack_limit=BACKTRACK_LIMIT, size_limit=REGEX_SIZE_LIMIT
    )


@lru_cache(maxsize=4096)
def matcher(pattern: str) -> Callable[[str], bool]:
    """A test whether a string matches, on the validator's engine. Bounded work."""
    import jsonschema_rs

    try:
        check = jsonschema_rs.Draft202012Validator(
            {"pattern": pattern},
            pattern_options=pattern_options(),  # type: ignore[arg-type]
        ).is_valid
    except ValueError:
        return lambda text: False

    def matches(text: str) -> bool:
        try:
            return check(text)
        except ValueError:
            return False

    return matches


@lru_cache(maxsize=4096)
def match_cost(pattern: str) -> int:
    """The steps that a match may be worth: one, or as many as backtracking to its limit takes."""
    try:
        return 30 if backtracks(parse(pattern)) else 1
    except RegexSyntax:
        return 30


@lru_cache(maxsize=4096)
def palette(ranges: Ranges, style: int) -> Ranges:
    """The characters of a set to write with: letters first, stranger ones in later styles."""
    orders = (
        (_PLAIN, ((0x30, 0x39),), ((0x41, 0x5A),), _PRINTABLE, _TEXT),
        (_ALNUM, _PRINTABLE, _TEXT),
        (_PRINTABLE, _TEXT),
    )
    for preferred in orders[min(style, 2)]:
        found = intersection(ranges, preferred)
        if found:
            return union(found)
    return ranges


class _Writer:
    """Writes one string; a new one for every string, as groups are remembered."""

    def __init__(self, draws: Draws, style: int) -> None:
        self.draws = draws
        self.style = style
        self.groups: dict[str, str] = {}
        self.looks: list[tuple[int, Tree]] = []
        self.written = 0

    def write(self, tree: Tree, low: int, high: int) -> str:
        """A match of about `low` to `high` characters, as far as the tree can."""
        if isinstance(tree, Chars):
            self.written += 1
            return self.character(tree.ranges)
        if isinstance(tree, Sequence):
            return self.sequence(tree.parts, low, high)
        if isinstance(tree, Either):
            fitting = [
                branch
                for branch in tree.branches
                if lengths(branch)[0] <= high and lengths(branch)[1] >= low
            ]
            return self.write(self.draws.pick(fitting or tree.branches), low, high)
        if isinstance(tree, Repeat):
            return self.repeat(tree, low, high)
        if isinstance(tree, Group):
            text = self.write(tree.part, low, high)
            for name in tree.names:
                self.groups[name] = text
            return text
        if isinstance(tree, Back):
            return self.groups.get(tree.name, "")
        if isinstance(tree, Look) and tree.ahead and tree.wanted:
            self.looks.append((self.written, tree.part))
        return ""

    def character(self, ranges: Ranges) -> str:
        chosen = palette(ranges, self.style)
        if not chosen:
            return ""
        at = self.draws.between(0, sum(high - low + 1 for low, high in chosen) - 1)
        for low, high in chosen:
            if at <= high - low:
                return chr(low + at)
            at -= high - low + 1
        return ""

    def sequence(self, parts: tuple[Tree, ...], low: int, high: int) -> str:
        spans = [lengths(part) for part in parts]
        rest_low = sum(span[0] for span in spans)
        rest_high = sum(span[1] for span in spans)
        out = []
        for part, (least, most) in zip(parts, spans, strict=True):
            rest_low -= least
            rest_high -= most
            text = self.write(
                part, max(least, low - rest_high), max(least, min(most, high - rest_low))
            )
            out.append(text)
            low -= len(text)
            high -= len(text)
        return "".join(out)

    def repeat(self, tree: Repeat, low: int, high: int) -> str:
        least, most = lengths(tree.part)
        fewest = max(tree.low, -(-low // most) if most else 0)
        largest = min(tree.high, high // least if least else fewest + 4)
        natural = fewest + self.extra(tree, least)
        count = max(tree.low, min(natural, largest), min(fewest, largest))
        out: list[str] = []
        done = 0
        for index in range(count):
            if self.written > _LONGEST:
                break
            left = count - index - 1
            text = self.write(
                tree.part,
                max(least, low - done - left * most if most < UNBOUNDED else least),
                max(least, min(most, high - done - left * least)),
            )
            if most >= UNBOUNDED and not left and low - done > len(text):
                text = self.write(tree.part, low - done, max(low, high) - done)
            out.append(text)
            done += len(text)
        return "".join(out)

    def extra(self, tree: Repeat, least: int) -> int:
        """How many more times than needed: none or one for `?`, a word's worth for letters."""
        if tree.high - tree.low == 1:
            return int(self.draws.chance(0.5))
        if isinstance(tree.part, Chars):
            return self.draws.between(0 if tree.low > 3 else 2, 7)
        return self.draws.between(0, 2) if least < 20 else 0


def candidates(pattern: str, low: int, high: int, draws: Draws, tries: int) -> Iterator[str]:
    """Up to `tries` strings, most of which match `pattern` and have `low` to `high` characters.

    Raises `RegexSyntax` for a pattern that is not understood.
    """
    tree = parse(pattern)
    starts, ends = anchored(tree, "^"), anchored(tree, "$")
    for attempt in range(tries):
        style = 0 if attempt < 2 else 1 if attempt < tries // 2 else 2
        writer = _Writer(draws, style)
        text = writer.write(tree, low if starts and ends else 0, max(high, 0))
        if writer.looks and attempt % 2:
            text = _overlaid(text, writer)
        if len(text) < low and not (starts and ends):
            text = _padded(text, low, starts, ends, writer, attempt)
        yield text


def _overlaid(text: str, writer: _Writer) -> str:
    """The text with what the look-aheads ask for written over it, where they stand."""
    for at, tree in writer.looks[:8]:
        wanted = _Writer(writer.draws, writer.style).write(tree, 0, max(len(text) - at, 1))
        text = text[:at] + wanted + text[at + len(wanted) :]
    return text


def _padded(text: str, low: int, starts: bool, ends: bool, writer: _Writer, attempt: int) -> str:
    missing = low - len(text)
    if attempt % 3 == 2 and text:
        filler = (text * (missing // len(text) + 1))[:missing]
    else:
        filler = "".join(writer.character(_PLAIN) for _ in range(missing))
    return text + filler if not ends else filler + text if not starts else text
