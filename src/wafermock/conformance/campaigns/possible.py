"""The operations that a campaign can ask, and what it can break of each."""

from functools import lru_cache

from wafermock.spec import Contract
from wafermock.spec.pointer import format_pointer

from ..generation.asked import Asked, asked_sides
from ..generation.headers import HeaderSide, header_sides
from ..generation.scene import Scene, scenes
from ..generation.sides import LeftOut as LeftOutSide
from .telling import LeftOut, Tell, silent


def possible(
    contract: Contract, model: str, campaign: str = "", tell: Tell = silent
) -> list[Scene]:
    """Return the scenes in which a request can be made, and tell of the others."""
    found = []
    for scene in _scenes(contract, model):
        if scene.obstacle:
            at = format_pointer(("paths", scene.operation.path, scene.operation.method))
            tell(LeftOut(at, campaign, scene.obstacle))
        else:
            found.append(scene)
    return found


# Campaigns of one run share scenes, and what was found out about them: they are not to be changed.


@lru_cache(maxsize=2)
def _scenes(contract: Contract, model: str) -> tuple[Scene, ...]:
    return tuple(scenes(contract, model))


@lru_cache(maxsize=64)
def sides_of(scene: Scene) -> tuple[Asked | HeaderSide | LeftOutSide, ...]:
    """Return both sides of every constraint of a scene: parameters of the body, then headers."""
    return (*asked_sides(scene), *header_sides(scene))
