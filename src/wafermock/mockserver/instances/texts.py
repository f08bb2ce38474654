"""Strings that meet a shape: its pattern, format and lengths, else what its name promises."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from .bounds import Bounds, Budget
from .charset import RegexSyntax
from .draws import Draws
from .equality import identity
from .errors import Contradiction
from .formats import FORMATS, SHORTEST, format_check, lengthened
from .goal import Shape
from .regex_text import candidates, match_cost, matcher
from .vocabulary import Vocabulary

TRIES = 60
COMMON = ("a", "A", "0", "1", "a1", "Aa1!aaaa", "example", "1.0", "1.0.0", "https://example.com/",
          "/", "./a", "a/b", "@a/b", "2024-01-01", "")  # fmt: skip


def make_text(
    shape: Shape,
    name: str,
    draws: Draws,
    words: Vocabulary,
    budget: Budget,
    bounds: Bounds,
) -> str:
    """A string that the shape allows. Raises `Contradiction`."""
    least, most = shape.least.get("minLength"), shape.most.get("maxLength")
    low = least.value if least else 0
    high = most.value if most else max(low * 2, 200)
    if least and low > bounds.length:
        raise Contradiction(
            least.pointer,
            f"minLength {low} is beyond the bound of {bounds.length} characters",
            ("minLength", bounds.length),
        )
    high = min(high, bounds.length)
    strict = shape.formats
    formats = [name for name in strict if name in FORMATS or name in SHORTEST]
    if shape.patterns:
        stream = _from_patterns(shape, low, high, draws)
    elif formats:
        stream = _from_formats(formats, low, high, draws, words)
    else:
        stream = _from_words(shape, name, low, high, draws, words)
    # A format is asserted by some validators only: one that nothing meets gives way.
    spare = None
    cost = 1 + sum(match_cost(limit.value) for limit in shape.patterns)
    for text in stream:
        budget.spend(cost + len(text) * (1 + len(shape.patterns)) // 6)
        if low <= len(text) <= high and _fits(shape, text):
            if all(format_check(asked)(text) for asked in strict):
                return text
            spare = text if spare is None else spare
    if spare is not None:
        return spare
    raise _failure(shape, low, high)


def _fits(shape: Shape, text: str) -> bool:
    return (
        all(matcher(limit.value)(text) for limit in shape.patterns)
        and not any(matcher(pattern)(text) for pattern in shape.not_patterns)
        and not any(format_check(asked)(text) for asked in shape.not_formats)
        and identity(text) not in shape.excluded
    )


def _failure(shape: Shape, low: int, high: int) -> Contradiction:
    sizes = f" of {low} to {high} characters" if shape.least or shape.most else ""
    if shape.patterns:
        limit = shape.patterns[0]
        others = "".join(f" and {other.value!r}" for other in shape.patterns[1:])
        return Contradiction(
            limit.pointer, f"no string{sizes} was found that matches {limit.value!r}{others}"
        )
    entry = shape.entries[0].node if shape.entries else shape.goal.entries[0].node
    return Contradiction(entry.pointer, f"no string{sizes} was found that is not ruled out")


def _from_patterns(shape: Shape, low: int, high: int, draws: Draws) -> Iterator[str]:
    for sample in shape.samples:
        if isinstance(sample, str):
            yield sample
    streams = []
    syntax: RegexSyntax | None = None
    for limit in shape.patterns:
        try:
            streams.append(candidates(limit.value, low, high, draws, TRIES))
        except RegexSyntax as error:
            syntax = error
    pieces: list[str] = []
    for _ in range(TRIES):
        pieces = []
        for stream in streams:
            try:
                pieces.append(next(stream))
            except (RegexSyntax, StopIteration) as error:
                syntax = error if isinstance(error, RegexSyntax) else syntax
        yield from pieces
        if 1 < len(pieces) < 5:  # patterns that each ask for a part are met one after the other
            yield from map("".join, permutations(pieces))
        if not pieces:
            break
    yield from COMMON
    if syntax is not None and not pieces:
        limit = shape.patterns[0]
        raise Contradiction(
            limit.pointer, f"the pattern {limit.value!r} is not understood: {syntax}"
        )


def _from_formats(
    formats: list[str], low: int, high: int, draws: Draws, words: Vocabulary
) -> Iterator[str]:
    for _ in range(TRIES // 4):
        for asked in formats:
            if asked in FORMATS:
                text = FORMATS[asked](draws, words)
                yield text if len(text) >= low else lengthened(asked, text, low)
            if asked in SHORTEST:
                text = SHORTEST[asked]
                if len(text) < low:
                    yield lengthened(asked, text, low)
                elif high < 40:
                    yield text
    yield from _plain(low, high, draws)


def _from_words(
    shape: Shape, name: str, low: int, high: int, draws: Draws, words: Vocabulary
) -> Iterator[str]:
    title = shape.texts.get("title", "")
    for _ in range(4):
        text = words.text(name, title)
        if len(text) < low:
            text = _longer(text, low, words)
        yield text if len(text) <= high else _shorter(text, low, high)
    yield from _plain(low, high, draws)


def _plain(low: int, high: int, draws: Draws) -> Iterator[str]:
    for attempt in range(TRIES):
        length = draws.between(low, min(high, low + 2 + attempt))
        yield "".join(draws.pick("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(length))


def _longer(text: str, low: int, words: Vocabulary) -> str:
    parts = [text]
    size = len(text)
    while size < low:
        sentence = words.sentence()
        parts.append(sentence)
        size += len(sentence) + 1
    return " ".join(parts)


def _shorter(text: str, low: int, high: int) -> str:
    cut = text[:high]
    whole = cut.rpartition(" ")[0] if " " in cut else cut
    cut = whole if len(whole) >= max(low, 1) else cut
    return cut if len(cut.rstrip()) < low else cut.rstrip()
