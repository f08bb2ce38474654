"""Timings: how long a server takes, gathered into histograms that can be added up."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise

from wafermock.reports.run import Spread

from .exchange import Exchange

# A bound is 5 % above the one before it, so that a quantile is wrong by no more than that.
STEP = 1.05


class Timings:
    """Gathers what exchanges took: `first_byte`, `between_chunks`, `whole` (seconds), and
    `tokens_per_second` of streams."""

    def __init__(self) -> None:
        self._seen: dict[str, Counter[int]] = {}

    def add(self, exchange: Exchange) -> None:
        """Take note of an exchange that was accepted."""
        received = exchange.received
        if received is None or not exchange.accepted:
            return
        self._note("whole", received.seconds)
        self._note("first_byte", received.first_byte)
        times = [arrival.at for arrival in received.arrivals]
        if not exchange.wants_stream or len(times) < 2:
            return
        for before, after in pairwise(times):
            self._note("between_chunks", after - before)
        tokens = _completion_tokens(exchange)
        if tokens and times[-1] > times[0]:
            self._note("tokens_per_second", tokens / (times[-1] - times[0]))

    def _note(self, name: str, value: float) -> None:
        self._seen.setdefault(name, Counter())[_bucket(value)] += 1

    def spreads(self) -> dict[str, Spread]:
        return {name: spread(seen) for name, seen in sorted(self._seen.items())}


def joined(spreads: Iterable[Mapping[str, Spread]]) -> dict[str, Spread]:
    """Add up what several runs have measured."""
    seen: dict[str, Counter[int]] = {}
    for each in spreads:
        for name, one in each.items():
            counts = {_bucket_of(bound): count for bound, count in one.histogram}
            seen.setdefault(name, Counter()).update(counts)
    return {name: spread(counts) for name, counts in sorted(seen.items())}


def spread(seen: Counter[int]) -> Spread:
    """Make the spread of samples by their bucket."""
    buckets = sorted(seen.items())
    total = sum(seen.values())

    def quantile(part: float) -> float:
        left = part * total
        for bucket, count in buckets:
            left -= count
            if left <= 0:
                return _bound(bucket)
        return 0.0

    histogram = tuple((_bound(bucket), count) for bucket, count in buckets)
    return Spread(total, quantile(0.5), quantile(0.95), quantile(0.99), histogram)


def _bucket(value: float) -> int:
    return math.ceil(math.log(max(value, 1e-6), STEP))


def _bucket_of(bound: float) -> int:
    """Return the bucket that a bound, which was rounded to be written down, is the bound of."""
    return round(math.log(bound, STEP))


def _bound(bucket: int) -> float:
    return float(f"{STEP**bucket:.6g}")


def _completion_tokens(exchange: Exchange) -> int:
    """Return what an answer says it counts; 0 where it says nothing of use."""
    for chunk in reversed(exchange.answer.chunks):
        usage = chunk.get("usage") if isinstance(chunk, dict) else None
        count = usage.get("completion_tokens") if isinstance(usage, dict) else None
        if isinstance(count, int) and not isinstance(count, bool):
            return max(count, 0)
    return 0
