"""The search that ends a deep run: Hypothesis and Schemathesis look for what campaigns missed."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path

from wafermock.spec import Contract

from .campaigns.generated import generated_plans
from .generation.scene import scenes
from .hypothesis_search import shrunk
from .planned import Planned, Subject
from .schemathesis_bridge import schemathesis_plans

# How many requests a search tries, beside those that shrinking takes; how many rules it shrinks.
EXAMPLES = 60
MOST = 5

# Sends a request, has it judged, and names the rules that fail. Raises Stopped.
Judged = Callable[[Planned], Awaitable[Collection[str]]]


async def search(
    contract: Contract, subject: Subject, seed: int, judged: Judged, database: Path | None
) -> None:
    """Search for each operation with a body: likely requests, then what Schemathesis makes of the
    schemas, valid and not. In the folder `database` it is kept what failed, and tried first the
    next time. Raises Stopped."""
    loop = asyncio.get_running_loop()

    def wait(planned: Planned) -> Collection[str]:
        # Hypothesis draws in a thread; what it draws is sent from here.
        return asyncio.run_coroutine_threadsafe(_of(judged, planned), loop).result()

    for scene in scenes(contract, subject.model):
        if scene.obstacle:
            continue
        for strategy in (
            generated_plans(scene, subject),
            schemathesis_plans(scene, subject),
            schemathesis_plans(scene, subject, invalid=True),
        ):
            await asyncio.to_thread(
                shrunk,
                strategy,
                wait,
                seed=seed,
                examples=EXAMPLES,
                database=database,
                most=MOST,
            )


async def _of(judged: Judged, planned: Planned) -> Collection[str]:
    return await judged(planned)
