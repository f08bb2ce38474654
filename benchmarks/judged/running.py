"""Starts a server, waits until it answers, and stops it."""

import http.client
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from .server import HOST, Place, Server

# Some import a great deal before they listen.
START_SECONDS = 180.0
STOP_SECONDS = 10.0


class CannotStart(Exception):
    """A server did not come up; the message has the end of what it wrote."""


@contextmanager
def running(server: Server, installed: Path) -> Iterator[Place]:
    """Run a server while the block runs. Raises CannotStart where it does not come up."""
    if _answers(server.port):
        raise CannotStart(f"{server.name}: something listens on port {server.port} already")
    with tempfile.TemporaryDirectory() as folder:
        place = Place(installed, Path(folder), server.port)
        log = place.scratch / "log.txt"
        command = server.prepare(place)
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, **server.environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a server may have workers: they end with it
            )
        try:
            _wait(server, process, log)
            yield replace(place, has_ended=lambda: process.poll() is not None)
        finally:
            _stop(process)


def _wait(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while not _answers(server.port):
        if process.poll() is not None or time.monotonic() > until:
            end = log.read_text("utf-8", "replace").strip()[-2_000:]
            raise CannotStart(f"{server.name} did not start:\n{end}")
        time.sleep(0.2)


def _answers(port: int) -> bool:
    """Say whether a server answers, whatever it says; while a model is loaded, 503 is said."""
    connection = http.client.HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", "/v1/models")
        return connection.getresponse().status != 503
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _stop(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    process.wait()
