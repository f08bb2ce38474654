"""A rule: what it asks of a request, and which of its replies has its turn."""

from typing import Literal

from msgspec import Struct

from .matching import Match
from .outcome import Prepared

# The state that every scenario begins in.
START = "start"


class Scenario(Struct, frozen=True):
    """A state that rules share: which one the rule asks for (None: any), and which one follows
    its answer (None: the same)."""

    name: str
    state: str | None = None
    goes_to: str | None = None


class Step(Struct, frozen=True):
    """A reply, and how many requests in a row get it."""

    reply: Prepared
    times: int = 1


class Rule(Struct, frozen=True):
    """A rule of a script. `identity` is the same for the same rule read again."""

    name: str
    match: Match
    steps: tuple[Step, ...]
    then: Literal["repeat", "cycle", "stop"]
    times: int | None
    after: int
    scenario: Scenario | None
    file: str
    line: int
    identity: bytes

    def step(self, hit: int) -> int | None:
        """Return which step the answer has, from 0; None where the rule has none left.

        `hit` is the number that the answer would have among those of the rule, from 1.
        """
        if self.times is not None and hit > self.times:
            return None
        left = hit - 1
        length = sum(step.times for step in self.steps)
        if left >= length:
            if self.then == "stop":
                return None
            if self.then == "repeat":
                return len(self.steps) - 1
            left %= length
        for at, step in enumerate(self.steps):
            left -= step.times
            if left < 0:
                return at
        return None

    @property
    def place(self) -> str:
        """Where the rule stands, as FILE:LINE."""
        return f"{self.file}:{self.line}"
