"""What people see while a run runs: a live display, a few plain lines, or nothing.

The runner of `conformance` calls the methods; it knows this interface and not these classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from .run import Budget, Run
from .summary import count, score
from .visible import line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

# So many findings and notes are told while the run runs; the report has them all.
TOLD = 20


def progress(stream: TextIO, environ: Mapping[str, str], quiet: bool = False) -> Progress:
    """Choose how to show a run on a stream: live on a terminal, plain lines on anything else, and
    not at all with `quiet`."""
    if quiet:
        return Progress()
    if not stream.isatty() or environ.get("TERM") == "dumb":
        return Lines(stream)
    from rich.console import Console

    return Live(
        Console(
            file=stream,
            no_color=bool(environ.get("NO_COLOR")),
            markup=False,
            highlight=False,
            emoji=False,
            _environ=environ,
        )
    )


class Progress:
    """Keeps count of a run, and shows nothing. Use it in a `with`: leaving that ends the display,
    however the run has ended."""

    def __init__(self) -> None:
        self.budget = Budget("")
        self.name = ""
        self.requests = 0
        self.tokens = 0
        self.rules = 0
        self.states: dict[str, str] = {}
        self._found: set[tuple[str, str]] = set()
        self._told: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(self, url: str, budget: Budget, rules: int) -> None:
        """A run begins, with so many rules."""
        self.budget = budget
        self.rules = rules
        self._say(f"checking {line(url)} with {count(rules, 'rule')}, budget {line(budget.name)}")

    def phase(self, name: str, total: int | None) -> None:
        """A phase begins; `total` requests are planned, where that is known."""
        self.name = line(name)
        self._phase(total)

    def advance(self, exchanges: int, tokens: int) -> None:
        """So many more requests were answered; `tokens` is what the run has cost so far."""
        self.requests += exchanges
        self.tokens = tokens
        self._show(exchanges)

    def decided(self, rule: str, state: str) -> None:
        """A rule has a first verdict, or another one."""
        self.states[rule] = state
        self._show(0)

    def finding(self, rule: str, state: str, text: str, place: str) -> None:
        """Something new was found. The first of a rule is told. `place` is what tells it from
        other findings of the rule: processes that share a run may find the same."""
        self._found.add((rule, place))
        self._show(0)
        self._once(f"{state} {line(rule)}", f": {line(text, 160)}")

    def note(self, text: str) -> None:
        """Something that whoever waits should know: the server asks to wait, say."""
        self._once(f"note: {line(text)}")

    def end(self, run: Run) -> None:
        """The run is over."""
        self.close()

    def close(self) -> None:
        """Take the display away. May be called twice."""

    @property
    def counts(self) -> str:
        """Where the run is, on one line."""
        budget = self.budget
        told = [
            _of(self.requests, budget.requests, "request"),
            _of(self.tokens, budget.tokens, "token"),
            f"{len(self.states)} of {self.rules} rules judged",
            count(len(self._found), "finding"),
        ]
        return ", ".join(told)

    def _once(self, key: str, rest: str = "") -> None:
        if key in self._told or len(self._told) > TOLD:
            return
        self._told.add(key)
        self._say(f"{key}{rest}" if len(self._told) <= TOLD else "... the report tells the rest")

    def _say(self, text: str) -> None:
        """Write a line that stays."""

    def _phase(self, total: int | None) -> None:
        """Show that a phase begins."""

    def _show(self, exchanges: int) -> None:
        """Show the counts anew."""


class Lines(Progress):
    """Shows a run by plain lines: one a phase, one for the first finding of a rule."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    def end(self, run: Run) -> None:
        # What the run came to, in the numbers of its report: of a run that was gone on with, and
        # of parts that were joined, not all has passed here.
        told = [
            count(run.cost.requests, "request"),
            count(run.cost.tokens, "token"),
            f"{score(run)[1]} of {count(len(run.rules), 'rule')} judged",
            count(len(run.findings), "finding"),
        ]
        self._say(", ".join(told))
        super().end(run)

    def _phase(self, total: int | None) -> None:
        planned = "" if total is None else f" ({count(total, 'request')})"
        self._say(f"{self.name}{planned}; so far {self.counts}")

    def _say(self, text: str) -> None:
        # A stream of another encoding than UTF-8 shows escapes; a run does not end for that.
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        safe = text.encode(encoding, "backslashreplace").decode(encoding)
        try:
            self._stream.write(f"{safe}\n")
            self._stream.flush()
        except (OSError, ValueError):
            pass  # nobody reads it any more; the run goes on


class Live(Progress):
    """Shows a run on a terminal: a bar for the phase, the counts, and findings above them."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        self._console = console
        counts = self

        class Shown(Bars):
            """The bars, and the counts below them."""

            def get_renderables(self) -> list[RenderableType]:
                from rich.text import Text

                return [self.make_tasks_table(self.tasks), Text(f"  {counts.counts}", "dim")]

        self._bars = Shown(
            TextColumn("{task.fields[name]}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._bars.add_task("", name="", total=None)

    def start(self, url: str, budget: Budget, rules: int) -> None:
        super().start(url, budget, rules)
        self._bars.start()

    def close(self) -> None:
        self._bars.stop()

    def _phase(self, total: int | None) -> None:
        # Another task, since a task that has a total cannot lose it again.
        self._bars.remove_task(self._task)
        self._task = self._bars.add_task("", name=self.name, total=total)
        self._bars.refresh()

    def _show(self, exchanges: int) -> None:
        self._bars.advance(self._task, exchanges)

    def _say(self, text: str) -> None:
        from rich.text import Text

        style = {"FAIL": "red", "WARN": "yellow", "note:": "dim"}.get(text.split(" ")[0], "")
        self._console.print(Text(text, style))


def _of(number: int, bound: int | None, noun: str) -> str:
    return count(number, noun) if bound is None else f"{number:,} of {count(bound, noun)}"
