"""Searches by Hypothesis: for the smallest request that breaks a rule, one rule at a time."""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .planned import Planned

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

# Sends a request, has the answer judged, and names what is broken: the ids of rules, say.
Judged = Callable[[Planned], Collection[str]]


@dataclass(frozen=True)
class Shrunk:
    """The smallest request found that breaks something. `key` is what `Judged` called it."""

    key: str
    planned: Planned


def shrunk(
    strategy: "SearchStrategy[Planned]",
    judged: Judged,
    *,
    seed: int,
    examples: int = 100,
    database: Path | None = None,
    most: int = 10,
) -> list[Shrunk]:
    """Try requests of a strategy, and shrink what breaks something.

    What is broken is kept apart by its key: when one is shrunk, the search goes on for others, up
    to `most`. Each search tries `examples` requests, and what shrinking needs. In the folder
    `database` Hypothesis keeps what failed, and tries that first the next time. What `judged`
    raises ends the search and is raised again, after which nothing more is sent.
    """
    found: dict[str, Planned] = {}
    while len(found) < most:
        search = _Search(judged, found.keys())
        search.run(strategy, seed, examples, database)
        if search.key is None or search.smallest is None:
            break
        found[search.key] = search.smallest
    return [Shrunk(key, planned) for key, planned in found.items()]


class _Broken(AssertionError):
    """What Hypothesis shrinks."""


class _Held:
    """A plan as Hypothesis sees it. It shows the fields of a dataclass: the key is among them."""

    def __init__(self, planned: Planned) -> None:
        self.planned = planned

    def __repr__(self) -> str:
        return f"{self.planned.sent.method} {self.planned.sent.target}"


class _Search:
    """One search: the first thing found broken is what is shrunk, whatever else breaks."""

    def __init__(self, judged: Judged, known: Collection[str]) -> None:
        self.judged = judged
        self.known = set(known)
        self.key: str | None = None
        self.smallest: Planned | None = None
        self.halted: Exception | None = None

    def run(
        self,
        strategy: "SearchStrategy[Planned]",
        seed: int,
        examples: int,
        database: Path | None,
    ) -> None:
        import hypothesis
        from hypothesis.database import DirectoryBasedExampleDatabase
        from hypothesis.errors import Flaky

        # In this order: `seed` takes the database away from the settings it finds.
        @hypothesis.settings(
            max_examples=examples,
            database=DirectoryBasedExampleDatabase(database) if database else None,
            deadline=None,
            suppress_health_check=list(hypothesis.HealthCheck),
            report_multiple_bugs=False,
            print_blob=False,
            verbosity=hypothesis.Verbosity.quiet,
        )
        @hypothesis.seed(seed)
        @hypothesis.given(strategy.map(lambda planned: _Held(planned)))
        def search(held: _Held) -> None:
            self.look(held.planned)

        with suppress(_Broken, Flaky):  # a server that answers differently each time is no news
            search()
        if self.halted is not None:
            raise self.halted

    def look(self, planned: Planned) -> None:
        """Have a request judged; raises _Broken for Hypothesis to shrink."""
        if self.halted is not None:
            return
        try:
            broken = self.judged(planned)
        except Exception as error:  # the budget is spent, say: not a fault to be shrunk
            self.halted = error
            return
        new = sorted(set(broken) - self.known)
        if self.key is None and new:
            self.key = new[0]
        if self.key not in broken:
            return
        if self.smallest is None or _weight(planned) <= _weight(self.smallest):
            self.smallest = planned
        raise _Broken(self.key)


def _weight(planned: Planned) -> int:
    return len(planned.sent.body)
