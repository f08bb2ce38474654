"""Likely requests of any operation, each valid: generated, mended, and checked."""

from typing import Any

from .chat import MODES, chat_request
from .completion import completion_request
from .mending import mended
from .parameters import parameters
from .scene import Scene
from .source import Seeded, Source
from .values import Unmakeable

# What a choice of mode has decided is not taken back by mending.
_KEPT = frozenset({"model", "messages", "prompt", "stream", *MODES})
_ATTEMPTS = 20


def likely_request(scene: Scene, source: Source) -> dict[str, Any] | None:
    """Make one request; None where the choices of the source lead to none that is valid."""
    try:
        if scene.is_chat:
            body = chat_request(scene, source)
        elif scene.is_completion:
            body = completion_request(scene, source)
        else:
            body = parameters(scene, source, ())
    except Unmakeable:
        return None
    whole = mended(scene, body, _KEPT)
    return whole if whole is not None and not scene.violation(whole) else None


def seeded_request(scene: Scene, *seeds: str | int) -> dict[str, Any]:
    """Make the one request that belongs to seeds. Raises Unmakeable where the schema of the
    operation asks for what is not followed here."""
    for attempt in range(_ATTEMPTS):
        body = likely_request(scene, Seeded(scene.operation.id, *seeds, attempt))
        if body is not None:
            return body
    return scene.least
