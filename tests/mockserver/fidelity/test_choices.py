"""n and best_of: several choices of one answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .asking import CHAT, COMPLETIONS, asks, content, few, says, whole


@given(st.integers(2, 12), st.text(max_size=8))
@few
def test_choices_differ_and_share_one_usage(n: int, text: str) -> None:
    several = whole(CHAT, says(text, n=n, logprobs=True, model="llama3.1-8b"))
    texts = [content(several, index) for index in range(n)]
    assert len(set(texts)) == n
    assert texts[0] == content(whole(CHAT, says(text, model="llama3.1-8b")))
    written = [len(choice["logprobs"]["content"]) for choice in several["choices"]]
    assert several["usage"]["completion_tokens"] == sum(written)
    assert [choice["index"] for choice in several["choices"]] == list(range(n))


@given(st.integers(1, 6), st.integers(1, 5))
@few
def test_one_choice_a_prompt_and_sample(n: int, prompts: int) -> None:
    answer = whole(COMPLETIONS, asks(["same"] * prompts, n=n))
    assert [c["index"] for c in answer["choices"]] == list(range(n * prompts))
    assert len({c["text"] for c in answer["choices"]}) == n * prompts
    assert answer["usage"]["prompt_tokens"] == prompts


@pytest.mark.parametrize("best_of", [0, 1, 4, 20])
def test_best_of_returns_n_and_counts_what_is_returned(best_of: int) -> None:
    plain = whole(COMPLETIONS, asks("Once", n=1))
    best = whole(COMPLETIONS, asks("Once", n=1, best_of=best_of))
    assert best["choices"] == plain["choices"]
    assert best["usage"] == plain["usage"]
    several = whole(COMPLETIONS, asks("Once", n=3, best_of=5))
    assert len(several["choices"]) == 3


@pytest.mark.parametrize("limit", [1, 30])
def test_the_limit_holds_for_each_choice(limit: int) -> None:
    answer = whole(CHAT, says("Well?", n=3, max_tokens=limit))
    assert answer["usage"]["completion_tokens"] == 3 * limit
    assert {c["finish_reason"] for c in answer["choices"]} == {"length"}


def test_structured_choices_differ() -> None:
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    form = {"type": "json_schema", "json_schema": {"name": "s", "schema": schema}}
    answer = whole(CHAT, says("A title", n=6, response_format=form))
    assert len({content(answer, index) for index in range(6)}) == 6
