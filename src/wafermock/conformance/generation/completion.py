"""Likely requests for a text completion."""

from typing import Any

from . import shares
from .parameters import parameters
from .scene import Scene
from .source import Source

# Numbers of tokens that every vocabulary has: there is at least one token for each byte.
MOST_TOKEN = 255


def completion_request(scene: Scene, source: Source) -> dict[str, Any]:
    """Make a request. The simplest is a short text, and a short answer."""
    body: dict[str, Any] = {"model": scene.model, "prompt": _prompt(source)}
    if "stream" in scene.properties and source.chance(shares.STREAMED):
        body["stream"] = True
    body.update(parameters(scene, source, {"model", "prompt", "stream"}))
    if isinstance(body.get("best_of"), int) and body["best_of"] > 1 and not body.get("stream"):
        body["n"] = min(body.get("n") or 1, body["best_of"] - 1)
    return body


def _prompt(source: Source) -> Any:
    if not source.chance(shares.OTHER_PROMPT):
        return source.sentence()
    kind = source.integer(0, 2)
    if kind == 0:
        return [source.sentence() for _ in range(source.integer(1, 2))]
    if kind == 1:
        return _tokens(source)
    return [_tokens(source) for _ in range(source.integer(1, 2))]


def _tokens(source: Source) -> list[int]:
    return [source.integer(0, MOST_TOKEN) for _ in range(source.integer(1, 8))]
