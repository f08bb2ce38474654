"""The parameters that decide how a text is generated, read alike from both operations."""

from typing import Any

from msgspec import Struct, field

from .bias import Bias


class Generation(Struct, frozen=True):
    """How much is generated, when it stops, and what is reported of it.

    `max_tokens` is None where only the context bounds the answer. `top_logprobs` is None where
    no log probabilities are wanted.
    """

    max_tokens: int | None = None
    min_tokens: int = 0
    stop: tuple[str, ...] = ()
    choices: int = 1
    best_of: int = 1
    top_logprobs: int | None = None
    bias: Bias = field(default_factory=lambda: Bias({}))


def of_chat(body: dict[str, Any], model: dict[str, Any]) -> Generation:
    """Read the parameters of a chat completion request to a model of the catalogue."""
    least = body.get("min_completion_tokens")
    if least is None:
        least = body.get("min_tokens")
    top = (body.get("top_logprobs") or 0) if body.get("logprobs") else None
    return _read(body, model, least, top)


def of_completion(body: dict[str, Any], model: dict[str, Any]) -> Generation:
    """Read the parameters of a completion request to a model of the catalogue."""
    return _read(body, model, body.get("min_tokens"), body.get("logprobs"))


def asked_tokens(body: dict[str, Any]) -> int | None:
    """Return the most tokens a request of either operation asks for, as it says: -1 for all."""
    for name in ("max_completion_tokens", "max_tokens"):
        if body.get(name) is not None:
            return int(body[name])
    return None


def _read(
    body: dict[str, Any], model: dict[str, Any], least: int | None, top_logprobs: int | None
) -> Generation:
    limit = asked_tokens(body)
    stop = body.get("stop")
    if least == -1:  # the document: "Setting to -1 sets to max sequence length"
        default = int(model["max_completion_tokens"]["default"])
        least = limit if limit is not None and limit > 0 else default
    return Generation(
        max_tokens=None if limit is None or limit < 0 else int(limit),
        min_tokens=int(least or 0),
        stop=tuple(s for s in ([stop] if isinstance(stop, str) else stop or ()) if s),
        choices=int(body.get("n") or 1),
        best_of=int(body.get("best_of") or 1),
        top_logprobs=None if top_logprobs is None else int(top_logprobs),
        bias=Bias(body.get("logit_bias") or {}),
    )
