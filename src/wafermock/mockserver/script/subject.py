"""What rules look at: a request, understood, and the conversation in it.

A body may be any JSON whatever where a server does not validate, so that nothing here takes its
shape for granted: what is not there, or of another type, is absent.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct

from wafermock.spec.pointer import copy_json

from ..call import Call
from ..exchange import Request


class Message(Struct, frozen=True):
    """One message: who said it, its text, and the function it is the result of."""

    role: str
    text: str
    function: str = ""


class Subject(Struct, frozen=True, dict=True):
    """A request that a script is asked for an answer to, and the scope it came in.

    `call` is None while the request is not understood yet; a recorded rule knows it all the same.
    """

    request: Request
    call: Call | None
    scope: str = ""

    @property
    def body(self) -> dict[str, Any]:
        return self.call.body if self.call else {}

    @cached_property
    def copied(self) -> dict[str, Any]:
        """The body for functions of users: who changes it does not change what was asked, which is
        remembered for the next who asks the same."""
        copied: dict[str, Any] = copy_json(self.body)
        return copied

    @property
    def operation(self) -> tuple[str, str]:
        """The id and the path of the operation; empty while the request is not understood."""
        operation = self.call.operation if self.call else None
        return (operation.id, operation.path) if operation else ("", "")

    @property
    def voice(self) -> bytes:
        """What decides invented words."""
        return self.call.voice if self.call else b""

    @property
    def model(self) -> str:
        """The model asked for; empty where there is none."""
        return _text(self.body.get("model"))

    @property
    def stream(self) -> bool:
        return self.body.get("stream") is True

    @property
    def api_key(self) -> str:
        """The credentials of the request without their scheme; empty where there are none."""
        return self.request.headers.get("authorization", "").partition(" ")[2].strip()

    @cached_property
    def recorded(self) -> str:
        """The digest by which a recorded request is known again."""
        from ..record.meaning import request_digest

        return request_digest(self.request)

    @property
    def headers(self) -> dict[str, str]:
        """The headers, but for those that hold a secret: neither a template nor a message shows
        them."""
        from ..record.catalogue import catalogue

        is_secret = catalogue().credentials.is_header
        return {k: v for k, v in self.request.headers.items() if not is_secret(k)}

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The conversation. A prompt is a message of the user, several prompts are several."""
        sent = self.body.get("messages")
        if not isinstance(sent, list):
            prompt = self.body.get("prompt")
            prompts = prompt if isinstance(prompt, list) else [prompt]
            return tuple(Message("user", p) for p in prompts if isinstance(p, str))
        functions = {
            _text(call.get("id")): name
            for message in _objects(sent)
            for call, name in _calls(message)
            if call.get("id")
        }
        return tuple(
            Message(
                role=_text(message.get("role")),
                text=_content(message.get("content")),
                function=functions.get(_text(message.get("tool_call_id")), "")
                if message.get("role") == "tool"
                else "",
            )
            for message in _objects(sent)
        )

    @property
    def turn(self) -> int:
        """The turn of the conversation, from 1: how often the assistant has spoken, and once."""
        return 1 + sum(message.role == "assistant" for message in self.messages)

    def last(self, role: str | None = None) -> Message | None:
        """Return the last message, of a role if one is given."""
        for message in reversed(self.messages):
            if role in (None, message.role):
                return message
        return None

    @property
    def last_user(self) -> str:
        """What the user said last; empty where the user said nothing."""
        message = self.last("user")
        return message.text if message else ""

    @property
    def results(self) -> tuple[Message, ...]:
        """The results of tools that the conversation ends with."""
        found: list[Message] = []
        for message in reversed(self.messages):
            if message.role != "tool":
                break
            found.append(message)
        return tuple(reversed(found))

    @property
    def tools_called(self) -> tuple[str, ...]:
        """The functions that the assistant has called, in their order."""
        sent = self.body.get("messages")
        return tuple(name for message in _objects(sent) for _, name in _calls(message))

    @property
    def tools_offered(self) -> tuple[str, ...]:
        """The functions that may be called."""
        functions = (tool.get("function") for tool in _objects(self.body.get("tools")))
        return tuple(
            f["name"] for f in functions if isinstance(f, dict) and isinstance(f.get("name"), str)
        )


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    items = value if isinstance(value, list) else ()
    return (item for item in items if isinstance(item, dict))


def _calls(message: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the calls in a message of the assistant, each with its function's name."""
    for call in _objects(message.get("tool_calls")):
        function = call.get("function")
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            yield call, function["name"]


def _content(content: Any) -> str:
    """Return the text of a message's content: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    return "\n".join(p["text"] for p in _objects(content) if isinstance(p.get("text"), str))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
