"""Installs each server in an environment of its own: a virtual environment, or an npm prefix."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from .server import Server


class CannotInstall(Exception):
    """A server is not to be had here; the message says why."""


def cache_folder() -> Path:
    """Return where environments are kept between runs: outside the checkout."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "wafermock" / "judged"


def installed(server: Server, cache: Path) -> Path:
    """Install a server where that has not been done, and return its folder.

    Raises CannotInstall where a package client, a package or a version is missing.
    """
    folder = cache / server.name
    stamp = folder / "installed.txt"
    wanted = "\n".join(server.packages)
    if stamp.exists() and stamp.read_text("utf-8") == wanted:
        return folder
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    for command in _commands(server, folder):
        _run(server, command)
    stamp.write_text(wanted, "utf-8")
    return folder


def _commands(server: Server, folder: Path) -> tuple[tuple[str, ...], ...]:
    if server.client == "npm":
        # Nothing of a package is run while it is installed: none of these needs it.
        quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        return (("npm", "install", "--prefix", str(folder), *quiet, *server.packages),)
    python = folder / "bin" / "python"
    return (
        (sys.executable, "-m", "venv", str(folder)),
        (str(python), "-m", "pip", "install", "--quiet", *server.packages),
    )


def _run(server: Server, command: tuple[str, ...]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise CannotInstall(f"{server.name} needs {command[0]}, which is not installed") from None
    if done.returncode:
        last = (done.stderr or done.stdout).strip()[-1_000:]
        raise CannotInstall(f"{' '.join(server.packages)} cannot be installed:\n{last}")
