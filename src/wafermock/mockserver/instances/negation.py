"""The ways to fail a schema, each written as a schema: `not`, `oneOf` and `if` turned round.

Keywords that begin with NUL are made here and read by `shape` and `evaluation` alone; they say
what JSON Schema has no single keyword for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .charset import RegexSyntax
from .dialects import JSON, escape
from .document import Node
from .draws import Draws
from .regex_text import candidates, matcher

TYPES = ("object", "array", "string", "integer", "fraction", "boolean", "null")
"""The types told apart here; a `number` is an `integer` or a `fraction`."""

ONLY_TYPES = "\0types"
EXCLUDED = "\0excluded"
NOT_PATTERN = "\0not-pattern"
NOT_FORMAT = "\0not-format"
NOT_MULTIPLE = "\0not-multiple"
REPEATED = "\0repeated"

MOST = 40
"""The most ways listed for one schema; a schema has about as many as it has keywords."""


def expand_types(named: JSON) -> frozenset[str]:
    """The types that the keyword `type` names."""
    names = named if isinstance(named, list) else [named]
    return frozenset(
        basic
        for name in names
        for basic in (("integer", "fraction") if name == "number" else (name,))
    )


def negations(node: Node) -> tuple[Node, ...]:
    """Schemas each of which rules the node's schema out; together they are all that do.

    No schema at all for one that everything meets.
    """
    found: tuple[Node, ...] | None = node.memo.get("negations")
    if found is None:
        found = node.memo["negations"] = tuple(_take(_ways(node), MOST))
    return found


def _take(ways: Iterator[Node], most: int) -> Iterator[Node]:
    for _, way in zip(range(most), ways, strict=False):
        yield way


def opposite(node: Node) -> Node:
    """The schema that is met where the node's is not."""
    made: Node | None = node.memo.get("opposite")
    if made is None:
        made = node.memo["opposite"] = node.made({"not": node})
    return made


def _ways(node: Node) -> Iterator[Node]:
    schema = node.schema
    if schema is False:
        yield node.made(True)
    if not isinstance(schema, dict):
        return
    target = node.target()
    if target is not None:
        yield node.made({"not": target}, f"{node.pointer}/$ref")
    for keyword, value in node.keywords.items():
        write = _WAYS.get(keyword)
        if write is not None:
            at = f"{node.pointer}/{escape(keyword.lstrip(chr(0)))}"
            for made in write(node, value):
                yield node.made(made, at)


def _typed(name: str, **rest: Any) -> dict[str, JSON]:
    return {"type": name, **rest}


def _type(node: Node, value: JSON) -> Iterator[JSON]:
    left = [basic for basic in TYPES if basic not in expand_types(value)]
    if left:
        yield {ONLY_TYPES: left}


def _lower(node: Node, value: JSON) -> Iterator[JSON]:
    if node.keywords.get("exclusiveMinimum") is True:  # draft-04
        yield _typed("number", **{"maximum": value})
    else:
        yield _typed("number", **{"\0below": value})


def _upper(node: Node, value: JSON) -> Iterator[JSON]:
    if node.keywords.get("exclusiveMaximum") is True:
        yield _typed("number", **{"minimum": value})
    else:
        yield _typed("number", **{"\0above": value})


def _over(node: Node, value: JSON) -> Iterator[JSON]:
    if not isinstance(value, bool):
        yield _typed("number", maximum=value)


def _under(node: Node, value: JSON) -> Iterator[JSON]:
    if not isinstance(value, bool):
        yield _typed("number", minimum=value)


def _fewer(kind: str, opposite_keyword: str) -> Callable[[Node, JSON], Iterator[JSON]]:
    def ways(node: Node, value: JSON) -> Iterator[JSON]:
        if value > 0:
            yield _typed(kind, **{opposite_keyword: int(value) - 1})

    return ways


def _more(kind: str, opposite_keyword: str) -> Callable[[Node, JSON], Iterator[JSON]]:
    def ways(node: Node, value: JSON) -> Iterator[JSON]:
        yield _typed(kind, **{opposite_keyword: int(value) + 1})

    return ways


def _items(node: Node, value: JSON) -> Iterator[JSON]:
    if isinstance(value, list):
        yield from _prefix("items")(node, value)
    else:
        before = node.keywords.get("prefixItems")
        skip = len(before) if isinstance(before, list) else 0
        yield _at(skip, opposite(node.child("items")))


def _additional_items(node: Node, value: JSON) -> Iterator[JSON]:
    before = node.keywords.get("items")
    if isinstance(before, list):
        yield _at(len(before), opposite(node.child("additionalItems")))


def _prefix(keyword: str) -> Callable[[Node, JSON], Iterator[JSON]]:
    def ways(node: Node, value: JSON) -> Iterator[JSON]:
        for index, child in enumerate(node.children(keyword)):
            yield _at(index, opposite(child))

    return ways


def _at(index: int, node: Node) -> JSON:
    return _typed("array", minItems=index + 1, **{"\0at": [index, node]})


def _contains(node: Node, value: JSON) -> Iterator[JSON]:
    child = node.child("contains")
    least = node.keywords.get("minContains", 1) if node.draft >= 2019 else 1
    if least == 1:
        yield _typed("array", **{"\0each": opposite(child)})
    elif least > 1:
        yield _typed("array", contains=child, minContains=0, maxContains=int(least) - 1)
    most = node.keywords.get("maxContains")
    if most is not None and node.draft >= 2019:
        yield _typed("array", contains=child, minContains=int(most) + 1)


