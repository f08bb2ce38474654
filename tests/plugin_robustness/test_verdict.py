"""The verdict, as a function: what is a fault of a client, and what looks like one and is none."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from wafermock.mockserver.robustness import Limits, Outcome, Try, judge
from wafermock.mockserver.robustness.summary import packed, summary
from wafermock.mockserver.robustness.verdict import NAMES


def ok(number: int, came: float, **more: Any) -> Try:
    return Try(number, came, came + 0.01, **more)


def bad(number: int, came: float, status: int = 503, again: Any = "should", **more: Any) -> Try:
    trouble = {"trouble": f"{status} error", **more}
    return Try(number, came, came + 0.01, status=status, again=again, **trouble)


def cut(number: int, came: float, **more: Any) -> Try:
    return Try(number, came, came + 0.01, trouble="unfinished", again="may", whole=False, **more)


def slow(number: int, came: float, seconds: float | None, **more: Any) -> Try:
    over = None if seconds is None else came + seconds
    return Try(number, came, over, trouble="stall", again="may", slow=True, **more)


RETURNED = Outcome(0, 9)
RAISED = Outcome(0, 9, "APIError: no")
TOLD = Outcome(0, 9, told=True)

CASES: dict[str, tuple[list[Try], Outcome | None, bool | None, list[str]]] = {
    "nothing happened": ([ok(1, 0)], RETURNED, None, []),
    "no call at all": ([], RETURNED, None, []),
    "a retry that helps": ([bad(1, 0), ok(2, 0.5)], RETURNED, True, []),
    "the same twice is no retry": ([ok(1, 0), ok(2, 1)], RETURNED, None, []),
    "a 400 is asked again": (
        [bad(1, 0, 400, "must not"), ok(2, 0.5)], RETURNED, None, ["retried_in_vain"],
    ),
    "a 400 is asked again three times": (
        [bad(n, n, 400, "must not") for n in (1, 2, 3)], RAISED, None,
        ["retried_in_vain", "retried_in_vain"],
    ),
    "a 400, then another request": (
        [bad(1, 0, 400, "must not", request=b"a"), ok(2, 0.5, request=b"b")], RETURNED, None, [],
    ),
    "a 401 is told": ([bad(1, 0, 401, "must not")], RAISED, True, []),
    "Retry-After is kept": ([bad(1, 0, 429, retry_after=1.0), ok(2, 1.0)], RETURNED, True, []),
    "Retry-After is not": (
        [bad(1, 0, 429, retry_after=1.0), ok(2, 0.5)], RETURNED, True, ["ignored_retry_after"],
    ),
    "Retry-After, three times the same pause": (
        [bad(n, float(n), 429, retry_after=1.0) for n in range(1, 5)], RAISED, False, [],
    ),
    "without pauses": ([bad(n, n / 90) for n in range(1, 4)], RAISED, False, ["retry_storm"]),
    "one hasty retry is none": ([bad(1, 0), ok(2, 0.011)], RETURNED, True, []),
    "pauses that do not grow": (
        [bad(n, float(n)) for n in range(1, 5)], RAISED, False, ["retry_storm"],
    ),
    "pauses that grow": (
        [bad(1, 0), bad(2, 0.5), bad(3, 1.5), bad(4, 3.5)], RAISED, False, [],
    ),
    "too often": ([bad(n, 2.0**n) for n in range(1, 8)], RAISED, False, ["retry_storm"]),
    "as often as may be": ([bad(n, 2.0**n) for n in range(1, 7)], RAISED, False, []),
    "side by side are no retries": (
        [replace(bad(n, 0.0), over=0.9) for n in range(1, 9)], RAISED, False, [],
    ),
    "a cut stream is told": ([cut(1, 0)], RAISED, True, []),
    "a cut stream is told in another way": ([cut(1, 0)], TOLD, True, []),
    "a cut stream for success": ([cut(1, 0)], RETURNED, None, ["took_cut_for_whole"]),
    "a cut stream is asked again": ([cut(1, 0), ok(2, 0.5)], RETURNED, None, []),
    "an error for an answer": ([bad(1, 0)], RETURNED, None, ["took_error_for_answer"]),
    "an error as 200 for an answer": (
        [replace(cut(1, 0), trouble="error_as_200")], RETURNED, None, ["took_error_for_answer"],
    ),
    "an error, then something else is answered": (
        [bad(1, 0, request=b"a"), ok(2, 1, request=b"b")], RETURNED, None, [],
    ),
    "no time limit": ([slow(1, 0, 1.5)], RETURNED, None, ["no_time_limit"]),
    "no time limit, and it waits still": ([slow(1, 0, None)], RAISED, None, ["no_time_limit"]),
    "a time limit": ([slow(1, 0, 0.5, gone=True)], RAISED, False, []),
    "a time limit, and again": (
        [slow(1, 0, 0.5, gone=True), ok(2, 1.0)], RETURNED, True, [],
    ),
    "again while the slow one is not known to be over": (
        [slow(1, 0, None), ok(2, 0.9)], RETURNED, True, [],
    ),
    "slow, and over before the mock has noted it": (
        [slow(1, 0, None)], Outcome(0, 0.9), None, [],
    ),
    "it leaves when it has heard all, many times": (
        [replace(ok(n, float(n)), gone=True) for n in range(1, 9)], RETURNED, None, [],
    ),
    "slow, but in time": ([slow(1, 0, 0.9)], RETURNED, None, []),
    "it gave up": ([bad(1, 0)], RAISED, True, ["gave_up"]),
    "it gave up while it went on": ([bad(1, 0)], RAISED, False, []),
    "it gave up, and nobody knows": ([bad(1, 0)], RAISED, None, []),
    "calls alone": ([bad(1, 0, 400, "must not"), ok(2, 1)], None, None, ["retried_in_vain"]),
    "calls alone, one under way": ([slow(1, 0, None)], None, None, ["no_time_limit"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_cases(case: str) -> None:
    tries, outcome, is_over, expected = CASES[case]
    found = judge(tries, outcome, is_over=is_over, now=9.0)
    assert [fault.name for fault in found.faults] == expected
    assert found.ok is (not expected)
    for fault in found.faults:
        assert fault.sentence.endswith(".")
        assert fault.advice.endswith(".")
        assert set(fault.calls) <= {each.number for each in tries}
        assert fault.name in str(found)


def test_every_fault_has_a_case() -> None:
    assert {name for case in CASES.values() for name in case[3]} == set(NAMES)


def test_the_limits_are_the_test_s() -> None:
    tries = [bad(1, 0), bad(2, 1), bad(3, 3)]
    assert judge(tries, RAISED, Limits(tries=2), is_over=False).names == ("retry_storm",)
    assert judge([slow(1, 0, 1.5)], RETURNED, Limits(patience=2.0)).ok


def test_what_is_allowed_does_not_fail() -> None:
    found = judge([bad(1, 0)], RAISED, is_over=True)
    found.assert_ok(allow=["gave_up"])
    with pytest.raises(AssertionError, match="gave_up: The client failed with call 1"):
        found.assert_ok()
    with pytest.raises(ValueError, match="there is no fault 'gave up'; there are retried_in_vain"):
        found.assert_ok(allow=["gave up"])


TRIES = st.lists(
    st.builds(
        Try,
        number=st.integers(1, 99),
        came=st.floats(0, 9),
        over=st.none() | st.floats(0, 20),
        request=st.sampled_from([b"a", b"b"]),
        status=st.sampled_from([200, 400, 429, 503]),
        trouble=st.sampled_from(["", "stall", "503 x"]),
        again=st.sampled_from(["should", "may", "must not"]),
        whole=st.booleans(),
        slow=st.booleans(),
        retry_after=st.none() | st.floats(0, 5),
        gone=st.booleans(),
    ),
    max_size=6,
)


@given(TRIES, st.sampled_from([None, RETURNED, RAISED, TOLD]), st.sampled_from([None, True, False]))
def test_anything_can_be_judged(tries: list[Try], outcome: Outcome | None, over: Any) -> None:
    found = judge(tries, outcome, is_over=over)
    assert set(found.names) <= set(NAMES)
    assert str(found)
    if all(each.succeeded and each.lasted(9) <= 1 for each in tries):
        assert set(found.names) <= set()


def test_the_summary_counts_and_names() -> None:
    good = judge([bad(1, 0), ok(2, 0.5)], RETURNED, is_over=True, trial="service_unavailable")
    gave_up = judge([bad(1, 0)], RAISED, is_over=True, trial="bad_gateway")
    idle = judge([ok(1, 0)], RETURNED, trial="stall")
    texts = [packed(good, "t[a]"), packed(idle, "t[i]")]
    texts += [packed(gave_up, f"t[{n}]") for n in range(6)]
    assert list(summary(texts)) == [
        "8 trials of clients: 2 as they should be, 6 not",
        "  gave_up (6): t[0], t[1], t[2], t[3] and 2 more",
        "      Try that again, after a pause that grows, a few times at most.",
        "  nothing happened in 1 (a failure of streams or of whole answers, and the other was "
        "asked for): t[i]",
    ]
    assert list(summary([])) == []
