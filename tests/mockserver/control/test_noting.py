"""Noting calls: cheap, in order, bounded, and whole whenever someone looks."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.control.control import Control, Observed
from wafermock.mockserver.exchange import Answer, Cost, Request
from wafermock.mockserver.mock import Mock
from wafermock.mockserver.service import Service, Turn
from wafermock.spec import load_contract

SERVICE = Service(Mock(load_contract()))
OK = Turn(Answer(200, {}, (b"{}",), cost=Cost("m", 1, 1)))


def request(body: bytes = b"{}") -> Request:
    return Request("POST", "/v1/chat/completions", "", {"content-type": "application/json"}, body)


def waiting(control: Control) -> list[Observed]:
    """Return the calls that are noted and not yet entered."""
    return list(control._noted)


@given(st.lists(st.sampled_from(["note", "end", "look", "reset"]), max_size=60), st.integers(1, 5))
def test_all_is_counted_once_whatever_is_looked_at_when(acts: list[str], entries: int) -> None:
    control = Control(SERVICE, entries=entries)
    begun: list[Observed] = []
    ended = 0
    for act in acts:
        if act == "note":
            begun.append(control.note(request(), OK))
        elif act == "end" and ended < len(begun):
            begun[ended].end(0.5)
            begun[ended].end(9.0, "dropped")  # only the first end counts
            ended += 1
        elif act == "look":
            assert len(control.journal) <= entries
        elif act == "reset":
            control.forget()
    assert control.metrics.in_flight == len(begun) - ended
    assert sum(control.metrics._requests.values()) == len(begun)
    assert [call.entry.number for call in begun] == list(range(1, len(begun) + 1))
    assert [call.entry.ending for call in begun[:ended]] == ["complete"] * ended
    if begun:
        last = begun[-1].entry
        assert (last.operation, last.time) == ("createChatCompletion", SERVICE.clock.time())


def test_few_calls_wait_to_be_entered() -> None:
    control = Control(SERVICE)
    for _ in range(1000):
        control.note(request(), OK).end(0.0)
        assert len(waiting(control)) < 64


@pytest.mark.parametrize(
    ("asked", "turn"),
    [
        (request(b"x" * 20_000), OK),
        (request(), Turn(Answer(200, {}, (b"x" * 20_000,)))),
        (request(), Turn(Answer(200, {}, (b"x" * 9_000,) * 3, streamed=True))),
    ],
    ids=["body", "answer", "stream"],
)
def test_what_is_large_does_not_wait(asked: Request, turn: Turn) -> None:
    control = Control(SERVICE)
    control.note(request(), OK)
    control.note(asked, turn)
    assert waiting(control) == []
    assert control.journal.span.bytes > 20_000


def test_what_left_the_journal_is_still_counted() -> None:
    control = Control(SERVICE, entries=10)
    for _ in range(500):
        control.note(request(), OK).end(0.1)
    points = {covered.point.id: covered.calls for covered in control.covered()}
    assert points["operation:createChatCompletion"] == 500
    assert control.metrics.in_flight == 0
    assert sum(control.metrics._requests.values()) == 500
    assert control.journal.span.gone == 490


def test_a_call_that_ends_after_it_left_is_counted() -> None:
    control = Control(SERVICE, entries=1)
    early = control.note(request(), OK)
    control.note(request(), OK).end(0.1)
    assert control.journal.span.first == 2
    assert control.metrics.in_flight == 1
    early.end(3.0)
    assert control.metrics.in_flight == 0


def test_the_same_request_is_held_once() -> None:
    control = Control(SERVICE)
    calls = [control.note(request(body), OK) for body in (b"a", bytearray(b"a"), b"b")]  # type: ignore[arg-type]
    first, second, third = (call.entry.request for call in calls)
    assert first is second
    assert third is not second


def test_many_threads_note_end_and_look() -> None:
    control = Control(SERVICE, entries=300)

    def work(_: Any) -> None:
        for number in range(200):
            call = control.note(request(), OK)
            if number % 7 == 0:
                control.journal.find()
            call.end(0.0)
            if number % 31 == 0:
                assert control.metrics.in_flight >= 0

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    span = control.journal.span
    assert (span.last, span.kept) == (1600, 300)
    assert control.metrics.in_flight == 0
    assert sum(control.metrics._requests.values()) == 1600
    assert all(entry.ending == "complete" for entry in control.journal.find())
    assert [e.number for e in control.journal.find()] == list(range(1301, 1601))
