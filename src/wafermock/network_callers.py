"""Who opens a connection: the line of a project's own code that is behind it."""

from __future__ import annotations

import asyncio
import os
import sys
import sysconfig
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

# Folders of a project in which its own code is not.
_OTHERS = ("site-packages", "dist-packages", ".venv", "venv", ".tox", ".nox")
_STANDARD_LIBRARY = os.path.join(sysconfig.get_paths()["stdlib"], "")
_WAFERMOCK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")


def caller(root: str, host: str) -> str:
    """Return the place of the project's code that wants to reach a host, FILE:LINE in FUNCTION.

    It is the innermost line of a file under `root` on this thread's stack. Event loops ask for
    addresses in threads of their own: then it is that of the task that waits for it; if no task
    does, and one alone is under way, that of this one. Empty: there is none.
    """
    home = os.path.join(os.path.abspath(root), "")
    own = _place(_stack(sys._getframe(1)), home)
    if own:
        return own
    chains = [chain for loop in _running_loops() for chain in loop]
    waiting = [chain for chain in chains if any(_asks_for(frame, host) for frame in chain)]
    for some in (waiting, chains):
        places = {_place(reversed(chain), home) for chain in some} - {""}
        if len(places) == 1:
            return places.pop()
    return ""


def _place(frames: Iterator[FrameType], home: str) -> str:
    for frame in frames:
        if _is_own(frame.f_code, home):
            file = os.path.relpath(frame.f_code.co_filename, home)
            return f"{file}:{frame.f_lineno} in {frame.f_code.co_name}"
    return ""


def _is_own(code: CodeType, home: str) -> bool:
    file = os.path.abspath(code.co_filename)
    if not file.startswith(home) or file.startswith((_STANDARD_LIBRARY, _WAFERMOCK)):
        return False
    return not any(part in _OTHERS for part in file[len(home) :].split(os.sep))


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _running_loops() -> Iterator[list[list[FrameType]]]:
    """Yield, for each event loop that runs in a thread, the frames of its tasks, outermost first.

    A task that runs just now is found on the thread's stack, the others are suspended.
    """
    for frame in sys._current_frames().values():
        running: list[FrameType] = []
        for outer in _stack(frame):
            loop = outer.f_locals.get("self") if outer.f_code.co_name == "run_forever" else None
            if isinstance(loop, asyncio.AbstractEventLoop):
                yield [running[::-1], *(list(_awaited(task)) for task in _tasks(loop))]
                break
            running.append(outer)


def _tasks(loop: asyncio.AbstractEventLoop) -> list[Any]:
    try:
        return list(asyncio.all_tasks(loop))
    except RuntimeError:  # they have changed while they were listed, again and again
        return []


def _awaited(task: Any) -> Iterator[FrameType]:
    """Yield the frames of a task that waits, outermost first."""
    coroutine = task.get_coro()
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "gi_frame", None)
        if frame is not None:
            yield frame
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "gi_yieldfrom", None)


def _asks_for(frame: FrameType, host: str) -> bool:
    if frame.f_code.co_name != "getaddrinfo":
        return False
    asked = frame.f_locals.get("host")
    return (asked.decode("ascii", "replace") if isinstance(asked, bytes) else asked) == host
