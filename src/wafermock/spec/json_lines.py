"""The lines of a JSON text's values, found without building anything of it."""

import json
import re
from bisect import bisect_left

from .pointer import Pointer

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")

# Where the parts of a value begin, by their token: what begins the line, and the value itself.
_Parts = dict[str | int, tuple[int, int]]


class JsonLines:
    """Says on which line (from 1) a value of a JSON text stands.

    What is passed over is read at the speed of Python's own reader, and each object or array is
    gone through once however often it is asked for, so that all lines together cost no more than
    reading the text some times. The text must be JSON: it has been read before.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = [found.start() for found in re.finditer(r"\r\n?|\n", text)]
        self._parts: dict[int, _Parts] = {}

    def line_of(self, pointer: Pointer) -> int:
        """Return the line of the value at a pointer, or of its nearest ancestor.

        A member of an object stands where its name does.
        """
        begins = value = self._behind_space(0)
        for token in pointer:
            try:
                parts = self._parts_of(value)
            except RecursionError:  # reading it came as deep, from less deep in the stack
                break
            part = parts.get(self._spelled(value, token))
            if part is None:
                break
            begins, value = part
        return bisect_left(self._ends, begins) + 1

    def _spelled(self, value: int, token: str | int) -> str | int:
        """Spell a token as the value's kind has it: pointers that were read hold texts only."""
        if self._text[value] == "[" and str(token).isdecimal():
            return int(token)
        return str(token)

    def _parts_of(self, value: int) -> _Parts:
        if value not in self._parts:
            kind = self._text[value]
            read = {"{": self._members, "[": self._items}.get(kind)
            self._parts[value] = read(value + 1) if read else {}
        return self._parts[value]

    def _members(self, at: int) -> _Parts:
        parts: _Parts = {}
        at = self._behind_space(at)
        while self._text[at] != "}":
            name, behind = _DECODER.raw_decode(self._text, at)
            value = self._behind_space(self._behind_space(behind) + 1)  # behind the colon
            parts[name] = (at, value)
            at = self._behind_value(value)
        return parts

    def _items(self, at: int) -> _Parts:
        parts: _Parts = {}
        at = self._behind_space(at)
        while self._text[at] != "]":
            parts[len(parts)] = (at, at)
            at = self._behind_value(at)
        return parts

    def _behind_value(self, at: int) -> int:
        """Return where the next part begins, or the bracket that closes them."""
        _, at = _DECODER.raw_decode(self._text, at)
        at = self._behind_space(at)
        return self._behind_space(at + 1) if self._text[at] == "," else at

    def _behind_space(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found else at
