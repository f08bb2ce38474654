"""What a schema of `response_format` must keep when it is strict: the subset that is supported.

Every check takes a request body and gives what it found by name, or None. A schema comes from
outside and may be of any size and depth: nothing here recurses, and every walk is linear.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from .pointer import parse_pointer, resolve
from .structure import subschemas

Found = Mapping[str, object] | None
Node = dict[str, Any]

# Keywords under which a value is nested inside the value of the schema (2020-12 core, 10.3).
_INSIDE = {
    "properties", "patternProperties", "additionalProperties", "items", "prefixItems",
    "contains", "unevaluatedItems", "unevaluatedProperties",
}  # fmt: skip
_DEFINITIONS = {"$defs", "definitions"}


def schema_is_larger_than(body: Any, limit: int) -> Found:
    """Find a schema of more than `limit` subschemas: {name}, {value}, {limit}. Looks no further."""
    for count, _ in enumerate(_nodes(_schema(body)), start=1):
        if count > limit:
            value = f"more than {limit} subschemas"
            return {"name": "the size of the schema", "value": value, "limit": limit}
    return None


def schema_root_is_no_object(body: Any) -> Found:
    """Find a root that is not an object with properties, or is a choice (`anyOf`)."""
    root = _schema(body)
    is_object = root.get("type") == "object" and root.get("properties")
    return None if is_object and "anyOf" not in root else {}


def schema_uses(body: Any, keywords: list[str]) -> Found:
    """Find keywords: {fields}, written as Python writes a set, in the order they are met."""
    met = dict.fromkeys(key for node in _nodes(_schema(body)) for key in node if key in keywords)
    return {"fields": f"{{{', '.join(map(repr, met))}}}"} if met else None


def schema_object_is_open(body: Any) -> Found:
    """Find an object schema that does not say `additionalProperties: false`."""
    for node in _nodes(_schema(body)):
        is_object = node.get("type") == "object" or "properties" in node
        if is_object and node.get("additionalProperties") is not False:
            return {}
    return None


def schema_reference_is_lost(body: Any) -> Found:
    """Find a `$ref` that leads to no place in the schema: {reference}."""
    root = _schema(body)
    for node in _nodes(root):
        if "$ref" in node and _target(root, node) is None:
            return {"reference": node["$ref"]}
    return None


def schema_is_recursive(body: Any) -> Found:
    """Find a schema that contains itself, through references."""
    root = _schema(body)
    done: set[int] = set()
    open_nodes = {id(root)}
    path = [(root, iter(list(_next(root, root))))]
    while path:
        node, rest = path[-1]
        follower = next(rest, None)
        if follower is None:
            path.pop()
            open_nodes.discard(id(node))
            done.add(id(node))
        elif id(follower) in open_nodes:
            return {}
        elif id(follower) not in done:
            open_nodes.add(id(follower))
            path.append((follower, iter(list(_next(root, follower)))))
    return None


def schema_is_deeper_than(body: Any, limit: int) -> Found:
    """Find objects and arrays nested more than `limit` deep, the root being the first: {limit}."""
    root = _schema(body)
    seen = set()
    todo = [(root, 0)]
    while todo:
        node, depth = todo.pop()
        depth += _is_container(node)
        if depth > limit:
            return {"limit": limit}
        if (id(node), depth) in seen:
            continue
        seen.add((id(node), depth))
        target = _target(root, node)
        todo += [(target, depth)] if target is not None else []
        for (keyword, *_), inner in subschemas(node):
            if isinstance(inner, dict) and keyword not in _DEFINITIONS:
                todo.append((inner, depth))
    return None


def schema_has_more_properties_than(body: Any, limit: int) -> Found:
    """Find more properties, in all objects together, than `limit`: {limit}, {number}."""
    number = sum(_size(node.get("properties")) for node in _nodes(_schema(body)))
    return {"limit": limit, "number": number} if number > limit else None


def schema_has_more_enum_values_than(body: Any, limit: int) -> Found:
    """Find more enum values, in all enums together, than `limit`: {limit}, {number}."""
    number = sum(_size(node.get("enum")) for node in _nodes(_schema(body)))
    return {"limit": limit, "number": number} if number > limit else None


def _schema(body: Any) -> Node:
    for key in ("response_format", "json_schema", "schema"):
        body = body.get(key) if isinstance(body, dict) else None
    return body if isinstance(body, dict) else {}


def _nodes(root: Node) -> Iterator[Node]:
    """Yield every schema of a schema, outermost first, in the order they are written."""
    todo = [root]
    while todo:
        node = todo.pop()
        yield node
        inner = [item for _, item in subschemas(node) if isinstance(item, dict)]
        todo.extend(reversed(inner))


def _next(root: Node, node: Node) -> Iterator[Node]:
    """Yield the schemas a schema leads to: those inside it, and the one it refers to."""
    yield from (item for _, item in subschemas(node) if isinstance(item, dict))
    target = _target(root, node)
    if target is not None:
        yield target


def _target(root: Node, node: Node) -> Node | None:
    reference = node.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    try:
        target = resolve(root, parse_pointer(reference))
    except (LookupError, ValueError):
        return None
    return target if isinstance(target, dict) else None


def _is_container(node: Node) -> bool:
    return node.get("type") in ("object", "array") or not _INSIDE.isdisjoint(node)


def _size(value: Any) -> int:
    return len(value) if isinstance(value, list | dict) else 0


CHECKS = (
    schema_is_larger_than,
    schema_root_is_no_object,
    schema_uses,
    schema_object_is_open,
    schema_reference_is_lost,
    schema_is_recursive,
    schema_is_deeper_than,
    schema_has_more_properties_than,
    schema_has_more_enum_values_than,
)
