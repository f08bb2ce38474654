"""What several schemas together ask of one value: the conjunction, and its gathered form.

A `Goal` is a conjunction: schemas that a value must meet all at once. A `Shape` is what they ask,
by type; what they leave as a choice (`anyOf`, `oneOf`, `if`, `not`, dependent schemas) is a
`Question` of it. The search answers a question by adding schemas to the goal, so that every
choice ends in a plain conjunction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, NamedTuple

from msgspec import Struct, field

from .bounds import Budget
from .dialects import JSON
from .document import Node
from .errors import Reason
from .negation import TYPES
from .regex_text import matcher


class Entry(NamedTuple):
    """A schema of a conjunction, and the `unevaluated...` schemas above it that it informs."""

    node: Node
    holders: tuple[Node, ...] = ()


class Answer(NamedTuple):
    """A question that is settled: which one, and by which of its options."""

    node: Node
    part: str
    option: int


class Goal(Struct, frozen=True):
    """Schemas that one value must meet, and the questions already answered."""

    entries: tuple[Entry, ...]
    answers: tuple[Answer, ...] = ()

    def answered(self, question: Question, option: int) -> Goal:
        """The goal with one of the question's options added."""
        entries = self.entries + tuple(question.options()[option])
        return Goal(entries, (*self.answers, Answer(question.node, question.part, option)))

    def and_(self, *nodes: Node) -> Goal:
        """The goal with more schemas."""
        return Goal(self.entries + tuple(Entry(node) for node in nodes), self.answers)


class Question(Struct, eq=False):
    """A choice that a schema leaves, with the ways to make it.

    `moot` is a schema: where the value meets it, nothing needs to be chosen. Such a question is
    asked only after a value was found wanting.
    """

    node: Node
    part: str
    options: Callable[[], list[list[Entry]]]
    moot: Node | None = None

    @property
    def pointer(self) -> str:
        """Where the choice stands in the schema."""
        return f"{self.node.pointer}/{self.part}"


class Limit(Struct):
    """A bound and the place that sets it."""

    value: Any
    pointer: str
    strict: bool = False


class Shape(Struct):
    """What a conjunction of schemas asks of one value."""

    goal: Goal
    types: dict[str, None] = field(default_factory=lambda: dict.fromkeys(TYPES))
    hints: dict[str, None] = {}
    contradiction: Reason | None = None
    values: list[JSON] | None = None
    values_pointer: str = ""
    excluded: set[Any] = set()
    entries: list[Entry] = []
    questions: list[Question] = []
    conditions: list[Question] = []
    texts: dict[str, str] = {}
    samples: list[JSON] = []
    # numbers
    lower: Limit | None = None
    upper: Limit | None = None
    multiples: list[Limit] = []
    not_multiples: list[Fraction] = []
    # sizes, by keyword
    least: dict[str, Limit] = {}
    most: dict[str, Limit] = {}
    # strings
    patterns: list[Limit] = []
    not_patterns: list[str] = []
    formats: list[str] = []
    not_formats: list[str] = []
    # objects
    required: dict[str, str] = {}
    needs: dict[str, list[str]] = {}
    names: list[Node] = []
    # arrays
    matching: int = 0
    """The steps that it takes to match a name with all of `patternProperties`."""
    unique: bool = False
    repeated: bool = False
    contains: list[tuple[Node, int, int | None]] = []
    """The schema, how many items must meet it, and how many may."""
    places: list[tuple[int, Node]] = []
    # made on demand
    members: dict[str, Goal] = {}
    item_goals: dict[tuple[int, tuple[Node, ...]], Goal] = {}
    removed: dict[str, tuple[str, str]] = {}

    def remove(self, basic: str, pointer: str, reason: str) -> None:
        """Rules a type out, with the reason."""
        if basic in self.types:
            del self.types[basic]
            self.removed[basic] = (pointer, reason)

    def only(self, allowed: Iterable[str], pointer: str, reason: str) -> None:
        """Rules out all types but these."""
        allowed = list(allowed)
        for basic in TYPES:
            if basic not in allowed:
                self.remove(basic, pointer, reason)

    def member(self, name: str, budget: Budget) -> Goal:
        """What the member of this name must meet."""
        budget.spend(1 + len(self.entries) // 32 + self.matching)
        found = self.members.get(name)
        if found is None:
            found = self.members[name] = Goal(tuple(_member_entries(self, name)))
        return found

    def item(self, index: int, matching: tuple[Node, ...] = ()) -> Goal:
        """What the item at this place must meet, if it is one that meets these `contains`."""
        found = self.item_goals.get((index, matching))
        if found is None:
            entries = (*_item_entries(self, index, matching), *map(Entry, matching))
            found = self.item_goals[index, matching] = Goal(entries)
        return found


def _member_entries(shape: Shape, name: str) -> Iterable[Entry]:
    looked_at: set[Node] = set()
    for node, holders in shape.entries:
        keywords = node.keywords
        found = False
        if name in keywords.get("properties", ()):
            found = True
            yield Entry(node.child("properties", name))
        for pattern in keywords.get("patternProperties", ()):
            if matcher(pattern)(name):
                found = True
                yield Entry(node.child("patternProperties", pattern))
        if not found and "additionalProperties" in keywords:
            found = True
            yield Entry(node.child("additionalProperties"))
        if found:
            looked_at.update(holders)
    # Inner holders come after outer ones, and what they look at is looked at for those too.
    for node, holders in reversed(shape.entries):
        if "unevaluatedProperties" in node.keywords and node not in looked_at:
            yield Entry(node.child("unevaluatedProperties"))
            looked_at.update(holders)


def _item_entries(shape: Shape, index: int, matching: tuple[Node, ...]) -> Iterable[Entry]:
    looked_at: set[Node] = set()
    for node, holders in shape.entries:
        child = _item_child(node, index)
        if child is not None:
            yield Entry(child)
            looked_at.update(holders)
        if "contains" in node.keywords and node.draft == 2020:
            contained = node.child("contains")
            if contained in matching:  # 2020-12 core, section 11.2: such an item is evaluated
                looked_at.update(holders)
        each = node.keywords.get("\0each")
        if each is not None:
            yield Entry(each)
    for node, holders in reversed(shape.entries):
        if "unevaluatedItems" in node.keywords and node not in looked_at:
            yield Entry(node.child("unevaluatedItems"))
            looked_at.update(holders)


def _item_child(node: Node, index: int) -> Node | None:
    """The schema that looks at the item at this place; None where none does."""
    keywords = node.keywords
    items = keywords.get("items")
    if isinstance(items, list):
        if index < len(items):
            return node.child("items", str(index))
        return node.child("additionalItems") if "additionalItems" in keywords else None
    before = keywords.get("prefixItems", ())
    if index < len(before):
        return node.child("prefixItems", str(index))
    return node.child("items") if items is not None else None
