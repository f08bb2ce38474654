"""Held streams: a stream that stands still until someone lets it go on, part by part.

A test holds the next stream, sends its request, and then decides when each part goes, or that the
connection drops. The state is plain data under a lock, so that any thread may move a stream which
another thread's event loop delivers; waiting is asyncio's.
"""

import asyncio
import contextlib
import fnmatch
import threading
from collections import OrderedDict
from typing import Literal

from msgspec import Struct

State = Literal["held", "running", "dropped", "over"]


class Dropped(Exception):
    """The stream was dropped: end its connection without another byte."""


class Order(Struct, frozen=True):
    """Hold streams that are yet to come: the next `times`, at the part `at` (0: before the first).

    `scope` is exact, `model` and `operation` may be globs; None: any.
    """

    at: int = 0
    times: int = 1
    scope: str | None = None
    operation: str | None = None
    model: str | None = None

    def __post_init__(self) -> None:
        if self.at < 0 or self.times < 1:
            raise ValueError("a stream is held at a part from 0, at least once")

    def fits(self, scope: str, operation: str | None, model: str | None) -> bool:
        """Say whether a stream is meant."""
        return (
            self.scope in (None, scope)
            and _takes(self.operation, operation)
            and _takes(self.model, model)
        )


def _takes(pattern: str | None, name: str | None) -> bool:
    return pattern is None or fnmatch.fnmatchcase(name or "", pattern)


class Shown(Struct, frozen=True):
    """A held stream as people see it: `sent` of `parts` have gone, `allowed` may."""

    number: int
    state: State
    parts: int
    sent: int
    allowed: int


class Held:
    """One stream under control. Its delivery calls `reach` before each part, and `over` at last.

    All parts before `allowed` may go.
    """

    def __init__(self, holds: "Holds", number: int, parts: int, allowed: int) -> None:
        self.number = number
        self.parts = parts
        self._holds = holds
        self._allowed = min(allowed, parts)
        self._sent = 0
        self._state: Literal["", "dropped", "over"] = ""
        self._waiter: asyncio.Future[None] | None = None

    async def reach(self, index: int) -> None:
        """Wait until the part of an index may go; all parts before it have gone.

        Raises Dropped when the stream is to end here.
        """
        lock = self._holds._changed
        while True:
            # Looking and lying down are one step: no move of another thread falls in between.
            with lock:
                self._sent = max(self._sent, index)
                if self._state == "dropped":
                    raise Dropped
                if index < self._allowed:
                    lock.notify_all()
                    return
                waiter = asyncio.get_running_loop().create_future()
                self._waiter = waiter
                lock.notify_all()
            try:
                await waiter
            finally:
                with lock:
                    self._waiter = None

    def over(self) -> None:
        """Say that the delivery has ended, whatever the reason. It is no longer listed."""
        with self._holds._changed:
            if self._state != "dropped":
                self._sent = self.parts
            self._state = self._state or "over"
            self._holds._streams.pop(self.number, None)
            self._holds._changed.notify_all()

    @property
    def is_dropped(self) -> bool:
        """Whether it ends where it stands."""
        return self._state == "dropped"

    def drop(self) -> None:
        """End where it stands, if it is not over."""
        with self._holds._changed:
            self._state = self._state or "dropped"
            self._wake()
            self._holds._changed.notify_all()

    @property
    def shown(self) -> Shown:
        with self._holds._changed:
            return self._shown()

    def _shown(self) -> Shown:
        state: State = "held" if self._waiter is not None else "running"
        return Shown(self.number, self._state or state, self.parts, self._sent, self._allowed)

    def _wake(self) -> None:
        if self._waiter is not None:
            with contextlib.suppress(RuntimeError):  # its loop is closed: nobody waits any more
                self._waiter.get_loop().call_soon_threadsafe(_finish, self._waiter)
            self._waiter = None


def _finish(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)


