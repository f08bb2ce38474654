"""ERRORS: every rule is broken by its defects and by nothing legal."""

from dataclasses import replace
from typing import Any

import pytest

from wafermock.conformance.error_bodies import read_error
from wafermock.conformance.exchange import Sent
from wafermock.conformance.rule import Bench, Breach, Unsupported
from wafermock.conformance.rules.refusals import takes_all
from wafermock.conformance.tally import Tally
from wafermock.reports.run import Meant

from .judged import (
    KEY,
    PROFILES,
    RULES,
    MockEndpoint,
    answer,
    broken,
    broken_in,
    contract_of,
    run,
    states,
    verdict,
)

REFUSED = {
    f"ERR-REFUSED-{name}"
    for name in (
        "NO-KEY", "WRONG-KEY", "MALFORMED-KEY", "PATH", "METHOD", "MODEL", "CONSTRAINT", "JSON",
        "BYTES", "EMPTY", "NO-OBJECT", "MEDIA-TYPE", "GZIP", "CODING", "MSGPACK", "SIZE",
        "REQUIREMENT",
    )
}  # fmt: skip
BODIES = {
    f"ERR-REFUSED-{n}" for n in ("JSON", "BYTES", "EMPTY", "NO-OBJECT", "MEDIA-TYPE", "CODING")
}

# What breaks, by defect.
DEFECTIVE: dict[str, set[str]] = {
    "error_unanswered": {"ERR-ANSWERED"},
    "error_status_200": REFUSED,
    "error_status_5xx": {"ERR-NO-5XX"},
    "error_status_5xx:status=503": {"ERR-NO-5XX"},
    "error_status_wrong": {"ERR-STATUS"},
    "error_shape": {"ERR-SHAPE"},
    "error_empty": {"ERR-SHAPE"},
    "error_without_message": {"ERR-MESSAGE"},
    "error_key_missing:key=message": {"ERR-SHAPE"},
    "error_key_missing:key=type": {"ERR-SHAPE"},
    "error_key_missing:key=param": {"ERR-SHAPE"},
    "error_key_missing:key=code": {"ERR-SHAPE"},
    "error_message_null": {"ERR-SHAPE"},
    "error_content_type": {"ERR-JSON"},
    "error_html": {"ERR-JSON"},
    "stack_trace": {"ERR-NO-TRACE"},
    "internal_path": {"ERR-NO-PATH"},
    "error_as_stream": {"ERR-STREAM-PLAIN"},
    # An array that is taken for an object has no model that anybody knows.
    "invalid_accepted": {"ERR-REFUSED-CONSTRAINT", "ERR-REFUSED-REQUIREMENT", "ERR-STATUS"},
    "unknown_model_accepted": {"ERR-REFUSED-MODEL"},
    "wrong_key_accepted": {"ERR-REFUSED-WRONG-KEY"},
    "oversize_accepted": {"ERR-REFUSED-SIZE"},
    "no_key_accepted": {"ERR-REFUSED-NO-KEY", "ERR-REFUSED-MALFORMED-KEY"},
    "media_type_accepted": {"ERR-REFUSED-MEDIA-TYPE"},
    "malformed_accepted": BODIES | {"ERR-REFUSED-GZIP", "ERR-REFUSED-MSGPACK"},
    "malformed_accepted:kind=json": BODIES,
    "malformed_accepted:kind=msgpack": {"ERR-REFUSED-MSGPACK"},
    "malformed_accepted:kind=gzip": {"ERR-REFUSED-GZIP"},
    "method_accepted": {"ERR-REFUSED-METHOD"},
    "path_accepted": {"ERR-REFUSED-PATH"},
    # It refuses the unknown model for another reason, too.
    "valid_refused": {"ERR-VALID-ANSWERED", "ERR-STATUS"},
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("defect", DEFECTIVE)
def test_a_defect_breaks_its_rules(defect: str, profile: str) -> None:
    tally = run(MockEndpoint(profile, [defect]), "errors", "headers")
    expected = DEFECTIVE[defect]
    if profile == "documented" and defect.startswith(("error_status_5xx", "error_status_wrong")):
        expected = expected | {"ERR-DECLARED-SHAPE"}  # `detail` belongs to 422 alone
    assert broken_in("ERRORS", tally) == expected


@pytest.mark.parametrize("profile", PROFILES)
def test_what_is_undisturbed_breaks_nothing(profile: str) -> None:
    endpoint = MockEndpoint(profile)
    tally = run(endpoint, "errors", most=3)
    assert broken(tally) == {}
    found = states(tally)
    assert {id for id, state in found.items() if state == "PASS"} >= REFUSED


def test_sizes_are_information() -> None:
    tally = run(MockEndpoint(defects=["oversize_accepted"]), "errors")
    assert broken(tally) == {"ERR-REFUSED-SIZE": "INFO"}


# ---------------------------------------------------------------------- bodies

FLAT = {"message": "No.", "type": "t", "param": "p", "code": "c"}
DETAIL = {"loc": ["body"], "msg": "No.", "type": "missing"}


@pytest.mark.parametrize(
    ("body", "shape", "message"),
    [
        (FLAT, "flat", "No."),
        ({**FLAT, "id": ""}, "flat", "No."),
        ({**FLAT, "message": ""}, "flat", ""),
        ({"error": {"message": "No.", "type": "t"}}, "nested", "No."),
        ({"status_code": 500, "error": {"message": "No."}}, "nested", "No."),
        ({"detail": [DETAIL, DETAIL]}, "FastAPI", "No.\nNo."),
        ({"detail": [DETAIL, {**DETAIL, "msg": " "}]}, "FastAPI", ""),
        ({"detail": "Not Found"}, "FastAPI", "Not Found"),
    ],
)
def test_shapes_that_are_known(body: Any, shape: str, message: str) -> None:
    error = read_error(body)
    assert (error.shape, error.message, error.why) == (shape, message, "")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (None, "null"), ([], "empty"), ("no", "a text"), (7, "a number"), ({}, "the keys are none"),
        ({"ok": False}, "the keys are ok"), ({"error": "no"}, "error is a text"),
        ({"error": {"type": "t"}}, "error.message"), ({"message": None}, "message is null"),
        ({"message": "No."}, "type, param, code is not there"), ({"detail": []}, "detail is empty"),
        ({"detail": [1]}, "detail.0"), ({"detail": [{"msg": "No."}]}, "loc, type"),
        ({"detail": None}, "detail is null"), ([1], "an array"), (True, "true or false"),
    ],
)  # fmt: skip
def test_shapes_that_are_not(body: Any, why: str) -> None:
    error = read_error(body)
    assert error.shape is None
    assert why in error.why


