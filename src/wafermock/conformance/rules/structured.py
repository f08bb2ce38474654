"""SEMANTICS of `response_format`: structured outputs and JSON mode."""

from collections.abc import Iterator
from typing import Any

from ..decoded import Unreadable, read_json
from ..rule import Bench, Found
from .answers import Answer, AnswerBook, Choice
from .given_schemas import disobedience, disorder
from .showing import shown

BOOK = AnswerBook("SEMANTICS")

FORMAT = "#/components/schemas/ResponseFormatJsonSchema"
SCHEMA = f"{FORMAT}/properties/json_schema/properties"
PARSES = "It parses the text without a second look, and fails on a fence of Markdown."


def _judged(answer: Answer, kind: str) -> list[Choice]:
    """List the choices that must be JSON: whole, and with no thoughts before the words."""
    asked = answer.asked
    if not answer.is_chat or asked.format != kind or asked["reasoning_format"] == "raw":
        return []
    if asked.stops:  # a stop sequence cuts JSON as well
        return []
    return [c for c in answer.choices if c.finish == "stop" and not c.calls]


def _value(choice: Choice) -> Any:
    return read_json(choice.text, lambda kind, sentence: None)


def _is_strict(answer: Answer) -> bool:
    return answer.asked.json_schema.get("strict") is True


def _parsed(answer: Answer) -> Iterator[tuple[Choice, Any]]:
    for choice in _judged(answer, "json_schema"):
        value = _value(choice)
        if not isinstance(value, Unreadable):
            yield choice, value


@BOOK.answer_rule(
    "SEM-STRUCTURED-JSON",
    "MUST",
    "A structured output is JSON and nothing else.",
    source=FORMAT,
    guards=PARSES,
    when=lambda answer: _judged(answer, "json_schema"),
    needs="a chat completion with `response_format: json_schema`",
)
def structured_json(answer: Answer, bench: Bench) -> Iterator[Found]:
    for choice in _judged(answer, "json_schema"):
        value = _value(choice)
        if isinstance(value, Unreadable):
            came = f"{shown(choice.text)}: {value.why}"
            yield answer.breach(choice.text_at, "JSON", came, asked="response_format")
            return


@BOOK.answer_rule(
    "SEM-STRUCTURED-VALID",
    "MUST",
    "A structured output is valid by its schema; one that is not strict may stray (WARN).",
    source=f"{SCHEMA}/strict",
    guards="It reads a key that its own schema requires.",
    when=lambda answer: "schema" in answer.asked.json_schema and any(True for _ in _parsed(answer)),
    needs="a chat completion with `response_format: json_schema`",
)
def structured_valid(answer: Answer, bench: Bench) -> Iterator[Found]:
    schema = answer.asked.json_schema.get("schema")
    for choice, value in _parsed(answer):
        why = disobedience(schema, value) if isinstance(schema, dict) else ""
        if why:
            yield answer.breach(
                choice.text_at,
                "valid by the schema of the request",
                f"{shown(choice.text)}: {why}",
                asked="response_format",
                state=None if _is_strict(answer) else "WARN",
            )
            return


@BOOK.answer_rule(
    "SEM-STRUCTURED-ORDER",
    "SHOULD",
    "The keys of a strict structured output come in the order of its schema.",
    source="the vendor's published documents on structured outputs",
    guards="It shows the answer while it streams, and gets the conclusion before its reasons.",
    when=lambda answer: _is_strict(answer) and any(True for _ in _parsed(answer)),
    needs="a chat completion with a strict `json_schema`",
)
def structured_order(answer: Answer, bench: Bench) -> Iterator[Found]:
    for choice, value in _parsed(answer):
        found = disorder(answer.asked.json_schema.get("schema"), value)
        if found is not None:
            wanted, came = map(", ".join, found)
            yield answer.breach(choice.text_at, wanted, came, asked="response_format")
            return


@BOOK.answer_rule(
    "SEM-JSON-OBJECT",
    "MUST",
    "With `response_format: json_object` the text is a JSON object and nothing else.",
    source="#/components/schemas/ResponseFormatJsonObject",
    guards=PARSES,
    when=lambda answer: _judged(answer, "json_object"),
    needs="a chat completion with `response_format: json_object`",
)
def json_object(answer: Answer, bench: Bench) -> Iterator[Found]:
    for choice in _judged(answer, "json_object"):
        value = _value(choice)
        if not isinstance(value, dict):
            why = f": {value.why}" if isinstance(value, Unreadable) else ""
            came = shown(choice.text) + why
            yield answer.breach(choice.text_at, "a JSON object", came, asked="response_format")
            return
