"""The sender: numbered exchanges, waiting when told to, within the budget."""

import asyncio
import json
import socket
from typing import Any

import pytest

from wafermock.conformance.exchange import Exchange, Purpose, Received, Sent
from wafermock.conformance.planned import Planned
from wafermock.conformance.runner import Stopped
from wafermock.conformance.sender import LONGEST_WAIT, MOST_WAITS, EndpointSender
from wafermock.conformance.spending import Spending, tokens_of
from wafermock.conformance.throttle import Throttle
from wafermock.conformance.wire import Patience
from wafermock.reports.run import Budget, Cost

from .conftest import Raw, Serve


def planned(tokens: int = 0, statuses: tuple[int, ...] = ()) -> Planned:
    purpose = Purpose("test", "plain", "#/paths", "valid", statuses)
    return Planned(purpose, Sent("GET", "/v1/x"), None, {"a": 1}, tokens)


def answer(status: int, *headers: str, body: bytes = b"{}") -> bytes:
    lines = "".join(f"{header}\r\n" for header in headers)
    return (
        f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{lines}"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def unused_port() -> int:
    """Return a port where nobody listens."""
    with socket.socket() as bound:
        bound.bind(("localhost", 0))
        return int(bound.getsockname()[1])


def used(tokens: Any) -> bytes:
    return json.dumps({"usage": {"total_tokens": tokens}}).encode()


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def sender(raw: Raw, budget: Budget = Budget("test"), **options: Any) -> EndpointSender:  # noqa: B008
    return EndpointSender(raw.client(), Spending(budget), Throttle(), **options)


async def test_exchanges_are_numbered_as_they_are_asked_for(serve: Serve) -> None:
    raw = await serve([answer(200)] * 9)
    send = sender(raw, prefix="w1-")
    async with send.client:
        exchanges = await asyncio.gather(*(send.send(planned()) for _ in range(4)))
    assert [exchange.id for exchange in exchanges] == ["w1-1", "w1-2", "w1-3", "w1-4"]
    assert [exchange.asked for exchange in exchanges] == [{"a": 1}] * 4
    assert all(exchange.accepted for exchange in exchanges)


async def test_it_is_told_whether_anybody_had_the_request(serve: Serve) -> None:
    for raw, reached in ((await serve([b""]), True), (Raw(unused_port()), False)):
        send = sender(raw)
        async with send.client:
            exchange = await send.send(planned())
        assert (exchange.received, exchange.reached) == (None, reached)


async def test_an_answer_that_does_not_come_is_told(serve: Serve) -> None:
    raw = await serve([b""])
    send = sender(raw)
    async with send.client:
        exchange = await send.send(planned(tokens=7))
    assert (exchange.received, exchange.error) == (None, "closed without an answer")
    assert send.spending.cost().tokens == 7


async def test_told_to_wait_it_waits_and_sends_again(serve: Serve) -> None:
    raw = await serve([answer(429, "retry-after-ms: 20"), answer(503, "Retry-After: 0"),
                       answer(200, body=used(5))])  # fmt: skip
    heard: list[Exchange] = []
    send = sender(raw, overheard=heard.append)
    async with send.client:
        exchange = await send.send(planned(tokens=9))
    assert exchange.id == "1"
    assert exchange.received is not None
    assert exchange.received.status == 200
    assert [(e.id, e.received and e.received.status) for e in heard] == [("1.1", 429), ("1.2", 503)]
    cost = send.spending.cost(send.throttle.waits)
    assert cost == Cost(3, 5, 2, cost.seconds)


async def test_it_does_not_wait_for_ever(serve: Serve) -> None:
    raw = await serve([answer(429, "Retry-After: 0")] * 9)
    send = sender(raw)
    async with send.client:
        exchange = await send.send(planned())
    assert exchange.received is not None
    assert exchange.received.status == 429
    assert len(raw.requests) == MOST_WAITS + 1


@pytest.mark.parametrize(
    ("budget", "wait", "statuses"),
    [
        (Budget("test"), LONGEST_WAIT + 1, ()),
        (Budget("test", seconds=50), 60, ()),
        (Budget("test", requests=1), 0, ()),
        (Budget("test"), 0, (400, 429)),
    ],
    ids=["too long", "no time left", "no request left", "that is what was wanted"],
)
async def test_when_the_refusal_is_the_answer(
    serve: Serve, budget: Budget, wait: float, statuses: tuple[int, ...]
) -> None:
    raw = await serve([answer(429, f"Retry-After: {wait:g}"), answer(200)])
    heard: list[Exchange] = []
    send = sender(raw, budget, overheard=heard.append)
    async with send.client:
        exchange = await send.send(planned(statuses=statuses))
    assert exchange.received is not None
    assert (exchange.received.status, heard) == (429, [])


async def test_the_budget_ends_a_run(serve: Serve) -> None:
    raw = await serve([answer(200)] * 9)
    send = sender(raw, Budget("test", requests=2))
    async with send.client:
        assert send.allows([planned(), planned()])
        assert not send.allows([planned()])
        with pytest.raises(Stopped, match="budget"):
            await send.send(planned())


async def test_an_interruption_ends_a_wait(serve: Serve) -> None:
    raw = await serve([answer(429, "Retry-After: 100"), answer(200)])
    send = sender(raw)
    heard = asyncio.Event()
    send._overheard = lambda exchange: heard.set()
    async with send.client:
        sending = asyncio.create_task(send.send(planned()))
        await heard.wait()
        send.stop()
        with pytest.raises(Stopped, match="interrupted"):
            await sending


async def test_an_interruption_ends_a_request_that_hangs(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wafermock.conformance.throttle.GRACE", 0.0)
    taken = asyncio.Event()

    async def hanging(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken.set()
        await reader.read()

    send = sender(await serve(hanging))
    async with send.client:
        sending = asyncio.create_task(send.send(planned()))
        await taken.wait()
        send.stop()
        with pytest.raises(Stopped, match="interrupted"):
            await sending


async def test_no_request_lasts_longer_than_the_run_may(serve: Serve) -> None:
    async def hanging(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    send = sender(await serve(hanging), Budget("test", seconds=0.2))
    async with send.client:
        exchange = await send.send(planned())
        assert "no byte of an answer" in exchange.error
        with pytest.raises(Stopped, match="budget"):
            await send.send(planned())


async def test_a_wait_that_is_too_long_is_told(serve: Serve) -> None:
    asked: list[float] = []
    send = sender(await serve([answer(429, "Retry-After: 31536000")]), waiting=asked.append)
    async with send.client:
        exchange = await send.send(planned())
    assert exchange.received is not None
    assert exchange.received.status == 429
    assert asked == []
    assert "31,536,000 s" in send.client.notes[0]


# ------------------------------------------------------------------------- the books


def exchange(status: int = 200, body: bytes = b"{}", kind: str = "application/json") -> Exchange:
    from wafermock.conformance.exchange import Arrival

    received = Received(status, headers=(("Content-Type", kind),), arrivals=(Arrival(0.0, body),))
    return Exchange("1", planned().purpose, planned().sent, received=received)


def test_what_is_promised_is_kept() -> None:
    spending = Spending(Budget("test", requests=5, tokens=100))
    first, second = planned(60), planned(40)
    assert spending.allows([first, second])
    assert (spending.requests_left, spending.tokens_left) == (3, 0)
    assert spending.allows([planned(0)])
    assert not spending.start(planned(1))
    assert spending.start(first)
    assert spending.start(second)
    spending.end(first, exchange(body=used(10)))
    assert (spending.requests_left, spending.tokens_left) == (2, 50)
    spending.end(second, exchange(400))
    assert spending.tokens_left == 90
    assert spending.cost().requests == 2
    assert spending.cost().tokens == 10


def test_one_plan_may_be_promised_twice() -> None:
    spending = Spending(Budget("test", requests=2))
    plan = planned()
    assert spending.allows([plan, plan])
    assert spending.start(plan)
    assert spending.start(plan)
    assert not spending.start(plan)


def test_time() -> None:
    clock = Time()
    spending = Spending(Budget("test", seconds=10), clock=clock)
    assert spending.allows([planned()])
    clock.now = 10.0
    assert not spending.allows([planned()])
    assert not spending.again()
    assert spending.seconds_left == 0
    assert spending.cost().seconds == 10


def test_without_bounds() -> None:
    spending = Spending(Budget("test"))
    assert spending.allows([planned(10**9)] * 1000)
    assert (spending.requests_left, spending.tokens_left, spending.seconds_left) == (None,) * 3


STREAM = b'data: {"usage":null}\n\ndata: {"usage":{"total_tokens":8}}\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize(
    ("answered", "tokens"),
    [
        (exchange(body=used(12)), 12),
        (exchange(400, body=used(12)), 12),
        (exchange(400), 0),
        (exchange(), 99),
        (exchange(body=b"junk"), 99),
        (exchange(body=used(-5)), 99),
        (exchange(body=used(True)), 99),
        (exchange(body=used("12")), 99),
        (exchange(body=used(10**30)), 99),
        (exchange(body=b'{"usage":[1]}'), 99),
        (exchange(body=STREAM, kind="text/event-stream"), 8),
        (Exchange("1", planned().purpose, planned().sent, error="nothing"), 99),
    ],
)
def test_tokens(answered: Exchange, tokens: int) -> None:
    assert tokens_of(answered, 99) == tokens


def test_patience_has_no_bound_that_a_slow_model_runs_into() -> None:
    assert Patience().between >= 60
