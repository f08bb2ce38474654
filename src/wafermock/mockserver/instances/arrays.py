"""Arrays: how many items, which of them meet `contains`, and none twice where asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .dialects import JSON
from .document import Node
from .equality import identity
from .errors import Contradiction, Reason
from .goal import Goal, Shape
from .negation import EXCLUDED, opposite

if TYPE_CHECKING:
    from .search import Search

NATURAL = 3
"""The most items that an array has without need."""
DISTINCT_TRIES = 6


def make_array(search: Search, shape: Shape, name: str, depth: int) -> list[JSON]:
    """An array that the shape allows. Raises `Contradiction`."""
    low, wanted, high = _sizes(search, shape, depth)
    singular = name[:-1] if name.endswith("s") else name
    items: list[JSON] = []
    used: set[object] = set()
    special = _special(search, shape, low, high)
    needed = max(low, max(special, default=-1) + 1)
    for index in range(max(wanted, needed)):
        why: Reason | None = None
        for goal in _goals(search, shape, index, special.get(index, []), items):
            try:
                item = _item(search, shape, goal, singular, depth, used, items)
            except Contradiction as error:
                why = why or error.why
            else:
                items.append(item)
                used.add(identity(item))
                break
        else:
            if index >= needed:
                break
            raise _lacking(shape, why)
    if shape.repeated and items and len(used) == len(items):
        _repeat(search, shape, items, high)
    return items


def _lacking(shape: Shape, why: Reason | None) -> Contradiction:
    """What is said where an item that must be there cannot be made."""
    assert why is not None
    if why.excess and why.excess[0] == "values" and "minItems" in shape.least:
        why = Reason(_pointer(shape), why.text, ("minItems", why.excess[1]))
    return Contradiction.of(why)


def _pointer(shape: Shape) -> str:
    if "minItems" in shape.least:
        return shape.least["minItems"].pointer
    return shape.goal.entries[0].node.pointer if shape.goal.entries else ""


def _sizes(search: Search, shape: Shape, depth: int) -> tuple[int, int, int]:
    """The fewest items, how many to make, and the most."""
    least, most = shape.least.get("minItems"), shape.most.get("maxItems")
    low = least.value if least else 0
    high = most.value if most else search.bounds.items
    bound = search.bounds.items
    needed = sum(count for _, count, _ in shape.contains)
    for pointer, keyword, size in (
        (least.pointer if least else "", "minItems", low),
        *((node.pointer, "minContains", count) for node, count, _ in shape.contains),
    ):
        if size > bound:
            raise Contradiction(
                pointer, f"{keyword} {size} is beyond the bound of {bound} items", (keyword, bound)
            )
    prefix = max(
        (
            len(node.keywords.get("prefixItems", ()) or _list(node.keywords.get("items")))
            for node, _ in shape.entries
        ),
        default=0,
    )
    if search.lean(depth) or search.mood.fullness < 0.2:
        natural = low
    elif prefix and prefix <= 12:
        natural = prefix
    else:
        natural = search.draws.between(1, NATURAL if depth < 2 else 2)
    wanted = min(max(low, natural, min(needed, high)), high)
    return low, wanted, high


def _list(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []


def _special(search: Search, shape: Shape, low: int, high: int) -> dict[int, list[Node]]:
    """Which places are to meet which `contains`, and which must break a prefix of the schema."""
    special: dict[int, list[Node]] = {}
    for start, node in shape.places:
        special.setdefault(start, []).append(node)
    at = 0
    for node, count, _ in shape.contains:
        placed = 0
        while placed < count:
            if at >= high:
                at = 0  # more kinds of items than places: one item meets several
                if placed >= high:
                    raise Contradiction(
                        node.pointer, f"{count} items must meet this and {high} may be there"
                    )
            goal = shape.item(at, (*special.get(at, ()), node))
            if search.shapes.of(goal, search.budget).contradiction is None:
                special.setdefault(at, []).append(node)
                placed += 1
            elif at > low + count + 64:
                raise Contradiction(node.pointer, "no item may meet this here")
            at += 1
        at = 0 if len(shape.contains) > 1 and at >= high else at
    return special


def _goals(
    search: Search, shape: Shape, index: int, special: list[Node], items: list[JSON]
) -> Iterator[Goal]:
    """What the item may meet: one more match of a `contains` that has enough is avoided."""
    full, open_ = [], []
    for node, least, most in shape.contains:
        if node in special:
            continue
        found = sum(search.meets(node, item) for item in items) if most is not None else 0
        if most is not None and found >= min(most, least):
            full.append(opposite(node))
        if most is None or found < most:
            open_.append(node)
    yield shape.item(index, tuple(special)).and_(*full)
    # An item that nothing else looks at may be there for meeting a `contains`.
    for node in open_:
        yield shape.item(index, (*special, node))


def _item(
    search: Search,
    shape: Shape,
    goal: Goal,
    name: str,
    depth: int,
    used: set[object],
    items: list[JSON],
) -> JSON:
    if not shape.unique:
        return search.make(goal, name, depth + 1)
    for _ in range(DISTINCT_TRIES):
        item = search.make(goal, name, depth + 1)
        if identity(item) not in used:
            return item
    node = goal.entries[0].node if goal.entries else shape.entries[0].node
    item = search.make(goal.and_(node.made({EXCLUDED: list(items)})), name, depth + 1)
    if identity(item) in used:
        raise Contradiction(_pointer(shape), "there are not enough different items")
    return item


def _repeat(search: Search, shape: Shape, items: list[JSON], high: int) -> None:
    """Makes two items equal."""
    for later in range(1, len(items)):
        for earlier in range(later):
            for source, target in ((earlier, later), (later, earlier)):
                if all(
                    search.meets(entry.node, items[source]) for entry in shape.item(target).entries
                ):
                    items[target] = items[source]
                    return
    raise Contradiction(_pointer(shape), "no two items can be equal, as is asked here")
