"""Every answer obeys the contract: canned, invented, scripted and wrong; whole and streamed."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

CHAT, TEXT = "createChatCompletion", "completions_v1_completions_post"
PATHS = {CHAT: "/v1/chat/completions", TEXT: "/v1/completions"}
OPERATIONS = pytest.mark.parametrize("operation", [CHAT, TEXT])
PROFILES = pytest.mark.parametrize("profile", ["documented", "observed"])


def check(contract: Any, operation_id: str, answer: Any) -> Any:
    """Judge an answer by what the contract declares for it; return its data."""
    operation = contract.operation(operation_id)
    response = operation.response(answer.status)
    assert response is not None, f"{answer.status} is not declared"
    name = answer.headers["content-type"].partition(";")[0]
    assert name in response.content, f"{name} is not declared for {answer.status}"
    media_type = response.content[name]
    for header in response.headers.values():
        if header.required:
            assert header.name in {key.lower() for key in answer.headers}
    for key, value in answer.headers.items():
        assert isinstance(value, str)
        declared = response.headers.get(key.lower())
        if declared is not None and declared.schema is not None:
            readings = [value, *([float(value)] if _is_number(value) else [])]
            assert any(declared.schema.is_valid(reading) for reading in readings), (key, value)
    if name == "text/event-stream":
        return _check_stream(media_type, answer)
    if name == "text/html":
        return answer.body.decode()
    assert len(answer.parts) == 1
    value = json.loads(answer.body, parse_constant=pytest.fail)
    assert media_type.schema.violations(value) == []
    return value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_stream(media_type: Any, answer: Any) -> list[Any]:
    assert answer.streamed
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.parts[-1] == b"data: [DONE]\n\n"
    chunks = []
    for part in answer.parts[:-1]:
        assert part.startswith(b"data: ")
        assert part.endswith(b"\n\n")
        assert b"\n" not in part[:-2]
        chunk = json.loads(part[6:], parse_constant=pytest.fail)
        assert media_type.item_schema.violations(chunk) == []
        chunks.append(chunk)
    return chunks


# ---------------------------------------------------------------------- right requests


@PROFILES
@OPERATIONS
@settings(max_examples=150)
@given(data=st.data())
def test_answers_to_right_requests(
    profile: str, operation: str, data: Any, requests: Any, make_mock: Any, ask: Any
) -> None:
    body = data.draw(requests[operation])
    mock = make_mock(profile)
    answer = ask(mock, PATHS[operation], body)
    assert answer.status == 200, answer.body
    value = check(mock.contract, operation, answer)
    _check_sums(value[-1] if isinstance(value, list) else value)


def _check_sums(whole: dict[str, Any]) -> None:
    """Check the sums that usage must keep: no schema can say them."""
    usage, times = whole["usage"], whole["time_info"]
    details = usage["completion_tokens_details"]
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert cached <= usage["prompt_tokens"]
    assert cached % 128 == 0
    assert (
        sum(details.values()) - details["accepted_prediction_tokens"]
        <= (usage["completion_tokens"])
    )
    phases = times["queue_time"] + times["prompt_time"] + times["completion_time"]
    assert phases <= times["total_time"]


@PROFILES
@OPERATIONS
def test_examples_of_requests_are_answered(
    profile: str, operation: str, make_mock: Any, ask: Any
) -> None:
    mock = make_mock(profile)
    for media_type in mock.contract.operation(operation).request_body.content.values():
        for example in media_type.examples.values():
            answer = ask(mock, PATHS[operation], example.value)
            assert answer.status == 200, (example.name, answer.body)
            check(mock.contract, operation, answer)


@PROFILES
@OPERATIONS
@pytest.mark.parametrize("stream", [False, True])
def test_examples_of_answers_are_had_by_name(
    profile: str, operation: str, stream: bool, make_mock: Any, ask: Any
) -> None:
    mock = make_mock(profile)
    body = {"model": "m", "messages": [{"role": "user", "content": "?"}], "prompt": "?"}
    body.pop("prompt" if operation == CHAT else "messages")
    names = [n for m in mock.contract.operation(operation).success.content.values()
             for n in m.examples]  # fmt: skip
    assert names
    for name in names:
        headers = {"prefer": f'example="{name}"'}
        answer = ask(mock, PATHS[operation], {**body, "stream": stream}, headers)
        assert answer.status == 200, answer.body
        assert answer.headers["preference-applied"] == f'example="{name}"'
        check(mock.contract, operation, answer)


@PROFILES
@OPERATIONS
def test_errors_by_their_status(profile: str, operation: str, make_mock: Any, ask: Any) -> None:
    mock = make_mock(profile)
    declared = mock.contract.operation(operation).responses
    codes = sorted({int(s) for s in declared if s.isdecimal()} - {200})
    assert {400, 401, 404, 429, 500, 503} <= set(codes)
    for code in codes:
        answer = ask(mock, PATHS[operation], b"", {"prefer": f"code={code}"})
        assert answer.status == code
        check(mock.contract, operation, answer)
        for example in [e for m in declared[str(code)].content.values() for e in m.examples]:
            headers = {"prefer": f'code={code}, example="{example}"'}
            check(mock.contract, operation, ask(mock, PATHS[operation], b"", headers))


@PROFILES
def test_every_error_of_the_catalogue_can_be_said(profile: str, make_mock: Any, ask: Any) -> None:
    mock = make_mock(profile)
    for entry in mock.contract.errors:
        headers = {"prefer": f"code={entry.status}, example={entry.name}"}
        answer = ask(mock, PATHS[CHAT], b"{}", headers)
        assert answer.status == entry.status
        check(mock.contract, CHAT, answer)
        if entry.shape == "flat":
            assert json.loads(answer.body)["type"] == entry.type


# ---------------------------------------------------------------------- wrong requests


@pytest.mark.parametrize("validate", ["strict", "warn", "off"])
@PROFILES
@OPERATIONS
@settings(max_examples=120)
@given(data=st.data())
def test_answers_to_wrong_requests(
    profile: str,
    operation: str,
    validate: str,
    data: Any,
    broken_requests: Any,
    make_mock: Any,
    ask: Any,
) -> None:
    body = data.draw(broken_requests[operation])
    mock = make_mock(profile, validate=validate)
    answer = ask(mock, PATHS[operation], body)
    assert answer.status < 500
    value = check(mock.contract, operation, answer)
    violations = mock.contract.operation(operation).request_schema.violations(body)
    if validate == "strict":
        assert not violations or answer.status in (400, 422)
        if violations and profile == "documented":
            assert len(value["detail"]) == len(violations)
    assert "x-wafermock-violations" not in answer.headers or validate == "warn"
    if validate == "warn" and violations and answer.status == 200:
        assert answer.headers["x-wafermock-violations"].isascii()


@pytest.mark.parametrize("validate", ["strict", "warn", "off"])
@PROFILES
@OPERATIONS
@settings(max_examples=60)
@given(
    raw=st.binary(max_size=40) | st.sampled_from([b"", b"{", b"null", b"[]", b'{"":1}']),
    headers=st.fixed_dictionaries(
        {},
        optional={
            "content-type": st.sampled_from(
                ["", "application/msgpack", "text/plain", "a,b", "\xff"]
            ),
            "content-encoding": st.sampled_from(["gzip", "br", "", "identity", "\xff"]),
            "authorization": st.sampled_from(["", "Bearer", "Bearer ", "Basic a", "bearer é", "x"]),
            "prefer": st.text(max_size=10) | st.sampled_from(["code=200", "code=100", "code=418"]),
            "accept": st.sampled_from(["", "*/*", "text/event-stream", "text/html", ";,", "\xff"]),
            "queue_threshold": st.sampled_from(["50", "49", "", "x", "20001"]),
            "x-cerebras-version-patch": st.sampled_from(["1", "2", "3", "", "٢", "²"]),
            "x-delay-time": st.sampled_from(["1", "", "nan", "1e999", "x"]),
        },
    ),
)
def test_answers_to_bytes(
    profile: str,
    operation: str,
    validate: str,
    raw: bytes,
    headers: dict[str, str],
    make_mock: Any,
    ask: Any,
) -> None:
    mock = make_mock(profile, validate=validate)
    answer = ask(mock, PATHS[operation], raw, headers)
    assert answer.status < 500
    check(mock.contract, operation, answer)


WRONG = {
    "messages": [
        {"role": "user"},
        {"role": "assistant", "content": 5},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function"}]},
        {"role": "tool", "content": "x"},
        7,
    ],
    "temperature": 3,
    "top_p": "a",
    "stop": ["a", "b", "c", "d", "e"],
    "n": 0,
    "service_tier": "gold",
    "tools": [{"type": "function", "function": {"name": "not a name"}}],
}


def test_every_fault_is_listed_as_fastapi_does(make_mock: Any, ask: Any) -> None:
    answer = ask(make_mock(), PATHS[CHAT], WRONG)
    assert answer.status == 422
    found = [(detail["loc"], detail["type"]) for detail in json.loads(answer.body)["detail"]]
    assert found == [
        (["body", "messages", 0, "user", "content"], "missing"),
        (["body", "messages", 1, "assistant", "content"], "string_type"),
        (["body", "messages", 2, "assistant", "tool_calls", 0, "function"], "missing"),
        (["body", "messages", 3, "tool", "tool_call_id"], "missing"),
        (["body", "messages", 4], "dict_type"),
        (["body", "temperature"], "less_than_equal"),
        (["body", "top_p"], "float_type"),
        (["body", "stop"], "too_long"),
        (["body", "n"], "greater_than_equal"),
        (["body", "service_tier"], "literal_error"),
        (["body", "tools", 0, "function", "name"], "string_pattern_mismatch"),
        (["body", "model"], "missing"),
    ]


def test_every_fault_is_listed_in_one_message(make_mock: Any, ask: Any) -> None:
    mock = make_mock("observed")
    answer = ask(mock, PATHS[TEXT], {"prompt": 1, "store": True, "n": 0, "stream": "yes"})
    assert answer.status == 400
    error = json.loads(answer.body)
    assert error | {"message": ""} == {
        "message": "",
        "type": "invalid_request_error",
        "param": "validation_error",
        "code": "wrong_api_format",
        "id": "",
    }
    lines = error["message"].split("\n")
    assert [line.partition(":")[0] for line in lines] == [
        "body.prompt", "body.store", "body.n", "body.stream", "body.model",
    ]  # fmt: skip
    assert lines[1] == "body.store: property 'body.store' is unsupported"


def test_warnings_name_the_same_faults(make_mock: Any, ask: Any) -> None:
    body = {"model": "m", "prompt": "é", "store\n\x00é": True, "n": 0}
    answer = ask(make_mock(validate="warn"), PATHS[TEXT], body)
    assert answer.status == 200
    told = answer.headers["x-wafermock-violations"]
    assert told.isascii()
    assert told.isprintable()
    assert "store" in told
    assert "n: Input should be greater than or equal to 1" in told
    assert "x-wafermock-violations" not in ask(make_mock(validate="off"), PATHS[TEXT], body).headers


# ---------------------------------------------------------------------- costly requests

COSTLY = {
    "n": (CHAT, {"n": 10**9}),
    "n of text": (TEXT, {"n": 1e308}),
    "best_of and n": (TEXT, {"n": 19, "best_of": 20, "prompt": ["a"] * 1000}),
    "min_tokens": (CHAT, {"min_tokens": 10**12}),
    "min_completion_tokens": (CHAT, {"min_completion_tokens": -1, "n": 128}),
    "min_tokens of text": (TEXT, {"min_tokens": 10**9}),
    "prompts": (TEXT, {"prompt": ["a"] * 100_000}),
    "a long prompt": (TEXT, {"prompt": "lorem ipsum " * 300_000}),
    "many messages": (CHAT, {"messages": [{"role": "user", "content": "a"}] * 30_000}),
    "many tools": (
        CHAT,
        {"tools": [{"type": "function", "function": {"name": f"f{n}"}} for n in range(30_000)]},
    ),
    "logprobs": (TEXT, {"logprobs": 20, "min_tokens": 100_000}),
    "unknown keys": (TEXT, {f"key{n}": n for n in range(50_000)}),
    "wrong messages": (CHAT, {"messages": [1] * 100_000}),
    "wrong parts": (CHAT, {"messages": [{"role": "user", "content": [{}] * 20_000}]}),
    "wrong biases": (CHAT, {"logit_bias": {str(n): "x" for n in range(100_000)}}),
    "great numbers": (TEXT, {"prompt": [10**4000, 10**300], "seed": 10**4000}),
}


@pytest.mark.parametrize("validate", ["strict", "warn", "off"])
@pytest.mark.parametrize("what", COSTLY)
def test_no_request_costs_without_bound(what: str, validate: str, make_mock: Any, ask: Any) -> None:
    """Each of these is answered at once, or takes minutes where a bound is missing."""
    operation, more = COSTLY[what]
    body = {"model": "m", "prompt": "a", "messages": [{"role": "user", "content": "a"}]}
    body.pop("messages" if operation == TEXT else "prompt")
    mock = make_mock(validate=validate)
    answer = ask(mock, PATHS[operation], {**body, **more})
    assert answer.status < 500
    assert len(answer.body) < 10_000_000
    check(mock.contract, operation, answer)
