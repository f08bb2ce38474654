"""Plots as inline SVG. Colours come from the page's style, so that they fit a dark page too."""

from collections import Counter
from collections.abc import Callable, Sequence
from math import floor, log

from markupsafe import Markup

from wafermock.reports.run import Part, Spread
from wafermock.reports.summary import count as counted

from .markup import plain
from .quantities import number, seconds

WIDTH, HEIGHT, FLOOR, TOP = 460, 170, 146, 44
_BARS = 46


def histogram(name: str, spread: Spread, unit: Callable[[float], str]) -> Markup:
    """Plot a spread over a logarithmic axis, with the quantiles as lines.

    `unit` says a value with its unit. Nothing is plotted without samples above zero.
    """
    seen = sorted((bound, count) for bound, count in spread.histogram if bound > 0 < count)
    if not seen:
        return Markup()
    low, high = log(seen[0][0]), log(seen[-1][0])
    # A tenth of a decade at least: a single value stands in the middle of it.
    margin = max(0.03 * (high - low), 0.115 - (high - low) / 2)
    low, high = low - margin, high + margin

    def across(value: float) -> float:
        return 8 + (WIDTH - 16) * (log(value) - low) / (high - low)

    step = (WIDTH - 16) / _BARS
    bars: Counter[int] = Counter()
    for bound, count in seen:
        bars[floor((across(bound) - 8) / step)] += count
    tallest = max(bars.values())
    drawn = [
        f'<rect class="bar" x="{8 + place * step:.1f}" y="{FLOOR - tall:.1f}"'
        f' width="{step - 1:.1f}" height="{tall:.1f}"/>'
        for place, count in sorted(bars.items())
        if (tall := max(1.0, (FLOOR - TOP) * count / tallest))
    ]
    drawn += [
        f'<text class="tick" x="{across(value):.1f}" y="{HEIGHT - 8}"'
        f' text-anchor="middle">{unit(value)}</text>'
        for value in _ticks(low, high)
        if 20 < across(value) < WIDTH - 20  # no half of a label
    ]
    for row, (label, value) in enumerate(
        (("p50", spread.p50), ("p95", spread.p95), ("p99", spread.p99))
    ):
        if value > 0:
            drawn.append(_quantile(label, unit(value), across(value), 12 + 12 * row))
    said = f"{name}, {counted(spread.count, 'sample')}: " + ", ".join(
        f"{label} {unit(value)}"
        for label, value in (("p50", spread.p50), ("p95", spread.p95), ("p99", spread.p99))
    )
    return Markup(
        '<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">'
        '<line class="axis" x1="0" x2="{}" y1="{}" y2="{}"/>{}</svg>'
    ).format(WIDTH, HEIGHT, plain(said), WIDTH, FLOOR, FLOOR, Markup("".join(drawn)))


def _quantile(label: str, value: str, x: float, y: int) -> str:
    x = min(max(x, 0), WIDTH)
    left = x > WIDTH * 0.7
    anchor, at = ("end", x - 4) if left else ("start", x + 4)
    return (
        f'<line class="quantile {label}" x1="{x:.1f}" x2="{x:.1f}" y1="{y - 9}" y2="{FLOOR}"/>'
        f'<text class="quantile" x="{at:.1f}" y="{y}" text-anchor="{anchor}">{label} {value}</text>'
    )


def _ticks(low: float, high: float) -> Sequence[float]:
    """Return round values between two natural logarithms, seven at most."""
    first, last = floor(low / log(10)) - 1, floor(high / log(10)) + 1
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = [float(f"{step}e{decade}") for decade in range(first, last + 1) for step in steps]
        ticks = [tick for tick in ticks if tick and low < log(tick) < high]  # 1e-324 is 0
        if len(ticks) <= 7:
            return ticks
    return ticks[:: len(ticks) // 6]


def time_line(parts: Sequence[Part]) -> Markup:
    """Plot when the parts of an answer arrived, from the moment at which the request was sent."""
    if not parts:
        return Markup()
    end = max(max(part.at for part in parts), 1e-9)
    places = sorted({round(996 * (max(part.at, 0) / end)) for part in parts})
    ticks = "".join(f'<rect x="{place}" y="4" width="4" height="20"/>' for place in places)
    first, last = seconds(parts[0].at), seconds(parts[-1].at)
    said = f"{counted(len(parts), 'part')} of the answer, from {first} to {last}"
    return Markup(
        '<svg class="line" viewBox="0 0 1000 26" preserveAspectRatio="none" role="img"'
        ' aria-label="{}"><line x1="0" x2="1000" y1="25" y2="25"/>{}</svg>'
    ).format(said, Markup(ticks))


def ring(score: int | None) -> Markup:
    """Plot the score as a ring. It is hidden from screen readers: the score stands beside it."""
    around = 2 * 3.14159265 * 42
    share = around * (score or 0) / 100
    return Markup(
        '<svg class="ring" viewBox="0 0 100 100" aria-hidden="true">'
        '<circle class="all" cx="50" cy="50" r="42"/>'
        '<circle class="kept" cx="50" cy="50" r="42" stroke-dasharray="{} {}"'
        ' transform="rotate(-90 50 50)"/></svg>'
    ).format(f"{share:.1f}", f"{around:.1f}")


def bar(shares: Sequence[tuple[str, int]]) -> Markup:
    """Plot shares of a whole as one bar; each has a class and a count."""
    whole = sum(count for _, count in shares) or 1
    drawn, at = [], 0.0
    for name, count in shares:
        width = 1000 * count / whole
        if count:
            drawn.append(f'<rect class="{name}" x="{at:.1f}" width="{width:.1f}" height="8"/>')
        at += width
    return Markup(
        '<svg class="shares" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">'
        "{}</svg>"
    ).format(Markup("".join(drawn)))


def units(name: str) -> Callable[[float], str]:
    """Return how values of a measured quantity are said: rates as numbers, else as times."""
    return _rate if name.endswith("per_second") else seconds


def _rate(value: float) -> str:
    return number(round(value)) if value >= 10 else f"{value:.2g}"
