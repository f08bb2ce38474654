"""What a rule asks of a request: its conditions, read from a script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from .conditions import Count, Globs, Text
from .criteria import (
    Condition,
    Difference,
    Expression,
    Header,
    Key,
    Last,
    Names,
    Obeys,
    Recorded,
    Result,
    Said,
    Some,
    Stream,
    Turn,
)
from .subject import Subject


class Match:
    """All conditions of a rule."""

    def __init__(self, conditions: Sequence[Condition] = ()) -> None:
        self.conditions = tuple(conditions)

    def fits(self, subject: Subject) -> bool:
        """Say whether a request meets every condition. Never raises."""
        return all(c.difference(subject) is None for c in self.conditions)

    def differences(self, subject: Subject) -> list[Difference]:
        """List the conditions that a request does not meet, in the rule's order. Never raises."""
        found = (condition.difference(subject) for condition in self.conditions)
        return [difference for difference in found if difference is not None]

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """Name the conditions."""
        return tuple(condition.field for condition in self.conditions)


def read_match(value: Mapping[str, Any], fault: Callable[[str, tuple[Any, ...]], None]) -> Match:
    """Read the conditions under `match`, of a document that obeys the schema of scripts.

    `fault(sentence, place)` is told of each condition that cannot be used; the place is below
    `match`.
    """
    conditions: list[Condition] = []
    for key, given in value.items():
        for place, make in _READERS[key](given):
            try:
                conditions.append(make())
            except ValueError as error:
                fault(str(error), (key, *place))
    return Match(conditions)


# What makes one condition, and its place below its key.
Makers = Iterator[tuple[tuple[Any, ...], Callable[[], Condition]]]


def _names(field: str, names: Callable[[Subject], Sequence[str]]) -> Callable[[Any], Makers]:
    def read(given: Any) -> Makers:
        yield (), lambda: Names(field, Globs.read(given), names)

    return read


def _said(given: Any) -> Said:
    return Said(Text.read(given), given.get("role") if isinstance(given, Mapping) else None)


def _some(given: Any) -> Makers:
    if not isinstance(given, list):
        yield (), lambda: Some("any", _said(given))
        return
    for at, item in enumerate(given):
        yield (at,), lambda at=at, item=item: Some(f"any.{at}", _said(item))  # type: ignore[misc]


def _result(given: Any) -> Makers:
    name = given.get("name") if isinstance(given, Mapping) else None
    yield (), lambda: Result(Text.read(given), None if name is None else Globs.read(name))


def _headers(given: Mapping[str, Any]) -> Makers:
    for name, wanted in given.items():
        yield (
            (name,),
            lambda name=name, wanted=wanted: Header(  # type: ignore[misc]
                name.lower(), wanted if isinstance(wanted, bool) else Text.read(wanted)
            ),
        )


def _expressions(given: Any) -> Makers:
    if isinstance(given, Mapping):
        for source, wanted in given.items():
            yield (source,), lambda s=source, w=wanted: Expression(s, w)  # type: ignore[misc]
    elif isinstance(given, list):
        for at, source in enumerate(given):
            yield (at,), lambda s=source: Expression(s)  # type: ignore[misc]
    else:
        yield (), lambda: Expression(given)


_READERS: dict[str, Callable[[Any], Makers]] = {
    "operation": _names("operation", lambda s: s.operation),
    "model": _names("model", lambda s: (s.model,)),
    "scope": _names("scope", lambda s: (s.scope,)),
    "stream": lambda given: iter([((), lambda: Stream(given))]),
    "turn": lambda given: iter([((), lambda: Turn(Count.read(given)))]),
    "last": lambda given: iter([((), lambda: Last(_said(given)))]),
    "any": _some,
    "tool_offered": _names("tool_offered", lambda s: s.tools_offered),
    "tool_called": _names("tool_called", lambda s: s.tools_called),
    "tool_result": _result,
    "api_key": lambda given: iter([((), lambda: Key(Text.read(given)))]),
    "header": _headers,
    "jmespath": _expressions,
    "recorded": lambda given: iter([((), lambda: Recorded(given))]),
    "schema": lambda given: iter([((), lambda: Obeys(given))]),
}
