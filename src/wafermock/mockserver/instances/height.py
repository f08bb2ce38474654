"""The levels of the smallest instance of a schema: what leads a recursion to its end."""

from __future__ import annotations

from .bounds import Budget
from .document import Node
from .errors import Exhausted

TALLEST = 8
STEPS = 2_000
"""The most steps that one schema is worth."""


def height(node: Node, budget: Budget) -> int:
    """The levels of objects and arrays in the smallest instance; `TALLEST` for that and more.

    An estimate: assertions that contradict each other are not looked for. Costs the same number
    of steps each time, though it is worked out only once.
    """
    known: tuple[int, int] | None = node.memo.get("height")
    if known is None:
        own = Budget(STEPS)
        known = node.memo["height"] = _measured(node, own), STEPS - max(own.left, 0)
    found, cost = known
    budget.spend(cost)
    return found


def _measured(node: Node, budget: Budget) -> int:
    try:
        for levels in range(TALLEST):
            if _Levels(budget).fit(node, levels):
                return levels
    except Exhausted:
        pass
    return TALLEST


class _Levels:
    """Whether an instance of so many levels may exist."""

    NESTED = 60

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._known: dict[tuple[Node, int], bool] = {}
        self._depth = 0

    def fit(self, node: Node, levels: int) -> bool:
        """A schema that is met again from within asks nothing more of the same value."""
        key = (node, levels)
        if key not in self._known:
            self._budget.spend()
            self._known[key] = True
            self._depth += 1
            if self._depth > self.NESTED:
                raise Exhausted
            self._known[key] = node.schema is not False and self._all_fit(node, levels)
            self._depth -= 1
        return self._known[key]

    def _all_fit(self, node: Node, levels: int) -> bool:
        if isinstance(node.schema, Node):
            return self.fit(node.schema, levels)
        keywords = node.keywords
        target = node.target()
        if target is not None and not self.fit(target, levels):
            return False
        if "allOf" in keywords and not all(
            self.fit(child, levels) for child in node.children("allOf")
        ):
            return False
        for choice in ("anyOf", "oneOf"):
            if choice in keywords and not any(
                self.fit(child, levels) for child in node.children(choice)
            ):
                return False
        return "const" in keywords or "enum" in keywords or self._own_levels_fit(node, levels)

    def _own_levels_fit(self, node: Node, levels: int) -> bool:
        keywords = node.keywords
        named = keywords.get("type")
        types = set(named if isinstance(named, list) else [named])
        if types - {"object", "array"}:
            return True
        needs = []
        required = keywords.get("required")
        if types == {"object"} and isinstance(required, list):
            properties = keywords.get("properties", {})
            needs = [node.child("properties", name) for name in required if name in properties]
        elif types == {"array"} and keywords.get("minItems", 0) > 0:
            items = keywords.get("items")
            needs = [node.child("items")] if isinstance(items, dict) else []
        return levels > 0 and all(self.fit(child, levels - 1) for child in needs)
