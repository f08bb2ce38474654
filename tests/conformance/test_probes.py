"""Probes: cheap, the same everywhere, and each what it is said to be."""

import gzip
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.conformance.exchange import Arrival, Exchange, Probe, Received
from wafermock.conformance.planned import Planned, PlannedProbe, Subject
from wafermock.conformance.probes import (
    QUICK,
    STANDARD,
    capability_requests,
    judge_capability,
    judge_determinism,
    probes,
    supported,
    unable,
)
from wafermock.conformance.probes.asking import Asking
from wafermock.conformance.probes.errors import LARGE, MIB, blown_up, error_probes
from wafermock.conformance.probes.requirements import breaking
from wafermock.conformance.rule import Bench, Unsupported
from wafermock.reports.run import Capability
from wafermock.spec import load_contract

from .judged import (
    PROFILES,
    RULES,
    SUBJECT,
    MockEndpoint,
    answer,
    contract_of,
    planned,
    repeat,
    run,
    states,
    verdict,
)


def requests(profile: str, most: int = 3) -> Iterator[Planned]:
    for item in (repeat(profile), *planned(profile, most)):
        yield from [item] if isinstance(item, Planned) else item.requests.values()


@pytest.mark.parametrize("known", [True, False])
def test_a_parameter_that_a_document_has_not_is_not_asked_for_wrongly(
    known: bool, tmp_path: Path
) -> None:
    """Any value of it is valid where the body is open: to answer it is no fault."""
    temperature = {"temperature": {"type": "number"}} if known else {}
    known_to_all = {"model": {"type": "string"}, "messages": {"type": "array"}}
    body = {"type": "object", "properties": {**known_to_all, **temperature}}
    content = {"application/json": {"schema": body}}
    operation = {"requestBody": {"content": content}, "responses": {"200": {"description": "."}}}
    file = tmp_path / "api.json"
    file.write_text(json.dumps({
        "openapi": "3.1.0", "info": {"title": "T", "version": "1"},
        "paths": {"/v1/chat/completions": {"post": operation}},
    }))  # fmt: skip
    contract = load_contract(documents=[file], corrected=False)
    items = [weighted.item for weighted in error_probes(contract, SUBJECT)]
    asked = {item.purpose.kind for item in items if isinstance(item, Planned)}
    assert ("wrong type, stream: true" in asked) == known


def sends_as_meant(endpoint: MockEndpoint, request: Planned) -> bool:
    exchange = endpoint.send(request)
    assert exchange.received is not None
    if request.purpose.meant == "valid":
        return exchange.accepted
    return exchange.received.status in request.purpose.statuses


@given(st.integers(0, 3 * MIB))
def test_a_large_body_is_json_with_white_space_behind_it(size: int) -> None:
    text = b"x" * size
    made = gzip.decompress(blown_up(text))
    assert LARGE <= len(made) < LARGE + MIB
    assert made.rstrip(b" ") == text


def test_a_large_body_is_made_without_being_large() -> None:
    """Every process of a run makes several, whoever sends them."""
    tracemalloc.start()
    try:
        assert len(blown_up(b"{}")) < MIB
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < LARGE / 4


@pytest.mark.parametrize("model", ["gpt-oss-120b", "zai-glm-4.7", "gemma-4-31b"])
@pytest.mark.parametrize("profile", PROFILES)
def test_every_request_is_what_it_is_meant_to_be(profile: str, model: str) -> None:
    endpoint = MockEndpoint(profile)
    subject = Subject(model, SUBJECT.api_key)
    items = (*capability_requests(endpoint.contract, subject), *probes(endpoint.contract, subject))
    wrong = [
        request.purpose.kind
        for item in items
        for request in ([item] if isinstance(item, Planned) else item.requests.values())
        if not sends_as_meant(endpoint, request)
    ]
    # Not every model thinks as the SDKs' documents have it: that shows, and is no fault.
    assert [kind for kind in wrong if kind != "reasoning"] == []


@pytest.mark.parametrize("profile", PROFILES)
def test_the_smallest_budget_shows_every_rule(profile: str) -> None:
    found = states(run(MockEndpoint(profile), most=QUICK))
    assert {id: state for id, state in found.items() if state != "PASS"} == {"ENC-HTTP2": "NOT RUN"}


