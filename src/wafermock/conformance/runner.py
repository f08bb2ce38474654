"""The runner: sends what is planned, has it judged, and stops where the budget or the user says so.

Requests may go out several at a time; they are judged in the order in which they were planned, so
that a run repeats.
"""

import asyncio
import hashlib
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from .exchange import Exchange, Probe
from .planned import Planned, PlannedProbe
from .tally import Shown, Tally
from .timings import Timings

Item = Planned | PlannedProbe

# So many requests in a row without an answer: nobody is there any more.
SILENCE = 10


class Stopped(Exception):
    """The run ends before its programme does; the argument is the word for `Run.ended_by`."""


@dataclass(frozen=True)
class Phase:
    """A part of the programme: its name for people, and what is sent in it. An item may be made
    when it is taken: one that is another run's costs nothing."""

    name: str
    items: Sequence[Item]


# What is on its way, in the order in which it was planned: position, item, and its exchanges.
_Waiting = deque[tuple[int, Item, asyncio.Task[list[Exchange]]]]


class Sender(Protocol):
    """Sends a request and returns the exchange; an answer that does not come is told in it.

    Raises Stopped where the budget does not allow it.
    """

    async def send(self, planned: Planned) -> Exchange: ...

    def allows(self, planned: Sequence[Planned]) -> bool:
        """Say whether the budget has room for requests."""
        ...


class Watcher(Protocol):
    """Whoever looks on while a run runs."""

    def phase(self, name: str, total: int | None) -> None: ...

    def judged(self, exchanges: Sequence[Exchange], broken: Sequence[Shown]) -> None: ...


@dataclass(frozen=True)
class Shard:
    """Which part of the programme is this run's: one of every `of` items in a row. Which one
    changes from row to row, the same way in every process: a programme has what costs most at
    regular intervals, and that is to be shared as well."""

    index: int = 0
    of: int = 1

    def takes(self, position: int) -> bool:
        row, place = divmod(position, self.of)
        turn = hashlib.blake2b(row.to_bytes(8, "big"), digest_size=8).digest()
        return (place + int.from_bytes(turn, "big")) % self.of == self.index


class Runner:
    """Runs phases. `position` counts the items of the programme that are behind it; the first
    `skip` of them were run before."""

    def __init__(
        self,
        sender: Sender,
        tally: Tally,
        watcher: Watcher,
        *,
        timings: Timings,
        interrupted: asyncio.Event,
        concurrency: int = 1,
        supported: frozenset[str] = frozenset(),
        skip: int = 0,
        shard: Shard = Shard(),
    ) -> None:
        self.tally = tally
        self.timings = timings
        self.position = 0
        self._sender = sender
        self._watcher = watcher
        self._interrupted = interrupted
        self._concurrency = concurrency
        self.supported = supported
        self._skip = skip
        self._shard = shard
        self._silent = 0
        self._unanswered: list[int] = []

    async def phase(self, phase: Phase) -> None:
        """Run one phase. Raises Stopped; what was on its way is judged first."""
        self._watcher.phase(phase.name, len(phase.items))
        waiting: _Waiting = deque()
        stopped = None
        try:
            for item in self._mine(phase.items):
                if self._interrupted.is_set():
                    self.position -= 1
                    raise Stopped("interrupted")
                if not self._sender.allows(_requests(item)):
                    self.position -= 1  # it is still to be sent
                    raise Stopped("budget")
                task = asyncio.create_task(self._ask(item))
                waiting.append((self.position - 1, item, task))
                while len(waiting) >= self._concurrency:
                    await self._judge_first(waiting)
        except Stopped as reason:
            stopped = reason
        except BaseException:
            for *_, task in waiting:
                task.cancel()
            raise
        while waiting:
            try:
                await self._judge_first(waiting)
            except Stopped as reason:
                stopped = stopped or reason
        if stopped:
            self.position = min([self.position, *self._unanswered])
            raise stopped

    def _mine(self, items: Sequence[Item]) -> Iterator[Item]:
        """Yield the items that are this run's to send, and that the server can be asked for."""
        for index in range(len(items)):
            position, self.position = self.position, self.position + 1
            if position < self._skip or not self._shard.takes(position):
                continue
            item = items[index]
            if needs(item) <= self.supported:
                yield item

    async def _ask(self, item: Item) -> list[Exchange]:
        requests = _requests(item)
        if isinstance(item, PlannedProbe) and item.together:
            return list(await asyncio.gather(*map(self._sender.send, requests)))
        return [await self._sender.send(planned) for planned in requests]

    async def _judge_first(self, waiting: _Waiting) -> None:
        position, item, task = waiting.popleft()
        try:
            exchanges = await task
        except Stopped:
            self._unanswered.append(position)  # whoever goes on sends it again
            raise
        broken: list[Shown] = []
        for exchange in exchanges:
            broken += self.tally.exchange(exchange)
            self.timings.add(exchange)
            self._count_silence(exchange)
        if isinstance(item, PlannedProbe):
            roles = dict(zip(item.requests, exchanges, strict=True))
            broken += self.tally.probe(Probe(exchanges[0].id, item.name, roles))
        self._watcher.judged(exchanges, broken)
        if self._silent >= SILENCE:
            raise Stopped("unreachable")

    def _count_silence(self, exchange: Exchange) -> None:
        self._silent = 0 if exchange.received is not None else self._silent + 1


def needs(item: Item) -> frozenset[str]:
    """Name the capabilities without which an item is not sent."""
    own = item.needs if isinstance(item, PlannedProbe) else ()
    return frozenset((*own, *(need for planned in _requests(item) for need in planned.needs)))


def _requests(item: Item) -> list[Planned]:
    return [item] if isinstance(item, Planned) else list(item.requests.values())
