"""The forms of a prompt, echo and return_raw_tokens."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.tokens import token_id, token_text, tokenise

from .asking import COMPLETIONS, asks, few, joined, refusal, whole
from .generated import SENTENCES, TOKENS

TEXTS = SENTENCES | st.text(max_size=20)


@given(TEXTS)
@few
def test_numbers_and_text_are_the_same_prompt(text: str) -> None:
    numbers = [token_id(token) for token in tokenise(text)]
    for prompt in (text, [text], numbers, [numbers]):
        answer = whole(COMPLETIONS, asks(prompt, echo=True))
        assert len(answer["choices"]) == 1
        assert answer["choices"][0]["text"].startswith(text)
        assert answer["usage"]["prompt_tokens"] == len(numbers)


@given(TEXTS)
@few
def test_raw_tokens_sent_back_give_the_same_text(text: str) -> None:
    said = whole(COMPLETIONS, asks(text))["choices"][0]
    raw = whole(COMPLETIONS, asks(text, return_raw_tokens=True))["choices"][0]
    assert "text" not in raw
    assert "".join(map(token_text, raw["tokens"])) == said["text"]
    back = whole(COMPLETIONS, asks(raw["tokens"], echo=True, max_tokens=0))
    assert back["choices"][0]["text"] == said["text"]
    assert back["usage"]["prompt_tokens"] == len(raw["tokens"])
    assert back["usage"]["completion_tokens"] == 0


@given(st.lists(st.lists(TOKENS, max_size=6), min_size=1, max_size=3), st.booleans())
@few
def test_an_echo_of_numbers_has_the_numbers_that_were_sent(
    prompts: list[list[int]], streamed: bool
) -> None:
    ask = joined if streamed else whole
    body = asks(prompts, echo=True, return_raw_tokens=True, max_tokens=2)
    answer = ask(COMPLETIONS, body)
    for prompt, choice in zip(prompts, answer["choices"], strict=True):
        assert choice["tokens"][: len(prompt)] == prompt
        assert len(choice["tokens"]) == len(prompt) + 2


@given(st.lists(TEXTS, min_size=1, max_size=4), st.booleans())
@few
def test_an_echo_is_not_counted(prompts: list[str], logprobs: bool) -> None:
    more = {"logprobs": 2} if logprobs else {}
    plain = whole(COMPLETIONS, asks(prompts, **more))
    echoed = whole(COMPLETIONS, asks(prompts, echo=True, **more))
    assert echoed["usage"] == plain["usage"]
    for prompt, one, other in zip(prompts, plain["choices"], echoed["choices"], strict=True):
        assert other["text"] == prompt + one["text"]


@pytest.mark.parametrize("prompt", ["", [], [""], [[]]])
def test_an_empty_prompt_is_one_prompt(prompt: Any) -> None:
    answer = whole(COMPLETIONS, asks(prompt))
    assert answer["usage"]["prompt_tokens"] == 0
    assert len(answer["choices"]) == 1


@pytest.mark.parametrize(
    "prompt", [None, 5, {}, [None], [["a"]], ["a", 1], [-1], [[0.5]], "absent"]
)
def test_no_other_form_is_a_prompt(prompt: Any) -> None:
    body = asks(prompt)
    if prompt == "absent":
        del body["prompt"]
    status, error = refusal(COMPLETIONS, body)
    assert status == 422
    assert error["detail"][0]["loc"][:2] == ["body", "prompt"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("form", [None, "none"])
def test_completions_have_no_thoughts(stream: bool, form: str | None) -> None:
    body = asks("So", model="gpt-oss-120b", reasoning_format=form)
    answer = (joined if stream else whole)(COMPLETIONS, body)
    plain = whole(COMPLETIONS, asks("So", model="gpt-oss-120b"))
    assert answer["choices"] == plain["choices"]
    assert answer["usage"]["completion_tokens_details"]["reasoning_tokens"] == 0


@pytest.mark.parametrize("form", ["parsed", "text_parsed", "raw", "hidden"])
def test_a_reasoning_format_changes_no_completion(form: str) -> None:
    answer = whole(COMPLETIONS, asks("So", model="gpt-oss-120b", reasoning_format=form))
    plain = whole(COMPLETIONS, asks("So", model="gpt-oss-120b"))
    assert answer["choices"] == plain["choices"]


def test_a_grammar_root_changes_no_words() -> None:
    answer = whole(COMPLETIONS, asks("So", grammar_root="root"))
    assert answer["choices"] == whole(COMPLETIONS, asks("So"))["choices"]


@pytest.mark.parametrize("ask", [whole, joined])
def test_offsets_are_in_characters(ask: Any) -> None:
    (choice,) = ask(COMPLETIONS, asks("né 漢字 🙂 so", echo=True, logprobs=1))["choices"]
    logprobs = choice["logprobs"]
    for offset, token in zip(logprobs["text_offset"], logprobs["tokens"], strict=True):
        assert choice["text"][offset : offset + len(token)] == token
