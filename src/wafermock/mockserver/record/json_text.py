"""Where the values of a JSON text stand in it, so that one can be replaced and no other byte moves.

The reader is lenient: a text that ends early is read as far as it goes.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

Path = tuple[str | int, ...]

# Paths end here, so that a text which only opens brackets costs no more than its length.
DEEPEST = 64

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_NUMBER = re.compile(r"-?\d[\d.eE+-]*")


class Leaf(Struct, frozen=True):
    """A text or a number of a JSON text: where it stands, quotes included, and what it says.

    `path` leads to it; of a member's name (`is_name`) it leads to the member.
    """

    start: int
    end: int
    path: Path
    value: str
    is_name: bool = False
    is_number: bool = False

    @property
    def member(self) -> str:
        """The name that the value stands under, itself or the array it is in."""
        return next((step for step in reversed(self.path) if isinstance(step, str)), "")

    @property
    def is_token(self) -> bool:
        """Whether it is a piece of a text that `logprobs` tell token by token."""
        return self.path[-1:] == ("token",) or self.path[-2:-1] == ("tokens",)


class Anatomy(Struct):
    """The leaves of a JSON text in their order, and where its objects and arrays stand."""

    leaves: list[Leaf] = []
    containers: dict[Path, tuple[int, int]] = {}


def looks_like_json(text: str) -> bool:
    """Say whether a text begins as an object, an array or a text of JSON does."""
    return text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[", '"')


def anatomy(text: str) -> Anatomy:
    """Find everything in a JSON text. What stands where JSON has nothing is passed over."""
    found = Anatomy()
    stack: list[_Open] = []
    for token in _TOKEN.finditer(text):
        sign = token[0]
        top = stack[-1] if stack else None
        if sign in ("{", "["):
            path = top.path_here if top else ()
            stack.append(_Open(path[:DEEPEST], token.start(), is_array=sign == "["))
        elif sign in ("}", "]"):
            if stack:
                closed = stack.pop()
                found.containers[closed.path] = (closed.start, token.end())
        elif sign == ",":
            if top:
                top.next()
        elif sign == ":":
            if top:
                top.has_name = True
        elif sign[0] == '"':
            is_name = top is not None and top.wants_name
            value = _said(sign)
            if top is not None and is_name:
                top.name = value
            path = top.path_here if top else ()
            found.leaves.append(Leaf(token.start(), token.end(), path, value, is_name))
        elif _NUMBER.fullmatch(sign):
            path = top.path_here if top else ()
            leaf = Leaf(token.start(), token.end(), path, sign, is_number=True)
            found.leaves.append(leaf)
    return found


class _Open(Struct):
    """An object or array that has begun and not ended."""

    path: Path
    start: int
    is_array: bool
    index: int = 0
    name: str = ""
    has_name: bool = False

    @property
    def wants_name(self) -> bool:
        return not self.is_array and not self.has_name

    @property
    def path_here(self) -> Path:
        return (*self.path, self.index if self.is_array else self.name)

    def next(self) -> None:
        self.index += 1
        self.has_name = False


def _said(literal: str) -> str:
    closed = len(literal) > 1 and literal.endswith('"')
    inner = literal[1:-1] if closed else literal[1:]
    if "\\" not in inner:
        return inner
    try:
        value: Any = json.loads(f'"{inner}"', strict=False)
    except ValueError:  # an escape that is none
        return inner
    return str(value)


def literal(value: str, like: str) -> str:
    """Write a text as JSON, escaped in the way that `like`, a literal, is."""
    written = json.dumps(value, ensure_ascii="\\u" in like)
    return written if len(like) > 1 and like.endswith('"') else written[:-1]


def indices(found: Anatomy) -> dict[Path, int]:
    """Return the number that objects in arrays give themselves by a member `index`.

    In a stream each chunk may hold one element of an array; only this tells which.
    """
    return dict(_indices(found))


def _indices(found: Anatomy) -> Iterator[tuple[Path, int]]:
    for leaf in found.leaves:
        at_index = len(leaf.path) > 1 and leaf.path[-1] == "index" and not leaf.is_name
        if at_index and leaf.is_number and leaf.value.isdecimal() and len(leaf.value) < 10:
            yield leaf.path[:-1], int(leaf.value)
