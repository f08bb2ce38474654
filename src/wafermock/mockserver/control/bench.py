"""What the control interface moves: the parts of a running mock, as far as it needs them."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from msgspec import Struct

from wafermock.spec.errors import ErrorCatalogue

from ..clock import Clock
from ..limits import Limiter
from ..mock import Mock
from ..queueing import Queue
from .armed import Armed


class ServiceLike(Protocol):
    """A service, as service.py has it. Its limiter is replaced when limits are set, `armed` is put
    in when something is first armed."""

    @property
    def mock(self) -> Mock: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def queue(self) -> Queue: ...

    limiter: Limiter
    armed: Armed | None

    def forget(self, scope: str | None = None) -> None: ...


class RuleShown(Struct, frozen=True):
    """A rule of the script: its name, where it stands (`FILE:LINE`), and how often it answered."""

    name: str
    place: str
    used: int


class Scripts(Protocol):
    """The script of a running mock."""

    def rules(self) -> list[RuleShown]:
        """List the rules in the order they are tried."""

    def load(self, text: str, name: str, *, instead: bool) -> None:
        """Read a script (YAML or JSON) and put its rules before the others, or in their place.

        `name` is what messages call it. Raises ValueError or DocumentError; nothing has changed.
        """

    def reset(self, scope: str | None) -> None:
        """Begin all counts and scenarios anew: of a scope, or all."""


class NoScripts:
    """A mock without scripts."""

    def rules(self) -> list[RuleShown]:
        return []

    def load(self, text: str, name: str, *, instead: bool) -> None:
        raise ValueError("this server reads no scripts")

    def reset(self, scope: str | None) -> None:
        return None


class CatalogueLike(Protocol):
    """A catalogue of failures, deliveries or defects: entries by name."""

    def __iter__(self) -> Iterator[str]: ...
    def __getitem__(self, name: str, /) -> Any:
        """Return an entry, whose `says` and `advice` are sentences."""

    def parse(self, text: str) -> Any:
        """Read a choice, `stall:after=3`. Raises ValueError with a sentence."""


class _Error(Struct, frozen=True):
    says: str
    advice: str


class Errors:
    """The error catalogue of the contract, as one of the catalogues."""

    def __init__(self, errors: ErrorCatalogue) -> None:
        self._errors = errors

    def __iter__(self) -> Iterator[str]:
        return (entry.name for entry in self._errors)

    def __getitem__(self, name: str) -> _Error:
        entry = self._errors[name]
        retried = "retried by the official SDKs" if entry.retried else "not retried"
        return _Error(f"{entry.status}. {entry.when}", retried)

    def parse(self, text: str) -> str:
        name = text.strip()
        if name in self._errors:
            return name
        import difflib

        close = difflib.get_close_matches(name, list(self), n=1)
        meant = f"; did you mean {close[0]}?" if close else ""
        raise ValueError(f"there is no error {name!r}{meant} (there are {', '.join(self)})")


Catalogues = Mapping[str, CatalogueLike]
