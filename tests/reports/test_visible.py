"""Texts of strangers, made fit to be shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.reports.visible import block, body, cut, line, visible

ANY = st.text(st.characters())  # half surrogate pairs as well


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ünï, 日本, 𝕬", "plain, ünï, 日本, 𝕬"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("a\tb\r\nc\x85", "a\\tb\\r\\nc\\x85"),
        ("\u202eevil\u2066\ufeff\u200b", "\\u202eevil\\u2066\\ufeff\\u200b"),
        ("\u2028\u2029\ud800\udfff", "\\u2028\\u2029\\ud800\\udfff"),
        ("\U000e0041", "\\U000e0041"),
        ("\ufffe\U0010ffff\ufdd0", "\\ufffe\\U0010ffff\\ufdd0"),
    ],
)
def test_what_cannot_be_seen_is_named(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_lines_stay_where_they_are_wanted() -> None:
    assert visible("a\n\tb\rc", lines=True) == "a\n\tb\\rc"


@given(ANY)
def test_what_is_shown_can_be_written_and_is_one_line(text: str) -> None:
    shown = line(text)
    shown.encode("utf-8")
    assert len(shown.splitlines()) <= 1
    assert visible(shown) == shown
    assert visible(block(text), lines=True) == block(text)


def test_long_texts_are_cut_and_say_so() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("a" * 1234, 10) == "aaaaaaaaaa… (1,224 more characters)"


@pytest.mark.parametrize(
    ("data", "limit", "shown"),
    [
        (b"plain", 9, "plain"),
        (b"\xff\x00", 9, "\\xff\\x00"),
        ("äöü".encode(), 3, "ä… (4 more bytes)"),
        ("äöü".encode(), 6, "äöü"),
        (b"\x80" * 9, 5, "\\x80" * 5 + "… (4 more bytes)"),
    ],
)
def test_bodies(data: bytes, limit: int, shown: str) -> None:
    assert body(data, limit) == shown


def test_bytes_that_were_not_kept_are_told() -> None:
    assert body(b"abc", 9, omitted=1000) == "abc… (1,000 more bytes)"


@given(st.binary(max_size=40), st.integers(1, 12))
def test_no_body_is_told_wrongly(data: bytes, limit: int) -> None:
    shown = body(data, limit)
    shown.encode("utf-8")
    assert ("more bytes" in shown) == (len(data) > limit)
