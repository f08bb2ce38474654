"""Errors in a shape of the document's own: judged by the document, and those of the contract as
strictly as ever."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wafermock.conformance.budgets import budget
from wafermock.conformance.check import Order, check
from wafermock.conformance.endpoint import Endpoint
from wafermock.conformance.error_bodies import clean_refusal, error_of, read_error
from wafermock.conformance.exchange import Arrival, Exchange, Meant, Purpose, Received, Sent
from wafermock.conformance.probes.capabilities import judge_capability
from wafermock.conformance.rule import Bench, Unsupported
from wafermock.conformance.rules import all_rules
from wafermock.reports.run import Run
from wafermock.spec import Contract, Operation, load_contract

from .judged import contract_of

KEY = "a-key-that-is-long-enough"
TEXT = {"type": "string"}
OOPS = {"type": "object", "required": ["oops"], "properties": {"oops": TEXT}}
LOOSE = {"type": "object", "properties": {"oops": TEXT}}
MESSAGE = {"type": "object", "required": ["message"], "properties": {"message": TEXT}}
NESTED = {"type": "object", "required": ["error"], "properties": {"error": MESSAGE}}
FLAT = {
    "type": "object",
    "required": ["message"],
    "properties": dict.fromkeys(("message", "type", "param", "code"), TEXT),
}
PROBLEM = {
    "type": "object",
    "required": ["title", "status"],
    "properties": {"type": TEXT, "title": TEXT, "status": {"type": "integer"}, "detail": TEXT},
}
FASTAPI = {
    "type": "object",
    "properties": {
        "detail": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["loc", "msg", "type"],
                "properties": {
                    "loc": {"type": "array", "items": {"type": ["string", "integer"]}},
                    "msg": TEXT,
                    "type": TEXT,
                },
            },
        }
    },
}
WORD = {
    "type": "object",
    "required": ["word"],
    "properties": {"word": {**TEXT, "maxLength": 20}, "times": {"type": "integer", "minimum": 1}},
}
SAID = {"type": "object", "required": ["said"], "properties": {"said": TEXT}}
JSON = "application/json"
PROBLEM_JSON = "application/problem+json"
# Every kind of request is sent at least once, also where it is long.
ENOUGH = budget("standard", requests=300)


def of(schema: Any, media_type: str = JSON) -> dict[str, Any]:
    return {"description": "A body.", "content": {media_type: {"schema": schema}}}


def document(tmp_path: Path, errors: dict[str, Any], path: str = "/v2/say") -> Path:
    """A document of one operation with these responses for errors."""
    wanted = {"required": True, "content": {JSON: {"schema": WORD}}}
    responses = {"200": of(SAID), **errors}
    post = {"operationId": "say", "requestBody": wanted, "responses": responses}
    info = {"title": "own", "version": "1"}
    file = tmp_path / "own.json"
    file.write_text(json.dumps({"openapi": "3.1.0", "info": info, "paths": {path: {"post": post}}}))
    return file


# ---------------------------------------------------------------------- whole runs


def run(url: str, contract: Contract) -> Run:
    order = Order(Endpoint.at(url), contract, ENOUGH, api_key=KEY, model="m")
    return asyncio.run(check(order))


def states(run: Run, *wanted: str) -> dict[str, str]:
    return {v.rule: v.why for v in run.verdicts if v.state in wanted}


@pytest.mark.parametrize(
    "errors",
    [
        {"400": of(OOPS)},
        {"422": of(OOPS)},
        {"400": of(LOOSE)},
        {"422": of(LOOSE), "default": of(MESSAGE)},
        {"4XX": of(OOPS)},
        {"default": of(MESSAGE)},
        {"400": of(PROBLEM, PROBLEM_JSON)},
        {"400": of(NESTED), "415": of(OOPS)},
        {"400": of(FLAT)},
        {"422": of(FASTAPI)},
        {"400": {"description": "No more than the status."}},
        {"400": of(TEXT)},
    ],
    ids=str,
)
def test_a_mock_of_a_document_keeps_it(
    tmp_path: Path, serve: Callable[..., Any], errors: dict[str, Any]
) -> None:
    file = document(tmp_path, errors)
    mock = serve("--spec", str(file))
    found = run(mock.url, load_contract(documents=[file]))
    assert states(found, "FAIL", "WARN") == {}
    assert {"ERR-SHAPE", "ERR-STATUS", "ERR-REFUSED-CONSTRAINT", "SCHEMA-STATUS"} <= set(
        states(found, "PASS")
    )


def chat() -> dict[str, Any]:
    """A document of chat completions whose errors are `OOPS`."""
    turn = {
        "type": "object",
        "required": ["role", "content"],
        "additionalProperties": False,
        "properties": {"role": {"enum": ["system", "user", "assistant"]}, "content": TEXT},
    }
    ask = {
        "type": "object",
        "required": ["model", "messages"],
        "additionalProperties": False,
        "properties": {
            "model": TEXT,
            "messages": {"type": "array", "minItems": 1, "items": turn},
            "max_completion_tokens": {"type": "integer", "minimum": 1},
            "temperature": {"type": "number", "minimum": 0, "maximum": 2},
            "seed": {"type": "integer"},
        },
    }
    post = {
        "operationId": "chat",
        "x-wafermock-answer": "chat.completion",
        "security": [{"key": []}],
        "requestBody": {"required": True, "content": {JSON: {"schema": ask}}},
        "responses": {
            "200": of({"type": "object"}),
            **{s: of(OOPS) for s in ("400", "401", "404")},
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "chat", "version": "1"},
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "paths": {"/v2/chat": {"post": post}},
    }


def test_a_chat_of_a_document_s_own(tmp_path: Path, serve: Callable[..., Any]) -> None:
    """What asks for completions, and says no in its own way."""
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(chat()))
    mock = serve("--spec", str(file), "--api-key", KEY, "--models", "strict")
    order = Order(
        Endpoint.at(mock.url),
        load_contract(documents=[file]),
        ENOUGH,
        api_key=KEY,
        model="gpt-oss-120b",
    )
    found = asyncio.run(check(order))
    assert states(found, "FAIL", "WARN") == {}
    assert not [c for c in found.capabilities if c.state == "FAIL"]
    passed = {"ERR-REFUSED-MODEL", "ERR-REFUSED-WRONG-KEY", "ERR-REFUSED-JSON", "ERR-SHAPE"}
    assert passed <= set(states(found, "PASS"))


# ---------------------------------------------------------------------- one answer


def told(
    contract: Contract,
    status: int,
    body: Any,
    *,
    operation: Operation | None = None,
    meant: Meant = "invalid",
    head: bool = False,
) -> Exchange:
    """What an operation, or the first of the contract, was answered with."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = (("Content-Type", JSON),) if raw else ()
    arrivals = (Arrival(0.1, raw),) if raw else ()
    operation = operation or contract.operations[0]
    purpose = Purpose("test", "test", "#", meant, (), {"head": True} if head else {})
    sent = Sent("POST", operation.path)
    return Exchange("1", purpose, sent, operation, {}, Received(status, "", headers, arrivals))


