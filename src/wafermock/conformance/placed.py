"""Places in the programme of a run: what exchanges are called by, whenever they are sent."""

from collections.abc import Sequence
from dataclasses import replace
from typing import overload

from .planned import Planned
from .runner import Item

# What stands before the place of requests that are not of the programme itself: those that find out
# first what a server can do, and those that search, or make smaller what was found.
FIRST = "c"
SEARCHING = "s"


class Placed(Sequence[Item]):
    """Items that know their places: `17`, and `17:gzip` for the request of a probe in that role.

    `before` items of the programme stand before them. An item is placed when it is taken. Several
    probes may share a request; placed, each has its own.
    """

    def __init__(self, items: Sequence[Item], before: int = 0, mark: str = "") -> None:
        self._items = items
        self._before = before
        self._mark = mark

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, number: int) -> Item: ...
    @overload
    def __getitem__(self, number: slice) -> list[Item]: ...

    def __getitem__(self, number: int | slice) -> Item | list[Item]:
        if isinstance(number, slice):
            return [self[each] for each in range(len(self))[number]]
        number = range(len(self))[number]
        item, place = self._items[number], f"{self._mark}{self._before + number + 1}"
        if isinstance(item, Planned):
            return replace(item, place=place)
        requests = {
            role: replace(request, place=f"{place}:{role}")
            for role, request in item.requests.items()
        }
        return replace(item, requests=requests)