class Holds:
    """Which streams are held, and which are to be. Any thread may ask and move."""

    def __init__(self) -> None:
        # A condition over a lock that the same thread may take twice.
        self._changed = threading.Condition()
        self._orders: OrderedDict[int, tuple[Order, int]] = OrderedDict()
        self._last = 0
        self._streams: dict[int, Held] = {}

    # ------------------------------------------------------------ by whoever controls

    def order(self, order: Order) -> int:
        """Hold streams that are yet to come; return a number to `cancel` by."""
        with self._changed:
            self._last += 1
            self._orders[self._last] = (order, order.times)
            return self._last

    def cancel(self, number: int) -> bool:
        """Take an order back; say whether it was there. Streams held by it stay held."""
        with self._changed:
            return self._orders.pop(number, None) is not None

    @property
    def orders(self) -> list[tuple[int, Order, int]]:
        """The orders that are open: number, order, and how many streams it is still to hold."""
        with self._changed:
            return [(number, order, left) for number, (order, left) in self._orders.items()]

    @property
    def streams(self) -> list[Shown]:
        """The streams under control that are not over."""
        with self._changed:
            return [stream._shown() for stream in self._streams.values()]

    def emit(self, number: int, parts: int = 1) -> Shown:
        """Let more parts of a stream go. Raises KeyError: no such stream; ValueError: parts < 1."""
        if parts < 1:
            raise ValueError(f"at least one part can go, not {parts}")
        with self._changed:
            stream = self._streams[number]
            # What may go already counts from what has gone: two `emit(1)` are two parts.
            stream._allowed = min(max(stream._allowed, stream._sent) + parts, stream.parts)
            return self._moved(stream)

    def hold(self, number: int) -> Shown:
        """Let no further part go. Raises KeyError: no such stream."""
        with self._changed:
            stream = self._streams[number]
            stream._allowed = stream._sent
            return self._moved(stream)

    def release(self, number: int) -> Shown:
        """Let all that is left go. Raises KeyError: no such stream."""
        with self._changed:
            stream = self._streams[number]
            stream._allowed = stream.parts
            return self._moved(stream)

    def drop(self, number: int) -> Shown:
        """End a stream where it stands. Raises KeyError: no such stream."""
        with self._changed:
            stream = self._streams[number]
            stream.drop()
            return stream._shown()

    def reset(self) -> None:
        """Forget all orders and release all streams."""
        with self._changed:
            self._orders.clear()
            for number in list(self._streams):
                self.release(number)

    def drop_all(self) -> None:
        """End all streams where they stand, as a server does that stops."""
        with self._changed:
            self._orders.clear()
            for number in list(self._streams):
                self.drop(number)

    def until_held(self, count: int = 1, timeout: float = 5.0) -> bool:
        """Block this thread until `count` streams stand still, as Clock.until_waiting does.

        `timeout` is in real seconds; returns whether it came to that in time.
        """
        with self._changed:
            return self._changed.wait_for(lambda: self._standing() >= count, timeout)

    def _standing(self) -> int:
        return sum(stream._waiter is not None for stream in self._streams.values())

    def _moved(self, stream: Held) -> Shown:
        stream._wake()
        self._changed.notify_all()
        return stream._shown()

    # ------------------------------------------------------------ by the delivery

    @property
    def is_waiting(self) -> bool:
        """Whether a stream that comes may be wanted."""
        return bool(self._orders)

    def take(
        self, number: int, parts: int, scope: str, operation: str | None, model: str | None
    ) -> Held | None:
        """Take a stream under control if an order wants it; None, at almost no cost, if not.

        `number` is its number in the journal, `parts` how many it has.
        """
        if not self._orders:
            return None
        with self._changed:
            for key, (order, left) in self._orders.items():
                if order.fits(scope, operation, model):
                    if left > 1:
                        self._orders[key] = (order, left - 1)
                    else:
                        del self._orders[key]
                    held = Held(self, number, parts, order.at)
                    self._streams[number] = held
                    return held
        return None
