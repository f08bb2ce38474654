"""What a request for a completion asks for, read alike from both operations.

A request may be anything here, so that reading it never raises: what makes no sense is not asked.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

# Larger numbers count nothing, and Python does not even write them all down.
_ABSURD = 10**30


def whole_number(value: Any) -> int | None:
    """Return a JSON value as a whole number, if it is one (5.0 is) that anybody can mean."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and abs(value) < _ABSURD else None


def number(value: Any) -> float | None:
    """Return a JSON value as a finite number, if it is one that can be computed with."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


@dataclass(frozen=True)
class Asked:
    """The body of a request. Null is the same as absent."""

    body: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.body.get(name)

    @cached_property
    def samples(self) -> int:
        """How many choices are wanted for each prompt."""
        return max(whole_number(self["n"]) or 1, 1)

    @cached_property
    def prompts(self) -> tuple[Any, ...]:
        """The prompts of a completion: texts, or lists of token numbers. One for chat."""
        prompt = self["prompt"]
        if isinstance(prompt, list) and prompt and isinstance(prompt[0], str | list):
            return tuple(prompt)
        return (prompt,)

    @property
    def choices(self) -> int:
        """How many choices the answer has."""
        return self.samples * len(self.prompts)

    @cached_property
    def bound_name(self) -> str:
        """The parameter that bounds the length; empty where none does."""
        for name in ("max_completion_tokens", "max_tokens"):
            if self[name] is not None:
                return name
        return ""

    @cached_property
    def bound(self) -> int | None:
        """How many tokens a choice may have; None where only the context bounds it (-1 too)."""
        bound = whole_number(self[self.bound_name]) if self.bound_name else None
        return None if bound is None or bound < 0 else bound

    @cached_property
    def least_name(self) -> str:
        """The parameter that says how many tokens there are at least; empty where none does."""
        for name in ("min_completion_tokens", "min_tokens"):
            if self[name] is not None:
                return name
        return ""

    @cached_property
    def stops(self) -> tuple[str, ...]:
        stop = self["stop"]
        listed = stop if isinstance(stop, list) else [stop]
        return tuple(text for text in listed if isinstance(text, str) and text)

    @cached_property
    def functions(self) -> Mapping[str, Mapping[str, Any]]:
        """The functions that may be called, by their names."""
        tools = self["tools"]
        listed = tools if isinstance(tools, list) else []
        functions = [mapping(mapping(tool).get("function")) for tool in listed]
        return {f["name"]: f for f in functions if isinstance(f.get("name"), str)}

    @cached_property
    def forced_function(self) -> str | None:
        """The name of the function that `tool_choice` names."""
        name = mapping(mapping(self["tool_choice"]).get("function")).get("name")
        return name if isinstance(name, str) else None

    @cached_property
    def format(self) -> str:
        """The type of `response_format`: `text` where there is none."""
        kind = mapping(self["response_format"]).get("type")
        return kind if isinstance(kind, str) else "text"

    @cached_property
    def json_schema(self) -> Mapping[str, Any]:
        """`response_format.json_schema`: its `schema`, and whether it is `strict`."""
        return mapping(mapping(self["response_format"]).get("json_schema"))
