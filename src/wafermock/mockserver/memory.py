"""Remembering answers: a pure function gives the same answer to the same request."""

import sys
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import astuple

T = TypeVar("T")

# One large request shall not push out all the small ones.
_LARGEST_SHARE = 64


class Memory(Generic[T]):
    """Keeps values by key, each by one, up to a number of bytes; the oldest go first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = 0
        self._kept: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._ids: set[int] = set()

    def get(self, key: Hashable) -> T | None:
        """Return the value kept for a key, if there is one."""
        found = self._kept.get(key)
        return None if found is None else found[0]

    def holds(self, value: T) -> bool:
        """Say whether this very value is kept, and can be found again."""
        return id(value) in self._ids

    def put(self, key: Hashable, value: T, size: int) -> None:
        """Keep a value that holds so many bytes, unless that is too large a share."""
        size += 1024  # what the key, the headers and the entry take beside the bodies
        if size * _LARGEST_SHARE > self._limit or key in self._kept:
            return
        self._kept[key] = (value, size)
        self._ids.add(id(value))
        self._held += size
        while self._held > self._limit:
            _, (gone, held) = self._kept.popitem(last=False)
            self._ids.discard(id(gone))
            self._held -= held


def size_of(values: Iterable[Any]) -> int:
    """Say how many bytes values hold, and tuples and structs of them: keys can be larger than
    answers."""
    return sum(map(_size, values))


def _size(value: Any) -> int:
    parts: Iterable[Any] = ()
    if isinstance(value, Struct):
        parts = astuple(value)
    elif isinstance(value, tuple):
        parts = value
    return sys.getsizeof(value) + size_of(parts)
