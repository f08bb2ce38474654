"""Remembering answers: a pure function gives the same answer to the same request."""

import sys
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

# One large request shall not push out all the small ones.
_LARGEST_SHARE = 64


class Memory(Generic[T]):
    """Keeps values by key, up to a number of bytes; the oldest go first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = 0
        self._kept: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()

    def get(self, key: Hashable) -> T | None:
        """Return the value kept for a key, if there is one."""
        found = self._kept.get(key)
        return None if found is None else found[0]

    def put(self, key: Hashable, value: T, size: int) -> None:
        """Keep a value that holds so many bytes, unless that is too large a share."""
        size += 1024  # what the key, the headers and the entry take beside the bodies
        if size * _LARGEST_SHARE > self._limit or key in self._kept:
            return
        self._kept[key] = (value, size)
        self._held += size
        while self._held > self._limit:
            _, (_, gone) = self._kept.popitem(last=False)
            self._held -= gone


def size_of(values: tuple[Hashable, ...]) -> int:
    """Say how many bytes a tuple holds, and tuples in it: keys can be larger than answers."""
    return sys.getsizeof(values) + sum(
        size_of(value) if isinstance(value, tuple) else sys.getsizeof(value) for value in values
    )
