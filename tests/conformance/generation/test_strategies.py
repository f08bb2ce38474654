"""The public strategies: valid, shrinking, driven by the contract, and without cost until used."""

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

from wafermock.conformance.assembly import assemble
from wafermock.conformance.generation.answers import chat_answer
from wafermock.conformance.generation.chunks import chat_chunks
from wafermock.conformance.generation.drawn import Drawn
from wafermock.conformance.generation.source import Seeded
from wafermock.spec import load_contract
from wafermock.strategies import chat_answers, chat_requests, chunk_streams, completion_requests

from .asking import MODELS, contract

CHAT, TEXT = "createChatCompletion", "completions_v1_completions_post"
ONCE = settings(database=None, max_examples=100, deadline=None)
FEW = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@FEW
@given(chat_requests(contract()))
def test_chat_requests_are_valid(body: dict[str, Any]) -> None:
    operation = contract().operation(CHAT)
    assert operation.request_schema is not None
    assert operation.request_schema.violations(body) == []
    model = contract().models.get(body["model"])
    assert model is not None
    assert contract().requirements.unmet(body, CHAT, model) == []
    assert body["max_completion_tokens"] if "max_completion_tokens" in body else body["max_tokens"]


@FEW
@given(completion_requests(contract("observed"), model="gpt-oss-120b"))
def test_completion_requests_are_valid(body: dict[str, Any]) -> None:
    operation = contract("observed").operation(TEXT)
    assert operation.request_schema is not None
    assert operation.request_schema.violations(body) == []
    assert body["model"] == "gpt-oss-120b"


