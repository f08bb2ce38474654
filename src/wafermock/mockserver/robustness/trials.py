"""Trials: every delivery and every failure, with parameters that cost no waiting where none is due.

A failure happens to one call and is over then, so that a client may show that it tries again. Only
what shows nothing in one call goes on: three failures are tried a second time, for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ..wire import DELIVERIES, Chosen, failure_catalogue

if TYPE_CHECKING:
    from wafermock.spec import Contract

    from ..wire import Catalogue

# How long a test has patience with its client, in seconds: the client under test is to be given
# shorter limits.
PATIENCE = 1.0

# In what time a slow answer comes, in patiences: too late, but it does come, so that a client
# without a limit does not hang for good.
_LATE = 1.5

# The pause before each event of a stream that crawls, in patiences: four events are too late.
_CRAWL = 0.3

# What is tried for ever as well, to see what a client makes of it.
_FOR_EVER = ("request_quota_exceeded", "service_unavailable", "reset_before_headers")

# What is tried with Retry-After as well, in seconds: the shortest that can be said.
_RETRY_AFTER = ("request_quota_exceeded:retry_after=1", "service_unavailable:retry_after=1")

# Errors that only the mock has are no failures of a real service; the catalogue says so.
_OWN = "the mock server's own"


class Trial(Struct, frozen=True):
    """Something to be tried on a client. `times` is to how many calls it happens; None: to all.

    `says` is what happens, `advice` what a client should do (of a delivery: how it is read), `on`
    which answers it shows on.
    """

    kind: Literal["delivery", "failure"]
    chosen: Chosen
    times: int | None = 1

    def __str__(self) -> str:
        """Its name in the catalogue, and what it takes; as it is chosen by, and shown as."""
        always = self.kind == "failure" and self.times is None
        return f"{self.chosen}{FOR_EVER if always else ''}"

    @property
    def name(self) -> str:
        return self.chosen.name

    @property
    def says(self) -> str:
        return self.chosen.entry.says

    @property
    def advice(self) -> str:
        return self.chosen.entry.advice

    @property
    def on(self) -> str:
        return self.chosen.entry.on


# Behind the name of a failure: it happens to every call.
FOR_EVER = " for ever"


def delivery_trials() -> list[Trial]:
    """List every legal way to deliver an answer. No one of them waits."""
    return [delivery_trial(name) for name in DELIVERIES]


def delivery_trial(text: str) -> Trial:
    """Read a delivery, `random_pieces:most=3`. Raises CatalogueError (a ValueError)."""
    return Trial("delivery", DELIVERIES.parse(text), None)


def failure_trials(contract: Contract, patience: float = PATIENCE) -> list[Trial]:
    """List every failure that a real service has. `patience` is in seconds.

    Only four wait: `slow_first_byte`, `slow_first_event` and `stall` for one patience and a half,
    `crawl` for a third of one before each event; and who heeds Retry-After, for a second.
    """
    catalogue = failure_catalogue(contract.errors)
    own = {error.name for error in contract.errors if _OWN in error.source}
    late = {"seconds": f"{patience * _LATE:.6f}"}
    taken = {
        "slow_first_byte": late,
        "slow_first_event": late,
        "stall": {"after": "1", **late},
        "crawl": {"seconds": f"{patience * _CRAWL:.6f}"},
    }
    # What comes behind some tokens comes behind the first: a test's answers are short.
    soon = [name for name in catalogue if _counts_tokens(catalogue, name)]
    chosen = [
        catalogue.choose(name, **taken.get(name, {"after": "1"} if name in soon else {}))
        for name in catalogue
        if name not in own
    ]
    chosen += [catalogue.parse(text) for text in _RETRY_AFTER]
    endless = [Trial("failure", catalogue.choose(name), None) for name in _FOR_EVER]
    return [*(Trial("failure", each) for each in chosen), *endless]


def failure_trial(text: str, contract: Contract) -> Trial:
    """Read a failure, `stall:after=2`; with ` for ever` behind it it happens to every call.

    Raises CatalogueError (a ValueError).
    """
    name = text.removesuffix(FOR_EVER)
    chosen = failure_catalogue(contract.errors).parse(name)
    return Trial("failure", chosen, None if name != text else 1)


def _counts_tokens(catalogue: Catalogue, name: str) -> bool:
    return any("tokens" in p.says and p.name == "after" for p in catalogue[name].parameters)
