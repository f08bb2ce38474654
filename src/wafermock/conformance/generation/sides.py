"""Sides: values on both sides of each constraint of a schema, one constraint at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jsonschema_rs

from wafermock.spec.pointer import Pointer

from .patterns import lengths, stretched
from .places import ANY_NAME, Place, least_object
from .scene import Scene
from .values import Unmakeable, types_of

# Longer texts and lists than this are not sent to find a bound.
LONGEST = 16_384
# So far beyond a bound is far; not so far that a server which takes it has much to do.
FAR = 100
UNKNOWN_KEY = "unknown_key_of_wafermock"

# A value of each JSON type, to stand where it does not belong.
STRANGERS: dict[str, Any] = {
    "string": "seven",
    "integer": 7,
    "number": 7.5,
    "boolean": True,
    "array": ["seven"],
    "object": {"seven": 7},
    "null": None,
}
_HANDLED = {
    "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems",
    "minProperties", "maxProperties", "required", "additionalProperties", "properties", "items",
    "prefixItems", "oneOf", "anyOf", "allOf", "$ref",
}  # fmt: skip
_NO_CONSTRAINT = {
    "title", "description", "default", "example", "examples", "deprecated", "format", "$comment",
    "$defs", "definitions", "discriminator", "readOnly", "writeOnly", "xml", "externalDocs",
    "contentMediaType", "contentEncoding", "contentSchema", "$schema", "$id", "$anchor",
}  # fmt: skip
# Constraints on a value itself, which do not lead to other schemas.
_OWN = _HANDLED - {
    "required", "additionalProperties", "properties", "items", "prefixItems", "oneOf", "anyOf",
    "allOf", "$ref",
}  # fmt: skip


@dataclass(frozen=True)
class Side:
    """A value on one side of a constraint. `at` points to the constraint; `good` is a value that
    keeps it, in whose place `value` stands, where `value` breaks it."""

    at: Pointer
    keyword: str
    kind: str
    valid: bool
    value: Any
    good: Any = None


@dataclass(frozen=True)
class LeftOut:
    """A constraint, or a side of it, that no request is made for, and why."""

    at: Pointer
    kind: str
    why: str


def sides(scene: Scene, place: Place) -> Iterator[Side | LeftOut]:
    """Yield the sides of every constraint at a place."""
    for keyword in place.node:
        if keyword not in _HANDLED | _NO_CONSTRAINT and not keyword.startswith("x-"):
            yield LeftOut((*place.at, keyword), keyword, "no values are made for this keyword")
    try:
        least = least_object(scene, place) if _is_object(place) else None
        good = least if least is not None else scene.values.least(place.at, place.name)
    except Unmakeable as reason:
        yield LeftOut(place.at, "any", f"no value can be made: {reason}")
        return
    made: list[Side | LeftOut] = [
        *_types(scene, place, good),
        *_choices(place, good),
        *_numbers(place, good),
        *_texts(place, good),
    ]
    try:
        made += _items(scene, place, good)
    except Unmakeable as reason:
        made.append(LeftOut(place.at, "items", f"no list can be made: {reason}"))
    if least is not None:
        made += _keys(place, least)
    for side in made:
        if isinstance(side, LeftOut) or _alone(place.node, side):
            yield side
        else:
            why = "it cannot be broken without another constraint of the same schema"
            yield LeftOut(side.at, side.kind, why)


def _is_object(place: Place) -> bool:
    keys = {"properties", "required", "additionalProperties", "minProperties"}
    return "object" in types_of(place.node) or bool(keys & place.node.keys())


def _alone(node: dict[str, Any], side: Side) -> bool:
    """Say whether a value keeps all other constraints that its schema has on the value itself."""
    if side.valid:
        return True
    dropped = {side.keyword}
    if side.keyword in ("type", "null"):
        dropped = {"type", "enum", "const"}  # a value of another type is none of the constants
    rest = {key: value for key, value in node.items() if key in _OWN - dropped}
    return not rest or bool(jsonschema_rs.Draft202012Validator(rest).is_valid(side.value))


def _types(scene: Scene, place: Place, good: Any) -> Iterator[Side]:
    union = next((k for k in ("oneOf", "anyOf") if k in place.node), None)
    keyword = "type" if "type" in place.node else union
    if keyword is None:
        return
    at, kinds = (*place.at, keyword), kinds_of(scene, place.at)
    for kind in types_of(place.node):
        if kind == "boolean":
            yield Side(at, "type", "true", True, True)
            yield Side(at, "type", "false", True, False)
        elif kind == "null":
            yield Side(at, "type", "null", True, None)
        elif "enum" not in place.node and "const" not in place.node:
            yield Side(at, "type", kind, True, good if _is(kind, good) else STRANGERS[kind])
    if union and "null" in kinds and "type" not in place.node:
        yield Side(at, "type", "null", True, None)
    if place.branch or kinds >= STRANGERS.keys():
        return  # an alternative's type can only be broken together with those of the others
    wanted = " or ".join(kind for kind in STRANGERS if kind in kinds - {"null"})
    for kind, value in STRANGERS.items():
        if kind in kinds or (kind == "integer" and "number" in kinds):
            continue
        if kind == "null":
            yield Side(at, "type", "null where not allowed", False, None, good)
        else:
            yield Side(at, "type", f"wrong type: {kind} for {wanted}", False, value, good)
    if kinds & {"integer", "number"} and "string" not in kinds:
        yield Side(at, "type", f"wrong type: digits in a string for {wanted}", False, "1", good)
    if "boolean" in kinds and "string" not in kinds:
        yield Side(at, "type", f"wrong type: 'true' in a string for {wanted}", False, "true", good)


def kinds_of(scene: Scene, at: Pointer, depth: int = 0) -> set[str]:
    """Return the JSON types that a schema admits, alternatives and references followed."""
    at, node = scene.values.follow(at)
    if not isinstance(node, dict) or depth > _DEEPEST:
        return set(STRANGERS)
    kinds = set(types_of(node)) or set(STRANGERS)
    for keyword in ("oneOf", "anyOf"):
        if keyword in node:
            branches = range(len(node[keyword]))
            kinds &= set().union(
                *(kinds_of(scene, (*at, keyword, index), depth + 1) for index in branches)
            )
    return kinds


_DEEPEST = 16


def _is(kind: str, value: Any) -> bool:
    return bool(jsonschema_rs.Draft202012Validator({"type": kind}).is_valid(value))


def _choices(place: Place, good: Any) -> Iterator[Side]:
    for keyword in ("enum", "const"):
        if keyword not in place.node:
            continue
        at = (*place.at, keyword)
        values = place.node["enum"] if keyword == "enum" else [place.node["const"]]
        for value in values:
            if value is not None:
                yield Side(at, keyword, f"one of the {keyword}: {value}", True, value)
        kept = [value for value in values if value is not None]
        if not kept:
            continue
        strange: list[Any]
        if not isinstance(kept[0], str):
            strange = [max([v for v in kept if isinstance(v, int | float)], default=0) + 1]
        else:
            strange = ["robot", kept[0].upper(), f" {kept[0]}", "", f"{kept[-1]}s"]
        names = ["not in", "other case than in", "space before one in", "empty, not in", "near to"]
        for name, value in zip(names, strange, strict=False):
            if value not in values:
                yield Side(at, keyword, f"{name} {keyword}", False, value, good)


def _numbers(place: Place, good: Any) -> Iterator[Side]:
    node = place.node
    step = node.get("multipleOf", 1 if "integer" in types_of(node) else 0.001)
    for keyword, sign in (("minimum", -1), ("maximum", 1)):
        for name, exclusive in ((keyword, False), (_exclusive(keyword), True)):
            if name in node:
                yield from _bound(place, name, sign, step, good, exclusive=exclusive)
    if "multipleOf" in node:
        at = (*place.at, "multipleOf")
        yield Side(at, "multipleOf", "at multipleOf", True, good)
        off = 1 if "integer" in types_of(node) else step / 2
        if isinstance(good, int | float) and off % step:
            yield Side(at, "multipleOf", "off multipleOf", False, good + off, good)


def _exclusive(keyword: str) -> str:
    return f"exclusive{keyword.capitalize()}"


def _bound(
    place: Place, keyword: str, sign: int, step: float, good: Any, *, exclusive: bool
) -> Iterator[Side]:
    bound, at = place.node[keyword], (*place.at, keyword)
    inside, beyond = (bound - sign * step, bound) if exclusive else (bound, bound + sign * step)
    over = "above" if sign > 0 else "below"
    yield Side(at, keyword, f"at {keyword}", True, _neat(inside))
    kind = f"at {keyword}, which is outside" if exclusive else f"{over} {keyword}"
    yield Side(at, keyword, kind, False, _neat(beyond), good)
    yield Side(at, keyword, f"far {over} {keyword}", False, _neat(bound + sign * FAR), good)


def _neat(value: float) -> float | int:
    rounded = round(value, 6)
    return int(rounded) if float(rounded).is_integer() else rounded


def _texts(place: Place, good: Any) -> Iterator[Side | LeftOut]:
    node, at = place.node, place.at
    letters = good[0] if isinstance(good, str) and good else "a"
    for keyword, change in (("minLength", -1), ("maxLength", 1)):
        if keyword not in node:
            continue
        length = node[keyword]
        if length > LONGEST:
            yield LeftOut((*at, keyword), keyword, f"texts of {length} characters cost too much")
            continue
        over = "above" if change > 0 else "below"
        yield Side((*at, keyword), keyword, f"at {keyword}", True, letters * length)
        if "pattern" not in node:
            beyond = "at {}, of characters that need two units in UTF-16"
            yield Side((*at, keyword), keyword, beyond.format(keyword), True, "𝄞" * length)
        if length + change >= 0:
            value = letters * (length + change)
            yield Side((*at, keyword), keyword, f"{over} {keyword}", False, value, good)
    if "pattern" in node:
        yield from _pattern(place, good)


def _pattern(place: Place, good: Any) -> Iterator[Side]:
    pattern, at = place.node["pattern"], (*place.at, "pattern")
    yield Side(at, "pattern", "matches pattern", True, good)
    text = good if isinstance(good, str) else ""
    strange = {"a space": f"{text} b", "a line end": f"{text}\n", "no ASCII": f"{text}é", "": ""}
    for name, value in strange.items():
        said = f"breaks pattern: {name or 'empty'}"
        yield Side(at, "pattern", said, False, value, good)
    least, most = lengths(pattern)
    if most is not None and most <= LONGEST and (longest := stretched(pattern, most)):
        yield Side(at, "pattern", "longest that matches pattern", True, longest)
        kind = "longer than pattern allows"
        yield Side(at, "pattern", kind, False, longest + longest[-1], good)
    if least > 1 and (shortest := stretched(pattern, least)):
        yield Side(at, "pattern", "shortest that matches pattern", True, shortest)
        kind = "shorter than pattern allows"
        yield Side(at, "pattern", kind, False, shortest[:-1], good)


def _items(scene: Scene, place: Place, good: Any) -> Iterator[Side | LeftOut]:
    node, at = place.node, place.at
    for keyword, change in (("minItems", -1), ("maxItems", 1)):
        if keyword not in node:
            continue
        length = node[keyword]
        if length > LONGEST:
            yield LeftOut((*at, keyword), keyword, f"lists of {length} items cost too much")
            continue
        over = "above" if change > 0 else "below"
        yield Side(
            (*at, keyword),
            keyword,
            f"at {keyword}",
            True,
            scene.values.least_list(place.at, length),
        )
        if length + change >= 0:
            value = scene.values.least_list(place.at, length + change)
            yield Side((*at, keyword), keyword, f"{over} {keyword}", False, value, good)
    if node.get("uniqueItems") is True:
        items = scene.values.least_list(place.at, max(2, node.get("minItems", 0)))
        where = (*at, "uniqueItems")
        yield Side(where, "uniqueItems", "all items differ", True, items)
        yield Side(where, "uniqueItems", "two items alike", False, [*items[:-1], items[0]], good)


def _keys(place: Place, least: dict[str, Any]) -> Iterator[Side]:
    node, at = place.node, place.at
    if "required" in node:
        kind = "only the required keys"
        yield Side((*at, "required"), "required", kind, True, least)
    for index, name in enumerate(node.get("required", ())):
        value = {key: inner for key, inner in least.items() if key != name}
        yield Side((*at, "required", index), "required", "missing key", False, value, least)
    closed = node.get("additionalProperties")
    if closed is False:
        value = {**least, UNKNOWN_KEY: True}
        where = (*at, "additionalProperties")
        yield Side(where, "additionalProperties", "unknown key", False, value, least)
        if node.get("properties"):
            name = f"{next(iter(node['properties'])).upper()}"
            value = {**least, name: True}
            kind = "known key in another case"
            yield Side(where, "additionalProperties", kind, False, value, least)
    for keyword, change in (("minProperties", -1), ("maxProperties", 1)):
        if keyword in node and node[keyword] <= LONGEST:
            yield from _sizes(place, keyword, change, least)


def _sizes(place: Place, keyword: str, change: int, least: dict[str, Any]) -> Iterator[Side]:
    at, size = (*place.at, keyword), place.node[keyword]
    filler = next(iter(least.values()), "value")
    over = "above" if change > 0 else "below"

    def sized(number: int) -> dict[str, Any]:
        more = {f"{ANY_NAME}{index}": filler for index in range(number - len(least))}
        return dict(list({**least, **more}.items())[:number])

    yield Side(at, keyword, f"at {keyword}", True, sized(size))
    if size + change >= 0:
        yield Side(at, keyword, f"{over} {keyword}", False, sized(size + change), least)
