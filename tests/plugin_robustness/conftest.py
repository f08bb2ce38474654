"""What these tests share: whole pytest runs in the same process, and a test module to run."""

from collections.abc import Callable

import pytest

# A pytest run in this process forgets the modules that it has imported: these must not be two.
from wafermock import MockServer, conforming, live
from wafermock.mockserver import robustness
from wafermock.mockserver.record.catalogue import catalogue

PLUGINS = ("pytest_guard", "pytest_robustness", "pytest_live")

KEPT = (MockServer, conforming, live, robustness, catalogue())

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """Run a test module with the plugin's second half, and return what pytest said."""

    def run(source: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(source)
        plugins = [f"-pwafermock.{name}" for name in PLUGINS]
        # What plugins of this environment would draw at random, remember or warn of.
        quiet = [
            "-pno:randomly",
            "-pno:cacheprovider",
            "-oasyncio_default_fixture_loop_scope=function",
        ]
        return pytester.runpytest_inprocess(*plugins, *quiet, *options)

    return run
