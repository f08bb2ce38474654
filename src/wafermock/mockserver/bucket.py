"""A token bucket with continuous refill, reservations and exact arithmetic.

The level is a whole number: tokens times the period in nanoseconds, so that one nanosecond refills
exactly `capacity` and nothing is ever rounded. A bucket counts whatever is limited, requests or
tokens.

A reservation that is settled counts as if no more than the amount used had been taken, at the time
of the reservation. Just adding the rest back would give more than the bucket may give: what
refilled while the reservation was open would have overflowed without it.
"""

from collections.abc import Iterable

from msgspec import Struct

from .clock import SECOND


class Charge(Struct, eq=False):
    """What was taken at a time. While it is open, the amount may still change."""

    at: int
    amount: int
    open: bool = False


class Bucket:
    """Holds up to `capacity`, and refills it in `seconds`. Times are in nanoseconds.

    Time may be set back: then nothing refills, and what is to come refills as usual.
    """

    def __init__(self, capacity: int, seconds: int, now: int) -> None:
        self.capacity = capacity
        self._period = seconds * SECOND
        self._full = capacity * self._period
        self._level = self._full
        self._at = now
        # Where replaying begins, and the charges from there on: the first of them is open.
        self._begin = (self._level, now)
        self._charges: list[Charge] = []

    def remaining(self, now: int) -> int:
        """Return how much may be taken, in whole units; 0 while it is overdrawn."""
        return max(self._flow_to(now) // self._period, 0)

    def wait(self, amount: int, now: int) -> int | None:
        """Return in how many nanoseconds an amount can be taken; None: never, it is too much."""
        if amount > self.capacity:
            return None
        lacking = amount * self._period - self._flow_to(now)
        return max(-(-lacking // self.capacity), 0) if self.capacity else 0

    def until_full(self, now: int) -> int:
        """Return in how many nanoseconds the bucket will be full."""
        return self.wait(self.capacity, now) or 0

    def in_use(self, now: int) -> bool:
        """Say whether the bucket differs from a new one: not full, or with open reservations."""
        low = self._flow_to(now) < self._full
        self._fold(now)
        return low or bool(self._charges)

    def take(self, amount: int, now: int, *, reserved: bool = False) -> Charge:
        """Take an amount; a reserved one may be settled later. Whether it is there is not asked."""
        charge = Charge(now, amount, reserved)
        self._level = self._flow_to(now) - amount * self._period
        self._charges.append(charge)
        self._fold(now)
        return charge

    def settle(self, charge: Charge, used: int, now: int) -> None:
        """Say how much of a reservation was used. More than was reserved may overdraw the bucket.

        A charge that is settled, or older than the bucket's period, stays as it is: in a period
        the bucket has refilled what it was.
        """
        self._flow_to(now)
        if charge.open and now - charge.at < self._period:
            charge.amount = used
            charge.open = False
            self._fold(now)
            self._level = self._replay(now)

    def _flow_to(self, now: int) -> int:
        """Refill up to now, and return the level."""
        if now < self._at:
            self._shift(now - self._at)
        self._level = self._refilled(self._level, now - self._at)
        self._at = now
        return self._level

    def _refilled(self, level: int, elapsed: int) -> int:
        return min(self._full, level + self.capacity * elapsed)

    def _shift(self, back: int) -> None:
        """Follow a clock that was set back: all that was, was as long ago as before."""
        self._at += back
        self._begin = (self._begin[0], self._begin[1] + back)
        for charge in self._charges:
            charge.at += back

    def _fold(self, now: int) -> None:
        """Move the beginning up to the first open charge, and join charges of the same time."""
        charges: list[Charge] = []
        for charge in self._charges:
            charge.open = charge.open and now - charge.at < self._period
            if not (charge.open or charges):
                self._begin = (self._after(self._begin, [charge])[0], charge.at)
            elif charges and not (charge.open or charges[-1].open) and charges[-1].at == charge.at:
                charges[-1].amount += charge.amount
            else:
                charges.append(charge)
        self._charges = charges

    def _replay(self, now: int) -> int:
        level, at = self._after(self._begin, self._charges)
        return self._refilled(level, now - at)

    def _after(self, begin: tuple[int, int], charges: Iterable[Charge]) -> tuple[int, int]:
        level, at = begin
        for charge in charges:
            level = self._refilled(level, charge.at - at) - charge.amount * self._period
            at = charge.at
        return level, at
