"""Answering in place of the upstream: what a script has an answer for need not be asked for."""

from collections.abc import Callable

from ..draws import Draws
from ..exchange import Request
from ..script import Found
from ..wire import Plan, plan

# Finds the answer of a script to a request; None: it has none.
Find = Callable[[Request], Found | None]


class ScriptAnswers:
    """Answers what a script answers, with the pace and the failures that it says."""

    def __init__(self, find: Find) -> None:
        self._find = find

    def plan(self, asked: Request, version: tuple[int, int], *, keep_alive: bool) -> Plan | None:
        """Plan the answer to a request of an HTTP version; None: the script has none."""
        found = self._find(asked)
        if found is None or found.outcome.answer is None:
            return None
        return plan(
            found.outcome.answer,
            http_version=version,
            method=asked.method,
            keep_alive=keep_alive,
            delivery=next(iter(found.outcome.delivery), None),
            failure=next(iter(found.outcome.failure), None),
            defects=found.outcome.defect,
            draws=Draws("replay", asked.method, asked.path, asked.body, found.position.hit),
        )
