"""What the rendering of one template may cost."""

from collections.abc import Iterable, Iterator
from typing import Any

# Steps of all loops together.
MOST_STEPS = 10_000
# Characters and items made or gone over, by all filters and operators together.
MOST_WORK = 20_000_000
# What a value costs beside its characters: to look at it takes as long as to copy so many.
VALUE = 20


class TemplateError(Exception):
    """A template that cannot be used, or that fails on a request.

    `message` is a sentence, `line` the line in the template (from 1) where it is known.
    """

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class Budget:
    """What is left. Taking more than that raises TemplateError."""

    def __init__(self) -> None:
        self._steps = MOST_STEPS
        self._work = MOST_WORK

    def steps(self, count: int) -> int:
        """Take some steps; return their number."""
        self._steps -= max(count, 0)
        if self._steps < 0:
            raise TemplateError(f"it takes more than {MOST_STEPS} steps of loops")
        return count

    def take(self, work: int) -> None:
        """Take so much work."""
        self._work -= work
        if self._work < 0:
            raise TemplateError("it goes over too much data")

    def work(self, *values: Any) -> None:
        """Take the work of going over some values once."""
        self.take(1 + sum(len(v) for v in values if isinstance(v, str | list | tuple | dict)))

    def deep(self, value: Any) -> None:
        """Take the work of going over a value and all that is in it."""
        waiting = [value]
        while waiting:
            node = waiting.pop()
            self.take(VALUE)
            if isinstance(node, str):
                self.take(len(node))
            elif isinstance(node, dict):
                self.take(VALUE * len(node) + sum(map(len, node)))
                waiting.extend(node.values())
            elif isinstance(node, list | tuple):
                waiting.extend(node)

    def over(self, values: Iterable[Any]) -> Iterator[Any]:
        """Go over some values, a step each."""
        self.work(values)
        for value in values:
            self.steps(1)
            yield value
