"""Where in a test something is written: its file and line."""

import os
import sys

_PACKAGE = __name__.partition(".")[0]


def calling_place() -> tuple[str, int]:
    """Return the file and line of the first frame, from here outwards, that is not ours."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        name = frame.f_globals.get("__name__", "")
        if name != _PACKAGE and not name.startswith(f"{_PACKAGE}."):
            break
        frame = frame.f_back
    file = frame.f_code.co_filename
    try:
        shorter = os.path.relpath(file)
    except ValueError:  # another drive
        return file, frame.f_lineno
    return (file if shorter.startswith("..") else shorter), frame.f_lineno
