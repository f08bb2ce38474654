"""How quickly requests go out: a rate, a bound on how many at a time, and waiting when told to."""

import asyncio
import math
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from email.utils import parsedate_to_datetime

from .exchange import Received

# A server that says 429 and not how long: the first wait in seconds, doubled from time to time.
FIRST_WAIT = 1.0
# What is on its way when everything is stopped has so many seconds more.
GRACE = 2.0
_DURATION = re.compile(r"(?:\d+(?:\.\d*)?(?:ms|us|[dhms])?)+", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d*)?)(ms|us|[dhms])?", re.ASCII)
_UNITS: Mapping[str, float] = {
    "": 1.0, "s": 1.0, "ms": 0.001, "us": 0.000_001, "m": 60.0, "h": 3600.0, "d": 86400.0,
}  # fmt: skip
_RESET = "x-ratelimit-reset-"
_REMAINING = "x-ratelimit-remaining-"


class Interrupted(Exception):
    """The run was interrupted while a request waited for its turn."""


class Throttle:
    """Who wants to send waits here for a turn: `async with throttle.turn(): ...`.

    `rate` is in requests a second, `concurrency` how many may be on their way; None: no bound.
    """

    def __init__(
        self,
        rate: float | None = None,
        concurrency: int | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.waits = 0
        self._pace = 1.0 / rate if rate else 0.0
        self._slots = asyncio.Semaphore(concurrency) if concurrency else None
        self._clock = clock
        self._next = -math.inf  # before this time nobody sends
        self._stopped = asyncio.Event()
        self._held: set[asyncio.Timeout] = set()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn, and hold it; when all is stopped, for GRACE seconds more. Raises
        Interrupted."""
        async with self._slots or nullcontext():
            await self._wait()
            bound = asyncio.Timeout(None)
            self._held.add(bound)
            try:
                async with bound:
                    yield
            except TimeoutError:
                if bound.expired():
                    raise Interrupted from None
                raise
            finally:
                self._held.discard(bound)

    def pause(self, seconds: float) -> None:
        """Nobody sends for so long: the server said so."""
        self.waits += 1
        self._next = max(self._next, self._clock() + seconds)

    def stop(self) -> None:
        """Nobody sends any more; who waits is told by Interrupted, and so is whoever has no answer
        within GRACE seconds."""
        self._stopped.set()
        until = asyncio.get_running_loop().time() + GRACE
        for bound in self._held:
            bound.reschedule(until)

    async def _wait(self) -> None:
        while True:
            if self._stopped.is_set():
                raise Interrupted
            left = self._next - self._clock()
            if left <= 0:
                break
            try:
                async with asyncio.timeout(left):
                    await self._stopped.wait()
            except TimeoutError:
                pass  # the time is over, unless more was put on it meanwhile
        if self._pace:
            # Lost time is not made up for: a rate is never gone beyond.
            self._next = max(self._next, self._clock()) + self._pace


def wait_asked(received: Received, tries: int = 0, now: float | None = None) -> float | None:
    """Return how many seconds an answer asks to wait before the request is sent again.

    None: it asks for nothing. `tries` is how often it did so before, `now` the time in Unix
    seconds. Read in this order: `retry-after-ms`, `Retry-After` (RFC 9110, section 10.2.3:
    seconds or a date), `x-ratelimit-reset-*` of the limits that are used up.
    """
    told = _retry_after_ms(received)
    if told is None:
        told = _retry_after(received, now)
    if received.status == 503:
        return told
    if received.status != 429:
        return None
    if told is None:
        told = _reset(received)
    return told if told is not None else FIRST_WAIT * 2**tries


def _retry_after_ms(received: Received) -> float | None:
    milliseconds = _number(received.header("retry-after-ms"))
    return None if milliseconds is None else milliseconds / 1000


def _retry_after(received: Received, now: float | None) -> float | None:
    value = received.header("retry-after")
    seconds = _number(value)
    if value is None or seconds is not None:
        return seconds
    until = _date(value)
    if until is None:
        return None
    # The server's own clock, where it tells it: it is that one that the date is read by.
    since = _date(received.header("date") or "")
    if since is None:
        since = time.time() if now is None else now
    return max(0.0, until - since)


def _reset(received: Received) -> float | None:
    """Return when the limits that are used up are reset; of all limits, where none is said to be
    used up, the next."""
    values = {name.lower(): value for name, value in received.headers}
    resets = {
        name.removeprefix(_RESET): seconds
        for name, value in values.items()
        if name.startswith(_RESET) and (seconds := duration(value)) is not None
    }
    used_up = [
        seconds for limit, seconds in resets.items()
        if _number(values.get(_REMAINING + limit)) == 0
    ]  # fmt: skip
    return max(used_up) if used_up else min(resets.values(), default=None)


def duration(text: str) -> float | None:
    """Read a duration in seconds: `12.5`, `20ms`, `1m30s`. None: it is none."""
    text = text.strip()
    if len(text) > 40 or not _DURATION.fullmatch(text):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def _number(text: str | None) -> float | None:
    if text is None or len(text) > 40 or not re.fullmatch(r"\s*\d+(?:\.\d*)?\s*", text, re.ASCII):
        return None
    return float(text)


def _date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
