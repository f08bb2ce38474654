"""Live mode in pytest: `--wafermock-live URL`, `--wafermock-record FOLDER`.

PYTEST_DONT_REWRITE: there is nothing to be rewritten here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .pytest_guard import ALLOWED

if TYPE_CHECKING:
    from wafermock import MockServer, Space
    from wafermock.live import LiveSession

_MARKER = (
    "wafermock_live(on): with False, this test is answered by the mock in a live session too, as "
    "for failures that no service makes on demand."
)
# Where the key of the real service stands, the first that there is.
KEYS = ("WAFERMOCK_API_KEY", "CEREBRAS_API_KEY")

_TRIALS = {"wafermock_delivery", "wafermock_failure"}

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("wafermock")
    group.addoption(
        "--wafermock-live",
        metavar="URL",
        help="Let a real service answer, and compare it with the contract and what is scripted. "
        f"The key is taken from {' or '.join(KEYS)}.",
    )
    group.addoption(
        "--wafermock-record",
        metavar="FOLDER",
        type=Path,
        help="With --wafermock-live: write what is exchanged into a script for each test.",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)
    url, folder = config.getoption("wafermock_live"), config.getoption("wafermock_record")
    if url is None:
        if folder is not None:
            raise pytest.UsageError(
                "--wafermock-record records a real service: give --wafermock-live URL too"
            )
        return
    key = next((value for name in KEYS if (value := os.environ.get(name))), None)
    if key is None:
        raise pytest.UsageError(
            f"--wafermock-live needs a key in the environment: {' or '.join(KEYS)}"
        )
    from wafermock.live import LiveSession

    try:
        session = LiveSession(url, key, folder)
    except ValueError as error:
        raise pytest.UsageError(f"--wafermock-live: {error}") from None
    config.stash[ALLOWED] = (session.address.host,)
    config.pluginmanager.register(_Live(session), "wafermock-live-session")


@pytest.fixture(scope="session")
def wafermock_live(pytestconfig: pytest.Config) -> bool:
    """Whether a real service answers: then words are its own."""
    return pytestconfig.getoption("wafermock_live") is not None


class _Live:
    """What a live session does beside a plain one."""

    def __init__(self, session: LiveSession) -> None:
        self._session = session
        self._item: pytest.Item | None = None
        self._names: dict[str, int] = {}

    def pytest_report_header(self) -> str:
        return f"wafermock: live, {self._session.address.authority} answers"

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: Any
    ) -> Generator[None, Any, Any]:
        """Attach every space that the session's server opens."""
        __tracebackhide__ = True
        value = yield
        if fixturedef.argname == "wafermock_server":
            server: MockServer = value
            server.on_open(self._opened)
        return value

    def _opened(self, space: Space) -> None:
        if self._is_live():
            self._session.attach(space, self._cassette())

    def _is_live(self) -> bool:
        """Say whether the service answers the test that runs: its trials are the mock's alone."""
        if _TRIALS & set(getattr(self._item, "fixturenames", ())):
            return False
        marker = self._item.get_closest_marker("wafermock_live") if self._item else None
        return marker is None or bool(marker.args[0] if marker.args else True)

    def _cassette(self) -> str:
        """Return the name of a test's cassette: its path and name, once for each space."""
        nodeid = self._item.nodeid if self._item else "session"
        file, _, name = nodeid.partition("::")
        folder = "/".join(_clean(part) for part in file.removesuffix(".py").split("/"))
        title = f"{folder}/{_clean(name)}" if name else folder
        self._names[title] = count = self._names.get(title, 0) + 1
        return title if count == 1 else f"{title}-{count}"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        __tracebackhide__ = True
        self._item = item
        try:
            return (yield)
        finally:
            self._item = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Fail a test whose answers break the contract, or are not what it has scripted."""
        __tracebackhide__ = True
        try:
            result = yield
        except BaseException:
            if problems := self._session.take_problems():
                item.add_report_section("call", "wafermock live", _message(problems))
            raise
        if problems := self._session.take_problems():
            pytest.fail(_message(problems), pytrace=False)
        return result

    def pytest_sessionfinish(self) -> None:
        self._session.stop()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for reason in self._session.lost:
            terminalreporter.write_line(f"wafermock: not recorded: {reason}")


def _clean(text: str) -> str:
    return _NOT_IN_NAMES.sub("-", text).strip("-.")[:120] or "test"


def _message(problems: list[str]) -> str:
    lines = ["The real service does not answer as the contract, or the test, will have it:"]
    return "\n".join([*lines, *(f"  {problem}" for problem in problems)])
