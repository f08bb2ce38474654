"""The pytest plugin: the fixture `wafermock`, a thin use of `MockServer`.

It is loaded by every pytest run of an environment that Wafermock is installed in. So it imports
nothing but pytest; the server is imported by the first test that wants it.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from wafermock import MockServer, Space

# The rest of the plugin, loaded with it. Not by `pytest_plugins`: for each name that stands there
# pytest reads what all packages of the environment say of themselves, some milliseconds each.
_PARTS = (
    "wafermock.pytest_conformance",
    "wafermock.pytest_guard",
    "wafermock.pytest_live",
    "wafermock.pytest_robustness",
)

_MARKER = (
    "wafermock(script=, seed=, profile=, limits=, strict=, validate=, unmatched=, ...): how the "
    "mock of this test behaves; script files are seen from the test's folder."
)
_NOT_IN_URLS = re.compile(r"[^A-Za-z0-9._~-]+")

_SPACE = pytest.StashKey["Space"]()
_NUMBERS = itertools.count(1)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    for name in _PARTS:
        if not pluginmanager.has_plugin(name):
            pluginmanager.register(import_module(name), name)
    parser.addini(
        "wafermock_unmatched",
        "Whether a call that fits no expectation of its test fails the test (default: true).",
        type="bool",
        default=True,
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture(scope="session")
def wafermock_server(pytestconfig: pytest.Config) -> Iterator[MockServer]:
    """The one server of the session (of each worker, with pytest-xdist), in a thread of its own."""
    from wafermock.collector import nothing_collected

    with nothing_collected(), _nothing_rewritten(pytestconfig):
        from wafermock import MockServer

        server = MockServer().start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def _nothing_rewritten(config: pytest.Config) -> Iterator[None]:
    """Import without pytest's hook, which rewrites assertions: those of a server are none of a
    test's, and with it our own modules take twice as long."""
    hook: object = config.pluginmanager.rewrite_hook
    # None with --assert=plain.
    hooks = [(at, one) for at, one in enumerate(sys.meta_path) if one is hook]
    for _, finder in hooks:
        sys.meta_path.remove(finder)
    try:
        yield
    finally:
        for at, finder in hooks:
            sys.meta_path.insert(at, finder)


@pytest.fixture
def wafermock(request: pytest.FixtureRequest, wafermock_server: MockServer) -> Iterator[Space]:
    """A mock of the Cerebras inference API for this test alone: `wafermock.url` is its address,
    `wafermock.on(...).replies(...)` says what it answers, `wafermock.calls` are what came."""
    name = f"{_NOT_IN_URLS.sub('-', request.node.name)[:60].strip('-')}-{next(_NUMBERS)}"
    space = _opened(wafermock_server, name, request.node)
    request.node.stash[_SPACE] = space
    yield space
    space.close()


@pytest.fixture
def wafermock_env(wafermock: Space, monkeypatch: pytest.MonkeyPatch) -> Space:
    """The fixture `wafermock`, and the environment variables that lead the SDKs to it."""
    for prefix, url in (("CEREBRAS", wafermock.url), ("OPENAI", wafermock.openai_url)):
        monkeypatch.setenv(f"{prefix}_BASE_URL", url)
        monkeypatch.setenv(f"{prefix}_API_KEY", "test")
    for variable in ("NO_PROXY", "no_proxy"):  # a proxy would be asked for 127.0.0.1 too
        others = os.environ.get(variable)
        monkeypatch.setenv(variable, f"{others},127.0.0.1" if others else "127.0.0.1")
    return wafermock


def _opened(server: MockServer, name: str, item: pytest.Item) -> Space:
    """Open the space of a test, as its markers want it; the closest one counts first."""
    settings: dict[str, Any] = {"unmatched": item.config.getini("wafermock_unmatched")}
    for marker in reversed(list(item.iter_markers("wafermock"))):
        if marker.args:
            what = f"keywords are wanted, as script={marker.args[0]!r}"
            pytest.fail(f"@pytest.mark.wafermock: {what}", pytrace=False)
        settings.update(marker.kwargs)
    if settings.get("script"):
        given = settings["script"]
        scripts = [given] if isinstance(given, str | Path) else given
        settings["script"] = [_beside(item, script) for script in scripts]
    from wafermock.spec import DocumentError

    try:
        return server.space(name, **settings)
    except (TypeError, ValueError, DocumentError) as error:
        wrong = str(error)
    pytest.fail(f"@pytest.mark.wafermock: {wrong}", pytrace=False)


def _beside(item: pytest.Item, script: str | Path) -> str | Path:
    """Look for a script in the test's folder, else in the root of the project."""
    if isinstance(script, str) and "\n" in script:
        return script
    beside = item.path.parent / script
    return beside if beside.exists() else item.config.rootpath / script


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Look, behind a test that has passed, for what went wrong while the mock answered."""
    __tracebackhide__ = True
    result = yield
    space = item.stash.get(_SPACE, None)
    wrong = None if space is None else _wrong(space)
    if wrong is not None:
        pytest.fail(wrong, pytrace=False)
    return result


def _wrong(space: Space) -> str | None:
    """Say what went wrong; None: nothing. What a function of the test raised goes on as it is."""
    __tracebackhide__ = True
    try:
        space.verify()
    except (AssertionError, TimeoutError) as error:
        if getattr(error, "__notes__", ()):
            raise
        return str(error)
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the calls of a failed test into its report."""
    report = yield
    space = item.stash.get(_SPACE, None)
    if space is not None and report.failed and call.when != "teardown":
        shown = [("wafermock calls", space.report), ("wafermock problems", space.problems_shown)]
        report.sections.extend((title, text) for title, text in shown if text)
    if space is not None and call.when == "teardown":
        del item.stash[_SPACE]  # items live as long as the session does, calls need not
    return report
