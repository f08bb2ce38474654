"""The operations that a campaign can ask."""

from wafermock.spec import Contract
from wafermock.spec.pointer import format_pointer

from ..generation.scene import Scene, scenes
from ..planned import Subject
from .telling import LeftOut, Tell


def possible(contract: Contract, subject: Subject, campaign: str, tell: Tell) -> list[Scene]:
    """Return the scenes in which a request can be made, and tell of the others."""
    found = []
    for scene in scenes(contract, subject.model):
        if scene.obstacle:
            at = format_pointer(("paths", scene.operation.path, scene.operation.method))
            tell(LeftOut(at, campaign, scene.obstacle))
        else:
            found.append(scene)
    return found
