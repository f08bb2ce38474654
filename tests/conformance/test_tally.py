"""Counting what rules say, joining parts of a run, timings, coverage, shrinking."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.conformance.coverage import Coverage
from wafermock.conformance.endpoint import Endpoint
from wafermock.conformance.exchange import Arrival, Exchange, Probe, Purpose, Received, Sent
from wafermock.conformance.findings import findings
from wafermock.conformance.joining import join, numbered
from wafermock.conformance.rule import Bench, Breach, RuleBook, Unsupported
from wafermock.conformance.rules import all_rules
from wafermock.conformance.rules.wanting import OPTIONAL, WANTED, unsupported
from wafermock.conformance.secrets import Masking
from wafermock.conformance.shrinking import shrinkable, smaller
from wafermock.conformance.tally import Tally
from wafermock.conformance.timings import Timings, joined
from wafermock.reports.run import Budget, Cost, Finding, Run, Tool
from wafermock.reports.run import Endpoint as Judged
from wafermock.spec import load_contract

CONTRACT = load_contract()
CHAT = CONTRACT.operation("createChatCompletion")
AT = "#/paths/~1v1~1chat~1completions/post"
BOOK = RuleBook("TEST")


@BOOK.rule(
    "T-SMALL", "MUST", "A body is small.", source="-", guards="-", applies=lambda e: e.accepted
)
def small(exchange: Exchange, bench: Bench) -> Any:
    assert exchange.received is not None
    if len(exchange.received.raw) > 3:
        yield Breach("3 bytes", str(len(exchange.received.raw)), "body")


@BOOK.rule(
    "T-REFUSED", "SHOULD", "It is refused.", source="-", guards="-",
    applies=lambda e: e.meant == "invalid",
)  # fmt: skip
def refused(exchange: Exchange, bench: Bench) -> Any:
    if exchange.accepted:
        yield Breach("400", "200")


@BOOK.rule(
    "T-ANSWERED", "MUST", "Somebody answers.", source="-", guards="-",
    applies=lambda e: True, unanswered=True,
)  # fmt: skip
def answered(exchange: Exchange, bench: Bench) -> Any:
    if exchange.received is None:
        yield Breach("an answer", exchange.error)


@BOOK.rule("T-NEVER", "MAY", "Never.", source="-", guards="-", applies=lambda e: False, needs="x")
def never(exchange: Exchange, bench: Bench) -> Any:
    yield from ()


@BOOK.probe_rule("T-SAME", "MUST", "Both are the same.", source="-", guards="-", probe="pair")
def same(probe: Probe, bench: Bench) -> Any:
    one, two = (probe[role].received for role in ("one", "two"))
    assert one is not None
    assert two is not None
    if one.status == 501:
        yield Unsupported("it says so")
    elif one.raw != two.raw:
        yield Breach(one.raw.decode(), two.raw.decode())


def exchange(number: int, body: bytes = b"abc", status: int = 200, **more: Any) -> Exchange:
    purpose = Purpose("test", more.pop("kind", "plain"), more.pop("location", AT), **more)
    sent = Sent("POST", CHAT.path, (("Content-Type", "application/json"),), b'{"a":1}')
    received = Received(status, arrivals=(Arrival(0.5, body),), seconds=0.5, first_byte=0.25)
    return Exchange(str(number), purpose, sent, CHAT, {"a": 1}, received)


def tally() -> Tally:
    return Tally(tuple(BOOK), Bench(CONTRACT))


def verdicts(counted: Tally) -> dict[str, tuple[str, int, int]]:
    return {v.rule: (v.state, v.kept, v.broken) for v in counted.verdicts((), {})}


def test_every_state() -> None:
    counted = tally()
    counted.exchange(exchange(1))
    counted.exchange(exchange(2, b"abcdef"))
    counted.exchange(exchange(3, status=200, meant="invalid", kind="wrong type", location="#/x"))
    counted.exchange(replace(exchange(4), received=None, error="reset"))
    assert verdicts(counted) == {
        "T-SMALL": ("FAIL", 2, 1),
        "T-REFUSED": ("WARN", 0, 1),
        "T-ANSWERED": ("FAIL", 3, 1),
        "T-NEVER": ("NOT RUN", 0, 0),
        "T-SAME": ("NOT RUN", 0, 0),
    }
    assert {(c.location, c.kind, c.rule, c.state, c.count) for c in counted.table()} == {
        (AT, "plain", "", "PASS", 1),
        (AT, "plain", "T-SMALL", "FAIL", 1),
        ("#/x", "wrong type", "T-REFUSED", "WARN", 1),
        (AT, "plain", "T-ANSWERED", "FAIL", 1),
    }
    # What an answer to a valid request breaks stands at the operation, and counts once.
    assert [(s.rule, s.location, s.kind) for s in counted.shown.values()] == [
        ("T-SMALL", AT, "whole"),
        ("T-REFUSED", "#/x", "wrong type"),
        ("T-ANSWERED", AT, "whole"),
    ]


def test_probes_and_what_is_not_supported() -> None:
    counted = tally()
    pair = {"one": exchange(1), "two": exchange(2, b"xyz")}
    assert [s.rule for s in counted.probe(Probe("1", "pair", pair))] == ["T-SAME"]
    counted = tally()
    counted.probe(Probe("1", "pair", {**pair, "one": exchange(1, status=501)}))
    assert counted.verdicts((), {})[-1].state == "UNSUPPORTED"
    assert counted.verdicts((), {})[-1].why == "it says so"
    assert counted.probe(Probe("1", "other", pair)) == []
    assert counted.probe(Probe("1", "pair", {"one": replace(pair["one"], received=None)})) == []


def test_the_plainest_and_smallest_is_shown() -> None:
    counted = tally()
    big = replace(exchange(1, b"abcdef"), sent=Sent("POST", "/", (), b"x" * 100))
    packed = replace(
        exchange(2, b"abcdef"),
        sent=Sent("POST", "/", (("Content-Type", "application/msgpack"),), b"x"),
    )
    for one in (packed, big, exchange(3, b"abcdef"), big):
        counted.exchange(one)
    (shown,) = counted.shown.values()
    assert (shown.exchanges[0].id, shown.count) == ("3", 4)


def run(counted: Tally, **more: Any) -> Run:
    found = numbered(findings(counted.shown.values(), Endpoint.at("http://h"), Masking()))
    return Run(
        Tool("1", "c", "documented"),
        Judged("http://h"),
        0.0,
        0,
        Budget("quick"),
        Cost(more.pop("requests", 1), 10, 0, 1.0),
        tuple(rule.described for rule in BOOK),
        tuple(counted.verdicts(found, {})),
        found,
        tuple(counted.table()),
        **more,
    )


@given(st.lists(st.sampled_from([b"abc", b"abcdef", b""]), min_size=2, max_size=8), st.data())
def test_parts_join_to_the_whole(bodies: list[bytes], data: st.DataObject) -> None:
    """However exchanges are shared out, the parts come to the same."""
    cut = data.draw(st.integers(1, len(bodies) - 1))
    exchanges = [exchange(number, body) for number, body in enumerate(bodies)]
    parts = []
    for some in (exchanges, exchanges[:cut], exchanges[cut:]):
        counted = tally()
        for one in some:
            counted.exchange(one)
        parts.append(run(counted))
    whole, *shares = parts
    both = join(shares)
    assert [(v.state, v.kept, v.broken) for v in both.verdicts] == [
        (v.state, v.kept, v.broken) for v in whole.verdicts
    ]
    assert both.cells == whole.cells
    assert [(f.key, f.count) for f in both.findings] == [(f.key, f.count) for f in whole.findings]
    assert both.cost.requests == 2


def test_how_a_joined_run_ended() -> None:
    done, stopped = run(tally()), run(tally(), ended_by="interrupted")
    assert join([done, done]).ended_by == "done"
    assert join([stopped, done]).ended_by == "interrupted"
    assert join([done, stopped]).ended_by == "interrupted"
    spent, silent = run(tally(), ended_by="budget"), run(tally(), ended_by="unreachable")
    assert join([done, spent, done]).ended_by == "budget"
    assert join([spent, silent]).ended_by == "unreachable"
    assert join([silent, stopped, spent]).ended_by == "interrupted"
    assert join([run(tally(), ended_by="a word of another version"), spent]).ended_by == "budget"
    with pytest.raises(ValueError, match="no run"):
        join([])


@given(st.lists(st.floats(1e-5, 100), min_size=1, max_size=50))
def test_quantiles_are_right_within_a_step(values: list[float]) -> None:
    timings = Timings()
    for value in values:
        one = exchange(1)
        assert one.received is not None
        timings.add(replace(one, received=replace(one.received, seconds=value)))
    spread = timings.spreads()["whole"]
    exact = sorted(values)[max(0, -(-len(values) // 2) - 1)]
    assert exact <= spread.p50 * 1.000_01
    assert spread.p50 <= exact * 1.06
    twice = joined([{"whole": spread}, {"whole": spread}])["whole"]
    assert (twice.count, twice.p50) == (2 * len(values), spread.p50)


def test_coverage_of_a_request() -> None:
    asked = {
        "model": "m",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}],
        "tool_choice": "none",
    }
    coverage = Coverage(CONTRACT)
    coverage.add(replace(exchange(1, b"{}"), asked=asked))
    coverage.add(replace(exchange(2, b"{}", 429), asked=asked))
    seen = {(e.section, e.name) for e in coverage.exercised() if e.count}
    assert ("operation", CHAT.name) in seen
    assert ("property", "messages[].content[].text") in seen
    assert ("enum value", "messages[].role = user") in seen
    assert ("enum value", "tool_choice = none") in seen
    assert ("error response", f"429 of {CHAT.name}") in seen
    assert ("property", "temperature") not in seen
    assert ("enum value", "messages[].role = system") not in seen


def test_steps_that_make_a_request_smaller() -> None:
    asked = {
        "model": "m",
        "messages": [{"role": "system", "content": "a"}, {"role": "user", "content": "long words"}],
        "temperature": 0,
        "max_tokens": 5,
    }
    steps = list(smaller(asked))
    assert {**asked, "messages": asked["messages"][-1:]} in steps
    assert {k: v for k, v in asked.items() if k != "temperature"} in steps
    assert all("max_tokens" in step and "model" in step for step in steps)
    least = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    assert list(smaller(least)) == []


def test_what_is_shrunk() -> None:
    counted = tally()
    counted.exchange(exchange(1, b"abcdef"))
    counted.exchange(exchange(2, meant="invalid"))
    assert [shrinkable(shown) for shown in counted.shown.values()] == [True, False]


def test_every_pattern_of_wanting_names_rules() -> None:
    """A rule that was renamed would be NOT RUN where it is UNSUPPORTED."""
    from fnmatch import fnmatchcase

    ids = [rule.id for rule in all_rules()]
    for pattern in (*(pattern for pattern, _ in WANTED), *OPTIONAL):
        assert any(fnmatchcase(id, pattern) for id in ids), pattern
    assert unsupported("SEQ-CALL-ID", "x", {"tools": "no"}) == "tools: no"
    assert unsupported("SEQ-CALL-ID", "x", {"n": "no"}) == ""
    assert unsupported("HDR-LIMIT-FALLS", "x", {}) == "nothing that came was x"


def test_findings_are_numbered_and_made_one() -> None:
    one = Finding("", "R", "WARN", "l", "k", "w", "e", "a", count=2)
    two = replace(one, state="FAIL", count=3)
    other = replace(one, kind="k2")
    assert [(f.id, f.state, f.count) for f in numbered([one, two, other])] == [
        ("F1", "FAIL", 5),
        ("F2", "WARN", 2),
    ]
