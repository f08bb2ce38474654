"""Log probabilities as rules read them: from the form of chat and from that of completions."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ..exchange import Exchange
from ..once import once
from .answers import Answer, Choice, answer_of
from .asked import mapping, number, whole_number
from .declared import Token

# The log probability of a token that comes without one: the token is there all the same.
UNTOLD = -math.inf


class Alternative(NamedTuple):
    """A token that could stand here, its logarithm, and its bytes where they are told."""

    token: str
    logprob: float
    octets: bytes | None = None
    is_told: bool = False


class Entry(NamedTuple):
    """One token of an answer with its likeliest alternatives, and where it stands."""

    chosen: Alternative
    alternatives: tuple[Alternative, ...]
    at: tuple[Token, ...]


@dataclass(frozen=True)
class Report:
    """The log probabilities of one choice under one key."""

    choice: Choice
    key: str
    entries: tuple[Entry, ...]

    @property
    def at(self) -> tuple[Token, ...]:
        return (*self.choice.at, self.key)

    @cached_property
    def tokens(self) -> str:
        return "".join(entry.chosen.token for entry in self.entries)

    @cached_property
    def octets(self) -> bytes | None:
        """The bytes of all tokens; None where not all are told."""
        parts = [entry.chosen.octets for entry in self.entries]
        return b"".join(part for part in parts if part is not None) if None not in parts else None

    def says(self, text: str) -> bool:
        """Say whether the tokens are those of a text, by their own text or by their bytes."""
        return self.tokens == text or self.octets == encoded(text)

    def begins_with(self, text: str) -> bool:
        return self.tokens.startswith(text) or (self.octets or b"").startswith(encoded(text))


@once
def reports(exchange: Exchange) -> tuple[Report, ...]:
    """List the log probabilities of an answer, those that are as the contract writes them."""
    answer = answer_of(exchange)
    found = []
    for choice in answer.choices if answer else ():
        for key in ("logprobs", "reasoning_logprobs"):
            told = mapping(choice.node.get(key))
            at = (*choice.at, key)
            entries = _of_chat(told, at) if "content" in told else _of_text(told, at)
            if entries:
                found.append(Report(choice, key, entries))
    return tuple(found)


def _of_chat(told: Any, at: tuple[Token, ...]) -> tuple[Entry, ...]:
    content = told.get("content")
    entries = []
    for place, item in enumerate(content if isinstance(content, list) else ()):
        chosen = _alternative(item)
        if chosen is not None:
            top = item.get("top_logprobs")
            others = map(_alternative, top if isinstance(top, list) else ())
            listed = tuple(o for o in others if o is not None and o.logprob > UNTOLD)
            entries.append(Entry(chosen, listed, (*at, "content", place)))
    return tuple(entries)


def _alternative(item: Any) -> Alternative | None:
    if not isinstance(item, dict):
        return None
    token, logprob, told = item.get("token"), number(item.get("logprob")), item.get("bytes")
    if not isinstance(token, str):
        return None
    return Alternative(
        token, UNTOLD if logprob is None else logprob, _bytes(told), told is not None
    )


def _bytes(told: Any) -> bytes | None:
    try:
        return bytes(told) if isinstance(told, list) else None
    except (TypeError, ValueError):
        return None


def _of_text(told: Any, at: tuple[Token, ...]) -> tuple[Entry, ...]:
    lists = [told.get(key) for key in ("tokens", "token_logprobs", "top_logprobs")]
    tokens, logprobs, top = (item if isinstance(item, list) else [] for item in lists)
    # Lists of other lengths (see SEM-LOGPROBS-LENGTHS) belong to nobody knows which tokens.
    logprobs, top = (item if len(item) == len(tokens) else [] for item in (logprobs, top))
    entries = []
    for place, token in enumerate(tokens):
        logprob = number(logprobs[place]) if logprobs else None
        if not isinstance(token, str):
            continue
        pairs = mapping(top[place] if top else None).items()
        values = [(name, number(value)) for name, value in pairs]
        listed = tuple(Alternative(name, value) for name, value in values if value is not None)
        chosen = Alternative(token, UNTOLD if logprob is None else logprob)
        entries.append(Entry(chosen, listed, (*at, "tokens", place)))
    return tuple(entries)


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def has_reports(answer: Answer) -> bool:
    return bool(reports(answer.exchange))


def wanted(answer: Answer) -> bool:
    """Say whether the request asks for log probabilities: `logprobs: 0` of a completion does."""
    logprobs = answer.asked["logprobs"]
    return logprobs is True if answer.is_chat else whole_number(logprobs) is not None


def alternatives_wanted(answer: Answer) -> int:
    """Return how many alternatives the request asks for."""
    name = "top_logprobs" if answer.is_chat else "logprobs"
    return whole_number(answer.asked[name]) or 0


def entries_of(answer: Answer) -> Iterator[Entry]:
    for report in reports(answer.exchange):
        yield from report.entries
