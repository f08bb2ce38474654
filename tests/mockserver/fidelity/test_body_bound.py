"""A body of so many values that looking at each would take too long is refused unlooked at."""

from typing import Any

import pytest

from wafermock.mockserver.bounds import MEMBER, MOST_VALUES, check_body
from wafermock.mockserver.refusal import Refusal


@pytest.mark.parametrize(
    "body",
    [
        [0] * MOST_VALUES,
        [[0] * 9] * (MOST_VALUES // 10),
        {str(number): 0 for number in range(MOST_VALUES // MEMBER)},
        "x" * 10_000_000,
    ],
    ids=["items", "nested", "members", "text"],
)
def test_as_many_values_as_that_pass(body: Any) -> None:
    check_body(body)


@pytest.mark.parametrize(
    "body",
    [[0] * (MOST_VALUES + 1), {str(number): 0 for number in range(MOST_VALUES // MEMBER + 1)}],
    ids=["items", "members"],
)
def test_one_more_is_refused_by_its_name(body: Any) -> None:
    with pytest.raises(Refusal) as refused:
        check_body(body)
    assert refused.value.error == "bounds_exceeded"
    assert "values" in refused.value.values["name"]
