"""The clock: what it shows, who it wakes, from any thread, and never with a test asleep."""

import asyncio
import selectors
import threading
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.clock import (
    FROZEN_TIME,
    SECOND,
    Clock,
    nanoseconds,
    parse_duration,
)


class _Jumping(selectors.SelectSelector):
    """Waits for nothing: where a loop would idle for a second, its time is a second later."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "nothing will ever happen in this loop"
            self.now += max(timeout, 0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in a time of its own, which flies while everyone waits."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now

    def nanoseconds(self) -> int:
        return round(self._jumping.now * SECOND)

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.run_until_complete(coroutine)


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    yield loop
    loop.close()


class TestReading:
    def test_it_is_frozen_at_the_time_answers_carry(self) -> None:
        clock = Clock()
        assert clock.time() == FROZEN_TIME == 1767225600.0
        assert clock.nanoseconds() == 1767225600 * SECOND

    def test_frozen_stands_still_while_time_passes(self) -> None:
        ticks = iter([100, 5 * SECOND, 7 * SECOND])
        clock = Clock(monotonic=lambda: next(ticks))
        assert clock.passage() == 5 * SECOND - 100
        assert clock.nanoseconds() == 1767225600 * SECOND

    def test_real_runs_from_where_it_began(self) -> None:
        now = [0]
        clock = Clock("real", at=1000.0, monotonic=lambda: now[0])
        now[0] = 2_500_000_000
        assert clock.time() == 1002.5
        clock.set(50.0)
        assert clock.time() == 50.0
        clock.advance(10)
        now[0] += SECOND
        assert clock.time() == 61.0

    def test_real_begins_at_the_time_of_the_computer(self) -> None:
        assert Clock("real").time() > FROZEN_TIME - 365 * 86400

    def test_tenths_do_not_drift(self) -> None:
        clock = Clock()
        for _ in range(100_000):
            clock.advance(0.1)
        assert clock.nanoseconds() == (1767225600 + 10_000) * SECOND

    @given(st.lists(st.integers(0, 10**15), max_size=20))
    def test_it_advances_by_exactly_the_nanoseconds(self, steps: list[int]) -> None:
        clock = Clock("manual", at=0)
        for step in steps:
            clock.advance(step / SECOND)
        assert clock.nanoseconds() == clock.passage() == sum(steps)

    def test_set_moves_the_reading_and_no_time_passes(self) -> None:
        clock = Clock("manual")
        clock.set(0)
        assert (clock.time(), clock.passage()) == (0.0, 0)

    @pytest.mark.parametrize("seconds", [-1, -0.001, float("nan"), float("inf"), 1e12, "5", None])
    def test_what_is_no_step_is_refused(self, seconds: Any) -> None:
        clock = Clock()
        with pytest.raises(ValueError, match="advances by seconds from 0, not by"):
            clock.advance(seconds)
        assert clock.time() == FROZEN_TIME

    @pytest.mark.parametrize("unix", [-1, float("nan"), float("inf"), 1e12, "2026"])
    def test_what_is_no_time_is_refused(self, unix: Any) -> None:
        clock = Clock()
        with pytest.raises(ValueError, match="shows Unix seconds from 0 to"):
            clock.set(unix)
        with pytest.raises(ValueError, match="shows Unix seconds from 0 to"):
            Clock(at=unix)
        assert clock.time() == FROZEN_TIME

    def test_steps_end_with_the_year_9999(self) -> None:
        clock = Clock()
        with pytest.raises(ValueError, match="pass the year 9999"):
            clock.advance(253402300799)
        assert clock.time() == FROZEN_TIME


class TestWaiting:
    """Each of these runs in virtual time: a wait that nobody ends fails, and none takes time."""

    def test_frozen_sleepers_wake_in_order_as_time_is_advanced(self, loop: VirtualLoop) -> None:
        clock = Clock()
        woken: list[int] = []

        async def sleeper(seconds: int) -> None:
            await clock.sleep(seconds)
            woken.append(seconds)

        async def main() -> None:
            tasks = [asyncio.ensure_future(sleeper(seconds)) for seconds in (30, 10, 20)]
            await _settled()
            seen = []
            for _ in range(3):
                clock.advance(10)
                await _settled()
                seen.append((list(woken), clock.waiting))
            assert seen == [([10], 2), ([10, 20], 1), ([10, 20, 30], 0)]
            await asyncio.gather(*tasks)

        loop.run(main())
        assert loop.time() == 0

    def test_set_wakes_those_whose_time_has_come(self, loop: VirtualLoop) -> None:
        clock = Clock()

        async def main() -> None:
            task = asyncio.ensure_future(clock.wait_until(FROZEN_TIME + 3600))
            await _settled()
            clock.set(FROZEN_TIME - 3600)
            await _settled()
            assert not task.done()
            clock.set(FROZEN_TIME + 3600)
            await task

        loop.run(main())

    def test_what_is_past_is_not_waited_for(self, loop: VirtualLoop) -> None:
        clock = Clock()
        loop.run(clock.sleep(0))
        loop.run(clock.wait_until(FROZEN_TIME - 1))
        loop.run(clock.pause(0))
        assert clock.waiting == 0

    def test_a_pause_takes_real_time_though_the_reading_is_frozen(self, loop: VirtualLoop) -> None:
        clock = Clock(monotonic=loop.nanoseconds)
        loop.run(clock.pause(0.2))
        assert loop.time() == pytest.approx(0.2)
        assert clock.time() == FROZEN_TIME

    def test_a_pause_of_a_real_clock_and_a_sleep_are_the_same(self, loop: VirtualLoop) -> None:
        clock = Clock("real", at=0, monotonic=loop.nanoseconds)
        loop.run(clock.pause(1.5))
        assert clock.time() == pytest.approx(1.5)
        loop.run(clock.sleep(1.5))
        assert clock.time() == pytest.approx(3)
        loop.run(clock.wait_until(5))
        assert loop.time() == pytest.approx(5)

    @pytest.mark.parametrize("kind", ["frozen", "real"])
    def test_advance_shortens_a_pause(self, loop: VirtualLoop, kind: Any) -> None:
        clock = Clock(kind, monotonic=loop.nanoseconds)

        async def main() -> None:
            task = asyncio.ensure_future(clock.pause(60))
            await _settled()
            clock.advance(45)
            await task

        loop.run(main())
        assert loop.time() == pytest.approx(15)

    def test_a_manual_pause_waits_for_its_steps_only(self, loop: VirtualLoop) -> None:
        clock = Clock("manual", monotonic=loop.nanoseconds)

        async def main() -> None:
            task = asyncio.ensure_future(clock.pause(0.2))
            await asyncio.sleep(1000)
            assert not task.done()
            clock.set(FROZEN_TIME + 1000)
            await _settled()
            assert not task.done()
            clock.advance(0.2)
            await task

        loop.run(main())

    def test_stopwatch_points_do_not_add_up(self, loop: VirtualLoop) -> None:
        clock = Clock(monotonic=loop.nanoseconds)

        async def main() -> None:
            watch = clock.stopwatch()
            for point in range(1, 101):
                await watch.reach(point / 1000)
                await asyncio.sleep(0.0005)  # what writing takes
            assert watch.seconds == pytest.approx(0.1005)

        loop.run(main())

    def test_a_cancelled_wait_leaves_nothing_behind(self, loop: VirtualLoop) -> None:
        clock = Clock()

        async def main() -> None:
            task = asyncio.ensure_future(clock.sleep(10))
            await _settled()
            assert clock.waiting == 1
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert task.cancelled()
            assert clock.waiting == 0

        loop.run(main())


class TestThreads:
    def test_another_thread_wakes_a_server(self) -> None:
        clock = Clock("manual")
        woken: list[float] = []

        async def serve() -> None:
            for _ in range(3):
                await clock.pause(2)
                woken.append(clock.time() - FROZEN_TIME)

        thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
        thread.start()
        for _ in range(3):
            assert clock.until_waiting()
            clock.advance(2)
        thread.join(30)
        assert woken == [2, 4, 6]

    def test_no_step_is_lost_between_looking_and_lying_down(self) -> None:
        """Two loops wait for every one of many steps that two threads take."""
        clock = Clock("manual", at=0)

        async def serve() -> None:
            for second in range(1, 1001):
                await clock.wait_until(second)

        servers = [
            threading.Thread(target=lambda: asyncio.run(serve()), daemon=True) for _ in range(2)
        ]

        def move() -> None:
            for _ in range(500):
                clock.advance(1)

        movers = [threading.Thread(target=move, daemon=True) for _ in range(2)]
        for thread in servers + movers:
            thread.start()
        for thread in servers + movers:
            thread.join(30)
        assert not any(thread.is_alive() for thread in servers + movers)
        assert (clock.time(), clock.waiting) == (1000, 0)

    def test_until_waiting_gives_up(self) -> None:
        assert Clock().until_waiting(timeout=0) is False

    def test_a_loop_that_is_gone_is_no_trouble(self) -> None:
        clock = Clock()
        loop = asyncio.new_event_loop()
        wait = clock.sleep(5)
        task = loop.create_task(wait)
        loop.run_until_complete(_settled())
        loop.close()
        clock.advance(5)
        assert clock.waiting == 0
        wait.close()
        task._log_destroy_pending = False  # type: ignore[attr-defined]


@given(st.integers(0, 2**50))
def test_seconds_and_nanoseconds_are_the_same(number: int) -> None:
    assert nanoseconds(number / SECOND) == number


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("200ms", 0.2),
        ("1.5s", 1.5),
        ("2", 2.0),
        (".5", 0.5),
        ("0", 0.0),
        (" 20 ms ", 0.02),
        ("5min", 300.0),
        ("1h", 3600.0),
        ("0.1ms", 0.0001),
    ],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "ms", "-1s", "1e3", "nan", "inf", "1,5s", "1s 2s", "2 S", "٣s"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration; write it as 200ms, "):
        parse_duration(text)


def test_an_unknown_unit_is_named() -> None:
    with pytest.raises(ValueError, match="'5m': there is no unit 'm'; there are ms, s, min and h"):
        parse_duration("5m")


def test_a_duration_has_an_end() -> None:
    with pytest.raises(ValueError, match="longer than anyone can wait"):
        parse_duration("9" * 400)


@given(st.text(max_size=12))
def test_a_duration_is_a_number_or_a_sentence(text: str) -> None:
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        complaint = str(error)
    else:
        assert seconds >= 0
        return
    assert repr(text) in complaint


async def _settled() -> None:
    """Let every task that can go on do so."""
    for _ in range(10):
        await asyncio.sleep(0)
