"""MockServer: the mock inside a Python process, for tests, notebooks and scripts."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .serving import ServerThread, Spaces, SpacesServer
from .settings import read_settings
from .space import Space

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

# What may stand in the name of a space, which is a part of its URL.
_NAME = re.compile(r"[A-Za-z0-9._~-]{1,80}")


class MockServer(Space):
    """A server in a thread of its own, on a port that is free.

    >>> with MockServer() as mock:
    ...     mock.on(last_user="Hello").replies("Hello to you.")
    ...     client = Cerebras(base_url=mock.url, api_key="test")

    `async with` does the same. Keywords are those of `SpaceSettings`. It is a space itself, the
    one at the root; `space()` makes others, which share nothing but the socket.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0, **settings: Any) -> None:
        __tracebackhide__ = True
        super().__init__("", read_settings(settings), self._where)
        self._spaces = Spaces(self.bench)
        self._thread = ServerThread(lambda: SpacesServer(self._spaces, host, port))
        self._on_open: list[Callable[[Space], None]] = []
        self._counting = threading.Lock()
        self._count = 0

    def start(self) -> Self:
        """Listen. Raises OSError when the address cannot be had, RuntimeError: it runs already."""
        __tracebackhide__ = True
        self._thread.start()
        return self

    def stop(self) -> None:
        """Close all connections and end the thread. It may be started again, at another port; its
        expectations and calls stay."""
        self._thread.stop()

    @property
    def is_running(self) -> bool:
        return self._thread.is_running

    def space(self, name: str = "", **settings: Any) -> Space:
        """Open a space, which has expectations, calls, a clock and limits of its own.

        Settings are those of the server unless given. Without a name it has a number. Raises
        ValueError for a name that a URL cannot have, or that there is already.
        """
        __tracebackhide__ = True
        with self._counting:
            self._count += 1
            chosen = name or f"space-{self._count}"
        if not _NAME.fullmatch(chosen):
            raise ValueError(f"a space's name is of letters, digits and . _ ~ -, not {chosen!r}")
        space = Space(chosen, read_settings(settings, self.settings), self._where)
        self._spaces.open(chosen, space.bench)
        space.on_close(lambda: self._spaces.close(chosen))
        for opened in self._on_open:
            opened(space)
        return space

    def on_open(self, opened: Callable[[Space], None]) -> None:
        """Be told of every space that it opens."""
        self._on_open.append(opened)

    def _where(self) -> str:
        __tracebackhide__ = True
        return self._thread.address

    def close(self) -> None:
        """The same as `stop`."""
        self.stop()

    def __enter__(self) -> Self:
        __tracebackhide__ = True
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        __tracebackhide__ = True
        # It takes as long as a thread takes to listen; nothing waits for this loop meanwhile.
        return self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._thread.stop_soon()
