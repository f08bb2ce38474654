"""One look at what an entry does."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wafermock.mockserver.exchange import Request

# What is seen with the entry, and what without it; both are of the type Seen.
Look = Callable[[Any, Any], bool]


@dataclass(frozen=True)
class Case:
    """A choice of an entry (`kind`: failure, delivery or defect), a request, and how it looks.

    `asked` is a request, or the name of one. `before` is done to the bench first. An entry that is
    `usual` is what the API does anyway: it looks no different.
    """

    kind: str
    text: str
    asked: str | Request
    look: Look
    before: Callable[[Any], None] | None = None
    usual: bool = False

    @property
    def entry(self) -> str:
        return self.text.partition(":")[0]

    def __str__(self) -> str:
        asked = self.asked if isinstance(self.asked, str) else self.asked.path.rpartition("/")[2]
        return f"{self.kind}-{self.text}-{asked}"


def looks(look: Look, seen: Any, plain: Any) -> bool:
    """Look at an answer; one that lacks what is looked for does not look like that."""
    try:
        return look(seen, plain)
    except (KeyError, IndexError, TypeError, ValueError):
        return False
