"""The search: from a goal to a value, choosing, building, and choosing again.

A question's options are tried one after the other; what a build cannot meet is a `Contradiction`
and makes the search try the next. Conditions (`not`, `if`, the other branches of `oneOf`) are
looked at once a value is there, and become questions only if it breaks them: most values don't.
"""

from __future__ import annotations

from msgspec import Struct

from .arrays import make_array
from .bounds import Bounds, Budget
from .dialects import JSON
from .document import Node
from .draws import Draws
from .equality import identity, type_of
from .errors import Contradiction, Reason
from .evaluation import Evaluator
from .goal import Entry, Goal, Question, Shape
from .height import height
from .numbers import make_number
from .objects import make_object
from .shape import Shapes
from .texts import make_text
from .vocabulary import Vocabulary


class Mood(Struct, frozen=True):
    """How an attempt goes about its choices."""

    fullness: float
    """The share of optional members that are made."""
    careful: bool = False
    """Whether every part is judged as soon as it is made."""
    samples: float = 0.3
    """How often a schema's own `examples` and `default` are taken."""


class Spot(Struct):
    """Where in the instance a value is made."""

    name: str
    depth: int
    effort: int
    """How many more times a choice may be made anew for this value."""


SOFT_DEPTH = 4
"""Below this many levels, only what must be is made."""
NATURAL_VALUES = 60
"""After so many values, only what must be is made."""
EFFORT = 200
FRAMES = 120
"""How many searches may be under way within each other."""


