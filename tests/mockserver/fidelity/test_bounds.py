"""Every request has a bounded cost: beyond a bound it gets a 400 that names it."""

import json
from pathlib import Path
from typing import Any

import pytest

from wafermock.mockserver import bounds
from wafermock.mockserver.prompt import check_length
from wafermock.mockserver.refusal import Refusal

from .asking import CHAT, COMPLETIONS, JSON, asks, chunks, content, refusal, says, whole
from .test_structured import STRING, closed, form


def text(name: str, value: Any, limit: int) -> str:
    return f"{name} is {value}; this server answers up to {limit}."


ITEMS = closed(a={"type": "array", "items": {"type": "string", "minLength": 100}, "minItems": 60})
TOO_MUCH: dict[str, tuple[JSON, str]] = {
    "n": (says("x", n=129), text("n", 129, 128)),
    "n of a completion": (asks("x", n=10**30), text("n", 10**30, 128)),
    "prompts": (asks(["x"] * 129), text("n, over all prompts,", 129, 128)),
    "prompts by n": (asks(["x"] * 13, n=10), text("n, over all prompts,", 130, 128)),
    "best_of": (asks(["x"] * 7, best_of=20), text("best_of", 140, 128)),
    "min_tokens": (
        asks("x", min_tokens=131_073), text("min_tokens, over all choices,", 131_073, 131_072),
    ),
    "min_tokens by n": (
        says("x", min_tokens=2000, n=100), text("min_tokens, over all choices,", 200_000, 131_072),
    ),
    "min_tokens to the end": (
        says("x", min_tokens=-1, n=9), text("min_tokens, over all choices,", 147_456, 131_072),
    ),
    "log probabilities": (
        says("x", min_tokens=9000, logprobs=True, top_logprobs=20, model="llama3.1-8b"),
        text("the number of log probabilities", 198_000, 120_000),
    ),
    "log probabilities of an echo": (
        asks("x " * 100_000, echo=True, logprobs=0, max_tokens=0),
        text("the number of log probabilities", 200_002, 120_000),
    ),
    "logit_bias": (
        says("x", logit_bias=dict.fromkeys(map(str, range(100_001)), 1)),
        text("the number of entries of logit_bias", 100_001, 100_000),
    ),
    "long prompts together": (
        asks([[1] * 90_000] * 3), text("the number of tokens of all prompts", 270_000, 262_144),
    ),
    "echoes together": (
        asks([[1] * 70_000] * 2, echo=True, max_tokens=1),
        text("the number of tokens of all choices", 140_002, 131_072),
    ),
    "a long schema": (
        form({"description": "x" * 1_000_000}),
        text("the length of the schema in characters", 1_000_019, 1_000_000),
    ),
    "schemas": (
        form({"description": "x" * 900_000}, n=23),
        text("n times the length of the schema", 20_700_437, 20_000_000),
    ),
    "items": (form(closed(a={"type": "array", "minItems": 5000})), "minItems at /properties/a"),
    "characters": (form(closed(a={**STRING, "minLength": 10**6})), "minLength at /properties/a"),
    "properties": (form({"type": "object", "minProperties": 9999}), "minProperties at "),
}  # fmt: skip


def path_of(body: JSON) -> str:
    return COMPLETIONS if "prompt" in body else CHAT


@pytest.mark.parametrize(("body", "said"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_too_much_is_refused_by_its_name(body: JSON, said: str) -> None:
    for asked in (body, {**body, "stream": True}):
        if asked.get("best_of") and asked.get("stream"):
            continue  # is not streamed anyway
        status, error = refusal(path_of(body), asked)
        assert (status, error["param"], error["code"]) == (400, "bounds", "bounds_exceeded")
        assert error["message"].startswith(said)


def test_a_schema_that_needs_too_deep_a_value() -> None:
    schema: JSON = STRING
    for _ in range(60):
        schema = closed(a=schema)
    status, error = refusal(CHAT, form(schema))
    assert (status, error["code"]) == (400, "bounds_exceeded")
    assert error["message"].startswith("depth at /properties/a")


def test_long_choices_together() -> None:
    status, error = refusal(CHAT, form(ITEMS, n=128))
    assert (status, error["code"]) == (400, "bounds_exceeded")
    assert error["message"].startswith("the number of tokens of all choices is 1")
    assert json.loads(content(whole(CHAT, form(ITEMS))))


@pytest.mark.parametrize(
    "body",
    [
        says("x", n=128),
        asks(["x"] * 32, n=4),
        asks("x", min_tokens=131_000),
        says("x", min_tokens=5000, logprobs=True, top_logprobs=20, max_tokens=5000),
        says("x", logit_bias=dict.fromkeys(map(str, range(100_000)), -100)),
        asks([[1] * 130_000] * 2, max_tokens=3),
        asks(
            [2**50 + n for n in range(50_000)] * 2, echo=True, return_raw_tokens=True, stream=True
        ),
    ],
)
def test_as_much_as_that_is_answered(body: JSON) -> None:
    if not body.get("stream"):
        whole(path_of(body), body)
        return
    parts = [chunk["choices"][0]["tokens"] for chunk in chunks(path_of(body), body)]
    assert sum(map(len, parts)) > 100_000


@pytest.mark.parametrize(
    "body",
    [
        says("a1" * 1_000_000),
        says("x", prediction={"type": "content", "content": "a1" * 1_000_000}),
        asks("a1" * 1_000_000),
        asks(["x", "a1" * 1_000_000]),
        asks([1] * 200_000),
        asks([[1], [1] * 200_000]),
        says(
            "x",
            tools=[{"type": "function", "function": {"name": "f", "description": "a1" * 10**6}}],
        ),
    ],
    ids=["chat", "prediction", "text", "texts", "tokens", "arrays", "tools"],
)
def test_what_is_longer_than_the_context_is_refused_uncounted(body: JSON) -> None:
    status, error = refusal(path_of(body), body)
    assert (status, error["code"]) == (400, "context_length_exceeded")


def test_a_length_is_the_least_there_can_be() -> None:
    check_length(11 * 100 + 10, 100)
    with pytest.raises(Refusal) as refused:
        check_length(11 * 101, 100)
    assert refused.value.values == {"length": 101, "limit": 100}


def test_a_costly_schema_is_searched_once_for_many_choices() -> None:
    # The first instance takes most of the work that one request may cost.
    hard = {"type": "array", "minItems": 400, "uniqueItems": True, "items": {"type": "integer"}}
    answer = whole(CHAT, form(closed(a=hard), n=60))
    for index in range(60):
        assert len(set(json.loads(content(answer, index))["a"])) >= 400


def test_the_bounds_are_what_the_documentation_says() -> None:
    table = (Path(__file__).parents[3] / "docs" / "fidelity.md").read_text(encoding="utf-8")
    for said, limit in (
        ("{} choices over all prompts", bounds.MOST_CHOICES),
        ("{} tokens written", bounds.MOST_TOKENS),
        ("{} read over all prompts", bounds.MOST_PROMPT_TOKENS),
        ("{} log probabilities", bounds.MOST_LOGPROBS),
        ("{} entries of `logit_bias`", bounds.MOST_BIASES),
        ("a schema of {} characters", bounds.LONGEST_SCHEMA),
        ("{} over all choices", bounds.LONGEST_SCHEMAS),
    ):
        assert said.format(f"{limit:,}") in table
