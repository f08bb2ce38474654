"""Metrics in Prometheus form. Counting is a few additions; all else waits until someone asks.

prometheus_client writes them, imported by the first scrape. Its own counters take a lock each and
would be imported by every start.
"""

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

# The upper ends of the histogram's buckets, in seconds: from an answer at once to a slow stream.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

# A model is the client's to name: those that come after so many others are counted as one.
_MOST_MODELS = 200
OTHER = "(other)"


@dataclass
class _Seconds:
    """One histogram: counts by bucket, the last for what is beyond all, and the sum."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    total: float = 0.0

    def buckets(self) -> list[tuple[str, float]]:
        found, sum_so_far = [], 0
        for end, count in zip((*map(str, BUCKETS), "+Inf"), self.counts, strict=True):
            sum_so_far += count
            found.append((end, float(sum_so_far)))
        return found


class Metrics:
    """Counts calls. Any thread may count and ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int, str]] = Counter()
        self._tokens: Counter[str] = Counter()
        self._faults: Counter[tuple[str, str]] = Counter()
        self._rules: Counter[str] = Counter()
        self._seconds: dict[str, _Seconds] = {}
        self._models: set[str] = set()
        self._in_flight = self._streams = 0

    def began(
        self,
        operation: str | None,
        status: int,
        model: str | None,
        *,
        tokens: int = 0,
        streamed: bool = False,
        rule: str | None = None,
        faults: Mapping[str, str] | None = None,
    ) -> None:
        """Count a call that is now being answered. `faults` are names by their catalogue."""
        with self._lock:
            name = self._bounded(model or "")
            self._requests[operation or "", status, name] += 1
            if tokens:
                self._tokens[name] += tokens
            self._in_flight += 1
            self._streams += streamed
            if rule is not None:
                self._rules[rule] += 1
            if faults:
                self._faults.update(faults.items())

    def ended(self, operation: str | None, seconds: float, *, streamed: bool = False) -> None:
        """Count its end."""
        with self._lock:
            self._in_flight -= 1
            self._streams -= streamed
            held = self._seconds.setdefault(operation or "", _Seconds())
            held.counts[bisect_left(BUCKETS, seconds)] += 1
            held.total += seconds

    @property
    def in_flight(self) -> int:
        """How many calls are being answered."""
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
