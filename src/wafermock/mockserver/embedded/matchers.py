"""Matchers: what a text must be. `contains("weather")` in place of the whole text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class _Matcher(Struct, frozen=True):
    """A condition in the words of scripts (`docs/scripts.md`). `said` is how it was written."""

    said: str
    condition: Mapping[str, Any]

    def __hash__(self) -> int:
        return len(self.said)  # the condition, a mapping, has none

    def __repr__(self) -> str:
        return self.said


class Matcher(_Matcher, frozen=True):
    """A condition on a text."""


class NumberMatcher(_Matcher, frozen=True):
    """A condition on a number."""


def contains(*parts: str, fold: bool = False) -> Matcher:
    """All parts stand in the text. With `fold` upper and lower case are the same.

    Raises TypeError for what is no text, ValueError without any.
    """
    if not parts:
        raise ValueError("contains() wants the text that must be there")
    for part in parts:
        _check_text("contains", part)
    return Matcher(_written("contains", parts, fold), {"contains": list(parts), "fold": fold})


def matches(expression: str | re.Pattern[str], *, fold: bool = False) -> Matcher:
    """The regular expression is found in the text. It is matched in linear time, so that
    look-around and back references are not to be had.

    Raises TypeError for what is no expression.
    """
    if isinstance(expression, re.Pattern):
        fold = fold or bool(expression.flags & re.IGNORECASE)
        expression = expression.pattern
    _check_text("matches", expression)
    return Matcher(_written("matches", (expression,), fold), {"regex": expression, "fold": fold})


def equals(text: str, *, fold: bool = False) -> Matcher:
    """The text is this one. A plain text means the same. Raises TypeError for what is no text."""
    _check_text("equals", text)
    return Matcher(_written("equals", (text,), fold), {"equals": text, "fold": fold})


# There is a text, whatever it says.
anything = Matcher("anything", {})


def at_least(number: int) -> NumberMatcher:
    """This number or more. Raises TypeError for what is no whole number."""
    return NumberMatcher(f"at_least({number!r})", {"at_least": _whole("at_least", number)})


def at_most(number: int) -> NumberMatcher:
    """This number or less. Raises TypeError for what is no whole number."""
    return NumberMatcher(f"at_most({number!r})", {"at_most": _whole("at_most", number)})


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name}() wants a text, not {value!r}")


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}() wants a whole number, not {value!r}")
    return value


def _written(name: str, texts: tuple[str, ...], fold: bool) -> str:
    return f"{name}({', '.join(map(repr, texts))}{', fold=True' if fold else ''})"
