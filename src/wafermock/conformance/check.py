"""A whole run against one endpoint: what it can do, probes, campaigns, and what they come to."""

import asyncio
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import wafermock
from wafermock.reports.run import STATES, Budget, Capability, Run, Tool
from wafermock.reports.run import Endpoint as Judged
from wafermock.spec import Contract

from .beginning import CannotCheck, first_model, reach, refusal
from .campaigns import LeftOut
from .client import Client
from .coverage import Coverage
from .endpoint import Endpoint
from .exchange import Exchange, Probe
from .findings import findings
from .joining import numbered
from .notebook import Notebook, Progress
from .placed import FIRST, SEARCHING, Placed
from .planned import Planned, Subject
from .probes import (
    capability_requests,
    judge_capability,
    judge_determinism,
    repeat_probe,
    supported,
    unable,
)
from .programme import programme
from .rule import Bench, Rule
from .rules import all_rules
from .rules.refusals import takes_all
from .rules.wanting import unsupported
from .runner import Phase, Runner, Shard, Stopped, Watcher
from .secrets import Masking
from .sender import EndpointSender
from .shrinking import MOST, shrink, shrinkable
from .spending import Spending
from .tally import Tally
from .throttle import Throttle
from .timings import Timings

# From so many requests on, Hypothesis and Schemathesis search for more than campaigns plan.
SEARCHED = 5_000
# About as many requests as it takes to find out what a server can do.
FINDING_OUT = 18
LIBRARIES = ("h11", "jsonschema-rs", "hypothesis", "schemathesis")


