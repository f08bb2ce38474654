"""The header `Prefer`: what is understood, and what is passed over."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.prefer import NONE, Preferences, read_preferences


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        (None, NONE),
        ("", NONE),
        ("code=429", Preferences(code=429)),
        ("Code = 429", Preferences(code=429)),
        ('code="429"', Preferences(code=429)),
        ("example=Streaming", Preferences(example="Streaming")),
        ('example="Image Input"', Preferences(example="Image Input")),
        ('example="a, b; c=d"', Preferences(example="a, b; c=d")),
        (r'example="say \"hi\" \\o/"', Preferences(example=r'say "hi" \o/')),
        ("dynamic=true", Preferences(dynamic=True)),
        ("dynamic=TRUE", Preferences(dynamic=True)),
        ("code=404, example=x", Preferences(example="x", code=404)),
        ("code=404; example=x", Preferences(example="x", code=404)),
        ("respond-async, wait=10, code=503", Preferences(code=503)),
        ("respond-async; foo=bar; code=503", Preferences(code=503)),
        (",;, ,code=503,", Preferences(code=503)),
        # RFC 7240, section 2: the first of several counts.
        ("code=404, code=503", Preferences(code=404)),
        # What is not understood is ignored.
        ("code=99", NONE),
        ("code=600", NONE),
        ("code=٤٢٩", NONE),
        ("code=4290", NONE),
        ("code=abc", NONE),
        ("code", NONE),
        ("code=", NONE),
        ("example=", NONE),
        ('example=""', NONE),
        ("dynamic=false", NONE),
        ("dynamic", NONE),
        ("dynamic=1", NONE),
        ("xcode=404", NONE),
        ("=404", NONE),
        ('"code=404"', NONE),
    ],
)
def test_read(header: str | None, wanted: Preferences) -> None:
    assert read_preferences(header) == wanted


@given(st.text(st.characters(exclude_characters="\r\n\x00", exclude_categories=["Cs"])))
def test_any_header_is_read(header: str) -> None:
    found = read_preferences(header)
    assert found.code is None or 100 <= found.code < 600


@given(st.text(st.sampled_from('ab"\\,;= é'), min_size=1), st.none() | st.integers(100, 599))
def test_what_was_applied_reads_back(example: str, code: int | None) -> None:
    preferences = Preferences(example=example, code=code, dynamic=code is None)
    assert read_preferences(preferences.applied) == preferences


def test_a_long_hostile_header_is_read_in_linear_time() -> None:
    # Quadratic reading would take minutes here, and linear reading milliseconds.
    assert read_preferences('"\\' * 500_000) == NONE
    assert read_preferences("a" * 1_000_000 + "=") == NONE
