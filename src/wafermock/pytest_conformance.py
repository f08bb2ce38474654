"""The part of the pytest plugin that is there for `pytest --pyargs wafermock.conformance`.

Its options exist for that command only: names like `--endpoint` are other projects' too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

SUITE = "wafermock.conformance"


def pytest_load_initial_conftests(parser: pytest.Parser, args: list[str]) -> None:
    if _is_meant(args):
        from wafermock.conformance.pytest_suite import add_options

        add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    if _is_meant(config.args):
        from wafermock.conformance.pytest_suite import Suite

        config.pluginmanager.register(Suite(config), "wafermock-conformance")


def _is_meant(args: list[str]) -> bool:
    return any(str(arg).partition("::")[0] == SUITE for arg in args)
