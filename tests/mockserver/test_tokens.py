"""The token model: pieces join to the text, and a piece and its number are the same thing."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wafermock.mockserver.tokens import count_tokens, token_id, token_text, tokenise

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
# Text as people write it: words, figures and signs of every script, close together.
WRITTEN = st.text(
    st.sampled_from(
        "aZéß漢字🙂👩\u200d\n\r\t  09_-.,:;!?\"'{}[]\\/\x00\x7f\x80\xa0\u2028\U0010ffff"
    )
)


@given(TEXT | WRITTEN)
@example("")
@example("\r\n\r\n")
@example("\x00\x1c\x1d\x85\u2028")
@example("aB aBc ABc Hello, WORLD iPhone 12345.678")
def test_tokens_join_to_the_text(text: str) -> None:
    tokens = tokenise(text)
    assert "".join(tokens) == text
    assert all(tokens)
    assert count_tokens(text) == len(tokens)


@given(TEXT | WRITTEN)
def test_a_token_and_its_number_are_one(text: str) -> None:
    for token in tokenise(text):
        number = token_id(token)
        assert 0 <= number < 2**53
        assert token_text(number) == token


@given(st.lists(TEXT | WRITTEN, min_size=2, max_size=4))
def test_different_tokens_have_different_numbers(texts: list[str]) -> None:
    tokens = {token for text in texts for token in tokenise(text)}
    assert len({token_id(token) for token in tokens}) == len(tokens)


@given(st.lists(st.from_regex(r"[a-z]{1,10}|[A-Z][a-z]{0,9}|[A-Z]{2,10}", fullmatch=True)))
def test_words_stay_whole(words: list[str]) -> None:
    assert [token.strip() for token in tokenise(" ".join(words))] == words


@given(st.from_regex(r"[0-9]{1,12}", fullmatch=True))
def test_figures_come_in_threes(figures: str) -> None:
    assert tokenise(figures) == re.findall("[0-9]{1,3}", figures)


@given(st.integers(min_value=-(2**63), max_value=2**70) | st.integers(0, 200_000))
@example(0)
@example(-1)
@example(2**53 - 1)
def test_any_number_has_a_text(number: int) -> None:
    token_text(number).encode()  # no surrogates: the text can be sent


@given(st.integers(0, 2**53 - 1))
def test_a_whole_float_is_the_same_token(number: int) -> None:
    assert token_text(float(number)) == token_text(number)  # type: ignore[arg-type]


@given(st.integers(0, 200_000))
def test_numbers_of_other_tokenisers_read_as_words(number: int) -> None:
    assert re.fullmatch(" ?[A-Za-z]+", token_text(number))


@pytest.mark.parametrize(
    ("text", "tokens", "numbers"),
    [
        ("Hello, world", ["Hello", ",", " world"], None),
        ("hello World", ["hello", " World"], [65733616, 19004083]),
        ("ABC", ["ABC"], [17940]),
        ("123", ["123"], [2251799820421515]),
        ("🙂", ["🙂"], [4503599628399129]),
        ("\n\n", ["\n\n"], [2251799813695570]),
        ("zzzzzzzzzz", ["zzzzzzzzzz"], [1647129056757184]),
    ],
)
def test_pinned(text: str, tokens: list[str], numbers: list[int] | None) -> None:
    assert tokenise(text) == tokens
    if numbers is not None:
        assert [token_id(token) for token in tokens] == numbers
