"""How much work it is to validate an instance, told before it is done.

A validator follows every reference anew. Where schemas refer to each other twice and twice again,
a text of a hundred lines asks for more visits than a day has time for, and a running validation
cannot be stopped. So the visits are counted first, each pair of schema and value once.
"""

from __future__ import annotations

from collections.abc import Iterator

from .bounds import Budget
from .dialects import JSON
from .document import Node
from .errors import Exhausted
from .regex_text import match_cost

MOST = 2_000_000
"""The most visits of a schema to a value; some 20 to 50 nanoseconds each."""
_SAME = ("not", "if", "then", "else")
_LISTS = ("allOf", "anyOf", "oneOf")
_EACH_MEMBER = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_EACH_ITEM = ("additionalItems", "unevaluatedItems", "contains")


MATCH = 100
"""The visits that a step of matching is worth."""
NESTED = 150
"""Schemas within each other beyond which the count stops and tells the worst."""


def _in_place(node: Node) -> tuple[Node, ...]:
    """The schemas that look at the same value."""
    found: tuple[Node, ...] | None = node.memo.get("in place")
    if found is None:
        found = node.memo["in place"] = tuple(_listed_in_place(node))
    return found


def _listed_in_place(node: Node) -> Iterator[Node]:
    target = node.target()
    if target is not None:
        yield target
    keywords = node.keywords
    for keyword in _LISTS:
        if keyword in keywords:
            yield from node.children(keyword)
    for keyword in _SAME:
        if keyword in keywords:
            yield node.child(keyword)
    for keyword in ("dependentSchemas", "dependencies"):
        for name, needed in keywords.get(keyword, {}).items():
            if not isinstance(needed, list):
                yield node.child(keyword, name)


def visits(
    node: Node, value: JSON, budget: Budget, known: dict[tuple[Node, int], int], depth: int = 0
) -> int:
    """How many times a validator looks with a schema at a value, itself and all within it.

    An upper bound, as no branch is cut short. Raises `Exhausted`.
    """
    in_place = _in_place(node)
    if not in_place and not isinstance(value, dict | list):  # most are so
        return 1 + _matching(node, value)
    key = (node, id(value))
    found = known.get(key)
    if found is not None:
        return found
    budget.spend()
    if depth > NESTED:
        raise Exhausted
    known[key] = 0
    found = 1 + _matching(node, value)
    for child in in_place:
        found += visits(child, value, budget, known, depth + 1)
    if isinstance(value, dict | list):
        inner = _members(node, value) if isinstance(value, dict) else _items(node, value)
        for child, part in inner:
            found += visits(child, part, budget, known, depth + 1)
        if "unevaluatedProperties" in node.keywords or "unevaluatedItems" in node.keywords:
            found *= 2  # the validator asks once more what was looked at
    known[key] = found
    return found


def _matching(node: Node, value: JSON) -> int:
    """What the patterns of a schema cost, in visits."""
    if isinstance(value, str) and "pattern" in node.keywords:
        return MATCH * match_cost(node.keywords["pattern"])
    if isinstance(value, dict) and "patternProperties" in node.keywords:
        return MATCH * len(value) * sum(map(match_cost, node.keywords["patternProperties"]))
    return 0


def _members(node: Node, value: dict[str, JSON]) -> Iterator[tuple[Node, JSON]]:
    keywords = node.keywords
    known = keywords.get("properties", ())
    for name, member in value.items():
        if name in known:
            yield node.child("properties", name), member
    for keyword in keywords.get("patternProperties", ()):
        child = node.child("patternProperties", keyword)
        for member in value.values():
            yield child, member
    for keyword in _EACH_MEMBER:
        if keyword in keywords:
            child = node.child(keyword)
            for member in value.values():
                yield child, member


def _items(node: Node, value: list[JSON]) -> Iterator[tuple[Node, JSON]]:
    keywords = node.keywords
    for keyword in ("prefixItems", "items"):
        if isinstance(keywords.get(keyword), list):
            yield from zip(node.children(keyword), value, strict=False)
        elif keyword in keywords:
            child = node.child(keyword)
            for item in value:
                yield child, item
    for keyword in _EACH_ITEM:
        if keyword in keywords:
            child = node.child(keyword)
            for item in value:
                yield child, item
