"""What `requirements.yaml` asks of a request that no predicate on fields can say.

Each check takes a request body (any JSON data) and the arguments written beside its name, and
gives what it found by name, or None. The checks of strict schemas have a module of their own.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from . import strict_schema

Found = Mapping[str, object] | None


def chosen_tool_is_missing(body: Any) -> Found:
    """Find a `tool_choice` that names a function which `tools` does not have: {name}."""
    name = _at(body, "tool_choice", "function", "name")
    tools = [_at(tool, "function", "name") for tool in _dicts(body, "tools")]
    return {"name": name} if isinstance(name, str) and name not in tools else None


def tools_differ_in_strictness(body: Any) -> Found:
    """Find tools of which some are strict and some are not (absent is false)."""
    strictness = {_at(tool, "function", "strict") is True for tool in _dicts(body, "tools")}
    return {} if len(strictness) > 1 else None


def call_id_stands_twice(body: Any) -> Found:
    """Find an id that two tool calls of the conversation share: {id}."""
    seen: set[str] = set()
    for message in _dicts(body, "messages"):
        for id in _call_ids(message):
            if id in seen:
                return {"id": id}
            seen.add(id)
    return None


def tool_message_without_call(body: Any) -> Found:
    """Find a tool message that answers no call of the last assistant message: {index}, {id}."""
    calls: set[str] = set()
    for index, message in enumerate(_list(body, "messages")):
        role = _at(message, "role")
        if role == "assistant":
            calls = set(_call_ids(message))
        elif role == "tool":
            id = _at(message, "tool_call_id")
            if not isinstance(id, str) or id not in calls:
                return {"index": index, "id": id}
    return None


def call_without_tool_message(body: Any) -> Found:
    """Find a call that none of the tool messages right after it answers: {index}, {id}."""
    waiting: dict[str, int] = {}
    for index, message in enumerate([*_list(body, "messages"), None]):
        if _at(message, "role") == "tool":
            waiting.pop(str(_at(message, "tool_call_id")), None)
            continue
        for id, asked in waiting.items():
            return {"index": asked, "id": id}
        waiting = dict.fromkeys(_call_ids(message), index)
    return None


def images_longer_than(body: Any, limit: int) -> Found:
    """Find images whose data URIs are together longer than a number of bytes: {limit}."""
    return {"limit": limit} if sum(map(len, _image_urls(body))) > limit else None


def more_images_than(body: Any, limit: int) -> Found:
    """Find more images than a number: {limit}, {number}."""
    number = sum(1 for _ in _image_urls(body))
    return {"limit": limit, "number": number} if number > limit else None


def _image_urls(body: Any) -> Iterator[str]:
    for message in _dicts(body, "messages"):
        for part in _dicts(message, "content"):
            url = _at(part, "image_url", "url")
            if isinstance(url, str):
                yield url


def _call_ids(message: Any) -> list[str]:
    if _at(message, "role") != "assistant":
        return []
    ids = (_at(call, "id") for call in _dicts(message, "tool_calls"))
    return [id for id in ids if isinstance(id, str)]


def _at(node: Any, *path: str) -> Any:
    for key in path:
        node = node.get(key) if isinstance(node, dict) else None
    return node


def _list(node: Any, key: str) -> list[Any]:
    value = _at(node, key)
    return value if isinstance(value, list) else []


def _dicts(node: Any, key: str) -> list[dict[str, Any]]:
    return [item for item in _list(node, key) if isinstance(item, dict)]


CHECKS: dict[str, Callable[..., Found]] = {
    check.__name__: check
    for check in (
        chosen_tool_is_missing,
        tools_differ_in_strictness,
        call_id_stands_twice,
        tool_message_without_call,
        call_without_tool_message,
        images_longer_than,
        more_images_than,
        *strict_schema.CHECKS,
    )
}
