"""Answers for operations that no composer knows: from their examples, else from their schemas."""

import json
import re
from collections.abc import Iterator
from typing import Any

from wafermock.spec import MediaType, Operation, Response, Schema

from .draws import digest
from .event_stream import CONTENT_TYPE, encode_json, frame_events
from .exchange import Answer
from .prefer import Preferences, unknown_example
from .refusal import Refusal

_EVENTS_INVENTED = 3

# RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5: there is no body, whatever is declared.
_WITHOUT_CONTENT = (204, 205, 304)


def answer(
    operation: Operation,
    response: Response,
    identity: bytes,
    preferences: Preferences,
    *,
    status: int | None = None,
    accept: str = "",
    stream: bool = False,
) -> Answer:
    """Answer with a response that the contract declares.

    `status` is needed where the response stands for several (`4XX`, `default`). Which of its
    media types: an event stream when the request asks for one, else what the client likes best.
    Raises Refusal when an example is asked for that is not there, and when nothing can satisfy
    the schema.
    """
    status = status or _status(response.status)
    headers = _headers(response, identity)
    media_type = _choose(response, preferences, accept, stream)
    if media_type is None or status in _WITHOUT_CONTENT:
        return Answer(status, headers, ())
    value = _value(media_type, identity, preferences)
    if media_type.name == "text/event-stream":
        events = value if isinstance(value, list) else [value]
        return Answer(
            status, {**headers, "content-type": CONTENT_TYPE}, frame_events(events), streamed=True
        )
    return Answer(
        status,
        {**headers, "content-type": _content_type(media_type.name)},
        (_encode(media_type, value),),
    )


def _status(declared: str) -> int:
    if declared.isdecimal():
        return int(declared)
    return int(declared[0]) * 100 if declared[0].isdecimal() else 200


def _content_type(name: str) -> str:
    if "*" in name:
        name = {"text/*": "text/plain"}.get(name, "application/json")
    return f"{name}; charset=utf-8" if name.startswith("text/") else name


def _choose(
    response: Response, preferences: Preferences, accept: str, stream: bool
) -> MediaType | None:
    content = list(response.content.values())
    if preferences.example is not None:
        for media_type in content:
            if preferences.example in media_type.examples:
                return media_type
        raise unknown_example(preferences.example, [n for m in content for n in m.examples])
    if stream or accept.startswith("text/event-stream"):
        for media_type in content:
            if media_type.name == "text/event-stream":
                return media_type
    # JSON before what else there may be: of a schema JSON is all that can be made.
    content.sort(key=lambda media_type: not media_type.name.endswith("json"))
    liked = max(content, key=lambda m: _quality(m.name, accept), default=None)
    return (
        liked
        if liked and _quality(liked.name, accept)
        else next(iter(response.content.values()), None)
    )


def _quality(name: str, accept: str) -> float:
    """Return how much a client likes a media type, from 0 to 1 (RFC 9110, section 12.5.1)."""
    if not accept.strip():
        return 1.0
    found = {}
    for part in accept.lower().split(","):
        offered, *parameters = (piece.strip() for piece in part.split(";"))
        weights = [p[2:] for p in parameters if re.fullmatch(r"q=[01](\.[0-9]{0,3})?", p)]
        found[offered] = float(weights[0]) if weights else 1.0
    for wanted in (name, name.partition("/")[0] + "/*", "*/*"):  # the most specific counts
        if wanted in found:
            return found[wanted]
    return 0.0


def _value(media_type: MediaType, identity: bytes, preferences: Preferences) -> Any:
    if preferences.example is not None:
        return media_type.examples[preferences.example].value
    if not preferences.dynamic:
        for example in media_type.examples.values():
            # An example that breaks its own schema would make the mock break the contract.
            if media_type.schema is None or media_type.schema.is_valid(example.value):
                return example.value
    if media_type.item_schema is not None:
        return [{"data": encode_json(v).decode()} for v in _items(media_type.item_schema, identity)]
    return generate(media_type.schema, identity)


def _items(schema: Schema, identity: bytes) -> Iterator[Any]:
    for number in range(_EVENTS_INVENTED):
        yield generate(schema, digest(identity, number))


def generate(schema: Schema | None, identity: bytes) -> Any:
    """Invent an instance of a schema of the contract; None where there is no schema."""
    from .instances import SchemaError, make_instance

    if schema is None:
        return None
    try:
        return make_instance(schema.standalone, identity)
    except SchemaError as error:
        place = error.pointer or "(root)"
        raise Refusal("unsatisfiable_document", pointer=place, reason=error.reason) from None


def _encode(media_type: MediaType, value: Any) -> bytes:
    is_json = media_type.name.endswith("json")
    if value is None and media_type.schema is None:
        return b"{}" if is_json else b""
    return value.encode() if isinstance(value, str) and not is_json else encode_json(value)


def _headers(response: Response, identity: bytes) -> dict[str, str]:
    """Give the headers that the response requires, from their example or their schema."""
    headers = {}
    for header in response.headers.values():
        if header.required:
            value = header.example
            if value is None:
                value = generate(header.schema, digest(identity, header.name))
            text = value if isinstance(value, str) else json.dumps(value)
            headers[header.name] = re.sub("[^ -~]", "?", text)  # what a field can carry
    return headers
