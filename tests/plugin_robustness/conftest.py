"""What these tests share: whole pytest runs in the same process, and a test module to run."""

from collections.abc import Callable

import pytest

# A pytest run in this process forgets the modules that it has imported: these must not be two.
from wafermock import MockServer, conforming, live
from wafermock.mockserver import robustness
from wafermock.mockserver.record.catalogue import catalogue

OWN = [
    f"wafermock.{name}"
    for name in ("pytest_plugin", "pytest_guard", "pytest_robustness", "pytest_live")
]
NEIGHBOURS = ["xdist.plugin", "pytest_asyncio.plugin"]

KEPT = (MockServer, conforming, live, robustness, catalogue())

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a test module with the plugin's second half, and return what pytest said.

    Of the plugins that are installed only those are there that are named: to import the others
    takes each run and each of its workers a second.
    """
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(source: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(source)
        plugins = [f"-p{name}" for name in (*NEIGHBOURS, *OWN)]
        # What plugins would remember or warn of.
        quiet = ["-pno:cacheprovider", "-oasyncio_default_fixture_loop_scope=function"]
        return pytester.runpytest_inprocess(*plugins, *quiet, *options)

    return run
