"""A run as a summary for a terminal: findings first, worst first, then what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, TextIO

from . import summary
from .run import Run
from .summary import Judged
from .visible import block, line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

# So many rules are shown in detail, and so many findings of each; the others by name.
RULES = 12
FINDINGS = 3
# So many things that were not exercised are named, of each section.
MISSING = 6
NARROWEST = 40

STYLES = {
    "FAIL": "bold red",
    "WARN": "yellow",
    "INFO": "cyan",
    "UNSUPPORTED": "magenta",
    "NOT RUN": "dim",
    "PASS": "green",
}


def look(stream: TextIO, environ: Mapping[str, str]) -> tuple[int, bool]:
    """How wide a text for the stream may be, in columns, and whether it may have colours.

    Colours are for terminals alone, and not where NO_COLOR is set (to anything but nothing, see
    no-color.org) or the terminal is `dumb`.
    """
    from rich.console import Console

    terminal = stream.isatty()
    color = terminal and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    if not terminal and not environ.get("COLUMNS"):
        return 100, False
    return max(Console(file=stream, _environ=environ).width, NARROWEST), color


def render(
    run: Run,
    width: int = 80,
    color: bool = False,
    quiet: bool = False,
    *,
    result: str = "",
    page: str = "",
    options: Sequence[str] = (),
) -> str:
    """Write a summary of a run, `width` columns wide; `quiet`: one line.

    `result` is the run's result file, `page` its report in HTML, if they are written already;
    `options` are those by which the endpoint was reached, for commands to have them too.
    """
    if quiet:
        return line(summary.headline(run), 2000) + "\n"
    from rich.console import Console

    written = StringIO()
    console = Console(
        file=written,
        width=max(width, NARROWEST),
        force_terminal=color,
        color_system="standard" if color else None,
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )
    _Page(console, run, tuple(summary.next_steps(run, result, page, options))).write()
    # Rich pads lines to the width where it indents; nobody wants to copy that.
    return "".join(f"{row.rstrip()}\n" for row in written.getvalue().split("\n")[:-1])


class _Page:
    """Writes the sections of a summary to a console."""

    def __init__(self, console: Console, run: Run, steps: tuple[str, ...]) -> None:
        self.console = console
        self.run = run
        self.steps = steps

    def write(self) -> None:
        self._head()
        broken = summary.broken(self.run)
        for item in broken[:RULES]:
            self._rule(item)
        self._others(broken[RULES:])
        self._undecided()
        self._capabilities()
        self._coverage()
        self._timings()
        for note in self.run.notes:
            self._say(f"note: {line(note)}", style="dim")
        self._next()

    def _head(self) -> None:
        run = self.run
        endpoint = " · ".join(
            line(text, 200)
            for text in (run.endpoint.url, run.endpoint.model, run.endpoint.server)
            if text
        )
        self._say(f"wafermock {line(run.tool.version)}: {endpoint}")
        self._say(f"contract {line(run.tool.contract)}, profile {line(run.tool.profile)}", "dim")
        kept, decided = summary.score(run)
        told = f"{summary.verdict(run)}: {kept} of {decided} rules kept, {summary.sizes(run)}"
        self._say(told, f"bold {STYLES[run.state]}" if decided else "bold")
        cost = run.cost
        self._say(
            f"{summary.count(cost.requests, 'request')}, {summary.count(cost.tokens, 'token')}, "
            f"{cost.seconds:.1f} s, seed {run.seed}, budget {line(run.budget.name)}",
            "dim",
        )
        if run.ended_by in summary.ENDINGS:
            self._say(f"Not everything was asked: {summary.ENDINGS[run.ended_by]}.", "yellow")

    def _rule(self, item: Judged) -> None:
        from rich.text import Text

        self.console.print()
        title = Text()
        title.append(item.state, STYLES[item.state])
        title.append(f" {line(item.rule.id)}", "bold")
        title.append(f" {item.rule.level}, broken {summary.count(item.verdict.broken, 'time')}")
        if item.known:
            title.append(" (known)", "dim")
        self._print(title)
        for name, text in (("", item.rule.requirement), ("why  ", item.rule.guards)):
            if text:
                self._say(f"{name}{line(text)}", indent=2)
        if item.rule.source:
            self._say(f"from {line(item.rule.source)}", "dim", indent=2)
        for finding in item.findings[:FINDINGS]:
            told = f"{line(finding.id)}  {line(finding.where)}"
            times = f", {summary.count(finding.count, 'time')}" if finding.count != 1 else ""
            self._say(f"{told}  [{line(finding.kind)}{times}]", indent=2)
            if finding.location and finding.location != item.rule.source:
                self._say(f"at       {line(finding.location)}", "dim", indent=4)
            self._say(f"expected {block(finding.expected, 400)}", indent=4)
            self._say(f"actual   {block(finding.actual, 400)}", indent=4)
            if finding.known:
                self._say(f"known    {line(finding.known)}", "dim", indent=4)
        left = len(item.findings) - FINDINGS
        if left > 0:
            self._say(f"and {summary.count(left, 'more finding')} of this rule", "dim", indent=2)

    def _others(self, items: tuple[Judged, ...]) -> None:
        if items:
            self._title("Broken as well")
        for item in items:
            text = f"{item.state} {line(item.rule.id)}: {line(item.rule.requirement, 200)}"
            self._say(text, STYLES[item.state] if not item.known else "dim", indent=2)

    def _undecided(self) -> None:
        """Say what was not judged, once for each reason."""
        for state, title in (("UNSUPPORTED", "Not supported"), ("NOT RUN", "Not run")):
            reasons: dict[str, list[str]] = {}
            for item in summary.judged(self.run):
                if item.state == state:
                    reasons.setdefault(item.verdict.why, []).append(item.rule.id)
            if reasons:
                self._title(title)
            for why, rules in reasons.items():
                told = ", ".join(line(rule) for rule in rules)
                self._say(f"{told}: {line(why)}" if why else told, "dim", indent=2)

    def _capabilities(self) -> None:
        if self.run.capabilities:
            self._title("Capabilities")
        for item in self.run.capabilities:
            self._row(item.state, f"{line(item.name)}", line(item.why, 200))

    def _coverage(self) -> None:
        sections = summary.coverage(self.run)
        if sections:
            self._title("Coverage of the contract")
        for section in sections:
            told = f"{line(section.section)}: {section.exercised} of {section.total}"
            if section.missing:
                names, left = summary.names(section.missing, MISSING)
                told += f"; not {', '.join(line(name, 80) for name in names)}"
                told += f" and {left} more" if left else ""
            self._say(told, indent=2)

    def _timings(self) -> None:
        if self.run.timings:
            self._title("Timings")
        for name, spread in self.run.timings.items():
            shown = ", ".join(
                f"{label} {summary.measured(name, value)}"
                for label, value in (("p50", spread.p50), ("p95", spread.p95), ("p99", spread.p99))
            )
            samples = summary.count(spread.count, "sample")
            self._say(f"{line(summary.quantity(name))}: {shown} ({samples})", indent=2)

    def _next(self) -> None:
        if self.steps:
            self._title("What to do next")
        for number, step in enumerate(self.steps, start=1):
            self._say(f"{number}. {line(step)}", indent=2)

    def _title(self, text: str) -> None:
        self.console.print()
        self._say(text, "bold")

    def _row(self, state: str, name: str, why: str) -> None:
        from rich.text import Text

        row = Text()
        row.append(f"{state:<11} ", STYLES[state])
        row.append(f"{name}: {why}" if why else name)
        self._print(row, indent=2)

    def _say(self, text: str, style: str = "", indent: int = 0) -> None:
        from rich.text import Text

        self._print(Text(text, style), indent)

    def _print(self, text: Text, indent: int = 0) -> None:
        """Print a text; the lines it is folded into are indented by two columns more."""
        for number, row in enumerate(self._folded(text, indent)):
            text = row.copy()
            text.pad_left(indent + (2 if number else 0))
            self.console.print(text, soft_wrap=True)

    def _folded(self, text: Text, indent: int) -> Iterator[Text]:
        yield from text.wrap(self.console, self.console.width - indent - 2, overflow="fold")