def test_another_known_shape_is_information() -> None:
    nested = answer(400, {"error": {"message": "No."}}, meant="invalid")
    (found,) = verdict("ERR-DECLARED-SHAPE", nested)
    assert "nested" in found.actual
    assert verdict("ERR-SHAPE", nested) == []
    assert verdict("ERR-DECLARED-SHAPE", answer(422, {"detail": [DETAIL]})) == []
    assert verdict("ERR-DECLARED-SHAPE", answer(400, {"detail": "No."})) != []
    assert verdict("ERR-DECLARED-SHAPE", answer(400, FLAT)) == []


def test_a_page_of_a_proxy() -> None:
    page = (b"<html></html>", (("Content-Type", "text/html"),))
    (found,) = verdict("ERR-JSON", answer(502, *page))
    assert found.state == "WARN"
    (found,) = verdict("ERR-JSON", answer(400, *page))
    assert found.state is None
    # 403 is known as a page only, and declared as one.
    with pytest.raises(AssertionError, match="does not apply"):
        verdict("ERR-JSON", answer(403, *page))


# ---------------------------------------------------------------------- what is given away

TRACES = [
    "Traceback (most recent call last):\n  x",
    'File "app.py", line 3, in f',
    "Error: x\n    at Layer.handle (layer.js:95:5)",
    "Error: x\n    at async Object.<anonymous> (node:internal/x:1:2)",
    "at com.example.Api.chat(Api.java:42)",
    "goroutine 7 [running]:",
    "thread 'main' panicked at src",
    "   at Api.Chat(Request r) in C:",
]
PATHS = [
    "open /usr/lib/python3/x failed",
    "(/srv/api/app/handlers/chat.py:42)",
    "/home/me/models/a.gguf is not there",
    r"C:\Users\me\app.dll",
    "see chat.py:42",
    "in site-packages/fastapi",
    "file:///etc/passwd",
]
HARMLESS = [
    "There is no path /v1/nothing.",
    "See https://example.com/home/docs and https://example.com/usr/x.",
    "body.messages.0.content: at least one is wanted (1:2)",
    "Unsupported JSON schema fields: {'minItems', 'items'}",
    "data:image/png;base64,iVBORw0KGgo/usr=",
    "Unexpected token at line 1 column 2 (char 1)",
    "temperature must be at most 2 (it is 3:00)",
    "",
]


@pytest.mark.parametrize("text", TRACES)
def test_traces(text: str) -> None:
    assert len(verdict("ERR-NO-TRACE", answer(500, {**FLAT, "message": text}))) == 1