@pytest.mark.parametrize("profile", PROFILES)
def test_what_is_quick_is_cheap(profile: str) -> None:
    made = list(requests(profile, QUICK))
    # Of 100 requests and 20,000 tokens, so that generated ones have a share.
    assert len(made) <= 95
    assert sum(request.tokens for request in made) <= 15_000
    assert sum(len(request.sent.body) for request in made) < 200_000


def test_the_estimate_of_tokens_holds() -> None:
    endpoint = MockEndpoint()
    for request in requests("observed"):
        body = endpoint.send(request).answer.data
        usage = body.get("usage") if isinstance(body, dict) else None
        if usage and request.purpose.meant == "valid":
            assert usage["total_tokens"] <= request.tokens, request.purpose.kind


def test_every_request_names_its_place_in_the_contract() -> None:
    for request in requests("observed"):
        assert request.purpose.location.startswith("#/paths/~1v1~1")


def test_heavier_probes_come_later() -> None:
    quick = [kind_of(item) for item in planned("observed", QUICK)]
    standard = [kind_of(item) for item in planned("observed", STANDARD)]
    assert standard[: len(quick)] == quick
    assert len(standard) > len(quick)


def kind_of(item: Planned | PlannedProbe) -> str:
    return item.purpose.kind if isinstance(item, Planned) else item.name


PRINT = """
import hashlib
from wafermock.conformance.planned import Planned, Subject
from wafermock.conformance.probes import capability_requests, probes
from wafermock.spec import load_contract

contract, subject = load_contract("observed"), Subject("gpt-oss-120b", "a-key")
for seed in (7, 7, 8):
    items = [*capability_requests(contract, subject, seed), *probes(contract, subject, seed)]
    groups = [[item] if isinstance(item, Planned) else item.requests.values() for item in items]
    sent = [(request.sent, request.tokens) for group in groups for request in group]
    # How well zlib compresses is its own affair, and differs between its versions.
    plain = [pair for pair in sent if pair[0].header("content-encoding") != "gzip"]
    print(hashlib.sha256(repr(plain).encode()).hexdigest())
"""


