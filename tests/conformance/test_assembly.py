"""Chunks become the whole answer, and hostile ones become something without an exception."""

import json
from typing import Any

import pytest
from hypothesis import given

from wafermock.conformance.assembly import assemble, calls_in, choices_in, whole, words_in
from wafermock.conformance.chunk_sequence import run
from wafermock.conformance.exchange import Exchange
from wafermock.conformance.once import once
from wafermock.mockserver.wire import DELIVERIES

from .conftest import ASKED
from .test_sequence import spoilt


def plain(answer: Any) -> Any:
    """What does not differ between whole and streamed answers of the mock: all but the names of
    kinds, times, and indexes of tool calls."""
    kept = {key: value for key, value in answer.items() if key not in ("object", "time_info")}
    for choice in choices_in(kept):
        for call in calls_in(choice):
            call.pop("index", None)
    return kept


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("delivery", [None, *DELIVERIES])
def test_joined_chunks_are_the_whole_answer(
    exchange: Any, asked: str, delivery: str | None
) -> None:
    joined = whole(exchange(f"{asked} stream", delivery=delivery))
    assert same(plain(joined), plain(json.loads(exchange(asked).received.raw)))


def same(joined: Any, expected: Any) -> bool:
    """Equal but for keys of no value, and for log probabilities, which streams have elsewhere."""
    return bool(_without_nothing(joined) == _without_nothing(expected))


def _without_nothing(value: Any) -> Any:
    if isinstance(value, dict):
        items = {key: _without_nothing(item) for key, item in value.items()}
        return {key: item for key, item in items.items() if item not in (None, [], {}, "")}
    return [_without_nothing(item) for item in value] if isinstance(value, list) else value


def piece(index: int = 0, **more: Any) -> Any:
    return {"choices": [{"index": index, **more}]}


def call(**more: Any) -> Any:
    return piece(delta={"tool_calls": [more]})


def test_first_and_last() -> None:
    answer = assemble(
        [
            {"id": None, "choices": [], "model": "a"},
            {"id": "1", "choices": [], "model": "b", "usage": {"total_tokens": 1}},
            {"choices": [], "usage": None, "service_tier": "x"},
            {"error": {}, "status_code": 500},
        ]
    )
    assert answer == {
        "id": "1", "choices": [], "model": "a", "usage": {"total_tokens": 1}, "service_tier": "x",
    }  # fmt: skip


def test_choices_stand_in_the_order_of_their_indexes() -> None:
    answer = assemble([piece(1, text="b"), piece(0, text="a"), piece(1, text="c")])
    assert answer == {"choices": [{"index": 0, "text": "a"}, {"index": 1, "text": "bc"}]}


def test_calls_without_indexes() -> None:
    """Fragments go to the last call; another id begins a new one."""
    f = {"name": "f", "arguments": "{"}
    chunks = [call(id="a", function=f), call(function={"arguments": "}"}), call(id="b", function=f)]
    [choice] = choices_in(assemble(chunks))
    assert [(c["id"], c["function"]["arguments"]) for c in calls_in(choice)] == [
        ("a", "{}"), ("b", "{"),
    ]  # fmt: skip


def test_ids_and_names_are_kept_once() -> None:
    fragment = {"index": 0, "id": "a", "function": {"name": "f", "arguments": "1"}}
    [choice] = choices_in(assemble([call(**fragment), call(**{**fragment, "id": "b"})]))
    assert calls_in(choice) == [
        {"index": 0, "id": "a", "function": {"name": "f", "arguments": "11"}}
    ]


def test_nothing_to_assemble() -> None:
    assert assemble([]) is None
    assert assemble([1, {}, {"choices": 1}, {"error": {}}]) is None
    assert choices_in(None) == choices_in({"choices": {}}) == calls_in({"message": []}) == []
    assert words_in({"message": 1, "text": "x"}) == {"message": 1, "text": "x"}


def test_wrong_types_are_left_out() -> None:
    """They come before what is right, and behind it."""
    wrong = [1, None, {}, "x", [None]]
    for first in wrong:
        for key, right in (
            ("tool_calls", [{"index": 0, "function": {"name": "f"}}]),
            ("content", "a"),
        ):
            chunks = [piece(delta={key: first}), piece(delta={key: right}), piece(message=first)]
            [choice] = choices_in(assemble(chunks))
            if key == "tool_calls":
                assert calls_in(choice)[-1]["function"] == {"name": "f"}
            assert json.dumps(choice)
        chunks = [call(index=0, function=first), call(index=0, function={"arguments": "1"})]
        [choice] = choices_in(assemble(chunks))
        assert calls_in(choice)[0]["function"]["arguments"] == "1"


@pytest.mark.parametrize("indexed", [True, False])
def test_many_calls_are_no_burden(indexed: bool) -> None:
    """No quadratic cost: so many calls would end the suite if there were one."""
    calls = [{"id": str(n), **({"index": n} if indexed else {})} for n in range(50_000)]
    chunks = [piece(delta={"tool_calls": calls})]
    assert len(calls_in(choices_in(assemble(chunks))[0])) == len(calls)
    assert run(chunks).calls == len(calls)


@given(spoilt())
def test_nothing_raises(chunks: list[Any]) -> None:
    before = repr(chunks)
    json.dumps(assemble(chunks))
    assert repr(chunks) == before, "chunks are shared by all rules"


def test_whole_is_assembled_once(exchange: Any) -> None:
    made: Exchange = exchange("chat stream")
    assert whole(made) is whole(made)
    assert made == exchange("chat stream")
    assert whole(made.answered(None)) is None


def test_once_keeps_functions_apart(exchange: Any) -> None:
    @once
    def one(_: Exchange) -> list[int]:
        return [1]

    @once
    def other(_: Exchange) -> list[int]:
        return [2]

    made = exchange("chat")
    assert (one(made), other(made)) == ([1], [2])
    assert one(made) is one(made)
