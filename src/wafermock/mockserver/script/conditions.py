"""Conditions on single values: globs, texts, numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from .patterns import Pattern


class Globs(Struct, frozen=True):
    """One of some names with `*`, `?` and `[...]` in them."""

    names: tuple[str, ...]

    @classmethod
    def read(cls, value: str | list[str]) -> Globs:
        return cls((value,) if isinstance(value, str) else tuple(value))

    def fits(self, name: str) -> bool:
        return any(_glob(pattern).fullmatch(name) for pattern in self.names)

    def __str__(self) -> str:
        return " or ".join(map(repr, self.names))


@lru_cache(maxsize=4096)
def _glob(glob: str) -> re.Pattern[str]:
    """Write a glob as an expression that never goes back more than one `*`.

    What `*` stands for ends at the first place where the next piece fits (an atomic group), so
    that the time is that of the text times that of the glob. `fnmatch` knows this too, but folds
    case on some systems.
    """
    import fnmatch

    return re.compile(fnmatch.translate(glob), re.DOTALL)


class Text(Struct, frozen=True):
    """A condition on a text; what is None does not matter, all else must hold."""

    equals: str | None = None
    contains: tuple[str, ...] = ()
    regex: Pattern | None = None
    fold: bool = False

    @classmethod
    def read(cls, value: str | Mapping[str, Any]) -> Text:
        """Read a condition of a script. Raises ValueError for an expression that is none."""
        if isinstance(value, str):
            return cls(equals=value)
        fold = value.get("fold", False)
        wanted = value.get("contains", ())
        regex = value.get("regex")
        return cls(
            equals=value.get("equals"),
            contains=(wanted,) if isinstance(wanted, str) else tuple(wanted),
            regex=None if regex is None else Pattern(regex, fold=fold),
            fold=fold,
        )

    def fits(self, text: str) -> bool:
        """Say whether a text meets the condition."""
        if self.regex is not None and not self.regex.found_in(text):
            return False
        if self.equals is None and not self.contains:
            return True
        folded = self._folded(text)
        if self.equals is not None and folded != self._folded(self.equals):
            return False
        return all(self._folded(part) in folded for part in self.contains)

    def _folded(self, text: str) -> str:
        return text.casefold() if self.fold else text

    def __str__(self) -> str:
        said = []
        if self.equals is not None:
            said.append(f"equals {self.equals!r}")
        said += [f"contains {part!r}" for part in self.contains]
        if self.regex is not None:
            said.append(f"matches '{self.regex.source}'")
        return " and ".join(said) + (" (case folded)" if self.fold and said else "") or "any text"


class Count(Struct, frozen=True):
    """A range of numbers, both ends in it."""

    least: int = 0
    most: int | None = None

    @classmethod
    def read(cls, value: int | Mapping[str, int]) -> Count:
        if isinstance(value, Mapping):
            return cls(int(value.get("at_least", 0)), _whole(value.get("at_most")))
        return cls(int(value), int(value))

    def fits(self, number: int) -> bool:
        return self.least <= number and (self.most is None or number <= self.most)

    def __str__(self) -> str:
        if self.most is None:
            return f"at least {self.least}"
        if self.least == self.most:
            return str(self.least)
        return f"from {self.least} to {self.most}" if self.least else f"at most {self.most}"


def _whole(value: int | None) -> int | None:
    return None if value is None else int(value)
