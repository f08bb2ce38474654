"""SCHEMA: bodies and chunks against the contract, one rule for each way to break it."""

import math
from collections.abc import Callable, Iterator
from typing import Any

from wafermock.reports.run import Level, State
from wafermock.spec.media_type import essence

from ..bodies import BODYLESS, Fault, bodies, faults, has_no_body, is_called_json, response_of
from ..decoded import FaultKind
from ..error_bodies import of_http_itself
from ..exchange import Exchange
from ..http1_answer import BEHIND
from ..rule import Applies, Bench, Breach, Found, RuleBook
from .declared import declared_at, in_answer
from .showing import shown

BOOK = RuleBook("SCHEMA")

OPENAPI = "OpenAPI 3.1, Responses Object"
VALIDATION = "JSON Schema 2020-12, validation"
JSON = "RFC 8259"
ANSWER = "an answer with a body of JSON"
JUNK = ("JSON", "junk behind JSON", "too deep")


def has_answer_bodies(exchange: Exchange) -> bool:
    return any(not body.is_error for body in bodies(exchange))


def has_error_body(exchange: Exchange) -> bool:
    return any(body.is_error for body in bodies(exchange))


def _whole(exchange: Exchange) -> bool:
    return exchange.received is not None and exchange.received.ended == "complete"


# ---------------------------------------------------------------------- the contract's keywords


