"""Armed: what is to go wrong next, and how often. Set from outside, used up by calls."""

import fnmatch
import threading
from collections import OrderedDict
from typing import Any, Literal

from msgspec import Struct

Kind = Literal["error", "failure", "delivery", "defect"]
KINDS: tuple[Kind, ...] = ("error", "failure", "delivery", "defect")


class Arming(Struct, frozen=True):
    """One thing to go wrong: an entry of a catalogue, for the next `times` calls.

    `name` is as the catalogue reads it, `stall:after=3`; `chosen` is what it read. `times` None:
    until it is taken back. `after` calls that fit pass unharmed first. `scope` is exact, `model`
    and `operation` may be globs; None: any.
    """

    kind: Kind
    name: str
    chosen: Any = None
    times: int | None = 1
    after: int = 0
    scope: str | None = None
    operation: str | None = None
    model: str | None = None

    def fits(self, scope: str, operation: str | None, model: str | None) -> bool:
        """Say whether a call is meant."""
        return (
            self.scope in (None, scope)
            and _takes(self.operation, operation)
            and _takes(self.model, model)
        )


def _takes(pattern: str | None, name: str | None) -> bool:
    return pattern is None or fnmatch.fnmatchcase(name or "", pattern)


class _Open(Struct):
    arming: Arming
    waits: int
    left: int | None


class Armed:
    """What is armed, first come, first served. Any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: OrderedDict[int, _Open] = OrderedDict()
        self._last = 0

    def arm(self, arming: Arming) -> int:
        """Arm; return a number to `disarm` by. Raises ValueError: not at least once."""
        if arming.times is not None and arming.times < 1:
            raise ValueError(f"a failure is armed for at least one call, not {arming.times}")
        if arming.after < 0:
            raise ValueError(f"no less than 0 calls can pass first, not {arming.after}")
        with self._lock:
            self._last += 1
            self._open[self._last] = _Open(arming, arming.after, arming.times)
            return self._last

    def disarm(self, number: int) -> bool:
        """Take one back; say whether it was there."""
        with self._lock:
            return self._open.pop(number, None) is not None

    def reset(self, scope: str | None = None) -> None:
        """Take all back, or those for one scope."""
        with self._lock:
            kept = [(n, o) for n, o in self._open.items() if scope not in (None, o.arming.scope)]
            self._open = OrderedDict(kept)

    @property
    def listed(self) -> list[tuple[int, Arming, int | None]]:
        """What is armed: number, arming, and for how many calls still."""
        if not self._open:  # as a rule, and every call asks
            return []
        with self._lock:
            return [(number, entry.arming, entry.left) for number, entry in self._open.items()]

    def take(self, scope: str, operation: str | None, model: str | None) -> Arming | None:
        """Use up one for a call; None, at almost no cost, where nothing is armed for it."""
        if not self._open:
            return None
        with self._lock:
            for number, entry in self._open.items():
                if not entry.arming.fits(scope, operation, model):
                    continue
                if entry.waits:
                    entry.waits -= 1
                    continue
                if entry.left is not None:
                    entry.left -= 1
                    if not entry.left:
                        del self._open[number]
                return entry.arming
        return None
