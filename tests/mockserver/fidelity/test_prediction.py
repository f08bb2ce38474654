"""prediction: accepted and rejected tokens, from a real comparison with the answer."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.prediction import compare, follow_prediction
from wafermock.mockserver.prose import word_list
from wafermock.mockserver.tokens import count_tokens, tokenise

from .asking import CHAT, JSON, content, examples, few, joined, says, whole
from .generated import SENTENCES

LONG = st.lists(SENTENCES, min_size=3, max_size=12).map("\n".join)
LIMITS = st.none() | st.integers(1, 200)


def predicted(answer: JSON) -> tuple[int, int]:
    details = answer["usage"]["completion_tokens_details"]
    return details["accepted_prediction_tokens"], details["rejected_prediction_tokens"]


def predicts(text: Any, **more: Any) -> JSON:
    return says("Write it again", prediction={"type": "content", "content": text}, **more)


@given(SENTENCES, LIMITS, st.none() | st.sampled_from(["e", ". ", "the"]), st.integers(0, 90))
@examples
def test_a_prediction_of_the_answer_comes_true(
    text: str, limit: int | None, stop: str | None, least: int
) -> None:
    body = says(text, max_tokens=limit, stop=stop, min_tokens=least)
    answer = content(whole(CHAT, body))
    body["prediction"] = {"type": "content", "content": answer}
    again = whole(CHAT, body)
    assert content(again) == answer
    assert predicted(again) == (count_tokens(answer), 0)


@given(LONG | st.text(max_size=200), LIMITS)
@examples
def test_an_answer_predicted_again_comes_true(text: str, limit: int | None) -> None:
    first = whole(CHAT, predicts(text, max_tokens=limit))
    again = whole(CHAT, predicts(content(first), max_tokens=limit))
    assert content(again) == content(first)
    assert predicted(again) == (count_tokens(content(first)), 0)


@given(LONG, LIMITS, st.booleans())
@examples
def test_the_sums_add_up(text: str, limit: int | None, streamed: bool) -> None:
    answer = (joined if streamed else whole)(CHAT, predicts(text, max_tokens=limit))
    usage = answer["usage"]
    accepted, rejected = predicted(answer)
    thought = usage["completion_tokens_details"]["reasoning_tokens"]
    written = thought + count_tokens(content(answer))
    assert accepted <= count_tokens(content(answer))
    assert usage["completion_tokens"] == written + rejected
    if limit is None:
        assert accepted + rejected == count_tokens(text)
        assert rejected < count_tokens(text) or count_tokens(text) < 4, "most comes true"
    else:
        assert usage["completion_tokens"] <= limit


@given(LONG, st.binary(min_size=16, max_size=16))
@few
def test_following_twice_is_following_once(text: str, salt: bytes) -> None:
    once = follow_prediction(text, salt)
    assert follow_prediction(once, salt) == once
    assert once.count(" ") == text.count(" ")


def test_some_words_are_changed() -> None:
    text = " ".join(word_list()[:400])
    accepted, rejected = predicted(whole(CHAT, predicts(text)))
    assert rejected > 5
    assert accepted > 300


def test_parts_are_one_text() -> None:
    parts = [{"type": "text", "text": "one two"}, {"type": "text", "text": "three four"}]
    assert predicted(whole(CHAT, predicts(parts))) == predicted(
        whole(CHAT, predicts("one two\nthree four"))
    )


def test_without_a_prediction_nothing_is_predicted() -> None:
    assert predicted(whole(CHAT, says("Hello!"))) == (0, 0)
    answer = whole(CHAT, predicts(""))
    assert predicted(answer) == (0, 0)
    assert content(answer)


@given(st.lists(st.sampled_from("abcd")), st.lists(st.sampled_from("abcd")))
@examples
def test_a_comparison_counts_each_token_once(prediction: list[str], answer: list[str]) -> None:
    accepted, rejected = compare(prediction, answer)
    assert accepted + rejected == len(prediction)
    assert 0 <= accepted <= len(answer)
    assert compare(answer, answer) == (len(answer), 0)


def test_what_is_skipped_was_predicted_in_vain() -> None:
    assert compare(tokenise("one two three four"), tokenise("one three four")) == (3, 1)
    assert compare(tokenise("one two"), tokenise("x y")) == (0, 2)
