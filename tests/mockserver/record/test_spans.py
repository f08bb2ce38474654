"""Spans: what is put into the pieces of a text is what is put into the text."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.record.spans import (
    Span,
    applied,
    applied_to_pieces,
    distributed,
    in_bytes,
    merged,
)

TEXTS = st.lists(st.text("abcé", max_size=5), max_size=8)


@st.composite
def texts_and_spans(draw: st.DrawFn) -> tuple[list[str], list[Span]]:
    texts = draw(TEXTS)
    ends = sorted(draw(st.sets(st.integers(0, sum(map(len, texts))), max_size=8)))
    pairs = zip(ends[::2], ends[1::2], strict=False)
    return texts, [Span(start, end, draw(st.sampled_from(["", "<R>"]))) for start, end in pairs]


@given(given=texts_and_spans())
def test_pieces_together_are_the_text(given: tuple[list[str], list[Span]]) -> None:
    texts, spans = given
    whole = "".join(texts)
    pieces = distributed(spans, texts)
    assert len(pieces) == len(texts)
    assert "".join(pieces) == applied(spans, whole)
    raw = applied_to_pieces(in_bytes(spans, whole), [text.encode() for text in texts])
    assert b"".join(raw).decode() == applied(spans, whole)


@given(given=texts_and_spans())
def test_a_piece_without_a_span_in_it_stays(given: tuple[list[str], list[Span]]) -> None:
    texts, spans = given
    start = 0
    for text, piece in zip(texts, distributed(spans, texts), strict=True):
        end = start + len(text)
        if not any(span.start < end and span.end > start for span in spans):
            assert piece == text
        start = end


@given(ends=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9)), max_size=8))
def test_merged_spans_cover_the_same_and_do_not_overlap(ends: list[tuple[int, int]]) -> None:
    spans = [Span(start, start + size, "x") for start, size in ends]
    found = merged(spans)
    assert all(one.end <= other.start for one, other in pairwise(found))
    covered = {place for span in found for place in range(span.start, span.end)}
    assert covered == {place for span in spans for place in range(span.start, span.end)}


def test_many_secrets_in_many_pieces_take_one_pass() -> None:
    texts = ["ab"] * 100_000
    spans = [Span(at, at + 1, "R") for at in range(0, 200_000, 2)]
    assert distributed(spans, texts) == ["Rb"] * 100_000
