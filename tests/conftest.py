"""The real server for every test: `wafermock serve` as a process of its own."""

import gc
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

# httpx imports it by its first request, and knows only the errors of that one: a pytest run within
# this process would forget the module, and the next would have another.
import httpcore  # noqa: F401
import pytest
from hypothesis import settings

pytest_plugins = ["pytester"]

# No test is about time: a machine may be as slow as it likes. EXAMPLES=1000 looks more closely.
settings.register_profile(
    "wafermock", deadline=None, max_examples=int(os.environ.get("EXAMPLES", "40"))
)
settings.load_profile("wafermock")

# A bound for a server that hangs, in seconds; nothing waits for it as long as all is well.
PATIENCE = 30

READY = "listening on "

# Contracts that tests make are kept for this run only, not in the user's cache folder.
_KEPT = tempfile.TemporaryDirectory(prefix="wafermock-tests-")
os.environ["WAFERMOCK_CACHE"] = _KEPT.name


def pytest_collection_finish() -> None:
    """Let garbage collection pass over all that lives as long as the run: modules and tests.

    Looking through them again and again takes a tenth of the time.
    """
    gc.collect()
    gc.freeze()


Serving = Callable[..., AbstractContextManager["Served"]]


@dataclass(frozen=True)
class Served:
    """A running server: its base URL, and the process for tests that send it signals."""

    url: str
    process: subprocess.Popen[str]


@contextmanager
def _serving(*arguments: str) -> Iterator[Served]:
    """Run `wafermock serve --port 0` with more arguments; stop it by SIGTERM.

    The server must come up with one line, end with exit code 0, and say nothing on standard error
    (a traceback or a warning would show there). A test may have ended the process itself.
    """
    command = [sys.executable, "-m", "wafermock.cli", "serve", "--port", "0", *arguments]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CEREBRAS_")}
    with (
        tempfile.TemporaryFile("w+") as complaints,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=complaints, text=True, env=environment
        ) as process,
    ):
        try:
            line = _first_line(process)
            if not line.startswith(READY):
                complaints.seek(0)
                pytest.fail(f"wafermock serve said {line!r} first, and: {complaints.read()}")
            yield Served(line.removeprefix(READY).strip(), process)
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            code = process.wait(PATIENCE)
        finally:
            process.kill()
        complaints.seek(0)
        assert (code, complaints.read()) == (0, "")


def _first_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        if not selector.select(PATIENCE):
            pytest.fail(f"wafermock serve said nothing for {PATIENCE} seconds")
    return process.stdout.readline()


@pytest.fixture(scope="session")
def serving() -> Serving:
    """`with serving(*arguments) as served:` for fixtures that keep a server for many tests."""
    return _serving


@pytest.fixture(scope="session")
def server(serving: Serving) -> Iterator[str]:
    """The base URL of a server with the default settings, one for the whole session."""
    with serving() as served:
        yield served.url


@pytest.fixture
def serve(serving: Serving) -> Iterator[Callable[..., Served]]:
    """`serve(*arguments)` starts a server of the test's own; it is stopped with the test."""
    with ExitStack() as stack:
        yield lambda *arguments: stack.enter_context(serving(*arguments))
