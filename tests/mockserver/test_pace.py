"""Pace: offsets, totals and time_info are one thing, whatever an answer is cut into."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.clock import SECOND, Clock
from wafermock.mockserver.pace import Pace, Schedule, read_pace

SPEED = {"prompt": 30000, "completion": 3000}


@st.composite
def paces(draw: st.DrawFn) -> Pace:
    return Pace(
        ttft=draw(st.none() | st.floats(0, 10)),
        tokens_per_second=draw(st.none() | st.floats(0.01, 1e6)),
        jitter=draw(st.just(0.0) | st.floats(0, 1)),
        model_speed=draw(st.booleans()),
    )


@st.composite
def schedules(draw: st.DrawFn) -> tuple[Schedule, list[int]]:
    """A schedule, and a way to cut its answer."""
    counts = draw(st.lists(st.integers(0, 8), min_size=1, max_size=30))
    hidden = draw(st.just(0) | st.integers(0, 50))
    schedule = draw(paces()).schedule(
        draw(st.binary(max_size=4)),
        SPEED,
        draw(st.integers(0, 5000)),
        sum(counts) + hidden,
        draw(st.none() | st.floats(0, 5)),
    )
    return schedule, counts


def _plan(pace: Pace, tokens: int, prompt: int = 0, queue: float | None = None) -> Schedule:
    return pace.schedule(b"call", SPEED, prompt, tokens, queue)


class TestOffsets:
    def test_as_the_options_say(self) -> None:
        """200 ms to the role and the first piece, then half a millisecond a token."""
        schedule = _plan(Pace(ttft=0.2, tokens_per_second=2000), 10)
        counts = [0, 4, 1, 3, 2, 0, 0]
        offsets = (0.2, 0.2, 0.202, 0.2025, 0.204, 0.205, 0.205)
        assert schedule.offsets(counts) == offsets
        assert schedule.delays(counts) == pytest.approx((0.2, 0, 0.002, 0.0005, 0.0015, 0.001, 0))

    def test_a_whole_answer_goes_when_all_is_made(self) -> None:
        assert _plan(Pace(ttft=0.2, tokens_per_second=2000), 10).offsets([10]) == (0.205,)

    def test_hidden_tokens_are_made_before_the_first_part(self) -> None:
        schedule = _plan(Pace(ttft=0.2, tokens_per_second=1000), 100)
        assert schedule.offsets([0, 10, 0]) == (0.29, 0.29, 0.3)

    def test_the_queue_comes_first(self) -> None:
        schedule = _plan(Pace(ttft=0.2, tokens_per_second=1000), 1, queue=0.3)
        assert schedule.offsets([0, 1]) == (0.5, 0.501)

    def test_ttft_alone(self) -> None:
        assert _plan(Pace(ttft=0.2), 100).offsets([0, 50, 50, 0]) == (0.2,) * 4

    def test_a_rate_alone(self) -> None:
        assert _plan(Pace(tokens_per_second=10), 3).offsets([0, 1, 1, 1, 0]) == (
            0,
            0,
            0.1,
            0.2,
            0.3,
        )

    def test_the_models_own_speed_and_what_overrides_it(self) -> None:
        whole = [300]
        assert _plan(Pace(model_speed=True), 300, 3000).offsets(whole) == (0.2,)
        assert _plan(Pace(ttft=1, model_speed=True), 300, 3000).offsets(whole) == (1.1,)
        faster = Pace(tokens_per_second=30000, model_speed=True)
        assert _plan(faster, 300, 3000).offsets(whole) == (0.11,)
        assert _plan(Pace(ttft=0, model_speed=True), 0, 3000).offsets([0]) == (0,)

    def test_what_is_shown_beyond_the_answers_tokens_takes_no_time(self) -> None:
        assert _plan(Pace(tokens_per_second=10), 2).offsets([1, 2, 5, 0]) == (0, 0.1, 0.2, 0.2)

    def test_no_parts(self) -> None:
        assert _plan(Pace(ttft=1), 5).offsets([]) == ()

    @given(schedules())
    def test_parts_go_in_order_from_ttft_to_the_end(self, made: tuple[Schedule, list[int]]) -> None:
        schedule, counts = made
        offsets = schedule.offsets(counts)
        assert len(offsets) == len(counts)
        assert list(offsets) == sorted(offsets)
        lead = (schedule.queue + schedule.prompt) / SECOND
        assert offsets[0] >= lead
        if schedule.tokens == sum(counts) and len(counts) > 1:
            assert offsets[0] == lead
        assert sum(schedule.delays(counts)) == pytest.approx(offsets[-1])

    @given(schedules(), st.data())
    def test_the_end_does_not_depend_on_the_cuts(
        self, made: tuple[Schedule, list[int]], data: st.DataObject
    ) -> None:
        schedule, counts = made
        other = data.draw(st.permutations(counts))
        end = schedule.offsets([schedule.tokens])[-1]
        assert schedule.offsets(counts)[-1] == schedule.offsets(other)[-1] == end

    @given(schedules())
    def test_time_info_tells_what_a_stopwatch_does(self, made: tuple[Schedule, list[int]]) -> None:
        schedule, counts = made
        told = schedule.time_info(1000.0)
        assert told.total_time == schedule.offsets(counts)[-1]
        parts = told.queue_time + told.prompt_time + told.completion_time
        assert parts == pytest.approx(told.total_time)
        assert told.created == pytest.approx(1000 + told.total_time)


class TestJitter:
    @given(paces(), st.binary(max_size=4), st.integers(1, 60), st.integers(0, 3000))
    def test_no_part_varies_by_more_than_it(
        self, pace: Pace, identity: bytes, tokens: int, prompt: int
    ) -> None:
        steady = Pace(pace.ttft, pace.tokens_per_second, 0.0, pace.model_speed)
        counts = [0, *[1] * tokens, 0]
        actual = pace.schedule(identity, SPEED, prompt, tokens).delays(counts)
        nominal = steady.schedule(identity, SPEED, prompt, tokens).delays(counts)
        for got, wanted in zip(actual, nominal, strict=True):
            margin = 1e-8 + wanted * 1e-6
            assert got >= wanted * (1 - pace.jitter) - margin
            assert got <= wanted * (1 + pace.jitter) + margin

    def test_it_varies_by_call_and_repeats(self) -> None:
        pace = Pace(ttft=0.2, tokens_per_second=100, jitter=0.1)
        plans = [pace.schedule(name, SPEED, 5, 20).offsets([1] * 20) for name in (b"a", b"b", b"a")]
        assert plans[0] == plans[2] != plans[1]

    def test_it_is_the_same_on_every_machine(self) -> None:
        schedule = Pace(ttft=0.2, tokens_per_second=100, jitter=0.1).schedule(b"pin", SPEED, 5, 3)
        assert schedule.offsets([0, 1, 1, 1, 0]) == PINNED


PINNED = (0.209268176, 0.209268176, 0.220157039, 0.229940002, 0.240689556)


def test_a_client_waits_as_planned() -> None:
    """A delivery by a stopwatch, on a clock that is stepped from part to part."""
    schedule = _plan(Pace(ttft=0.2, tokens_per_second=1000), 6)
    counts = [0, 2, 4, 0]
    clock = Clock("manual")
    sent: list[float] = []

    async def deliver() -> None:
        watch = clock.stopwatch()
        for offset in schedule.offsets(counts):
            await watch.reach(offset)
            sent.append(watch.seconds)

    async def main() -> None:
        task = asyncio.ensure_future(deliver())
        for milliseconds in (199, 1, 1, 1, 3, 1):
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            clock.advance(milliseconds / 1000)
        await task

    asyncio.run(main())
    assert sent == [0.2, 0.2, 0.202, 0.206]


class TestOptions:
    def test_no_pace_is_none(self) -> None:
        assert read_pace() is None

    def test_all_of_them(self) -> None:
        assert read_pace("200ms", "2000", "10%", True) == Pace(0.2, 2000.0, 0.1, True)

    @pytest.mark.parametrize(
        ("options", "pace"),
        [
            ({"ttft": "1.5s"}, Pace(ttft=1.5)),
            ({"ttft": "0"}, Pace(ttft=0.0)),
            ({"tokens_per_second": "0.5"}, Pace(tokens_per_second=0.5)),
            ({"model_speed": True}, Pace(model_speed=True)),
            ({"model_speed": True, "jitter": "0.25"}, Pace(jitter=0.25, model_speed=True)),
            ({"ttft": "2", "jitter": "100 %"}, Pace(ttft=2.0, jitter=1.0)),
            ({"ttft": "2", "jitter": "0%"}, Pace(ttft=2.0)),
        ],
    )
    def test_one_by_one(self, options: dict[str, Any], pace: Pace) -> None:
        assert read_pace(**options) == pace

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"ttft": "fast"}, "--ttft: 'fast' is not a duration; write it as 200ms"),
            ({"ttft": "-1s"}, "--ttft: '-1s' is not a duration"),
            (
                {"tokens_per_second": "0"},
                "--tokens-per-second: '0' is no rate; write a number from",
            ),
            ({"tokens_per_second": "2e3"}, "'2e3' is no rate"),
            ({"tokens_per_second": "-5"}, "'-5' is no rate"),
            ({"tokens_per_second": "9" * 400}, "is no rate"),
            ({"tokens_per_second": ""}, "'' is no rate"),
            ({"ttft": "1", "jitter": "10"}, "from 0% to 100%, as 10% or 0.1; did you mean 10%?"),
            ({"ttft": "1", "jitter": "101%"}, "--jitter: '101%' is not from 0% to 100%"),
            ({"ttft": "1", "jitter": "ten"}, "--jitter: 'ten' is not from"),
            ({"ttft": "1", "jitter": "-1%"}, "--jitter: '-1%' is not from"),
            ({"jitter": "10%"}, "--jitter varies a pace and there is none; give --ttft"),
        ],
    )
    def test_faults_are_named(self, options: dict[str, Any], sentence: str) -> None:
        with pytest.raises(ValueError, match=r"^--") as raised:
            read_pace(**options)
        assert sentence in str(raised.value)
