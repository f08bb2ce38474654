"""Completed contracts kept on disk: making one costs more than starting a server.

A kept contract is found by a digest of everything it is made of: the bytes of the documents,
overlays and catalogues, and of the code of this room. Whatever changes, another contract is made.
The folder is `$WAFERMOCK_CACHE`, else `wafermock` in the user's cache folder; an empty
`WAFERMOCK_CACHE` keeps nothing. It can be deleted at any time.
"""

import contextlib
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def folder() -> Path | None:
    """Return the folder for kept contracts; None where nothing shall be kept."""
    named = os.environ.get("WAFERMOCK_CACHE")
    if named is not None:
        return Path(named) if named else None
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "wafermock" if base and os.path.isabs(base) else None


def key(files: Iterable[Path], options: object) -> str | None:
    """Name the contract that is made of some files with some options; None for unreadable ones."""
    state = hashlib.blake2b(repr(options).encode(), digest_size=16)
    try:
        for path in [*sorted(_own_files(HERE)), *map(str, files)]:
            content = Path(path).read_bytes()
            state.update(f"{path}\0{len(content)}\0".encode())
            state.update(content)
    except OSError:
        return None
    return state.hexdigest()


def _own_files(folder: Path) -> Iterable[str]:
    for entry in os.scandir(folder):
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _own_files(Path(entry.path))
        elif entry.name.endswith((".py", ".yaml")):
            yield entry.path


def fetch(name: str) -> dict[str, Any] | None:
    """Return what was kept under a name; None where nothing is, or nothing that can be read."""
    place = folder()
    if place is None:
        return None
    try:
        kept = json.loads((place / f"{name}.json").read_bytes())
    except (OSError, ValueError):
        return None
    return kept if isinstance(kept, dict) and kept else None


def keep(name: str, value: dict[str, Any]) -> None:
    """Keep a value under a name. That it cannot be kept is no error: it will be made again."""
    place = folder()
    if place is None:
        return
    with contextlib.suppress(OSError):
        place.mkdir(parents=True, exist_ok=True)
        # Written beside and renamed, so that a reader never sees half of it.
        handle, path = tempfile.mkstemp(dir=place, suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(value, file, separators=(",", ":"))
        os.replace(path, place / f"{name}.json")
        _forget_all_but_the_newest(place)


_KEPT = 32


def _forget_all_but_the_newest(place: Path) -> None:
    entries = sorted(place.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in entries[_KEPT:]:
        path.unlink(missing_ok=True)
