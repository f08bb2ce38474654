"""What the page shows of a run, before it is markup: rules with their verdicts, what to mend first,
exchanges with what is shown of their bytes."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from wafermock.reports import summary
from wafermock.reports.run import STATES, Exercised, Part, Rule, Run, State, Traffic, Verdict
from wafermock.reports.summary import Judged

from .anchors import anchors
from .fitting import Placed
from .markup import UNSEEN, Shown, shown
from .plots import time_line

# How many parts of an answer are shown one by one, and how many rules to mend first.
_PARTS, _FIRST = 24, 8


@dataclass(frozen=True)
class Entry:
    """A rule, what became of it, and where it and its findings are in the page."""

    anchor: str
    judged: Judged
    findings: tuple[Placed, ...]

    @property
    def rule(self) -> Rule:
        return self.judged.rule

    @property
    def verdict(self) -> Verdict:
        return self.judged.verdict


@dataclass(frozen=True)
class Group:
    """The rules of one group, and how many came to which state, the worst first."""

    name: str
    anchor: str
    states: tuple[tuple[State, int], ...]
    entries: tuple[Entry, ...]


def entries(run: Run) -> list[Entry]:
    """Return every rule with what became of it, in the order of the rules."""
    rules = summary.judged(run)
    names = anchors("rule", [item.rule.id for item in rules])
    places = iter(anchors("finding", [f.id for item in rules for f in item.findings]))
    return [
        Entry(name, item, tuple(Placed(next(places), finding) for finding in item.findings))
        for name, item in zip(names, rules, strict=True)
    ]


def groups(rules: Sequence[Entry]) -> list[Group]:
    """Return rules by their groups, in the order in which groups come first."""
    by_group: dict[str, list[Entry]] = {}
    for entry in rules:
        by_group.setdefault(entry.rule.group, []).append(entry)
    names = anchors("group", by_group)
    return [
        Group(name, anchor, _counted(mine), tuple(mine))
        for anchor, (name, mine) in zip(names, by_group.items(), strict=True)
    ]


def _counted(rules: Sequence[Entry]) -> tuple[tuple[State, int], ...]:
    states = [entry.judged.state for entry in rules]
    return tuple((state, states.count(state)) for state in STATES)


def first(rules: Sequence[Entry]) -> list[Entry]:
    """Return what to mend first: rules that are broken, FAIL before WARN, the most frequent first;
    none that a baseline knows."""
    broken = [e for e in rules if e.judged.state in ("FAIL", "WARN") and not e.judged.known]
    order = sorted(broken, key=lambda e: (STATES.index(e.judged.state), -e.verdict.broken))
    return order[:_FIRST]


@dataclass(frozen=True)
class Headline:
    """The verdict of the run: a word, the state whose colour it has, what explains it, and how many
    percent of the judged rules are kept: rounded down, so that 100 means all; None without any."""

    word: str
    state: State
    why: str
    score: int | None


def headline(run: Run, rules: Sequence[Entry]) -> Headline:
    """Say in a few words what became of the run."""
    kept, judged = summary.score(run)
    ending = f" Note: {summary.ENDINGS[run.ended_by]}." if run.ended_by in summary.ENDINGS else ""
    if not judged:
        return Headline("Not judged", "NOT RUN", f"No rule was judged.{ending}", None)
    states = [entry.judged.state for entry in rules if not entry.judged.known]
    levels: tuple[tuple[State, str], ...] = (("FAIL", "MUST"), ("WARN", "SHOULD"), ("INFO", "MAY"))
    told = [f"{kept:,} of {summary.count(judged, 'judged rule')} kept"]
    told += [
        f"{summary.count(states.count(state), f'{level} rule')} broken"
        for state, level in levels
        if state in states
    ]
    if known := sum(bool(finding.known) for finding in run.findings):
        told.append(f"{summary.count(known, 'finding')} known to the baseline")
    word = {"FAIL": "Does not conform", "WARN": "Conforms, with warnings"}.get(run.state)
    why = f"{', '.join(told)}.{ending}"
    return Headline(word or "Conforms", run.state, why, 100 * kept // judged)


@dataclass(frozen=True)
class Section:
    """A section of the contract: what the run exercised of it, and what not."""

    name: str
    missing: tuple[Exercised, ...]
    exercised: tuple[Exercised, ...]


def coverage(items: Sequence[Exercised]) -> list[Section]:
    """Return what was exercised, by sections."""
    order = list(dict.fromkeys(item.section for item in items))
    return [
        Section(
            name,
            tuple(item for item in items if item.section == name and not item.count),
            tuple(item for item in items if item.section == name and item.count),
        )
        for name in order
    ]


@dataclass(frozen=True)
class ShownPart:
    """Parts that arrived together: `at` seconds after the request."""

    at: float
    data: Shown


@dataclass(frozen=True)
class ShownTraffic:
    """An exchange, with what is shown of its bytes. `answer` is the body in one piece where it came
    in one, else `parts` are; `hidden` parts between the first and the last are not shown."""

    traffic: Traffic
    request: Shown
    answer: Shown | None
    parts: tuple[ShownPart, ...]
    hidden: int
    line: Markup


def shown_traffic(traffic: Traffic, limit: int) -> ShownTraffic:
    """Show an exchange with at most `limit` bytes of each body."""
    parts = [(at, b"".join(p.data for p in group)) for at, group in _together(traffic.parts)]
    request = shown(traffic.request_body, limit)
    if len(parts) < 2:
        answer = shown(traffic.body, limit)
        return ShownTraffic(traffic, request, answer, (), 0, Markup())
    kept = parts if len(parts) <= _PARTS else [*parts[: _PARTS - 6], *parts[-6:]]
    each = max(64, limit // len(kept))
    return ShownTraffic(
        traffic,
        request,
        None,
        tuple(ShownPart(at, shown(data, each)) for at, data in kept),
        len(parts) - len(kept),
        time_line(traffic.parts),
    )


def _together(parts: Sequence[Part]) -> list[tuple[float, list[Part]]]:
    return [(at, list(group)) for at, group in groupby(parts, key=lambda part: part.at)]


def copyable(text: str, limit: int) -> bool:
    """Whether a command can be copied from the page: it is whole, and no escape stands in it."""
    return len(text) <= limit and not UNSEEN.search(text)
