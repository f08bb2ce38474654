"""Log probabilities: one entry a token, in the form of each operation."""

import math
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from .draws import Draws
from .prose import short_words


class TokenLogprob(Struct, frozen=True):
    """A chosen token and its likeliest alternatives, itself among them, likeliest first.

    Logarithms are natural. The probabilities of the alternatives add up to 1 at most.
    """

    token: str
    logprob: float
    alternatives: tuple[tuple[str, float], ...]


def token_logprobs(tokens: Sequence[str], top: int, draws: Draws) -> list[TokenLogprob]:
    """Invent a probability for each token, and `top` alternatives (the token itself included)."""
    return [_token_logprob(token, top, draws) for token in tokens]


def _token_logprob(token: str, top: int, draws: Draws) -> TokenLogprob:
    probability = draws.between(0.4, 0.99)
    alternatives = [(token, _log(probability))] if top else []
    left = 1 - probability
    words = short_words()
    at = draws.below(len(words))
    space = " " if token.startswith(" ") else ""
    while len(alternatives) < top:
        left /= 2  # each takes half of what is left, so they fall and never reach the whole
        at = (at + 1) % len(words)
        if space + words[at] != token:
            alternatives.append((space + words[at], _log(left)))
    return TokenLogprob(token, _log(probability), tuple(alternatives))


def _log(probability: float) -> float:
    return round(math.log(probability), 6)


def chat_logprobs(entries: Sequence[TokenLogprob]) -> dict[str, Any]:
    """Write log probabilities as chat completions do."""
    return {
        "content": [
            {
                **_entry(entry.token, entry.logprob),
                "top_logprobs": [_entry(*alternative) for alternative in entry.alternatives],
            }
            for entry in entries
        ]
    }


def _entry(token: str, logprob: float) -> dict[str, Any]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode())}


def completion_logprobs(entries: Sequence[TokenLogprob], offset: int) -> dict[str, Any]:
    """Write log probabilities as completions do. `offset` is where the text begins, in characters.

    `top_logprobs` holds the chosen token beside the alternatives, where any are wanted.
    """
    offsets = []
    for entry in entries:
        offsets.append(offset)
        offset += len(entry.token)
    return {
        "text_offset": offsets,
        "token_logprobs": [entry.logprob for entry in entries],
        "tokens": [entry.token for entry in entries],
        "top_logprobs": [dict(entry.alternatives) for entry in entries],
    }
