"""The judge's client, probes and rules over a real socket, one defect or delivery in the mock."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from wafermock.conformance.client import Client
from wafermock.conformance.endpoint import Endpoint
from wafermock.conformance.exchange import Exchange, Probe
from wafermock.conformance.planned import Planned
from wafermock.conformance.rule import Bench
from wafermock.conformance.rules import all_rules
from wafermock.conformance.runner import Item
from wafermock.conformance.tally import Shown, Tally, worse
from wafermock.conformance.wire import Patience, Silence, Unreachable
from wafermock.reports.run import State
from wafermock.spec import Contract

# The mock answers at once: who is not heard for a second will not be (`endless`, `no_continue`).
PATIENCE = Patience(first_byte=30, between=1.0, whole=30, proceed=0.2, closing=5)

# What the header of a request says: ("defect", "done_twice") is `x-wafermock-defect: done_twice`.
Choice = tuple[str, str]
# By label of what was sent: the rules that broke, and how badly.
Broken = dict[str, dict[str, State]]


class Asker:
    """Sends items and has them judged. `choose` says what is chosen for each request, by its number
    from 0 on."""

    def __init__(
        self,
        client: Client,
        contract: Contract,
        choose: Callable[[int], Choice | None] = lambda number: None,
    ) -> None:
        self.tally = Tally(all_rules(), Bench(contract, {"deterministic": True}))
        self.requests = 0
        self._client = client
        self._choose = choose

    async def ask(self, item: Item) -> list[Shown]:
        """Send an item; return what broke."""
        planned = [item] if isinstance(item, Planned) else [*item.requests.values()]
        if not isinstance(item, Planned) and item.together:
            exchanges = [*await asyncio.gather(*map(self._send, planned))]
        else:
            exchanges = [await self._send(one) for one in planned]
        broken = [shown for exchange in exchanges for shown in self.tally.exchange(exchange)]
        if not isinstance(item, Planned):
            roles = dict(zip(item.requests, exchanges, strict=True))
            broken += self.tally.probe(Probe(exchanges[0].id, item.name, roles))
        return broken

    async def _send(self, planned: Planned) -> Exchange:
        number, self.requests = self.requests, self.requests + 1
        chosen = self._choose(number)
        headers = ((f"x-wafermock-{chosen[0]}", chosen[1]),) if chosen else ()
        sent = replace(planned.sent, headers=(*planned.sent.headers, *headers))
        received, error, reached = None, "", True
        try:
            received = await self._client.send(sent)
        except Silence as silence:
            error, reached = silence.reason, not isinstance(silence, Unreachable)
        return Exchange(
            str(number + 1), planned.purpose, sent, planned.operation, planned.asked, received,
            error,
            reached,
        )  # fmt: skip


def judge(
    url: str, contract: Contract, items: Mapping[str, Item], choice: Choice | None = None
) -> Broken:
    """Send items to a mock, all with the same choice; return what broke at which."""

    async def run() -> Broken:
        async with Client(Endpoint.at(url), PATIENCE) as client:
            asker = Asker(client, contract, lambda number: choice)
            found = {label: worst(await asker.ask(item)) for label, item in items.items()}
            return {label: broken for label, broken in found.items() if broken}

    return asyncio.run(run())


def worst(broken: Iterable[Shown]) -> dict[str, State]:
    """Return how badly each rule was broken."""
    found: dict[str, State] = {}
    for shown in broken:
        found[shown.rule] = worse(found.get(shown.rule, "PASS"), shown.state)
    return found


def own_state(rule: str) -> State:
    """Return what a breach of a rule is by its level."""
    return next(one.state for one in all_rules() if one.id == rule)


def all_of(broken: Broken) -> dict[str, State]:
    """Return how badly each rule was broken, wherever it was."""
    found: dict[str, State] = {}
    states: Sequence[tuple[str, State]] = [p for rules in broken.values() for p in rules.items()]
    for rule, state in states:
        found[rule] = worse(found.get(rule, "PASS"), state)
    return found
