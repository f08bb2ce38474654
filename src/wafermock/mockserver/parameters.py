"""Checking path, query and header parameters against the contract."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from wafermock.spec import Route, Schema, Violation
from wafermock.spec.faults import Fault, faults

from .decode import decode
from .refusal import Refusal

# A header that decoding has judged already, and more kindly: any case, `x-gzip`, `identity`.
_JUDGED = {"content-encoding"}


# Only a schema that says what type it wants can mean anything but the text.
_TYPED = {"$ref", "allOf", "anyOf", "const", "enum", "oneOf", "type"}


def parameter_faults(route: Route, query: str, headers: Mapping[str, str]) -> list[Fault]:
    """List what is wrong with the parameters of a request; cookies are not looked at."""
    found = []
    given = parse_qs(query, keep_blank_values=True)
    for parameter in route.operation.parameters:
        if parameter.place == "header" and parameter.name.lower() in _JUDGED:
            continue
        values: list[str] = {
            "path": lambda name: [route.path_values[name]] if name in route.path_values else [],
            "query": lambda name: given.get(name, []),
            "header": lambda name: [headers[name.lower()]] if name.lower() in headers else [],
        }.get(parameter.place, lambda name: [])(parameter.name)
        if not values:
            if parameter.required and parameter.place != "cookie":
                detail = {
                    "type": "missing",
                    "loc": [parameter.place, parameter.name],
                    "msg": "Field required",
                }
                line = f"{parameter.place}.{parameter.name}: Field required"
                found.append(Fault(detail, line))
        elif parameter.schema is not None:
            found += _faults(parameter.name, parameter.place, parameter.schema, values)
    return found


def _faults(name: str, place: str, schema: Schema, values: list[str]) -> list[Fault]:
    """Judge a parameter as its text, or as what its text may mean (`5`, `true`, several values)."""
    readings: list[Any] = [values[0]]
    if isinstance(schema.node, dict) and not _TYPED.isdisjoint(schema.node):
        parts = [part for value in values for part in value.split(",")]
        readings += [_meant(values[0]), list(map(_meant, parts)), parts]
    if any(schema.is_valid(reading) for reading in readings):
        return []
    # Where `7` may be a number or a text, the one of the wanted type tells what is wrong with it.
    judged = [schema.violations(reading) for reading in readings]
    of_type = [found for found in judged if not any(_is_type_fault(v) for v in found)]
    return [
        Fault(
            {**fault.detail, "loc": [place, name, *fault.detail["loc"][1:]]},
            fault.line.replace(place, f"{place}.{name}", 1),
        )
        for fault in faults([*of_type, judged[0]][0], place)
    ]


def _is_type_fault(violation: Violation) -> bool:
    return violation.keyword == "type" and not violation.location


def _meant(text: str) -> Any:
    """Read a text as the JSON it may be, within the bounds of a body's JSON; else as itself."""
    try:
        value = decode(text.encode(), None, None, media_types=(), max_body=len(text) * 4)
    except (Refusal, UnicodeEncodeError):
        return text
    return text if isinstance(value, str) else value