ERRORS = (
    "SCHEMA-ERROR",
    "SCHEMA-OPEN",
    "ERR-SHAPE",
    "ERR-MESSAGE",
    "ERR-DECLARED-SHAPE",
    "ERR-JSON",
)


def breaks(contract: Contract, exchange: Exchange, *ids: str) -> set[str]:
    """Name the rules that an answer breaks: of these, or of those about errors."""
    bench = Bench(contract)
    return {
        rule.id
        for rule in all_rules()
        if rule.id in (ids or ERRORS)
        and rule.applies(exchange)
        and list(rule.judge(exchange, bench))
    }


@pytest.mark.parametrize(
    ("schema", "body", "broken"),
    [
        (OOPS, {"oops": "No."}, set()),
        (OOPS, {"oops": "No.", "trace": 7}, {"SCHEMA-OPEN"}),
        (OOPS, {"oops": 7}, {"ERR-SHAPE", "SCHEMA-ERROR"}),
        (OOPS, {"ouch": "No."}, {"ERR-SHAPE", "SCHEMA-ERROR", "SCHEMA-OPEN"}),
        (OOPS, {}, {"ERR-SHAPE", "SCHEMA-ERROR"}),
        (LOOSE, {"oops": "No."}, set()),
        (LOOSE, {}, set()),
        (TEXT, "No.", set()),
        (TEXT, ["No."], {"ERR-SHAPE", "SCHEMA-ERROR"}),
        (MESSAGE, {"message": "No."}, set()),
        (PROBLEM, {"title": "No.", "status": 400}, set()),
        (PROBLEM, {"title": "No.", "status": 400, "detail": "Not so."}, set()),
        (NESTED, {"error": {"message": "No."}}, set()),
        (NESTED, {"error": {"message": ""}}, {"ERR-MESSAGE"}),
        (NESTED, {"error": "No."}, {"ERR-SHAPE", "SCHEMA-ERROR"}),
        ({**NESTED, "properties": {"error": TEXT}}, {"error": "No."}, set()),
        ({"oneOf": [OOPS, {"type": "integer"}]}, 7, set()),
        ({"$ref": "#/components/schemas/Oops"}, {"oops": "No."}, set()),
        # Of alternatives the one counts that came.
        ({"anyOf": [FLAT, OOPS]}, {"oops": "No."}, set()),
        ({"anyOf": [MESSAGE, FASTAPI]}, {"message": "No."}, set()),
        ({"$ref": "#/components/schemas/Either"}, {"oops": "No."}, set()),
        ({"$ref": "#/components/schemas/Chosen"}, {"oops": "Own"}, set()),
        ({"anyOf": [FLAT, OOPS]}, {"oops": 7}, {"ERR-SHAPE", "SCHEMA-ERROR"}),
        ({"anyOf": [FLAT, {"type": "null"}]}, None, {"ERR-SHAPE"}),
        # A document that has a known shape, or says nothing of the keys, means that one.
        (FLAT, {"message": "No."}, {"ERR-SHAPE"}),
        ({"type": "object"}, {"oops": "No."}, {"ERR-SHAPE"}),
        ({}, {"oops": "No."}, {"ERR-SHAPE"}),
        (FASTAPI, {}, {"ERR-SHAPE"}),
        ({"anyOf": [FLAT, FASTAPI]}, {"detail": []}, {"ERR-SHAPE"}),
    ],
)  # fmt: skip
def test_a_shape_that_is_declared(tmp_path: Path, schema: Any, body: Any, broken: set[str]) -> None:
    file = document(tmp_path, {"400": of(schema)})
    root = json.loads(file.read_text())
    either = {"anyOf": [FLAT, OOPS]}
    names = {
        "oneOf": [{"$ref": "#/components/schemas/Own"}, {"$ref": "#/components/schemas/Flat"}],
        "discriminator": {"propertyName": "oops"},
    }
    root["components"] = {
        "schemas": {"Oops": OOPS, "Either": either, "Own": OOPS, "Flat": FLAT, "Chosen": names}
    }
    file.write_text(json.dumps(root))
    contract = load_contract(documents=[file])
    assert breaks(contract, told(contract, 400, body)) == broken


