"""Whoever looks on while a run runs: what it exercised of the contract, and what is new in it."""

from collections.abc import Callable, Sequence
from typing import Protocol

from wafermock.reports.run import Budget

from .coverage import Coverage
from .exchange import Exchange
from .secrets import Masking
from .spending import Spending
from .tally import Shown, Tally


class Progress(Protocol):
    """Whoever shows a run while it runs, see wafermock.reports.progress."""

    def start(self, url: str, budget: Budget, rules: int) -> None: ...

    def phase(self, name: str, total: int | None) -> None: ...

    def advance(self, exchanges: int, tokens: int) -> None: ...

    def decided(self, rule: str, state: str) -> None: ...

    def finding(self, rule: str, state: str, text: str, place: str) -> None: ...

    def note(self, text: str) -> None: ...


class Notebook:
    """Looks on for a run: what the contract's parts were exercised by, and what is new."""

    def __init__(
        self,
        coverage: Coverage,
        spending: Spending,
        progress: Progress | None,
        masking: Masking,
    ) -> None:
        self._masking = masking
        self.looking: Callable[[Exchange], None] | None = None
        self.server = ""
        self._coverage = coverage
        self._spending = spending
        self._progress = progress
        self._known: set[tuple[str, str, str]] = set()
        self._decided: set[str] = set()

    def phase(self, name: str, total: int | None) -> None:
        if self._progress:
            self._progress.phase(name, total)

    def judged(self, exchanges: Sequence[Exchange], broken: Sequence[Shown]) -> None:
        for exchange in exchanges:
            if self.looking:
                self.looking(exchange)
            self._coverage.add(exchange)
            if not self.server and exchange.received:
                self.server = exchange.received.header("server") or ""
        if not self._progress:
            return
        self._progress.advance(len(exchanges), self._spending.cost().tokens)
        for shown in broken:
            if shown.key not in self._known:
                self._known.add(shown.key)
                told = ": ".join(filter(None, (shown.breach.where, shown.breach.actual)))
                place = f"{shown.location} {shown.kind}"
                self._progress.finding(shown.rule, shown.state, self._masking.text(told), place)

    def waiting(self, seconds: float) -> None:
        """Tell that the server asks to wait."""
        if self._progress:
            self._progress.note(f"the server asks to wait {seconds:g} s")

    def decide(self, tally: Tally) -> None:
        """Tell which rules have been decided since the last time."""
        for rule, count in tally.counts.items() if self._progress else ():
            # (A rule that was only told what the server cannot do is not judged.)
            if rule not in self._decided and (count.kept or count.broken):
                self._decided.add(rule)
                assert self._progress
                self._progress.decided(rule, count.worst)
