"""A run as Markdown: short enough for a comment on a pull request, and complete enough to mend the
server from, by a person or by a language model.

Each finding tells what is required and by whom, what was sent, what came, and the command that
repeats it. What does not fit is left out from the end, in the order of weight, and counted.
"""

from collections.abc import Callable, Iterator

from . import summary
from .markdown_text import code, fence, prose, size, table
from .run import STATES, Finding, Run, Traffic
from .summary import Covered, Judged
from .visible import body

# The longest comment that GitHub takes.
LIMIT = 65_536
# Headers that tell nothing about the API.
_QUIET_HEADERS = {"date", "server", "connection", "accept", "accept-encoding", "user-agent", "host"}
_HEADERS = 12
_MARKS = {
    "FAIL": "❌",
    "WARN": "⚠️",
    "INFO": "ℹ️",
    "UNSUPPORTED": "➖",
    "NOT RUN": "⚪",
    "PASS": "✅",
}


def render(run: Run, limit: int = LIMIT) -> str:
    """Write a run as Markdown of at most `limit` bytes."""
    page = _Page(limit)
    page.must(_head(run))
    broken = summary.broken(run)
    page.must(_rules(broken))
    last = "".join([_coverage(run), _timings(run), _next(run)])
    if size(last) > page.left // 3:
        last = _next(run)
    page.reserve(size(last))
    _findings(page, run, broken)
    page.section("Not judged", _not_judged(run), "reasons")
    page.section("Capabilities", _capabilities(run), "capabilities")
    page.section("Notes", _notes(run), "notes")
    page.close(last)
    return page.text


class _Page:
    """Gathers text up to a length; what does not fit is counted, and told at the end."""

    # What telling of everything that was left out may need.
    _TELLING = 400

    def __init__(self, limit: int) -> None:
        self.parts: list[str] = []
        self.left = limit - self._TELLING
        self._omitted: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def reserve(self, length: int) -> None:
        """Keep so many bytes for `close`."""
        self.left -= length

    def add(self, *texts: str) -> bool:
        """Add the first of the texts that fits; say whether one did."""
        for text in texts:
            if size(text) <= self.left:
                self.left -= size(text)
                self.parts.append(text)
                return True
        return False

    def must(self, text: str) -> None:
        """Add a text, or so many lines of it as there is room for."""
        for row in text.splitlines(keepends=True):
            if not self.add(row):
                self._omitted.append("lines of the first tables")
                return

    def section(self, title: str, rows: Iterator[str], called: str) -> None:
        """Add a list with a title, if it is not empty, as far as there is room."""
        items = list(rows)
        if not items or not self.add(f"\n## {title}\n\n"):
            return
        shown = next((n for n, row in enumerate(items) if not self.add(row)), len(items))
        self.omit(len(items) - shown, called)

    def omit(self, number: int, called: str) -> None:
        """Take note that so many were left out."""
        if number:
            self._omitted.append(f"{number:,} {called}")

    def close(self, last: str) -> None:
        self.parts.append(last)
        if self._omitted:
            told = ", ".join(dict.fromkeys(self._omitted))
            self.parts.append(
                f"\nLeft out, since this text would be too long: {told}. The result file has them; "
                "`wafermock report RUN.json --format html --out run.html` shows them.\n"
            )


def _head(run: Run) -> str:
    kept, decided = summary.score(run)
    counted = summary.tally(run)
    states = [state for state in STATES if counted[state]]
    endpoint = code(run.endpoint.url)
    if run.endpoint.model:
        endpoint += f", model {code(run.endpoint.model)}"
    if run.endpoint.server:
        endpoint += f", server {code(run.endpoint.server)}"
    cost = run.cost
    lines = [
        f"# Wafermock: {summary.verdict(run).lower()}\n",
        f"\n{endpoint}\n",
        f"\n**{kept} of {decided} rules kept**, {summary.sizes(run)}.\n\n",
        table([f"{_MARKS[state]} {state}" for state in states], [[str(counted[s]) for s in states]])
        if states
        else "",
        f"\n{cost.requests:,} requests, {cost.tokens:,} tokens, {cost.seconds:.1f} s; seed "
        f"{run.seed}; budget {code(run.budget.name)}; began {summary.moment(run) or '?'}; "
        f"wafermock {code(run.tool.version)}; contract {code(run.tool.contract)}; profile "
        f"{code(run.tool.profile)}.\n",
    ]
    if run.ended_by in summary.ENDINGS:
        lines.append(f"\n**Not everything was asked:** {summary.ENDINGS[run.ended_by]}.\n")
    return "".join(lines)


def _rules(broken: tuple[Judged, ...]) -> str:
    if not broken:
        return ""
    rows = (
        [
            f"{_MARKS[item.state]} {item.state}{' (known)' if item.known else ''}",
            code(item.rule.id, cell=True),
            item.rule.level,
            str(item.verdict.broken),
            prose(item.rule.requirement, 160, cell=True),
        ]
        for item in broken
    )
    heads = ["state", "rule", "level", "times", "requirement"]
    return f"\n## Broken rules\n\n{table(heads, rows)}"


def _findings(page: _Page, run: Run, broken: tuple[Judged, ...]) -> None:
    """Add the worst finding of every rule whole, then the others by a line each."""
    if not any(item.findings for item in broken):
        return
    page.add("\n## Findings\n")
    others: list[Finding] = []
    for item in broken:
        if item.findings:
            first, *more = item.findings
            if not page.add(_whole(item, first, 1500), _whole(item, first, 300)):
                others.append(first)
            others += more
    page.section("Further findings", (_brief(finding) for finding in others), "findings")