@FEW
@given(chat_answers(contract()))
def test_answers_are_valid_and_agree_with_themselves(answer: dict[str, Any]) -> None:
    success = contract().operation(CHAT).success
    assert success is not None
    schema = success.content["application/json"].schema
    assert schema is not None
    assert schema.violations(answer) == []
    usage, times = answer["usage"], answer["time_info"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    details = usage.get("completion_tokens_details", {"reasoning_tokens": 0})
    assert details["reasoning_tokens"] <= usage["completion_tokens"]
    parts = sum(times[name] for name in ("queue_time", "prompt_time", "completion_time"))
    assert times["total_time"] == pytest.approx(parts)
    for index, choice in enumerate(answer["choices"]):
        assert choice["index"] == index
        called = bool(choice["message"].get("tool_calls"))
        assert (choice["finish_reason"] == "tool_calls") == called
        if choice.get("logprobs"):
            tokens = choice["logprobs"]["content"]
            assert "".join(token["token"] for token in tokens) == choice["message"]["content"]
            assert all(token["logprob"] <= 0 for token in tokens)
            assert all(bytes(token["bytes"]).decode() == token["token"] for token in tokens)


def test_what_is_cached_comes_in_blocks_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    made = load_contract("observed")
    for name in made.models:
        monkeypatch.setitem(made.models[name], "cache_block", 7)
    answers = [chat_answer(made, Seeded("blocks", number)) for number in range(60)]
    details = [each["usage"].get("prompt_tokens_details", {}) for each in answers]
    cached = [each["cached_tokens"] for each in details if each]
    assert any(cached)
    assert {number % 7 for number in cached} == {0}


@FEW
@given(st.data())
def test_chunks_are_valid_and_join_to_their_answer(data: st.DataObject) -> None:
    source = Drawn(data.draw)
    answer = chat_answer(contract(), source)
    chunks = chat_chunks(contract(), answer, source)
    success = contract().operation(CHAT).success
    assert success is not None
    schema = success.content["text/event-stream"].item_schema
    assert schema is not None
    assert [schema.violations(chunk) for chunk in chunks if not schema.is_valid(chunk)] == []
    joined = assemble(chunks)
    assert joined is not None
    assert _content(joined) == _content(answer)


def _content(answer: dict[str, Any]) -> dict[str, Any]:
    """What a client reads of an answer; a call in a stream has an index beside."""
    choices = []
    for choice in answer["choices"]:
        message = {k: v for k, v in choice["message"].items() if v not in (None, "", [])}
        if calls := message.get("tool_calls"):
            message["tool_calls"] = [
                {"id": call["id"], "function": dict(call["function"])} for call in calls
            ]
        told = {key: choice[key] for key in ("index", "finish_reason")}
        logprobs = (choice.get("logprobs") or {}).get("content")
        choices.append({**told, "message": message, "logprobs": logprobs})
    rest = {key: answer[key] for key in ("id", "model", "created", "usage", "time_info")}
    return {**rest, "choices": choices}


@FEW
@given(chunk_streams(contract(), as_bytes=True))
def test_streams_as_bytes_are_event_streams(body: bytes) -> None:
    *events, done, rest = body.decode().split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    chunks = [json.loads(event.removeprefix("data: ")) for event in events]
    assert assemble(chunks) is not None


def test_the_smallest_chat_request_is_one_short_message() -> None:
    smallest = find(chat_requests(contract()), lambda body: True, settings=ONCE)
    assert smallest["messages"] == [{"role": "user", "content": "0"}]
    assert smallest.keys() == {"model", "messages", "max_completion_tokens"}


def test_a_request_with_tools_shrinks_to_one_tool() -> None:
    smallest = find(
        chat_requests(contract(), model=MODELS[0]), lambda body: "tools" in body, settings=ONCE
    )
    assert smallest.keys() == {"model", "messages", "max_completion_tokens", "tools"}
    assert len(smallest["tools"]) == 1


def test_the_smallest_stream_is_role_text_and_end() -> None:
    smallest = find(chunk_streams(contract()), lambda chunks: True, settings=ONCE)
    deltas = [chunk["choices"][0]["delta"] for chunk in smallest]
    assert deltas == [{"role": "assistant"}, {"content": "0"}, {}]


def test_a_contract_of_ones_own_drives_them(tmp_path: Any) -> None:
    """A closed enum, a new required parameter and a smaller bound are all kept."""
    overlay = tmp_path / "own.yaml"
    overlay.write_text(OVERLAY)
    own = load_contract(overlays=[overlay])
    schema = own.operation(CHAT).request_schema
    assert schema is not None
    for body in _some(chat_requests(own)):
        assert schema.violations(body) == []
        assert body["colour"] in ("red", "blue")
    response = own.operation(CHAT).success
    assert response is not None
    whole = response.content["application/json"].schema
    assert whole is not None
    for answer in _some(chat_answers(own)):
        assert whole.violations(answer) == []
        assert answer["mood"] == "good"


OVERLAY = """
overlay: 1.0.0
info: {title: one of our own, version: "1"}
actions:
  - target: $.components.schemas.ChatCompletionRequest
    update:
      required: [colour]
      properties:
        colour: {type: string, enum: [red, blue]}
        temperature: {maximum: 1}
  - target: $.components.schemas.ChatCompletionResponse
    update:
      required: [mood]
      properties:
        mood: {type: string, const: good}
"""


def _some(strategy: Any) -> list[Any]:
    found: list[Any] = []

    @settings(max_examples=20, database=None, deadline=None)
    @given(strategy)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return found


def test_a_contract_without_the_operation_is_told(tmp_path: Any) -> None:
    document = tmp_path / "other.yaml"
    document.write_text(
        "openapi: 3.1.0\ninfo: {title: t, version: '1'}\n"
        "paths: {/a: {get: {responses: {'200': {description: fine}}}}}\n"
    )
    other = load_contract(documents=[document], corrected=False)
    for make in (chat_requests, completion_requests):
        with pytest.raises(LookupError, match="x-wafermock-answer"):
            make(other)


def test_nothing_heavy_is_imported_before_it_is_used() -> None:
    code = """
import sys
import wafermock.strategies, wafermock.conformance.schemathesis_bridge
import wafermock.conformance.hypothesis_search, wafermock.conformance.campaigns
print({"hypothesis", "schemathesis", "jsonschema", "ormsgpack"} & sys.modules.keys())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_without_hypothesis_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(ImportError, match=r"wafermock\[conformance\]"):
        chat_requests(contract())


def test_what_is_no_contract_is_told() -> None:
    wrong: Any = "observed"
    for strategy in (chat_requests, completion_requests, chat_answers, chunk_streams):
        with pytest.raises(TypeError, match=r"load_contract\(\) gives, not 'observed'"):
            strategy(wrong)
