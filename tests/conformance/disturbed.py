"""What the tests of SCHEMA and SEMANTICS ask the mock, and answers changed by hand where the mock
has no defect that changes them so."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from wafermock.conformance.exchange import Arrival, Exchange, Received

from .conftest import CHAT, ECHO, TEXT, TOOL, WORDS

STRICT_TOOL = {**TOOL, "function": {**TOOL["function"], "strict": True}}
FORMAT = {
    "type": "json_schema",
    "json_schema": {
        "name": "answer",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "count": {"type": "integer"}},
            "required": ["city", "count"],
            "additionalProperties": False,
        },
    },
}
NAMED = {"type": "function", "function": {"name": "get_weather"}}
LONG = {**WORDS, "max_completion_tokens": 300}
CALLS = {**LONG, "tools": [STRICT_TOOL], "tool_choice": "required"}
FREE = {key: value for key, value in WORDS.items() if key != "max_completion_tokens"}

# By a name for each: where it is asked, and what. Every name but "object" is streamed as well.
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": (CHAT, LONG),
    "free": (CHAT, FREE),
    "cut": (CHAT, {**WORDS, "max_completion_tokens": 20}),
    "two": (CHAT, {**WORDS, "n": 2}),
    "stop": (CHAT, {**LONG, "stop": ["e"]}),
    "logprobs": (CHAT, {**WORDS, "logprobs": True, "top_logprobs": 3}),
    "parsed": (CHAT, {**WORDS, "reasoning_format": "parsed", "logprobs": True}),
    "hidden": (CHAT, {**WORDS, "reasoning_format": "hidden"}),
    "raw": (CHAT, {**WORDS, "reasoning_format": "raw", "logprobs": True}),
    "thoughtless": (CHAT, {**WORDS, "model": "zai-glm-4.7", "reasoning_effort": "none"}),
    "tools": (CHAT, CALLS),
    "tools, stop": (CHAT, {**CALLS, "stop": ["remain."]}),
    "loose tools": (CHAT, {**CALLS, "tools": [TOOL]}),
    "bare tool": (CHAT, {**CALLS, "tools": [{"type": "function", "function": {"name": "f"}}]}),
    "named": (CHAT, {**CALLS, "tool_choice": NAMED}),
    "no tools": (CHAT, {**CALLS, "tool_choice": "none"}),
    "one call": (CHAT, {**CALLS, "parallel_tool_calls": False}),
    "json": (CHAT, {**LONG, "response_format": FORMAT}),
    "object": (CHAT, {**LONG, "response_format": {"type": "json_object"}}),
    "tier": (CHAT, {**WORDS, "service_tier": "auto"}),
    "least": (CHAT, {**LONG, "min_completion_tokens": 150}),
    "text": (TEXT, ECHO),
    "plain text": (TEXT, {**ECHO, "echo": False, "logprobs": 2}),
    "texts": (TEXT, {**ECHO, "prompt": ["one", "two"], "n": 2, "logprobs": 2}),
    "numbers": (TEXT, {**ECHO, "prompt": [5, 6, 7], "logprobs": 0}),
    "raw tokens": (TEXT, {**ECHO, "echo": False, "return_raw_tokens": True}),
    "error": (CHAT, {"model": "gpt-oss-120b"}),
}
NAMES = [
    *REQUESTS,
    *(f"{name} stream" for name in REQUESTS if name not in ("object", "error")),
]

Change = Callable[[dict[str, Any]], object]


def asked(name: str) -> tuple[str, dict[str, Any]]:
    """What is asked under a name; with ` stream` behind it, as a stream."""
    path, body = REQUESTS[name.removesuffix(" stream")]
    return path, {**body, "stream": True} if name.endswith(" stream") else body


def changed(exchange: Exchange, change: Change) -> Exchange:
    """Let `change` alter the answer, or each chunk of a stream."""
    received = exchange.received
    assert received is not None
    if not exchange.answer.is_stream:
        value = json.loads(received.raw)
        change(value)
        return exchange.answered(saying(received, json.dumps(value).encode()))
    events = []
    for chunk in exchange.answer.chunks:
        value = json.loads(json.dumps(chunk))
        change(value)
        events.append(f"data: {json.dumps(value)}\n\n")
    return exchange.answered(saying(received, "".join([*events, "data: [DONE]\n\n"]).encode()))


def saying(received: Received, body: bytes) -> Received:
    return replace(received, arrivals=(Arrival(0.0, body),))