def _violation_rule(
    id: str,
    requirement: str,
    *,
    source: str,
    guards: str,
    picks: Callable[[Fault], bool],
    level: Level = "MUST",
    applies: Applies = has_answer_bodies,
    needs: str = ANSWER,
) -> None:
    """Make a rule of some kinds of violations. Of one place in the contract the first is told."""

    @BOOK.rule(id, level, requirement, source=source, guards=guards, applies=applies, needs=needs)
    def judge(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
        told = set()
        for fault in () if of_http_itself(exchange) else faults(exchange):
            if picks(fault):
                breach = _breach(fault)
                if breach.location not in told:
                    told.add(breach.location)
                    yield breach


def _breach(fault: Fault) -> Breach:
    violation, body = fault.violation, fault.body
    pointer = in_answer(violation.location)
    return Breach(
        expected=_expected(fault),
        actual=_actual(fault),
        where=f"{body.where}, {pointer}" if body.where else pointer,
        location=declared_at(body.schema, violation.location),
        state="WARN" if _brings_usage_apart(fault) else None,
    )


def _brings_usage_apart(fault: Fault) -> bool:
    """Say whether a chunk has no choices because it brings `usage`: so do other servers, whatever
    the contract's `minItems`, and all clients read it."""
    empty = fault.violation.location == ("choices",) and fault.value == []
    return empty and bool(fault.body.where) and isinstance(fault.body.value.get("usage"), dict)


def _expected(fault: Fault) -> str:
    violation = fault.violation
    name = violation.location[-1] if violation.location else ""
    if violation.keyword == "required":
        return f"the key `{name}`"
    if violation.keyword in UNKNOWN:
        return f"no key `{name}`: the contract does not know it"
    limit = violation.limit
    if violation.keyword == "type":
        names = map(str, limit if isinstance(limit, list) else [limit])
        return " or ".join(sorted(names, key=lambda name: name == "null"))
    if violation.keyword == "enum" and isinstance(limit, list):
        return f"one of {', '.join(map(shown, limit))}"
    return f"{violation.keyword}: {shown(limit)}"


def _actual(fault: Fault) -> str:
    if fault.violation.keyword == "required":
        return "it is not there"
    return shown(fault.value)


UNKNOWN = ("additionalProperties", "unevaluatedProperties", "propertyNames")
BOUNDS = frozenset(
    {
        "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
        "maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems", "minProperties",
        "maxProperties",
    }
)  # fmt: skip


def _kind(fault: Fault) -> str:
    """Sort a violation: each kind is another fault of a server, and hurts clients otherwise."""
    keyword = fault.violation.keyword
    if fault.is_open:
        return "open"
    if fault.body.is_error:
        return "error"
    if isinstance(fault.value, float) and not math.isfinite(fault.value):
        return "no number"  # told by SCHEMA-NAN
    if keyword == "type":
        return "null" if fault.value is None else "type"
    if keyword in UNKNOWN:
        return "closed"
    if keyword in BOUNDS:
        return "bound"
    return "required" if keyword == "required" else "value"


def _is(kind: str) -> Callable[[Fault], bool]:
    return lambda fault: _kind(fault) == kind


_violation_rule(
    "SCHEMA-REQUIRED",
    "Every key that the contract requires is there.",
    source=f"{VALIDATION}, section 6.5.3 (required)",
    guards="It reads a key that is always there and fails with a KeyError or `undefined`.",
    picks=_is("required"),
)
_violation_rule(
    "SCHEMA-TYPE",
    "Every value is of a type that the contract gives it.",
    source=f"{VALIDATION}, section 6.1.1 (type)",
    guards="It computes with a text, or fails where its language is typed.",
    picks=_is("type"),
)
_violation_rule(
    "SCHEMA-NULL",
    "Nothing is null that the contract does not let be null.",
    source=f"{VALIDATION}, section 6.1.1 (type)",
    guards="It fails on a null that no document told it of.",
    picks=_is("null"),
)
_violation_rule(
    "SCHEMA-VALUE",
    "A value is one of those that the contract lists (`enum`, `const`), and of its alternatives.",
    source=f"{VALIDATION}, sections 6.1.2 and 6.1.3 (enum, const); core, section 10.2",
    guards="It switches over the values there are, and none of its branches fits.",
    picks=_is("value"),
)
_violation_rule(
    "SCHEMA-BOUND",
    "Numbers, lengths and patterns keep their bounds.",
    source=f"{VALIDATION}, sections 6.2 to 6.5",
    guards="It takes `choices[0]` of an empty list, or a negative time.",
    picks=_is("bound"),
)
_violation_rule(
    "SCHEMA-CLOSED",
    "A closed object holds no key that the contract does not know.",
    source="JSON Schema 2020-12, core, section 10.3.2.3 (additionalProperties)",
    guards="Its strict model of the answer refuses the whole answer for one more key.",
    picks=_is("closed"),
)
_violation_rule(
    "SCHEMA-OPEN",
    "An open object too holds only keys that the contract knows.",
    source="JSON Schema 2020-12, core, section 10.3.2.3 (additionalProperties)",
    guards="It comes to rely on a key that nobody promised, and that goes away.",
    picks=_is("open"),
    level="SHOULD",
    applies=lambda exchange: bool(bodies(exchange)),
)
_violation_rule(
    "SCHEMA-ERROR",
    "The body of an error is as the contract declares it for its status.",
    source=OPENAPI,
    guards="It reads `message`, `type` and `code`, and shows its user `undefined`.",
    picks=_is("error"),
    applies=has_error_body,
    needs="an error with a body of JSON",
)


# ---------------------------------------------------------------------- status, media type, JSON


@BOOK.rule(
    "SCHEMA-STATUS",
    "SHOULD",
    "The status is one that the contract declares for the operation.",
    source=OPENAPI,
    guards="It has no branch for the status, and takes it for a success or for a lost connection.",
    applies=lambda exchange: exchange.operation is not None and exchange.received is not None,
    needs="an answer of any operation",
)
def status(exchange: Exchange, bench: Bench) -> Iterator[Found]:
    assert exchange.received is not None
    assert exchange.operation is not None
    if response_of(exchange) is None and not of_http_itself(exchange):
        declared = ", ".join(exchange.operation.responses) or "none"
        yield Breach(f"one of {declared}", str(exchange.received.status), "status")


def _may_have_a_body(exchange: Exchange) -> bool:
    response = response_of(exchange)
    assert exchange.received is not None
    return bool(
        response and response.content and exchange.received.raw and not has_no_body(exchange)
    )


@BOOK.rule(
    "SCHEMA-MEDIA-TYPE",
    "MUST",
    "The media type is one that the contract declares for the status.",
    source=f"{OPENAPI}; RFC 9110, section 8.3",
    guards="It picks its parser by Content-Type, and hands its user a text in place of an answer.",
    applies=_may_have_a_body,
    needs="an answer with a body",
)
def media_type(exchange: Exchange, bench: Bench) -> Iterator[Found]:
    response, came = response_of(exchange), exchange.answer.media_type
    assert response is not None
    assert exchange.received is not None
    if of_http_itself(exchange):
        return
    if not any(_matches(came, declared) for declared in response.content):
        # Errors come from proxies in front as well, in any form: the group ERRORS judges those.
        state: State | None = "WARN" if exchange.received.status >= 400 else None
        wanted = " or ".join(response.content)
        yield Breach(wanted, came or "no Content-Type", "content-type", state=state)


def _matches(came: str, declared: str) -> bool:
    """Say whether a media type is in a declared range (RFC 9110, section 12.5.1)."""
    name = essence(declared)
    if name == "*/*":
        return True
    return came == name or (name.endswith("/*") and came.startswith(name[:-1]))


def _should_be_json(exchange: Exchange) -> bool:
    if exchange.received is None or not _whole(exchange) or has_no_body(exchange):
        return False
    response, answer = response_of(exchange), exchange.answer
    declared = response is not None and any(map(is_called_json, response.content))
    return declared and not answer.is_stream and is_called_json(answer.media_type)


@BOOK.rule(
    "SCHEMA-JSON",
    "MUST",
    "A body that is called JSON is one JSON text, and nothing else.",
    source=f"{JSON}, section 2",
    guards="Its parser raises an error that says nothing of the service.",
    applies=_should_be_json,
    needs=ANSWER,
)
def one_json(exchange: Exchange, bench: Bench) -> Iterator[Found]:
    if not exchange.answer.is_json:
        why = [str(fault) for fault in exchange.answer.faults if _kind_of(fault) in JUNK]
        yield Breach("one JSON text", "; ".join(why) or "an empty body", "body")


def _kind_of(fault: Any) -> str:
    return str(getattr(fault, "kind", ""))


def _json_rule(
    id: str, kind: FaultKind, requirement: str, *, section: str, expected: str, guards: str
) -> None:
    @BOOK.rule(
        id,
        "MUST",
        requirement,
        source=f"{JSON}, section {section}",
        guards=guards,
        applies=lambda exchange: bool(exchange.answer.chunks) or exchange.answer.is_json,
        needs=ANSWER,
    )
    def judge(exchange: Exchange, bench: Bench) -> Iterator[Breach]:
        for fault in exchange.answer.faults:
            if _kind_of(fault) == kind:
                yield Breach(expected, str(fault), str(getattr(fault, "where", "")))
                return


_json_rule(
    "SCHEMA-NAN",
    "NaN",
    "Numbers are numbers: JSON has no NaN and no Infinity.",
    section="6",
    expected="a number, or null",
    guards="Its strict parser refuses the whole answer; a careless one goes on with NaN.",
)
_json_rule(
    "SCHEMA-KEY-TWICE",
    "key twice",
    "No key stands twice in an object.",
    section="4",
    expected="each key once",
    guards="It reads the first value where another client reads the last.",
)


@BOOK.rule(
    "SCHEMA-NO-BODY",
    "MUST",
    "An answer to HEAD, a 204 and a 304 have no body.",
    source="RFC 9110, sections 6.4.1 and 9.3.2",
    guards="It reads the body as the head of the next answer on the same connection.",
    applies=lambda exchange: exchange.received is not None and has_no_body(exchange),
    needs=f"an answer to HEAD, or a status of {' or '.join(map(str, sorted(BODYLESS)))}",
)
def no_body(exchange: Exchange, bench: Bench) -> Iterator[Found]:
    received = exchange.received
    assert received is not None
    if received.raw:
        yield Breach("no body", f"{len(received.raw)} bytes", "body")
    elif BEHIND in received.framing_fault:  # a client reads no body here, and finds it all the same
        yield Breach("no body", received.framing_fault, "body")
