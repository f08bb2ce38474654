"""This project's folders and Wafermock's rooms have the same names, and are not the same."""

from pathlib import Path

import mockserver
import pytest
import reports
import spec

import wafermock as wafermock_package

HOME = Path(__file__).parent.parent


@pytest.mark.parametrize("module", [mockserver, reports, spec])
def test_names_are_this_projects_own(module):
    assert Path(module.__file__).parent.parent == HOME


def test_both_in_one_test(wafermock):
    wafermock.on().replies("x")
    assert mockserver.OWNER == "trips"
    assert HOME not in Path(wafermock_package.__file__).parents
