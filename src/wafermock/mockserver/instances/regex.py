"""ECMA-262 regular expressions as trees, and how long the strings are that they match.

JSON Schema's `pattern` (2020-12 core, section 6.4) is ECMA-262 with Unicode, matched anywhere in
the string unless anchored. What the tree cannot say (look-behind, word boundaries, back
references within lookarounds) is left to the search: every string is tried on the validator's
own engine before it is used.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct

from .charset import (
    DIGITS,
    LAST,
    LINE_ENDS,
    SPACE,
    WORD,
    Ranges,
    RegexSyntax,
    complement,
    intersection,
    property_ranges,
    union,
)

UNBOUNDED = 1 << 30


class Chars(Struct, frozen=True, eq=False):
    """One character of a set of code points."""

    ranges: Ranges


class Sequence(Struct, frozen=True, eq=False):
    """Parts, one after the other."""

    parts: tuple[Tree, ...]


class Either(Struct, frozen=True, eq=False):
    """One of several."""

    branches: tuple[Tree, ...]


class Repeat(Struct, frozen=True, eq=False):
    """A part, again and again."""

    part: Tree
    low: int
    high: int


class Group(Struct, frozen=True, eq=False):
    """A part that a back reference may name."""

    part: Tree
    names: tuple[str, ...]


class Back(Struct, frozen=True, eq=False):
    """What a group matched, once more."""

    name: str


class Look(Struct, frozen=True, eq=False):
    """A condition on what follows (`ahead`) or precedes."""

    part: Tree
    ahead: bool
    wanted: bool


class Edge(Struct, frozen=True, eq=False):
    """`^`, `$`, `\\b` or `\\B`."""

    kind: str


Tree: TypeAlias = Chars | Sequence | Either | Repeat | Group | Back | Look | Edge


@lru_cache(maxsize=4096)
def parse(pattern: str) -> Tree:
    """The tree of a pattern. Raises `RegexSyntax` where it is not understood."""
    return _Parser(pattern).parse()


_CONTROL = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "0": 0, "a": 7, "e": 27}
_SHORT = {"d": DIGITS, "w": WORD, "s": SPACE}


class _Parser:
    """Recursive descent over the pattern's text."""

    NESTED = 60

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.groups = 0
        self.depth = 0
        self.ignore_case = False
        self.extended = False
        self.dot_all = False

    def parse(self) -> Tree:
        tree = self.alternatives()
        if self.at < len(self.text):
            raise RegexSyntax(f"unbalanced ) at {self.at}")
        return tree

    def peek(self, expected: str) -> bool:
        return self.text.startswith(expected, self.at)

    def take(self, expected: str) -> bool:
        if self.text.startswith(expected, self.at):
            self.at += len(expected)
            return True
        return False

    def next(self) -> str:
        if self.at >= len(self.text):
            raise RegexSyntax("the pattern ends too early")
        self.at += 1
        return self.text[self.at - 1]

    def until(self, end: str) -> str:
        stop = self.text.find(end, self.at)
        if stop < 0:
            raise RegexSyntax(f"no {end} to end what began at {self.at}")
        found = self.text[self.at : stop]
        self.at = stop + len(end)
        return found

    def alternatives(self) -> Tree:
        self.depth += 1
        if self.depth > self.NESTED:
            raise RegexSyntax("groups nested too deep")
        branches = [self.sequence()]
        while self.take("|"):
            branches.append(self.sequence())
        self.depth -= 1
        return branches[0] if len(branches) == 1 else Either(tuple(branches))

    def sequence(self) -> Tree:
        parts: list[Tree] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            part = self.atom()
            if part is not None:
                parts.append(self.quantified(part))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def quantified(self, part: Tree) -> Tree:
        while True:
            low, high = 1, 1
            if self.take("*"):
                low, high = 0, UNBOUNDED
            elif self.take("+"):
                low, high = 1, UNBOUNDED
            elif self.take("?"):
                low, high = 0, 1
            elif self.peek("{") and (counts := self.counts()):
                low, high = counts
            else:
                return part
            if not self.take("?"):
                self.take("+")
            part = Repeat(part, low, high)

    def counts(self) -> tuple[int, int] | None:
        stop = self.text.find("}", self.at)
        low, comma, high = self.text[self.at + 1 : max(stop, 0)].partition(",")
        low, high = low.strip(), high.strip()
        if stop < 0 or not (low or comma) or not (low + high).isdecimal():
            return None
        self.at = stop + 1
        least = int(low or 0)
        return least, (int(high) if high else UNBOUNDED) if comma else least

    def atom(self) -> Tree | None:
        char = self.next()
        if char == "(":
            return self.group()
        if char == "[":
            return Chars(self.fold(self.char_class()))
        if char == ".":
            return Chars(((0, LAST),) if self.dot_all else complement(LINE_ENDS))
        if char in "^$":
            return Edge(char)
        if char == "\\":
            return self.escaped()
        if self.extended and char.isspace():
            return None
        return Chars(self.fold(((ord(char), ord(char)),)))

    def fold(self, ranges: Ranges) -> Ranges:
        if not self.ignore_case:
            return ranges
        letters = intersection(ranges, ((0x41, 0x5A), (0x61, 0x7A)))
        return union(ranges, tuple((a ^ 0x20, b ^ 0x20) for a, b in letters))

    def group(self) -> Tree | None:
        names: tuple[str, ...] = ()
        if self.take("?"):
            for opening, ahead, wanted in (
                ("=", True, True), ("!", True, False), ("<=", False, True), ("<!", False, False),
            ):  # fmt: skip
                if self.take(opening):
                    return Look(self.closed(), ahead, wanted)
            if self.take("#"):
                self.until(")")
                return None
            if self.take("P<") or self.take("<"):
                self.groups += 1
                names = (str(self.groups), self.until(">"))
            elif not self.take(":") and not self.take(">"):
                return self.flagged()
        else:
            self.groups += 1
            names = (str(self.groups),)
        return Group(self.closed(), names)

    def flagged(self) -> Tree | None:
        before = (self.ignore_case, self.extended, self.dot_all)
        on = True
        while (char := self.next()) not in ":)":
            if char == "-":
                on = False
            elif char == "i":
                self.ignore_case = on
            elif char == "x":
                self.extended = on
            elif char == "s":
                self.dot_all = on
            elif char not in "muUR":
                raise RegexSyntax(f"unknown group (?{char}")
        if char == ")":
            return None
        part = self.closed()
        self.ignore_case, self.extended, self.dot_all = before
        return Group(part, ())

    def closed(self) -> Tree:
        part = self.alternatives()
        if not self.take(")"):
            raise RegexSyntax("a group is not closed")
        return part

    def escaped(self) -> Tree:
        char = self.next()
        if char in "bB":
            return Edge(char)
        if char in "AZz":
            return Edge("^" if char == "A" else "$")
        if char in "123456789":
            self.at -= 1
            digits = self.text[self.at :]
            number = digits[: len(digits) - len(digits.lstrip("0123456789"))]
            self.at += len(number)
            return Back(number)
        if char == "k" and self.take("<"):
            return Back(self.until(">"))
        return Chars(self.fold(self.escape_ranges(char)))

    def escape_ranges(self, char: str) -> Ranges:
        if char in "dws":
            return _SHORT[char]
        if char in "DWS":
            return complement(_SHORT[char.lower()])
        if char in "pP":
            name = self.until("}") if self.take("{") else self.next()
            ranges = property_ranges(name.lstrip("^"))
            return complement(ranges) if (char == "P") != name.startswith("^") else ranges
        if char in _CONTROL:
            point = _CONTROL[char]
        elif char == "c":
            point = ord(self.next()) % 32
        elif char in "xu":
            point = self.code_point(2 if char == "x" else 4)
        else:
            point = ord(char)
        return ((point, point),)

    def code_point(self, width: int) -> int:
        if self.take("{"):
            digits = self.until("}")
        else:
            digits = self.text[self.at : self.at + width]
            self.at += len(digits)
        try:
            point = int(digits, 16)
        except ValueError as error:
            raise RegexSyntax(f"{digits!r} is no code point") from error
        if 0xD800 <= point < 0xDC00 and self.take("\\u"):
            low = int(self.text[self.at : self.at + 4] or "0", 16)
            self.at += 4
            point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00)
        if point > LAST or 0xD800 <= point <= 0xDFFF:
            raise RegexSyntax(f"{digits!r} is no code point")
        return point

    def char_class(self) -> Ranges:
        negated = self.take("^")
        parts: list[Ranges] = []
        first = True
        while first or not self.peek("]"):
            if self.at >= len(self.text):
                raise RegexSyntax("a character class is not closed")
            if first and self.peek("]"):
                break
            first = False
            if self.take("[:"):
                parts.append(property_ranges(self.until(":]")))
                continue
            if self.take("&&"):
                rest = self.char_class_tail()
                found = intersection(union(*parts), rest)
                return complement(found) if negated else found
            low = self.class_item()
            if self.peek("-") and not self.text.startswith("-]", self.at) and len(low) == 1:
                self.at += 1
                high = self.class_item()
                if len(high) == 1 and low[0][0] == low[0][1] and low[0][0] <= high[0][0]:
                    parts.append(((low[0][0], high[0][1]),))
                else:
                    parts.extend((low, ((0x2D, 0x2D),), high))
            else:
                parts.append(low)
        self.at += 1
        found = union(*parts)
        return complement(found) if negated else found

    def char_class_tail(self) -> Ranges:
        if self.take("["):
            found = self.char_class()
            self.take("]")
            return found
        return self.char_class()

    def class_item(self) -> Ranges:
        char = self.next()
        if char != "\\":
            return ((ord(char), ord(char)),)
        char = self.next()
        return ((8, 8),) if char == "b" else self.escape_ranges(char)


