"""What is asked, by a name for each, and how it looks on a wire."""

import json
from typing import Any

from wafermock.mockserver.exchange import Request

TEXT = "Zeig mir 漢字, é und 🙂!"
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "unit": {"type": "string"}},
            "required": ["city", "unit"],
            "additionalProperties": False,
        },
    },
}
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
CHAT = {
    "model": "gpt-oss-120b",
    "messages": [{"role": "user", "content": "Say something long about rivers."}],
    "max_completion_tokens": 60,
    "reasoning_effort": "low",
}
ECHO = {"model": "gpt-oss-120b", "prompt": TEXT, "echo": True, "max_tokens": 20}
TOOLS = {**CHAT, "tools": [WEATHER], "tool_choice": "required", "max_completion_tokens": 200}
CHAT_PATH, TEXT_PATH = "/v1/chat/completions", "/v1/completions"
# By a name for each: where it is asked, and what.
ASKED: dict[str, tuple[str, Any]] = {
    "chat": (CHAT_PATH, CHAT),
    "chat stream": (CHAT_PATH, {**CHAT, "stream": True}),
    "text": (TEXT_PATH, ECHO),
    "text stream": (TEXT_PATH, {**ECHO, "stream": True}),
    "two": (CHAT_PATH, {**CHAT, "n": 2}),
    "two stream": (CHAT_PATH, {**CHAT, "n": 2, "stream": True}),
    "tools": (CHAT_PATH, TOOLS),
    "tools stream": (CHAT_PATH, {**TOOLS, "stream": True}),
    "tools whole stream": (CHAT_PATH, {**TOOLS, "model": "zai-glm-4.7", "stream": True,
                                       "reasoning_effort": None}),
    "json": (CHAT_PATH, {**CHAT, "response_format": FORMAT, "max_completion_tokens": 300}),
    "json stream": (CHAT_PATH, {**CHAT, "response_format": FORMAT, "stream": True,
                                "max_completion_tokens": 300}),
    "logprobs": (CHAT_PATH, {**CHAT, "logprobs": True, "top_logprobs": 3}),
    "logprobs stream": (CHAT_PATH, {**CHAT, "logprobs": True, "top_logprobs": 3, "stream": True}),
    "thoughts": (CHAT_PATH, {**CHAT, "reasoning_format": "parsed", "max_completion_tokens": 200}),
    "tier": (CHAT_PATH, {**CHAT, "service_tier": "auto"}),
    "text logprobs": (TEXT_PATH, {**ECHO, "logprobs": 2}),
    "latin": (TEXT_PATH, {**ECHO, "prompt": "Één café"}),
    "slow stream": (CHAT_PATH, {**CHAT, "stream": True, "messages": [
        {"role": "user", "content": "Say something slowly."}]}),
    "error": (CHAT_PATH, {"model": "gpt-oss-120b"}),
}  # fmt: skip


def asking(body: Any, path: str = CHAT_PATH, **headers: str) -> Request:
    """Return a request of a body, given as data or as bytes; `content_type=` and the like."""
    raw = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
    given = {"authorization": "Bearer key", "content-type": "application/json"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    return Request("POST", path, "", given, raw)


def named(asked: str | Request) -> Request:
    """Return a request by its name, if it is not one already."""
    if isinstance(asked, Request):
        return asked
    path, body = ASKED[asked]
    return asking(body, path)


def wired(request: Request, **more: str) -> bytes:
    """Return a request as bytes, the last of its connection; `more` are headers beside its own."""
    given = {"host": "localhost", "connection": "close", **request.headers, **more}
    body = request.body
    if "transfer-encoding" in given:
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    else:
        given["content-length"] = str(len(body))
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"{request.method} {request.path} HTTP/1.1\r\n{lines}\r\n".encode() + body