def _required(node: Node, value: JSON) -> Iterator[JSON]:
    if isinstance(value, list):
        for name in value:
            yield _typed("object", properties={name: False})


def _has(name: str, child: Node) -> JSON:
    return _typed("object", required=[name], properties={name: child})


def _properties(node: Node, value: JSON) -> Iterator[JSON]:
    for name in value:
        yield _has(name, opposite(node.child("properties", name)))


def _pattern_properties(node: Node, value: JSON) -> Iterator[JSON]:
    for pattern in value:
        name = sample(pattern)
        if name is not None:
            yield _has(name, opposite(node.child("patternProperties", pattern)))


def _additional(node: Node, value: JSON) -> Iterator[JSON]:
    name = stranger(node)
    if name is not None:
        yield _has(name, opposite(node.child("additionalProperties")))


def _unevaluated_properties(node: Node, value: JSON) -> Iterator[JSON]:
    name = stranger(node)
    if name is not None:
        yield _has(name, opposite(node.child("unevaluatedProperties")))


def _unevaluated_items(node: Node, value: JSON) -> Iterator[JSON]:
    before = node.keywords.get("prefixItems", ())
    yield _at(len(before), opposite(node.child("unevaluatedItems")))


def _property_names(node: Node, value: JSON) -> Iterator[JSON]:
    yield _typed("object", minProperties=1, propertyNames=opposite(node.child("propertyNames")))


def _dependent_required(node: Node, value: JSON) -> Iterator[JSON]:
    for name, needed in value.items():
        if isinstance(needed, list):
            for other in needed:
                yield _typed("object", required=[name], properties={other: False})


def _dependent_schemas(keyword: str) -> Callable[[Node, JSON], Iterator[JSON]]:
    def ways(node: Node, value: JSON) -> Iterator[JSON]:
        for name, schema in value.items():
            if isinstance(schema, dict | bool):
                child = opposite(node.child(keyword, name))
                yield _typed("object", required=[name], allOf=[child])
            else:
                yield from _dependent_required(node, {name: schema})

    return ways


def _all_of(node: Node, value: JSON) -> Iterator[JSON]:
    for child in node.children("allOf"):
        yield {"not": child}


def _any_of(node: Node, value: JSON) -> Iterator[JSON]:
    yield {"allOf": [opposite(child) for child in node.children("anyOf")]}


def _one_of(node: Node, value: JSON) -> Iterator[JSON]:
    children = node.children("oneOf")
    yield {"allOf": [opposite(child) for child in children]}
    for index, child in enumerate(children[:4]):
        for other in children[index + 1 : 5]:
            yield {"allOf": [child, other]}


def _not(node: Node, value: JSON) -> Iterator[JSON]:
    yield {"allOf": [node.child("not")]}


def _if(node: Node, value: JSON) -> Iterator[JSON]:
    condition = node.child("if")
    if "then" in node.keywords:
        yield {"allOf": [condition, opposite(node.child("then"))]}
    if "else" in node.keywords:
        yield {"allOf": [opposite(condition), opposite(node.child("else"))]}


_WAYS: dict[str, Callable[[Node, JSON], Iterator[JSON]]] = {
    "type": _type,
    ONLY_TYPES: lambda node, value: iter([{ONLY_TYPES: [t for t in TYPES if t not in value]}]),
    "const": lambda node, value: iter([{EXCLUDED: [value]}]),
    "enum": lambda node, value: iter([{EXCLUDED: value}]),
    EXCLUDED: lambda node, value: iter([{"enum": value}]),
    "minimum": _lower,
    "maximum": _upper,
    "exclusiveMinimum": _over,
    "exclusiveMaximum": _under,
    "multipleOf": lambda node, value: iter([_typed("number", **{NOT_MULTIPLE: value})]),
    "minLength": _fewer("string", "maxLength"),
    "maxLength": _more("string", "minLength"),
    "pattern": lambda node, value: iter([_typed("string", **{NOT_PATTERN: value})]),
    "format": lambda node, value: iter([_typed("string", **{NOT_FORMAT: value})]),
    "minItems": _fewer("array", "maxItems"),
    "maxItems": _more("array", "minItems"),
    "uniqueItems": lambda node, value: iter([_typed("array", **{REPEATED: True})] if value else []),
    "items": _items,
    "additionalItems": _additional_items,
    "prefixItems": _prefix("prefixItems"),
    "contains": _contains,
    "minProperties": _fewer("object", "maxProperties"),
    "maxProperties": _more("object", "minProperties"),
    "required": _required,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional,
    "propertyNames": _property_names,
    "unevaluatedProperties": _unevaluated_properties,
    "unevaluatedItems": _unevaluated_items,
    "dependentRequired": _dependent_required,
    "dependentSchemas": _dependent_schemas("dependentSchemas"),
    "dependencies": _dependent_schemas("dependencies"),
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
}


def sample(pattern: str) -> str | None:
    """A string that the pattern matches, always the same one; None where none was found."""
    try:
        for text in candidates(pattern, 0, 60, Draws(0), 20):
            if matcher(pattern)(text):
                return text
    except RegexSyntax:
        pass
    return None


def stranger(node: Node) -> str | None:
    """A property name that the schema's `properties` and `patternProperties` do not cover."""
    known = node.keywords.get("properties", {})
    patterns = node.keywords.get("patternProperties", {})
    for name in ("other", "extra", "x", "0", "Zz-9", "_", "~~~"):
        if name not in known and not any(matcher(pattern)(name) for pattern in patterns):
            return name
    return None
