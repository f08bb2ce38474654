"""The programme of a run: which campaigns and probes there are, in which order, and how much of
each a budget gets. The same for the same contract, subject, seed and budget."""

from collections.abc import Iterator, Mapping

from wafermock.reports.run import Budget
from wafermock.spec import Contract

from .campaigns import CAMPAIGNS, Generated, LeftOut
from .campaigns.possible import possible, sides_of
from .campaigns.telling import silent
from .planned import Planned, Subject
from .probes import DEEP, QUICK, STANDARD, probes
from .runner import Item, Phase, needs

# The weight of probes that a budget of so many requests gets.
WEIGHTS = ((300, QUICK), (5_000, STANDARD))

# How the requests that probes leave are shared out, in parts of the whole; the last campaign
# gets what the others leave.
SHARES: Mapping[str, float] = {"boundaries": 0.35, "invalid": 0.2, "mutations": 0.1}
LAST = "generated"
# What is kept for making requests smaller that show something; of a small budget half the rest.
KEPT = 0.05
# How many requests are planned where a budget does not bound them.
UNBOUNDED = 100_000
# With less than this many requests left there is room for generated ones only.
LEAST = 60


def weight(budget: Budget) -> int:
    """Return up to which weight probes are sent."""
    if budget.requests is None:
        return DEEP
    return next((weight for most, weight in WEIGHTS if budget.requests <= most), DEEP)


def programme(
    contract: Contract,
    subject: Subject,
    seed: int,
    budget: Budget,
    *,
    supported: frozenset[str],
    spent: int = 0,
    told: list[LeftOut] | None = None,
) -> Iterator[Phase]:
    """Yield the phases of a run, after its capabilities are known. `spent` is how many requests
    those have cost; `told` takes what campaigns leave out."""
    chosen: list[Item] = list(probes(contract, subject, seed, most=weight(budget)))
    yield Phase("probes", chosen)
    sent = sum(_cost(item) for item in chosen if needs(item) <= supported)
    left = max((budget.requests or UNBOUNDED) - spent - sent, 0)
    tell = told.append if told is not None else silent
    if left < LEAST:
        yield Phase(LAST, Generated(contract, subject, seed, left // 2, tell))
        return
    left -= round(left * KEPT)
    examples = list(CAMPAIGNS["examples"](contract, subject, seed, None, tell))
    yield Phase("examples", examples)
    left = rest = max(left - len(examples), 0)
    for name, share in SHARES.items():
        count = round(left * share)
        plans = list(CAMPAIGNS[name](contract, subject, seed, count, tell))
        rest -= len(plans)
        yield Phase(name, plans)
    yield Phase(LAST, Generated(contract, subject, seed, rest, tell))


def plan_ahead(contract: Contract, model: str) -> None:
    """Do beforehand what a programme takes longest for, and keep it for `programme`: it is the
    same whatever the server can do."""
    for scene in possible(contract, model):
        sides_of(scene)


def _cost(item: Item) -> int:
    return 1 if isinstance(item, Planned) else len(item.requests)
