"""Judges a running server with `wafermock check`, and writes down who it was."""

import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wafermock.reports import result_file
from wafermock.reports.run import Run

from .running import running
from .server import KEY, KEY_NAME, Place, Server

# How `wafermock check` ends where it has judged: nothing fails, something does, or the server
# answered no more. One that a request has ended is started again, and the run goes on.
JUDGED = (0, 1, 3)
MOST_DEATHS = 20


class CannotJudge(Exception):
    """The judge came to no verdict; the message has what it said."""


def judged(server: Server, installed: Path, budget: str) -> Run:
    """Start a server, check it and return what was found.

    Raises CannotStart, and CannotJudge where the judge cannot even begin.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.json"
        deaths = _until_done(server, installed, file, budget)
        run = result_file.read(file.read_bytes(), server.name)
    told = {**described(server, run), "deaths": deaths}
    return replace(run, settings={**run.settings, "judged": told})


def _until_done(server: Server, installed: Path, file: Path, budget: str) -> int:
    """Check a server to the end of the programme; return how often a request ended the server."""
    deaths = 0
    while True:
        with running(server, installed) as place:
            code, said = _check(server, place, file, budget, resume=deaths > 0)
            died = place.has_ended()
        if code not in JUDGED or not file.exists():
            raise CannotJudge(f"{server.name}: exit code {code}\n{said[-3_000:]}")
        run = result_file.read(file.read_bytes(), server.name)
        if run.ended_by != "unreachable":
            return deaths + died
        if not died or deaths == MOST_DEATHS:
            raise CannotJudge(f"{server.name} answers no more, {deaths} deaths\n{said[-3_000:]}")
        deaths += 1


def _check(
    server: Server, place: Place, file: Path, budget: str, *, resume: bool
) -> tuple[int, str]:
    command = (sys.executable, "-m", "wafermock.cli", "check", place.url)
    options = ["--api-key-env", KEY_NAME, "--budget", budget, "--out", str(file), "--quiet"]
    done = subprocess.run(
        (*command, *options, *server.flags, *(["--resume"] if resume else [])),
        env={**os.environ, KEY_NAME: KEY},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr or done.stdout


def described(server: Server, run: Run) -> dict[str, Any]:
    """Say who was judged, and when: that is no part of what a run finds out by itself."""
    return {
        "name": server.name,
        "what": server.what,
        "version": server.version,
        "packages": " ".join(server.packages),
        "setup": server.setup,
        "date": datetime.fromtimestamp(run.began, UTC).date().isoformat(),
    }
