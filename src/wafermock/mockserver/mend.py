"""Making a usable body of an invalid one, for servers told not to refuse it."""

from typing import Any

from wafermock.spec import Schema, Violation
from wafermock.spec.excerpt import is_large
from wafermock.spec.pointer import copy_json, resolve
from wafermock.spec.violations import Location

# A body that is still broken after so many rounds loses whole properties, then everything.
_ROUNDS = 16
_ROUNDS_OF_LARGE = 4


def mend(body: Any, schema: Schema) -> dict[str, Any]:
    """Return the part of a request body that obeys the schema.

    What breaks it is left out, the smallest part that can be: a value, else the object around
    it. Properties required at the root may be missing from the result.
    """
    if not isinstance(body, dict):
        return {}
    if schema.is_closed:
        body = {name: value for name, value in body.items() if name in schema.properties}
    result: dict[str, Any] = copy_json(body)
    # As deep as the fault lies, then the whole property. A large body is not worth much search:
    # to find one fault in it may cost seconds.
    large = is_large(result)
    for depth in (1,) if large else (None, 1):
        for _ in range(_ROUNDS_OF_LARGE if large else _ROUNDS):
            gone = {_place(violation)[:depth] for violation in schema.partial.violations(result)}
            if not gone:
                return result
            if () in gone:
                return {}
            for location in sorted(gone, key=_by_index, reverse=True):
                _remove(result, location)
    return {}


def _place(violation: Violation) -> Location:
    """Return what must go: the value at fault, or the object that lacks a property."""
    missing = violation.keyword == "required"
    return violation.location[:-1] if missing else violation.location


def _by_index(location: Location) -> list[tuple[int, str]]:
    return [(t, "") if isinstance(t, int) else (-1, t) for t in location]


def _remove(body: Any, location: Location) -> None:
    try:
        owner = resolve(body, location[:-1])
        del owner[location[-1]]
    except (LookupError, TypeError):
        pass  # a part around it is gone already
