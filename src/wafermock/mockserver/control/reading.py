"""Reading an answer back: what it said, whether it came whole or as a stream.

The journal keeps bytes; people, coverage and scripts want words. Anything may have been sent, so
nothing here raises: what cannot be read is not there.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from ..event_stream import split_events

_DONE = "[DONE]"
# Answers of up to so many bytes are remembered, read. The journal has its bound, and this another.
_REMEMBERED = 32 * 1024


class Choice(Struct):
    """One choice, joined."""

    content: str = ""
    reasoning: str = ""
    tool_calls: list[dict[str, str]] = []
    finish_reason: str | None = None
    logprobs: bool = False


class Said(Struct):
    """What an answer said. `error` is the error in it: its body, or an event of the stream."""

    choices: list[Choice] = []
    usage: Mapping[str, Any] = {}
    error: Any = None
    events: int = 0
    done: bool = False


def read_answer(status: int, streamed: bool, parts: tuple[bytes, ...]) -> Said:
    """Read an answer. The same answer, if it is not large, is read once."""
    read = _remembered if sum(map(len, parts)) <= _REMEMBERED else _read
    return read(status, streamed, parts)


def _read(status: int, streamed: bool, parts: tuple[bytes, ...]) -> Said:
    said = Said()
    values = list(_events(b"".join(parts)) if streamed else _whole(b"".join(parts)))
    for value in values:
        said.events += streamed
        if value == _DONE:
            said.done = True
        elif isinstance(value, dict):
            _take(said, value)
            if "error" in value or (status >= 400 and not value.get("choices")):
                said.error = value
    if status >= 400 and said.error is None:
        said.error = values[0] if values else b"".join(parts).decode("utf-8", "replace")
    return said


_remembered = lru_cache(maxsize=512)(_read)


def _whole(body: bytes) -> Iterator[Any]:
    try:
        yield json.loads(body)
    except (ValueError, RecursionError):
        return


def _events(body: bytes) -> Iterator[Any]:
    """Yield the data of each event, decoded (WHATWG HTML, section 9.2.6)."""
    for event in split_events(body.removeprefix(b"\xef\xbb\xbf")):
        lines = event.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
        data = [line[5:].removeprefix(" ") for line in lines.split("\n") if line[:5] == "data:"]
        joined = "\n".join(data)
        if not data:
            continue
        if joined == _DONE:
            yield _DONE
            continue
        yield from _whole(joined.encode())


def _take(said: Said, value: dict[str, Any]) -> None:
    """Add an answer or a chunk of one to what was said."""
    if isinstance(value.get("usage"), dict):
        said.usage = value["usage"]
    choices = value.get("choices")
    for position, node in enumerate(choices if isinstance(choices, list) else ()):
        if not isinstance(node, dict):
            continue
        index = node.get("index", position)
        if not (isinstance(index, int) and 0 <= index < 1024):
            continue
        while len(said.choices) <= index:
            said.choices.append(Choice())
        choice = said.choices[index]
        message = next((m for k in ("message", "delta") if isinstance(m := node.get(k), dict)), {})
        choice.content += _text(message.get("content")) or _text(node.get("text"))
        choice.reasoning += _text(message.get("reasoning"))
        choice.logprobs = choice.logprobs or bool(node.get("logprobs"))
        choice.finish_reason = _text(node.get("finish_reason")) or choice.finish_reason
        _add_tool_calls(choice, message.get("tool_calls"))


def _add_tool_calls(choice: Choice, calls: Any) -> None:
    for position, call in enumerate(calls if isinstance(calls, list) else ()):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            continue
        index = call.get("index", position)
        if not (isinstance(index, int) and 0 <= index < 1024):
            continue
        while len(choice.tool_calls) <= index:
            choice.tool_calls.append({"id": "", "name": "", "arguments": ""})
        held = choice.tool_calls[index]
        held["id"] = held["id"] or _text(call.get("id"))
        held["name"] = held["name"] or _text(function.get("name"))
        held["arguments"] += _text(function.get("arguments"))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def messages_of(body: Any) -> list[dict[str, Any]]:
    """List the messages of a request body, as far as they are messages."""
    messages = body.get("messages") if isinstance(body, dict) else None
    return [m for m in messages if isinstance(m, dict)] if isinstance(messages, list) else []


def text_of(content: Any) -> str:
    """Return the words of a message's content: a text, or parts with texts among them."""
    if isinstance(content, list):
        return "\n".join(_text(p.get("text")) for p in content if isinstance(p, dict)).strip()
    return _text(content)


def asked(body: Any) -> str:
    """Return what a request asked last: the last user message, or the prompt."""
    users = [m for m in messages_of(body) if m.get("role") == "user"]
    if users:
        return text_of(users[-1].get("content"))
    prompt = body.get("prompt") if isinstance(body, dict) else None
    if isinstance(prompt, list):
        return "\n".join(p for p in prompt if isinstance(p, str))
    return _text(prompt)


def part_kinds(messages: Iterable[dict[str, Any]]) -> set[str]:
    """Name the types of content parts in messages, `image_url` say."""
    parts = (part for m in messages if isinstance(c := m.get("content"), list) for part in c)
    return {_text(part.get("type")) for part in parts if isinstance(part, dict)}
