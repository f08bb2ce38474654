"""ERRORS: what errors tell beside what is wrong, or leave untold."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from wafermock.spec.errors import ErrorEntry

from ...draws import Draws
from ...exchange import Request
from ...refusal import Refusal
from ..catalogue import Shelf
from ..draft import Draft, Event, encoded
from ..requests import body_of
from .errors import ON_ERRORS

Values = Mapping[str, Any]

TOLD = Shelf("ERRORS")
SAYS = "An error says what is wrong."


@TOLD.entry(
    "The body of an error is nested: everything stands under `error`.",
    "The body of an error has the shape that the contract has for it.",
    on=ON_ERRORS,
)
def error_nested(draft: Draft, values: Values, draws: Draws) -> Draft:
    value = draft.value
    if draft.status < 400 or not isinstance(value, dict) or "message" not in value:
        return draft
    return replace(draft, body=encoded({"error": value}))


@TOLD.entry("An error event in a stream has an empty message.", SAYS, on="streams")
def error_event_without_message(draft: Draft, values: Values, draws: Draws) -> Draft:
    if not draft.chunks:
        return draft
    error = {"message": "", "type": "server_error", "param": "", "code": "", "id": ""}
    first, *_ = draft.chunks
    event = Event("", draft.events[first].offset).holding({"status_code": 500, "error": error})
    return draft.with_events([*draft.events[: first + 1], event])


@TOLD.entry(
    "401 does not name the scheme that is wanted.",
    "401 comes with WWW-Authenticate (RFC 9110, section 11.6.1).",
    on="401",
)
def no_challenge(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft.with_header("www-authenticate", None) if draft.status == 401 else draft


@TOLD.entry(
    "405 does not name the methods that the path knows.",
    "405 comes with Allow (RFC 9110, section 15.5.6).",
    on="405",
)
def no_allow(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft.with_header("allow", None) if draft.status == 405 else draft


@TOLD.entry(
    "415 does not name the content codings that are taken.",
    "415 for a content coding comes with Accept-Encoding (RFC 9110, section 12.5.3).",
    on="415",
)
def no_codings(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft.with_header("accept-encoding", None) if draft.status == 415 else draft


@TOLD.entry(
    "An error about a body that cannot be read says the client's key back.",
    "No error says the key back.",
    on="malformed bodies",
    stage="request",
)
def key_told(request: Request, values: Values, position: int) -> Request:
    key = request.headers.get("authorization", "").partition(" ")[2]
    if request.method != "POST" or not key or body_of(request) is not None:
        return request
    raise Refusal(_KEY_TOLD, key=key)


_KEY_TOLD = ErrorEntry(
    "key_told", 400, "flat", "The body sent with {key} cannot be read.", "invalid_request_error"
)
