"""Runs beside each other: endpoint against endpoint, or today against last week.

The first run is what the others are compared with.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from . import summary
from .run import STATES, Finding, Rule, Run, State

Change = Literal["better", "worse", "other", "same"]

# From worst to best. What was not judged is neither better nor worse than anything.
_ORDER: tuple[State, ...] = ("FAIL", "WARN", "INFO", "PASS")


@dataclass(frozen=True)
class Compared:
    """One run with the name of its file, and how it differs from the first."""

    name: str
    run: Run
    new: tuple[Finding, ...] = ()
    gone: tuple[Finding, ...] = ()
    better: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A rule, and what became of it in each run; None where a run does not know the rule."""

    rule: Rule
    states: tuple[State | None, ...]

    @property
    def changes(self) -> tuple[Change, ...]:
        return tuple(change(self.states[0], state) for state in self.states)

    @property
    def differs(self) -> bool:
        return len(set(self.states)) > 1


@dataclass(frozen=True)
class Comparison:
    """Runs, rules by runs, and what makes the comparison unfair, in sentences."""

    runs: tuple[Compared, ...]
    rows: tuple[Row, ...]
    unlike: tuple[str, ...]

    @property
    def got_worse(self) -> bool:
        """Whether a rule is worse than in the first run, or something new fails."""
        return any(
            one.worse or any(finding.state == "FAIL" for finding in one.new) for one in self.runs
        )


def change(before: State | None, after: State | None) -> Change:
    """Say how a state is beside another one."""
    if before == after:
        return "same"
    if before in _ORDER and after in _ORDER:
        return "better" if _ORDER.index(after) > _ORDER.index(before) else "worse"
    return "other"


def compare(named: Sequence[tuple[str, Run]]) -> Comparison:
    """Compare runs, at least one, each with the name that reports call it by."""
    runs = [run for _, run in named]
    judged = [{item.rule.id: item for item in summary.judged(run)} for run in runs]
    rules = {id: item.rule for items in reversed(judged) for id, item in items.items()}
    # In the order of the first run that knows a rule.
    order = dict.fromkeys(id for items in judged for id in items)
    rows = tuple(
        Row(rules[id], tuple(items[id].state if id in items else None for items in judged))
        for id in order
    )
    return Comparison(
        tuple(_compared(name, run, runs[0], rows, at) for at, (name, run) in enumerate(named)),
        rows,
        tuple(_unlike(named)),
    )


def _compared(name: str, run: Run, base: Run, rows: tuple[Row, ...], at: int) -> Compared:
    return Compared(
        name,
        run,
        _without(run, base),
        _without(base, run),
        tuple(row.rule.id for row in rows if row.changes[at] == "better"),
        tuple(row.rule.id for row in rows if row.changes[at] == "worse"),
    )


def _without(run: Run, other: Run) -> tuple[Finding, ...]:
    """What was found in one run and not in the other: each key once, worst first."""
    known = {finding.key for finding in other.findings}
    found: dict[tuple[str, str, str], Finding] = {}
    for finding in run.findings:
        if finding.key not in known:
            found.setdefault(finding.key, finding)
    return tuple(sorted(found.values(), key=lambda finding: STATES.index(finding.state)))


def _unlike(named: Sequence[tuple[str, Run]]) -> Iterator[str]:
    """Yield what other than the servers may explain a difference."""
    for title, of in (
        ("contracts", lambda run: run.tool.contract),
        ("profiles", lambda run: run.tool.profile),
        ("versions of Wafermock", lambda run: run.tool.version),
        ("budgets", lambda run: run.budget.name),
        ("seeds", lambda run: str(run.seed)),
        ("models", lambda run: run.endpoint.model),
    ):
        values = [of(run) for _, run in named]
        if len(set(values)) > 1:
            told = "; ".join(
                f"{value or '(none)'} in {name}"
                for (name, _), value in zip(named, values, strict=True)
            )
            yield f"The {title} differ: {told}"
    for name, run in named:
        if run.ended_by in summary.ENDINGS:
            yield f"{name} is not complete: {summary.ENDINGS[run.ended_by]}"