class Search:
    """One attempt at an instance."""

    def __init__(
        self, shapes: Shapes, draws: Draws, budget: Budget, bounds: Bounds, mood: Mood
    ) -> None:
        self.shapes = shapes
        self.draws = draws
        self.budget = budget
        self.bounds = bounds
        self.mood = mood
        self.words = Vocabulary(draws)
        self.evaluator = Evaluator(budget)
        self.values = 0
        self._frames = 0

    # -- what the builders of objects and arrays ask ------------------------------------------

    def make(self, goal: Goal, name: str, depth: int) -> JSON:
        """A value for a goal. Raises `Contradiction` where none is found."""
        if depth > self.bounds.depth:
            pointer = goal.entries[0].node.pointer if goal.entries else ""
            raise Contradiction(
                pointer,
                f"the instance would be more than {self.bounds.depth} levels deep",
                ("depth", self.bounds.depth),
            )
        if not self.mood.careful:
            return self._solve(goal, Spot(name, depth, EFFORT))
        value = None
        for _ in range(3):
            value = self._solve(goal, Spot(name, depth, EFFORT))
            if all(self.evaluator.meets(entry.node, value) for entry in goal.entries):
                return value
        return value

    def lean(self, depth: int) -> bool:
        """Whether only what must be is to be made from here on."""
        return depth >= SOFT_DEPTH or self.values > NATURAL_VALUES

    def meets(self, node: Node, value: JSON) -> bool:
        """Whether a value meets a schema."""
        return self.evaluator.meets(node, value)

    def count(self, pointer: str, keyword: str) -> None:
        """Counts one value more. Raises `Contradiction` beyond the bound."""
        self.values += 1
        if self.values > self.bounds.values:
            raise Contradiction(
                pointer,
                f"the instance would have more than {self.bounds.values} values",
                (keyword, self.bounds.values),
            )

    # -- choosing ---------------------------------------------------------------------------

    def _solve(self, goal: Goal, spot: Spot) -> JSON:
        self._frames += 1
        try:
            if self._frames > FRAMES:
                raise Contradiction(
                    goal.entries[-1].node.pointer, "too many choices depend on each other"
                )
            return self._solved(goal, spot)
        finally:
            self._frames -= 1

    def _solved(self, goal: Goal, spot: Spot) -> JSON:
        shape = self.shapes.of(goal, self.budget)
        if shape.contradiction is not None:
            raise Contradiction.of(shape.contradiction)
        if shape.values is not None:
            return self._listed(goal, shape)
        if shape.samples and self.draws.chance(self.mood.samples):
            found = self._sample(goal, shape)
            if found is not None:
                return found[0]
        if shape.questions:
            return self._decide(goal, shape.questions[0], spot)
        value = self._build(shape, spot)
        for condition in shape.conditions:
            assert condition.moot is not None
            if not self.evaluator.meets(condition.moot, value):
                return self._decide(goal, condition, spot)
        return value

    def _listed(self, goal: Goal, shape: Shape) -> JSON:
        """One of the values of an `enum` that meets all the rest."""
        assert shape.values is not None
        plain = len(shape.entries) == 1 and set(shape.entries[0].node.keywords) <= _PLAIN_ENUM
        for value in self.draws.shuffled(shape.values):
            if plain or all(self.evaluator.meets(entry.node, value) for entry in goal.entries):
                return value
        raise Contradiction(
            shape.values_pointer, "none of the values listed meets the rest of the schema"
        )

    def _sample(self, goal: Goal, shape: Shape) -> tuple[JSON] | None:
        """One of the schema's own examples, where one meets the goal."""
        for value in self.draws.shuffled(shape.samples)[:3]:
            if value in (None, "", [], {}) or type_of(value) not in shape.types:
                continue
            if identity(value) in shape.excluded:
                continue
            if all(self.evaluator.meets(entry.node, value) for entry in goal.entries):
                return (value,)
        return None

    def _decide(self, goal: Goal, question: Question, spot: Spot) -> JSON:
        options = question.options()
        failures: list[Reason] = []
        for option in self._ranked(question, options, spot):
            spot.effort -= 1
            if spot.effort < 0:
                break
            self.budget.spend()
            try:
                return self._solve(goal.answered(question, option), spot)
            except Contradiction as failure:
                failures.append(failure.why)
        raise _undecided(question, len(options), failures)

    def _ranked(self, question: Question, options: list[list[Entry]], spot: Spot) -> list[int]:
        """The options in the order to try them: likely and natural ones first."""
        order = list(range(len(options)))
        if question.moot is not None:
            return order
        order = self.draws.shuffled(order)
        nodes = {index: options[index][0].node for index in order}
        dull = [index for index in order if _dull(nodes[index])]
        if dull and self.draws.chance(0.85):
            order = [index for index in order if index not in dull] + dull
        if spot.depth >= SOFT_DEPTH - 1 or self.values > NATURAL_VALUES:
            order.sort(key=lambda index: height(nodes[index], self.budget))
        return order

    # -- building ---------------------------------------------------------------------------

    def _build(self, shape: Shape, spot: Spot) -> JSON:
        failure: Reason | None = None
        self.count(shape.goal.entries[0].node.pointer if shape.goal.entries else "", "values")
        for basic in self._type_order(shape):
            try:
                return self._built(basic, shape, spot)
            except Contradiction as error:
                failure = failure or error.why
        assert failure is not None
        raise Contradiction.of(failure)

    def _built(self, basic: str, shape: Shape, spot: Spot) -> JSON:
        if basic == "object":
            return make_object(self, shape, spot.name, spot.depth)
        if basic == "array":
            return make_array(self, shape, spot.name, spot.depth)
        if basic == "string":
            return make_text(shape, spot.name, self.draws, self.words, self.budget, self.bounds)
        if basic in ("integer", "fraction"):
            self.budget.spend()
            return make_number(shape, basic == "integer", spot.name, self.draws)
        options: list[JSON] = [None] if basic == "null" else self.draws.shuffled([True, False])
        for value in options:
            if identity(value) not in shape.excluded:
                return value
        pointer = shape.goal.entries[0].node.pointer
        raise Contradiction(pointer, f"every {basic} value is ruled out")

    def _type_order(self, shape: Shape) -> list[str]:
        types = list(shape.types)
        if len(types) == 1:
            return types
        if len(types) == len(_ANY):
            hinted = [basic for basic in shape.hints if basic in shape.types]
            return hinted + [basic for basic in _ANY if basic not in hinted]
        if set(types) == {"integer", "fraction"}:
            order = ["fraction", "integer"]
            return order if self.draws.chance(0.6) else order[::-1]
        order = self.draws.shuffled(types)
        hinted = [basic for basic in order if basic in shape.hints]
        rest = [basic for basic in order if basic not in hinted and basic != "null"]
        nulls = [basic for basic in order if basic == "null"]
        if nulls and self.draws.chance(0.1):
            return nulls + hinted + rest
        return hinted + rest + nulls


def _undecided(question: Question, ways: int, failures: list[Reason]) -> Contradiction:
    """What is said of a choice of which no way leads to an instance."""
    if not failures:
        return Contradiction(question.pointer, "this cannot be met beside the rest")
    first = next((why for why in failures if why.excess), failures[0])
    if ways == 1:
        return Contradiction.of(first)
    root = first.root or first
    return Contradiction(
        question.pointer,
        f"none of the {ways} ways leads to an instance; the first ends at "
        f"{root.pointer or '(root)'}: {root.text}",
        first.excess,
        root,
    )


_ANY = ("string", "integer", "boolean", "fraction", "object", "array", "null")
_PLAIN_ENUM = {"type", "enum", "const", "title", "description", "default", "examples", "$comment"}


def _dull(node: Node) -> bool:
    """Whether a branch says `null`, or that it is not to be used any more."""
    schema = node.schema
    return isinstance(schema, dict) and (
        schema.get("type") == "null"
        or schema.get("deprecated") is True
        or ("const" in schema and schema["const"] is None)
        or schema.get("enum") == [None]
    )
