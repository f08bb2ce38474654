"""Rules: plain functions that judge exchanges, and send nothing."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from wafermock.reports.run import Level, State
from wafermock.reports.run import Rule as Described
from wafermock.spec import Contract

from .exchange import Exchange, Probe


@dataclass(frozen=True)
class Breach:
    """How a rule was broken once. `where` points into the answer (`chunk 3, /choices/0/index`),
    `location` into the contract where the rule knows better than the request's purpose.

    `state` overrules that of the rule's level: WARN where a document is open, INFO for what is
    only worth knowing."""

    expected: str
    actual: str
    where: str = ""
    location: str = ""
    state: State | None = None


@dataclass(frozen=True)
class Unsupported:
    """What a server says cleanly that it cannot do, in place of an answer to be judged."""

    why: str


Found = Breach | Unsupported


# What judges see beside the exchange: the contract and what the run knows of the server.
@dataclass(frozen=True)
class Bench:
    """`facts` is what was measured of the server first: `deterministic` (bool), ..."""

    contract: Contract
    facts: Mapping[str, Any] = field(default_factory=dict)


Applies = Callable[[Exchange], bool]
Judge = Callable[[Exchange, Bench], Iterable[Found]]
ProbeJudge = Callable[[Probe, Bench], Iterable[Found]]


_OF_LEVEL: Mapping[Level, State] = {"MUST": "FAIL", "SHOULD": "WARN", "MAY": "INFO"}


@dataclass(frozen=True)
class Rule:
    """A rule and its judge. `probe` names the probe it judges; empty: it judges single exchanges
    that `applies` picks. Only `unanswered` ones see exchanges that have no answer. A judge finds
    nothing where the rule is kept."""

    described: Described
    judge: Callable[[Any, Bench], Iterable[Found]]
    applies: Applies
    probe: str = ""
    needs: str = ""
    unanswered: bool = False

    @property
    def id(self) -> str:
        return self.described.id

    @property
    def state(self) -> State:
        """What a breach of it is, unless the breach says otherwise."""
        return _OF_LEVEL[self.described.level]


class RuleBook:
    """The rules of one group, in the order in which they are written down."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.rules: list[Rule] = []

    def rule(
        self,
        id: str,
        level: Level,
        requirement: str,
        *,
        source: str,
        guards: str,
        applies: Applies,
        needs: str = "",
        unanswered: bool = False,
    ) -> Callable[[Judge], Judge]:
        """Put a function there as the judge of single exchanges. `needs` says, for a rule that was
        NOT RUN, what kind of exchange it would have wanted."""

        def put(judge: Judge) -> Judge:
            described = Described(id, self.group, level, requirement, source, guards)
            self.rules.append(Rule(described, judge, applies, "", needs, unanswered))
            return judge

        return put

    def probe_rule(
        self,
        id: str,
        level: Level,
        requirement: str,
        *,
        source: str,
        guards: str,
        probe: str,
        needs: str = "",
    ) -> Callable[[ProbeJudge], ProbeJudge]:
        """Put a function there as the judge of a probe's exchanges."""

        def put(judge: ProbeJudge) -> ProbeJudge:
            described = Described(id, self.group, level, requirement, source, guards)
            self.rules.append(Rule(described, judge, lambda _: False, probe, needs))
            return judge

        return put

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)
