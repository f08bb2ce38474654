"""seed, temperature and its kin, service_tier, user, stream_options, prompt_cache_key."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .asking import (
    CHAT,
    COMPLETIONS,
    JSON,
    asks,
    chunks,
    content,
    few,
    message,
    mock,
    says,
    send,
    whole,
)


@given(st.integers(), st.text(max_size=6))
@few
def test_the_same_seed_gives_the_same_answer(seed: int, text: str) -> None:
    one, other = (send(CHAT, says(text, seed=seed, user=u)) for u in ("a", "a"))
    assert one.body == other.body
    asked = says(text, seed=seed, model="llama3.1-8b")
    assert whole(CHAT, asked)["choices"] != whole(CHAT, {**asked, "seed": seed + 1})["choices"]
    texts = {whole(COMPLETIONS, asks(text, seed=s))["choices"][0]["text"] for s in (seed, seed + 1)}
    assert len(texts) == 2


SAMPLING = {"seed": 5, "top_p": 0.3, "frequency_penalty": 1, "presence_penalty": -1}


@pytest.mark.parametrize("name", SAMPLING)
def test_at_temperature_0_nothing_but_the_request_counts(name: str) -> None:
    more = {name: SAMPLING[name]}
    other = mock(seed=99)
    for body in (says("Well?", temperature=0), says("Well?", temperature=0.0)):
        plain = message(whole(CHAT, body))
        assert message(whole(CHAT, {**body, **more})) == plain
        assert message(whole(CHAT, body, by=other)) == plain
    assert content(whole(CHAT, says("Well?", **more))) != content(whole(CHAT, says("Well?")))
    text = whole(COMPLETIONS, asks("Well", temperature=0))["choices"]
    assert whole(COMPLETIONS, asks("Well", temperature=0, **more))["choices"] == text


@pytest.mark.parametrize("temperature", [0.1, 0.7, 2])
def test_another_temperature_says_something_else(temperature: float) -> None:
    assert content(whole(CHAT, says("Well?", temperature=temperature))) != content(
        whole(CHAT, says("Well?"))
    )


@pytest.mark.parametrize("tier", ["priority", "flex", "auto", None])
def test_the_tier_is_told(tier: str | None) -> None:
    answer = whole(CHAT, says("Well?", service_tier=tier))
    assert answer.get("service_tier") == tier
    assert answer.get("service_tier_used") == ("default" if tier == "auto" else None)
    assert {c.get("service_tier") for c in chunks(CHAT, says("Well?", service_tier=tier))} == {tier}
    assert answer["choices"] == whole(CHAT, says("Well?"))["choices"]


def test_the_default_tier_is_as_none() -> None:
    asked = send(CHAT, says("Well?", service_tier="default"))
    assert json.loads(asked.body) == whole(CHAT, says("Well?"))


@pytest.mark.parametrize("more", [{"user": "me"}, {"prompt_cache_key": "k"}, {"user": None}])
def test_who_asks_changes_no_words(more: JSON) -> None:
    assert whole(CHAT, says("Well?", **more))["choices"] == whole(CHAT, says("Well?"))["choices"]
    text = whole(COMPLETIONS, asks("Well", **more))
    assert text["choices"] == whole(COMPLETIONS, asks("Well"))["choices"]
    assert text["usage"] == whole(COMPLETIONS, asks("Well"))["usage"]


@pytest.mark.parametrize("options", [None, {}, {"include_usage": True}, {"include_usage": False}])
@pytest.mark.parametrize(("path", "body"), [(CHAT, says("Well?")), (COMPLETIONS, asks("Well"))])
def test_usage_is_in_the_last_chunk_whatever_is_said(path: str, body: JSON, options: Any) -> None:
    read = chunks(path, {**body, "stream_options": options})
    assert read == chunks(path, body)
    assert read[-1]["usage"] == whole(path, body)["usage"]
    assert read[-1]["choices"][0]["finish_reason"] == "stop"


def test_model_parameters_of_an_unknown_model_are_taken() -> None:
    assert content(whole(CHAT, says("Well?", model="another", model_parameters={"a": 1})))


def test_an_unknown_model_is_answered_unless_the_catalogue_is_strict() -> None:
    assert whole(CHAT, says("Well?", model="another"))["model"] == "another"
    strict = mock(models="strict")
    for path, body in ((CHAT, says("Well?")), (COMPLETIONS, asks("Well"))):
        assert send(path, {**body, "model": "another"}, by=strict).status == 404
        assert send(path, body, by=strict).status == 200
