"""Messages of a chat, in turns that fit each other."""

from collections.abc import Sequence
from typing import Any

from .likely import ARGUMENTS, PICTURE
from .source import Source

Message = dict[str, Any]

# In which share of conversations, turns or messages something is there.
SYSTEM_SHARE = 0.4
PARTS_SHARE = 0.2
NAME_SHARE = 0.1
REASONING_SHARE = 0.15
CALLS_SHARE = 0.3
ENDS_WITH_TOOL_SHARE = 0.15
PICTURE_SHARE = 0.15
MOST_ROUNDS = 2


def conversation(source: Source, roles: Sequence[str], *, pictures: bool = False) -> list[Message]:
    """Make a conversation. The simplest is one message of the user.

    `roles` are those that the model takes. Each call of a tool is answered right behind it.
    """
    messages: list[Message] = []
    if source.chance(SYSTEM_SHARE) and (first := [r for r in roles if r in _INSTRUCTING]):
        messages.append(_said(source, source.pick(first)))
    rounds = source.integer(0, MOST_ROUNDS)
    for number in range(rounds):
        messages.append(_asked(source, pictures=pictures))
        if "tool" in roles and source.chance(CALLS_SHARE):
            messages += _calls(source, f"call_{number}")
            if number == rounds - 1 and source.chance(ENDS_WITH_TOOL_SHARE):
                return messages
        messages.append(_answered(source))
    return [*messages, _asked(source, pictures=pictures)]


_INSTRUCTING = ("system", "developer")


def surrounded(message: Any) -> tuple[list[Any], int]:
    """Put a message into the shortest conversation it fits into; return that, and its index."""
    role = message.get("role") if isinstance(message, dict) else None
    user: Message = {"role": "user", "content": "Hi"}
    if role in _INSTRUCTING:
        return [message, user], 0
    if role == "tool":
        return [user, calling([str(message.get("tool_call_id"))]), message], 2
    if role == "assistant":
        calls = message.get("tool_calls") or []
        ids = [call.get("id") for call in calls if isinstance(call, dict)]
        answers = [{"role": "tool", "tool_call_id": id, "content": "21"} for id in ids]
        return [user, message, *answers, user], 1
    return [message], 0


def calling(ids: Sequence[str], name: str = "get_weather") -> Message:
    """Make a message of the assistant that calls a tool, once for each id."""
    function = {"name": name, "arguments": ARGUMENTS[name]}
    calls = [{"id": id, "type": "function", "function": dict(function)} for id in ids]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def _said(source: Source, role: str) -> Message:
    message: Message = {"role": role, "content": _content(source)}
    if source.chance(NAME_SHARE):
        message["name"] = source.pick(["alice", "bob_2"])
    return message


def _asked(source: Source, *, pictures: bool) -> Message:
    message = _said(source, "user")
    if pictures and source.chance(PICTURE_SHARE):
        picture = {"type": "image_url", "image_url": {"url": PICTURE}}
        message["content"] = [{"type": "text", "text": source.sentence()}, picture]
    return message


def _answered(source: Source) -> Message:
    message: Message = {"role": "assistant", "content": source.sentence()}
    if source.chance(REASONING_SHARE):
        message["reasoning"] = source.sentence()
    return message


def _calls(source: Source, prefix: str) -> list[Message]:
    ids = [f"{prefix}_{number}" for number in range(source.integer(1, 3))]
    answers = [{"role": "tool", "tool_call_id": id, "content": _content(source)} for id in ids]
    return [calling(ids, source.pick(list(ARGUMENTS))), *answers]


def _content(source: Source) -> Any:
    if not source.chance(PARTS_SHARE):
        return source.sentence()
    return [{"type": "text", "text": source.sentence()} for _ in range(source.integer(1, 3))]
