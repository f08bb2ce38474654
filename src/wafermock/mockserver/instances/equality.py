"""When two JSON values are equal (2020-12 core, section 4.2.2)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any


def identity(value: Any) -> Hashable:
    """A key that two values share if and only if they are equal: 1 is 1.0 and is not true."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, list):
        return ("array", tuple(identity(item) for item in value))
    if isinstance(value, dict):
        return ("object", frozenset((name, identity(item)) for name, item in value.items()))
    scalar: Hashable = value
    return scalar


def type_of(value: Any) -> str:
    """The JSON type, with `fraction` for a number that is not whole."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "fraction"
    return "array" if isinstance(value, list) else "object"
