"""What `pytest --pyargs wafermock.conformance --endpoint URL` collects, see pytest_suite.py."""

from typing import Any

import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    suite: Any = metafunc.config.pluginmanager.get_plugin("wafermock-conformance")
    if suite is None:
        raise pytest.UsageError("run it as: pytest --pyargs wafermock.conformance --endpoint URL")
    names = list(suite.items)
    metafunc.parametrize("name", names, ids=names)


def test_endpoint(name: str, request: pytest.FixtureRequest, record_property: Any) -> None:
    """Every rule that applies to the answer is kept. A rule that SHOULD be is a warning."""
    suite: Any = request.config.pluginmanager.get_plugin("wafermock-conformance")
    broken = suite.run(name)
    for _, shown in broken:
        record_property(f"wafermock-{shown.state}", shown.rule)
    failing = [text for text, shown in broken if shown.state == "FAIL"]
    others = [text for text, shown in broken if shown.state != "FAIL"]
    if others:
        request.node.add_report_section("call", "rules that are not a must", "\n".join(others))
    if failing:
        pytest.fail("\n".join(failing), pytrace=False)