@pytest.mark.parametrize("text", PATHS)
def test_paths(text: str) -> None:
    assert len(verdict("ERR-NO-PATH", answer(500, {**FLAT, "message": text}))) == 1
    page = answer(500, f"<p>{text}</p>".encode(), (("Content-Type", "text/html"),))
    assert len(verdict("ERR-NO-PATH", page)) == 1


@pytest.mark.parametrize("text", HARMLESS)
def test_what_gives_nothing_away(text: str) -> None:
    for rule in ("ERR-NO-TRACE", "ERR-NO-PATH", "ERR-NO-SECRET"):
        assert verdict(rule, answer(500, {**FLAT, "message": text})) == []


def test_what_the_client_said_itself_is_not_given_away() -> None:
    said = {"model": "/home/me/model.gguf"}
    error = {**FLAT, "message": "There is no model /home/me/model.gguf"}
    assert verdict("ERR-NO-PATH", answer(404, error, asked=said)) == []
    sent = Sent("GET", "/home/me/model.gguf")
    assert verdict("ERR-NO-PATH", answer(404, error, sent=sent)) == []
    assert verdict("ERR-NO-PATH", answer(404, error)) != []


def test_the_key_is_not_told() -> None:
    told = answer(401, {**FLAT, "message": f"Wrong key {KEY}"})
    assert len(verdict("ERR-NO-SECRET", told)) == 1
    masked = answer(401, {**FLAT, "message": f"Wrong key {KEY[:3]}***"})
    assert verdict("ERR-NO-SECRET", masked) == []


# ---------------------------------------------------------------------- streams


def stream(*events: bytes, **more: Any) -> Any:
    body = b"".join(b"data: " + event + b"\n\n" for event in events)
    return answer(200, body, (("Content-Type", "text/event-stream"),), **more)


GOOD = b'{"id":"1","choices":[{"index":0,"delta":{"content":"a"}}]}'


@pytest.mark.parametrize(
    ("event", "breaches"),
    [
        (b'{"status_code":500,"error":{"message":"Broken."}}', 0),
        (b'{"status_code":500,"error":{"message":" "}}', 1),
        (b'{"status_code":200,"error":{"message":"Broken."}}', 1),
        (b'{"status_code":"x","error":{"message":""}}', 2),
    ],
)
def test_errors_in_streams(event: bytes, breaches: int) -> None:
    assert len(verdict("ERR-EVENT-MESSAGE", stream(GOOD, event))) == breaches


def test_a_good_stream_has_no_errors() -> None:
    assert verdict("ERR-EVENT-MESSAGE", stream(GOOD, b"[DONE]")) == []


def test_an_error_in_a_stream_gives_nothing_away() -> None:
    event = b'{"status_code":500,"error":{"message":"see /srv/app/chat.py:4"}}'
    assert len(verdict("ERR-NO-PATH", stream(GOOD, event))) == 1


def test_a_refusal_as_a_stream_is_no_good_answer() -> None:
    asked = {"stream": True}
    flat = b'{"message":"No.","type":"t","param":"","code":""}'
    refused = stream(flat, b"[DONE]", asked=asked, meant="invalid", statuses=(400,))
    assert len(verdict("ERR-STREAM-PLAIN", refused)) == 1
    assert verdict("ERR-REFUSED-CONSTRAINT", refused) == []
    taken = stream(GOOD, b"[DONE]", asked=asked, meant="invalid", statuses=(400,))
    assert verdict("ERR-STREAM-PLAIN", taken) == []
    assert len(verdict("ERR-REFUSED-CONSTRAINT", taken)) == 1
    plain = answer(400, FLAT, asked=asked, meant="invalid", statuses=(400,))
    assert verdict("ERR-STREAM-PLAIN", plain) == []


# ---------------------------------------------------------------------- headers, and statuses


def test_a_challenge_comes_with_401() -> None:
    assert len(verdict("ERR-CHALLENGE", answer(401, FLAT))) == 1
    assert verdict("ERR-CHALLENGE", answer(401, FLAT, (("WWW-Authenticate", "Bearer"),))) == []


def test_405_lists_what_is_allowed() -> None:
    sent = Sent("DELETE", "/v1/models")
    assert len(verdict("ERR-ALLOW", answer(405, FLAT, sent=sent))) == 1
    assert verdict("ERR-ALLOW", answer(405, FLAT, (("Allow", "GET, HEAD"),), sent=sent)) == []
    assert verdict("ERR-ALLOW", answer(405, FLAT, (("Allow", ""),), sent=sent)) == []
    assert verdict("ERR-ALLOW", answer(405, FLAT, (("Allow", "GET, DELETE"),), sent=sent)) != []