@pytest.mark.parametrize("key", ["400", "4XX", "default"])
def test_a_range_is_a_declaration(tmp_path: Path, key: str) -> None:
    contract = load_contract(documents=[document(tmp_path, {key: of(OOPS)})])
    assert breaks(contract, told(contract, 400, {"oops": "No."})) == set()
    undeclared = load_contract(documents=[document(tmp_path, {"404": of(OOPS)})])
    assert breaks(undeclared, told(undeclared, 400, {"oops": "No."})) == {"ERR-SHAPE"}


def test_a_status_without_a_body(tmp_path: Path) -> None:
    bare = load_contract(documents=[document(tmp_path, {"400": {"description": "No."}})])
    assert breaks(bare, told(bare, 400, b"")) == set()
    assert breaks(bare, told(bare, 400, {"oops": "No."})) == {"ERR-SHAPE"}
    assert breaks(bare, told(bare, 404, b"")) == {"ERR-SHAPE"}
    full = load_contract(documents=[document(tmp_path, {"400": of(OOPS)})])
    assert breaks(full, told(full, 400, b"")) == {"ERR-SHAPE"}


def test_what_was_expected_is_what_is_declared(tmp_path: Path) -> None:
    contract = load_contract(documents=[document(tmp_path, {"400": of(OOPS)})])
    rule = next(rule for rule in all_rules() if rule.id == "ERR-SHAPE")
    (found,) = rule.judge(told(contract, 400, {"ouch": "No."}), Bench(contract))
    assert "the contract declares" in found.expected  # type: ignore[union-attr]
    assert "param" not in found.expected  # type: ignore[union-attr]


