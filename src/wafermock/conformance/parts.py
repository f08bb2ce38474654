"""A run in parts: several processes share one programme, or one run goes on where another ended."""

import asyncio
import contextlib
import multiprocessing
import signal
import threading
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from wafermock.reports.run import Budget, Run
from wafermock.spec import load_contract

from .check import Known, Order, check
from .joining import join
from .notebook import Progress
from .runner import Shard


@dataclass(frozen=True)
class Part:
    """What another process needs to run its part: an order in which the contract is a recipe, the
    arguments of `load_contract`."""

    order: Mapping[str, Any]
    contract: tuple[str, tuple[str, ...], tuple[str, ...], bool]
    known: Known


async def check_in_parts(
    order: Order,
    contract: tuple[str, tuple[str, ...], tuple[str, ...], bool],
    processes: int,
    progress: Progress | None = None,
    interruption: asyncio.Event | None = None,
) -> Run:
    """Check an endpoint with several processes: one finds out what the server can do, each sends
    its share of the programme, and the whole is one run. Raises CannotCheck."""
    first = await check(replace(order, find_out_only=True), progress, interruption)
    if first.ended_by != "done":
        return first
    known = known_of(first)
    budget = _shared(order.budget, first, processes)
    context = multiprocessing.get_context("spawn")
    said = context.SimpleQueue()
    listening = threading.Thread(target=_listen, args=(said, progress), daemon=True)
    listening.start()
    parts = [
        Part(
            {
                "endpoint": order.endpoint,
                "budget": order.budget,
                "model": order.model,
                "api_key": order.api_key,
                "headers": order.headers,
                "seed": order.seed,
                "facts": order.facts,
                "examples": order.examples,
                "spend": budget,
                "shard": Shard(index, processes),
                "prefix": f"{index + 1}-",
            },
            contract,
            known,
        )
        for index in range(processes)
    ]
    loop = asyncio.get_running_loop()
    with ProcessPoolExecutor(
        processes, mp_context=context, initializer=_begin, initargs=(said,)
    ) as pool:
        runs = await asyncio.gather(*(loop.run_in_executor(pool, _run, part) for part in parts))
    said.put(None)
    listening.join()
    whole = join([first, *runs])
    longest = first.cost.seconds + max(run.cost.seconds for run in runs)
    position = min(run.settings["position"] for run in runs)
    return replace(
        whole,
        budget=order.budget,
        cost=replace(whole.cost, seconds=longest),
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


# ----------------------------------------------------------------------- in the other process

_said: Any = None


def _begin(said: Any) -> None:
    global _said
    _said = said


def _run(part: Part) -> Run:
    profile, documents, overlays, corrected = part.contract
    contract = load_contract(profile, documents, overlays, corrected=corrected)
    order = Order(contract=contract, **part.order)

    async def go() -> Run:
        interruption = asyncio.Event()
        with contextlib.suppress(NotImplementedError):  # Windows
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interruption.set)
        return await check(order, _Telling(), interruption, part.known)

    return asyncio.run(go())


class _Telling:
    """Tells the first process how the part goes."""

    def start(self, url: str, budget: Budget, rules: int) -> None: ...

    def phase(self, name: str, total: int | None) -> None: ...

    def advance(self, exchanges: int, tokens: int) -> None:
        _said.put(("advance", exchanges, tokens))

    def decided(self, rule: str, state: str) -> None:
        _said.put(("decided", rule, state))

    def finding(self, rule: str, state: str, text: str) -> None:
        _said.put(("finding", rule, state, text))

    def note(self, text: str) -> None:
        _said.put(("note", text))


def _listen(said: Any, progress: Progress | None) -> None:
    """Pass on what the parts tell, until nobody tells any more."""
    while (told := said.get()) is not None:
        if progress:
            getattr(progress, told[0])(*told[1:])
