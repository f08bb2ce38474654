"""The JSON bodies and chunks of an answer, each with the schema that the contract has for it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from wafermock.spec import MediaType, Response, Schema, Violation
from wafermock.spec.operation import SEQUENTIAL
from wafermock.spec.pointer import parse_pointer

from .decoded import Unreadable
from .exchange import Exchange
from .once import once
from .open_objects import closed

# RFC 9110, section 6.4.1: these answers never have a body.
BODYLESS = frozenset({204, 304})

# Of a stream so many invalid chunks are looked into. To list what is wrong costs far more than to
# see that something is, and the thousandth chunk says what the first one says.
MOST_CHUNKS = 50


@dataclass(frozen=True)
class Body:
    """A JSON value that came, its schema, and `where` it stood: `chunk 3`, or empty."""

    value: Any
    schema: Schema
    where: str
    is_error: bool


@dataclass(frozen=True)
class Fault:
    """A violation in a body. `value` is what really stands there; `is_open`: what breaks only the
    schema as it were if its objects were closed."""

    body: Body
    violation: Violation
    value: Any
    is_open: bool


def response_of(exchange: Exchange) -> Response | None:
    """Return what the contract declares for the status that came."""
    if exchange.operation is None or exchange.received is None:
        return None
    return exchange.operation.response(exchange.received.status)


def has_no_body(exchange: Exchange) -> bool:
    """Say whether HTTP allows the answer no body at all."""
    assert exchange.received is not None
    return exchange.sent.method.upper() == "HEAD" or exchange.received.status in BODYLESS


def is_called_json(media_type: str) -> bool:
    return media_type == "application/json" or media_type.endswith("+json")


@once
def bodies(exchange: Exchange) -> tuple[Body, ...]:
    """List the JSON values of an answer that have a schema; of a body cut short, none."""
    response = response_of(exchange)
    if response is None or exchange.received is None or has_no_body(exchange):
        return ()
    is_error = exchange.received.status >= 400
    answer = exchange.answer
    if answer.is_stream:
        media = response.content.get(SEQUENTIAL)
        if media is None or media.item_schema is None:
            return ()
        schema = media.item_schema
        return tuple(
            Body(value, schema, f"chunk {number}", is_error)
            for number, value in enumerate(answer.chunks)
            if not isinstance(value, Unreadable)
        )
    media = json_media(response, answer.media_type)
    if not answer.is_json or media is None or media.schema is None:
        return ()
    return (Body(answer.data, media.schema, "", is_error),)


def json_media(response: Response, media_type: str) -> MediaType | None:
    """Return what is declared for a media type, else for JSON: a wrong label hides no fault."""
    exact = response.content.get(media_type)
    if exact is not None and exact.schema is not None and is_called_json(media_type):
        return exact
    return next((m for name, m in response.content.items() if is_called_json(name)), None)


@once
def faults(exchange: Exchange) -> tuple[Fault, ...]:
    """List what breaks the contract in the bodies of an answer."""
    found: list[Fault] = []
    looked = 0
    for body in bodies(exchange):
        listed = [*_faults(body)]
        looked += bool(listed)
        found += listed
        if looked >= MOST_CHUNKS:
            break
    return tuple(found)


def _faults(body: Body) -> Iterator[Fault]:
    value = body.value
    try:
        if body.schema.is_valid(value) and closed(body.schema).is_valid(value):
            return
        broken, loose = _violations(body.schema, value)
    except ValueError:  # a key with half a surrogate pair
        value = _judgeable(value)
        broken, loose = _violations(body.schema, value)
    known = {violation.location for violation in broken}
    mistyped = {violation.location for violation in broken if violation.keyword == "type"}
    for violation in broken:
        # What is of another type is none of the values listed either: one fault, told once.
        if violation.keyword in ("enum", "const") and violation.location in mistyped:
            continue
        yield Fault(body, violation, _value_at(value, violation), False)
    for violation in loose:
        unknown = violation.keyword in ("additionalProperties", "unevaluatedProperties")
        if unknown and violation.location not in known:
            yield Fault(body, violation, _value_at(value, violation), True)


def _violations(schema: Schema, value: Any) -> tuple[list[Violation], list[Violation]]:
    """List what breaks a schema, and what breaks it with its objects closed."""
    meant = nearest(schema, value)
    return meant.violations(value), closed(meant).violations(value)


def nearest(schema: Schema, value: Any) -> Schema:
    """Choose of the alternatives that a schema consists of the one that a value is meant to be:
    it knows the most of the value's keys. A chunk with one fault is no error with seven."""
    at, node = schema.pointer, schema.node
    if isinstance(node, dict) and isinstance(node.get("$ref"), str):
        at = parse_pointer(node["$ref"])
        node = schema.space.at(at).node
    branches = node.get("anyOf") if isinstance(node, dict) else None
    if not isinstance(branches, list) or not isinstance(value, dict):
        return schema
    each = [schema.space.at((*at, "anyOf", index)) for index in range(len(branches))]
    known = [len(value.keys() & branch.properties.keys()) for branch in each]
    best = max(known, default=0)
    return each[known.index(best)] if known.count(best) == 1 else schema


def _value_at(value: Any, violation: Violation) -> Any:
    try:
        for token in violation.location:
            value = value[token]
    except (LookupError, TypeError):
        return None
    return value


def _judgeable(value: Any) -> Any:
    """Return a value that any validator takes: one without half surrogates."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_judgeable(key): _judgeable(item) for key, item in value.items()}
    return [*map(_judgeable, value)] if isinstance(value, list) else value
