"""What is to be known of a server to judge it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

HOST = "127.0.0.1"

# The key that servers are told to want, and the environment variable that hands it to the judge.
# No server here asks anybody else, so it opens nothing.
KEY = "sk-judged"
KEY_NAME = "JUDGED_API_KEY"


@dataclass(frozen=True)
class Place:
    """Where a server was installed, where it may write, and where it shall listen."""

    installed: Path
    scratch: Path
    port: int
    # Says whether the server's process has ended by itself.
    has_ended: Callable[[], bool] = lambda: False

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def program(self, name: str) -> str:
        """Return the path of a program of the installed packages."""
        folders = (self.installed / "bin", self.installed / "node_modules" / ".bin")
        return next(str(folder / name) for folder in folders if (folder / name).exists())

    def write(self, name: str, text: str) -> str:
        """Write a file for the server; return its path."""
        path = self.scratch / name
        path.write_text(text, "utf-8")
        return str(path)


@dataclass(frozen=True)
class Server:
    """A server that somebody else wrote.

    `packages` are the requirements that a package client is given, each with its version; the first
    is the server itself. `prepare` writes what the server reads, and returns the command that
    starts it. `port` is fixed so that the reports of two days differ only in what was found.
    `flags` are further options of `wafermock check`: what is known of the server beforehand.
    """

    name: str
    what: str
    client: Literal["npm", "pip"]
    packages: tuple[str, ...]
    port: int
    prepare: Callable[[Place], tuple[str, ...]]
    environment: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    # How it was set up, in a sentence for the report.
    setup: str = ""

    @property
    def version(self) -> str:
        """The version of the server itself."""
        return self.packages[0].rpartition("@" if self.client == "npm" else "==")[2]
