"""Where in the contract a place of an instance is declared."""

from collections.abc import Sequence
from typing import Any

from wafermock.spec import Schema
from wafermock.spec.pointer import Pointer, format_pointer, parse_pointer, resolve

Token = str | int

# Longer chains of references and alternatives than this are circles.
_MOST_STEPS = 32


def declared_at(schema: Schema, location: Sequence[Token]) -> str:
    """Point (`#/components/...`) to what a schema says of a location in its instances.

    As far as it is declared: of a property that nobody declares, to the object it stands in. Among
    alternatives the first counts that knows the next step.
    """
    root = schema.space.root
    at = _entered(root, schema.pointer)
    for token in location:
        following = _step(root, at, token, _MOST_STEPS)
        if following is None:
            break
        at = _entered(root, following)
    return format_pointer(at)


def _step(root: dict[str, Any], at: Pointer, token: Token, left: int) -> Pointer | None:
    """Step from a schema to that of a property or an item; None where it is not declared."""
    at = _entered(root, at)
    node = _node(root, at)
    if left == 0 or not isinstance(node, dict):
        return None
    if isinstance(token, str):
        properties = node.get("properties")
        if isinstance(properties, dict) and token in properties:
            return (*at, "properties", token)
        if isinstance(node.get("additionalProperties"), dict):
            return (*at, "additionalProperties")
    elif isinstance(node.get("items"), dict):
        return (*at, "items")
    for keyword in ("anyOf", "oneOf", "allOf"):
        branches = node.get(keyword)
        for index in range(len(branches) if isinstance(branches, list) else 0):
            found = _step(root, (*at, keyword, index), token, left - 1)
            if found is not None:
                return found
    return None


def _entered(root: dict[str, Any], at: Pointer) -> Pointer:
    """Follow the references at a pointer."""
    for _ in range(_MOST_STEPS):
        node = _node(root, at)
        reference = node.get("$ref") if isinstance(node, dict) else None
        if not (isinstance(reference, str) and reference.startswith("#")):
            return at
        at = parse_pointer(reference)
    return at


def _node(root: dict[str, Any], at: Pointer) -> Any:
    try:
        return resolve(root, at)
    except (LookupError, ValueError):
        return None


def in_answer(location: Sequence[Token]) -> str:
    """Write a location in an answer as a JSON pointer (RFC 6901); `/` stands for all of it."""
    return format_pointer(location)[1:] or "/"
