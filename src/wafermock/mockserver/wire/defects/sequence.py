"""SEQUENCE: chunks that each keep the contract, in an order that does not."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from ...draws import Draws
from ..catalogue import Parameter, Shelf
from ..deliveries import tool_calls_fragmented
from ..draft import Draft, Event, calls_in, choices_in, message_in

Values = Mapping[str, Any]

SEQUENCE = Shelf("SEQUENCE")
ROLE = "The first chunk of a choice, and it alone, names the role."
CONSTANT = (
    "`id`, `created`, `model`, `system_fingerprint` and `object` are the same in every chunk."
)
FINISH = "Each choice has one finish reason, and nothing behind it."
FRAGMENTS = "Fragments of tool calls assemble: id and name once, indexes in order, without gaps."
USAGE = "`usage` comes once, in the last chunk."
ERROR_ENDS = "An error event has the shape of ErrorChunkResponse, and ends the stream."
CHAT = "chat streams"
CALLS = "streamed tool calls"


@SEQUENCE.entry("No chunk names the role.", ROLE, on=CHAT)
def no_role(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _each_choice(draft, lambda choice: message_in(choice).pop("role", None))


@SEQUENCE.entry("The role comes behind the first words.", ROLE, on=CHAT)
def late_role(draft: Draft, values: Values, draws: Draws) -> Draft:
    places = draft.chunks
    if len(places) < 2 or not any(_has_role(draft.events[at]) for at in places[:1]):
        return draft
    events = list(draft.events)
    first, second = places[:2]
    events[first], events[second] = events[second], events[first]
    return draft.with_events(events)


def _has_role(event: Event) -> bool:
    return any("role" in message_in(choice) for choice in choices_in(event.value))


@SEQUENCE.entry("The role is another one in a later chunk.", ROLE, on=CHAT)
def role_changes(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(value: dict[str, Any]) -> None:
        for choice in choices_in(value):
            if isinstance(choice.get("delta"), dict):
                choice["delta"]["role"] = "user"

    return draft.edited_at(draft.chunks[1:2], change)


@SEQUENCE.entry(
    "A key changes from chunk to chunk.",
    CONSTANT,
    Parameter(
        "key",
        "the key",
        "id",
        kind="choice",
        choices=("id", "created", "model", "system_fingerprint", "object"),
    ),
    on="streams",
)
def changing_key(draft: Draft, values: Values, draws: Draws) -> Draft:
    key = values["key"]

    def change(value: dict[str, Any]) -> None:
        old = value.get(key)
        if isinstance(old, str):
            value[key] = old[:-1] + ("1" if old.endswith("0") else "0")
        elif isinstance(old, int | float):
            value[key] = old + 1

    return draft.edited_at(draft.chunks[1::2], change)


@SEQUENCE.entry(
    "The index of a choice has a gap.",
    "Choices are numbered from 0, without gaps.",
    on="completions",
)
def choice_index_gap(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(value: dict[str, Any]) -> None:
        for choice in choices_in(value):
            if isinstance(choice.get("index"), int):
                choice["index"] += 3

    return draft.edited(change)


@SEQUENCE.entry("The finish reason comes twice.", FINISH, on="streams")
def two_finish_reasons(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft.with_events(
        [again for e in draft.events for again in ([_plain(e), e] if _finishes(e) else [e])]
    )


def _plain(event: Event) -> Event:
    """Return a chunk without its report on the answer, which comes once."""
    return event.holding(
        {key: value for key, value in event.value.items() if key not in ("usage", "time_info")}
    )


@SEQUENCE.entry("No chunk has a finish reason.", FINISH, on="streams")
def no_finish_reason(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _each_choice(draft, lambda choice: choice.pop("finish_reason", None))


@SEQUENCE.entry("Words come behind the finish reason.", FINISH, on="streams")
def words_after_finish(draft: Draft, values: Values, draws: Draws) -> Draft:
    finish = [at for at in draft.chunks if _finishes(draft.events[at])]
    spoken = [at for at in draft.chunks if not _finishes(draft.events[at]) and _speaks(draft, at)]
    if not (finish and spoken):
        return draft
    late = finish[-1]
    again = draft.events[spoken[-1]]
    return draft.with_events([*draft.events[: late + 1], again, *draft.events[late + 1 :]])


def _speaks(draft: Draft, at: int) -> bool:
    return any(
        message_in(choice).keys() - {"role", "index", "delta"}
        for choice in choices_in(draft.events[at].value)
    )


def _finishes(event: Event) -> bool:
    return any(choice.get("finish_reason") for choice in choices_in(event.value))


# ---------------------------------------------------------------------- tool calls


@SEQUENCE.entry("No fragment of a tool call has its id.", FRAGMENTS, on=CALLS)
def no_call_id(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _each_call(draft, lambda call: call.pop("id", None))


@SEQUENCE.entry("Every fragment of a tool call has an id, each another one.", FRAGMENTS, on=CALLS)
def call_id_changes(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(call: dict[str, Any]) -> None:
        call["id"] = draws.hexadecimal(9)

    return _each_call(fragmented(draft), change)


@SEQUENCE.entry(
    "Every fragment of a tool call has the name: joined, it is there many times.",
    FRAGMENTS,
    on=CALLS,
)
def call_name_repeated(draft: Draft, values: Values, draws: Draws) -> Draft:
    names: dict[Any, str] = {}

    def change(call: dict[str, Any]) -> None:
        name = names.setdefault(call.get("index"), call["function"].get("name", ""))
        call["function"]["name"] = name

    return _each_call(fragmented(draft), change)


@SEQUENCE.entry("The index of a tool call has a gap.", FRAGMENTS, on=CALLS)
def call_index_gap(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(call: dict[str, Any]) -> None:
        call["index"] = call.get("index", 0) + 2

    return _each_call(draft, change)


@SEQUENCE.entry("Tool calls in a stream have no index.", FRAGMENTS, on=CALLS)
def no_call_index(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _each_call(draft, lambda call: call.pop("index", None))


@SEQUENCE.entry("The fragments of the arguments come in the wrong order.", FRAGMENTS, on=CALLS)
def fragments_swapped(draft: Draft, values: Values, draws: Draws) -> Draft:
    draft = fragmented(draft)
    places = [
        at
        for at in draft.chunks
        if any(
            c["function"].get("arguments")
            for choice in choices_in(draft.events[at].value)
            for c in calls_in(choice)
        )
    ]
    if len(places) < 2:
        return draft
    events = list(draft.events)
    one, other = places[:2]
    events[one], events[other] = events[other], events[one]
    return draft.with_events(events)


def fragmented(draft: Draft) -> Draft:
    """Return a draft with its tool calls in fragments, as some models send them anyway."""
    done: Draft = tool_calls_fragmented(draft, {"size": 4}, Draws())
    return done


# ---------------------------------------------------------------------- usage


@SEQUENCE.entry("No chunk has `usage`.", USAGE, on="streams")
def no_usage(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft.edited(lambda value: value.pop("usage", None)) if draft.streamed else draft


@SEQUENCE.entry("`usage` comes in the first chunk.", USAGE, on="streams")
def early_usage(draft: Draft, values: Values, draws: Draws) -> Draft:
    usage = _usage(draft)
    if usage is None:
        return draft
    moved = draft.edited(lambda value: value.pop("usage", None))
    return moved.edited_at(moved.chunks[:1], lambda value: value.update(usage=usage))


@SEQUENCE.entry("`usage` comes in every chunk.", USAGE, on="streams")
def usage_in_every_chunk(draft: Draft, values: Values, draws: Draws) -> Draft:
    usage = _usage(draft)
    if usage is None:
        return draft
    return draft.edited(lambda value: value.setdefault("usage", usage))


def _usage(draft: Draft) -> Any:
    found = [e.value["usage"] for e in draft.events if e.is_chunk and "usage" in e.value]
    return json.loads(json.dumps(found[-1])) if found else None


# ---------------------------------------------------------------------- errors in the stream

_ERROR = {
    "message": "Encountered a server error, please try again.",
    "type": "server_error",
    "param": "",
    "code": "",
    "id": "",
}
AFTER = Parameter("after", "how many tokens come before it", 3)


@SEQUENCE.entry(
    "An error event is flat: clients take it for a chunk.", ERROR_ENDS, AFTER, on="streams"
)
def flat_error_event(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _with_error(draft, values["after"], _ERROR, goes_on=False)


@SEQUENCE.entry("An error event has no `status_code`.", ERROR_ENDS, AFTER, on="streams")
def error_event_without_status(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _with_error(draft, values["after"], {"error": _ERROR}, goes_on=False)


@SEQUENCE.entry("The stream goes on behind an error event.", ERROR_ENDS, AFTER, on="streams")
def goes_on_after_error(draft: Draft, values: Values, draws: Draws) -> Draft:
    error = {"status_code": 500, "error": _ERROR}
    return _with_error(draft, values["after"], error, goes_on=True)


def _with_error(draft: Draft, tokens: int, error: dict[str, Any], *, goes_on: bool) -> Draft:
    if not draft.chunks:
        return draft
    at = draft.at_token(tokens)
    offset = draft.events[max(at - 1, 0)].offset
    rest = draft.events[at:] if goes_on else ()
    return draft.with_events([*draft.events[:at], Event("", offset).holding(error), *rest])


# ---------------------------------------------------------------------- places


def _each_choice(draft: Draft, change: Callable[[dict[str, Any]], object]) -> Draft:
    def change_all(value: dict[str, Any]) -> None:
        for choice in choices_in(value):
            change(choice)

    return draft.edited(change_all) if draft.streamed else draft


def _each_call(draft: Draft, change: Callable[[dict[str, Any]], object]) -> Draft:
    def change_all(choice: dict[str, Any]) -> None:
        for call in calls_in(choice):
            change(call)

    return _each_choice(draft, change_all)
