"""Places: every schema inside that of a request, and how a request is made that has a given value
there."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from wafermock.spec.pointer import Pointer

from .conversation import surrounded
from .scene import Scene
from .values import Unmakeable

Path = tuple[str | int, ...]
Build = Callable[[Any], tuple[Any, Path]]

# What stands beside a property that says nothing alone.
BESIDE = {"strict": ("schema", "parameters")}
# The name of a property where a schema admits any.
ANY_NAME = "1234"


@dataclass(frozen=True)
class Place:
    """A schema at `at` of the contract, met as the value of a property called `name`.

    `build` makes a request that is otherwise the least, with a value there, and says where the
    value stands in it. `branch` is true for an alternative: its `type` alone decides nothing.
    """

    at: Pointer
    node: dict[str, Any]
    name: str
    build: Build
    branch: bool = False


def places(scene: Scene) -> list[Place]:
    """List the places of a request, the outer ones first; each schema once."""
    start = scene.schema.pointer
    found: list[Place] = []
    seen: set[Pointer] = set()
    todo: deque[tuple[Pointer, str, Build, bool]] = deque([(start, "", lambda v: (v, ()), False)])
    while todo:
        at, name, build, branch = todo.popleft()
        try:
            at, node = scene.values.follow(at)
        except Unmakeable:
            continue
        if at in seen or not isinstance(node, dict):
            continue
        seen.add(at)
        place = Place(at, node, name, build, branch)
        found.append(place)
        todo.extend(_inside(scene, place))
    return found


def _inside(scene: Scene, place: Place) -> Iterator[tuple[Pointer, str, Build, bool]]:
    node, at = place.node, place.at
    for name in node.get("properties", {}):
        yield (*at, "properties", name), name, _in_object(scene, place, name), False
    for keyword in ("oneOf", "anyOf", "allOf"):
        for index, branch in enumerate(node.get(keyword, ())):
            if branch != {"type": "null"}:
                together = keyword == "allOf"
                build = _in_all_of(scene, place, branch) if together else place.build
                yield (*at, keyword, index), place.name, build, not together
    if isinstance(node.get("additionalProperties"), dict):
        build = _in_object(scene, place, ANY_NAME)
        yield (*at, "additionalProperties"), ANY_NAME, build, False
    for index, _ in enumerate(node.get("prefixItems", ())):
        yield (*at, "prefixItems", index), "", _in_array(scene, place, index), False
    if isinstance(node.get("items"), dict):
        index = len(node.get("prefixItems", ()))
        yield (*at, "items"), "", _in_array(scene, place, index), False


def least_object(scene: Scene, place: Place) -> dict[str, Any]:
    """Return the least object for a place; at the root, the least request."""
    if place.at == scene.values.follow(scene.schema.pointer)[0]:
        return dict(scene.least)
    value = scene.values.least(place.at, place.name)
    return dict(value) if isinstance(value, dict) else {}


def _in_object(scene: Scene, place: Place, name: str) -> Build:
    def build(value: Any) -> tuple[Any, Path]:
        least = least_object(scene, place)
        for beside in BESIDE.get(name, ()):
            if beside in place.node.get("properties", {}):
                least[beside] = scene.values.least((*place.at, "properties", beside), beside)
        whole, path = place.build({**least, name: value})
        return whole, (*path, name)

    return build


def _in_array(scene: Scene, place: Place, index: int) -> Build:
    is_conversation = scene.is_chat and place.name == "messages"

    def build(value: Any) -> tuple[Any, Path]:
        if is_conversation:
            items, where = surrounded(value)
        else:
            length = max(place.node.get("minItems", 0), index + 1)
            items, where = scene.values.least_list(place.at, length), index
            items[where] = value
        whole, path = place.build(items)
        return whole, (*path, where)

    return build


def _in_all_of(scene: Scene, place: Place, branch: Any) -> Build:
    """Build an object of which this part of an `allOf` is one; the other parts are the least."""

    def build(value: Any) -> tuple[Any, Path]:
        if isinstance(value, dict):
            _, node = scene.values.follow((*place.at, "allOf", place.node["allOf"].index(branch)))
            own = node.get("properties", {}) if isinstance(node, dict) else {}
            others = least_object(scene, place)
            value = {**{k: v for k, v in others.items() if k not in own}, **value}
        return place.build(value)

    return build
