"""logit_bias: -100 bans a token, 100 forces it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.prose import word_list
from wafermock.mockserver.tokens import token_id, tokenise

from .asking import CHAT, COMPLETIONS, JSON, asks, content, few, message, says, whole


def tokens_of(answer: JSON) -> list[str]:
    return [e["token"] for e in answer["choices"][0]["logprobs"]["content"]]


@given(st.text(max_size=8), st.data())
@few
def test_a_banned_token_is_never_said(text: str, data: st.DataObject) -> None:
    body = says(text, logprobs=True)  # text_parsed: thoughts and words in one list
    said = tokens_of(whole(CHAT, body))
    banned = data.draw(st.sets(st.sampled_from(said), min_size=1, max_size=8))
    bias = {str(token_id(token)): -100 for token in banned}
    for more in ({}, {"min_tokens": 200}):
        heard = tokens_of(whole(CHAT, {**body, **more, "logit_bias": bias}))
        assert banned.isdisjoint(heard)
        assert len(heard) >= (200 if more else 20)


@given(st.sets(st.sampled_from([" yes", " no", "a", "?", "Maybe"]), min_size=1), st.booleans())
@few
def test_forced_tokens_are_the_only_ones(forced: set[str], banned_too: bool) -> None:
    bias = {str(token_id(token)): 100 for token in forced}
    bias |= {str(token_id(" the")): -100} if banned_too else {}
    said = whole(COMPLETIONS, asks("So", logit_bias=bias, logprobs=0, min_tokens=90))
    assert set(said["choices"][0]["logprobs"]["tokens"]) == forced
    assert len(said["choices"][0]["logprobs"]["tokens"]) >= 90


@pytest.mark.parametrize(
    "bias",
    [None, {}, {"x": -100}, {"": 100}, {"-1": -100}, {"1.5": 100}, {"9" * 40: 100}, {"٣": -100}],
)
def test_a_key_that_is_no_token_biases_nothing(bias: Any) -> None:
    plain = says("Well?", temperature=1)
    answer = whole(CHAT, {**plain, "logit_bias": bias})
    said = tokenise(content(answer))
    assert len(said) > 10
    assert len(set(said)) > 5


@pytest.mark.parametrize("value", [-99.5, -1, 0, 1, 99.5])
def test_a_mild_bias_keeps_the_token_possible(value: float) -> None:
    bias = {str(token_id(f" {word}")): value for word in word_list()}
    assert len(content(whole(CHAT, says("Well?", logit_bias=bias)))) > 50


def test_with_every_word_banned_what_is_left_is_said() -> None:
    bias = {str(token_id(s + w)): -100 for w in word_list() for s in ("", " ") if len(w) <= 10}
    said = tokenise(content(whole(CHAT, says("Well?", logit_bias=bias, min_tokens=60))))
    assert not {s + w for w in word_list() for s in ("", " ")} & set(said)


def test_json_and_calls_stay_whole() -> None:
    import json

    bias = {str(token_id('{"')): -100, str(token_id(" no")): 100}
    form = {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "object"}}}
    assert json.loads(content(whole(CHAT, says("x", logit_bias=bias, response_format=form)))) == {}
    tool = {"type": "function", "function": {"name": "f"}}
    answer = whole(CHAT, says("x", logit_bias=bias, tools=[tool], tool_choice="required"))
    assert message(answer)["tool_calls"][0]["function"]["arguments"] == "{}"
