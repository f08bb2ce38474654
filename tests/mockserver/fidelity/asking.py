"""Asking the mock without a socket: requests as JSON, answers as data, streams put together."""

import json
from functools import cache
from typing import Any

from hypothesis import HealthCheck, settings

from wafermock.mockserver.exchange import Answer, Request
from wafermock.mockserver.mock import Mock, Settings
from wafermock.spec import Contract, load_contract

JSON = dict[str, Any]

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"

# What every property test here runs with: the same examples each time, and no clock.
examples = settings(
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
few = settings(examples, max_examples=30)


@cache
def contract(profile: str = "documented") -> Contract:
    return load_contract(profile)


@cache
def mock(profile: str = "documented", **more: Any) -> Mock:
    return Mock(contract(profile), Settings(**more))


def send(path: str, body: Any, *, by: Mock | None = None, **headers: str) -> Answer:
    """Send a body; header names are written with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {"content-type": "application/json", "authorization": "Bearer key", **named}
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return (by or mock()).answer(Request("POST", path, "", sent, raw))


def whole(path: str, body: JSON, *, by: Mock | None = None) -> JSON:
    """Send a request and return its answer, which must be one and keep the contract."""
    answer = send(path, body, by=by)
    assert answer.status == 200, (body, answer.body[:500])
    value: JSON = json.loads(answer.body)
    success = contract().route("POST", path).operation.success  # type: ignore[union-attr]
    assert success is not None
    schema = success.content["application/json"].schema
    assert schema is not None
    assert schema.violations(value) == []
    return value


def refusal(path: str, body: Any, *, by: Mock | None = None, **headers: str) -> tuple[int, JSON]:
    """Send a request that must be refused; return the status and the error."""
    answer = send(path, body, by=by, **headers)
    assert answer.status >= 400, answer.body[:500]
    return answer.status, json.loads(answer.body)


def chunks(path: str, body: JSON, *, by: Mock | None = None) -> list[JSON]:
    """Send a request with `stream: true` and return the chunks, all of which keep the contract."""
    answer = send(path, {**body, "stream": True}, by=by)
    assert answer.status == 200, (body, answer.body[:500])
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    events = answer.body.decode().split("\n\n")
    assert events.pop() == ""
    assert events.pop() == "data: [DONE]"
    assert all(event.startswith("data: ") and "\n" not in event for event in events)
    read = [json.loads(event.removeprefix("data: ")) for event in events]
    schema = contract().schema(
        "ChatCompletionChunk" if path == CHAT else "CreateCompletionResponse"
    )
    for chunk in read:
        assert schema.violations(chunk) == []
    return read


def joined(path: str, body: JSON, *, by: Mock | None = None) -> JSON:
    """Stream an answer and put it together as a whole one."""
    read = chunks(path, body, by=by)
    shared = ("id", "created", "model", "system_fingerprint", "object")
    assert len({tuple(chunk[name] for name in shared) for chunk in read}) == 1
    assert all("usage" not in c and "time_info" not in c for c in read[:-1])
    choices: dict[int, JSON] = {}
    for chunk in read:
        for part in chunk["choices"]:
            choice = choices.setdefault(part["index"], {"index": part["index"]})
            assert "finish_reason" not in choice, "nothing comes after the finish"
            (_add_delta if path == CHAT else _add_text)(choice, part)
            if part.get("finish_reason"):
                choice["finish_reason"] = part["finish_reason"]
    assert all("finish_reason" in choice for choice in choices.values())
    ended: JSON = {
        name: read[-1][name] for name in ("service_tier", "usage", "time_info") if name in read[-1]
    }
    return {
        **{name: read[0][name] for name in shared},
        "choices": [choices[index] for index in sorted(choices)],
        **ended,
    }


def _add_delta(choice: JSON, part: JSON) -> None:
    delta = part["delta"]
    message = choice.setdefault("message", {})
    assert ("role" in delta) == (not message), "the role comes first, and once"
    for name in ("role", "content", "reasoning"):
        if name in delta:
            message[name] = message.get(name, "") + delta[name]
    calls = message.setdefault("tool_calls", []) if "tool_calls" in delta else []
    for fragment in delta.get("tool_calls", ()):
        if fragment["index"] == len(calls):
            function = {"name": fragment["function"]["name"], "arguments": ""}
            calls.append({"id": fragment["id"], "type": fragment["type"], "function": function})
        calls[fragment["index"]]["function"]["arguments"] += fragment["function"]["arguments"]
    for name in ("logprobs", "reasoning_logprobs"):
        if name in part:
            choice.setdefault(name, {"content": []})["content"] += part[name]["content"]


def _add_text(choice: JSON, part: JSON) -> None:
    for name in ("text", "tokens"):
        if name in part:
            choice[name] = choice.get(name, [] if name == "tokens" else "") + part[name]
    for name, values in part.get("logprobs", {}).items():
        choice.setdefault("logprobs", {}).setdefault(name, []).extend(values)


def says(text: str, **more: Any) -> JSON:
    """A chat request with one message."""
    return {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": text}], **more}


def asks(prompt: Any, **more: Any) -> JSON:
    """A completion request."""
    return {"model": "llama3.1-8b", "prompt": prompt, **more}


def message(answer: JSON, index: int = 0) -> JSON:
    value: JSON = answer["choices"][index]["message"]
    return value


def content(answer: JSON, index: int = 0) -> str:
    return str(message(answer, index).get("content", ""))