def test_the_same_seed_plans_the_same_in_every_process() -> None:
    shown = [
        subprocess.run(
            [sys.executable, "-c", PRINT], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout.split()
        for seed in ("1", "2")
    ]  # fmt: skip
    assert shown[0] == shown[1]
    assert shown[0][0] == shown[0][1] != shown[0][2]


def test_without_a_key_nothing_is_asked_about_keys() -> None:
    items = list(probes(contract_of("observed"), Subject("gpt-oss-120b")))
    faults = {item.purpose.facts.get("fault") for item in items if isinstance(item, Planned)}
    assert not faults & {"no key", "wrong key", "malformed key"}
    assert "path" in faults


# ---------------------------------------------------------------------- requirements


@pytest.mark.parametrize("profile", PROFILES)
def test_each_requirement_is_broken_alone(profile: str) -> None:
    contract = contract_of(profile)
    made: set[str] = set()
    for model in contract.models:
        asking = Asking(contract, Subject(model))
        for operation in asking.completing:
            for requirement, body in breaking(asking, operation):
                assert operation.request_schema is not None
                assert operation.request_schema.is_valid(body)
                unmet = contract.requirements.unmet(body, operation.id, contract.models.get(model))
                assert [u.requirement.id for u in unmet] == [requirement.id]
                assert len(json.dumps(body)) < 30_000
                made.add(requirement.id)
    every = {requirement.id for requirement in contract.requirements.requirements}
    # A bound that is the mock's own; and ten MiB of images, which cost too much.
    assert every - made == {"strict-size", "images-of-bounded-size"}


# ---------------------------------------------------------------------- capabilities

ALL = {
    "streams", "tools", "logprobs", "structured outputs", "n", "service tier", "reasoning",
    "completions", "raw tokens", "gzip", "models", "msgpack: application/msgpack",
    "msgpack: application/vnd.msgpack", "msgpack: application/x-msgpack",
}  # fmt: skip


def capabilities(endpoint: MockEndpoint) -> dict[str, str]:
    tried = map(endpoint.send, capability_requests(endpoint.contract, SUBJECT))
    return {c.name: c.state for c in map(judge_capability, tried)}


@pytest.mark.parametrize("profile", PROFILES)
def test_the_mock_can_do_all_but_http2(profile: str) -> None:
    endpoint = MockEndpoint(profile)
    found = capabilities(endpoint)
    assert {name for name, state in found.items() if state == "PASS"} == ALL
    assert found["http2"] == "UNSUPPORTED"
    assert judge_determinism(endpoint.probe(repeat(profile))).state == "PASS"


def test_what_is_supported_in_the_words_of_needs() -> None:
    endpoint = MockEndpoint()
    tried = map(endpoint.send, capability_requests(endpoint.contract, SUBJECT))
    names = supported(map(judge_capability, tried))
    wanted = {need for item in planned("observed", 3) for need in needs_of(item)}
    assert wanted - {"http2"} <= names
    assert supported([]) == frozenset()


def needs_of(item: Planned | PlannedProbe) -> set[str]:
    requests = [item] if isinstance(item, Planned) else item.requests.values()
    return {*item.needs, *(need for request in requests for need in request.needs)}


@pytest.mark.parametrize(
    ("defect", "failing"),
    [
        ("n_ignored", {"n"}),
        ("logprobs_ignored", {"logprobs"}),
        ("tier_untold", {"service tier"}),
        ("stream_ignored", {"streams"}),
        ("json_fenced", {"structured outputs"}),
        ("encoding_breaks:kind=gzip", {"gzip"}),
        ("encoding_breaks:kind=msgpack", {name for name in ALL if name.startswith("msgpack")}),
    ],
)
def test_what_is_done_badly_fails(defect: str, failing: set[str]) -> None:
    found = capabilities(MockEndpoint(defects=[defect]))
    assert {name for name, state in found.items() if state == "FAIL"} == failing


def test_a_clean_refusal_is_unsupported() -> None:
    flat = {"message": "No.", "type": "t", "param": "p", "code": "c"}
    facts = {"capability": "tools"}
    for exchange, state in (
        (answer(400, flat, facts=facts), "UNSUPPORTED"),
        (answer(404, {"error": {"message": "No."}}, facts=facts), "UNSUPPORTED"),
        (answer(400, {**flat, "message": ""}, facts=facts), "FAIL"),
        (answer(400, b"No.", facts=facts), "FAIL"),
        (answer(500, flat, facts=facts), "FAIL"),
        (answer(200, {"choices": [{"finish_reason": "stop"}]}, facts=facts), "FAIL"),
        (answer(200, {"choices": [{"finish_reason": "length"}]}, facts=facts), "UNSUPPORTED"),
        (answer(200, b"", facts=facts), "FAIL"),
        (answer(200, facts=facts).answered(None, "no answer in 30 s"), "FAIL"),
    ):
        assert judge_capability(exchange).state == state


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("gzip", "UNSUPPORTED"),
        ("msgpack: application/msgpack", "UNSUPPORTED"),
        ("tools", "FAIL"),
    ],
)
def test_the_status_for_encodings_says_enough_without_a_body(name: str, state: str) -> None:
    assert judge_capability(answer(415, b"", facts={"capability": name})).state == state


def test_an_operation_that_is_not_there_is_unsupported() -> None:
    page = b"404: Not Found"
    for optional, state in ((True, "UNSUPPORTED"), (False, "FAIL")):
        facts = {"capability": "completions", "optional": optional}
        exchange = answer(404, page, (("Content-Type", "text/plain"),), facts=facts)
        assert judge_capability(exchange).state == state
        (found,) = verdict("ERR-VALID-ANSWERED", exchange)
        assert isinstance(found, Unsupported) == optional


def test_why_a_server_is_unable() -> None:
    made = [
        Capability("streams", "PASS"),
        Capability("tools", "UNSUPPORTED", "400: No tools."),
        Capability("n", "FAIL", "it is taken, and does not show"),
        Capability("msgpack: application/msgpack", "UNSUPPORTED", "415: No."),
    ]
    assert unable(made)["tools"] == "400: No tools."
    assert "n" not in unable(made)  # it can be asked for, and fails
    assert unable(made)["msgpack"] == "415: No."
    assert "msgpack" not in unable([*made, Capability("msgpack: application/x-msgpack", "PASS")])
    assert "streams" not in unable(made)


def test_a_server_that_repeats_nothing_has_no_seed() -> None:
    endpoint = MockEndpoint(defects=["unrepeatable"])
    assert judge_determinism(endpoint.probe(repeat("observed"))).state == "UNSUPPORTED"
    refused = Probe("1", "repeat", {"first": answer(400), "second": answer(400)})
    assert judge_determinism(refused).state == "UNSUPPORTED"


