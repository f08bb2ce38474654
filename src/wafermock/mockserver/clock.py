"""Time: one clock, frozen unless told otherwise, that tests and people can move.

A clock has two hands. The *reading* is the Unix time that answers carry and that limits refill by;
while it is frozen, answers repeat. *Passage* is what a client waits for: it runs with real time
even while the reading stands still, so that a pace of 200 ms takes 200 ms and `created` does not
change. `advance` moves both hands, `set` moves the reading alone.
"""

import asyncio
import contextlib
import re
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Literal

# The clock stands still unless told otherwise, so that answers repeat: 2026-01-01, midnight UTC.
FROZEN_TIME = 1767225600.0

# A second, in the nanoseconds that all times are kept in: whole numbers do not drift.
SECOND = 1_000_000_000

# The last second that four-digit years can write, 9999-12-31T23:59:59Z.
_LAST = 253402300799

Kind = Literal["frozen", "real", "manual"]

_DURATION = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([a-z]*)", re.ASCII)
_UNITS = {
    "ms": Decimal("0.001"),
    "s": Decimal(1),
    "": Decimal(1),
    "min": Decimal(60),
    "h": Decimal(3600),
}


class Clock:
    """A clock that any thread may read and move.

    `frozen`: the reading stands still, pauses take real time. `real`: both hands run with the
    computer's clock. `manual`: neither runs, only `advance` ends a pause; for tests that step
    through a stream. `at` is the reading to begin with, in Unix seconds.
    """

    def __init__(
        self,
        kind: Kind = "frozen",
        at: float | None = None,
        *,
        monotonic: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.kind = kind
        if at is None:
            at = time.time() if kind == "real" else FROZEN_TIME
        self._base = _moment(at)
        self._advanced = 0
        self._monotonic = monotonic
        self._origin = monotonic()
        self._moved = threading.Condition()
        self._waiters: set[asyncio.Future[None]] = set()

    def time(self) -> float:
        """Return the reading in Unix seconds."""
        return self.nanoseconds() / SECOND

    # The hands are read without the lock: each is one number, which a move replaces at once.

    def nanoseconds(self) -> int:
        """Return the reading in nanoseconds, exactly."""
        return self._base + self._ran() if self.kind == "real" else self._base

    def passage(self) -> int:
        """Return how much time has passed since the clock was made, in nanoseconds."""
        return self._advanced + self._ran() if self.kind != "manual" else self._advanced

    def _ran(self) -> int:
        return self._monotonic() - self._origin

    def advance(self, seconds: float) -> None:
        """Let seconds pass at once. Whoever waits for a moment that has come wakes up.

        Raises ValueError for what is not a number of seconds from 0.
        """
        if not (isinstance(seconds, int | float) and 0 <= seconds <= _LAST):  # NaN too
            raise ValueError(f"a clock advances by seconds from 0, not by {seconds!r}")
        with self._moved:
            step = nanoseconds(seconds)
            if self.nanoseconds() + step > _LAST * SECOND:
                raise ValueError(f"{seconds!r} s more, and the clock would pass the year 9999")
            self._base += step
            self._advanced += step
            self._wake()

    def set(self, unix: float) -> None:
        """Set the reading, to earlier or later. No time passes: pauses go on as they were.

        Raises ValueError for what is not a Unix time in seconds, from 1970 to 9999.
        """
        with self._moved:
            self._base = _moment(unix) - (self._ran() if self.kind == "real" else 0)
            self._wake()

    async def sleep(self, seconds: float) -> None:
        """Wait until the reading has moved by seconds; while it is frozen, someone must move it."""
        await self._wait(self.nanoseconds, self.nanoseconds() + nanoseconds(seconds), "real")

    async def wait_until(self, unix: float) -> None:
        """Wait until the reading has come to a Unix time in seconds."""
        await self._wait(self.nanoseconds, nanoseconds(unix), "real")

    async def pause(self, seconds: float) -> None:
        """Wait as long as a client is to wait: in real time, or until `advance` has covered it."""
        await self.stopwatch().reach(seconds)

    def stopwatch(self) -> "Stopwatch":
        """Start measuring passage."""
        return Stopwatch(self)

    async def _wait(self, hand: Callable[[], int], moment: int, *running: Kind) -> None:
        """Wait until a hand has come to a moment. It runs by itself in the kinds `running`."""
        loop = asyncio.get_running_loop()
        while True:
            # Looking and lying down are one step: no move of another thread falls in between.
            with self._moved:
                left = moment - hand()
                if left <= 0:
                    return
                waiter: asyncio.Future[None] = loop.create_future()
                self._waiters.add(waiter)
                self._moved.notify_all()
            try:
                timeout = left / SECOND if self.kind in running else None
                await asyncio.wait((waiter,), timeout=timeout)
            finally:
                with self._moved:
                    self._waiters.discard(waiter)

    def _wake(self) -> None:
        """Let everyone who waits look at the clock again. The lock is held."""
        for waiter in self._waiters:
            with contextlib.suppress(RuntimeError):  # its loop is closed: nobody waits any more
                waiter.get_loop().call_soon_threadsafe(_finish, waiter)
        self._waiters.clear()

    @property
    def waiting(self) -> int:
        """How many tasks wait for this clock at the moment."""
        with self._moved:
            return len(self._waiters)

    def until_waiting(self, count: int = 1, timeout: float = 5.0) -> bool:
        """Block this thread until `count` tasks of other threads wait for the clock.

        For a test that has sent a request and wants to `advance` only once the server waits.
        `timeout` is in real seconds; returns whether they came to wait in time.
        """
        with self._moved:
            return self._moved.wait_for(lambda: len(self._waiters) >= count, timeout)


class Stopwatch:
    """Measures the passage of a clock, from when it was made. Waits to points do not add up."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._start = clock.passage()

    @property
    def seconds(self) -> float:
        """How much time has passed, in seconds."""
        return (self._clock.passage() - self._start) / SECOND

    async def reach(self, seconds: float) -> None:
        """Wait until so many seconds have passed since the start."""
        moment = self._start + nanoseconds(seconds)
        await self._clock._wait(self._clock.passage, moment, "real", "frozen")


def _finish(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def nanoseconds(seconds: float) -> int:
    """Return seconds as whole nanoseconds, the nearest."""
    whole, fraction = divmod(seconds, 1)
    return int(whole) * SECOND + round(fraction * SECOND)


def _moment(unix: float) -> int:
    if not (isinstance(unix, int | float) and 0 <= unix <= _LAST):  # NaN too
        raise ValueError(f"a clock shows Unix seconds from 0 to {_LAST}, not {unix!r}")
    return nanoseconds(unix)


def parse_duration(text: str) -> float:
    """Read a duration, `200ms`, `1.5s`, `2` (seconds), `5min` or `1h`; return seconds.

    Raises ValueError with a sentence that says what was meant.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a duration; write it as 200ms, 1.5s or 2 (seconds)")
    number, unit = match.groups()
    if unit not in _UNITS:
        raise ValueError(f"{text!r}: there is no unit {unit!r}; there are ms, s, min and h")
    seconds = float(Decimal(number) * _UNITS[unit])
    if seconds > _LAST:
        raise ValueError(f"{text!r} is longer than anyone can wait")
    return seconds
