"""From a side of a constraint to a whole request that is valid, or breaks that constraint alone."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .mending import mended
from .places import Path, Place, places
from .scene import Scene
from .sides import LeftOut, Side, sides
from .values import Unmakeable


@dataclass(frozen=True)
class Asked:
    """A body for a side. `path` leads to where the value stands in it; `base` is the valid body
    that differs from it there alone (the body itself, for the valid side)."""

    scene: Scene
    side: Side
    body: Any
    path: Path
    base: Any


def asked_sides(scene: Scene) -> Iterator[Asked | LeftOut]:
    """Yield a request for every side of every constraint, and what was left out."""
    for place in places(scene):
        for side in sides(scene, place):
            yield side if isinstance(side, LeftOut) else _asked(scene, place, side)


def broken_in(asked: Asked, body: Mapping[str, Any]) -> Asked | None:
    """Break the constraint of an invalid side in another valid body; None where it cannot be.

    The body keeps its properties but for the one that holds the value.
    """
    scene, base, first = asked.scene, dict(body), _first(asked.path)
    if first:
        if not isinstance(asked.base, dict):
            return None
        changed = mended(scene, {**base, first[0]: asked.base[first[0]]}, first)
        if changed is None or scene.violation(changed):
            return None
        base = changed
        broken = put(base, asked.path, value_at(asked.body, asked.path))
    elif isinstance(asked.body, dict):
        gone = asked.base.keys() - asked.body.keys()
        more = {key: value for key, value in asked.body.items() if key not in asked.base}
        broken = {key: value for key, value in {**base, **more}.items() if key not in gone}
    else:
        return None
    return None if _flaw(scene, broken, asked.path) else replace(asked, body=broken, base=base)


def _asked(scene: Scene, place: Place, side: Side) -> Asked | LeftOut:
    try:
        base, path = place.build(side.value if side.valid else side.good)
    except Unmakeable as reason:
        return LeftOut(side.at, side.kind, f"no request can be made: {reason}")
    whole = mended(scene, base, _first(path)) if isinstance(base, dict) else base
    if whole is None:
        rule = scene.unmet(base)[0].line
        return LeftOut(side.at, side.kind, f"a rule between parameters is in the way: {rule}")
    # A body that is mended keeps the rules between parameters.
    if problem := scene.violation(whole) if isinstance(whole, dict) else scene.problem(whole):
        return LeftOut(side.at, side.kind, f"the request is not valid: {problem}")
    if side.valid:
        return Asked(scene, side, whole, path, whole)
    broken = put(whole, path, side.value)
    if flaw := _flaw(scene, broken, path):
        return LeftOut(side.at, side.kind, flaw)
    return Asked(scene, side, broken, path, whole)


def _flaw(scene: Scene, broken: Any, path: Path) -> str:
    """Say why a body does not break a constraint at a path, and nothing else."""
    if scene.schema.is_valid(broken):
        return "the request is valid all the same"
    for unmet in scene.unmet(broken):
        # A rule about this property alone is broken because the value makes no sense any more.
        if not unmet.requirement.needs <= set(_first(path)):
            return f"a rule between parameters is broken as well: {unmet.line}"
    violations = scene.schema.violations(broken)
    # As texts: the validator tells a key of digits as a number.
    where = tuple(map(str, path))
    if any(tuple(map(str, v.location[: len(path)])) != where for v in violations):
        return "another constraint is broken as well"
    return ""


def _first(path: Path) -> list[str]:
    """Return the property of the request that a path leads into, if any."""
    return [str(token) for token in path[:1]]


def value_at(body: Any, path: Path) -> Any:
    for token in path:
        body = body[token]
    return body


def put(body: Any, path: Iterable[str | int], value: Any) -> Any:
    """Return a body with another value at a path."""
    tokens = list(path)
    if not tokens:
        return value
    token, *rest = tokens
    inner = put(body[token], rest, value)
    if isinstance(body, list):
        return [inner if index == token else item for index, item in enumerate(body)]
    return {**body, token: inner}
