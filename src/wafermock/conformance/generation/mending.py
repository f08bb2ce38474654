"""Mending: a request that breaks a rule between parameters is changed until it keeps all."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from .scene import Scene
from .values import Unmakeable

# So many changes are tried for one body, on all ways together.
_MOST_CHANGES = 40

Body = dict[str, Any]


def mended(scene: Scene, body: Body, keep: Collection[str]) -> Body | None:
    """Change a body so that no requirement is broken; None where that cannot be done.

    A requirement is broken when all its predicates hold, so one that does no longer hold will do:
    a property is put there or taken away. Those in `keep` stay as they are, there or not.
    """
    todo = [(body, frozenset(keep))]
    for _ in range(_MOST_CHANGES):
        if not todo:
            return None
        body, kept = todo.pop()
        unmet = scene.unmet(body)
        if not unmet:
            return body
        ways = []
        for name, value in _changes(scene, unmet[0].requirement.predicates, body, kept):
            changed = {key: inner for key, inner in body.items() if key != name}
            if value is not _GONE:
                changed[name] = value
            # What was changed for one rule is not changed back for another.
            ways.append((changed, kept | {name}))
        todo += reversed(ways)  # the first way is gone first, to its end
    return None


_GONE = object()

_Change = tuple[str, Any]


def _changes(
    scene: Scene, predicates: tuple[Mapping[str, Any], ...], body: Body, keep: frozenset[str]
) -> Iterator[_Change]:
    """Propose changes: first to put there what is missing, then to take away what is too much."""
    for predicate in predicates:
        name = predicate.get("absent")
        if name in scene.properties and name not in keep:
            try:
                yield name, scene.values.least((*_properties_at(scene), name), name)
            except Unmakeable:
                continue
        name = predicate.get("not_true")
        if name in scene.properties and name not in keep:
            yield name, True
    for predicate in predicates:
        for name in _holders(predicate):
            if name in body and name not in keep and name not in scene.required:
                yield name, _GONE


def _properties_at(scene: Scene) -> tuple[str | int, ...]:
    at, _ = scene.values.follow(scene.schema.pointer)
    return (*at, "properties")


def _holders(predicate: Mapping[str, Any]) -> list[str]:
    """Name the properties without which a predicate does not hold."""
    ((word, operand), *_) = predicate.items()
    if word in ("present", "true"):
        return [operand.split(".")[0]]
    if word in ("equals", "above", "matches", "not_of_model"):
        return [path.split(".")[0] for path in operand]
    if word == "not_above":
        return [path.split(".")[0] for pair in operand.items() for path in pair]
    return ["tool_choice"] if operand == "chosen_tool_is_missing" else []
