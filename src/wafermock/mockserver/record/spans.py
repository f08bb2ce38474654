"""Parts of a text, and what stands in their place: putting them in, into pieces of the text too.

Spans come in order and do not overlap, unless a function says otherwise.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """A part of a text (or of bytes), from `start` to `end`, and what stands in its place."""

    start: int
    end: int
    replacement: str


def applied(spans: Sequence[Span], text: str) -> str:
    """Put the replacements of spans into a text."""
    if not spans:
        return text
    parts, at = [], 0
    for start, end, replacement in spans:
        parts += [text[at:start], replacement]
        at = end
    return "".join([*parts, text[at:]])


def distributed(spans: Sequence[Span], texts: Sequence[str]) -> list[str]:
    """Put the replacements of spans of a text into the pieces it is made of.

    A piece where a span begins gets the replacement, the following ones lose what the span covers.
    """
    pieces, start, at = [], 0, 0
    for text in texts:
        end = start + len(text)
        within = []
        while at < len(spans) and spans[at].start < end:
            span = spans[at]
            begins = start <= span.start
            low, high = max(span.start, start), min(span.end, end)
            within.append(Span(low - start, high - start, span.replacement if begins else ""))
            if span.end > end:  # it goes on in the next piece
                break
            at += 1
        pieces.append(applied(within, text))
        start = end
    return pieces


def applied_to_pieces(spans: Sequence[Span], pieces: Sequence[bytes]) -> list[bytes]:
    """The same for spans of bytes."""
    texts = [piece.decode("latin-1") for piece in pieces]
    wide = [Span(s, e, r.encode("utf-8", "surrogateescape").decode("latin-1")) for s, e, r in spans]
    return [text.encode("latin-1") for text in distributed(wide, texts)]


def merged(*groups: Sequence[Span]) -> list[Span]:
    """Join spans, which may overlap, in their order.

    Of two that overlap the outer one covers both; where neither is inside of the other, they become
    one.
    """
    kept: list[Span] = []
    for span in sorted((s for group in groups for s in group), key=lambda s: (s.start, -s.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
        elif span.end > kept[-1].end:
            kept[-1] = kept[-1]._replace(end=span.end)
    return kept


def in_bytes(spans: Sequence[Span], text: str) -> list[Span]:
    """Turn places in a text into places in its bytes."""
    found, at, place = [], 0, 0
    for start, end, replacement in spans:
        first = place + len(text[at:start].encode("utf-8", "surrogateescape"))
        place = first + len(text[start:end].encode("utf-8", "surrogateescape"))
        at = end
        found.append(Span(first, place, replacement))
    return found
