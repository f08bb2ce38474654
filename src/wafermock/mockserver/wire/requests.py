"""Rewriting a request before the mock sees it: how a server gets wrong what it was asked."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from wafermock.spec.media_type import essence

from ..decode import decode
from ..exchange import Request
from ..refusal import Refusal
from .catalogue import Chosen
from .draft import encoded

_TYPES = (
    "application/json",
    "application/msgpack",
    "application/vnd.msgpack",
    "application/x-msgpack",
)
_MOST = 64 * 1024 * 1024


def rewritten(request: Request, chosen: Sequence[Chosen], position: int = 0) -> Request:
    """Return the request as a server with these defects understands it.

    Only entries of the stage `request` count. `position` counts how often the same was asked.
    Raises Refusal where a defect refuses what it should not.
    """
    for choice in chosen:
        if choice.entry.stage == "request":
            request = choice.entry.effect(request, choice.values, position)
    return request


def body_of(request: Request) -> dict[str, Any] | None:
    """Return the body as data; None where it cannot be read, or is no object."""
    try:
        body = decode(
            request.body,
            request.headers.get("content-type"),
            request.headers.get("content-encoding"),
            media_types=_TYPES,
            max_body=_MOST,
        )
    except Refusal:
        return None
    return body if isinstance(body, dict) else None


def with_body(request: Request, body: Any) -> Request:
    """Return the request with another body, in plain JSON."""
    headers = {
        name: value
        for name, value in request.headers.items()
        if name not in ("content-encoding", "content-length")
    }
    headers["content-type"] = "application/json"
    return replace(request, headers=headers, body=encoded(body))


def without(request: Request, *names: str) -> Request:
    """Return the request without some parameters."""
    body = body_of(request)
    if body is None or not any(name in body for name in names):
        return request
    return with_body(request, {key: value for key, value in body.items() if key not in names})


def otherwise(request: Request, word: str = "again") -> Request:
    """Return a request for something else: one that is answered with other words."""
    body = body_of(request)
    if body is None:
        return request
    if isinstance(body.get("messages"), list) and body["messages"]:
        *before, last = body["messages"]
        if isinstance(last, dict):
            last = {**last, "content": _longer(last.get("content"), word)}
        return with_body(request, {**body, "messages": [*before, last]})
    if "prompt" in body:
        return with_body(request, {**body, "prompt": _longer(body["prompt"], word)})
    return request


def _longer(text: Any, word: str) -> Any:
    if isinstance(text, str):
        return f"{text} {word}"
    if isinstance(text, list) and text:
        if isinstance(text[0], dict):
            return [*text, {"type": "text", "text": word}]
        return [*text[:-1], _longer(text[-1], word)] if not isinstance(text[0], int) else [*text, 5]
    return word


def media_type(request: Request) -> str:
    """Return the media type of the body, in lower case, without parameters."""
    return essence(request.headers.get("content-type"))