def test_415_lists_the_codings() -> None:
    bad: dict[str, Any] = {"meant": "broken", "facts": {"fault": "coding"}}
    assert len(verdict("ERR-CODINGS", answer(415, FLAT, **bad))) == 1
    assert verdict("ERR-CODINGS", answer(415, FLAT, (("Accept-Encoding", "gzip"),), **bad)) == []


@pytest.mark.parametrize(
    ("status", "rule"),
    [
        (200, "ERR-REFUSED-CONSTRAINT"), (204, "ERR-REFUSED-CONSTRAINT"), (302, "ERR-STATUS"),
        (404, "ERR-STATUS"), (400, ""), (422, ""), (500, "ERR-NO-5XX"), (503, "ERR-NO-5XX"),
    ],
)  # fmt: skip
def test_a_wrong_status_breaks_one_rule(status: int, rule: str) -> None:
    exchange = answer(status, FLAT, meant="invalid", statuses=(400, 422))
    rules = ("ERR-REFUSED-CONSTRAINT", "ERR-STATUS", "ERR-NO-5XX")
    assert [id for id in rules if verdict(id, exchange)] == ([rule] if rule else [])


def test_a_limit_says_nothing_of_the_request() -> None:
    for meant, rule in (("invalid", "ERR-STATUS"), ("valid", "ERR-VALID-ANSWERED")):
        with pytest.raises(AssertionError, match="does not apply"):
            verdict(rule, answer(429, FLAT, meant=meant, statuses=(400,)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("status", "message", "is_clean"),
    [
        (400, "'suffix' is not supported.", True), (400, "Unsupported parameter", True),
        (415, "No.", True), (400, "No.", False), (500, "It is not supported", False),
        (404, "There is no such model", False), (400, "", False),
    ],
)  # fmt: skip
def test_what_a_server_cannot_do(status: int, message: str, is_clean: bool) -> None:
    (found,) = verdict("ERR-VALID-ANSWERED", answer(status, {**FLAT, "message": message}))
    assert isinstance(found, Unsupported) == is_clean


def test_servers_without_keys_or_lists_of_models() -> None:
    for fault, fact, rule in (
        ("wrong key", "any_key", "ERR-REFUSED-WRONG-KEY"),
        ("model", "any_model", "ERR-REFUSED-MODEL"),
    ):
        taken = answer(200, {}, meant="invalid", facts={"fault": fault})
        (found,) = verdict(rule, taken, **{fact: True})
        assert isinstance(found, Unsupported)
        (found,) = verdict(rule, taken)
        option = f"--{fact.replace('_', '-')}"
        assert isinstance(found, Breach)
        assert found.expected.endswith(f"of a mock that is meant to take it, say so: {option}")


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ({"ERR-REFUSED-NO-KEY", "ERR-STATUS"}, []),
        ({"ERR-REFUSED-MODEL"}, ["model"]),
        ({"ERR-REFUSED-MODEL", "ERR-REFUSED-WRONG-KEY"}, ["key", "model"]),
    ],
)
def test_who_takes_all_may_be_meant_to(broken: set[str], told: list[str]) -> None:
    assert takes_all(broken) == [
        f"the server takes any {each}: if it is a mock that is meant to, check it with --any-{each}"
        for each in told
    ]


# ---------------------------------------------------------------------- no answer at all


@pytest.mark.parametrize(
    ("meant", "fault", "state"),
    [
        ("valid", None, "FAIL"), ("invalid", "constraint", "FAIL"), ("broken", "JSON", "FAIL"),
        ("broken", "bytes", "WARN"), ("broken", "size", None),
    ],
)  # fmt: skip
def test_a_request_without_an_answer(meant: Meant, fault: str | None, state: str | None) -> None:
    facts = {"fault": fault} if fault else {}
    silent = answer(200, meant=meant, facts=facts).answered(None, "closed without an answer")
    tally = Tally(RULES, Bench(contract_of("observed")))
    shown = tally.exchange(silent)
    assert [(one.rule, one.state) for one in shown] == ([("ERR-ANSWERED", state)] if state else [])


def test_what_nobody_took_and_what_is_no_http_1_is_nobodys_fault() -> None:
    tally = Tally(RULES, Bench(contract_of("observed")))
    refused = answer(200).answered(None, "nobody listens", reached=False)
    assert tally.exchange(refused) == []
    second = replace(refused, reached=True, sent=replace(refused.sent, http="2"))
    assert tally.exchange(second) == []
