"""Errors as an operation declares them: with which status, and what of a body has a place there."""

from typing import Any

from wafermock.spec import MediaType, Operation, Response
from wafermock.spec.alternatives import unwrapped
from wafermock.spec.errors import ErrorCatalogue
from wafermock.spec.media_type import essence
from wafermock.spec.structure import NAMING_MORE

# By one of these a body of the catalogue says what is wrong.
_SAYING = ("message", "detail")
# Where one of these stands beside `properties`, and is not false, an object may have others.
_MORE = (*NAMING_MORE, "additionalProperties", "unevaluatedProperties")


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
    response: all of it, or the keys that are declared. None where that is not valid, or does not
    say what is wrong."""
    if not response.content:
        return body
    media_type = _media_type(response, name)
    if media_type is None:
        return None
    schema = media_type.schema
    if schema is None:
        return body
    known = _named(schema.space.root, schema.node, body)
    if isinstance(known, dict) and not any(key in known for key in _SAYING):
        return None
    return known if schema.is_valid(known) else None


def _media_type(response: Response, name: str) -> MediaType | None:
    """Return what is declared for a media type, by its name or by a range (RFC 9110, 12.5.1)."""
    declared = {essence(key): value for key, value in response.content.items()}
    ranges = (name, f"{name.partition('/')[0]}/*", "*/*")
    return next((declared[one] for one in ranges if one in declared), None)


def _named(root: dict[str, Any], node: Any, value: Any) -> Any:
    """Leave out of a value the keys that the object schema in their place does not name, unless it
    says itself that there are others."""
    node = unwrapped(root, node)
    named = node.get("properties")
    takes_more = any(node.get(keyword, False) is not False for keyword in _MORE)
    if isinstance(value, dict) and named and not takes_more:
        return {key: _named(root, named[key], of) for key, of in value.items() if key in named}
    if isinstance(value, list) and "items" in node:
        return [_named(root, node["items"], item) for item in value]
    return value
