"""The campaign of invalid requests, kept apart by constraint: each breaks one, at one place."""

from collections import deque
from collections.abc import Iterator

from wafermock.spec import Contract
from wafermock.spec.pointer import format_pointer

from ..generation.asked import Asked, broken_in
from ..generation.headers import HeaderSide
from ..generation.likely_requests import seeded_request
from ..generation.sides import LeftOut as LeftOutSide
from ..planned import Planned, Subject
from .boundaries import planned
from .ordering import at_most, spread
from .possible import possible, sides_of
from .telling import LeftOut, Tell, silent

CAMPAIGN = "invalid"

# How often in a row a constraint may be left unbroken in generated bodies before no more are made.
_PATIENCE = 3


def invalid(
    contract: Contract,
    subject: Subject,
    seed: int = 0,
    count: int | None = None,
    tell: Tell = silent,
) -> Iterator[Planned]:
    """Plan invalid requests without end.

    Constraints take turns: the first round breaks each in one way, the next in another. When all
    ways are through, they come again in bodies that are generated from the seed. `tell` hears what
    is left out.
    """
    ways: dict[str, list[Asked | HeaderSide]] = {}
    for scene in possible(contract, subject.model, CAMPAIGN, tell):
        for item in sides_of(scene):
            if isinstance(item, LeftOutSide):
                tell(LeftOut(format_pointer(item.at), item.kind, item.why))
            elif not item.side.valid:
                ways.setdefault(format_pointer(item.side.at), []).append(item)
    # Within a round kinds of constraint take turns too: a small budget sees all.
    constraints = list(spread(ways.values(), lambda group: group[0].side.keyword))
    return at_most(_rounds(constraints, subject, seed), count)


def _rounds(
    constraints: list[list[Asked | HeaderSide]], subject: Subject, seed: int
) -> Iterator[Planned]:
    for number in range(max(map(len, constraints), default=0)):
        for ways in constraints:
            if number < len(ways):
                yield planned(ways[number], subject, CAMPAIGN)
    in_bodies = ([way for way in ways if isinstance(way, Asked)] for ways in constraints)
    for broken in _generated([ways for ways in in_bodies if ways], seed):
        yield planned(broken, subject, CAMPAIGN)


def _generated(constraints: list[list[Asked]], seed: int) -> Iterator[Asked]:
    """Break each constraint again and again, in bodies generated from the seed."""
    todo = deque((ways, 0, 0) for ways in constraints)
    while todo:
        ways, number, failures = todo.popleft()
        way = ways[number % len(ways)]
        where = format_pointer(way.side.at)
        broken = broken_in(way, seeded_request(way.scene, "invalid", seed, where, number))
        if broken is not None:
            yield broken
        failures = 0 if broken is not None else failures + 1
        if failures < _PATIENCE * len(ways):
            todo.append((ways, number + 1, failures))
