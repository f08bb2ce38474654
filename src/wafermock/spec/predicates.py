"""The little language of `requirements.yaml`: what a predicate says about a request body.

A predicate gives None when it does not hold, and otherwise what it found, by name: the values
for the placeholders of an error's message. Predicates are pure, and take any JSON data.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from .checks import CHECKS

Found = Mapping[str, object] | None
HOLDS: Mapping[str, object] = {}


class Subject(Struct, frozen=True):
    """What predicates look at: a body, and what its model can do (None for an unknown model)."""

    body: Any
    model: Mapping[str, Any] | None

    def capability(self, path: str) -> Any:
        """Return what `models.yaml` says of the model at a dotted path, None where nothing."""
        value: Any = self.model
        for key in path.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        return value


def holds(predicate: Mapping[str, Any], subject: Subject) -> Found:
    """Evaluate one predicate: its first key names it, `check` may have further keys."""
    if "check" in predicate:
        return _check(subject, **predicate)
    ((name, operand),) = predicate.items()
    return PREDICATES[name](subject, operand)


def needs(predicate: Mapping[str, Any]) -> list[str]:
    """Name the properties of a body that must be there for a predicate to hold."""
    name, operand = next(iter(predicate.items()))
    if name in ("present", "true"):
        return [operand.split(".")[0]]
    if name in ("equals", "above", "not_above", "matches", "not_of_model"):
        return [path.split(".")[0] for path in operand]
    return []


def values_at(body: Any, path: str) -> Iterator[Any]:
    """Yield the values at a dotted path, `*` for every item of a list; null, [] and {} are none."""
    found = [body]
    for key in path.split("."):
        if key == "*":
            found = [item for value in found if isinstance(value, list) for item in value]
        else:
            found = [value[key] for value in found if isinstance(value, dict) and key in value]
    return (value for value in found if value is not None and value not in ([], {}))


def _present(subject: Subject, path: str) -> Found:
    return HOLDS if any(True for _ in values_at(subject.body, path)) else None


def _absent(subject: Subject, path: str) -> Found:
    return HOLDS if _present(subject, path) is None else None


def _true(subject: Subject, path: str) -> Found:
    return HOLDS if any(value is True for value in values_at(subject.body, path)) else None


def _not_true(subject: Subject, path: str) -> Found:
    return HOLDS if _true(subject, path) is None else None


def _equals(subject: Subject, wanted: Mapping[str, Any]) -> Found:
    ((path, value),) = wanted.items()
    choices = value if isinstance(value, list) else [value]
    for value in values_at(subject.body, path):
        if any(type(value) is type(choice) and value == choice for choice in choices):
            return {"value": value}
    return None


def _above(subject: Subject, bound: Mapping[str, float]) -> Found:
    ((path, limit),) = bound.items()
    return HOLDS if any(number > limit for number in _numbers(subject, path)) else None


def _not_above(subject: Subject, fields: Mapping[str, str]) -> Found:
    ((path, other),) = fields.items()
    pairs = ((a, b) for a in _numbers(subject, path) for b in _numbers(subject, other))
    return HOLDS if any(a <= b for a, b in pairs) else None


def _numbers(subject: Subject, path: str) -> list[float]:
    values = values_at(subject.body, path)
    return [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]


def _matches(subject: Subject, wanted: Mapping[str, str]) -> Found:
    ((path, pattern),) = wanted.items()
    for value in values_at(subject.body, path):
        if isinstance(value, str) and re.search(pattern, value):
            return {"value": value}
    return None


def _model_lacks(subject: Subject, capability: str) -> Found:
    if subject.model is None or subject.capability(capability):
        return None
    return HOLDS


def _not_of_model(subject: Subject, fields: Mapping[str, str]) -> Found:
    ((path, capability),) = fields.items()
    if subject.model is None:
        return None
    supported = subject.capability(capability) or []
    for value in values_at(subject.body, path):
        if value not in supported:
            return {"value": value, "supported": ", ".join(supported) or "none at all"}
    return None


def _check(subject: Subject, check: str, capability: str = "", **arguments: Any) -> Found:
    """Run a check; a `capability` of the model is its `limit`, and without one nothing is found."""
    if capability:
        arguments["limit"] = subject.capability(capability)
        if arguments["limit"] is None:
            return None
    return CHECKS[check](subject.body, **arguments)


PREDICATES: dict[str, Callable[[Subject, Any], Found]] = {
    "present": _present,
    "absent": _absent,
    "true": _true,
    "not_true": _not_true,
    "equals": _equals,
    "above": _above,
    "not_above": _not_above,
    "matches": _matches,
    "model_lacks": _model_lacks,
    "not_of_model": _not_of_model,
}