@dataclass(frozen=True)
class Order:
    """What is to be checked, and how. Without a model the endpoint's own list names one."""

    endpoint: Endpoint
    contract: Contract
    budget: Budget
    model: str = ""
    api_key: str | None = field(default=None, repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    seed: int = 0
    rules: tuple[Rule, ...] = field(default_factory=all_rules)
    # The folder in which Hypothesis keeps what failed; None: nowhere.
    examples: Path | None = None
    # What is known of the server beforehand: `any_key`, `any_model` (a mock takes all of them).
    facts: Mapping[str, Any] = field(default_factory=dict)
    # What another run has done of this one: so many items of the programme are behind it.
    skip: int = 0
    shard: Shard = field(default_factory=Shard)
    # What stands before the numbers of exchanges: parts of one run shall not share them.
    prefix: str = ""
    find_out_only: bool = False
    # What this process may spend, where several share the budget that the programme is made for.
    spend: Budget | None = None


@dataclass(frozen=True)
class Known:
    """What was found out of a server before its programme: it decides what is sent, and how the
    answers are judged."""

    model: str
    capabilities: tuple[Capability, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


def _silent(order: Order) -> None:
    """Tell nobody."""


async def check(
    order: Order,
    progress: Progress | None = None,
    interruption: asyncio.Event | None = None,
    known: Known | None = None,
    begun: Callable[[Order], None] = _silent,
) -> Run:
    """Check an endpoint. Raises CannotCheck where it cannot even begin: nobody answers, no model is
    known, or all is refused as with a wrong key, model or path.
    What stops a run later is told in `Run.ended_by`.

    With `known` only the programme is run: somebody else has found out what the server can do.
    `begun` hears the order as soon as it names a model.
    """
    began = time.time()
    spending = Spending(order.spend or order.budget)
    async with Client(order.endpoint) as client:
        if known is None:
            order = await _named(client, order)
            begun(order)
        subject = Subject(known.model if known else order.model, order.api_key, order.headers)
        course = Course(order, subject, client, spending, progress)
        if interruption is not None:
            course.listen(interruption)
        try:
            ended_by = await course.run(known)
        finally:
            course.deaf()
    return course.result(began, ended_by)


class Course:
    """The course of one run."""

    def __init__(
        self,
        order: Order,
        subject: Subject,
        client: Client,
        spending: Spending,
        progress: Progress | None,
    ) -> None:
        self.order = order
        self.subject = subject
        self.client = client
        self.spending = spending
        # How many are on their way at a time is the runner's to say: a probe may send several
        # requests together.
        self.throttle = Throttle(order.budget.rate)
        self.facts: dict[str, Any] = dict(order.facts)
        self.capabilities: list[Capability] = []
        self.told: list[LeftOut] = []
        self.masking = Masking.of(subject)
        self.coverage = Coverage(order.contract)
        self.timings = Timings()
        self.tally = Tally(order.rules, Bench(order.contract, self.facts))
        self.notebook = Notebook(self.coverage, spending, progress, self.masking)
        self.sender = EndpointSender(
            client,
            spending,
            self.throttle,
            overheard=self._overhear,
            waiting=self.notebook.waiting,
            prefix=order.prefix,
        )
        self.interrupted = asyncio.Event()
        self.position = order.skip
        self._searched = 0
        self._listener: asyncio.Task[None] | None = None
        if progress:
            progress.start(order.endpoint.url, order.budget, len(order.rules))

    def _overhear(self, exchange: Exchange) -> None:
        """Judge an answer that asked to be patient: its request is sent again."""
        self.notebook.judged([exchange], self.tally.exchange(exchange))

    def listen(self, interruption: asyncio.Event) -> None:
        """Stop as soon as somebody wants the run to stop."""

        async def wait() -> None:
            await interruption.wait()
            self.interrupted.set()
            self.sender.stop()

        self._listener = asyncio.create_task(wait())

    def deaf(self) -> None:
        """Listen no more."""
        if self._listener:
            self._listener.cancel()

    async def run(self, known: Known | None = None) -> str:
        """Run to the end, or until something stops it; return the word for why."""
        try:
            if known is None:
                await self.find_out()
            else:
                self.capabilities = list(known.capabilities)
                self.facts.update(known.facts)
            if not self.order.find_out_only:
                await self._programme()
        except Stopped as stopped:
            return str(stopped)
        return "done"

    async def _programme(self) -> None:
        able = supported(self.capabilities)
        runner = self._runner(supported=able, skip=self.order.skip, shard=self.order.shard)
        phases = programme(
            self.order.contract,
            self.subject,
            self.order.seed,
            self.order.budget,
            supported=able,
            spent=FINDING_OUT,
            told=self.told,
        )
        try:
            for phase in phases:
                await runner.phase(replace(phase, items=Placed(phase.items, runner.position)))
                self.notebook.decide(self.tally)
        finally:
            self.position = runner.position
        if self.order.budget.requests is None or self.order.budget.requests >= SEARCHED:
            await self._search()
        await self._shrink()

    async def _search(self) -> None:
        """Let Hypothesis and Schemathesis look for more."""
        from .searching import search

        self.notebook.phase("search", None)
        await search(
            self.order.contract,
            self.subject,
            self.order.seed + self.order.shard.index,
            self._failing,
            self.order.examples,
        )

    async def _failing(self, planned: Planned) -> set[str]:
        """Send one more request, and name the rules that its answer fails. Raises Stopped."""
        if not set(planned.needs) <= supported(self.capabilities):
            return set()
        if self.interrupted.is_set():
            raise Stopped("interrupted")
        planned = self._searching(planned)
        if not self.sender.allows([planned]):
            raise Stopped("budget")
        exchange = await self.sender.send(planned)
        broken = self.tally.exchange(exchange)
        self.notebook.judged([exchange], broken)
        return {shown.rule for shown in broken if shown.state == "FAIL"}

    async def _shrink(self) -> None:
        """Make the requests smaller that show what was found, as far as the budget goes."""
        rules = {rule.id: rule for rule in self.order.rules}
        shown = [one for one in self.tally.shown.values() if shrinkable(one)]
        shown.sort(key=lambda one: STATES.index(one.state))
        if shown:
            self.notebook.phase("shrinking", None)
        for one in shown[:MOST]:
            smallest = await shrink(one, rules[one.rule], self.tally.bench, self._again)
            self.tally.shown[one.key] = smallest

    def _searching(self, planned: Planned) -> Planned:
        """Give a request that is not of the programme a place: these go out one by one."""
        self._searched += 1
        return replace(planned, place=f"{SEARCHING}{self._searched}")

    async def _again(self, planned: Planned) -> Exchange | None:
        """Send one more request, if there is room for it and nobody wants to stop."""
        planned = self._searching(planned)
        if self.interrupted.is_set() or not self.sender.allows([planned]):
            return None
        exchange = await self.sender.send(planned)
        self.notebook.judged([exchange], [])
        return exchange

    async def find_out(self) -> None:
        """Find out what the server can do, and whether it repeats itself."""
        runner = self._runner()
        requests = list(capability_requests(self.order.contract, self.subject, self.order.seed))
        refusals: list[str] = []

        def look(exchange: Exchange) -> None:
            # Each is judged as it comes: large answers are not kept.
            self.capabilities.append(judge_capability(exchange))
            if exchange.asked is not None and exchange.received is not None:
                refusals.append(refusal(exchange))

        self.notebook.looking = look
        await runner.phase(Phase("capabilities", Placed(requests, mark=FIRST)))
        if refusals and all(refusals):
            raise CannotCheck(self.masking.text(
                f"{self.order.endpoint.url} refuses everything that it was asked, beginning with "
                f"{refusals[0].rstrip('.')}: is the key right (--api-key-env), the model (--model "
                f"{self.subject.model}), and the path of the URL?"
            ))  # fmt: skip
        repeat = repeat_probe(self.order.contract, self.subject, self.order.seed)
        if repeat is not None:
            seen: list[Exchange] = []
            self.notebook.looking = seen.append
            await runner.phase(Phase("repetition", Placed([repeat], len(requests), FIRST)))
            if seen:
                roles = dict(zip(repeat.requests, seen, strict=True))
                determinism = judge_determinism(Probe(seen[0].id, repeat.name, roles))
                self.capabilities.append(determinism)
                self.facts["deterministic"] = determinism.state == "PASS"
        self.notebook.looking = None
        self.notebook.decide(self.tally)

    async def send(self, phase: Phase, watcher: Watcher) -> None:
        """Send a phase that somebody else has planned, and have it judged."""
        able = supported(self.capabilities)
        await self._runner(watcher, supported=able).phase(phase)

    def _runner(self, watcher: Watcher | None = None, **more: Any) -> Runner:
        return Runner(
            self.sender,
            self.tally,
            watcher or self.notebook,
            timings=self.timings,
            interrupted=self.interrupted,
            concurrency=self.order.budget.concurrency,
            **more,
        )

    def result(self, began: float, ended_by: str) -> Run:
        """Say what the run has found."""
        order, contract = self.order, self.order.contract
        found = numbered(findings(self.tally.shown.values(), order.endpoint, self.masking))
        notes = [*sorted(self.client.notes), *sorted({f"{t.location}: {t.why}" for t in self.told})]
        notes += takes_all({finding.rule for finding in found})
        info = contract.document.get("info", {})
        run = Run(
            tool=Tool(
                wafermock.__version__,
                f"{info.get('title', '')} {info.get('version', '')} {contract.fingerprint}".strip(),
                contract.profile,
                platform.python_version(),
                {name: _version(name) for name in LIBRARIES},
            ),
            endpoint=Judged(order.endpoint.url, self.subject.model, self.notebook.server),
            began=began,
            seed=order.seed,
            budget=order.budget,
            cost=self.spending.cost(self.throttle.waits),
            rules=tuple(rule.described for rule in order.rules),
            verdicts=tuple(
                self.tally.verdicts(
                    found, _unsupported(order.rules, self.capabilities, whole=ended_by == "done")
                )
            ),
            findings=found,
            cells=tuple(self.tally.table()),
            capabilities=tuple(self.capabilities),
            timings=self.timings.spreads(),
            coverage=self.coverage.exercised(),
            ended_by=ended_by,
            notes=tuple(notes),
            settings={"position": self.position, "facts": dict(self.facts)},
        )
        return self.masking.run(run)


def _unsupported(
    rules: Sequence[Rule], capabilities: Sequence[Capability], *, whole: bool
) -> dict[str, str]:
    """Say for each rule that the server cannot be asked for, why it cannot."""
    why = unable(capabilities)
    return {rule.id: unsupported(rule.id, rule.needs, why, whole=whole) for rule in rules}


async def named(order: Order) -> Order:
    """Return an order that names a model, the endpoint's own where it did not; somebody is there.
    Raises CannotCheck."""
    async with Client(order.endpoint) as client:
        return await _named(client, order)


async def _named(client: Client, order: Order) -> Order:
    asking = Subject(order.model, order.api_key, order.headers)
    await reach(client, asking)
    if order.model:
        return order
    return replace(order, model=await first_model(client, order.contract, asking))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
