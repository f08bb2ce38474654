"""Metrics, read back by Prometheus' own parser."""

import builtins
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as read_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families as read_text

from wafermock.mockserver.control.entry import Entry, Why
from wafermock.mockserver.control.metrics import OTHER, Metrics
from wafermock.mockserver.exchange import Answer, Cost, Request

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def samples(families: Iterator[Any]) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *(f"{k}={v}" for k, v in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def scraped(metrics: Metrics) -> dict[tuple[str, ...], float]:
    _, body = metrics.exposition()
    return samples(read_text(body.decode()))


def entry(model: str) -> Entry:
    answer = Answer(200, {}, (), cost=Cost(model, 1, 1))
    return Entry("", 0.0, Request("POST", "/"), answer, "o")


def test_calls(bench: Any, say: Callable[..., Any]) -> None:
    bench.call().end(0.004)
    stream = bench.call(say("Hello!", stream=True), why=Why(rule="r", failure="stall:after=3"))
    bench.call(b"{", path="/v1/completions").end(100.0)
    bench.call(path="/nowhere").end(0.0)
    found = samples(read_text(bench.ask("GET", "/metrics").body.decode()))
    chat = "operation=createChatCompletion"
    text = "operation=completions_v1_completions_post"
    model = "model=gpt-oss-120b"
    assert found["wafermock_requests_total", model, chat, "status=200"] == 2
    assert found["wafermock_requests_total", "model=", text, "status=422"] == 1
    assert found["wafermock_requests_total", "model=", "operation=", "status=404"] == 1
    assert found["wafermock_tokens_total", model] == 2 * stream.entry.answer.cost.used
    assert found["wafermock_streams_in_flight",] == found["wafermock_requests_in_flight",] == 1
    assert found["wafermock_rule_matches_total", "rule=r"] == 1
    assert found["wafermock_faults_total", "catalogue=failure", "name=stall"] == 1
    assert found["wafermock_request_seconds_count", chat] == 1
    assert found["wafermock_request_seconds_bucket", "le=0.0025", chat] == 0
    assert found["wafermock_request_seconds_bucket", "le=0.005", chat] == 1
    assert found["wafermock_request_seconds_bucket", "le=60.0", text] == 0
    assert found["wafermock_request_seconds_bucket", "le=+Inf", text] == 1
    assert found["wafermock_request_seconds_sum", text] == 100
    stream.end(1.0)
    stream.end(9.0)  # only the first end counts
    assert scraped(bench.control.metrics)["wafermock_streams_in_flight",] == 0


def test_openmetrics_for_those_who_ask(bench: Any) -> None:
    bench.call().end(0.1)
    answer = bench.ask("GET", "/metrics", headers={"accept": OPENMETRICS})
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert samples(read_openmetrics(answer.body.decode()))


def test_clients_cannot_name_models_without_end() -> None:
    metrics = Metrics()
    metrics.count(entry(f"model-{number}") for number in range(1000))
    found = scraped(metrics)
    names = [key for key in found if key[0] == "wafermock_requests_total"]
    assert len(names) == 201
    assert found["wafermock_requests_total", f"model={OTHER}", "operation=o", "status=200"] == 800


def test_labels_are_escaped() -> None:
    metrics = Metrics()
    metrics.count([entry('a"b\\c\nd')])
    found = scraped(metrics)
    assert ("wafermock_requests_total", 'model=a"b\\c\nd', "operation=o", "status=200") in found


def test_without_the_package_it_says_what_to_type(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("prometheus_client"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    answer = bench.ask("GET", "/metrics")
    assert answer.status == 501
    assert b"pip install 'wafermock[metrics]'" in answer.body
