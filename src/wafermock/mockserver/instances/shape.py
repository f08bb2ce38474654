"""From a goal to its shape: references followed, assertions gathered, types ruled out."""

from __future__ import annotations

from collections.abc import Callable

from .assertions import HINTS, READERS, TYPE_IS
from .bounds import Budget
from .choices import CHOICES
from .document import Node
from .equality import identity, type_of
from .errors import Reason
from .goal import Entry, Goal, Shape


class Shapes:
    """Shapes by goal. A remembered shape costs as many steps as one that is gathered anew.

    So what a search does within its budget is the same whatever was searched for before.
    """

    MOST = 20_000

    def __init__(self) -> None:
        self._gathered: dict[Goal, tuple[Shape, int]] = {}
        self._known: dict[Goal, tuple[Shape, int]] = {}

    def of(self, goal: Goal, budget: Budget) -> Shape:
        """The shape of a goal. An object whose required members cannot be is ruled out in it."""
        return self._remembered(self._known, self._looked_ahead, goal, budget)

    def _alone(self, goal: Goal, budget: Budget) -> Shape:
        """The shape of a goal, with no look at its members."""
        return self._remembered(self._gathered, _gathered, goal, budget)

    def _remembered(
        self,
        known: dict[Goal, tuple[Shape, int]],
        work: Callable[[Goal, Budget], Shape],
        goal: Goal,
        budget: Budget,
    ) -> Shape:
        if goal in known:
            shape, cost = known[goal]
            budget.spend(cost)
            return shape
        before = budget.left
        shape = work(goal, budget)
        if len(known) >= self.MOST:
            known.clear()
        known[goal] = shape, before - budget.left
        return shape

    def _looked_ahead(self, goal: Goal, budget: Budget) -> Shape:
        shape = self._alone(goal, budget)
        if shape.contradiction is not None or "object" not in shape.types:
            return shape
        for name in shape.required:
            member = shape.member(name, budget)
            never = any(entry.node.schema is False for entry in member.entries)
            if never or len(member.entries) > 1:
                why = self._alone(member, budget).contradiction
                if why is not None:
                    ruled_out = _gathered(goal, budget)  # a shape is shared: this is another one
                    told = forbidden(shape, name, why) if never else why
                    ruled_out.remove("object", told.pointer, told.text)
                    _close(ruled_out)
                    return ruled_out
        return shape


def forbidden(shape: Shape, name: str, why: Reason) -> Reason:
    """What is said of a member that must be there where a schema `false` forbids it."""
    where = shape.required.get(name, why.pointer)
    return Reason(where, f"{name!r} must be there, and {why.pointer} rules it out", why.excess)


def _gathered(goal: Goal, budget: Budget) -> Shape:
    shape = Shape(goal)
    settled = {(answer.node, answer.part): answer.option for answer in goal.answers}
    seen: set[Entry] = set()
    waiting = list(reversed(goal.entries))
    while waiting:
        entry = waiting.pop()
        if entry in seen:
            continue
        seen.add(entry)
        budget.spend(2)
        node = entry.node
        if isinstance(node.schema, Node):
            waiting.append(Entry(node.schema, entry.holders))
            continue
        if node.schema is False:
            shape.only((), node.pointer, "the schema is false, which nothing meets")
            continue
        keywords = node.keywords
        if not keywords:
            continue
        holders = entry.holders
        if "unevaluatedProperties" in keywords or "unevaluatedItems" in keywords:
            holders = (*holders, node)
        shape.entries.append(Entry(node, holders))
        below: list[Entry] = []
        target = node.target()
        if target is not None:
            below.append(Entry(target, holders))
        for keyword, value in keywords.items():
            read = READERS.get(keyword)
            if read is not None:
                read(shape, node, value)
            elif keyword == "allOf":
                below.extend(Entry(child, holders) for child in node.children("allOf"))
            elif keyword in CHOICES:
                CHOICES[keyword](shape, node, holders, settled, below)
        waiting.extend(reversed(below))
    _close(shape)
    return shape


def _close(shape: Shape) -> None:
    """Rules out the types whose bounds leave nothing, and finds the conjunction without a type."""
    _close_sizes(shape)
    _close_numbers(shape)
    for node, _ in shape.entries:
        for keyword in node.keywords:
            hint = HINTS.get(keyword)
            if hint is not None:
                shape.hints.setdefault(hint)
    if shape.contradiction is not None:
        return
    if shape.values is not None:
        kept = [
            value
            for value in shape.values
            if type_of(value) in shape.types and identity(value) not in shape.excluded
        ]
        if not kept:
            reasons = [shape.removed[b] for b in map(type_of, shape.values) if b in shape.removed]
            why = f": {reasons[0][1]} at {reasons[0][0]}" if reasons else ""
            shape.contradiction = Reason(
                shape.values_pointer, f"each of the values listed is ruled out{why}"
            )
        shape.values = kept
    elif not shape.types:
        shape.contradiction = _no_type(shape)


def _no_type(shape: Shape) -> Reason:
    """Why no type is left: the reason that is no mere `type`, or the two that are at odds."""
    told = list(dict.fromkeys(shape.removed.values()))
    telling = [(pointer, text) for pointer, text in told if not text.startswith(TYPE_IS)]
    if telling:
        return Reason(*telling[-1])
    pointer, text = told[-1]
    others = [f", but {why} ({where or 'root'})" for where, why in told if where != pointer]
    return Reason(pointer, text + (others[0] if others else ""))


def _close_sizes(shape: Shape) -> None:
    for basic, part in (("string", "Length"), ("array", "Items"), ("object", "Properties")):
        least, most = shape.least.get(f"min{part}"), shape.most.get(f"max{part}")
        if least and most and least.value > most.value:
            shape.remove(
                basic,
                least.pointer,
                f"min{part} {least.value} is more than max{part} {most.value} at {most.pointer}",
            )
    most = shape.most.get("maxProperties")
    if most and len(shape.required) > most.value:
        shape.remove(
            "object",
            most.pointer,
            f"maxProperties is {most.value} and {len(shape.required)} are required",
        )


def _close_numbers(shape: Shape) -> None:
    lower, upper = shape.lower, shape.upper
    if lower and upper:
        empty = lower.value > upper.value
        if empty or (lower.value == upper.value and (lower.strict or upper.strict)):
            reason = f"no number is allowed both here and at {upper.pointer}"
            for basic in ("integer", "fraction"):
                shape.remove(basic, lower.pointer, reason)
