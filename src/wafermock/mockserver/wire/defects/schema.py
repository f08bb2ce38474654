"""SCHEMA: bodies and chunks that break the contract."""

import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ...draws import Draws
from ..catalogue import Parameter, Shelf
from ..draft import Draft, choices_in, message_in

Values = Mapping[str, Any]

SCHEMA = Shelf("SCHEMA")
CONTRACT = "Every body and every chunk keeps the contract."
KEYS = ("id", "choices", "created", "model", "system_fingerprint", "object")
COMPLETIONS = "completions"


def _key(default: str, says: str, choices: tuple[str, ...] = KEYS) -> Parameter:
    return Parameter("key", says, default, kind="choice", choices=choices)


def _is_completion(value: dict[str, Any]) -> bool:
    return "choices" in value


@SCHEMA.entry("A required key is not there.", CONTRACT, _key("id", "the key"), on=COMPLETIONS)
def missing_key(draft: Draft, values: Values, draws: Draws) -> Draft:
    key = values["key"]
    return draft.edited(lambda value: _is_completion(value) and value.pop(key, None))


@SCHEMA.entry(
    "A required key of a choice is not there.",
    CONTRACT,
    _key(
        "index",
        "the key; `words` is the message, the delta or the text",
        ("index", "finish_reason", "words"),
    ),
    on=COMPLETIONS,
)
def missing_choice_key(draft: Draft, values: Values, draws: Draws) -> Draft:
    names = ("message", "delta", "text") if values["key"] == "words" else (values["key"],)

    def change(value: dict[str, Any]) -> None:
        for choice in choices_in(value):
            for name in names:
                choice.pop(name, None)

    return draft.edited(change)


@SCHEMA.entry(
    "`object` names something else.",
    CONTRACT,
    Parameter("value", "what it says", "completion", kind="text"),
    on=COMPLETIONS,
)
def wrong_object(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _set(draft, "object", values["value"])


@SCHEMA.entry("A key is null that may not be.", CONTRACT, _key("model", "the key"), on=COMPLETIONS)
def null_value(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _set(draft, values["key"], None)


@SCHEMA.entry("`created` is a text.", CONTRACT, on=COMPLETIONS)
def wrong_type(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(value: dict[str, Any]) -> None:
        if _is_completion(value) and "created" in value:
            value["created"] = str(value["created"])

    return draft.edited(change)


def _set(draft: Draft, key: str, new: Any) -> Draft:
    def change(value: dict[str, Any]) -> None:
        if _is_completion(value):
            value[key] = new

    return draft.edited(change)


@SCHEMA.entry(
    "A key is there that the contract does not know.",
    "Closed objects hold no other keys.",
    Parameter("key", "the key", "x_extra", kind="text"),
    on=COMPLETIONS,
)
def unknown_key(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _set(draft, values["key"], True)


@SCHEMA.entry("The finish reason is none of the contract's.", CONTRACT, on=COMPLETIONS)
def unknown_finish_reason(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(value: dict[str, Any]) -> None:
        for choice in choices_in(value):
            if choice.get("finish_reason"):
                choice["finish_reason"] = "finished"

    return draft.edited(change)


@SCHEMA.entry("The role is none of the contract's.", CONTRACT, on="chat completions")
def unknown_role(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(value: dict[str, Any]) -> None:
        for choice in choices_in(value):
            if "role" in message_in(choice):
                message_in(choice)["role"] = "model"

    return draft.edited(change)


@SCHEMA.entry("`choices` is empty.", CONTRACT, on="whole completions")
def no_choices(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft if draft.streamed else _set(draft, "choices", [])


@SCHEMA.entry(
    "JSON is called text/plain.",
    "The media type is one of the contract's.",
    Parameter("value", "the header", "text/plain; charset=utf-8", kind="text"),
    on="whole answers",
)
def json_content_type(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft if draft.streamed else draft.with_header("content-type", values["value"])


@SCHEMA.entry(
    "Something stands behind the JSON.", "A body is one JSON text (RFC 8259).", on="whole answers"
)
def junk_behind_json(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft if draft.value is None else replace(draft, body=draft.body + b",\nnull")


@SCHEMA.entry("A number is `NaN`.", "JSON has no NaN (RFC 8259, section 6).", on=COMPLETIONS)
def nan(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _respelt(draft, r'("created":)\d+(\.\d+)?', r"\1NaN")


@SCHEMA.entry(
    "A key stands twice in an object.", "Keys are unique (RFC 8259, section 4).", on=COMPLETIONS
)
def key_twice(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _respelt(draft, r'("object":"[^"]*")', r'\1,"object":"twice"')


def _respelt(draft: Draft, pattern: str, new: str) -> Draft:
    """Change the text of JSON where its values do not say enough."""
    if not draft.streamed:
        # Errors and lists hold such words too, perhaps: completions alone are meant.
        if not (isinstance(draft.value, dict) and _is_completion(draft.value)):
            return draft
        text = re.sub(pattern, new, draft.body.decode(), count=1)
        return replace(draft, body=text.encode())
    chunks = set(draft.chunks)
    return draft.with_events(
        [
            replace(event, data=re.sub(pattern, new, event.data, count=1))
            if at in chunks
            else event
            for at, event in enumerate(draft.events)
        ]
    )
