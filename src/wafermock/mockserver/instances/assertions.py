"""The keywords that assert something of a value, read into a shape."""

from __future__ import annotations

import math
from collections.abc import Callable

from .dialects import JSON, escape
from .document import Node
from .equality import identity
from .errors import Reason
from .evaluation import contains_counts, exact
from .goal import Limit, Shape
from .negation import (
    EXCLUDED,
    NOT_FORMAT,
    NOT_MULTIPLE,
    NOT_PATTERN,
    ONLY_TYPES,
    REPEATED,
    expand_types,
)
from .regex_text import match_cost

TYPE_IS = "the type is "


def at(node: Node, keyword: str) -> str:
    return f"{node.pointer}/{escape(keyword)}"


def _read_type(shape: Shape, node: Node, value: JSON) -> None:
    named = value if isinstance(value, str) else ", ".join(map(str, value))
    shape.only(expand_types(value), at(node, "type"), TYPE_IS + named)


def _read_only_types(shape: Shape, node: Node, value: JSON) -> None:
    shape.only(value, node.pointer, TYPE_IS + ", ".join(value))


def _read_const(shape: Shape, node: Node, value: JSON) -> None:
    _narrow(shape, [value], at(node, "const"))


def _read_enum(shape: Shape, node: Node, value: JSON) -> None:
    _narrow(shape, value, at(node, "enum"))


def _narrow(shape: Shape, values: list[JSON], pointer: str) -> None:
    if shape.values is None:
        shape.values, shape.values_pointer = list(values), pointer
        return
    allowed = {identity(value) for value in values}
    kept = [value for value in shape.values if identity(value) in allowed]
    if not kept and shape.contradiction is None:
        shape.contradiction = Reason(
            pointer, f"no value here is also one of those at {shape.values_pointer}"
        )
    shape.values = kept


def _read_excluded(shape: Shape, node: Node, value: JSON) -> None:
    shape.excluded.update(identity(option) for option in value)


def _raise_lower(shape: Shape, value: JSON, pointer: str, strict: bool) -> None:
    limit = Limit(exact(value), pointer, strict)
    old = shape.lower
    if old is None or (limit.value, strict) > (old.value, old.strict):
        shape.lower = limit


def _drop_upper(shape: Shape, value: JSON, pointer: str, strict: bool) -> None:
    limit = Limit(exact(value), pointer, strict)
    old = shape.upper
    if old is None or (-limit.value, strict) > (-old.value, old.strict):
        shape.upper = limit


def _read_minimum(shape: Shape, node: Node, value: JSON) -> None:
    strict = node.keywords.get("exclusiveMinimum") is True
    _raise_lower(shape, value, at(node, "minimum"), strict)


def _read_maximum(shape: Shape, node: Node, value: JSON) -> None:
    strict = node.keywords.get("exclusiveMaximum") is True
    _drop_upper(shape, value, at(node, "maximum"), strict)


def _read_above(shape: Shape, node: Node, value: JSON) -> None:
    if not isinstance(value, bool):
        _raise_lower(shape, value, at(node, "exclusiveMinimum"), True)


def _read_below(shape: Shape, node: Node, value: JSON) -> None:
    if not isinstance(value, bool):
        _drop_upper(shape, value, at(node, "exclusiveMaximum"), True)


def _read_multiple(shape: Shape, node: Node, value: JSON) -> None:
    if value:
        shape.multiples.append(Limit(exact(value), at(node, "multipleOf")))


def _read_not_multiple(shape: Shape, node: Node, value: JSON) -> None:
    shape.not_multiples.append(exact(value))


def _read_least(keyword: str) -> Callable[[Shape, Node, JSON], None]:
    def read(shape: Shape, node: Node, value: JSON) -> None:
        old = shape.least.get(keyword)
        if old is None or value > old.value:
            shape.least[keyword] = Limit(math.ceil(value), at(node, keyword))

    return read


def _read_most(keyword: str) -> Callable[[Shape, Node, JSON], None]:
    def read(shape: Shape, node: Node, value: JSON) -> None:
        old = shape.most.get(keyword)
        if old is None or value < old.value:
            shape.most[keyword] = Limit(math.floor(value), at(node, keyword))

    return read


