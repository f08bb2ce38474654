"""The mock as an endpoint without a socket: it is sent what probes plan, and rules judge it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from msgspec import structs

from wafermock.conformance.exchange import (
    Arrival,
    Exchange,
    Probe,
    Purpose,
    Received,
    Sent,
)
from wafermock.conformance.planned import Planned, PlannedProbe, Subject
from wafermock.conformance.probes import (
    QUICK,
    capability_requests,
    judge_determinism,
    probes,
    repeat_probe,
)
from wafermock.conformance.rule import Bench, Rule, RuleBook
from wafermock.conformance.rules.encoding import BOOK as ENCODING
from wafermock.conformance.rules.errors import BOOK as ERRORS
from wafermock.conformance.rules.headers import BOOK as HEADERS
from wafermock.conformance.rules.metamorphic import BOOK as METAMORPHIC
from wafermock.conformance.tally import Tally
from wafermock.mockserver.acting import Choices
from wafermock.mockserver.draws import Draws
from wafermock.mockserver.exchange import Request
from wafermock.mockserver.mock import Mock, Settings
from wafermock.mockserver.service import Service
from wafermock.mockserver.wire import DEFECTS, DELIVERIES, plan
from wafermock.reports.run import Meant, State
from wafermock.spec import Contract, load_contract

from .conftest import as_received

BOOKS: tuple[RuleBook, ...] = (ERRORS, ENCODING, METAMORPHIC, HEADERS)
RULES: tuple[Rule, ...] = tuple(rule for book in BOOKS for rule in book)
PROFILES = ("documented", "observed")

KEY = "a-key-of-the-mock"
SUBJECT = Subject("gpt-oss-120b", KEY)
DATE = ("date", "Sun, 06 Nov 1994 08:49:37 GMT")

# What the mock has; HTTP/2 it has not.
SUPPORTED = frozenset(
    ["streams", "tools", "logprobs", "structured outputs", "n", "reasoning", "completions",
     "models", "msgpack", "gzip"]
)  # fmt: skip


@cache
def contract_of(profile: str) -> Contract:
    return load_contract(profile)


class MockEndpoint:
    """Answers what is planned, as the mock does with these defects, or with this delivery."""

    def __init__(
        self,
        profile: str = "observed",
        defects: Sequence[str] = (),
        delivery: str | None = None,
        **settings: Any,
    ) -> None:
        self.contract = contract_of(profile)
        chosen = Choices(
            (DELIVERIES.parse(delivery),) if delivery else (),
            (),
            tuple(map(DEFECTS.parse, defects)),
        )
        given = {"models": "strict", "api_key": KEY, **settings}
        self.service = Service(Mock(self.contract, Settings(**given)), choices=chosen)
        self.count = 0

    def send(self, planned: Planned) -> Exchange:
        self.count += 1
        received = self._answer(planned.sent)
        return Exchange(
            str(self.count), planned.purpose, planned.sent, planned.operation, planned.asked,
            received,
        )  # fmt: skip

    def probe(self, planned: PlannedProbe) -> Probe:
        exchanges = {role: self.send(request) for role, request in planned.requests.items()}
        return Probe(next(iter(exchanges.values())).id, planned.name, exchanges)

    def _answer(self, sent: Sent) -> Received | None:
        path, _, query = sent.target.partition("?")
        headers = {name.lower(): value for name, value in sent.headers}
        if sent.chunks is not None:
            headers["transfer-encoding"] = "chunked"
        request = Request(sent.method, path, query, headers, sent.body)
        early = None
        if sent.expect_continue:
            early = self.service.at_head(structs.replace(request, body=b""))
        turn = self.service.begin(request, early)
        acting = turn.acting
        planned = plan(
            turn.answer,
            method=sent.method,
            delivery=acting.delivery if acting else None,
            defects=acting.defects if acting else (),
            draws=Draws("test", turn.answer.headers.get("x-request-id", "")),
        )
        turn.end()
        if planned.head_bytes == 0:
            return None
        received = as_received(planned)
        says_continue = sent.expect_continue and (early is None or early.says_continue)
        received = replace(received, headers=(*received.headers, DATE), continued=says_continue)
        if sent.leave_after is not None and received.raw:
            self.service.left(turn.scope)
            received = replace(received, arrivals=received.arrivals[:1], ended="left")
        return received


def run(
    endpoint: MockEndpoint,
    *campaigns: str,
    most: int = QUICK,
    needs: frozenset[str] = SUPPORTED,
) -> Tally:
    """Send all probes up to a weight, as a run does, and judge them. `campaigns`: those alone;
    `needs`: what the server can do."""
    profile = endpoint.contract.profile
    first = endpoint.probe(repeat(profile))
    facts = {"deterministic": judge_determinism(first).state == "PASS"}
    tally = Tally(RULES, Bench(endpoint.contract, facts))
    judge(tally, first)
    for item in planned(profile, most):
        requests = [item] if isinstance(item, Planned) else list(item.requests.values())
        wanted = {need for request in requests for need in request.needs}
        wanted |= set(item.needs)
        if not wanted <= needs or (campaigns and requests[0].purpose.campaign not in campaigns):
            continue
        if isinstance(item, Planned):
            tally.exchange(endpoint.send(item))
        else:
            judge(tally, endpoint.probe(item))
    return tally


def judge(tally: Tally, probe: Probe) -> None:
    """Have the exchanges of a probe judged, each alone and then together."""
    for exchange in probe.exchanges.values():
        tally.exchange(exchange)
    tally.probe(probe)


@cache
def planned(profile: str, most: int) -> tuple[Planned | PlannedProbe, ...]:
    """All that a run plans for the mock, but what comes before all else."""
    contract = contract_of(profile)
    return (*capability_requests(contract, SUBJECT), *probes(contract, SUBJECT, most=most))


@cache
def repeat(profile: str) -> PlannedProbe:
    made = repeat_probe(contract_of(profile), SUBJECT)
    assert made is not None
    return made


def broken_in(group: str, tally: Tally) -> set[str]:
    """Name the rules of a group that are broken."""
    own = {rule.id for rule in RULES if rule.described.group == group}
    return own & broken(tally).keys()


def answer(
    status: int = 200,
    body: Any = None,
    headers: Sequence[tuple[str, str]] = (),
    *,
    sent: Sent | None = None,
    asked: Any = None,
    meant: Meant = "valid",
    **more: Any,
) -> Exchange:
    """Make an exchange by hand. `body` is bytes, or a value to be sent as JSON."""
    raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    named = {name.lower() for name, _ in headers}
    given = list(headers)
    if raw and "content-type" not in named:
        given.append(("Content-Type", "application/json"))
    arrivals = (Arrival(0.1, raw),) if raw else ()
    purpose = Purpose("test", "test", "#", meant, **more)
    received = Received(status, "", tuple(given), arrivals)
    operation = contract_of("observed").operation("createChatCompletion")
    given_sent = sent or Sent("POST", operation.path, (("Authorization", f"Bearer {KEY}"),))
    return Exchange("1", purpose, given_sent, operation, asked, received)


def verdict(id: str, exchange: Exchange | Probe, **facts: Any) -> list[Any]:
    """Return what one rule finds. The rule has to apply."""
    rule = next(rule for rule in RULES if rule.id == id)
    assert isinstance(exchange, Probe) or rule.applies(exchange), "the rule does not apply"
    return list(rule.judge(exchange, Bench(contract_of("observed"), facts)))


def broken(tally: Tally) -> dict[str, State]:
    """Name the rules that are broken, each with the worst that was found."""
    return {id: count.worst for id, count in tally.counts.items() if count.broken}


def states(tally: Tally) -> dict[str, State]:
    """Say what became of every rule."""
    return {verdict.rule: verdict.state for verdict in tally.verdicts((), {})}
