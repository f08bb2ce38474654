"""SEMANTICS: requests that are answered as if they had not asked for something."""

from collections.abc import Mapping
from typing import Any

from ...exchange import Request
from ..catalogue import Shelf
from ..requests import body_of, with_body, without
from .alternatives import ALTERNATIVES
from .semantics import OBEYED
from .thoughts import SHOWN

Values = Mapping[str, Any]

IGNORED = Shelf("SEMANTICS")


@IGNORED.entry(
    "The least number of tokens is not kept.",
    OBEYED + "min_completion_tokens (min_tokens).",
    on="requests with min_tokens",
    stage="request",
)
def least_ignored(request: Request, values: Values, position: int) -> Request:
    return without(request, "min_completion_tokens", "min_tokens")


@IGNORED.entry(
    "The prompt is not said again.", OBEYED + "`echo`.", on="requests with echo", stage="request"
)
def echo_ignored(request: Request, values: Values, position: int) -> Request:
    return without(request, "echo")


@IGNORED.entry(
    "A text comes where tokens were asked for.",
    OBEYED + "`return_raw_tokens`.",
    on="requests with return_raw_tokens",
    stage="request",
)
def raw_tokens_ignored(request: Request, values: Values, position: int) -> Request:
    return without(request, "return_raw_tokens")


@IGNORED.entry(
    "Thoughts are shown as by default, whatever `reasoning_format` says.",
    SHOWN,
    on="requests with reasoning_format",
    stage="request",
)
def reasoning_format_ignored(request: Request, values: Values, position: int) -> Request:
    return without(request, "reasoning_format")


@IGNORED.entry(
    "The model thinks, though it was told not to.",
    OBEYED + "`reasoning_effort: none`.",
    on="requests with reasoning_effort none",
    stage="request",
)
def effort_ignored(request: Request, values: Values, position: int) -> Request:
    body = body_of(request)
    off = body is not None and body.get("reasoning_effort") == "none"
    return without(request, "reasoning_effort") if off else request


def _with_alternatives(request: Request, more: int) -> Request:
    body = body_of(request)
    if body is None:
        return request
    name = "top_logprobs" if "messages" in body else "logprobs"
    asked = body.get(name)
    if body.get("logprobs") in (None, False) or not isinstance(asked, int) or asked < 1:
        return request
    return with_body(request, {**body, name: asked + more})


@IGNORED.entry(
    "There are two alternatives more than asked for.",
    ALTERNATIVES,
    on="requests with top_logprobs",
    stage="request",
)
def alternatives_more(request: Request, values: Values, position: int) -> Request:
    return _with_alternatives(request, 2)


@IGNORED.entry(
    "There is one alternative less than asked for.",
    ALTERNATIVES,
    on="requests with top_logprobs",
    stage="request",
)
def alternatives_fewer(request: Request, values: Values, position: int) -> Request:
    return _with_alternatives(request, -1)


@IGNORED.entry(
    "Log probabilities come without being asked for.",
    OBEYED + "no `logprobs`, none.",
    on="requests without logprobs",
    stage="request",
)
def logprobs_unasked(request: Request, values: Values, position: int) -> Request:
    body = body_of(request)
    if body is None or body.get("logprobs") not in (None, False) or body.get("prediction"):
        return request
    return with_body(request, {**body, "logprobs": True if "messages" in body else 1})
