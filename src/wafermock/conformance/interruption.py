"""Ctrl-C: a run is asked to stop, and says what it saw."""

import asyncio
import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def interruption() -> Iterator[asyncio.Event]:
    """Return an event that is set by SIGINT or SIGTERM; a second signal ends the process."""
    loop = asyncio.get_running_loop()
    event = asyncio.Event()
    listened: list[signal.Signals] = []

    def interrupted() -> None:
        event.set()
        for each in listened:
            loop.remove_signal_handler(each)

    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError, RuntimeError):  # Windows, or another thread
            loop.add_signal_handler(number, interrupted)
            listened.append(number)
    try:
        yield event
    finally:
        for each in listened:
            loop.remove_signal_handler(each)
