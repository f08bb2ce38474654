"""Waiting for the end of a process that serves."""

import asyncio
import contextlib
import signal


class Interruption:
    """SIGINT and SIGTERM, listened for from the moment this is made, in a running loop."""

    def __init__(self) -> None:
        self._came = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):  # Windows has no such handlers
                loop.add_signal_handler(number, self._came.set)

    async def wait(self) -> None:
        """Return once one of them has come."""
        await self._came.wait()
