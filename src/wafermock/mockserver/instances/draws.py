"""Draws from a seeded stream, made of `random()` alone: the same in every Python version."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draws:
    """A stream of draws that is a function of its seed."""

    __slots__ = ("_random", "random")

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.random = self._random.random

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random() < probability

    def between(self, low: int, high: int) -> int:
        """A whole number in [low, high], of any size."""
        span = high - low + 1
        if span <= 1 << 50:
            return low + int(self.random() * span)
        bits = span.bit_length()
        while True:
            drawn = self._random.getrandbits(bits)
            if drawn < span:
                return low + drawn

    def pick(self, choices: Sequence[T]) -> T:
        """One of the choices."""
        return choices[int(self.random() * len(choices))]

    def shuffled(self, choices: Sequence[T]) -> list[T]:
        """The choices in another order."""
        out = list(choices)
        for index in range(len(out) - 1, 0, -1):
            other = int(self.random() * (index + 1))
            out[index], out[other] = out[other], out[index]
        return out