def test_a_refusal_in_that_shape_is_clean(tmp_path: Path) -> None:
    contract = load_contract(documents=[document(tmp_path, {"400": of(OOPS)})])
    refused = told(contract, 400, {"oops": "Tools are not supported."}, meant="valid")
    assert "not supported" in (clean_refusal(refused) or "")
    assert judge_capability(refused).state == "UNSUPPORTED"
    rule = next(rule for rule in all_rules() if rule.id == "ERR-VALID-ANSWERED")
    (found,) = rule.judge(refused, Bench(contract))
    assert isinstance(found, Unsupported)
    wrong = told(contract, 400, {"ouch": "Tools are not supported."}, meant="valid")
    assert clean_refusal(wrong) is None


def test_what_http_s_own_reader_says_is_of_no_operation(tmp_path: Path) -> None:
    """Who reads HTTP does not know yet what the operation declares."""
    flat = {"message": "No.", "type": "t", "param": "", "code": "c", "id": ""}
    declared: list[dict[str, Any]] = [
        {"400": of(OOPS)},
        {"400": of(PROBLEM, PROBLEM_JSON)},
        {"400": of(FLAT)},
        {"422": of(FASTAPI)},
    ]
    for errors in declared:
        contract = load_contract(documents=[document(tmp_path, errors)])
        kinds = ("SCHEMA-ERROR", "SCHEMA-OPEN", "SCHEMA-STATUS", "SCHEMA-MEDIA-TYPE")
        assert breaks(contract, told(contract, 400, flat, head=True), *kinds) == set()
        assert breaks(contract, told(contract, 400, flat), *kinds)
        assert breaks(contract, told(contract, 413, flat, head=True), *kinds)
        other = {"error": {"message": "No."}}
        assert breaks(contract, told(contract, 400, other, head=True), *kinds)


@pytest.mark.parametrize("change", [{"type": None}, {"code": 7}, {"more": ""}, {"message": ""}])
def test_the_contract_s_own_are_judged_there_too(change: dict[str, Any]) -> None:
    contract = contract_of("observed")
    flat = {"message": "No.", "type": "t", "param": "", "code": "c", "id": ""}
    body = {**flat, **change}
    at_all = breaks(contract, told(contract, 400, body))
    assert at_all
    assert breaks(contract, told(contract, 400, body, head=True)) == at_all


# ---------------------------------------------------------------------- the contract itself

BODIES: tuple[Any, ...] = (
    None, [], "no", 7, True, {}, {"ok": False}, {"oops": "No."}, {"error": "no"}, {"error": {}},
    {"error": {"type": "t"}}, {"message": None}, {"message": "No."}, {"detail": []},
    {"detail": [1]}, {"detail": [{"msg": "No."}]}, {"detail": None}, {"detail": {}}, {"id": ""},
    {"message": "No.", "type": "t", "param": "p"}, {"message": "No.", "type": "t", "code": "c"},
    {"title": "No.", "status": 400}, {"detail": [{"loc": [], "msg": "No."}]}, [{"message": "No."}],
    {"code": "c", "param": "p", "type": "t"}, {"errors": [1]},
)  # fmt: skip


@pytest.mark.parametrize("corrected", [True, False])
@pytest.mark.parametrize("profile", ["documented", "observed"])
def test_the_contract_has_no_shape_of_its_own(profile: str, corrected: bool) -> None:
    """What no client knows is wrong of every operation and status, whatever is declared."""
    contract = contract_of(profile) if corrected else load_contract(profile, corrected=False)
    rule = next(rule for rule in all_rules() if rule.id == "ERR-SHAPE")
    assert {read_error(body).shape for body in BODIES} == {None}
    for operation in contract.operations:
        for status in (*range(400, 432), 451, *range(500, 506), 599):
            for body in (b"", *BODIES):
                exchange = told(contract, status, body, operation=operation)
                assert error_of(exchange).shape is None
                if rule.applies(exchange):
                    assert list(rule.judge(exchange, Bench(contract))), (operation.id, status, body)


def test_another_known_shape_is_still_worth_knowing() -> None:
    contract = contract_of("documented")
    nested, detail = {"error": {"message": "No."}}, {"detail": "No."}
    for status, body in ((400, nested), (422, nested), (400, detail)):
        assert "ERR-DECLARED-SHAPE" in breaks(contract, told(contract, status, body))
