"""reasoning_effort, reasoning_format, disable_reasoning and clear_thinking, by model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .asking import CHAT, JSON, content, contract, examples, joined, message, says, whole
from .generated import MODELS, SENTENCES

CATALOGUE = contract().models
THINKING = [name for name in MODELS if CATALOGUE[name]["reasoning"]]
EFFORTS = ("low", "medium", "high")


def thought(answer: JSON) -> int:
    tokens: int = answer["usage"]["completion_tokens_details"]["reasoning_tokens"]
    return tokens


@given(st.sampled_from(THINKING), SENTENCES, st.integers())
@examples
def test_more_effort_is_more_reasoning(model: str, text: str, seed: int) -> None:
    reasoning = CATALOGUE[model]["reasoning"]
    efforts = [effort for effort in EFFORTS if effort in reasoning["efforts"]]
    answers = [whole(CHAT, says(text, model=model, seed=seed, reasoning_effort=e)) for e in efforts]
    tokens = [thought(answer) for answer in answers]
    if reasoning.get("equivalent_efforts"):
        assert len(set(tokens)) == 1
    else:
        assert tokens == sorted(set(tokens))
    assert len({content(answer) for answer in answers}) <= 1, "the same words follow"
    for effort, answer in zip(efforts, answers, strict=True):
        if effort == reasoning["default_effort"]:
            same = whole(CHAT, says(text, model=model, seed=seed))
            assert same["choices"] == answer["choices"]


@pytest.mark.parametrize("model", MODELS)
def test_without_reasoning_there_is_none(model: str) -> None:
    reasoning = CATALOGUE[model]["reasoning"]
    bodies = [says("Well?", model=model, disable_reasoning=True)]
    if reasoning is None:
        bodies = [says("Well?", model=model)]
    elif "none" in reasoning["efforts"]:
        bodies.append(says("Well?", model=model, reasoning_effort="none"))
    for body in bodies:
        answer = whole(CHAT, body)
        assert thought(answer) == 0
        assert set(message(answer)) == {"content", "role"}


@pytest.mark.parametrize("ask", [whole, joined])
@pytest.mark.parametrize(
    ("model", "form"),
    [(m, f) for m in THINKING for f in (*CATALOGUE[m]["reasoning"]["formats"], None)],
)
def test_where_thoughts_are_shown(model: str, form: str | None, ask: object) -> None:
    assert callable(ask)
    effort = CATALOGUE[model]["reasoning"]["efforts"][-1]
    body = says("Well?", model=model, logprobs=True, top_logprobs=1)
    body |= {"reasoning_effort": effort} if effort != "none" else {}
    plain = whole(CHAT, {**body, "reasoning_format": "parsed"})
    reasoning, text = message(plain)["reasoning"], message(plain)["content"]
    answer = ask(CHAT, {**body, "reasoning_format": form})
    shown, choice = message(answer), answer["choices"][0]
    logprobs = {
        kind: "".join(e["token"] for e in choice[kind]["content"])
        for kind in ("logprobs", "reasoning_logprobs")
        if kind in choice
    }
    if form in (None, "none"):
        form = CATALOGUE[model]["reasoning"]["default_format"]
    if form == "raw":
        tags = CATALOGUE[model]["reasoning"].get("tags", ("<think>", "</think>"))
        said = f"{tags[0]}{reasoning}{tags[1]}{text}"
        assert shown == {"content": said, "role": "assistant"}
        assert logprobs == {"logprobs": said}
    elif form == "hidden":
        assert shown == {"content": text, "role": "assistant"}
        assert logprobs == {"logprobs": text}
        assert thought(answer) == thought(plain) > 0
    else:
        assert shown == {"content": text, "reasoning": reasoning, "role": "assistant"}
        if form == "parsed":
            assert logprobs == {"logprobs": text, "reasoning_logprobs": reasoning}
        else:
            assert logprobs == {"logprobs": reasoning + text}
        assert answer["usage"] == plain["usage"]


@pytest.mark.parametrize("form", ["parsed", "text_parsed", "raw", "hidden"])
def test_a_cut_inside_the_thoughts(form: str) -> None:
    body = says("Well?", max_tokens=5, reasoning_format=form)
    answer = whole(CHAT, body)
    assert answer["choices"][0]["finish_reason"] == "length"
    assert thought(answer) == answer["usage"]["completion_tokens"] == 5
    shown = {"raw": {"content", "role"}, "hidden": {"role"}}.get(form, {"reasoning", "role"})
    assert set(message(answer)) == shown


def test_a_cut_right_after_the_thoughts() -> None:
    tokens = thought(whole(CHAT, says("Well?")))
    answer = whole(CHAT, says("Well?", max_tokens=tokens))
    assert set(message(answer)) == {"reasoning", "role"}
    answer = whole(CHAT, says("Well?", max_tokens=tokens + 1))
    assert set(message(answer)) == {"content", "reasoning", "role"}


def test_earlier_thoughts_count_only_when_they_are_kept() -> None:
    answer = {"role": "assistant", "content": "Yes.", "reasoning": "it seems so " * 20}
    user = {"role": "user", "content": "Well?"}
    body = says("", model="zai-glm-4.7", messages=[user, answer, user])
    counts = {
        kept: whole(CHAT, {**body, "clear_thinking": kept})["usage"]["prompt_tokens"]
        for kept in (None, True, False)
    }
    assert counts[None] == counts[True] < counts[False]


def test_calls_come_after_thoughts() -> None:
    tool = {"type": "function", "function": {"name": "f"}}
    answer = whole(CHAT, says("Well?", tools=[tool], tool_choice="required"))
    assert set(message(answer)) == {"reasoning", "tool_calls", "role"}
    assert thought(answer) > 0
    assert answer["usage"]["completion_tokens"] > thought(answer)
