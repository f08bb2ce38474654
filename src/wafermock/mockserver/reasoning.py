"""Reasoning: how long a model thinks, and where its thoughts are shown."""

from typing import Any

from .draws import Draws
from .prose import sentences

# How long an invented thought is, in tokens, by the effort asked for. A thought ends with the
# sentence that reaches its length, and a sentence has up to 15 words and stops: the steps are wider
# than that. Thoughts of one request begin alike, so more effort always means more sentences.
_LENGTH = {"low": 12, "medium": 40, "high": 96}


def effort(body: dict[str, Any], model: dict[str, Any]) -> str:
    """Return the effort that holds for a request: asked for, or the model's own."""
    reasoning = model["reasoning"]
    if reasoning is None or body.get("disable_reasoning"):
        return "none"
    asked: str = body.get("reasoning_effort") or reasoning["default_effort"] or "medium"
    if asked != "none" and reasoning.get("equivalent_efforts"):
        return "medium"
    return asked


def reasoning_format(body: dict[str, Any], model: dict[str, Any]) -> str:
    """Return the format that holds: `parsed`, `text_parsed`, `raw` or `hidden`."""
    asked = body.get("reasoning_format")
    if asked in (None, "none"):
        return str((model["reasoning"] or {}).get("default_format", "parsed"))
    return str(asked)


def tagged(reasoning: str, model: dict[str, Any]) -> str:
    """Write thoughts as they stand in the text when the format is `raw`."""
    opening, closing = (model["reasoning"] or {}).get("tags", ("", ""))  # a script may think anyway
    return f"{opening}{reasoning}{closing}"


def thought(effort: str, draws: Draws) -> str:
    """Invent a thought: the more effort, the longer."""
    length = _LENGTH.get(effort, 0)
    return sentences(draws, length) if length else ""
