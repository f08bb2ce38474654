"""What a run comes to: the facts that every report tells, taken from the run once and for all."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from shlex import quote

from .run import STATES, Exercised, Finding, Rule, Run, State, Verdict

# How a command that checked an endpoint ends.
CONFORMS = 0
FINDINGS = 1
WRONG_USAGE = 2
UNREACHABLE = 3
INTERRUPTED = 130  # as a shell says it of a process that SIGINT has ended

_ENDED = {"interrupted": INTERRUPTED, "unreachable": UNREACHABLE}
ENDINGS = {
    "budget": "the budget was spent before everything was asked",
    "interrupted": "the run was interrupted",
    "unreachable": "the endpoint could not be reached",
}
# What is broken, worst first; what was judged at all.
BROKEN: tuple[State, ...] = ("FAIL", "WARN", "INFO")
JUDGED: tuple[State, ...] = (*BROKEN, "PASS")


def exit_code(run: Run) -> int:
    """Say how a command shall end that made this run: 0 nothing fails, 1 something fails that no
    baseline knows, 3 the endpoint answered no more, 130 somebody interrupted it."""
    if run.ended_by != "interrupted" and not run.conforms:
        return FINDINGS
    return _ENDED.get(run.ended_by, CONFORMS)


@dataclass(frozen=True)
class Judged:
    """A rule with its verdict and what was found of it; the findings worst first."""

    rule: Rule
    verdict: Verdict
    findings: tuple[Finding, ...] = ()

    @property
    def state(self) -> State:
        return self.verdict.state

    @property
    def known(self) -> bool:
        """Whether it is broken only as a baseline knows."""
        return bool(self.findings) and all(finding.known for finding in self.findings)


def judged(run: Run) -> tuple[Judged, ...]:
    """Put rules, verdicts and findings together, in the order of the rules.

    A rule without a verdict has not run; a verdict or a finding of a rule that the run does not
    describe gets a rule that says no more than its id. Nothing is lost.
    """
    rules = {rule.id: rule for rule in run.rules}
    verdicts = {verdict.rule: verdict for verdict in run.verdicts}
    found: dict[str, list[Finding]] = {}
    for finding in run.findings:
        found.setdefault(finding.rule, []).append(finding)
    for id in (*verdicts, *found):
        rules.setdefault(id, Rule(id, "OTHER", "MUST", "", "", ""))
    return tuple(
        Judged(
            rule,
            verdicts.get(id) or _told_by(id, found.get(id, [])),
            tuple(sorted(found.get(id, ()), key=_rank)),
        )
        for id, rule in rules.items()
    )


def _told_by(rule: str, findings: list[Finding]) -> Verdict:
    """Make the verdict of a rule that has none: its findings tell."""
    if not findings:
        return Verdict(rule, "NOT RUN", why="the run has no verdict of it")
    worst = min((finding.state for finding in findings), key=STATES.index)
    return Verdict(rule, worst, broken=sum(finding.count for finding in findings))


def _rank(finding: Finding) -> tuple[bool, int, int]:
    return (bool(finding.known), STATES.index(finding.state), -finding.count)


def broken(run: Run) -> tuple[Judged, ...]:
    """The rules that were broken: worst first, known ones last, then by how often."""
    found = [item for item in judged(run) if item.state in BROKEN]
    return tuple(
        sorted(found, key=lambda item: (item.known, STATES.index(item.state), -item.verdict.broken))
    )


def tally(run: Run) -> dict[State, int]:
    """Count the rules by what became of them; worst first, zeros too."""
    counted = Counter(item.state for item in judged(run))
    return {state: counted[state] for state in STATES}


def score(run: Run) -> tuple[int, int]:
    """(rules that were kept, rules that were judged). Those that could not run are in neither."""
    counted = tally(run)
    return counted["PASS"], sum(counted[state] for state in JUDGED)


def sizes(run: Run) -> str:
    """How much was found, as `12 findings, 2 of them known`."""
    known = sum(bool(finding.known) for finding in run.findings)
    told = count(len(run.findings), "finding")
    return f"{told}, {known:,} of them known" if known else told


def verdict(run: Run) -> str:
    """The verdict in a few words."""
    if run.ended_by == "unreachable" and run.conforms:
        return "ANSWERS NO MORE" if run.cost.requests else "UNREACHABLE"
    told = {"FAIL": "DOES NOT CONFORM", "WARN": "CONFORMS, WITH WARNINGS"}.get(
        run.state, "CONFORMS"
    )
    _, decided = score(run)
    if not decided:
        told = "NOTHING WAS JUDGED"
    return f"INTERRUPTED ({told} so far)" if run.ended_by == "interrupted" else told


def headline(run: Run) -> str:
    """The run on one line; texts of the server are not made safe here."""
    kept, decided = score(run)
    who = f"{run.endpoint.url} ({run.endpoint.model})" if run.endpoint.model else run.endpoint.url
    cost = f"{count(run.cost.requests, 'request')}, {run.cost.seconds:.1f} s"
    return f"{verdict(run)}: {who}: {kept} of {decided} rules kept, {sizes(run)}, {cost}"


def next_steps(
    run: Run, result: str = "", page: str = "", options: Sequence[str] = ()
) -> Iterator[str]:
    """Yield what to do now, in the order in which it is best done.

    `result` is the run's result file, `page` its report in HTML, `options` are those by which the
    endpoint was reached and judged, where they are known: commands are then written as they can
    be typed.
    """
    file = quote(result) if result else "RUN.json"
    if run.ended_by == "unreachable":
        if not run.cost.requests:
            yield "Start the server, or mend the URL: nobody answered."
            return
        asked = count(run.cost.requests, "request")
        yield f"It answered no more after {asked}: start it again, and go on with --resume."
    worst = next((item for item in broken(run) if not item.known), None)
    if worst is not None:
        told = f"Begin with {worst.rule.id}"
        if worst.findings:
            id = worst.findings[0].id
            told += f", finding {id}: wafermock replay {file} --finding {id}"
            told += "".join(f" {quote(option)}" for option in options)
        yield told
        html = f"wafermock report {file} --format html --out run.html"
        yield f"Show all of it in a browser: {page or html}"
        yield f"Accept what has to stay: wafermock report baseline {file} --out baseline.yaml"
    if run.ended_by == "interrupted":
        yield f"Go on with it, by the same command with --resume: {ENDINGS[run.ended_by]}."
    if run.ended_by == "budget":
        yield f"Run it again with a larger budget: {ENDINGS[run.ended_by]}."
    if not run.findings and run.ended_by == "done":
        yield (
            f"Keep a copy of {file}, which the next run may write over, and compare the two: "
            f"wafermock report compare COPY.json {file}"
        )


@dataclass(frozen=True)
class Covered:
    """One section of the contract's coverage: what was exercised, and what was not."""

    section: str
    exercised: int
    missing: tuple[Exercised, ...]

    @property
    def total(self) -> int:
        return self.exercised + len(self.missing)


