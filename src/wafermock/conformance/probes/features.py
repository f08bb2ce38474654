"""One small request for each parameter whose answer a rule judges: with the smallest budget, every
rule has something to judge."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from wafermock.spec import Contract, Operation

from ..planned import Planned, Subject, plan, pointer
from .asking import QUICK, SOME, STANDARD, WHOLE, Asking, Weighted, cost, needs, properties
from .metamorphic import TOOL

CAMPAIGN = "features"

# A picture of one pixel (PNG): the smallest image that there is.
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA"
    "60e6kgAAAABJRU5ErkJggg=="
)

_FUNCTION: dict[str, Any] = TOOL["function"]
_STRICT = {"type": "function", "function": {**_FUNCTION, "strict": True}}
_NAMED = {"type": "function", "function": {"name": _FUNCTION["name"]}}

# Fewer tokens than any model says something in: a limit that is not kept shows, however short the
# answers of a server are.
FEW = 3

# The kind, what is asked for beside the words, how long the answer may be, and what it needs.
_CHAT: tuple[tuple[str, Mapping[str, Any], int, tuple[str, ...]], ...] = (
    ("cut short", {}, FEW, ()),
    ("stop", {"stop": [" "]}, SOME, ()),
    ("logprobs", {"logprobs": True, "top_logprobs": 3}, SOME, ("logprobs",)),
    (
        "logprobs, streamed",
        {"logprobs": True, "top_logprobs": 3, "stream": True},
        SOME,
        ("logprobs", "streams"),
    ),
    ("no tool", {"tools": [TOOL], "tool_choice": "none"}, SOME, ("tools",)),
    (
        "named tool, one call",
        {"tools": [_STRICT], "tool_choice": _NAMED, "parallel_tool_calls": False},
        WHOLE,
        ("tools",),
    ),
    ("JSON object", {"response_format": {"type": "json_object"}}, WHOLE, ("structured outputs",)),
    ("reasoning: raw", {"reasoning_format": "raw"}, SOME, ("reasoning",)),
    ("reasoning: hidden", {"reasoning_format": "hidden"}, SOME, ("reasoning",)),
    ("several choices, streamed", {"n": 2, "stream": True}, SOME, ("n", "streams")),
    ("least length", {"min_tokens": WHOLE - SOME}, WHOLE, ()),
)
_TEXT: tuple[tuple[str, Mapping[str, Any], int, tuple[str, ...]], ...] = (
    ("echo, logprobs", {"echo": True, "logprobs": 2}, SOME, ("logprobs",)),
    ("streamed", {"stream": True}, SOME, ("streams",)),
    ("stop", {"stop": [" "]}, SOME, ()),
)


def feature_probes(contract: Contract, subject: Subject, seed: int = 0) -> Iterator[Weighted]:
    """Plan the requests, those that show the most first."""
    asking = Asking(contract, subject, seed)
    for operation, kinds in ((asking.chat, _CHAT), (asking.text, _TEXT)):
        for kind, more, tokens, wanted in kinds if operation else ():
            assert operation is not None
            if more.keys() <= properties(operation).keys():
                asked = asking.body(operation, "Say what a river is, as JSON.", tokens, **more)
                # Not every model takes every value.
                if asking.keeps(operation, asked):
                    yield _weighted(asking, operation, kind, asked, wanted)
    yield from _by_model(asking)
    for operation in contract.operations:
        if operation.answer == "model.list":
            yield Weighted(QUICK, _head(operation, subject))
        if operation.answer == "model":
            made = plan(
                operation,
                None,
                subject,
                campaign=CAMPAIGN,
                kind="one model",
                location=pointer(operation),
                path_values=dict.fromkeys(_path_names(operation), subject.model),
                needs=("models",),
            )
            yield Weighted(QUICK, made)


def _head(operation: Operation, subject: Subject) -> Planned:
    """Plan a HEAD: an answer to it has no body (RFC 9110, section 9.3.2)."""
    return plan(
        operation,
        None,
        subject,
        campaign=CAMPAIGN,
        kind="HEAD",
        location=pointer(operation),
        meant="broken",
        statuses=(200, 404, 405, 501),
        needs=("models",),
        change=lambda sent: replace(sent, method="HEAD"),
    )


def _by_model(asking: Asking) -> Iterator[Weighted]:
    """Plan what depends on the model: no reasoning at all, and an image."""
    chat = asking.chat
    if chat is None:
        return
    model = asking.contract.models.get(asking.subject.model) or {}
    if "none" in asking.efforts:
        asked = asking.body(chat, "Say hello.", SOME, reasoning_effort="none")
        yield _weighted(asking, chat, "reasoning: none", asked, ())
    if model.get("vision"):
        asked = asking.body(chat, "Say hello.", SOME)
        image = {"type": "image_url", "image_url": {"url": PIXEL}}
        asked["messages"][0]["content"] = [{"type": "text", "text": "What is it?"}, image]
        yield _weighted(asking, chat, "image", asked, ())


def _weighted(
    asking: Asking, operation: Operation, kind: str, asked: Any, wanted: tuple[str, ...]
) -> Weighted:
    made: Planned = plan(
        operation,
        asked,
        asking.subject,
        campaign=CAMPAIGN,
        kind=kind,
        location=pointer(operation),
        tokens=cost(asked),
        needs=(*needs(operation), *wanted),
    )
    return Weighted(QUICK if kind != "stop" or operation is asking.main else STANDARD, made)


def _path_names(operation: Operation) -> list[str]:
    return [parameter.name for parameter in operation.parameters if parameter.place == "path"]