def _read_pattern(shape: Shape, node: Node, value: JSON) -> None:
    if all(limit.value != value for limit in shape.patterns):
        shape.patterns.append(Limit(value, at(node, "pattern")))


def _read_format(shape: Shape, node: Node, value: JSON) -> None:
    if value not in shape.formats:
        shape.formats.append(value)


def _read_required(shape: Shape, node: Node, value: JSON) -> None:
    if isinstance(value, list):
        for name in value:
            shape.required.setdefault(name, at(node, "required"))


def _read_patterns(shape: Shape, node: Node, value: JSON) -> None:
    shape.matching += sum(map(match_cost, value))


def read_needs(shape: Shape, node: Node, value: JSON) -> None:
    for name, needed in value.items():
        if isinstance(needed, list):
            shape.needs.setdefault(name, []).extend(needed)


def _read_names(shape: Shape, node: Node, value: JSON) -> None:
    shape.names.append(node.child("propertyNames"))


def _read_unique(shape: Shape, node: Node, value: JSON) -> None:
    shape.unique = shape.unique or bool(value)


def _read_repeated(shape: Shape, node: Node, value: JSON) -> None:
    shape.repeated = True
    _read_least("minItems")(shape, node, 2)


def _read_contains(shape: Shape, node: Node, value: JSON) -> None:
    least, most = contains_counts(node)
    shape.contains.append((node.child("contains"), least, most))


def _read_text(keyword: str) -> Callable[[Shape, Node, JSON], None]:
    def read(shape: Shape, node: Node, value: JSON) -> None:
        if isinstance(value, str):
            shape.texts.setdefault(keyword, value)

    return read


def _read_samples(shape: Shape, node: Node, value: JSON) -> None:
    if isinstance(value, list):
        shape.samples[:0] = value


def _read_default(shape: Shape, node: Node, value: JSON) -> None:
    shape.samples.append(value)


READERS: dict[str, Callable[[Shape, Node, JSON], None]] = {
    "type": _read_type,
    ONLY_TYPES: _read_only_types,
    "const": _read_const,
    "enum": _read_enum,
    EXCLUDED: _read_excluded,
    "minimum": _read_minimum,
    "maximum": _read_maximum,
    "exclusiveMinimum": _read_above,
    "exclusiveMaximum": _read_below,
    "\0above": _read_above,
    "\0below": _read_below,
    "multipleOf": _read_multiple,
    NOT_MULTIPLE: _read_not_multiple,
    **{keyword: _read_least(keyword) for keyword in ("minLength", "minItems", "minProperties")},
    **{keyword: _read_most(keyword) for keyword in ("maxLength", "maxItems", "maxProperties")},
    "pattern": _read_pattern,
    NOT_PATTERN: lambda shape, node, value: shape.not_patterns.append(value),
    "format": _read_format,
    NOT_FORMAT: lambda shape, node, value: shape.not_formats.append(value),
    "required": _read_required,
    "dependentRequired": read_needs,
    "patternProperties": _read_patterns,
    "propertyNames": _read_names,
    "uniqueItems": _read_unique,
    REPEATED: _read_repeated,
    "contains": _read_contains,
    "\0at": lambda shape, node, value: shape.places.append((value[0], value[1])),
    "title": _read_text("title"),
    "description": _read_text("description"),
    "examples": _read_samples,
    "default": _read_default,
}

HINTS = {
    keyword: basic
    for basic, keywords in (
        ("object", ("properties", "required", "patternProperties", "additionalProperties")),
        ("object", ("propertyNames", "minProperties", "maxProperties", "unevaluatedProperties")),
        ("object", ("dependentRequired", "dependentSchemas")),
        ("array", ("items", "prefixItems", "additionalItems", "contains", "unevaluatedItems")),
        ("array", ("minItems", "maxItems", "uniqueItems")),
        ("string", ("pattern", "format", "minLength", "maxLength")),
        ("integer", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
    )
    for keyword in keywords
}
"""The type that a keyword speaks of, for a schema that names none."""
