"""The campaign of generated requests: valid, likely, and different from each other."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from wafermock.spec import Contract

from ..generation.likely_requests import likely_request, seeded_request
from ..generation.scene import Scene
from ..planned import Planned, Subject, plan
from .possible import possible
from .telling import Tell, silent

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

CAMPAIGN = "generated"

# Of so many requests one goes to each other operation; the others are for chats.
TURN = 4


class Generated(Sequence[Planned]):
    """The first `count` likely requests. Each depends on the seed and its number alone, and is
    made when it is taken.

    The shares of streams, tools, structured outputs and of every parameter: generation/shares.py.
    `tell` hears of operations for which no request can be made.
    """

    def __init__(
        self,
        contract: Contract,
        subject: Subject,
        seed: int,
        count: int,
        tell: Tell = silent,
    ) -> None:
        self._asked = possible(contract, subject.model, CAMPAIGN, tell)
        self._subject = subject
        self._seed = seed
        self._count = count if self._asked else 0

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, number: int) -> Planned: ...
    @overload
    def __getitem__(self, number: slice) -> list[Planned]: ...

    def __getitem__(self, number: int | slice) -> Planned | list[Planned]:
        if isinstance(number, slice):
            return [self[each] for each in range(self._count)[number]]
        number = range(self._count)[number]
        scene = self._asked[turn_of(number, len(self._asked))]
        body = seeded_request(scene, self._seed, number)
        return _planned(scene, self._subject, body, {"seed": self._seed, "number": number})


def generated(
    contract: Contract,
    subject: Subject,
    seed: int = 0,
    count: int | None = None,
    tell: Tell = silent,
) -> Iterator[Planned]:
    """Plan likely requests, one after the other, without end: see `Generated`."""
    return iter(Generated(contract, subject, seed, sys.maxsize if count is None else count, tell))


def generated_plans(scene: Scene, subject: Subject) -> "SearchStrategy[Planned]":
    """Return such requests of one operation as a strategy of Hypothesis, to be shrunk."""
    from ..generation.drawn import drawn

    return drawn(lambda source: likely_request(scene, source)).map(
        lambda body: _planned(scene, subject, body, {})
    )


def _planned(
    scene: Scene, subject: Subject, body: dict[str, Any], facts: Mapping[str, Any]
) -> Planned:
    return plan(
        scene.operation,
        body,
        subject,
        campaign=CAMPAIGN,
        kind=kind_of(scene, body),
        path_values=scene.path_values,
        tokens=scene.tokens(body),
        needs=scene.needs(body),
        facts=facts,
    )


def turn_of(number: int, scenes: int) -> int:
    """Say which scene has its turn: mostly the first, each other one once in `TURN` requests."""
    position = number % (TURN * max(1, scenes - 1))
    others = position // TURN + 1
    return others if position % TURN == TURN - 1 and scenes > 1 else 0


def kind_of(scene: Scene, body: object) -> str:
    """Name the kind of a likely request: `streamed, tools`, `whole`."""
    needs = scene.needs(body)
    told = {"tools": "tools", "structured outputs": "structured output"}
    streamed = "streamed" if "streams" in needs else "whole"
    return ", ".join([streamed, *(told[need] for need in needs if need in told)])