@lru_cache(maxsize=16384)
def lengths(tree: Tree) -> tuple[int, int]:
    """The fewest and the most characters of a match; back references count as any."""
    if isinstance(tree, Chars):
        return 1, 1
    if isinstance(tree, Sequence):
        each = [lengths(part) for part in tree.parts]
        return (
            min(sum(low for low, _ in each), UNBOUNDED),
            min(sum(high for _, high in each), UNBOUNDED),
        )
    if isinstance(tree, Either):
        each = [lengths(branch) for branch in tree.branches]
        return min(low for low, _ in each), max(high for _, high in each)
    if isinstance(tree, Repeat):
        low, high = lengths(tree.part)
        return min(low * tree.low, UNBOUNDED), min(high * tree.high, UNBOUNDED)
    if isinstance(tree, Group):
        return lengths(tree.part)
    return (0, UNBOUNDED) if isinstance(tree, Back) else (0, 0)


@lru_cache(maxsize=16384)
def weight(tree: Tree) -> int:
    """About how large an automaton for the tree is: its characters, with repeats written out."""
    if isinstance(tree, Chars):
        return 1 if tree.ranges[-1:] <= ((0x7F, 0x7F),) else 1 + len(tree.ranges)
    if isinstance(tree, Sequence):
        return 1 + sum(map(weight, tree.parts))
    if isinstance(tree, Either):
        return 1 + sum(map(weight, tree.branches))
    if isinstance(tree, Repeat):
        times = tree.high if tree.high < UNBOUNDED else tree.low + 1
        return min(weight(tree.part) * max(times, 1), UNBOUNDED)
    return weight(tree.part) if isinstance(tree, Group | Look) else 1


def backtracks(tree: Tree) -> bool:
    """Whether an engine must try and take back: for conditions around, and for back references."""
    if isinstance(tree, Look | Back):
        return True
    if isinstance(tree, Sequence):
        return any(map(backtracks, tree.parts))
    if isinstance(tree, Either):
        return any(map(backtracks, tree.branches))
    return backtracks(tree.part) if isinstance(tree, Repeat | Group) else False


def anchored(tree: Tree, edge: str) -> bool:
    """Whether every match touches the edge (`^` or `$`) of the string."""
    if isinstance(tree, Edge):
        return tree.kind == edge
    if isinstance(tree, Either):
        return all(anchored(branch, edge) for branch in tree.branches)
    if isinstance(tree, Group):
        return anchored(tree.part, edge)
    if isinstance(tree, Repeat):
        return tree.low > 0 and anchored(tree.part, edge)
    if isinstance(tree, Sequence):
        ordered = tree.parts if edge == "^" else tree.parts[::-1]
        for part in ordered:
            if anchored(part, edge):
                return True
            if not isinstance(part, Look | Edge) and lengths(part)[1] > 0:
                return False
    return False
