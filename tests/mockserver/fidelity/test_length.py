"""max_completion_tokens, max_tokens, min_tokens and stop: exact cuts of one and the same text."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.tokens import count_tokens, tokenise

from .asking import CHAT, COMPLETIONS, JSON, asks, content, examples, joined, message, says, whole
from .generated import MODELS, STOPS, chats, completions

LIMITS = ("max_tokens", "max_completion_tokens")


def unlimited(body: JSON) -> JSON:
    return {k: v for k, v in body.items() if k not in LIMITS and k != "stop"}


@given(st.text(max_size=10), st.sampled_from(MODELS), st.integers(0, 90), st.sampled_from(LIMITS))
@examples
def test_a_chat_is_cut_at_exactly_so_many_tokens(
    text: str, model: str, limit: int, name: str
) -> None:
    full = whole(CHAT, says(text, model=model, logprobs=True))
    cut = whole(CHAT, says(text, model=model, logprobs=True, **{name: limit}))
    complete, part = full["choices"][0], cut["choices"][0]
    length = full["usage"]["completion_tokens"]
    assert cut["usage"]["completion_tokens"] == min(limit, length)
    assert part["finish_reason"] == ("length" if limit < length else "stop")
    entries = tokens_of(part)
    assert len(entries) == cut["usage"]["completion_tokens"]
    assert entries == tokens_of(complete)[:limit]
    thought = full["usage"]["completion_tokens_details"]["reasoning_tokens"]
    if 0 < limit <= thought:
        assert "content" not in part["message"]
        assert set(part["message"]) == {"role", "reasoning"}
        assert cut["usage"]["completion_tokens_details"]["reasoning_tokens"] == limit


def tokens_of(choice: JSON) -> list[str]:
    kinds = ("reasoning_logprobs", "logprobs")
    return [e["token"] for kind in kinds for e in (choice.get(kind) or {}).get("content", ())]


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("limit", [-1, None])
def test_minus_one_is_no_limit(name: str, limit: int | None) -> None:
    said = whole(CHAT, says("Tell me more"))
    same = whole(CHAT, says("Tell me more", **{name: limit}))
    assert same["choices"] == said["choices"]
    assert same["usage"] == said["usage"]


@pytest.mark.parametrize("limit", [0, 1, 7, 10_000, -1])
def test_a_completion_is_cut_at_exactly_so_many_tokens(limit: int) -> None:
    full = whole(COMPLETIONS, asks("Once", logprobs=0))["choices"][0]
    cut = whole(COMPLETIONS, asks("Once", logprobs=0, max_tokens=limit))
    tokens = full["logprobs"]["tokens"]
    left = tokens if limit < 0 else tokens[:limit]
    (choice,) = cut["choices"]
    assert choice["logprobs"]["tokens"] == left
    assert cut["usage"]["completion_tokens"] == len(left)
    assert choice["finish_reason"] == ("stop" if left == tokens else "length")


@given(chats(tools=False, structured=False))
@examples
def test_a_chat_cut_is_a_prefix(body: JSON) -> None:
    full, cut = whole(CHAT, unlimited(body)), whole(CHAT, body)
    for whole_choice, choice in zip(full["choices"], cut["choices"], strict=True):
        for name in ("content", "reasoning"):
            part = choice["message"].get(name, "")
            assert (whole_choice["message"].get(name) or "").startswith(part)


@given(completions(), STOPS | st.lists(STOPS, max_size=4), st.booleans())
@examples
def test_a_stop_cuts_right_before_the_first_match(body: JSON, stop: Any, streamed: bool) -> None:
    body = {**unlimited(body), "return_raw_tokens": False, "echo": False, "prompt": "Go on"}
    ask = joined if streamed else whole
    stops = [s for s in ([stop] if isinstance(stop, str) else stop) if s]
    full = whole(COMPLETIONS, body)
    for choice in ask(COMPLETIONS, {**body, "stop": stop})["choices"]:
        text = full["choices"][choice["index"]]["text"]
        found = [at for s in stops if (at := text.find(s)) >= 0]
        assert choice["text"] == (text[: min(found)] if found else text)
        assert choice["finish_reason"] == "stop"


def test_a_stop_may_straddle_tokens() -> None:
    text = whole(COMPLETIONS, asks("Once"))["choices"][0]["text"]
    first, second = tokenise(text)[3:5]
    stop = first[-2:] + second[:2]
    at = text.index(stop)
    stopped = whole(COMPLETIONS, asks("Once", stop=[stop], logprobs=0))
    (choice,) = stopped["choices"]
    assert choice["text"] == text[:at]
    assert "".join(choice["logprobs"]["tokens"]) == text[:at]
    assert stopped["usage"]["completion_tokens"] == len(choice["logprobs"]["tokens"])


def test_a_stop_at_the_start_leaves_an_empty_text() -> None:
    text = content(whole(CHAT, says("Tell me more")))
    stopped = whole(CHAT, says("Tell me more", stop=text[:4]))
    assert stopped["choices"][0]["finish_reason"] == "stop"
    assert message(stopped)["content"] == ""
    assert message(stopped)["reasoning"]


def test_a_stop_beyond_the_limit_is_not_reached() -> None:
    text = whole(COMPLETIONS, asks("Once"))["choices"][0]["text"]
    late = tokenise(text)[6]
    cut = whole(COMPLETIONS, asks("Once", stop=late, max_tokens=3))["choices"][0]
    assert (cut["finish_reason"], count_tokens(cut["text"])) == ("length", 3)


def test_thoughts_are_stopped_only_where_they_are_part_of_the_text() -> None:
    body = says("Tell me more", model="zai-glm-4.7")
    thought = message(whole(CHAT, body))["reasoning"]
    word = thought.split()[2]
    parsed = message(whole(CHAT, {**body, "stop": word}))
    assert parsed["reasoning"] == thought
    raw = whole(CHAT, {**body, "stop": word, "reasoning_format": "raw"})
    assert content(raw) == f"<think>{thought[: thought.index(word)]}"
    assert raw["choices"][0]["finish_reason"] == "stop"


@given(st.integers(0, 400), st.sampled_from(["min_tokens", "min_completion_tokens"]))
@examples
def test_at_least_so_many_tokens(least: int, name: str) -> None:
    said, more = whole(CHAT, says("Well?")), whole(CHAT, says("Well?", **{name: least}))
    needed = max(least, said["usage"]["completion_tokens"])
    assert more["usage"]["completion_tokens"] == needed
    assert content(more).startswith(content(said))
    assert more["choices"][0]["finish_reason"] == "stop"
    text = whole(COMPLETIONS, asks("Well", min_tokens=least, logprobs=0))
    assert text["usage"]["completion_tokens"] >= least


def test_the_least_may_not_exceed_the_most() -> None:
    said = whole(CHAT, says("Well?", min_tokens=90, max_completion_tokens=70))
    assert said["usage"]["completion_tokens"] == 70
    assert said["choices"][0]["finish_reason"] == "length"


def test_the_least_may_be_all_there_is() -> None:
    said = whole(COMPLETIONS, asks("Well", min_tokens=-1))
    assert said["usage"]["completion_tokens"] == 16_384
    said = whole(COMPLETIONS, asks("Well", min_tokens=-1, max_tokens=50))
    assert said["usage"]["completion_tokens"] == 50


def test_the_context_is_the_last_limit() -> None:
    prompt = "so " * 131_000
    said = whole(COMPLETIONS, asks(prompt, min_tokens=500))
    assert said["usage"]["total_tokens"] == 131_072
    assert said["choices"][0]["finish_reason"] == "length"
