"""The scripts under examples/, each run through what it is an example of."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from wafermock.mockserver import chat, text_completion
from wafermock.mockserver.canned import Canned
from wafermock.mockserver.reply import ToolCall
from wafermock.mockserver.script import Found, Missed, Script, ScriptState, problems
from wafermock.spec.document import read_document

from . import asking
from .asking import COMPLETIONS, called, found, missed, result, said, subject, user

EXAMPLES = Path(__file__).parents[3] / "examples"
FILES = sorted(EXAMPLES.glob("*.yaml"))


@cache
def loaded(name: str) -> Script:
    return Script.load(EXAMPLES / f"{name}.yaml", asking.contract())


def state(name: str) -> ScriptState:
    return ScriptState(loaded(name))


def error(answer: Found | Missed) -> str:
    """Return the name of the error that was found."""
    refusal = found(answer).outcome.refusal
    assert refusal is not None
    assert isinstance(refusal.error, str)
    return refusal.error


def chosen(answer: Found | Missed, kind: str) -> list[str]:
    return [str(choice) for choice in getattr(found(answer).outcome, kind)]


def test_there_are_ten() -> None:
    assert len(FILES) >= 10


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_nothing_is_wrong_with_it(file: Path) -> None:
    _, wrong = problems([file], asking.contract())
    assert list(map(str, wrong)) == []
    assert all("name" in rule for rule in read_document(file).root["rules"])
    assert file.read_text(encoding="utf-8").startswith("# ")  # it says what it is for


def test_all_together_are_a_script() -> None:
    assert len(Script.load(EXAMPLES, asking.contract()).rules) > 30


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_has_a_test(file: Path) -> None:
    assert f"test_{file.stem.replace('-', '_')}" in globals()


TOOLS = [{"type": "function", "function": {"name": name}} for name in ("get_weather", "get_time")]


def test_agent_loop() -> None:
    rules = state("agent-loop")
    messages: list[Any] = [{"role": "user", "content": "What is the Weather in Oslo?"}]
    body = {"model": "gpt-oss-120b", "messages": messages, "tools": TOOLS}
    reply = found(rules.find(subject(body))).outcome.reply
    assert reply is not None
    assert reply.reasoning.startswith("The user wants")
    assert reply.tool_calls == (ToolCall("get_weather", '{"city": "Oslo", "unit": "celsius"}'),)
    messages += [called("get_weather"), result('{"temperature": 7}')]
    reply = found(rules.find(subject(body))).outcome.reply
    assert reply is not None
    assert reply.tool_calls == (ToolCall("get_time", '{"city": "Oslo"}'),)
    messages += [called("get_time", "2"), result("noon", "2")]
    assert said(rules.find(subject(body))) == (
        "I asked get_weather and get_time. get_time said noon."
    )
    assert rules.unused() == []


def test_rate_limit_then_success() -> None:
    rules = state("rate-limit-then-success")
    for _ in range(2):
        refusal = found(rules.find(subject(user("x")))).outcome.refusal
        assert refusal is not None
        assert refusal.error == "request_quota_exceeded"
        assert refusal.headers == {"retry-after": "1", "retry-after-ms": "250"}
    assert said(rules.find(subject(user("x")))) == "Thank you for your patience."
    assert said(rules.find(subject({"prompt": "x"}, COMPLETIONS))).startswith("Thank you")


def test_dies_mid_stream() -> None:
    rules = state("dies-mid-stream")
    first = rules.find(subject(user("x", stream=True)))
    assert chosen(first, "failure") == ["reset"]
    assert "never comes to its end" in said(first)
    second = rules.find(subject(user("x", stream=True)))
    assert (chosen(second, "failure"), said(second)) == ([], "This sentence comes to its end.")


def test_slow_start() -> None:
    rules = state("slow-start")
    pace = found(rules.find(subject(user("x", stream=True)))).outcome.pace
    assert pace is not None
    assert (pace.ttft, pace.tokens_per_second, pace.jitter) == (2.0, 40.0, 0.1)
    whole = rules.find(subject(user("x")))
    assert chosen(whole, "failure") == ["slow_first_byte:seconds=1.5"]


def test_order_states() -> None:
    rules = state("order-states")
    where, order = user("Where is my pizza?"), user("I order a pizza!")
    asked = [where, order, where, where, where, where]
    assert [said(rules.find(subject(body))) for body in asked] == [
        "Which pizza?",
        "Your pizza is in the oven.",
        "It is still baking.",
        "It is on its way.",
        "You have eaten it.",
        "You have eaten it.",
    ]
    assert rules.unused() == []


def test_structured_output() -> None:
    rules = state("structured-output")
    schema = {"type": "object", "properties": {"x": {"const": 3}}, "required": ["x"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    assert json.loads(said(rules.find(subject(user("x", response_format=wanted)))))["x"] == 3
    asked = subject(user("x", response_format=wanted), x_test="broken-json")
    with pytest.raises(json.JSONDecodeError):
        json.loads(said(rules.find(asked)))
    person = said(rules.find(subject(user("x", response_format={"type": "json_object"}))))
    assert set(json.loads(person)) == {"name", "age"}
    missed(rules.find(subject(user("x"))))


def test_template() -> None:
    rules = state("template")
    text = said(rules.find(subject(user("/count us"))))
    assert text == "1. user: /count us\nThat was turn 1 with gpt-oss-120b."
    echo = said(rules.find(subject(user('Say "hi"', temperature=0.5))))
    assert echo.startswith(r'You said "Say \"hi\"" at temperature 0.5; to which I say ')
    assert said(rules.find(subject(user('Say "hi"', temperature=0.5)))) == echo
    assert said(rules.find(subject({"prompt": "one two"}, COMPLETIONS))) == " two one"


def test_sequence() -> None:
    rules = state("sequence")

    def answers(text: str, count: int) -> list[str]:
        return [said(rules.find(subject(user(text)))) for _ in range(count)]

    assert answers("roll", 4) == ["A three.", "A six.", "A one.", "A three."]
    assert answers("I wish", 4) == ["Granted."] * 3 + ["Three is all I have."]
    assert answers("Knock", 3) == ["Zzz.", "Zzz.", "Who is there?"]


def test_per_model() -> None:
    rules = state("per-model")

    def body(model: str, **more: Any) -> dict[str, Any]:
        return {**user("x", **more), "model": model}

    assert said(rules.find(subject(body("gpt-oss-120b")))) == "This is the large model."
    assert error(rules.find(subject(body("qwen-3-32b")))) == "service_unavailable"
    assert error(rules.find(subject(body("llama3.1-8b")))) == "service_unavailable"
    assert error(rules.find(subject(body("old-1")))) == "model_not_found"
    long = rules.find(subject(body("zai-glm-4.7", max_completion_tokens=100_001)))
    assert error(long) == "context_length_exceeded"
    missed(rules.find(subject(body("zai-glm-4.7"))))


def test_per_test_scope() -> None:
    rules = state("per-test-scope")
    for scope in ("retries", "retries"):
        answer = rules.find(subject(user("x"), scope=scope))
    assert said(answer) == "Second try."
    assert said(rules.find(subject(user("x"), scope="shop-7"))) == "Welcome to shop-7."
    key = subject(user("x"), authorization="Bearer csk-test-of-billing")
    assert error(rules.find(key)) == "payment_required"
    assert said(rules.find(subject(user("x"), x_test="case-12"))) == "This is case-12."
    missed(rules.find(subject(user("x"), x_test="case-12", x_skip="1")))
    missed(rules.find(subject(user("x"))))


def test_awkward_streams() -> None:
    rules = state("awkward-streams")
    assert chosen(rules.find(subject(user("bytes", stream=True))), "delivery") == ["bytewise"]
    lines = rules.find(subject(user("lines", stream=True)))
    assert chosen(lines, "delivery") == ["crlf"]
    assert chosen(lines, "defect") == ["done_twice", "call_id_changes"]
    acting = set()
    for hit in range(1, 31):
        half = found(rules.find(subject(user("half", stream=True))))
        assert half.position.hit == hit
        delivery, failure, defects = half.outcome.acting(b"a call", hit)
        assert (failure, defects) == (None, ())
        acting.add(delivery and delivery.name)
    assert acting == {"comments", "bom"}
    other = rules.find(subject(user("x", stream=True)))
    assert found(other).outcome.reply is None
    (stall,) = found(other).outcome.failure
    assert (stall.name, dict(stall.values), stall.rate) == (
        "stall",
        {"after": 5, "seconds": 1},
        0.2,
    )


def test_whole_answers() -> None:
    rules = state("whole-answers")
    models = found(rules.find(subject({}, "/v1/models"))).outcome.answer
    assert models is not None
    assert json.loads(models.body)["data"][0]["id"] == "house-model"
    recorded = found(rules.find(subject(user("the recorded one")))).outcome.answer
    assert recorded is not None
    assert recorded.body == (EXAMPLES / "answers" / "greeting.json").read_bytes()
    assert recorded.headers["x-recorded"] == "yes"
    proxy = found(rules.find(subject(user("x"), x_test="proxy"))).outcome.answer
    assert proxy is not None
    assert (proxy.status, proxy.headers["content-type"]) == (502, "text/html; charset=utf-8")
    stream = found(rules.find(subject(user("x", stream=True)))).outcome.answer
    assert stream is not None
    assert (stream.streamed, stream.offsets) == (True, (0.1, 0.25, 0.25))
    events = stream.body.decode().split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    chunk = asking.contract().schema("ChatCompletionChunk")
    for event in events[:-2]:
        assert chunk.violations(json.loads(event.removeprefix("data: "))) == []


def test_a_reply_is_said_by_both_operations() -> None:
    """The words of a script become tokens, usage and a finish reason like any others."""
    contract = asking.contract()
    asked = subject(user("x"))
    reply = found(state("rate-limit-then-success").find(asked)).outcome.reply
    assert reply is None  # the first answer is a refusal
    reply = found(state("dies-mid-stream").find(asked)).outcome.reply
    completion = chat.compose(asked.call, contract.models, Canned(asked.call.operation), reply)
    assert "".join(completion.choices[0].content) == "This sentence comes to its end."
    asked = subject({"prompt": "x", "model": "gpt-oss-120b"}, COMPLETIONS)
    canned = Canned(asked.call.operation)
    completion = text_completion.compose(asked.call, contract.models, canned, reply)
    assert "".join(completion.choices[0].content) == "This sentence comes to its end."
    assert completion.choices[0].finish_reason == "stop"
