"""SEMANTICS: answers in the right shape that say what cannot be."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from wafermock.spec import load_contract
from wafermock.spec.models import ModelCatalogue

from ...draws import Draws
from ...exchange import Request
from ..catalogue import Parameter, Shelf
from ..deliveries import tool_calls_whole
from ..draft import Draft, calls_in, choices_in, message_in
from ..requests import body_of, with_body, without
from ..texts import reargued, reworded

Values = Mapping[str, Any]

SEMANTICS = Shelf("SEMANTICS")
SUM = "total_tokens = prompt_tokens + completion_tokens."
DETAILS = "The details of `usage` stay within its totals."
ARGUMENTS = "The arguments of a tool call are JSON, and valid by the tool's parameters."
STRUCTURED = "A structured output is valid by its schema, with the keys in the schema's order."
LOGPROBS = "Log probabilities are not above 0, one for each token, the alternatives in order."
OBEYED = "The answer keeps what the request asks for: "
ON_LOGPROBS = "answers with logprobs"
ON_CALLS = "tool calls"
ON_JSON = "structured outputs"


# ---------------------------------------------------------------------- usage


@SEMANTICS.entry(
    "`total_tokens` is not the sum.",
    SUM,
    Parameter("by", "what it is wrong by", 1, least=-1000),
    on="completions",
)
def usage_sum(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(usage: dict[str, Any]) -> None:
        usage["total_tokens"] = usage.get("total_tokens", 0) + values["by"]

    return _usage(draft, change)


@SEMANTICS.entry(
    "There are more reasoning tokens than completion tokens.", DETAILS, on="completions"
)
def usage_details(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(usage: dict[str, Any]) -> None:
        details = usage.setdefault("completion_tokens_details", {})
        details["reasoning_tokens"] = usage.get("completion_tokens", 0) + 1

    return _usage(draft, change)


@SEMANTICS.entry("More tokens are cached than the prompt has.", DETAILS, on="completions")
def cached_over_prompt(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(value: dict[str, Any]) -> None:
        if isinstance(usage := value.get("usage"), dict):
            block = _models()[str(value.get("model"))]["cache_block"]
            details = usage.setdefault("prompt_tokens_details", {})
            details["cached_tokens"] = block * (usage.get("prompt_tokens", 0) // block + 1)

    return draft.edited(change)


@cache
def _models() -> ModelCatalogue:
    """Return the models: a draft knows no contract, and they are the same in every one."""
    return load_contract().models


@SEMANTICS.entry(
    "The number of cached tokens is no multiple of the model's block.",
    "cached_tokens is a multiple of the block by which the model caches prompts.",
    on="completions",
)
def cached_odd(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(usage: dict[str, Any]) -> None:
        usage.setdefault("prompt_tokens_details", {})["cached_tokens"] = 1

    return _usage(draft, change)


@SEMANTICS.entry(
    "No completion tokens are counted, though words came.",
    "completion_tokens counts what came.",
    on="completions",
)
def usage_zero(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(usage: dict[str, Any]) -> None:
        usage["completion_tokens"] = 0
        usage["total_tokens"] = usage.get("prompt_tokens", 0)
        usage["completion_tokens_details"] = {}

    return _usage(draft, change)


def _usage(draft: Draft, change: Callable[[dict[str, Any]], None]) -> Draft:
    def change_all(value: dict[str, Any]) -> None:
        if isinstance(value.get("usage"), dict):
            change(value["usage"])

    return draft.edited(change_all)


# ---------------------------------------------------------------------- what was asked for


@SEMANTICS.entry(
    "The bound on the length is not kept.",
    OBEYED + "max_completion_tokens (max_tokens).",
    on="requests with a bound",
    stage="request",
)
def length_ignored(request: Request, values: Values, position: int) -> Request:
    return without(request, "max_completion_tokens", "max_tokens")


@SEMANTICS.entry(
    "The text does not end at a `stop`.",
    OBEYED + "`stop` is not in the output.",
    on="requests with stop",
    stage="request",
)
def stop_ignored(request: Request, values: Values, position: int) -> Request:
    return without(request, "stop")


@SEMANTICS.entry(
    "There is one choice, whatever `n` says.",
    OBEYED + "`n` choices.",
    on="requests with n",
    stage="request",
)
def n_ignored(request: Request, values: Values, position: int) -> Request:
    return without(request, "n")


@SEMANTICS.entry(
    "Log probabilities are left out.",
    OBEYED + "`logprobs`.",
    on="requests with logprobs",
    stage="request",
)
def logprobs_ignored(request: Request, values: Values, position: int) -> Request:
    return without(request, "logprobs", "top_logprobs")


@SEMANTICS.entry(
    "The structure asked for is not kept.",
    OBEYED + "`response_format`.",
    on=ON_JSON,
    stage="request",
)
def response_format_ignored(request: Request, values: Values, position: int) -> Request:
    return without(request, "response_format")


@SEMANTICS.entry(
    "A tool must be called, and none is; or none may be, and one is.",
    OBEYED + "`tool_choice`.",
    on="requests with tool_choice",
    stage="request",
)
def tool_choice_ignored(request: Request, values: Values, position: int) -> Request:
    body = body_of(request)
    if body is None or body.get("tool_choice") in (None, "auto"):
        return request
    turned = "required" if body["tool_choice"] == "none" else "none"
    return with_body(request, {**body, "tool_choice": turned})


@SEMANTICS.entry(
    "Another model than the one asked for says that it answers.",
    "`model` is the model of the request.",
    on="completions",
)
def other_model(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _top(draft, "model", "another-model")


@SEMANTICS.entry(
    "The finish reason does not fit: `length` for what is whole, `stop` for the rest.",
    "The finish reason fits the answer.",
    on="completions",
)
def wrong_finish_reason(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(value: dict[str, Any]) -> None:
        for choice in choices_in(value):
            if choice.get("finish_reason"):
                choice["finish_reason"] = "length" if choice["finish_reason"] == "stop" else "stop"

    return draft.edited(change)


@SEMANTICS.entry(
    "`service_tier_used` is there, though `service_tier: auto` was not asked for.",
    "service_tier_used answers `service_tier: auto`, and nothing else.",
    on="completions",
)
def tier_unasked(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _top(draft, "service_tier_used", "priority")


@SEMANTICS.entry(
    "`service_tier_used` is not there, though `service_tier: auto` was asked for.",
    "service_tier_used answers `service_tier: auto`, and nothing else.",
    on="requests with service_tier auto",
)
def tier_untold(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft.edited(lambda value: value.pop("service_tier_used", None))


@SEMANTICS.entry(
    "Every answer has the same id.", "Different requests get different ids.", on="completions"
)
def same_id(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _top(draft, "id", "chatcmpl-00000000-0000-4000-8000-000000000000")


@SEMANTICS.entry(
    "`created` is in milliseconds.", "created is a Unix time in seconds.", on="completions"
)
def created_in_milliseconds(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(value: dict[str, Any]) -> None:
        if "choices" in value and isinstance(value.get("created"), int):
            value["created"] *= 1000

    return draft.edited(change)


@SEMANTICS.entry(
    "The whole time is less than its parts.",
    "total_time is not less than the sum of queue, prompt and completion time.",
    on="completions",
)
def times_do_not_add_up(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(value: dict[str, Any]) -> None:
        times = value.get("time_info")
        if isinstance(times, dict):
            times["completion_time"] = times.get("total_time", 0) + 1

    return draft.edited(change)


def _top(draft: Draft, key: str, new: Any) -> Draft:
    def change(value: dict[str, Any]) -> None:
        if "choices" in value:
            value[key] = new

    return draft.edited(change)


# ---------------------------------------------------------------------- log probabilities


@SEMANTICS.entry("Log probabilities are above 0.", LOGPROBS, on=ON_LOGPROBS)
def positive_logprobs(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _entries(draft, lambda entries: [entry.update(logprob=0.5) for entry in entries])


@SEMANTICS.entry("A token has no log probability.", LOGPROBS, on=ON_LOGPROBS)
def logprobs_short(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _entries(draft, lambda entries: entries.pop() if entries else None)


@SEMANTICS.entry(
    "The alternatives of a token come from the least likely up.", LOGPROBS, on=ON_LOGPROBS
)
def alternatives_reversed(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _entries(draft, lambda entries: [e.get("top_logprobs", []).reverse() for e in entries])


@SEMANTICS.entry("The bytes of a token are not its text.", LOGPROBS, on=ON_LOGPROBS)
def logprob_bytes(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _entries(draft, lambda entries: [e.update(bytes=[63]) for e in entries])


def _entries(draft: Draft, change: Callable[[list[dict[str, Any]]], object]) -> Draft:
    """Change the entries of chat's log probabilities."""

    def change_all(value: dict[str, Any]) -> None:
        for choice in choices_in(value):
            report = choice.get("logprobs")
            if isinstance(report, dict) and isinstance(report.get("content"), list):
                change(report["content"])

    return draft.edited(change_all)


