"""Errors as an operation declares them: with which status, and what of a body has a place there."""

from typing import Any

from wafermock.spec import MediaType, Operation, Response, Schema
from wafermock.spec.alternatives import unwrapped
from wafermock.spec.errors import ErrorCatalogue
from wafermock.spec.media_type import essence

# By these keys a body of the catalogue says what is wrong.
_SAYING = ("message", "detail")


def declared_status(errors: ErrorCatalogue, operation: Operation | None, status: int) -> int:
    """Return the status that an operation declares for a fault of a request, which is `status` by
    the catalogue: that one, else one that stands in for it.

    A range or `default` comes behind both: it is meant for what the document does not name.
    """
    named = operation.responses if operation else {}
    for candidate in (status, *errors.instead_of(status)):
        if str(candidate) in named:
            return candidate
    return status


def placed(response: Response, name: str, body: Any) -> Any:
    """Return of a body of the catalogue, of the media type `name`, what has a place in a declared
    response: all of it, or those of its keys that are declared. None where that is not valid, or
    does not say what is wrong."""
    if not response.content:
        return body
    media_type = _media_type(response, name)
    if media_type is None:
        return None
    schema = media_type.schema
    if schema is None:
        return body
    known = body
    if isinstance(body, dict) and schema.properties and not _takes_more(schema):
        known = {key: value for key, value in body.items() if key in schema.properties}
        if not any(key in known for key in _SAYING):
            return None
    return known if schema.is_valid(known) else None


def _media_type(response: Response, name: str) -> MediaType | None:
    """Return what is declared for a media type, by its name or by a range (RFC 9110, 12.5.1)."""
    declared = {essence(key): value for key, value in response.content.items()}
    ranges = (name, f"{name.partition('/')[0]}/*", "*/*")
    return next((declared[one] for one in ranges if one in declared), None)


def _takes_more(schema: Schema) -> bool:
    """Say whether an object schema says itself that it takes properties which it does not name."""
    node = unwrapped(schema.space.root, schema.node)
    keywords = ("additionalProperties", "unevaluatedProperties")
    return any(node.get(keyword, False) is not False for keyword in keywords)
