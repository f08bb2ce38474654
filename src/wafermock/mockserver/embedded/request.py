"""What a client sent, typed: the request half of a call, and what a function that answers gets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..script import Subject


class Headers(Mapping[str, str]):
    """Headers by name, in upper or lower case. What is shown of them hides keys."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        self._fields = {name.lower(): value for name, value in fields.items()}

    def __getitem__(self, name: str) -> str:
        return self._fields[name.lower()]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        from ..control.masking import masked_headers

        return repr(masked_headers(self._fields))


@dataclass(frozen=True)
class CalledTool:
    """A call of a function: in the history of a request, or in an answer.

    `arguments` are the data of the JSON text; the text itself where it is not JSON.
    """

    name: str
    arguments: Any = None
    id: str = ""

    @classmethod
    def read(cls, node: Any) -> CalledTool:
        """Read an item of `tool_calls`; what is not there is empty."""
        call = node if isinstance(node, Mapping) else {}
        function = call.get("function")
        function = function if isinstance(function, Mapping) else {}
        return cls.of(_text(function.get("name")), function.get("arguments"), _text(call.get("id")))

    @classmethod
    def of(cls, name: str, arguments: Any, id: str) -> CalledTool:
        """Make it of its parts, `arguments` being JSON text."""
        try:
            data = json.loads(arguments) if isinstance(arguments, str) else arguments
        except (ValueError, RecursionError):
            data = arguments
        return cls(name, data, id)


@dataclass(frozen=True)
class Message:
    """A message of a conversation. `text` is its content without parts that are no text;
    `content` is as it was sent."""

    role: str
    text: str = ""
    content: Any = None
    tool_calls: tuple[CalledTool, ...] = ()
    tool_call_id: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, node: Mapping[str, Any]) -> Message:
        """Read an item of `messages`; what is not there is empty."""
        calls = node.get("tool_calls")
        return cls(
            role=_text(node.get("role")),
            text=_content(node.get("content")),
            content=node.get("content"),
            tool_calls=tuple(map(CalledTool.read, calls if isinstance(calls, list) else ())),
            tool_call_id=_text(node.get("tool_call_id")),
            raw=node,
        )


@dataclass(frozen=True)
class Tool:
    """A function that may be called: an item of `tools`."""

    name: str
    description: str = ""
    parameters: Any = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, node: Mapping[str, Any]) -> Tool:
        """Read an item of `tools`; what is not there is empty."""
        function = node.get("function")
        function = function if isinstance(function, Mapping) else {}
        name, says = _text(function.get("name")), _text(function.get("description"))
        return cls(name, says, function.get("parameters"), node)


class ClientRequest:
    """A request as a client sent it. What it does not have is empty: nothing here raises."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject

    @property
    def method(self) -> str:
        return self._subject.request.method

    @property
    def path(self) -> str:
        """The path as the API has it, without the prefix of a space."""
        return self._subject.request.path

    @property
    def query(self) -> str:
        return self._subject.request.query

    @property
    def operation(self) -> str:
        """The id of the operation; empty where the contract has none."""
        return self._subject.operation[0]

    @cached_property
    def headers(self) -> Headers:
        """The headers; `headers["Authorization"]` is as it came, what is printed is masked."""
        return Headers(self._subject.request.headers)

    @property
    def raw(self) -> bytes:
        """The body as it came: compressed if it was."""
        return self._subject.request.body

    @property
    def body(self) -> Any:
        """The data of the body: of JSON or MessagePack, plain or gzip. None: nothing to read."""
        body = self._subject.copied
        return body.get("") if body.keys() == {""} else body or None

    @property
    def model(self) -> str:
        return self._subject.model

    @property
    def stream(self) -> bool:
        """Whether the answer is asked for as a stream."""
        return self._subject.stream

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The conversation; a prompt is a message of the user."""
        sent = self._subject.copied.get("messages")
        if isinstance(sent, list):
            return tuple(Message.read(m) for m in sent if isinstance(m, Mapping))
        return tuple(Message(m.role, m.text, m.text) for m in self._subject.messages)

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        """The functions that may be called."""
        sent = self._subject.copied.get("tools")
        items = sent if isinstance(sent, list) else ()
        return tuple(Tool.read(item) for item in items if isinstance(item, Mapping))

    @property
    def last_user(self) -> str:
        """What the user said last."""
        return self._subject.last_user

    @property
    def system(self) -> str:
        """What the system messages say, a line between two of them."""
        said = [m.text for m in self.messages if m.role in ("system", "developer")]
        return "\n".join(said)

    @property
    def tool_results(self) -> tuple[str, ...]:
        """The results of tools that the conversation ends with."""
        return tuple(result.text for result in self._subject.results)

    @property
    def turn(self) -> int:
        """The turn of the conversation, from 1: how often the assistant has spoken, and once."""
        return self._subject.turn


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = [p["text"] for p in parts if isinstance(p, Mapping) and isinstance(p.get("text"), str)]
    return "\n".join(texts)
