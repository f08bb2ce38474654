"""Whether a value meets a schema: the search's own judge of parts of an instance.

The validator judges whole instances. Within the search a part must be judged against a part of
the schema, made-up schemas too, in counted steps; this does so, in the terms of 2020-12 core
(sections 10 and 11) and of the older drafts. `format` is left to the writer of strings.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any

from .bounds import Budget
from .dialects import JSON
from .document import Node
from .equality import identity, type_of
from .errors import Exhausted
from .formats import format_check
from .negation import (
    EXCLUDED,
    NOT_FORMAT,
    NOT_MULTIPLE,
    NOT_PATTERN,
    ONLY_TYPES,
    REPEATED,
    expand_types,
)
from .regex_text import match_cost, matcher

NESTED = 120


class Notes:
    """Members and items of one value that some schema has looked at (annotations)."""

    __slots__ = ("items", "names")

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.items: set[int] = set()

    def add(self, other: Notes) -> None:
        """Takes over what the other has."""
        self.names |= other.names
        self.items |= other.items


def exact(number: Any) -> Fraction:
    """The number as JSON text says it: 0.1 is a tenth."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


class Evaluator:
    """Judges values within a budget of steps."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._depth = 0

    def meets(self, node: Node, value: JSON) -> bool:
        """Whether the value meets the schema. Raises `Exhausted`."""
        return self._check(node, value, Notes())

    def _check(self, node: Node, value: JSON, notes: Notes) -> bool:
        self._budget.spend()
        schema = node.schema
        if isinstance(schema, Node):
            return self._check(schema, value, notes)
        if not isinstance(schema, dict):
            return schema is not False
        if self._depth > NESTED:
            raise Exhausted
        self._depth += 1
        try:
            own = Notes()
            if not self._keywords(node, value, own):
                return False
            notes.add(own)
            return True
        finally:
            self._depth -= 1

    def _keywords(self, node: Node, value: JSON, notes: Notes) -> bool:
        target = node.target()
        if target is not None and not self._check(target, value, notes):
            return False
        for keyword, argument in node.keywords.items():
            check = _CHECKS.get(keyword)
            if check is not None and not check(self, node, argument, value, notes):
                return False
        if isinstance(value, dict) and "unevaluatedProperties" in node.keywords:
            child = node.child("unevaluatedProperties")
            for name, member in value.items():
                if name not in notes.names and not self._check(child, member, Notes()):
                    return False
            notes.names.update(value)
        if isinstance(value, list) and "unevaluatedItems" in node.keywords:
            child = node.child("unevaluatedItems")
            for index, item in enumerate(value):
                if index not in notes.items and not self._check(child, item, Notes()):
                    return False
            notes.items.update(range(len(value)))
        return True

    # -- applicators ----------------------------------------------------------------------

    def _all_of(self, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
        return all(self._check(child, value, notes) for child in node.children("allOf"))

    def _any_of(self, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
        met = [self._check(child, value, notes) for child in node.children("anyOf")]  # notes of all
        return any(met)

    def _one_of(self, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
        return sum(self._check(child, value, notes) for child in node.children("oneOf")) == 1

    def _not(self, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
        return not self._check(node.child("not"), value, Notes())

    def _if(self, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
        branch = "then" if self._check(node.child("if"), value, notes) else "else"
        return branch not in node.keywords or self._check(node.child(branch), value, notes)

    def _pattern(self, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
        if not isinstance(value, str):
            return True
        self._budget.spend(match_cost(argument))
        return matcher(argument)(value)

    def _properties(self, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
        if not isinstance(value, dict):
            return True
        for name in value:
            if name in argument:
                notes.names.add(name)
                if not self._check(node.child("properties", name), value[name], Notes()):
                    return False
        return True

    def _patterns(self, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
        if not isinstance(value, dict):
            return True
        for pattern in argument:
            self._budget.spend(match_cost(pattern) * len(value))
            matches = matcher(pattern)
            for name in value:
                if matches(name):
                    notes.names.add(name)
                    child = node.child("patternProperties", pattern)
                    if not self._check(child, value[name], Notes()):
                        return False
        return True

    def _additional(self, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
        if not isinstance(value, dict):
            return True
        known = node.keywords.get("properties", {})
        patterns = [matcher(pattern) for pattern in node.keywords.get("patternProperties", {})]
        self._budget.spend(len(value) * len(patterns))
        child = node.child("additionalProperties")
        for name in value:
            if name not in known and not any(matches(name) for matches in patterns):
                notes.names.add(name)
                if not self._check(child, value[name], Notes()):
                    return False
        return True

    def _names(self, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
        child = node.child("propertyNames")
        return not isinstance(value, dict) or all(
            self._check(child, name, Notes()) for name in value
        )

    def _dependents(self, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
        if not isinstance(value, dict):
            return True
        keyword = "dependentSchemas" if "dependentSchemas" in node.keywords else "dependencies"
        for name, needed in argument.items():
            if name not in value:
                continue
            if isinstance(needed, list):
                if not all(other in value for other in needed):
                    return False
            elif not self._check(node.child(keyword, name), value, notes):
                return False
        return True

    def _items(self, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
        if not isinstance(value, list):
            return True
        if isinstance(argument, list):
            return self._prefix(node, argument, value, notes, "items")
        before = node.keywords.get("prefixItems")
        skip = len(before) if isinstance(before, list) and node.draft == 2020 else 0
        return self._each(node.child("items"), value, skip, notes)

    def _prefix_items(self, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
        if node.draft < 2020 or not isinstance(value, list):
            return True
        return self._prefix(node, argument, value, notes, "prefixItems")

    def _prefix(self, node: Node, argument: JSON, value: JSON, notes: Notes, keyword: str) -> bool:
        for index in range(min(len(argument), len(value))):
            notes.items.add(index)
            if not self._check(node.child(keyword, str(index)), value[index], Notes()):
                return False
        return True

    def _additional_items(self, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
        before = node.keywords.get("items")
        if not isinstance(before, list) or not isinstance(value, list):
            return True
        return self._each(node.child("additionalItems"), value, len(before), notes)

    def _each(self, child: Node, value: list[JSON], skip: int, notes: Notes) -> bool:
        notes.items.update(range(skip, len(value)))
        return all(self._check(child, item, Notes()) for item in value[skip:])

    def _contains(self, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
        if not isinstance(value, list):
            return True
        child = node.child("contains")
        found = [i for i, item in enumerate(value) if self._check(child, item, Notes())]
        if node.draft == 2020:
            notes.items.update(found)
        least, most = contains_counts(node)
        return least <= len(found) and (most is None or len(found) <= most)

    def _made_at(self, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
        index, child = argument
        return (
            not isinstance(value, list)
            or len(value) <= index
            or any(self._check(child, item, Notes()) for item in value[index:])
        )

    def _made_each(self, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
        return not isinstance(value, list) or all(
            self._check(argument, item, Notes()) for item in value
        )


def contains_counts(node: Node) -> tuple[int, int | None]:
    """How many items must and may match `contains`."""
    if node.draft < 2019:
        return 1, None
    least, most = node.keywords.get("minContains", 1), node.keywords.get("maxContains")
    return int(least), None if most is None else int(most)


def _number(value: JSON) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _minimum(self: Evaluator, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
    if not _number(value):
        return True
    strict = node.keywords.get("exclusiveMinimum") is True
    return exact(value) > exact(argument) if strict else exact(value) >= exact(argument)


def _maximum(self: Evaluator, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
    if not _number(value):
        return True
    strict = node.keywords.get("exclusiveMaximum") is True
    return exact(value) < exact(argument) if strict else exact(value) <= exact(argument)


def _above(self: Evaluator, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
    return (
        argument is True
        or argument is False
        or not _number(value)
        or (exact(value) > exact(argument))
    )


def _below(self: Evaluator, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
    return (
        argument is True
        or argument is False
        or not _number(value)
        or (exact(value) < exact(argument))
    )


def _multiple(self: Evaluator, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
    return not _number(value) or not argument or (exact(value) / exact(argument)).denominator == 1


def _distinct(self: Evaluator, node: Node, argument: JSON, value: JSON, notes: Notes) -> bool:
    if not argument or not isinstance(value, list):
        return True
    return len({identity(item) for item in value}) == len(value)


def _listed(node: Node, keyword: str) -> set[Hashable]:
    """The values that a keyword lists; there may be thousands of them."""
    found: set[Hashable] | None = node.memo.get(keyword)
    if found is None:
        found = node.memo[keyword] = {identity(option) for option in node.keywords[keyword]}
    return found


_Check = Callable[[Evaluator, Node, Any, Any, Notes], bool]


def _sized(kind: type, measure: Callable[[Any, Any], bool]) -> _Check:
    return lambda self, node, argument, value, notes: (
        not isinstance(value, kind) or measure(value, argument)
    )


_CHECKS: dict[str, _Check] = {
    "type": lambda self, node, argument, value, notes: type_of(value) in expand_types(argument),
    ONLY_TYPES: lambda self, node, argument, value, notes: type_of(value) in argument,
    "const": lambda self, node, argument, value, notes: (
        node.draft == 4 or identity(value) == identity(argument)
    ),
    "enum": lambda self, node, argument, value, notes: identity(value) in _listed(node, "enum"),
    EXCLUDED: lambda self, node, argument, value, notes: (
        identity(value) not in _listed(node, EXCLUDED)
    ),
    "minimum": _minimum,
    "maximum": _maximum,
    "exclusiveMinimum": _above,
    "exclusiveMaximum": _below,
    "\0above": _above,
    "\0below": _below,
    "multipleOf": _multiple,
    NOT_MULTIPLE: lambda self, node, argument, value, notes: (
        not _multiple(self, node, argument, value, notes) or not _number(value)
    ),
    "minLength": _sized(str, lambda value, bound: len(value) >= bound),
    "maxLength": _sized(str, lambda value, bound: len(value) <= bound),
    "pattern": Evaluator._pattern,
    NOT_PATTERN: _sized(str, lambda value, pattern: not matcher(pattern)(value)),
    NOT_FORMAT: _sized(str, lambda value, name: not format_check(name)(value)),
    "minItems": _sized(list, lambda value, bound: len(value) >= bound),
    "maxItems": _sized(list, lambda value, bound: len(value) <= bound),
    "uniqueItems": _distinct,
    REPEATED: lambda self, node, argument, value, notes: (
        not isinstance(value, list) or not _distinct(self, node, True, value, notes)
    ),
    "minProperties": _sized(dict, lambda value, bound: len(value) >= bound),
    "maxProperties": _sized(dict, lambda value, bound: len(value) <= bound),
    "required": _sized(
        dict, lambda value, names: not isinstance(names, list) or all(n in value for n in names)
    ),
    "dependentRequired": _sized(
        dict,
        lambda value, needs: all(
            other in value for name, needed in needs.items() if name in value for other in needed
        ),
    ),
    "properties": Evaluator._properties,
    "patternProperties": Evaluator._patterns,
    "additionalProperties": Evaluator._additional,
    "propertyNames": Evaluator._names,
    "dependentSchemas": Evaluator._dependents,
    "dependencies": Evaluator._dependents,
    "items": Evaluator._items,
    "prefixItems": Evaluator._prefix_items,
    "additionalItems": Evaluator._additional_items,
    "contains": Evaluator._contains,
    "\0at": Evaluator._made_at,
    "\0each": Evaluator._made_each,
    "allOf": Evaluator._all_of,
    "anyOf": Evaluator._any_of,
    "oneOf": Evaluator._one_of,
    "not": Evaluator._not,
    "if": Evaluator._if,
}
