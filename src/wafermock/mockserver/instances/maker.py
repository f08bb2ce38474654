"""A schema made ready, from which any number of instances are made."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from .bounds import DEFAULT_BOUNDS, Bounds, Budget
from .dialects import JSON
from .document import Graph
from .draws import Draws
from .errors import (
    Contradiction,
    Exhausted,
    InvalidSchema,
    Reason,
    TooLarge,
    Unsatisfiable,
)
from .goal import Entry, Goal
from .normal import normalised
from .search import Mood, Search
from .shape import Shapes
from .validation import Validation, patterns_weight
from .work import MOST, visits

NATURAL = (
    Mood(0.9),
    Mood(0.7),
    Mood(0.35),
    Mood(0.0, samples=0.0),
    Mood(0.0, careful=True, samples=1.0),
    Mood(0.5, careful=True),
    Mood(0.0, careful=True),
    Mood(0.2, careful=True),
)
"""The attempts at an instance, from a natural one to a bare one."""
FOR_FORMATS = 3
"""How many attempts are made to meet every `format` too, before one that is valid will do."""
MINIMAL = (Mood(0.0, samples=0.0), *NATURAL[3:])


class InstanceMaker:
    """Makes instances of one schema. What depends on the schema only is worked out once.

    `schema` is a JSON Schema, draft 2020-12 unless `$schema` names draft 4, 6, 7 or 2019-09.
    `resources` are further documents, by URI, that its references may lead to; nothing is ever
    fetched. Raises `InvalidSchema` for what is no schema, and for a reference that leads neither
    into it, nor into `resources`, nor to a metaschema.
    """

    def __init__(
        self,
        schema: dict[str, Any] | bool,
        *,
        bounds: Bounds = DEFAULT_BOUNDS,
        resources: Mapping[str, dict[str, Any] | bool] = MappingProxyType({}),
    ) -> None:
        self._bounds = bounds
        self._schema = normalised(schema, bounds.schema_depth)
        more = {uri: normalised(found, bounds.schema_depth) for uri, found in resources.items()}
        heavy = patterns_weight([self._schema, *more.values()])
        if heavy > bounds.patterns:
            raise TooLarge(
                "",
                f"the patterns, with their repeats written out, have {heavy} characters, "
                f"beyond the bound of {bounds.patterns}",
                "pattern",
                bounds.patterns,
            )
        self._graph = Graph(self._schema, more)
        if more:
            more = self._graph.documents()
        try:
            self._validator = Validation(self._schema, more, self._graph.resource.draft)
        except InvalidSchema as error:
            if error.pointer == "":
                self._graph.documents()  # says where the reference stands
            raise
        self._shapes = Shapes()
        self._goal = Goal((Entry(self._graph.root),))

    def make(self, seed: bytes | int, *, minimal: bool = False) -> JSON:
        """An instance that the validator accepts; the same one for the same seed.

        `minimal` leaves out what may be left out. Raises `Unsatisfiable` and `TooLarge`.
        """
        budget = Budget(self._bounds.steps)
        failure: Reason | None = None
        spare: list[JSON] = []
        for index, mood in enumerate(MINIMAL if minimal else NATURAL):
            if budget.left <= 0 or (spare and index >= FOR_FORMATS):
                break
            outcome = self._attempt(Draws(_number(seed, index)), budget, mood)
            if isinstance(outcome, Reason):
                failure = outcome if failure is None or _vague(failure) else failure
            elif self._validator.formatted(outcome.value):
                return outcome.value
            else:
                spare.append(outcome.value)
        if spare:
            return spare[0]
        assert failure is not None
        if failure.excess is not None:
            raise TooLarge(failure.pointer, failure.text, *failure.excess)
        raise Unsatisfiable(failure.pointer, failure.text)

    def _attempt(self, draws: Draws, budget: Budget, mood: Mood) -> _Found | Reason:
        """One search, within half of what is left of the budget."""
        share = Budget(max(budget.left // 2, 1_000))
        given = share.left
        try:
            search = Search(self._shapes, draws, share, self._bounds, mood)
            value = search.make(self._goal, "", 0)
        except Contradiction as failure:
            return failure.why
        except Exhausted:
            return Reason(
                "",
                f"no instance was found within the bound of {self._bounds.steps} steps of search",
                ("work", self._bounds.steps),
            )
        finally:
            budget.left -= given - max(share.left, 0)
        return self._too_much_work(value) or self._validator.fault(value) or _Found(value)

    def _too_much_work(self, value: JSON) -> Reason | None:
        """The reason not to validate an instance: it would take too long."""
        budget = Budget(self._bounds.steps)
        try:
            if visits(self._graph.root, value, budget, {}) <= MOST:
                return None
        except Exhausted:
            pass
        return Reason(
            "",
            f"a validation would visit more than {MOST} places, as references multiply",
            ("work", MOST),
        )


def _vague(why: Reason) -> bool:
    """Whether a reason only says that the search came to its end."""
    return why.excess is not None and why.excess[0] == "work"


class _Found(Struct, frozen=True):
    value: JSON


def make_instance(
    schema: dict[str, Any] | bool, seed: bytes | int, *, bounds: Bounds = DEFAULT_BOUNDS
) -> JSON:
    """An instance of `schema`, a function of the schema and the seed.

    Raises `InvalidSchema`, `Unsatisfiable` and `TooLarge`, each with a `pointer` and a `reason`.
    """
    return InstanceMaker(schema, bounds=bounds).make(seed)


def _number(seed: bytes | int, attempt: int) -> int:
    """An integer of 80 bits for the seed and the attempt."""
    data = seed if isinstance(seed, bytes) else str(seed).encode()
    digest = hashlib.blake2b(data, digest_size=10, salt=bytes([attempt])).digest()
    return int.from_bytes(digest, "big")
