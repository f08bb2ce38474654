"""SEMANTICS of tool calls: which are made, and with what arguments."""

from collections.abc import Iterator
from typing import Any

from wafermock.reports.run import State

from ..decoded import Unreadable, read_json
from ..rule import Bench, Found
from .answers import CHAT_CHOICE, CHAT_REQUEST, Answer, AnswerBook, Call, Choice
from .given_schemas import disobedience
from .showing import shown

BOOK = AnswerBook("SEMANTICS")

CALL = f"{CHAT_CHOICE}/message/properties/tool_calls/items/properties"
TOOL = f"{CHAT_REQUEST}/tools/items/properties/function/properties"
NEEDS = "a chat completion that calls tools"
RUNS = "It runs a function with arguments that the function does not take."


def _calls(answer: Answer) -> Iterator[tuple[Choice, Call]]:
    for choice in answer.choices:
        for call in choice.calls:
            yield choice, call


def calls(answer: Answer) -> bool:
    return any(choice.calls for choice in answer.choices)


def _arguments(call: Call) -> Any:
    if call.arguments is None:
        return Unreadable("", "there are none")
    return read_json(call.arguments, lambda kind, sentence: None)


def _whole_calls(answer: Answer) -> Iterator[Call]:
    """Yield the calls that are not cut off by the length."""
    return (call for choice, call in _calls(answer) if choice.finish != "length")


@BOOK.answer_rule(
    "SEM-TOOL-OFFERED",
    "MUST",
    "The function that is called is one of `tools`.",
    source=f"{CHAT_REQUEST}/tools",
    guards="It looks the function up by its name, and fails.",
    when=calls,
    needs=NEEDS,
)
def tool_offered(answer: Answer, bench: Bench) -> Iterator[Found]:
    offered = answer.asked.functions
    for _, call in _calls(answer):
        if call.name is not None and call.name not in offered:
            wanted = f"one of {shown([*offered])}" if offered else "no call: no tools are offered"
            at = (*call.at, "function", "name")
            yield answer.breach(at, wanted, shown(call.name), asked="tools")
            return


@BOOK.answer_rule(
    "SEM-TOOL-ARGUMENTS-JSON",
    "MUST",
    "The arguments of a tool call are JSON.",
    source=f"{CALL}/function/properties/arguments",
    guards="It parses the arguments, and its agent ends with a syntax error.",
    when=lambda answer: any(True for _ in _whole_calls(answer)),
    needs=NEEDS,
)
def tool_arguments_json(answer: Answer, bench: Bench) -> Iterator[Found]:
    for call in _whole_calls(answer):
        value = _arguments(call)
        if isinstance(value, Unreadable):
            at = (*call.at, "function", "arguments")
            yield answer.breach(at, "JSON", f"{shown(call.arguments)}: {value.why}")
            return


@BOOK.answer_rule(
    "SEM-TOOL-ARGUMENTS-VALID",
    "MUST",
    "The arguments of a tool call are an object that is valid by the tool's parameters; those of a "
    "tool that is not strict may stray (WARN).",
    source=f"{TOOL}/strict",
    guards=RUNS,
    when=lambda answer: any(call.name in answer.asked.functions for call in _whole_calls(answer)),
    needs=NEEDS,
)
def tool_arguments_valid(answer: Answer, bench: Bench) -> Iterator[Found]:
    for call in _whole_calls(answer):
        function = answer.asked.functions.get(call.name or "")
        value = _arguments(call)
        if function is None or isinstance(value, Unreadable):
            continue
        # "Omitting parameters defines a function with an empty parameter list."
        schema = function.get("parameters") or {"type": "object", "maxProperties": 0}
        why = disobedience(schema, value) if isinstance(value, dict) else "no object"
        if why:
            at = (*call.at, "function", "arguments")
            expected = f"valid by the parameters of {call.name}"
            actual = f"{shown(call.arguments)}: {why}"
            state: State | None = None if function.get("strict") is True else "WARN"
            yield answer.breach(at, expected, actual, asked="tools", state=state)
            return


