"""Held streams as a test moves them: levers that never wait, and waiting that has an end.

A stream that is held stands before each part that has not been let go. The levers may be moved
before the stream has begun, and from any thread; they only say what may go. Waiting is apart, so
that a test whose client runs in the same event loop does not stop the loop it waits for.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..control.held import Dropped, Held

if TYPE_CHECKING:
    from ..control.held import Holds

# How long waiting takes at most unless told otherwise, in seconds of real time.
PATIENCE = 5.0


class HeldStream:
    """The levers of one stream. `expected` says in words which stream it is to be."""

    def __init__(self, expected: str, patience: float, given_up: Callable[[str], None]) -> None:
        if not patience > 0:
            raise ValueError(f"patience is a number of seconds above 0, not {patience!r}")
        self.expected = expected
        self.patience = patience
        self.given_up = given_up
        self.changed = threading.Condition()
        self.allowed: float = 0
        self.drops = False
        self._stream: SteeredStream | None = None
        self._sent = 0
        self._over = ""

    def __repr__(self) -> str:
        return f"<held stream: {self.expected}: {self.state}>"

    # ------------------------------------------------------------ what it is like

    @property
    def state(self) -> str:
        """`awaited` (it has not begun), `running`, `over` or `dropped`."""
        with self.changed:
            return self._over or ("running" if self._stream else "awaited")

    @property
    def sent(self) -> int:
        """How many parts have gone: events of the stream, the last one is `[DONE]`."""
        with self.changed:
            return self._sent

    @property
    def parts(self) -> int | None:
        """How many parts there are; None before it has begun."""
        with self.changed:
            return self._stream.parts if self._stream else None

    # ------------------------------------------------------------ the levers

    def emit(self, parts: int = 1) -> None:
        """Let so many more parts go. Raises ValueError for less than one."""
        __tracebackhide__ = True
        if isinstance(parts, bool) or not isinstance(parts, int) or parts < 1:
            raise ValueError(f"at least one part can go, not {parts!r}")
        with self.changed:
            self.allowed += parts
            self._move()

    def hold(self) -> None:
        """Let nothing go any more, whatever was let go and has not gone yet."""
        with self.changed:
            self.allowed = self._sent
            self._move()

    def release(self) -> None:
        """Let all that is left go."""
        with self.changed:
            self.allowed = math.inf
            self._move()

    def drop(self) -> None:
        """Cut the connection behind what was let go; in a stream that runs freely, at once."""
        with self.changed:
            if self.allowed == math.inf:
                self.allowed = self._sent
            self.drops = True
            self._move()

    # ------------------------------------------------------------ waiting

    def until_begun(self, timeout: float = PATIENCE) -> None:
        """Wait until the stream has begun. Raises TimeoutError, which says what there was."""
        __tracebackhide__ = True
        self._wait(lambda: self._stream is not None or bool(self._over), "to begin", timeout)

    def until_sent(self, parts: int | None = None, timeout: float = PATIENCE) -> None:
        """Wait until so many parts in all have gone; None: all that were let go."""
        __tracebackhide__ = True

        def gone() -> bool:
            if self._stream is None:
                return False
            wanted = self.allowed if parts is None else parts
            return self._sent >= min(wanted, self._stream.parts) or bool(self._over)

        what = "all parts let go" if parts is None else f"{parts} parts"
        self._wait(gone, f"to have sent {what}", timeout)

    def until_over(self, timeout: float = PATIENCE) -> None:
        """Wait until the stream has ended, or was dropped."""
        __tracebackhide__ = True
        self._wait(lambda: bool(self._over), "to end", timeout)

    def _wait(self, come: Callable[[], bool], what: str, timeout: float) -> None:
        __tracebackhide__ = True
        with self.changed:
            if come():
                return
            if _in_event_loop():
                raise RuntimeError(
                    "this would stop the event loop that it is called in; "
                    "write `await asyncio.to_thread(stream.until_sent, 3)`"
                )
            if not self.changed.wait_for(come, timeout):
                state = self._over or ("running" if self._stream else "awaited")
                raise TimeoutError(
                    f"waited {timeout:g} s for {self.expected} {what}; it is {state}, "
                    f"{self._sent} parts have gone"
                    + ("" if self._stream else "; was a stream asked for at all?")
                )

    # ------------------------------------------------------------ by the delivery

    def begin(self, holds: Holds, number: int, parts: int) -> Held:
        """Take the stream whose number in the journal this is; it has so many parts."""
        with self.changed:
            self._stream = SteeredStream(self, holds, number, parts)
            self.changed.notify_all()
        return self._stream

    def progress(self, sent: int, over: str = "") -> None:
        """Be told how far the stream is."""
        with self.changed:
            self._sent = max(self._sent, sent)
            self._over = self._over or over
            self.changed.notify_all()

    def end(self) -> None:
        """Drop the stream, whatever the levers say: its space closes."""
        if self._stream is not None:
            self._stream.end_here()

    def _move(self) -> None:
        if self._stream is not None:
            self._stream.move()


class SteeredStream(Held):
    """A held stream that obeys the levers of a HeldStream."""

    def __init__(self, levers: HeldStream, holds: Holds, number: int, parts: int) -> None:
        super().__init__(holds, number, parts, 0)
        self._levers = levers
        self._loop = asyncio.get_running_loop()
        self._moved = asyncio.Event()

    async def reach(self, index: int) -> None:
        """Wait until the part of an index may go. Raises Dropped."""
        levers = self._levers
        levers.progress(index)
        while True:
            self._moved.clear()
            with levers.changed:
                allowed, drops = levers.allowed, levers.drops
            if drops and index >= allowed:
                self.drop()
            if self.is_dropped:
                raise Dropped
            if index < allowed or index >= self.parts:
                return
            try:
                async with asyncio.timeout(levers.patience):
                    await self._moved.wait()
            except TimeoutError:
                levers.given_up(
                    f"{levers.expected} stood still at part {index} of {self.parts} for "
                    f"{levers.patience:g} s and was dropped; let it go with emit() or release()"
                )
                self.drop()
                raise Dropped from None

    def over(self) -> None:
        """Say that the delivery has ended."""
        super().over()
        sent, ending = (0, "dropped") if self.is_dropped else (self.parts, "over")
        self._levers.progress(sent, ending)

    def move(self) -> None:
        """Look at the levers again. Any thread may call it."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._moved.set)

    def end_here(self) -> None:
        """Drop the stream where it stands, as a space does that closes."""
        self.drop()
        self.move()


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
