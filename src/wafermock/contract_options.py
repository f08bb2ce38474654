"""The options of every command that reads a contract, and how a command says what is wrong."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from socket import gaierror
from typing import TYPE_CHECKING, Any, NoReturn

import click

if TYPE_CHECKING:
    from .spec import Contract

# Wrong usage, or a document that cannot be used.
WRONG_USAGE = 2

# What `contract_options` adds to a command, by the names of `load`.
CONTRACT_OPTIONS = ("profile", "documents", "overlays", "bare")


def fail(message: str, code: int = WRONG_USAGE) -> NoReturn:
    """End with one line on standard error."""
    click.echo(f"wafermock: {message}", err=True)
    sys.exit(code)


def cannot_listen(host: str, port: int, error: OSError | UnicodeError) -> str:
    """Say why nobody can listen at an address, and what to do."""
    if isinstance(error, UnicodeError):  # what no host can be called
        why = "this is no host name"
    elif error.errno and error.errno > 0:
        # The system's words alone: asyncio puts the address before them once more.
        why = os.strerror(error.errno)
    else:
        why = error.strerror or str(error)
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        why += "; --port 0 picks a free port"
    elif isinstance(error, OSError) and (
        isinstance(error, gaierror) or error.errno == errno.EADDRNOTAVAIL
    ):
        why += "; --host is an address of this machine, as 127.0.0.1, or 0.0.0.0 for all it has"
    return f"cannot listen on {host}:{port}: {why}"


def profile_option(command: Any) -> Any:
    """The option that chooses a profile."""
    return click.option(
        "--profile", default="documented", show_default=True, metavar="NAME",
        callback=_known_profile,
        help="documented: what the documents declare. observed: what servers send.",
    )(command)  # fmt: skip


def contract_options(command: Any) -> Any:
    """The options that `load` takes."""
    file = click.Path(path_type=Path)
    for option in (
        click.option("--bare", is_flag=True, help="Apply no built-in overlay."),
        click.option(
            "--overlay", "overlays", multiple=True, type=file, metavar="FILE",
            help="An OpenAPI Overlay to apply after the built-in ones; may repeat.",
        ),
        click.option(
            "--spec", "documents", multiple=True, type=file, metavar="FILE",
            help="An OpenAPI document (YAML or JSON) in place of the built-in ones; may repeat.",
        ),
        profile_option,
    ):  # fmt: skip
        command = option(command)
    return command


def load(
    profile: str, documents: tuple[Path, ...], overlays: tuple[Path, ...], bare: bool
) -> Contract:
    """Load the contract that the options describe."""
    from .spec import load_contract

    return load_contract(profile, documents, overlays, corrected=not bare)


def _known_profile(context: click.Context, option: click.Parameter, profile: str) -> str:
    from .spec import DEFAULT_PROFILE, profiles

    # The list of profiles is a file: read only for a name that is not known without it.
    if profile != DEFAULT_PROFILE and profile not in profiles():
        fail(f"--profile {profile}: there are {' and '.join(profiles())}")
    return profile
