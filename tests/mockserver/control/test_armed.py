"""What is armed goes off as often as asked, for the calls that were meant."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from wafermock.mockserver.control.armed import Armed, Arming


def names(armed: Armed, calls: int, scope: str = "", model: str = "gpt") -> list[str]:
    found = (armed.take(scope, "chat", model) for _ in range(calls))
    return [arming.name if arming else "" for arming in found]


def test_as_often_as_asked() -> None:
    armed = Armed()
    armed.arm(Arming("failure", "stall", times=2))
    assert names(armed, 3) == ["stall", "stall", ""]


def test_after_some_have_passed() -> None:
    armed = Armed()
    armed.arm(Arming("failure", "stall", after=2))
    assert names(armed, 4) == ["", "", "stall", ""]


def test_first_come_first_served() -> None:
    armed = Armed()
    armed.arm(Arming("error", "payment_required"))
    armed.arm(Arming("failure", "stall"))
    assert names(armed, 3) == ["payment_required", "stall", ""]


def test_until_taken_back() -> None:
    armed = Armed()
    number = armed.arm(Arming("defect", "two_ids", times=None))
    assert names(armed, 3) == ["two_ids"] * 3
    assert armed.disarm(number)
    assert not armed.disarm(number)
    assert names(armed, 1) == [""]


def test_only_what_is_meant() -> None:
    armed = Armed()
    armed.arm(Arming("failure", "stall", scope="a", model="gpt*", operation="ch?t"))
    assert names(armed, 1, scope="b") == [""]
    assert names(armed, 1, scope="a", model="zai") == [""]
    assert names(armed, 1, scope="a") == ["stall"]


def test_a_reset_of_a_scope_leaves_the_others() -> None:
    armed = Armed()
    for scope in ("a", "b", None):
        armed.arm(Arming("failure", str(scope), scope=scope))
    armed.reset("a")
    assert [arming.name for _, arming, _ in armed.listed] == ["b", "None"]
    armed.reset()
    assert armed.listed == []


@pytest.mark.parametrize("wrong", [{"times": 0}, {"times": -1}, {"after": -1}])
def test_what_can_never_go_off(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"at least one|no less than 0"):
        Armed().arm(Arming("failure", "stall", **wrong))  # type: ignore[arg-type]


def test_threads_never_share_one() -> None:
    armed = Armed()
    armed.arm(Arming("failure", "stall", times=100))
    with ThreadPoolExecutor(8) as pool:
        found = [name for part in pool.map(lambda _: names(armed, 50), range(8)) for name in part]
    assert found.count("stall") == 100
