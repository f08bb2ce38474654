"""ERRORS: bad requests that are answered badly, or as if they were good."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from ...draws import Draws
from ...event_stream import CONTENT_TYPE
from ...exchange import Request
from ..catalogue import Parameter, Shelf
from ..draft import DONE, Draft, Event, encoded
from ..requests import body_of, media_type, with_body

Values = Mapping[str, Any]

ERRORS = Shelf("ERRORS")
FAMILY = "A bad request gets a status of the right family."
SHAPE = "The body of an error has one of the known shapes (flat, nested, FastAPI)."
JSON_TYPE = "The body of an error is JSON, and is called so."
SAFE = "No error tells a stack trace or a path of the server."
PLAIN = "With `stream: true`, an error is a plain HTTP error."
REFUSED = "What breaks a rule is refused: "
ON_ERRORS = "errors"

# ---------------------------------------------------------------------- badly answered


@ERRORS.entry(
    "A bad request is not answered: its connection is closed.",
    "Every request that a server takes is answered.",
    on=ON_ERRORS,
)
def error_unanswered(draft: Draft, values: Values, draws: Draws) -> Draft:
    if draft.status < 400:
        return draft
    return replace(draft, events=(), body=b"", ending="cut", head_bytes=0)


@ERRORS.entry("An error has the status 200.", FAMILY, on=ON_ERRORS)
def error_status_200(draft: Draft, values: Values, draws: Draws) -> Draft:
    return replace(draft, status=200) if draft.status >= 400 else draft


@ERRORS.entry(
    "A client's fault is called the server's.",
    "No 5xx for a client's fault.",
    Parameter("status", "the status", 500, least=500, most=599),
    on=ON_ERRORS,
)
def error_status_5xx(draft: Draft, values: Values, draws: Draws) -> Draft:
    return replace(draft, status=values["status"]) if 400 <= draft.status < 500 else draft


@ERRORS.entry(
    "Every error has the same status, one that says nothing of what is wrong.",
    FAMILY,
    Parameter("status", "the status", 418, least=400, most=499),
    on=ON_ERRORS,
)
def error_status_wrong(draft: Draft, values: Values, draws: Draws) -> Draft:
    return replace(draft, status=values["status"]) if draft.status >= 400 else draft


@ERRORS.entry("The body of an error has a shape of its own.", SHAPE, on=ON_ERRORS)
def error_shape(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _error(draft, lambda body: {"ok": False, "errors": [1]})


@ERRORS.entry("The body of an error is empty.", SHAPE, on=ON_ERRORS)
def error_empty(draft: Draft, values: Values, draws: Draws) -> Draft:
    return replace(draft, body=b"") if draft.status >= 400 else draft


@ERRORS.entry("The message of an error is empty.", "An error says what is wrong.", on=ON_ERRORS)
def error_without_message(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _worded(draft, lambda message: "")


@ERRORS.entry(
    "An error of the flat shape lacks a key.",
    SHAPE,
    Parameter(
        "key", "the key", "code", kind="choice", choices=("message", "type", "param", "code")
    ),
    on=ON_ERRORS,
)
def error_key_missing(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _error(draft, lambda body: {k: v for k, v in body.items() if k != values["key"]})


@ERRORS.entry("The message of an error is null.", SHAPE, on=ON_ERRORS)
def error_message_null(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _worded(draft, lambda message: None)


@ERRORS.entry("An error is JSON, but called text/html.", JSON_TYPE, on=ON_ERRORS)
def error_content_type(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft.with_header("content-type", "text/html") if draft.status >= 400 else draft


@ERRORS.entry("An error is a page of HTML.", JSON_TYPE, on=ON_ERRORS)
def error_html(draft: Draft, values: Values, draws: Draws) -> Draft:
    if draft.status < 400:
        return draft
    page = f"<html><body><h1>{draft.status}</h1></body></html>\n".encode()
    return replace(draft, body=page).with_header("content-type", "text/html; charset=utf-8")


@ERRORS.entry("An error tells a stack trace.", SAFE, on=ON_ERRORS)
def stack_trace(draft: Draft, values: Values, draws: Draws) -> Draft:
    trace = (
        "Traceback (most recent call last):\n"
        '  File "handler.py", line 42, in create\n    body = parse(request)\n'
        "ValueError: "
    )
    return _worded(draft, lambda message: trace + message)


@ERRORS.entry("An error tells a path of the server.", SAFE, on=ON_ERRORS)
def internal_path(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _worded(draft, lambda message: f"{message} (/srv/api/app/handlers/chat.py:42)")


@ERRORS.entry("An error comes as an event stream, with the status 200.", PLAIN, on=ON_ERRORS)
def error_as_stream(draft: Draft, values: Values, draws: Draws) -> Draft:
    if draft.status < 400 or draft.streamed or draft.value is None:
        return draft
    events = (Event(draft.body.decode(), draft.start), Event(DONE, draft.start))
    stream = replace(draft, status=200, streamed=True, body=b"", events=events)
    return stream.with_header("content-type", CONTENT_TYPE)


def _error(draft: Draft, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Draft:
    if draft.status < 400 or not isinstance(draft.value, dict):
        return draft
    return replace(draft, body=encoded(change(draft.value)))


def _worded(draft: Draft, change: Callable[[str], str | None]) -> Draft:
    """Change the message of an error, in either shape."""

    def change_detail(detail: Any) -> Any:
        said = detail.get("msg") if isinstance(detail, dict) else None
        return {**detail, "msg": change(said)} if isinstance(said, str) else detail

    def change_body(body: dict[str, Any]) -> dict[str, Any]:
        if isinstance(body.get("detail"), list):
            return {**body, "detail": [change_detail(detail) for detail in body["detail"]]}
        message = body.get("message")
        return {**body, "message": change(message)} if isinstance(message, str) else body

    return _error(draft, change_body)


# ---------------------------------------------------------------------- taken for good ones


ERRORS.named(
    "invalid_accepted",
    "A body that breaks the contract is answered with 200.",
    REFUSED + "every constraint of the contract.",
    on="invalid requests",
    stage="settings",
    settings={"validate": "off"},
)
ERRORS.named(
    "unknown_model_accepted",
    "A model that is not there answers.",
    REFUSED + "unknown models, where the server has a list.",
    on="unknown models",
    stage="settings",
    settings={"models": "any"},
)
ERRORS.named(
    "wrong_key_accepted",
    "Any key will do.",
    REFUSED + "wrong keys.",
    on="wrong keys",
    stage="settings",
    settings={"api_key": None},
)
ERRORS.named(
    "oversize_accepted",
    "There is no bound on the size of a body.",
    REFUSED + "bodies over the bound.",
    on="large bodies",
    stage="settings",
    settings={"max_body": 2**40},
)


@ERRORS.entry(
    "No key is needed.",
    REFUSED + "requests without a key, or with a malformed one.",
    on="requests without a key",
    stage="request",
    settings={"api_key": None},  # where a key is made up, it is not the one the server knows
)
def no_key_accepted(request: Request, values: Values, position: int) -> Request:
    kind, _, key = request.headers.get("authorization", "").strip().partition(" ")
    if kind.lower() == "bearer" and key.strip():
        return request
    return replace(request, headers={**request.headers, "authorization": "Bearer none"})


@ERRORS.entry(
    "A wrong media type is not noticed.",
    REFUSED + "wrong media types.",
    on="wrong media types",
    stage="request",
)
def media_type_accepted(request: Request, values: Values, position: int) -> Request:
    kind = media_type(request)
    if not kind or kind.endswith(("json", "msgpack")):
        return request
    return replace(request, headers={**request.headers, "content-type": "application/json"})


@ERRORS.entry(
    "A body that cannot be read is answered as if it said hello.",
    REFUSED + "malformed JSON, MessagePack and gzip.",
    Parameter(
        "kind", "which bodies", "all", kind="choice", choices=("all", "json", "msgpack", "gzip")
    ),
    on="malformed bodies",
    stage="request",
)
def malformed_accepted(request: Request, values: Values, position: int) -> Request:
    is_msgpack, is_gzip = (
        media_type(request).endswith("msgpack"),
        request.headers.get("content-encoding", "").lower() == "gzip",
    )
    kind = "gzip" if is_gzip else "msgpack" if is_msgpack else "json"
    if request.method != "POST" or values["kind"] not in ("all", kind) or body_of(request):
        return request
    asked: dict[str, Any] = {"model": "gpt-oss-120b"}
    if "chat" in request.path:
        asked["messages"] = [{"role": "user", "content": "hello"}]
    else:
        asked["prompt"] = "hello"
    return with_body(request, asked)


@ERRORS.entry(
    "A method that a path does not know is taken for one that it knows.",
    REFUSED + "unknown methods.",
    on="unknown methods",
    stage="request",
)
def method_accepted(request: Request, values: Values, position: int) -> Request:
    wanted = "POST" if request.path.rstrip("/").endswith("completions") else "GET"
    return request if request.method in (wanted, "HEAD") else replace(request, method=wanted)


@ERRORS.entry(
    "An unknown path is answered as the list of models.",
    REFUSED + "unknown paths.",
    on="unknown paths",
    stage="request",
)
def path_accepted(request: Request, values: Values, position: int) -> Request:
    known = ("/v1/chat/completions", "/v1/completions", "/v1/models", "/v1/tcp_warming")
    if request.path in known or request.path.startswith("/v1/models/"):
        return request
    return replace(request, method="GET", path="/v1/models", query="", body=b"")


@ERRORS.entry(
    "A good request is refused.",
    "A valid request is answered.",
    on="valid requests",
    stage="request",
)
def valid_refused(request: Request, values: Values, position: int) -> Request:
    body = body_of(request)
    return request if body is None else with_body(request, {**body, "model": []})
