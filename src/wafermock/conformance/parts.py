"""A run in parts: several processes share one programme, or one run goes on where another ended."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from wafermock.reports.run import Budget, Run

from .check import Known, Order, check
from .joining import join
from .notebook import Progress
from .runner import Shard
from .workers import Workers

# What workers are told of an order; they have the contract, and the rules.
_SENT = ("endpoint", "budget", "model", "api_key", "headers", "seed", "facts", "examples")


async def check_in_parts(
    order: Order,
    workers: Workers,
    progress: Progress | None = None,
    interruption: asyncio.Event | None = None,
) -> Run:
    """Check an endpoint with several processes: this one finds out what the server can do, while
    the workers plan; each then sends its share of the programme, and the whole is one run.

    A worker that is gone takes its share with it: the run tells, and counts as interrupted.
    Raises CannotCheck.
    """
    count = len(workers.each)

    def plan(named: Order) -> None:
        workers.plan([_part(named, index, count) for index in range(count)])

    first = await check(replace(order, find_out_only=True), progress, interruption, begun=plan)
    if first.ended_by != "done":
        return first
    workers.begin(known_of(first), _shared(order.budget, first, count))
    stopping = asyncio.create_task(_stop(workers, interruption)) if interruption else None
    try:
        await asyncio.to_thread(workers.hear, progress, first.cost.tokens)
    except BaseException:
        workers.end()  # there is nothing to be heard any more, and the thread ends
        raise
    finally:
        if stopping:
            stopping.cancel()
    runs = [worker.run for worker in workers.each if worker.run is not None]
    if lost := tuple(worker.lost for worker in workers.each if worker.lost):
        return _whole(order, first, runs, lost)
    for index in range(count):
        runs[index] = await _to_its_end(order, first, runs, index, interruption)
    return _whole(order, first, runs)


async def _stop(workers: Workers, interruption: asyncio.Event) -> None:
    await interruption.wait()
    workers.stop()


def _part(order: Order, index: int, count: int) -> Mapping[str, Any]:
    """Return the order of one part, as a worker takes it."""
    fields = {name: getattr(order, name) for name in _SENT}
    rules = frozenset(rule.id for rule in order.rules)
    return {**fields, "rules": rules, "shard": Shard(index, count), "prefix": f"{index + 1}-"}


async def _to_its_end(
    order: Order, first: Run, runs: Sequence[Run], index: int, interruption: asyncio.Event | None
) -> Run:
    """Go on with a part that has spent its share of the budget, if others have left some of theirs.

    It is no more than a few requests, which parts need more or fewer of: nobody is shown them.
    """
    run = runs[index]
    if run.ended_by != "budget":
        return run
    order = replace(
        order,
        skip=run.settings["position"],
        shard=Shard(index, len(runs)),
        prefix=f"{index + 1}r-",
        spend=_left(order.budget, _whole(order, first, runs)),
    )
    after = await check(order, None, interruption, known_of(first))
    return replace(join([run, after]), ended_by=after.ended_by)


def _whole(order: Order, first: Run, runs: Sequence[Run], lost: tuple[str, ...] = ()) -> Run:
    """Make one run of what was found out first, and of the parts. `lost` are notes on others."""
    whole = join([first, *runs])
    longest = first.cost.seconds + max((run.cost.seconds for run in runs), default=0.0)
    # What a part has sent that did not report is sent again by whoever goes on.
    position = min(run.settings["position"] for run in ([first] if lost else runs))
    return replace(
        whole,
        budget=order.budget,
        cost=replace(whole.cost, seconds=longest),
        ended_by="interrupted" if lost else whole.ended_by,
        notes=(*whole.notes, *lost),
        settings={**whole.settings, "position": position},
    )


def known_of(run: Run) -> Known:
    """Return what a run has found out of its server."""
    return Known(run.endpoint.model, run.capabilities, run.settings.get("facts", {}))


async def resume(
    order: Order,
    before: Run,
    progress: Progress | None = None,
    interruption: asyncio.Event | None = None,
) -> Run:
    """Go on with a run that was interrupted, or came to the end of its budget; return the whole."""
    skip = int(before.settings.get("position", 0))
    count = before.settings.get("resumed", 0) + 1
    budget = before.budget
    # A run that spent its budget gets it once more, any other what is left of it.
    spend = budget if before.ended_by == "budget" else _left(budget, before)
    order = replace(
        order, skip=skip, prefix=f"r{count}-", budget=budget, spend=spend, seed=before.seed
    )
    after = await check(order, progress, interruption, known_of(before))
    whole = join([before, after])
    return replace(
        whole,
        ended_by=after.ended_by,
        capabilities=before.capabilities,
        settings={**whole.settings, "resumed": count},
    )


def resumable(before: Run, order: Order) -> str:
    """Say why a run cannot be gone on with by an order; empty where it can."""
    contract = order.contract
    if before.ended_by == "done":
        return "it has come to its end"
    if before.endpoint.url != order.endpoint.url:
        return f"it was a run against {before.endpoint.url}"
    if not before.tool.contract.endswith(contract.fingerprint):
        return "its contract was another one (a document, an overlay, or the profile)"
    if [rule.id for rule in before.rules] != [rule.id for rule in order.rules]:
        return "it was made by another version, whose rules are others"
    return ""


def _left(budget: Budget, run: Run) -> Budget:
    """Return what a run has left of a budget."""
    cost = run.cost
    return replace(
        budget,
        requests=None if budget.requests is None else max(budget.requests - cost.requests, 0),
        tokens=None if budget.tokens is None else max(budget.tokens - cost.tokens, 0),
        seconds=None if budget.seconds is None else max(budget.seconds - cost.seconds, 0),
    )


def _shared(budget: Budget, first: Run, processes: int) -> Budget:
    """Return what one of some processes may spend of what is left."""
    left = _left(budget, first)
    return replace(
        left,
        requests=None if left.requests is None else left.requests // processes,
        tokens=None if left.tokens is None else left.tokens // processes,
        rate=None if left.rate is None else left.rate / processes,
    )