@SEMANTICS.entry(
    "The offsets of tokens in a completion are not where they stand.",
    "text_offset says where each token begins in the text.",
    on="completions with logprobs",
)
def text_offsets(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(value: dict[str, Any]) -> None:
        for choice in choices_in(value):
            report = choice.get("logprobs")
            if isinstance(report, dict) and isinstance(report.get("text_offset"), list):
                offsets = report["text_offset"]
                report["text_offset"] = [at + 1 for at in offsets if isinstance(at, int)]

    return draft.edited(change)


# ---------------------------------------------------------------------- tool calls


@SEMANTICS.entry("The arguments of a tool call are no JSON.", ARGUMENTS, on=ON_CALLS)
def arguments_not_json(draft: Draft, values: Values, draws: Draws) -> Draft:
    return reargued(draft, lambda text: text[:-1] if text else text)


@SEMANTICS.entry(
    "The arguments are JSON, but not valid: values are objects, one nobody declared.",
    ARGUMENTS,
    on=ON_CALLS,
)
def arguments_invalid(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(text: str) -> str:
        value = _object(text)
        if value is None:
            return text
        wrong: dict[str, list[str]] = {"wrong": []}
        return json.dumps(dict.fromkeys([*value, "undeclared"], wrong))

    return reargued(draft, change)


@SEMANTICS.entry(
    "Two calls are made at once, `parallel_tool_calls: false` or not.",
    OBEYED + "`parallel_tool_calls`.",
    on=ON_CALLS,
)
def parallel_calls(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(value: dict[str, Any]) -> None:
        for choice in choices_in(value):
            calls = calls_in(choice)
            if len(calls) == 1:
                second = {**calls[0], "id": draws.hexadecimal(9)}
                if "index" in second:
                    second["index"] += 1
                message_in(choice)["tool_calls"] = [calls[0], second]

    if not draft.streamed:
        return draft.edited(change)
    whole: Draft = tool_calls_whole(draft, {}, draws)
    return whole.edited(change)


@SEMANTICS.entry(
    "The tool that is called was not offered.", "The tool called is one of `tools`.", on=ON_CALLS
)
def unknown_tool(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(value: dict[str, Any]) -> None:
        for choice in choices_in(value):
            for call in calls_in(choice):
                if call["function"].get("name"):
                    call["function"]["name"] = "no_such_tool"

    return draft.edited(change)


# ---------------------------------------------------------------------- structured outputs


@SEMANTICS.entry(
    "A structured output is no JSON: it stands in a fence of Markdown.", STRUCTURED, on=ON_JSON
)
def json_fenced(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _structured(draft, lambda text, value: f"```json\n{text}\n```")


@SEMANTICS.entry("A structured output has other keys than its schema.", STRUCTURED, on=ON_JSON)
def json_invalid(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _structured(draft, lambda text, value: json.dumps({"undeclared": {"wrong": []}}))


@SEMANTICS.entry(
    "The keys of a structured output come in the reverse order.", STRUCTURED, on=ON_JSON
)
def json_key_order(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _structured(
        draft,
        lambda text, value: json.dumps(
            dict(reversed(value.items())), ensure_ascii=False, separators=(",", ":")
        ),
    )


def _structured(draft: Draft, change: Callable[[str, dict[str, Any]], str]) -> Draft:
    def change_text(text: str) -> str:
        value = _object(text)
        return text if value is None else change(text, value)

    return reworded(draft, change_text)


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
