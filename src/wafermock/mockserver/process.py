"""The server as a process: it ends by signals, opens as many files as it may, and says little."""

import asyncio
import contextlib
import errno
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .interruption import Interruption
from .server import HttpServer
from .service import Service

if TYPE_CHECKING:
    from .control.control import Control

# As many files as a server under load has open; the usual 256 or 1024 are soon used up.
FILES = 65_536


async def serve(
    service: Service,
    host: str,
    port: int,
    ready: Callable[[HttpServer], None],
    control: "Control | None" = None,
) -> None:
    """Serve until SIGINT or SIGTERM. `ready` is called once the server answers.

    Raises OSError when the address cannot be had, and UnicodeError when it cannot be one.
    """
    server = HttpServer(service, host, port, control=control)
    _raise_file_limit()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_Complaints())
    await server.start()
    interruption = Interruption()
    ready(server)
    try:
        await interruption.wait()
    finally:
        await server.stop()


def _raise_file_limit() -> None:
    """Allow as many connections as this user may have."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(hard, FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):  # macOS allows less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _Complaints:
    """Says in one line, once, that no more files can be opened; anything else as asyncio does.

    asyncio itself writes a traceback for each connection that waits, and again every second.
    """

    def __init__(self) -> None:
        self._said = False

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            if not self._said:
                self._said = True
                reason = "connections wait until others are closed; `ulimit -n` allows more"
                sys.stderr.write(f"wafermock: {error.strerror}: {reason}\n")
        elif not (self._said and isinstance(error, ValueError) and "handle" in context):
            # (asyncio listens again a second after that, even when it was stopped meanwhile.)
            loop.default_exception_handler(context)
