"""Choices from a seed are the same for ever; texts that match patterns do."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.conformance.generation.patterns import lengths, matching, stretched
from wafermock.conformance.generation.source import Seeded


def test_a_seed_gives_these_choices_in_every_version_of_python() -> None:
    source = Seeded("wafermock", 1)
    assert [source.integer(0, 9) for _ in range(8)] == INTEGERS
    assert [source.chance(0.5) for _ in range(4)] == CHANCES
    assert source.number(-2, 2) == NUMBER
    assert source.pick("abc") == PICKED
    assert source.sentence() == SENTENCE


INTEGERS = [6, 8, 5, 7, 2, 7, 3, 6]
CHANCES = [True, True, False, True]
NUMBER = 1.403
PICKED = "c"
SENTENCE = "Story list write in what what a text is colours this code!"


@given(st.integers(-1000, 1000), st.integers(0, 1000), st.integers())
def test_whole_numbers_are_within_their_bounds(low: int, more: int, seed: int) -> None:
    source = Seeded(seed)
    assert all(low <= source.integer(low, low + more) <= low + more for _ in range(20))


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6), st.integers())
def test_numbers_are_within_their_bounds(low: float, more: float, seed: int) -> None:
    assert low <= Seeded(seed).number(low, low + more) <= low + more


def test_a_chance_comes_in_its_share_of_cases() -> None:
    source = Seeded("shares")
    assert 0.23 < sum(source.chance(0.25) for _ in range(4000)) / 4000 < 0.27
    assert not any(source.chance(0) for _ in range(100))
    assert all(source.chance(1) for _ in range(100))


def test_texts_have_their_length() -> None:
    source = Seeded("texts")
    texts = [source.text(2, 5) for _ in range(300)]
    assert {len(text) for text in texts} == {2, 3, 4, 5}
    assert all(source.sentence() for _ in range(100))


PATTERNS = (
    "^[a-zA-Z0-9_-]{1,64}$", "^([5-9][0-9]|[1-9][0-9]{2,3}|1[0-9]{4}|20000)$", r"^\d{4}-\d\d$",
    "a|b|cd", "^[^x]+$", r"\w+@\w+\.com", "^(?:ab)*c?$", r"^\S.*$", "^.{3}$", r"[^\d\s]", "x*",
    "^$",
)  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_text_matches_the_pattern_it_is_made_for(pattern: str) -> None:
    for seed in range(50):
        text = matching(pattern, Seeded(seed))
        assert text is not None
        assert re.search(pattern, text)


@pytest.mark.parametrize("pattern", ["(", "a{99999999999}", "(?=x)y"])
def test_a_pattern_that_is_not_followed_makes_no_text(pattern: str) -> None:
    assert matching(pattern, Seeded(0)) is None


@pytest.mark.parametrize(
    ("pattern", "least", "most"),
    [("^[a-z]{2,5}$", 2, 5), ("^a+$", 1, None), ("[a-z]{2,5}", 0, None), ("^($", 0, None)],
)
def test_lengths_of_a_pattern_that_is_anchored(pattern: str, least: int, most: int | None) -> None:
    assert lengths(pattern) == (least, most)


def test_a_stretched_text_has_the_length() -> None:
    assert stretched("^[0-9]{2,4}$", 3) == "000"
    assert stretched("^[0-9]{2,4}$", 5) is None
