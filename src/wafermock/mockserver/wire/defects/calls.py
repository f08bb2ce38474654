"""SEQUENCE: fragments of tool calls that assemble to something else than calls."""

from collections.abc import Callable, Mapping
from typing import Any

from ...draws import Draws
from ..catalogue import Shelf
from ..draft import Draft, Event, calls_in, choices_in
from .sequence import CALLS, FRAGMENTS, fragmented

Values = Mapping[str, Any]
Call = dict[str, Any]

FRAGMENTED = Shelf("SEQUENCE")


@FRAGMENTED.entry("No fragment of a tool call has the function's name.", FRAGMENTS, on=CALLS)
def no_call_name(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _each(draft, lambda call: call["function"].pop("name", None))


@FRAGMENTED.entry(
    "Every fragment of a tool call has its id: joined, it is there many times.",
    "The id of a tool call comes once.",
    on=CALLS,
)
def call_id_repeated(draft: Draft, values: Values, draws: Draws) -> Draft:
    ids: dict[Any, Any] = {}

    def change(call: Call) -> None:
        if id := ids.setdefault(call.get("index"), call.get("id")):
            call["id"] = id

    return _each(fragmented(draft), change)


@FRAGMENTED.entry(
    "Two tool calls have the same id.", "Each tool call has an id of its own.", on=CALLS
)
def call_id_shared(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _with_second(draft, lambda call: {**call, "index": call["index"] + 1})


@FRAGMENTED.entry(
    "The fragments of two tool calls come by turns.",
    "The fragments of a tool call come together.",
    on=CALLS,
)
def calls_interleaved(draft: Draft, values: Values, draws: Draws) -> Draft:
    def second(call: Call) -> Call:
        id = {"id": f"{call['id'][::-1]}2"} if isinstance(call.get("id"), str) else {}
        return {**call, **id, "index": call["index"] + 1}

    return _with_second(draft, second)


def _with_second(draft: Draft, second: Callable[[Call], Call]) -> Draft:
    """Put a second call beside the first, its fragments each behind the first one's."""
    draft = fragmented(draft)
    if {call.get("index") for at in draft.chunks for call in _calls(draft.events[at])} != {0}:
        return draft
    events: list[Event] = []
    for event in draft.events:
        events.append(event)
        if event.is_chunk and (calls := _calls(event)):
            choice = {**choices_in(event.value)[0], "delta": {"tool_calls": [*map(second, calls)]}}
            events.append(event.holding({**event.value, "choices": [choice]}))
    return draft.with_events(events)


def _calls(event: Event) -> list[Call]:
    return [call for choice in choices_in(event.value) for call in calls_in(choice)]


def _each(draft: Draft, change: Callable[[Call], object]) -> Draft:
    def change_all(value: dict[str, Any]) -> None:
        for choice in choices_in(value):
            for call in calls_in(choice):
                change(call)

    return draft.edited(change_all) if draft.streamed else draft
