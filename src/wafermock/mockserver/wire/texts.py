"""Changing what an answer says, whole or in pieces: the words and the arguments of its calls."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from .draft import Draft, calls_in, choices_in, message_in

Slot = tuple[dict[str, Any], str]


def reworded(draft: Draft, change: Callable[[str], str]) -> Draft:
    """Change the words of every choice; a stream keeps its pieces, the last takes what is over."""
    return _changed(draft, _words, change)


def reargued(draft: Draft, change: Callable[[str], str]) -> Draft:
    """Change the arguments of every tool call, as `reworded` does words."""
    return _changed(draft, _arguments, change)


def _words(value: dict[str, Any]) -> Iterator[tuple[object, Slot]]:
    for choice in choices_in(value):
        message = message_in(choice)
        for name in ("content", "text"):
            if isinstance(message.get(name), str):
                yield choice.get("index"), (message, name)


def _arguments(value: dict[str, Any]) -> Iterator[tuple[object, Slot]]:
    for choice in choices_in(value):
        for number, call in enumerate(calls_in(choice)):
            if isinstance(call["function"].get("arguments"), str):
                key = (choice.get("index"), call.get("index", number))
                yield key, (call["function"], "arguments")


def _changed(
    draft: Draft,
    slots_of: Callable[[dict[str, Any]], Iterator[tuple[object, Slot]]],
    change: Callable[[str], str],
) -> Draft:
    values: dict[int, Any] = {}
    if draft.streamed:
        values = {at: json.loads(draft.events[at].data) for at in draft.chunks}
    elif isinstance(draft.value, dict):
        values = {0: json.loads(draft.body)}
    slots: dict[object, list[Slot]] = {}
    for value in values.values():
        for key, slot in slots_of(value):
            slots.setdefault(key, []).append(slot)
    before = json.dumps(list(values.values()))
    for own in slots.values():
        _spread(own, change("".join(holder[name] for holder, name in own)))
    if json.dumps(list(values.values())) == before:
        return draft
    if not draft.streamed:
        return draft.with_value(values[0])
    events = [e.holding(values[at]) if at in values else e for at, e in enumerate(draft.events)]
    return draft.with_events(events)


def _spread(slots: list[Slot], text: str) -> None:
    for holder, name in slots[:-1]:
        size = len(holder[name])
        holder[name], text = text[:size], text[size:]
    holder, name = slots[-1]
    holder[name] = text
