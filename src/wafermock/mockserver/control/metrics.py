"""Metrics in Prometheus form. Calls are counted when someone asks, or when the journal drops them.

prometheus_client writes them, imported by the first scrape. Its own counters take a lock each and
would be imported by every start.
"""

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from .entry import Entry

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

# The upper ends of the histogram's buckets, in seconds: from an answer at once to a slow stream.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

# A model is the client's to name: those that come after so many others are counted as one.
_MOST_MODELS = 200
OTHER = "(other)"


class _Seconds(Struct):
    """One histogram: counts by bucket, the last for what is beyond all, and the sum."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    total: float = 0.0

    def buckets(self) -> list[tuple[str, float]]:
        found, sum_so_far = [], 0
        for end, count in zip((*map(str, BUCKETS), "+Inf"), self.counts, strict=True):
            sum_so_far += count
            found.append((end, float(sum_so_far)))
        return found


def _nothing() -> Iterable[Entry]:
    return ()


class Metrics:
    """Counts calls. Any thread may count and ask. `kept` has calls that may not be counted yet."""

    def __init__(self, kept: Callable[[], Iterable[Entry]] = _nothing) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int, str]] = Counter()
        self._tokens: Counter[str] = Counter()
        self._faults: Counter[tuple[str, str]] = Counter()
        self._rules: Counter[str] = Counter()
        self._seconds: dict[str, _Seconds] = {}
        self._models: set[str] = set()
        self._in_flight = self._streams = 0

    def count(self, entries: Iterable[Entry]) -> None:
        """Count of calls what is not counted yet: that they began, that they ended."""
        begun: dict[tuple[str | None, int, int], list[Entry]] = {}
        with self._lock:
            for entry in entries:
                ending = entry.ending  # it may end at any moment
                if entry.counted == 0:
                    entry.counted = 1
                    alike = (entry.operation, id(entry.answer), id(entry.why))
                    begun.setdefault(alike, []).append(entry)
                if entry.counted == 1 and ending is not None:
                    entry.counted = 2
                    self._ended(entry)
            for same in begun.values():
                self._began(same[0], len(same))

    def _began(self, entry: Entry, calls: int) -> None:
        answer, why = entry.answer, entry.why
        cost = answer.cost
        model = self._bounded(cost.model) if cost else ""
        self._requests[entry.operation or "", answer.status, model] += calls
        if cost and cost.used:
            self._tokens[model] += cost.used * calls
        self._in_flight += calls
        self._streams += answer.streamed * calls
        if why.rule is not None:
            self._rules[why.rule] += calls
        for catalogue, chosen in why.in_play:
            # Without its parameters: they are the client's to choose.
            self._faults[catalogue, chosen.partition(":")[0]] += calls

    def _ended(self, entry: Entry) -> None:
        seconds = entry.duration or 0.0
        self._in_flight -= 1
        self._streams -= entry.answer.streamed
        held = self._seconds.get(entry.operation or "")
        if held is None:
            held = self._seconds[entry.operation or ""] = _Seconds()
        held.counts[bisect_left(BUCKETS, seconds)] += 1
        held.total += seconds

    @property
    def in_flight(self) -> int:
        """How many calls are being answered."""
        self.count(self._kept())
        return self._in_flight

    def _bounded(self, model: str) -> str:
        if model not in self._models:
            if len(self._models) >= _MOST_MODELS:
                return OTHER
            self._models.add(model)
        return model

    def exposition(self, accept: str = "") -> tuple[str, bytes]:
        """Write all metrics; return media type and body, in the form that `accept` prefers.

        Raises ImportError without prometheus_client.
        """
        from prometheus_client import CollectorRegistry
        from prometheus_client.exposition import choose_encoder

        self.count(self._kept())
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collector(self._families))
        encoder, content_type = choose_encoder(accept)
        return content_type, encoder(registry)

    def _families(self) -> Iterator["Metric"]:
        from prometheus_client.metrics_core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )

        with self._lock:
            requests = CounterMetricFamily(
                "wafermock_requests",
                "Requests answered.",
                labels=("operation", "status", "model"),
            )
            for (operation, status, model), count in sorted(self._requests.items()):
                requests.add_metric((operation, str(status), model), count)
            tokens = CounterMetricFamily(
                "wafermock_tokens", "Tokens of prompts and completions.", labels=("model",)
            )
            for model, count in sorted(self._tokens.items()):
                tokens.add_metric((model,), count)
            faults = CounterMetricFamily(
                "wafermock_faults",
                "Failures, deliveries and defects in play, and errors that were armed.",
                labels=("catalogue", "name"),
            )
            for (catalogue, name), count in sorted(self._faults.items()):
                faults.add_metric((catalogue, name), count)
            rules = CounterMetricFamily(
                "wafermock_rule_matches", "Requests answered by a rule.", labels=("rule",)
            )
            for rule, count in sorted(self._rules.items()):
                rules.add_metric((rule,), count)
            seconds = HistogramMetricFamily(
                "wafermock_request_seconds",
                "From a request's end to its answer's end.",
                labels=("operation",),
            )
            for operation, held in sorted(self._seconds.items()):
                seconds.add_metric((operation,), held.buckets(), held.total)
            in_flight = GaugeMetricFamily(
                "wafermock_requests_in_flight", "Requests being answered.", self._in_flight
            )
            streams = GaugeMetricFamily(
                "wafermock_streams_in_flight", "Streams being sent.", self._streams
            )
        yield from (requests, tokens, faults, rules, seconds, in_flight, streams)


class _Collector:
    """What a registry asks for its families."""

    def __init__(self, families: Callable[[], Iterator[Any]]) -> None:
        self.collect = families
