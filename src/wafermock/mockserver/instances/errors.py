"""The three ways in which a schema gets no instance, each with the place it lies at."""

from __future__ import annotations

from msgspec import Struct


class SchemaError(ValueError):
    """A schema that no instance is made for.

    `pointer` is the JSON pointer (RFC 6901) of the part at fault within the schema (`""` is the
    whole schema; a part of a metaschema is written `URI#POINTER`), `reason` one sentence.
    """

    def __init__(self, pointer: str, reason: str) -> None:
        super().__init__(f"{pointer or '(root)'}: {reason}")
        self.pointer = pointer
        self.reason = reason


class InvalidSchema(SchemaError):
    """Not a JSON Schema: against its metaschema, not JSON, or a `$ref` that leads nowhere."""


class Unsatisfiable(SchemaError):
    """No instance was found: `reason` says what cannot be met at `pointer`."""


class TooLarge(SchemaError):
    """Every instance, or the work of finding one, would go beyond a stated bound.

    `keyword` is the schema keyword that asks for it (or `depth`, `work`), `bound` the limit.
    """

    def __init__(self, pointer: str, reason: str, keyword: str, bound: int) -> None:
        super().__init__(pointer, reason)
        self.keyword = keyword
        self.bound = bound


class Reason(Struct, frozen=True):
    """Why there is no instance this way."""

    pointer: str
    text: str
    excess: tuple[str, int] | None = None
    """The keyword and the bound it goes beyond, where that is the reason."""
    root: Reason | None = None
    """The reason at the bottom of it, where this one only says that every way ends so."""


class Contradiction(Exception):
    """Within the search: this way leads to no instance. Caught there, never seen outside.

    What is remembered of it is its `why`: the exception itself holds on to all the frames it
    came through.
    """

    def __init__(
        self,
        pointer: str,
        text: str,
        excess: tuple[str, int] | None = None,
        root: Reason | None = None,
    ) -> None:
        super().__init__()
        self.why = Reason(pointer, text, excess, root)

    @classmethod
    def of(cls, why: Reason) -> Contradiction:
        """A contradiction for a known reason."""
        return cls(why.pointer, why.text, why.excess, why.root)


class Exhausted(Exception):
    """Within the search: the budget of steps is spent."""
