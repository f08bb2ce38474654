"""The tally: what the rules have said so far."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from wafermock.reports.run import Cell, Finding, State, Verdict

from .exchange import Exchange, Probe, Sent
from .planned import pointer
from .rule import Bench, Breach, Rule, Unsupported

# So many exchanges are named as evidence of a rule.
EVIDENCE = 5


@dataclass
class Count:
    """What became of one rule so far."""

    kept: int = 0
    broken: int = 0
    worst: State = "PASS"
    evidence: list[str] = field(default_factory=list)
    unsupported: str = ""


@dataclass
class Shown:
    """A breach seen, the exchanges that show it best, and how often it was seen."""

    rule: str
    state: State
    location: str
    kind: str
    breach: Breach
    exchanges: tuple[Exchange, ...]
    count: int = 1

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.rule, self.location, self.kind)

    @property
    def weight(self) -> tuple[bool, int, int, str]:
        """What makes one showing better than another: plain JSON, and less to read."""
        plain = all(_is_plain(exchange.sent) for exchange in self.exchanges)
        asked = sum(len(e.sent.body) + len(e.sent.headers) for e in self.exchanges)
        answered = sum(e.received.size for e in self.exchanges if e.received)
        return (not plain, asked, answered, self.exchanges[0].id)

    def add(self, other: "Shown") -> "Shown":
        """Return the better of two showings of the same; a breach is as bad as its worst."""
        best = min(self, other, key=lambda shown: shown.weight)
        state = worse(self.state, other.state)
        return replace(best, count=self.count + other.count, state=state)


def _is_plain(sent: Sent) -> bool:
    """Say whether people can read a request as it is."""
    coded = sent.header("content-encoding") or sent.chunks
    return not coded and "msgpack" not in (sent.header("content-type") or "")


# From the least to the worst that can become of a rule that was judged.
_ORDER: tuple[State, ...] = ("PASS", "INFO", "WARN", "FAIL")


def worse(one: State, other: State) -> State:
    return max(one, other, key=_ORDER.index)


class Tally:
    """Judges exchanges by the rules and counts what they say."""

    def __init__(self, rules: Sequence[Rule], bench: Bench) -> None:
        self.rules = tuple(rules)
        self.bench = bench
        self.counts: dict[str, Count] = {}
        self.cells: Counter[tuple[str, str, str, State]] = Counter()
        self.shown: dict[tuple[str, str, str], Shown] = {}
        self._single = tuple(rule for rule in rules if not rule.probe)
        self._probe: dict[str, list[Rule]] = {}
        for rule in rules:
            if rule.probe:
                self._probe.setdefault(rule.probe, []).append(rule)

    def exchange(self, exchange: Exchange) -> list[Shown]:
        """Judge an exchange by every rule that applies to it; return what is broken."""
        broken: list[Shown] = []
        answered = exchange.received is not None
        for rule in self._single:
            if (answered or rule.unanswered) and rule.applies(exchange):
                broken += self._count(rule, rule.judge(exchange, self.bench), (exchange,))
        self._cell(exchange, broken)
        return broken

    def probe(self, probe: Probe) -> list[Shown]:
        """Judge the exchanges of a probe together; each alone is judged by `exchange`."""
        exchanges = tuple(probe.exchanges.values())
        if any(exchange.received is None for exchange in exchanges):
            return []
        broken: list[Shown] = []
        for rule in self._probe.get(probe.name, ()):
            broken += self._count(rule, rule.judge(probe, self.bench), exchanges)
        for shown in broken:
            self._add_cell(exchanges[-1], shown)
        return broken

    def _count(
        self, rule: Rule, found: Iterable[Breach | Unsupported], exchanges: tuple[Exchange, ...]
    ) -> list[Shown]:
        count = self.counts.get(rule.id)
        if count is None:
            count = self.counts[rule.id] = Count()
        shown: list[Shown] = []
        for item in found:
            if isinstance(item, Unsupported):
                count.unsupported = count.unsupported or item.why
                return []
            state = item.state or rule.state
            count.worst = worse(count.worst, state)
            location, kind = _place(item, exchanges)
            shown.append(Shown(rule.id, state, location, kind, item, exchanges))
        kept = tuple(exchange.kept for exchange in exchanges) if shown else ()
        if shown:
            count.broken += 1
        else:
            count.kept += 1
        if len(count.evidence) < EVIDENCE:
            count.evidence.append(exchanges[0].id)
        for one in shown:
            brief = replace(one, exchanges=kept)
            known = self.shown.get(one.key)
            self.shown[one.key] = known.add(brief) if known else brief
        return shown

    def _cell(self, exchange: Exchange, broken: Sequence[Shown]) -> None:
        for shown in broken:
            self._add_cell(exchange, shown)
        if not broken:
            purpose = exchange.purpose
            state: State = "NOT RUN" if exchange.received is None else "PASS"
            self.cells[purpose.location, purpose.kind, "", state] += 1

    def _add_cell(self, exchange: Exchange, shown: Shown) -> None:
        purpose = exchange.purpose
        self.cells[purpose.location, purpose.kind, shown.rule, shown.state] += 1

    def verdicts(self, findings: Sequence[Finding], unsupported: dict[str, str]) -> list[Verdict]:
        """Say what became of each rule. `unsupported` tells for rules without an exchange why the
        server could not be asked."""
        of_rule: dict[str, list[str]] = {}
        for finding in findings:
            of_rule.setdefault(finding.rule, []).append(finding.id)
        return [
            self._verdict(rule, tuple(of_rule.get(rule.id, ())), unsupported.get(rule.id, ""))
            for rule in self.rules
        ]

    def _verdict(self, rule: Rule, findings: tuple[str, ...], unsupported: str) -> Verdict:
        count = self.counts.get(rule.id)
        if count is None or not (count.kept or count.broken):
            why = count.unsupported if count else ""
            if why or unsupported:
                return Verdict(rule.id, "UNSUPPORTED", why=why or unsupported)
            needs = rule.needs or "no exchange asked for it"
            return Verdict(rule.id, "NOT RUN", why=needs)
        return Verdict(
            rule.id, count.worst, count.kept, count.broken, tuple(count.evidence), findings
        )

    def table(self) -> list[Cell]:
        """Return the table location x kind x state, sorted."""
        return [
            Cell(location, kind, rule, state, count)
            for (location, kind, rule, state), count in sorted(self.cells.items())
        ]


def _place(breach: Breach, exchanges: tuple[Exchange, ...]) -> tuple[str, str]:
    """Say where in the contract a breach belongs, and what kind of request showed it.

    What an answer to a valid request breaks is one fault wherever it shows, so it stands at the
    operation; an invalid request that is taken is a fault of the one constraint it breaks.
    """
    exchange = exchanges[-1]
    purpose = exchange.purpose
    if purpose.meant != "valid":
        return breach.location or purpose.location, purpose.kind
    kind = "streamed" if exchange.wants_stream else "whole"
    if len(exchanges) > 1:
        kind = purpose.campaign
    operation = exchange.operation
    where = pointer(operation) if operation else ""
    return breach.location or where or purpose.location, kind
