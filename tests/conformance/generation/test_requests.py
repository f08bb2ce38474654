"""Likely requests: their shares, their shape, and that every model takes them."""

import json
from collections import Counter
from functools import cache
from typing import Any

import pytest

from wafermock.conformance.generation import shares
from wafermock.conformance.generation.conversation import conversation, surrounded
from wafermock.conformance.generation.likely_requests import likely_request, seeded_request
from wafermock.conformance.generation.mending import mended
from wafermock.conformance.generation.parameters import LONG_ROOM, SHORT_ROOM
from wafermock.conformance.generation.scene import UNLIMITED, Scene, scenes
from wafermock.conformance.generation.source import Seeded
from wafermock.spec.checks import call_without_tool_message, tool_message_without_call

from .asking import MODELS, contract

MANY = 2_000
NEAR = 0.03


@cache
def scene(operation: str = "createChatCompletion", model: str = MODELS[0]) -> Scene:
    found = {each.operation.id: each for each in scenes(contract(), model)}
    return found[operation]


@cache
def made(operation: str = "createChatCompletion", model: str = MODELS[0]) -> list[dict[str, Any]]:
    return [seeded_request(scene(operation, model), number) for number in range(MANY)]


def share(holds: Any) -> float:
    return sum(map(bool, map(holds, made()))) / MANY


def kind(body: dict[str, Any]) -> str:
    return str((body.get("response_format") or {}).get("type"))


def test_streams_tools_and_structured_outputs_have_their_shares() -> None:
    can_stream = 1 - shares.JSON_OBJECT
    assert share(lambda b: b.get("stream")) == pytest.approx(shares.STREAMED * can_stream, abs=NEAR)
    assert share(lambda b: b.get("tools")) == pytest.approx(shares.TOOLS, abs=NEAR)
    assert share(lambda b: kind(b) == "json_schema") == pytest.approx(shares.JSON_SCHEMA, abs=NEAR)
    assert share(lambda b: kind(b) == "json_object") == pytest.approx(shares.JSON_OBJECT, abs=NEAR)
    assert share(lambda b: "prediction" in b) == pytest.approx(shares.PREDICTION, abs=NEAR)
    tools = [b for b in made() if b.get("tools")]
    chosen = sum("tool_choice" in b for b in tools) / len(tools)
    assert chosen == pytest.approx(shares.TOOL_CHOICE, abs=2 * NEAR)


@pytest.mark.parametrize("operation", ["createChatCompletion", "completions_v1_completions_post"])
def test_each_parameter_of_the_document_appears(operation: str) -> None:
    counts = Counter(name for body in made(operation) for name in body)
    missing = scene(operation).properties.keys() - counts.keys()
    assert missing == set()
    # What goes with little else, or has no value but null for this model, is rarer.
    rare = {"clear_thinking", "suffix", "parallel_tool_calls", "prediction", "best_of"}
    for name in scene(operation).properties.keys() - rare:
        assert counts[name] / MANY > shares.PARAMETER * 0.6, name
    assert all(counts[name] >= MANY * 0.005 for name in rare & counts.keys())


@pytest.mark.parametrize("model", [*MODELS, "a-model-nobody-knows"])
@pytest.mark.parametrize("operation", ["createChatCompletion", "completions_v1_completions_post"])
def test_nearly_every_choice_makes_a_valid_request(operation: str, model: str) -> None:
    there = scene(operation, model)
    bodies = [likely_request(there, Seeded(operation, model, number)) for number in range(500)]
    assert sum(body is None for body in bodies) <= 10
    assert {there.problem(body) for body in bodies if body is not None} == {""}


def test_answers_are_short_and_bounded() -> None:
    for body in made():
        limits = [body.get("max_completion_tokens"), body.get("max_tokens")]
        (limit,) = [value for value in limits if value is not None]
        low, high = LONG_ROOM if body.get("tools") or "json" in kind(body) else SHORT_ROOM
        assert low <= limit <= high
    costs = [scene().tokens(body) for body in made()]
    assert sum(costs) / MANY < 450


