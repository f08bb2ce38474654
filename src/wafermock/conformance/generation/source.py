"""Where generators take their choices from: a seed, or Hypothesis (see `drawn`).

A generator is written once, over a source. From a seed it gives the same values in every process
and Python version; from Hypothesis it gives values that shrink, as every choice becomes simpler
towards its first, lowest or false end.
"""

import hashlib
import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

from .words import ODD_TEXTS, WORDS

T = TypeVar("T")


class Source(Protocol):
    """Choices, each between a simplest and a less simple one."""

    def integer(self, low: int, high: int) -> int:
        """Choose a whole number; `low` is the simplest."""

    def number(self, low: float, high: float) -> float:
        """Choose a number; both ends are possible."""

    def chance(self, share: float) -> bool:
        """Say yes in this share of cases; no is simpler."""

    def pick(self, items: Sequence[T]) -> T:
        """Choose an item; the first is the simplest."""

    def sentence(self) -> str:
        """Choose a text that people might write; never empty."""

    def text(self, low: int = 0, high: int = 12) -> str:
        """Choose any text of `low` to `high` characters, without surrogates."""


class Seeded:
    """Choices that follow from what the source is made with, and from nothing else."""

    def __init__(self, *seeds: str | int) -> None:
        digest = hashlib.blake2b(repr(seeds).encode(), digest_size=8).digest()
        # Of `random`, only `random()` is promised to be the same in all versions of Python.
        self._random = random.Random(int.from_bytes(digest, "big")).random

    def integer(self, low: int, high: int) -> int:
        return low + int(self._random() * (high - low + 1))

    def number(self, low: float, high: float) -> float:
        # Few digits: the same text in every encoding, and easy to read in a report.
        return min(high, max(low, round(low + self._random() * (high - low), 3)))

    def chance(self, share: float) -> bool:
        return self._random() < share

    def pick(self, items: Sequence[T]) -> T:
        return items[self.integer(0, len(items) - 1)]

    def sentence(self) -> str:
        if self.chance(0.1):
            return self.pick(ODD_TEXTS)
        words = [self.pick(WORDS) for _ in range(self.integer(1, 12))]
        return " ".join(words).capitalize() + self.pick(".?!")

    def text(self, low: int = 0, high: int = 12) -> str:
        letters = "".join(ODD_TEXTS) if self.chance(0.2) else "abcdefghijklmnopqrstuvwxyz "
        return "".join(self.pick(letters) for _ in range(self.integer(low, high)))
