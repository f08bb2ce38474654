"""The invalid part of a very large instance.

To say what is wrong, a validator builds the errors of every alternative of every item: minutes
for a hostile body. To say that something is wrong costs next to nothing. So of the long arrays of
a large instance only the first item at fault is kept, of its wide objects the first property, and
the validator is asked about the rest.
"""

from collections.abc import Callable, Collection
from typing import Any

from .pointer import Pointer, copy_json

# An instance with more values than this is large.
LARGE = 5_000

# Arrays up to this length, and objects up to this width, are left as they are.
SHORT = 16
NARROW = 64


def is_large(instance: Any) -> bool:
    """Say whether an instance holds so many values that its faults are looked for in an excerpt."""
    return has_more_values_than(LARGE, instance)


def has_more_values_than(left: int, instance: Any, *, member: int = 1) -> bool:
    """Say whether an instance holds more values than a number; looks at no more than that.

    A member of an object counts as so many values.
    """
    waiting = [instance]
    while waiting:
        node = waiting.pop()
        inner: Collection[Any] = ()
        if isinstance(node, dict):
            inner = node.values()
            left -= len(inner) * (member - 1)
        elif isinstance(node, list):
            inner = node
        left -= len(inner)
        if left < 0:
            return True
        waiting.extend(inner)
    return False


class Excerpt:
    """A copy of an invalid instance that is still invalid, but small."""

    def __init__(self, instance: Any, is_valid: Callable[[Any], bool]) -> None:
        # In a list, so that a root that is an array can be cut too.
        self._root = [copy_json(instance)]
        self._is_valid = is_valid
        self._shifts: dict[Pointer, int] = {}
        waiting: list[tuple[Pointer, Any]] = [((), self._root[0])]
        while waiting:
            at, node = waiting.pop()
            if isinstance(node, list) and len(node) > SHORT:
                self._cut(node, at)
            if isinstance(node, dict) and len(node) > NARROW:
                self._narrow(node)
            pairs = node.items() if isinstance(node, dict) else enumerate(node)
            waiting.extend(((*at, k), v) for k, v in pairs if isinstance(v, dict | list))

    @property
    def value(self) -> Any:
        return self._root[0]

    def original(self, location: Pointer) -> Pointer:
        """Return where a location in the excerpt stands in the instance."""
        return tuple(
            token + self._shifts.get(location[:depth], 0) if isinstance(token, int) else token
            for depth, token in enumerate(location)
        )

    def _cut(self, array: list[Any], at: Pointer) -> None:
        """Cut an array, in place, to the first item with which the whole is invalid, and to as
        many before it as that takes."""
        items = array[:]

        def keep(start: int, end: int) -> bool:
            array[:] = items[start:end]
            return not self._is_valid(self.value)

        start, _ = _shortest(len(items), keep)
        if start:
            self._shifts[at] = start

    def _narrow(self, mapping: dict[str, Any]) -> None:
        """Leave an object, in place, the first property with which the whole is invalid."""
        pairs = list(mapping.items())

        def keep(start: int, end: int) -> bool:
            mapping.clear()
            mapping.update(pairs[start:end])
            return not self._is_valid(self.value)

        _shortest(len(pairs), keep)


def _shortest(length: int, keep: Callable[[int, int], bool]) -> tuple[int, int]:
    """Find a short part that is enough: the end of the shortest beginning that is.

    `keep` leaves a part in place and says whether it is enough; the part found is left there.
    """
    # Most often the fault is near the beginning: look there first, in steps that double.
    low, high = 0, min(1, length)
    while high < length and not keep(0, high):
        low, high = high + 1, min(2 * high, length)
    while low < high:
        middle = (low + high) // 2
        if keep(0, middle):
            high = middle
        else:
            low = middle + 1
    size = 1  # one item may not be enough: a text among numbers takes a number beside it
    while not keep(max(high - size, 0), high) and size < high:
        size *= 2
    return max(high - size, 0), high
