"""Parameters of a request: each of the document's, in a known share of requests."""

from collections.abc import Collection
from typing import Any

from . import shares
from .scene import LIMITS, Scene
from .source import Source
from .values import Unmakeable

# Room for an answer, in tokens: for a text, and for one that must come to its end to be judged.
SHORT_ROOM = (4, 48)
LONG_ROOM = (64, 160)
# The least that is written may not be more than the most.
_LEAST_WRITTEN = ("min_completion_tokens", "min_tokens")


def parameters(
    scene: Scene, source: Source, others: Collection[str], room: tuple[int, int] = SHORT_ROOM
) -> dict[str, Any]:
    """Make values for a share of an operation's parameters, and a limit on what is written.

    `others` are the properties that somebody else decides on. `room` is from where to where the
    limit lies, in tokens.
    """
    chosen = _limits(scene, source, room)
    at, _ = scene.values.follow(scene.schema.pointer)
    for name in scene.properties:
        if name in others or name in LIMITS or name in scene.required:
            if name in scene.required and name not in others:
                chosen[name] = scene.values.any((*at, "properties", name), name, source)
            continue
        if source.chance(shares.PARAMETER):
            try:
                chosen[name] = _value(scene, source, (*at, "properties", name), name)
            except Unmakeable:
                continue
    limit = max((chosen[name] or 0 for name in LIMITS if name in chosen), default=None)
    for name in _LEAST_WRITTEN:
        if limit is not None and isinstance(chosen.get(name), int):
            chosen[name] = min(chosen[name], limit)
    return chosen


def _value(scene: Scene, source: Source, at: tuple[str | int, ...], name: str) -> Any:
    if source.chance(shares.NULL) and scene.values.admits(at, None):
        return None
    return scene.values.any(at, name, source)


def _limits(scene: Scene, source: Source, room: tuple[int, int]) -> dict[str, Any]:
    """Bound what is written: always, since nobody wants to pay for more."""
    known = [name for name in LIMITS if name in scene.properties]
    if not known:
        return {}
    old = len(known) > 1 and source.chance(shares.OLD_LIMIT)
    name = known[-1] if old else known[0]
    return {name: source.integer(*room)}
