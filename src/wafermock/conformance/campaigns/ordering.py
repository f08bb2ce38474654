"""The order of a campaign: so that its first requests, however few, cover most."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def spread(items: Iterable[T], key: Callable[[T], Hashable]) -> Iterator[T]:
    """Take one item of each key in turn, keys and items in the order in which they first come."""
    heaps: dict[Hashable, list[T]] = {}
    for item in items:
        heaps.setdefault(key(item), []).append(item)
    rounds = max(map(len, heaps.values()), default=0)
    for number in range(rounds):
        yield from (heap[number] for heap in heaps.values() if number < len(heap))


def at_most(items: Iterator[T], count: int | None) -> Iterator[T]:
    """Take the first items, all of them for None."""
    return items if count is None else islice(items, count)
