"""Turns: the rate, the bound on how many at a time, and what answers ask to wait."""

import asyncio
import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.conformance.exchange import Received
from wafermock.conformance.throttle import Interrupted, Throttle, duration, wait_asked


class Clock:
    """A clock that goes on when somebody waits: no test waits in truth."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waited: list[float] = []

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()

    class Passing:
        def __init__(self, seconds: float) -> None:
            self._seconds = seconds

        async def __aenter__(self) -> None:
            await asyncio.sleep(0)
            clock.now += self._seconds
            clock.waited.append(self._seconds)
            raise TimeoutError

        async def __aexit__(self, *_: object) -> None: ...

    monkeypatch.setattr("wafermock.conformance.throttle.asyncio.timeout", Passing)
    return clock


async def times(throttle: Throttle, clock: Clock, count: int) -> list[float]:
    taken = []
    for _ in range(count):
        async with throttle.turn():
            taken.append(clock.now)
    return taken


async def test_without_a_rate_nobody_waits(clock: Clock) -> None:
    assert await times(Throttle(clock=clock), clock, 5) == [100.0] * 5
    assert clock.waited == []


async def test_rate(clock: Clock) -> None:
    throttle = Throttle(rate=4, clock=clock)
    assert await times(throttle, clock, 4) == [100.0, 100.25, 100.5, 100.75]
    clock.now = 200.0  # what was not used is not made up for
    assert await times(throttle, clock, 3) == [200.0, 200.25, 200.5]


async def test_a_pause_is_for_everybody(clock: Clock) -> None:
    throttle = Throttle(rate=10, clock=clock)
    await times(throttle, clock, 1)
    throttle.pause(30)
    throttle.pause(5)
    assert await times(throttle, clock, 2) == [130.0, 130.1]
    assert throttle.waits == 2


async def test_concurrency() -> None:
    throttle = Throttle(concurrency=2)
    inside = most = 0

    async def work() -> None:
        nonlocal inside, most
        async with throttle.turn():
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(work() for _ in range(9)))
    assert most == 2


async def test_who_waits_is_told_when_the_run_is_interrupted() -> None:
    throttle = Throttle()
    throttle.pause(3600)

    async def wait() -> None:
        async with throttle.turn():
            raise AssertionError("nobody has a turn")

    waiting = asyncio.create_task(wait())
    await asyncio.sleep(0)
    throttle.stop()
    with pytest.raises(Interrupted):
        await waiting


# ------------------------------------------------------------------------- what answers ask for


@pytest.mark.parametrize(
    ("status", "headers", "wait"),
    [
        (200, {"Retry-After": "5"}, None),
        (400, {"Retry-After": "5"}, None),
        (500, {}, None),
        (503, {}, None),
        (503, {"Retry-After": "5"}, 5.0),
        (429, {}, 1.0),
        (429, {"Retry-After": "5"}, 5.0),
        (429, {"retry-after": " 0 "}, 0.0),
        (429, {"Retry-After": "0.5"}, 0.5),
        (429, {"Retry-After": "5", "Retry-After-Ms": "250"}, 0.25),
        (429, {"Retry-After": "Mon, 30 Nov 2026 01:00:30 GMT",
               "Date": "Mon, 30 Nov 2026 01:00:00 GMT"}, 30.0),
        (429, {"Retry-After": "Mon, 30 Nov 2026 00:00:30 GMT",
               "Date": "Mon, 30 Nov 2026 01:00:00 GMT"}, 0.0),
        (429, {"Retry-After": "Mon, 30 Nov 2026 01:00:30 GMT"}, 10.0),
        (429, {"Retry-After": "soon"}, 1.0),
        (429, {"Retry-After": "-5"}, 1.0),
        (429, {"Retry-After": "nan"}, 1.0),
        (429, {"Retry-After": "1e999"}, 1.0),
        (429, {"Retry-After": "9" * 400}, 1.0),
        (429, {"x-ratelimit-reset-requests-day": "33011.38",
               "x-ratelimit-remaining-requests-day": "12",
               "x-ratelimit-reset-tokens-minute": "11.382",
               "x-ratelimit-remaining-tokens-minute": "0"}, 11.382),
        (429, {"x-ratelimit-reset-requests-day": "33011.38",
               "x-ratelimit-remaining-requests-day": "0",
               "x-ratelimit-reset-tokens-minute": "11.382",
               "x-ratelimit-remaining-tokens-minute": "0"}, 33011.38),
        (429, {"x-ratelimit-reset-requests": "33011", "x-ratelimit-reset-tokens": "6m2s"}, 362.0),
        (429, {"x-ratelimit-reset-requests": "bad"}, 1.0),
        (429, {"Retry-After": "5", "x-ratelimit-reset-requests": "33011"}, 5.0),
    ],
)  # fmt: skip
def test_what_an_answer_asks_for(status: int, headers: dict[str, str], wait: float | None) -> None:
    received = Received(status, headers=tuple(headers.items()))
    now = 1_796_000_420.0  # 2026-11-30 01:00:20 GMT
    assert wait_asked(received, now=now) == (None if wait is None else pytest.approx(wait))


def test_who_says_nothing_is_waited_for_longer_and_longer() -> None:
    assert [wait_asked(Received(429), tries) for tries in range(4)] == [1.0, 2.0, 4.0, 8.0]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("12.5", 12.5), ("20ms", 0.02), ("1m30s", 90), ("6m0s", 360), ("1h", 3600), ("0", 0),
     ("1d", 86400), ("7.66s", 7.66), ("", None), ("s", None), ("-1", None), ("1e5", None),
     ("1 s", None), ("inf", None), ("٣", None)],
)  # fmt: skip
def test_durations(text: str, seconds: float | None) -> None:
    assert duration(text) == (None if seconds is None else pytest.approx(seconds))


VALUES: Callable[[], st.SearchStrategy[str]] = lambda: st.one_of(  # noqa: E731
    st.text(max_size=12), st.text("0123456789.:GMTonNv ,+-eds", max_size=40)
)


@given(st.dictionaries(st.sampled_from(
    ["Retry-After", "retry-after-ms", "Date", "x-ratelimit-reset-a", "x-ratelimit-remaining-a"]
), VALUES()), st.sampled_from([429, 503]))  # fmt: skip
def test_whatever_stands_there_a_wait_is_a_number(headers: dict[str, str], status: int) -> None:
    wait = wait_asked(Received(status, headers=tuple(headers.items())))
    assert wait is None or (wait >= 0 and math.isfinite(wait))
