"""The mock that keeps the contract breaks no rule, in any delivery: a share of `make prove`."""

from typing import Any

import pytest

from wafermock.mockserver.wire import DELIVERIES

from .serving import OPTIONS
from .undisturbed import TOLD, undisturbed

COUNT = 500


@pytest.mark.parametrize("profile", ["documented", "observed"])
def test_nothing_is_told_of_the_undisturbed_mock(profile: str, serving: Any) -> None:
    with serving("--profile", profile, *OPTIONS) as served:
        result = undisturbed(served.url, profile, COUNT)
    assert list(result.alarms.values()) == []
    assert result.exchanges >= COUNT
    assert result.deliveries.keys() == {*DELIVERIES, "as usual"}


def test_what_is_told_of_deliveries_is_of_some_that_exist() -> None:
    assert TOLD.keys() <= DELIVERIES.keys()
