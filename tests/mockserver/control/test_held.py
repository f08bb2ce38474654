"""Held streams: nothing goes that was not let go, and nobody waits for ever."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.control.held import Dropped, Held, Holds, Order

PATIENCE = 30


def taken(holds: Holds, number: int = 1, parts: int = 5, scope: str = "") -> Held:
    held = holds.take(number, parts, scope, "createChatCompletion", "gpt-oss-120b")
    assert held is not None
    return held


async def deliver(held: Held, sent: list[int]) -> str:
    try:
        for index in range(held.parts):
            await held.reach(index)
            sent.append(index)
    except Dropped:
        return "dropped"
    finally:
        held.over()
    return "complete"


async def standing(holds: Holds, count: int = 1) -> None:
    """Wait until streams stand still; the loop goes on meanwhile."""
    loop = asyncio.get_running_loop()
    assert await loop.run_in_executor(None, holds.until_held, count, PATIENCE)


async def test_part_by_part_then_all() -> None:
    holds, sent = Holds(), list[int]()
    holds.order(Order())
    task = asyncio.create_task(deliver(taken(holds), sent))
    await standing(holds)
    assert sent == []
    holds.emit(1)
    holds.emit(1, 2)
    for _ in range(20):  # as far as it gets
        await asyncio.sleep(0)
    await standing(holds)
    assert sent == [0, 1, 2]
    (stream,) = holds.streams
    assert (stream.state, stream.sent, stream.allowed, stream.parts) == ("held", 3, 3, 5)
    holds.release(1)
    assert await task == "complete"
    assert sent == [0, 1, 2, 3, 4]
    assert holds.streams == []


async def test_a_dropped_stream_ends_where_it_stands() -> None:
    holds, sent = Holds(), list[int]()
    holds.order(Order(at=2))
    task = asyncio.create_task(deliver(taken(holds), sent))
    await standing(holds)
    assert holds.drop(1).state == "dropped"
    assert await task == "dropped"
    assert sent == [0, 1]


async def test_a_running_stream_can_be_held_again() -> None:
    holds, sent = Holds(), list[int]()
    holds.order(Order(at=1))
    held = taken(holds)
    await held.reach(0)
    sent.append(0)
    holds.release(1)
    holds.hold(1)
    task = asyncio.create_task(held.reach(1))
    await standing(holds)
    holds.release(1)
    await task


async def test_another_thread_moves_it() -> None:
    holds, sent = Holds(), list[int]()
    holds.order(Order())
    task = asyncio.create_task(deliver(taken(holds), sent))

    def move() -> None:
        assert holds.until_held(1, PATIENCE)
        holds.release(1)

    with ThreadPoolExecutor(1) as pool:
        moved = pool.submit(move)
        assert await task == "complete"
        moved.result(PATIENCE)


async def test_a_reset_lets_everyone_go() -> None:
    holds = Holds()
    holds.order(Order(times=3))
    tasks = [asyncio.create_task(deliver(taken(holds, number), [])) for number in (1, 2)]
    await standing(holds, 2)
    holds.reset()
    assert await asyncio.gather(*tasks) == ["complete", "complete"]
    assert holds.orders == []


async def test_a_server_that_stops_drops_them() -> None:
    holds = Holds()
    holds.order(Order())
    task = asyncio.create_task(deliver(taken(holds), []))
    await standing(holds)
    holds.drop_all()
    assert await task == "dropped"


async def test_a_delivery_that_is_given_up_is_forgotten() -> None:
    holds = Holds()
    holds.order(Order())
    task = asyncio.create_task(deliver(taken(holds), []))
    await standing(holds)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert holds.streams == []
    with pytest.raises(KeyError):
        holds.emit(1)


def test_moving_after_the_loop_is_closed_harms_nobody() -> None:
    holds = Holds()
    holds.order(Order())
    held = taken(holds)
    loop = asyncio.new_event_loop()
    task = loop.create_task(held.reach(0))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    holds.release(1)
    task.get_coro().close()  # type: ignore[union-attr]


def test_orders() -> None:
    holds = Holds()
    assert holds.take(1, 5, "", None, None) is None
    first = holds.order(Order(scope="a", times=2))
    second = holds.order(Order(model="gpt-*", operation="create*"))
    assert holds.take(1, 5, "b", None, None) is None
    taken(holds, 2, scope="b")
    assert [number for number, _, _ in holds.orders] == [first]
    taken(holds, 3, scope="a")
    assert [(number, left) for number, _, left in holds.orders] == [(first, 1)]
    taken(holds, 4, scope="a")
    assert holds.take(5, 5, "a", None, None) is None
    assert not holds.cancel(second)
    assert holds.cancel(holds.order(Order()))


@pytest.mark.parametrize("wrong", [{"at": -1}, {"times": 0}])
def test_orders_that_mean_nothing(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at a part from 0"):
        Order(**wrong)


def test_emitting_nothing() -> None:
    holds = Holds()
    holds.order(Order())
    taken(holds)
    with pytest.raises(ValueError, match="at least one part"):
        holds.emit(1, 0)


@given(
    st.integers(0, 6),
    st.lists(st.sampled_from(["emit", "emit 3", "hold", "release"]), max_size=12),
)
def test_never_more_than_allowed(at: int, moves: list[str]) -> None:
    """Whatever is done: what goes is what was allowed, and a release ends it."""

    async def check() -> None:
        holds, sent = Holds(), list[int]()
        holds.order(Order(at=at))
        task = asyncio.create_task(deliver(taken(holds), sent))
        allowed = min(at, 5)
        for move in moves:
            for _ in range(20):  # as far as it gets
                await asyncio.sleep(0)
            assert len(sent) == allowed
            if allowed == 5:
                break
            if move == "hold":
                holds.hold(1)
            elif move == "release":
                holds.release(1)
                allowed = 5
            else:
                count = 3 if "3" in move else 1
                holds.emit(1, count)
                allowed = min(allowed + count, 5)
        if 1 in [stream.number for stream in holds.streams]:
            holds.release(1)
        assert await asyncio.wait_for(task, PATIENCE) == "complete"
        assert sent == [0, 1, 2, 3, 4]

    asyncio.run(check())
