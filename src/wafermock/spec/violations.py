"""What breaks a schema: read from a validator's errors, in the instance's order."""

from collections.abc import Iterable, Iterator
from typing import Any

import jsonschema_rs
from msgspec import Struct

from .alternatives import discriminated, unwrapped

Location = tuple[str | int, ...]
Tags = tuple[tuple[int, str], ...]


class Violation(Struct, frozen=True):
    """One way in which an instance breaks its schema.

    `location` leads into the instance; for a missing or an unexpected property it ends with that
    property's name. `tags` are the alternatives chosen on the way (a message's role, say), each
    with the depth in `location` behind which it belongs. `keyword` is the JSON Schema keyword
    that is broken, `limit` what the schema wants there, `value` what the instance has.
    """

    location: Location
    keyword: str
    limit: Any
    value: Any
    message: str
    tags: Tags = ()

    @property
    def tagged_location(self) -> Location:
        """The location with the chosen alternatives in it: `messages, 2, assistant, content`."""
        parts = list(self.location)
        for depth, tag in sorted(self.tags, reverse=True):
            parts.insert(depth, tag)
        return tuple(parts)


def violations_in(error: jsonschema_rs.ValidationError) -> Iterator[Violation]:
    """Yield the violations that a validator's error stands for.

    Of an `anyOf` or `oneOf` that no alternative fits, they are those of the alternative that the
    instance came nearest to.
    """
    kind = error.kind
    context = getattr(kind, "context", None)
    if context and kind.name in ("anyOf", "oneOf"):
        branch = _closest(context, len(error.instance_path))
        if branch is not None:
            for inner in branch:
                yield from violations_in(inner)
            return
        types = _wanted_types(context, len(error.instance_path))
        if types:
            message = f"{error.instance!r} is not of types {', '.join(types)}"
            yield Violation(tuple(error.instance_path), "type", types, error.instance, message)
            return
    location = tuple(error.instance_path)
    for name in _property_names(kind):
        value = error.instance.get(name) if isinstance(error.instance, dict) else None
        yield Violation((*location, name), kind.name, None, value, error.message)
    if not _property_names(kind):
        limit = None if kind.name == "propertyNames" else kind.value
        yield Violation(location, kind.name, limit, error.instance, error.message)


def _property_names(kind: Any) -> list[str]:
    """Name the properties that are missing or unexpected."""
    if kind.name == "required":
        return [kind.property]
    if kind.name in ("additionalProperties", "unevaluatedProperties"):
        return list(kind.unexpected)
    return []


def _closest(context: list[list[Any]], depth: int) -> list[Any] | None:
    """Choose the alternative an instance came nearest to.

    That is, null apart: one whose constants fit (`type: text` beside `type: image_url`), then the
    one broken deepest inside, then the one broken least. When every alternative fails at its very
    root with another type, none is nearer.
    """
    branches = [b for b in context if not _only_null(b, depth)]
    if len(branches) == 1:
        return branches[0]
    deeper = [b for b in branches if not any(_wrong_root(e, depth) for e in b)]
    if not deeper:
        return None
    return max(
        deeper,
        key=lambda branch: (
            not any(_wrong_constant(e, depth) for e in branch),
            min(len(e.instance_path) for e in branch),
            -len(branch),
        ),
    )


def _wanted_types(context: list[list[Any]], depth: int) -> list[str]:
    """List the types that alternatives want, when in each the type alone is wrong."""
    types: list[str] = []
    for branch in context:
        if any(e.kind.name != "type" or len(e.instance_path) != depth for e in branch):
            return []
        types.extend(name for e in branch for name in _types(e) if name not in types)
    return types


def _only_null(branch: list[Any], depth: int) -> bool:
    return all(
        e.kind.name == "type" and len(e.instance_path) == depth and _types(e) == ["null"]
        for e in branch
    )


def _wrong_root(error: Any, depth: int) -> bool:
    return error.kind.name in ("type", "const", "enum") and len(error.instance_path) == depth


def _wrong_constant(error: Any, depth: int) -> bool:
    return error.kind.name in ("const", "enum") and len(error.instance_path) == depth + 1


def _types(error: Any) -> list[str]:
    types = error.kind.as_dict().get("types", [])
    return list(types) if isinstance(types, list) else [types]


def tags_on(root: dict[str, Any], node: Any, instance: Any, location: Location) -> Tags:
    """Find the discriminated alternatives that an instance of a schema takes on the way to a
    location. `root` is the document that the schema `node` stands in."""
    tags = []
    for depth, token in enumerate(location):
        node = unwrapped(root, node)
        name, branches = discriminated(node)
        if isinstance(instance, dict) and (value := str(instance.get(name))) in branches:
            tags.append((depth, value))
            node = unwrapped(root, branches[value])
        if isinstance(token, int):
            node = node.get("items")
            known = isinstance(instance, list) and token < len(instance)
            instance = instance[token] if known else None
        else:
            node = node.get("properties", {}).get(token)
            instance = instance.get(token) if isinstance(instance, dict) else None
    return tuple(tags)


def in_order(violations: Iterable[Violation], instance: Any) -> list[Violation]:
    """Sort violations as their places follow each other in the instance."""
    order = _Order(instance)
    return sorted(violations, key=lambda violation: order.key(violation.location))


class _Order:
    """The order of the places in an instance."""

    def __init__(self, instance: Any) -> None:
        self._instance = instance
        self._positions: dict[int, dict[str, int]] = {}

    def key(self, location: Location) -> tuple[tuple[int, str], ...]:
        """Return the positions on the way to a location; what is missing comes last."""
        key = []
        node = self._instance
        for token in location:
            if isinstance(node, dict):
                positions = self._positions_in(node)
                key.append((positions.get(str(token), len(positions)), str(token)))
                node = node.get(token)
            else:
                key.append((token if isinstance(token, int) else 0, ""))
                known = isinstance(node, list) and isinstance(token, int) and token < len(node)
                node = node[token] if known else None
        return tuple(key)

    def _positions_in(self, node: dict[str, Any]) -> dict[str, int]:
        if id(node) not in self._positions:
            self._positions[id(node)] = {name: at for at, name in enumerate(node)}
        return self._positions[id(node)]