def test_conversations_fit_themselves() -> None:
    for number in range(500):
        messages = conversation(
            Seeded(number), ["system", "developer", "user", "assistant", "tool"]
        )
        body = {"messages": messages}
        assert tool_message_without_call(body) is None
        assert call_without_tool_message(body) is None
        assert messages[-1]["role"] in ("user", "tool")
        roles = [message["role"] for message in messages]
        assert all(role not in ("system", "developer") for role in roles[1:])


def test_a_conversation_keeps_to_the_roles_of_the_model() -> None:
    for number in range(100):
        messages = conversation(Seeded(number), ["user", "assistant"])
        assert {message["role"] for message in messages} <= {"user", "assistant"}


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant", "tool"])
def test_a_message_is_surrounded_by_what_it_needs(role: str) -> None:
    message: dict[str, Any] = {"role": role, "content": "Hi"}
    if role == "tool":
        message["tool_call_id"] = "x"
    if role == "assistant":
        function = {"name": "f", "arguments": "{}"}
        message["tool_calls"] = [{"id": "x", "type": "function", "function": function}]
    messages, at = surrounded(message)
    assert messages[at] is message
    assert scene().problem({"model": MODELS[0], "messages": messages}) == ""


@pytest.mark.parametrize("strange", ["text", 7, None, [], {"role": 7}])
def test_no_message_is_no_obstacle(strange: Any) -> None:
    assert surrounded(strange) == ([strange], 0)


BASE = {"model": MODELS[0], "messages": [{"role": "user", "content": "Hi"}]}


@pytest.mark.parametrize(
    ("more", "keep", "wanted"),
    [
        ({"top_logprobs": 3}, ["top_logprobs"], {"top_logprobs": 3, "logprobs": True}),
        ({"tool_choice": "auto"}, ["tools"], {}),
        ({"max_tokens": 3, "max_completion_tokens": 4}, ["max_tokens"], {"max_tokens": 3}),
        ({"prediction": {"type": "content", "content": "x"}, "n": 2}, ["n"], {"n": 2}),
        (
            {"response_format": {"type": "json_object"}, "stream": True},
            ["response_format"],
            {"response_format": {"type": "json_object"}},
        ),
        (
            {"prediction": {"type": "content", "content": "x"}, "top_logprobs": 3},
            ["prediction"],
            {"prediction": {"type": "content", "content": "x"}},
        ),
        ({"reasoning_effort": "none"}, [], {}),
        ({"reasoning_effort": "none"}, ["reasoning_effort"], None),
        ({"clear_thinking": True}, ["clear_thinking"], None),
    ],
)
def test_a_broken_rule_is_mended(
    more: dict[str, Any], keep: list[str], wanted: dict[str, Any] | None
) -> None:
    assert mended(scene(), {**BASE, **more}, keep) == (
        None if wanted is None else {**BASE, **wanted}
    )


def test_a_tool_comes_with_the_choice_of_one() -> None:
    body = mended(scene(), {**BASE, "tool_choice": "auto"}, ["tool_choice"])
    assert body is not None
    assert body["tools"]
    assert scene().problem(body) == ""


def test_costs_are_estimated() -> None:
    bounded = scene().tokens({**BASE, "max_completion_tokens": 10})
    assert 10 < bounded < 60
    assert scene().tokens({**BASE, "max_completion_tokens": 10, "n": 3}) in range(
        bounded + 20, bounded + 25
    )
    assert scene().tokens(BASE) > UNLIMITED
    text = scene("completions_v1_completions_post")
    two = text.tokens({"model": "m", "prompt": ["a", "b"], "max_tokens": 10})
    one = text.tokens({"model": "m", "prompt": [1, 2], "max_tokens": 10})
    assert two - one >= 10


@pytest.mark.parametrize("strange", [None, 7, "x", [], {"n": "x"}, {"n": -1}, {"prompt": [[]]}])
def test_the_cost_of_anything_is_told(strange: Any) -> None:
    assert scene().tokens(strange) >= 0
    assert isinstance(scene().needs(strange), tuple)


def test_bodies_are_json() -> None:
    for body in made()[:200]:
        assert json.loads(json.dumps(body)) == body