def _whole(item: Judged, finding: Finding, limit: int) -> str:
    """A finding with all that is needed to mend it; bodies of at most `limit` bytes."""
    rule = item.rule
    facts = [
        ("Requirement", prose(rule.requirement)),
        ("Source", code(rule.source)),
        ("What it does to a client", prose(rule.guards)),
        ("In the contract", code(finding.location) if finding.location != rule.source else ""),
        ("Kind of request", code(finding.kind)),
        ("In the answer", code(finding.where)),
        ("Seen", summary.count(finding.count, "time")),
        ("Known", prose(finding.known)),
    ]
    parts = [
        f"\n### {_MARKS[finding.state]} {code(rule.id)} {finding.state} ({code(finding.id)})\n\n",
        *(f"- {name}: {text}\n" for name, text in facts if text and text != "(nothing)"),
        f"\nExpected:\n\n{fence(finding.expected, 'text', limit)}",
        f"\nActual:\n\n{fence(finding.actual, 'text', limit)}",
    ]
    for exchange in finding.traffic[:2]:
        parts.append(f"\n{_request(exchange, limit)}\n{_answer(exchange, finding.where, limit)}")
    if finding.curl:
        parts.append(f"\nRepeat it:\n\n{fence(finding.curl, 'sh', limit * 2)}")
    return "".join(parts)


def _request(exchange: Traffic, limit: int) -> str:
    head = f"{exchange.method} {exchange.target}"
    sent = _message(head, exchange.request_headers, body(exchange.request_body, limit))
    return f"Request:\n\n{fence(sent, 'http', limit * 4)}"


def _answer(exchange: Traffic, where: str, limit: int) -> str:
    if exchange.status is None:
        return f"Answer: none. {code(exchange.error or exchange.ended)}\n"
    head = f"{exchange.status} {exchange.reason}".strip()
    # The header that is at fault comes first, and the dozen of rate limits last.
    headers = sorted(
        exchange.headers,
        key=lambda pair: (
            pair[0].lower() not in where.lower(),
            pair[0].lower().startswith("x-ratelimit"),
        ),
    )
    came = _message(head, tuple(headers), body(exchange.body, limit, exchange.omitted))
    ended = f"\nThe body ended by {code(exchange.ended)}. {code(exchange.error)}\n"
    told = fence(came, "http", limit * 4)
    return f"Answer:\n\n{told}{ended if exchange.ended != 'complete' else ''}"


def _message(head: str, headers: tuple[tuple[str, str], ...], content: str) -> str:
    told = [(name, value) for name, value in headers if name.lower() not in _QUIET_HEADERS]
    rows = [f"{name}: {value[:200]}" for name, value in told[:_HEADERS]]
    if len(told) > _HEADERS:
        rows.append(f"... {len(told) - _HEADERS} more headers")
    return "\n".join([head, *rows, "", content] if content else [head, *rows])


def _brief(finding: Finding) -> str:
    where = " at ".join(code(text, 160) for text in (finding.where, finding.location) if text)
    return (
        f"- {_MARKS[finding.state]} {code(finding.rule)} {code(finding.id)}: {where}, "
        f"{code(finding.kind, 80)}: expected {code(finding.expected, 160)}, came "
        f"{code(finding.actual, 160)}{' (known)' if finding.known else ''}\n"
    )


def _not_judged(run: Run) -> Iterator[str]:
    reasons: dict[tuple[str, str], list[str]] = {}
    for item in summary.judged(run):
        if item.state in ("UNSUPPORTED", "NOT RUN"):
            reasons.setdefault((item.state, item.verdict.why), []).append(item.rule.id)
    for (state, why), rules in reasons.items():
        told = ", ".join(code(rule) for rule in rules)
        yield f"- {_MARKS[state]} {state}: {told}{f': {prose(why)}' if why else ''}\n"


def _capabilities(run: Run) -> Iterator[str]:
    for item in run.capabilities:
        why = f": {prose(item.why, 200)}" if item.why else ""
        yield f"- {_MARKS[item.state]} {prose(item.name, 80)}: {item.state}{why}\n"


def _notes(run: Run) -> Iterator[str]:
    yield from (f"- {prose(note)}\n" for note in run.notes)


def _coverage(run: Run) -> str:
    sections = summary.coverage(run)
    rows = (
        [
            prose(section.section, 80, cell=True),
            f"{section.exercised} of {section.total}",
            _missing(section),
        ]
        for section in sections
    )
    heads = ["of the contract", "exercised", "not exercised"]
    return f"\n## Coverage of the contract\n\n{table(heads, rows)}" if sections else ""


def _missing(section: Covered) -> str:
    names, left = summary.names(section.missing, 10)
    told = ", ".join(code(name, 60, cell=True) for name in names)
    return f"{told} and {left} more" if left else told


def _timings(run: Run) -> str:
    rows = (
        [
            prose(summary.quantity(name), 80, cell=True),
            *(summary.measured(name, value) for value in (spread.p50, spread.p95, spread.p99)),
            f"{spread.count:,}",
        ]
        for name, spread in run.timings.items()
    )
    heads = ["measured", "p50", "p95", "p99", "samples"]
    return f"\n## Timings\n\n{table(heads, rows)}" if run.timings else ""


def _next(run: Run) -> str:
    told: Callable[[int, str], str] = "{}. {}\n".format
    steps = [
        told(number, prose(step)) for number, step in enumerate(summary.next_steps(run), start=1)
    ]
    return f"\n## What to do next\n\n{''.join(steps)}" if steps else ""
