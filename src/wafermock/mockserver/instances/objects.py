"""Objects: which members, in the schema's order, and a value for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .charset import RegexSyntax
from .dialects import JSON
from .document import Node
from .errors import Contradiction
from .goal import Entry, Goal, Shape
from .negation import sample
from .regex_text import candidates, matcher
from .shape import forbidden

if TYPE_CHECKING:
    from .search import Search

OPTIONAL = (12, 6, 3, 2, 0)
"""The most optional members of an object, by its depth."""
MAPPED = 2
"""The members of an object that maps free names to values of one kind."""


def make_object(search: Search, shape: Shape, name: str, depth: int) -> dict[str, JSON]:
    """An object that the shape allows. Raises `Contradiction`."""
    least, most = shape.least.get("minProperties"), shape.most.get("maxProperties")
    low = least.value if least else 0
    high = most.value if most else search.bounds.properties
    for limit, size, keyword in (
        (least, low, "minProperties"),
        (None, len(shape.required), "required"),
    ):
        if size > search.bounds.properties:
            pointer = limit.pointer if limit else next(iter(shape.required.values()))
            bound = search.bounds.properties
            raise Contradiction(
                pointer,
                f"{keyword} asks for {size} members, beyond the bound of {bound}",
                (keyword, bound),
            )
    members = _Members(search, shape, depth)
    for required in _with_needs(shape, shape.required):
        members.must(required)
    for optional in _chosen(search, shape, depth, low):
        if len(members.made) >= high:
            break
        members.may(optional)
    wanted = max(low, min(_free_members(search, shape, depth), high))
    if len(members.made) < wanted:
        _fill(search, shape, members, wanted)
    if len(members.made) < low:
        assert least is not None
        raise Contradiction(
            least.pointer, f"only {len(members.made)} of {low} members could be made"
        )
    if len(members.made) > high:
        assert most is not None
        raise Contradiction(
            most.pointer, f"{len(members.made)} members must be there and {high} may be"
        )
    return members.in_order()


def _with_needs(shape: Shape, names: dict[str, str]) -> list[str]:
    """The names and those that must be there because of them."""
    waiting, out = list(names), []
    while waiting:
        name = waiting.pop(0)
        if name not in out:
            out.append(name)
            waiting.extend(shape.needs.get(name, ()))
    return out


def _known(shape: Shape) -> dict[str, None]:
    """The names in `properties`, in order."""
    return {name: None for node, _ in shape.entries for name in node.keywords.get("properties", ())}


class _Members:
    """The members made so far."""

    def __init__(self, search: Search, shape: Shape, depth: int) -> None:
        self.search = search
        self.shape = shape
        self.depth = depth
        self.made: dict[str, JSON] = {}

    def must(self, name: str) -> None:
        """Makes a member that has to be there."""
        if name in self.made:
            return
        refused = self.refused(name)
        if refused is not None:
            raise refused
        try:
            self.made[name] = self.value(name)
            return
        except Contradiction as error:
            why = error.why
        goal = self.shape.member(name, self.search.budget)
        if any(entry.node.schema is False for entry in goal.entries):
            why = forbidden(self.shape, name, why)
        raise Contradiction.of(why)

    def may(self, name: str) -> bool:
        """Makes a member if it can be made, with those that it needs."""
        if name in self.made:
            return False
        added: list[str] = []
        try:
            for other in _with_needs(self.shape, {name: ""}):
                if other not in self.made:
                    if self.refused(other) is not None:
                        raise Contradiction("", "")
                    self.made[other] = self.value(other)
                    added.append(other)
        except Contradiction:
            for other in added:
                del self.made[other]
            return False
        return True

    def refused(self, name: str) -> Contradiction | None:
        """Why `propertyNames` does not allow a name; None where it does."""
        for node in self.shape.names:
            if not self.search.meets(node, name):
                return Contradiction(node.pointer, f"the name {name!r} is not allowed here")
        return None

    def value(self, name: str) -> JSON:
        return self.search.make(self.shape.member(name, self.search.budget), name, self.depth + 1)

    def in_order(self) -> dict[str, JSON]:
        """The members: those of `properties` in the schema's order, then the others."""
        ordered = {name: self.made[name] for name in _known(self.shape) if name in self.made}
        ordered.update((n, v) for n, v in self.made.items() if n not in ordered)
        return ordered


def _chosen(search: Search, shape: Shape, depth: int, low: int) -> list[str]:
    """The optional members to make."""
    known = [name for name in _known(shape) if name not in shape.required]
    if search.lean(depth):
        return known if low > len(shape.required) else []
    most = OPTIONAL[min(depth, len(OPTIONAL) - 1)]
    fullness = search.mood.fullness
    wanted = [name for name in known if search.draws.chance(fullness)]
    if len(wanted) > most:
        picked = set(search.draws.shuffled(wanted)[:most])
        wanted = [name for name in wanted if name in picked]
    if len(wanted) + len(shape.required) < low:
        wanted += [name for name in known if name not in wanted]
    if not known and not shape.required and fullness > 0.5 and low == 0:
        return _pattern_names(shape)
    return wanted


def _free_members(search: Search, shape: Shape, depth: int) -> int:
    """How many members of free names to make: a few for an object that is a map."""
    described = any(
        isinstance(free := node.keywords.get("additionalProperties"), dict) and free
        for node, _ in shape.entries
    )
    natural = search.mood.fullness > 0.5 and not search.lean(depth)
    return MAPPED if described and natural and not shape.required and not _known(shape) else 0


def _pattern_names(shape: Shape) -> list[str]:
    """For an object that is a map: a name for each pattern."""
    return [
        name
        for node, _ in shape.entries
        for pattern in node.keywords.get("patternProperties", ())
        if (name := sample(pattern)) is not None
    ]


def _fill(search: Search, shape: Shape, members: _Members, low: int) -> None:
    """Adds members of other names until there are enough."""
    failed = 0
    for name in _other_names(search, shape):
        if len(members.made) >= low or failed > 40 + 4 * low:
            return
        search.budget.spend()
        if not members.may(name):
            failed += 1


def _other_names(search: Search, shape: Shape) -> Iterator[str]:
    yield from _known(shape)
    for node in shape.names:
        for _ in range(2 * search.bounds.properties):
            try:
                made = search.make(_string(node), "key", 0)
            except Contradiction:
                break
            if isinstance(made, str):
                yield made
    patterns = [
        pattern
        for node, _ in shape.entries
        for pattern in node.keywords.get("patternProperties", ())
    ]
    for pattern in patterns:
        yield from _matching(search, pattern)
    for index in range(2 * search.bounds.properties):
        word = search.words.word()
        yield word if index < 40 else f"{word}{index}"


def _matching(search: Search, pattern: str) -> Iterator[str]:
    """Names that match a pattern, longer ones as time goes by."""
    try:
        for length in range(300):
            for text in candidates(pattern, length, length + 40, search.draws, 6):
                search.budget.spend(2 + len(text) // 4)
                if matcher(pattern)(text):
                    yield text
    except RegexSyntax:
        return


def _string(node: Node) -> Goal:
    """A goal for a name that `propertyNames` allows."""
    return Goal((Entry(node.made({"type": "string", "allOf": [node]})),))
