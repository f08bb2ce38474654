"""Error answers: their bodies, their headers, and those that come in a stream."""

from collections.abc import Iterable
from typing import Literal

from ..bodies import bodies, faults
from ..error_bodies import (
    declares_own_shape,
    error_events,
    error_of,
    read_error,
    refused_in_stream,
    shortened,
)
from ..exchange import Exchange
from ..rule import Bench, Breach, Found, RuleBook
from .refusals import ERRORS, expected, fault_of, is_error, status_of

BOOK = RuleBook("ERRORS")

_KNOWN_SHAPES = (
    "message, type, param and code; or error with a message; or detail with msg, loc, type"
)

# ---------------------------------------------------------------------- the body of an error


def _assumed(exchange: Exchange) -> Literal["WARN"] | None:
    """Bodies of 5xx come from proxies as well, and nobody has recorded the API's own."""
    return "WARN" if status_of(exchange) >= 500 else None


def _json_is_declared(exchange: Exchange) -> bool:
    """Whether the contract lets an error of this status be JSON; it is, where nothing is said."""
    operation = exchange.operation
    declared = operation.response(status_of(exchange)) if operation else None
    content = declared.content if declared else {}
    return not content or any(name.endswith("json") for name in content)


@BOOK.rule(
    "ERR-JSON",
    "MUST",
    "The body of an error is JSON, and is called so.",
    source=f"{ERRORS} (application/json)",
    guards="A client that reads the error as JSON fails, and hides what was wrong.",
    applies=lambda exchange: (
        is_error(exchange) and _json_is_declared(exchange) and not exchange.answer.is_stream
    ),
    needs="an answer that is an error",
)
def _error_is_json(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    answer = exchange.answer
    if not answer.text:
        return
    if not answer.is_json:
        shown = shortened(answer.text[:400].decode("utf-8", "replace"), 80)
        yield Breach("JSON", f"{answer.media_type or 'no Content-Type'}: {shown}", "body",
                     state=_assumed(exchange))  # fmt: skip
    elif not answer.media_type.endswith("json"):
        yield Breach(
            "Content-Type: application/json",
            f"it is {answer.media_type or 'not there'}",
            "header content-type",
            state=_assumed(exchange),
        )


@BOOK.rule(
    "ERR-SHAPE",
    "MUST",
    "The body of an error has one of the known shapes: flat, nested in `error`, or `detail`.",
    source="#/components/schemas/ErrorResponse, #/components/schemas/HTTPValidationError",
    guards="The SDKs find neither message nor code, and show `Error code: 400` alone.",
    applies=lambda exchange: (
        is_error(exchange)
        and _json_is_declared(exchange)
        and (exchange.answer.is_json or not exchange.answer.text)
    ),
    needs="an answer that is an error",
)
def _error_shape(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    error = error_of(exchange)
    if error.shape is None:
        wanted = "what the contract declares" if declares_own_shape(exchange) else _KNOWN_SHAPES
        why = error.why if exchange.answer.text else "the body is empty"
        yield Breach(wanted, why, "body", state=_assumed(exchange))


@BOOK.rule(
    "ERR-DECLARED-SHAPE",
    "MAY",
    "The body of an error has the shape that the contract has for errors: flat; `detail` with 422.",
    source="#/components/schemas/ErrorResponse, #/components/schemas/HTTPValidationError",
    guards="A client that reads `code` where it stands in the contract finds it nowhere.",
    applies=lambda exchange: (
        is_error(exchange) and exchange.answer.is_json and error_of(exchange).shape is not None
    ),
    needs="an error of a known shape",
)
def _error_shape_named(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    shape = error_of(exchange).shape
    is_other = shape == "nested" or (shape == "FastAPI" and status_of(exchange) != 422)
    if is_other and (not bodies(exchange) or faults(exchange)):
        yield Breach("flat: message, type, param, code", f"it is {shape}", "body")


@BOOK.rule(
    "ERR-MESSAGE",
    "MUST",
    "An error says what is wrong: its message is not empty.",
    source="#/components/schemas/ErrorResponse/properties/message (a sentence for people)",
    guards="Whoever reads the log of a client finds an error that says nothing.",
    applies=lambda exchange: (
        is_error(exchange) and exchange.answer.is_json and error_of(exchange).shape is not None
    ),
    needs="an error of a known shape",
)
def _error_message(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    error = error_of(exchange)
    if not error.message.strip():
        where = {"flat": "/message", "nested": "/error/message", "FastAPI": "/detail"}
        yield Breach("a sentence", "it is empty", where[error.shape or "flat"])


# ---------------------------------------------------------------------- streams


@BOOK.rule(
    "ERR-STREAM-PLAIN",
    "MUST",
    "With `stream: true` a refusal is a plain HTTP error, and no event stream.",
    source="#/paths/~1v1~1chat~1completions/post/responses",
    guards="A client that takes the stream for a good one finds an error where words should be.",
    applies=lambda exchange: (
        (exchange.meant != "valid" and (exchange.wants_stream or exchange.answer.is_stream))
        or (exchange.wants_stream and status_of(exchange) >= 400)
    ),
    needs="a bad request with stream: true",
)
def _plain_in_streams(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    status = status_of(exchange)
    if status >= 400 and exchange.answer.is_stream:
        yield Breach("a JSON body", f"an event stream with the status {status}", "body")
    elif exchange.meant != "valid" and refused_in_stream(exchange):
        yield Breach(expected(exchange), f"an event stream with the status {status}", "chunk 0")


@BOOK.rule(
    "ERR-EVENT-MESSAGE",
    "SHOULD",
    "An error in a stream, where there is one, says what is wrong, and has an error's status.",
    source="#/components/schemas/ErrorChunkResponse",
    guards="A client raises an error that says nothing, of a class that does not fit.",
    applies=lambda exchange: exchange.accepted and exchange.answer.is_stream,
    needs="a stream",
)
def _event_says_something(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    for number, event in error_events(exchange):
        error = read_error(event)
        if error.shape == "nested" and not error.message.strip():
            yield Breach("a sentence", "it is empty", f"chunk {number}, /error/message")
        status = event.get("status_code", 500)
        if not isinstance(status, int) or not 400 <= status < 600:
            told = f"it is {shortened(str(status), 40)}"
            yield Breach("a status of 400 to 599", told, f"chunk {number}, /status_code")


# ---------------------------------------------------------------------- headers of errors


@BOOK.rule(
    "ERR-CHALLENGE",
    "SHOULD",
    "401 comes with WWW-Authenticate.",
    source="RFC 9110, section 11.6.1",
    guards="A client cannot find out which scheme the server wants.",
    applies=lambda exchange: status_of(exchange) == 401,
    needs="an answer with the status 401",
)
def _challenge(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    assert exchange.received is not None
    if not (exchange.received.header("www-authenticate") or "").strip():
        yield Breach("WWW-Authenticate: Bearer", "it is not there", "header www-authenticate")


@BOOK.rule(
    "ERR-ALLOW",
    "MUST",
    "405 comes with Allow, which lists the methods that the path knows.",
    source="RFC 9110, section 15.5.6",
    guards="A client cannot find out what the path takes.",
    applies=lambda exchange: status_of(exchange) == 405,
    needs="an answer with the status 405",
)
def _allow(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    assert exchange.received is not None
    allowed = exchange.received.header("allow")
    if allowed is None:
        yield Breach("Allow: and the methods", "it is not there", "header allow")
    elif exchange.sent.method in [method.strip() for method in allowed.split(",")]:
        yield Breach("methods that are allowed", f"it is {shortened(allowed, 80)}", "header allow")


@BOOK.rule(
    "ERR-CODINGS",
    "MAY",
    "415 for a content coding comes with Accept-Encoding, which lists those that are taken.",
    source="RFC 9110, section 12.5.3",
    guards="A client cannot find out which codings it may use.",
    applies=lambda exchange: fault_of(exchange) == "coding" and status_of(exchange) == 415,
    needs="an answer with the status 415 to an unknown content coding",
)
def _codings(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    assert exchange.received is not None
    if exchange.received.header("accept-encoding") is None:
        yield Breach("Accept-Encoding: gzip", "it is not there", "header accept-encoding")
