"""Numbers within bounds, multiples of a step, of a size that their name suggests."""

from __future__ import annotations

import math
from fractions import Fraction

from .draws import Draws
from .equality import identity
from .errors import Contradiction
from .evaluation import exact
from .goal import Shape
from .vocabulary import words_of

TRIES = 40

USUAL: dict[str, tuple[int, int]] = {
    "age": (18, 90), "year": (1990, 2030), "month": (1, 12), "day": (1, 28), "hour": (0, 23),
    "minute": (0, 59), "second": (0, 59), "minutes": (5, 90), "latitude": (-90, 90),
    "lat": (-90, 90), "longitude": (-180, 180), "lng": (-180, 180), "lon": (-180, 180),
    "price": (1, 500), "cost": (1, 500), "amount": (1, 1000), "total": (1, 1000),
    "quantity": (1, 20), "qty": (1, 20), "count": (0, 50), "rating": (1, 5), "stars": (1, 5),
    "score": (0, 1), "confidence": (0, 1), "probability": (0, 1), "ratio": (0, 1),
    "percent": (0, 100), "percentage": (0, 100), "port": (1024, 49151), "width": (1, 1920),
    "height": (1, 1080), "weight": (1, 120), "temperature": (-10, 35), "calories": (50, 900),
    "population": (1000, 5_000_000), "id": (1, 99_999), "index": (0, 20), "priority": (1, 5),
    "salary": (30_000, 180_000), "duration": (1, 120), "level": (1, 10), "page": (1, 40),
    "step": (1, 10), "timestamp": (1_600_000_000, 1_790_000_000),
}  # fmt: skip


def usual(name: str) -> tuple[int, int] | None:
    """The range that a number of this name usually lies in."""
    words = words_of(name)
    return USUAL.get(words[-1]) if words else None


def make_number(shape: Shape, whole: bool, name: str, draws: Draws) -> int | float:
    """A number that the shape allows. Raises `Contradiction`."""
    step = _step(shape, whole)
    low = shape.lower.value if shape.lower else None
    high = shape.upper.value if shape.upper else None
    for attempt in range(TRIES):
        window = usual(name) if attempt < TRIES // 2 else None
        if step is not None:
            number = _multiple(shape, step, low, high, window, draws, attempt)
        else:
            number = _fraction(shape, low, high, window, draws, attempt)
        if number is not None and _allowed(shape, number, whole):
            return number
    limits = [limit for limit in (shape.lower, shape.upper, *shape.multiples) if limit]
    pointer = limits[0].pointer if limits else shape.goal.entries[0].node.pointer
    raise Contradiction(pointer, "no number was found within the bounds, steps and exclusions")


def _step(shape: Shape, whole: bool) -> Fraction | None:
    step = Fraction(1) if whole else None
    for limit in shape.multiples:
        step = limit.value if step is None else _common(step, limit.value)
    return step


def _common(one: Fraction, other: Fraction) -> Fraction:
    """The least common multiple of two fractions."""
    return Fraction(
        math.lcm(one.numerator, other.numerator), math.gcd(one.denominator, other.denominator)
    )


def _multiple(
    shape: Shape,
    step: Fraction,
    low: Fraction | None,
    high: Fraction | None,
    window: tuple[int, int] | None,
    draws: Draws,
    attempt: int,
) -> int | float | None:
    first = last = None
    if low is not None and shape.lower:
        first = math.floor(low / step) + 1 if shape.lower.strict else math.ceil(low / step)
    if high is not None and shape.upper:
        last = math.ceil(high / step) - 1 if shape.upper.strict else math.floor(high / step)
    if first is not None and last is not None and first > last:
        limit = shape.lower or shape.multiples[0]
        raise Contradiction(limit.pointer, f"no multiple of {_plain(step)} lies between the bounds")
    near, far = _window(first, last, window, step, attempt)
    return _plain(draws.between(near, far) * step)


def _window(
    first: int | None,
    last: int | None,
    window: tuple[int, int] | None,
    step: Fraction,
    attempt: int,
) -> tuple[int, int]:
    """The multiples to draw from: those of natural size, where there are such."""
    if window:
        near, far = math.ceil(window[0] / step), math.floor(window[1] / step)
        near = near if first is None else max(near, first)
        far = far if last is None else min(far, last)
        if near <= far:
            return near, far
    span = (100 if step <= 1 else 20) << attempt  # wider, the longer nothing new is found
    if first is None and last is None:
        return 0, span
    if first is None:
        assert last is not None
        return (0, min(last, span)) if last >= 0 else (last - span, last)
    if last is None:
        return first, first + span
    return first, min(last, first + (100_000 << attempt))


def _fraction(
    shape: Shape,
    low: Fraction | None,
    high: Fraction | None,
    window: tuple[int, int] | None,
    draws: Draws,
    attempt: int,
) -> int | float | None:
    near = (
        max(low, Fraction(window[0]))
        if low is not None and window
        else (Fraction(window[0]) if window else low)
    )
    far = (
        min(high, Fraction(window[1]))
        if high is not None and window
        else (Fraction(window[1]) if window else high)
    )
    if near is None and far is None:
        near, far = Fraction(0), Fraction(100)
    elif near is None:
        assert far is not None
        near = far - max(Fraction(100), abs(far))
    elif far is None:
        far = near + max(Fraction(100), abs(near))
    assert near is not None
    assert far is not None
    if near > far:
        return None
    drawn = near + (far - near) * Fraction(draws.random())
    if attempt > 17:  # rounded to any length, it falls out of the bounds
        return float(drawn)
    digits = attempt + (2 if far - near >= 2 else 3)
    try:
        return float(round(drawn, digits))
    except OverflowError:
        return int(drawn)


def _allowed(shape: Shape, number: int | float, whole: bool) -> bool:
    value = exact(number)
    lower, upper = shape.lower, shape.upper
    if not whole and value.denominator == 1 and "integer" not in shape.types:
        return False
    if lower and (value < lower.value or (lower.strict and value == lower.value)):
        return False
    if upper and (value > upper.value or (upper.strict and value == upper.value)):
        return False
    if identity(number) in shape.excluded:
        return False
    return all((value / step).denominator != 1 for step in shape.not_multiples)


def _plain(value: Fraction) -> int | float:
    if value.denominator == 1:
        return value.numerator
    try:
        return float(value)
    except OverflowError:
        return math.floor(value)
