"""How large an instance may get and how much work one may cost, and the count of the work."""

from __future__ import annotations

from msgspec import Struct

from .errors import Exhausted


class Bounds(Struct, frozen=True):
    """Limits of one instance. A schema that asks for more is `TooLarge`."""

    items: int = 1_000
    """The most items of one array (`minItems`, `minContains`)."""
    properties: int = 1_000
    """The most properties of one object (`minProperties`, `required`)."""
    length: int = 20_000
    """The most characters of one string (`minLength`)."""
    depth: int = 32
    """The most levels of objects and arrays within each other."""
    values: int = 3_000
    """The most values (members, items, the root) in one instance."""
    steps: int = 36_000
    """The most steps of search for one instance; a step is about 10 microseconds or less."""
    patterns: int = 300_000
    """The most characters of all the schema's patterns, with their repeats written out."""
    schema_depth: int = 120
    """The most levels of objects and arrays within each other in the schema's own text."""


DEFAULT_BOUNDS = Bounds()


class Budget:
    """Steps that are left. Counted, not timed, so that the same input ends the same way."""

    __slots__ = ("left",)

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, steps: int = 1) -> None:
        """Takes `steps` away; raises `Exhausted` when none are left."""
        self.left -= steps
        if self.left < 0:
            raise Exhausted
