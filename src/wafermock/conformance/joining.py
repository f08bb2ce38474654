"""Joining runs: the parts of one, made by several processes or one after the other, as a whole."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from wafermock.reports.run import Cell, Cost, Exercised, Finding, Run, State, Verdict

from .tally import EVIDENCE, worse
from .timings import joined

# What a part of a run said of a rule counts for less than what another saw.
_UNJUDGED: tuple[State, ...] = ("NOT RUN", "UNSUPPORTED")
# How a part may end, the worst last: what somebody has stopped tells least of the server.
_ENDINGS = {"done": 0, "budget": 1, "unreachable": 2, "interrupted": 3}


def join(runs: Sequence[Run]) -> Run:
    """Join parts of a run, in their order. What they share is taken from the first; it ended as
    the part that ended worst. Raises ValueError without any."""
    if not runs:
        raise ValueError("there is no run to join")
    findings = numbered(finding for run in runs for finding in run.findings)
    of_rule: dict[str, list[str]] = {}
    for finding in findings:
        of_rule.setdefault(finding.rule, []).append(finding.id)
    verdicts = [
        replace(_verdict(each), findings=tuple(of_rule.get(each[0].rule, ())))
        for each in zip(*(run.verdicts for run in runs), strict=True)
    ]
    return replace(
        runs[0],
        cost=Cost(
            requests=sum(run.cost.requests for run in runs),
            tokens=sum(run.cost.tokens for run in runs),
            waits=sum(run.cost.waits for run in runs),
            seconds=sum(run.cost.seconds for run in runs),
        ),
        verdicts=tuple(verdicts),
        findings=findings,
        cells=_cells(runs),
        timings=joined(run.timings for run in runs),
        coverage=_coverage(runs),
        ended_by=max((run.ended_by for run in runs), key=lambda word: _ENDINGS.get(word, 0)),
        notes=tuple(dict.fromkeys(note for run in runs for note in run.notes)),
        settings={**runs[0].settings, **runs[-1].settings},
    )


def numbered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Make findings with the same key one, and number them in their order."""
    by_key: dict[tuple[str, str, str], Finding] = {}
    for finding in findings:
        known = by_key.get(finding.key)
        if known is None:
            by_key[finding.key] = finding
            continue
        best = min(known, finding, key=_weight)
        state = worse(known.state, finding.state)
        by_key[finding.key] = replace(best, count=known.count + finding.count, state=state)
    return tuple(
        replace(finding, id=f"F{number}") for number, finding in enumerate(by_key.values(), start=1)
    )


def _weight(finding: Finding) -> tuple[int, int]:
    asked = sum(len(t.request_body) + len(t.request_headers) for t in finding.traffic)
    return asked, sum(len(t.body) + t.omitted for t in finding.traffic)


def _verdict(parts: Sequence[Verdict]) -> Verdict:
    judged = [part for part in parts if part.state not in _UNJUDGED]
    if not judged:
        return max(parts, key=lambda part: _UNJUDGED.index(part.state))
    state: State = "PASS"
    for part in judged:
        state = worse(state, part.state)
    return Verdict(
        judged[0].rule,
        state,
        kept=sum(part.kept for part in judged),
        broken=sum(part.broken for part in judged),
        evidence=tuple(id for part in judged for id in part.evidence)[:EVIDENCE],
    )


def _cells(runs: Sequence[Run]) -> tuple[Cell, ...]:
    counts: Counter[tuple[str, str, str, State]] = Counter()
    for run in runs:
        for cell in run.cells:
            counts[cell.location, cell.kind, cell.rule, cell.state] += cell.count
    return tuple(Cell(*key, count=count) for key, count in sorted(counts.items()))


def _coverage(runs: Sequence[Run]) -> tuple[Exercised, ...]:
    counts: Counter[tuple[str, str, str]] = Counter()
    for run in runs:
        for one in run.coverage:
            counts[one.section, one.location, one.name] += one.count
    return tuple(Exercised(*key, count=count) for key, count in counts.items())
