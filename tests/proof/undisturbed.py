"""The mock that keeps the contract, asked many thousand times: no rule may break."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from wafermock.conformance.budgets import budget
from wafermock.conformance.client import Client
from wafermock.conformance.endpoint import Endpoint
from wafermock.conformance.exchange import Exchange
from wafermock.conformance.programme import programme
from wafermock.conformance.runner import Item
from wafermock.conformance.tally import Shown
from wafermock.mockserver.wire import DELIVERIES

from .asking import SUBJECT, SUPPORTED, contract_of, items, needs
from .judging import Asker, Choice

# What is legal, and yet worth a word. Nothing else may be told of a delivery, and none is a FAIL.
TOLD: dict[str, set[str]] = {
    "bom": {"STREAM-BOM", "STREAM-PARSERS"},
    "several_data_lines": {"STREAM-PARSERS"},
    "usage_apart": {"SCHEMA-BOUND"},
    "event_message": {"STREAM-NAMES"},
    "role_repeated": {"SEQ-ROLE-ONCE"},
    "no_done": {"STREAM-DONE"},
}
DELIVERY = "x-wafermock-delivery"


@dataclass
class Alarm:
    """Something that a rule said of the mock, which keeps the contract."""

    rule: str
    state: str
    told: str
    delivery: str
    request: str
    count: int = 1


@dataclass
class Result:
    """How much was asked, by delivery, and what rules said of it."""

    exchanges: int = 0
    deliveries: Counter[str] = field(default_factory=Counter)
    alarms: dict[tuple[str, str, str], Alarm] = field(default_factory=dict)
    told: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, shown: Shown) -> None:
        deliveries = {delivery_of(exchange) for exchange in shown.exchanges}
        legal = {rule for delivery in deliveries for rule in TOLD.get(delivery, ())}
        if shown.state == "INFO" or (shown.state == "WARN" and shown.rule in legal):
            self.told[shown.rule, ", ".join(sorted(deliveries))] += 1
            return
        purpose = shown.exchanges[-1].purpose
        key = (shown.rule, shown.state, purpose.campaign)
        if key in self.alarms:
            self.alarms[key].count += 1
            return
        breach = shown.breach
        told = f"{breach.where}: expected {breach.expected}, actual {breach.actual}"
        sent = shown.exchanges[-1].sent
        body = sent.body[:2_000].decode("utf-8", "replace")
        request = f"{purpose.campaign}, {purpose.kind}: {sent.method} {sent.target} {body}"
        delivery = ", ".join(sorted(deliveries))
        self.alarms[key] = Alarm(shown.rule, shown.state, told, delivery, request)


def delivery_of(exchange: Exchange) -> str:
    """Return the delivery that a request chose."""
    return exchange.sent.header(DELIVERY) or "as usual"


def rotating(number: int) -> Choice | None:
    """Choose for each request the next delivery; between two rounds the usual one."""
    names = list(DELIVERIES)
    at = number % (len(names) + 1)
    return ("delivery", names[at]) if at < len(names) else None


def asked(profile: str, count: int, seed: int) -> Iterator[Item]:
    """Yield what a run of so many requests sends: probes, and all that its campaigns make."""
    yield from items(profile).values()
    phases = programme(
        contract_of(profile),
        SUBJECT,
        seed,
        budget("deep", requests=2 * count),  # not all of them can be sent
        supported=SUPPORTED,
    )
    for phase in phases:
        yield from phase.items


def undisturbed(url: str, profile: str, count: int, seed: int = 0) -> Result:
    """Ask so many times, in every delivery by turns; return what rules said."""

    async def run() -> Result:
        result = Result()

        def choose(number: int) -> Choice | None:
            choice = rotating(number)
            result.deliveries[choice[1] if choice else "as usual"] += 1
            return choice

        async with Client(Endpoint.at(url)) as client:
            asker = Asker(client, contract_of(profile), choose)
            for item in asked(profile, count, seed):
                if asker.requests >= count:
                    break
                if needs(item) <= SUPPORTED:
                    for shown in await asker.ask(item):
                        result.add(shown)
        result.exchanges = asker.requests
        return result

    return asyncio.run(run())