@BOOK.answer_rule(
    "SEM-TOOL-CALL-ID",
    "MUST",
    "Every tool call has an id, and another one than the calls beside it.",
    source=f"{CALL}/id",
    guards="It answers two calls under one id, and one result is lost.",
    when=calls,
    needs=NEEDS,
)
def tool_call_id(answer: Answer, bench: Bench) -> Iterator[Found]:
    for choice in answer.choices:
        seen: set[str] = set()
        for call in choice.calls:
            if not call.id or call.id in seen:
                yield answer.breach((*call.at, "id"), "an id of its own", shown(call.id))
                return
            seen.add(call.id)


# ---------------------------------------------------------------------- tool_choice


@BOOK.answer_rule(
    "SEM-TOOL-CHOICE-NONE",
    "MUST",
    "With `tool_choice: none` no tool is called.",
    source=f"{CHAT_REQUEST}/tool_choice",
    guards="It wanted words, and has no branch for a call.",
    when=lambda answer: answer.is_chat and answer.asked["tool_choice"] == "none",
    needs="a chat request with `tool_choice: none`",
)
def tool_choice_none(answer: Answer, bench: Bench) -> Iterator[Found]:
    for _, call in _calls(answer):
        yield answer.breach(call.at, "no call", f"a call of {call.name}", asked="tool_choice")
        return


def _must_have_called(answer: Answer) -> Iterator[Choice]:
    """Yield the choices without a call that nothing has cut before one: neither the length nor,
    in words or raw thoughts that come first, a `stop` that was asked for."""
    cuts = ("length", None, "stop") if answer.asked.stops else ("length", None)
    return (c for c in answer.choices if not c.calls and c.finish not in cuts)


@BOOK.answer_rule(
    "SEM-TOOL-CHOICE-REQUIRED",
    "MUST",
    "With `tool_choice: required` a tool is called.",
    source=f"{CHAT_REQUEST}/tool_choice",
    guards="It takes the first call of a list that is not there.",
    when=lambda answer: answer.is_chat and answer.asked["tool_choice"] == "required",
    needs="a chat request with `tool_choice: required`",
)
def tool_choice_required(answer: Answer, bench: Bench) -> Iterator[Found]:
    for choice in _must_have_called(answer):
        at = (*choice.words_at, "tool_calls")
        yield answer.breach(at, "a call", f"{choice.finish}, no call", asked="tool_choice")
        return


@BOOK.answer_rule(
    "SEM-TOOL-CHOICE-NAMED",
    "MUST",
    "Where `tool_choice` names a function, that one is called, and no other.",
    source=f"{CHAT_REQUEST}/tool_choice",
    guards="It reads the arguments of another function as those it asked for.",
    when=lambda answer: answer.is_chat and answer.asked.forced_function is not None,
    needs="a chat request with a function in `tool_choice`",
)
def tool_choice_named(answer: Answer, bench: Bench) -> Iterator[Found]:
    name = answer.asked.forced_function
    for choice in _must_have_called(answer):
        at = (*choice.words_at, "tool_calls")
        expected = f"a call of {name}"
        yield answer.breach(at, expected, f"{choice.finish}, no call", asked="tool_choice")
        return
    for _, call in _calls(answer):
        # A function that was never offered is told by SEM-TOOL-OFFERED.
        if call.name != name and call.name in answer.asked.functions:
            at = (*call.at, "function", "name")
            yield answer.breach(at, str(name), shown(call.name), asked="tool_choice")
            return


@BOOK.answer_rule(
    "SEM-TOOL-PARALLEL",
    "MUST",
    "With `parallel_tool_calls: false` there is one call at most.",
    source=f"{CHAT_REQUEST}/parallel_tool_calls",
    guards="It runs the first call and drops the second.",
    when=lambda answer: answer.asked["parallel_tool_calls"] is False and calls(answer),
    needs="a chat completion that calls tools, asked with `parallel_tool_calls: false`",
)
def tool_parallel(answer: Answer, bench: Bench) -> Iterator[Found]:
    for choice in answer.choices:
        if len(choice.calls) > 1:
            at = (*choice.words_at, "tool_calls")
            came = f"{len(choice.calls)} calls"
            yield answer.breach(at, "one call", came, asked="parallel_tool_calls")
            return
