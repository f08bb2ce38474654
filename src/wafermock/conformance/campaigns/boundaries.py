"""The boundaries campaign: each constraint of a request on both sides, one at a time."""

from collections.abc import Iterator

from wafermock.spec import Contract
from wafermock.spec.pointer import Pointer, format_pointer

from ..generation.asked import Asked
from ..generation.headers import HeaderSide
from ..generation.scene import Scene
from ..generation.sides import LeftOut as LeftOutSide
from ..planned import Planned, Subject, plan
from .ordering import at_most, spread
from .possible import possible, sides_of
from .telling import REFUSED, LeftOut, Tell, silent

CAMPAIGN = "boundaries"

# What may cost more tokens than this comes last.
COSTLY = 900


def boundaries(
    contract: Contract,
    subject: Subject,
    seed: int = 0,
    count: int | None = None,
    tell: Tell = silent,
) -> Iterator[Planned]:
    """Plan the values on both sides of every constraint; the rest of each request is the least.

    Kinds of constraint take turns, so that few requests see all kinds; what costs much comes last.
    The seed changes nothing. `tell` hears what is left out.
    """
    asked = possible(contract, subject.model, CAMPAIGN, tell)
    found = [item for scene in asked for item in _both(scene, tell)]
    cheap = [item for item in found if _cost(item) <= COSTLY]
    costly = [item for item in found if _cost(item) > COSTLY]
    ordered = [*spread(cheap, _turn), *spread(costly, _turn)]
    return at_most((planned(item, subject, CAMPAIGN) for item in ordered), count)


def _both(scene: Scene, tell: Tell) -> Iterator[Asked | HeaderSide]:
    """Yield every valid side, and the first invalid one of each constraint."""
    broken: set[Pointer] = set()
    for item in sides_of(scene):
        if isinstance(item, LeftOutSide):
            tell(LeftOut(format_pointer(item.at), item.kind, item.why))
        elif item.side.valid:
            yield item
        elif item.side.at not in broken:
            broken.add(item.side.at)
            yield item


def _cost(item: Asked | HeaderSide) -> int:
    return item.scene.tokens(item.base if isinstance(item, Asked) else item.scene.least)


def _turn(item: Asked | HeaderSide) -> tuple[object, ...]:
    return (item.side.keyword, item.side.valid, item.scene.operation.id)


def planned(item: Asked | HeaderSide, subject: Subject, campaign: str) -> Planned:
    """Plan the request of a side. What breaks a constraint is of one kind whichever campaign asks:
    a server that takes it has one fault, and a baseline knows it by one entry."""
    scene, side = item.scene, item.side
    headers: tuple[tuple[str, str], ...] = ()
    if isinstance(item, Asked):
        body, base = item.body, item.base
    else:
        body, base, headers = scene.least, scene.least, ((item.name, side.value),)
    return plan(
        scene.operation,
        body,
        subject,
        campaign=campaign,
        kind=f"boundary: {side.kind}" if side.valid else side.kind,
        location=format_pointer(side.at),
        path_values=scene.path_values,
        meant="valid" if side.valid else "invalid",
        statuses=() if side.valid else REFUSED,
        headers=headers,
        body=b"null" if body is None else None,  # null is a body, too
        # A body that is refused costs nothing; one that is not costs about what the valid one does.
        tokens=_cost(item),
        needs=scene.needs(base),
    )