# ---------------------------------------------------------------------- whatever comes

KEYS = st.sampled_from(
    ["error", "message", "detail", "msg", "loc", "type", "param", "code", "choices", "usage", "id",
     "delta", "content", "tool_calls", "function", "index", "prompt_tokens", "status_code", "data",
     "completion_tokens", "finish_reason", "completion_tokens_details", "logprobs"]
)  # fmt: skip
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["Traceback", "/usr/lib/x", "\ud800", "at a(b:1)"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
BODIES = st.one_of(
    VALUES.map(lambda value: json.dumps(value).encode()),
    st.lists(VALUES, max_size=4).map(
        lambda values: b"".join(b"data: " + json.dumps(v).encode() + b"\n\n" for v in values)
    ),
    st.binary(max_size=60),
    st.binary(max_size=30).map(lambda data: b"\x1f\x8b\x08" + data),
)
HEADER_NAMES = st.sampled_from(
    ["Content-Type", "content-encoding", "Content-Length", "Retry-After", "Date", "Cache-Control",
     "x-request-id", "inference-id", "x-ratelimit-limit-tokens-minute", "Allow", "Expires",
     "x-ratelimit-remaining-tokens-minute", "x-ratelimit-reset-requests-day", "Connection",
     "Access-Control-Allow-Origin", "WWW-Authenticate", "Transfer-Encoding", "Proxy-Authenticate"]
)  # fmt: skip
HEADER_VALUES = st.text(max_size=12) | st.sampled_from(
    ["application/json", "text/event-stream; charset=utf-8", "gzip", "9" * 400,
     "Sun, 99 Foo 1994 08:49:37 GMT", "-1", "1.5", "max-age", "public", "*", ";;;=,,", "٣"]
)  # fmt: skip
RECEIVED = st.builds(
    lambda status, headers, body, ended: Received(
        status, "", tuple(headers), (Arrival(0.1, body),) if body else (), ended
    ),
    st.sampled_from([100, 200, 204, 302, 400, 401, 403, 405, 415, 422, 429, 500, 599, 999]),
    st.lists(st.tuples(HEADER_NAMES, HEADER_VALUES), max_size=5),
    BODIES,
    st.sampled_from(["complete", "cut", "timeout", "left", "overlong"]),
)
PLANNED = tuple(
    request
    for item in planned("observed", QUICK)
    for request in ([item] if isinstance(item, Planned) else item.requests.values())
)
GROUPS = tuple(i for i in planned("observed", QUICK) if isinstance(i, PlannedProbe))


def seen(request: Planned, received: Received | None) -> Exchange:
    return Exchange(
        "1", request.purpose, request.sent, request.operation, request.asked, received
    )  # fmt: skip


@given(st.sampled_from(PLANNED), RECEIVED, st.booleans())
def test_no_rule_fails_at_any_answer(request: Planned, received: Received, known: bool) -> None:
    exchange = seen(request, received)
    bench = Bench(contract_of("observed"), {"deterministic": known})
    for rule in RULES:
        if not rule.probe and rule.applies(exchange):
            assert all(told(found) for found in rule.judge(exchange, bench))
    assert judge_capability(exchange).why


@given(st.sampled_from(GROUPS), st.data(), st.booleans())
def test_no_rule_fails_at_any_answers_together(
    group: PlannedProbe, data: st.DataObject, known: bool
) -> None:
    exchanges = {
        role: seen(request, data.draw(RECEIVED | st.none()))
        for role, request in group.requests.items()
    }
    probe = Probe("1", group.name, exchanges)
    bench = Bench(contract_of("observed"), {"deterministic": known})
    for rule in RULES:
        if rule.probe == group.name:
            assert all(told(found) for found in rule.judge(probe, bench))
    assert judge_determinism(probe).why


def told(found: Any) -> bool:
    """Whether a finding says something, in lines that a report has room for."""
    texts = [getattr(found, name, "") for name in ("expected", "actual", "why", "where")]
    return any(texts) and all(len(text) < 1000 for text in texts)


def test_every_probe_that_a_rule_wants_is_planned() -> None:
    named = {group.name for group in GROUPS} | {"repeat"}
    # Ids are the concern of another group.
    assert {rule.probe for rule in RULES if rule.probe} == named - {"ids"}
    assert len({rule.id for rule in RULES}) == len(RULES)
