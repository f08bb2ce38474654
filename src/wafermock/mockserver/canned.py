"""Canned replies: what the contract's examples say, for requests that are like theirs."""

import json
import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from msgspec import Struct

from wafermock.spec import Example, Operation

from .reply import Reply, ToolCall

# How much of the last words two requests must share to be alike, from 0 to 1.
ALIKE = 0.6


class Features(Struct, frozen=True):
    """What makes a request like another: its last words, and what else it brings."""

    words: frozenset[str]
    tools: frozenset[str]
    images: bool
    follows_up: bool
    formatted: bool

    def likeness(self, example: "Features") -> float:
        """Say how like an example's request this one is, from 0 to 1."""
        same = (
            self.images == example.images
            and self.follows_up == example.follows_up
            and self.formatted == example.formatted
            and bool(self.tools) == bool(example.tools)
            and self.tools >= example.tools
        )
        union = self.words | example.words
        return len(self.words & example.words) / len(union) if same and union else 0.0


def features(body: dict[str, Any]) -> Features:
    """Read the features of a request body, of either operation."""
    messages = body.get("messages") or []
    last = messages[-1] if messages else {"content": body.get("prompt")}
    response_format = body.get("response_format") or {}
    return Features(
        words=frozenset(re.findall(r"\w+", text_of(last.get("content")).casefold())),
        tools=frozenset(tool["function"]["name"] for tool in body.get("tools") or []),
        images=any(part.get("type") == "image_url" for m in messages for part in parts_of(m)),
        follows_up=any(m.get("role") in ("assistant", "tool") for m in messages),
        formatted=response_format.get("type", "text") != "text",
    )


def text_of(content: Any) -> str:
    """Return the text of a message's content: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(p["text"] for p in parts if isinstance(p, dict) and "text" in p)


def parts_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a message whose content is a list of parts."""
    content = message.get("content")
    return content if isinstance(content, list) else []


class Canned:
    """The examples of an operation, as pairs of a request and a reply."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation

    @cached_property
    def answers(self) -> dict[str, Example]:
        """The examples of the success response, whatever their media type, by name."""
        content = self.operation.success.content if self.operation.success else {}
        return {name: e for media in content.values() for name, e in media.examples.items()}

    @cached_property
    def replies(self) -> dict[str, Reply]:
        """The reply in each example that holds one, by the example's name."""
        read = {name: read_reply(example.value) for name, example in self.answers.items()}
        return {name: reply for name, reply in read.items() if reply is not None}

    @cached_property
    def _pairs(self) -> list[tuple[Features, Reply]]:
        body = self.operation.request_body
        asked = body.content.get("application/json") if body else None
        examples = asked.examples.items() if asked else ()
        return [(features(e.value), self.replies[n]) for n, e in examples if n in self.replies]

    def reply_to(self, body: dict[str, Any]) -> Reply | None:
        """Return the reply of the example whose request is most like this one, if any is.

        The arguments of a call fit the very words they were made for, so a reply with calls is
        for a request in the same words only.
        """
        request = features(body)
        best: Reply | None = None
        likeness = 0.0
        for example, reply in self._pairs:
            alike = request.likeness(example)
            if alike > likeness and alike >= (1 if reply.tool_calls else ALIKE):
                best, likeness = reply, alike
        return best


class Uncanned(Canned):
    """The examples of an operation for a client that wants none: only by name they are found."""

    def reply_to(self, body: dict[str, Any]) -> Reply | None:
        return None


def read_reply(value: Any) -> Reply | None:
    """Read the words out of an example: a whole answer, one chunk, or a list of events.

    Returns None when it holds no choice.
    """
    chunks = [value] if isinstance(value, dict) else list(_events(value))
    choices = [c for chunk in chunks for c in chunk.get("choices") or () if c.get("index", 0) == 0]
    if not choices:
        return None
    said = [c.get("message") or c.get("delta") or {"content": c.get("text")} for c in choices]
    calls = [call["function"] for message in said for call in message.get("tool_calls") or ()]
    return Reply(
        content="".join(message.get("content") or "" for message in said),
        reasoning="".join(message.get("reasoning") or "" for message in said),
        tool_calls=tuple(ToolCall(c.get("name", ""), c.get("arguments", "")) for c in calls),
    )


def _events(value: Any) -> Iterable[dict[str, Any]]:
    for event in value if isinstance(value, list) else ():
        data = event.get("data") if isinstance(event, dict) else None
        if isinstance(data, str) and data.startswith("{"):
            yield json.loads(data)