def names(items: Sequence[Exercised], limit: int) -> tuple[tuple[str, ...], int]:
    """Names of things that were not exercised, each once, and how many things they leave out.

    Several things may have one name: the alternatives of a schema have properties in common.
    """
    shown = tuple(dict.fromkeys(item.name for item in items))[:limit]
    return shown, sum(item.name not in shown for item in items)


def coverage(run: Run) -> tuple[Covered, ...]:
    """The coverage of the contract by sections, in the order of the run."""
    sections: dict[str, list[Exercised]] = {}
    for item in run.coverage:
        sections.setdefault(item.section, []).append(item)
    return tuple(
        Covered(
            name,
            sum(item.count > 0 for item in items),
            tuple(item for item in items if item.count <= 0),
        )
        for name, items in sections.items()
    )


def moment(run: Run) -> str:
    """When the run began, in UTC as RFC 3339 writes it; empty where that is no time at all."""
    try:
        return datetime.fromtimestamp(run.began, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, OSError, ValueError):
        return ""


def count(number: int, noun: str) -> str:
    """A number with its noun: `1 finding`, `1,204 requests`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def duration(seconds: float) -> str:
    """A duration for people: `12 ms`, `1.25 s`."""
    return f"{seconds * 1000:.3g} ms" if abs(seconds) < 1 else f"{seconds:.3g} s"


def quantity(name: str) -> str:
    """What people call a measured quantity: `first_byte` is the first byte."""
    return name.replace("_", " ")


def measured(name: str, value: float) -> str:
    """A measured quantity with its unit: `tokens_per_second` is a rate, all else are seconds."""
    return f"{value:,.0f} tokens/s" if "second" in name else duration(value)
