"""The completion: lists of tokens, and everything that follows from them.

The pieces of a stream, the whole text, `usage`, `finish_reason`, log probabilities and times are
all read off the same lists, so they cannot disagree.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from .draws import Draws
from .generation import Generation
from .prose import sentences
from .reply import Reply
from .tokens import tokenise

if TYPE_CHECKING:
    from .pace import Schedule


class CallTokens(Struct, frozen=True):
    """A tool call in tokens: its id (nine hexadecimal digits), its name, its arguments."""

    id: str
    name: str
    arguments: tuple[str, ...]


class Choice(Struct, frozen=True):
    """One choice: what was thought, what was said, what was called, and why it ended.

    `echo` are the tokens of the prompt where they are to be said again; they are not counted.
    `echo_numbers` are their numbers where the prompt came in numbers.
    """

    index: int
    reasoning: tuple[str, ...]
    content: tuple[str, ...]
    tool_calls: tuple[CallTokens, ...]
    finish_reason: str
    echo: tuple[str, ...] = ()
    echo_numbers: tuple[int, ...] | None = None

    @property
    def token_count(self) -> int:
        called = sum(1 + len(call.arguments) for call in self.tool_calls)
        return len(self.reasoning) + len(self.content) + called


class Usage(Struct, frozen=True):
    """How many tokens went in and out."""

    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    accepted_prediction_tokens: int = 0
    rejected_prediction_tokens: int = 0
    image_tokens: int | None = None

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


class TimeInfo(Struct, frozen=True):
    """How long each phase took, in seconds, and when it was over (Unix time)."""

    queue_time: float
    prompt_time: float
    completion_time: float
    total_time: float
    created: float


class Completion(Struct, frozen=True):
    """An answer in tokens, not yet in the words of either operation."""

    id: str
    created: int
    model: str
    system_fingerprint: str
    choices: tuple[Choice, ...]
    usage: Usage
    time_info: TimeInfo
    schedule: "Schedule | None" = None


def make_choice(
    index: int,
    reply: Reply,
    generation: Generation,
    room: int,
    draws: Draws,
    *,
    free: bool = True,
    raw: bool = False,
) -> Choice:
    """Turn a reply into tokens, as long as the parameters allow.

    `room` is the number of tokens that the context leaves for the answer. Words may be added or
    changed for `min_tokens` and `logit_bias` only where the text is `free`, not where it is JSON.
    Where thoughts are `raw` they are part of the text that is shown, so `stop` looks at them too.
    """
    calls = [
        CallTokens(draws.hexadecimal(9), call.name, tuple(tokenise(call.arguments)))
        for call in reply.tool_calls
    ]
    reasoning = generation.bias.ban(tokenise(reply.reasoning), draws)
    content = tokenise(reply.content)
    if free and not calls:
        content += _more(content, generation.min_tokens - len(reasoning) - len(content), draws)
    if free:
        content = generation.bias.apply(content, draws)

    limit = room if generation.max_tokens is None else min(room, generation.max_tokens)
    seen = reasoning + content if raw else content
    stopped = cut_at_stop(seen, generation.stop)
    if stopped is not None:
        split = len(reasoning) if raw else 0
        kept = stopped[:split] if raw else reasoning
        if len(kept) + len(stopped[split:]) <= limit:
            return Choice(index, tuple(kept), tuple(stopped[split:]), (), "stop")
    finish_reason = "tool_calls" if calls else "stop"
    if Choice(index, tuple(reasoning), tuple(content), tuple(calls), "").token_count > limit:
        finish_reason = "length"
        reasoning, content, calls = _cut(reasoning, content, calls, limit)
    return Choice(index, tuple(reasoning), tuple(content), tuple(calls), finish_reason)


def _more(content: Sequence[str], lacking: int, draws: Draws) -> list[str]:
    """Invent the tokens that a text lacks of `min_tokens`."""
    if lacking <= 0:
        return []
    space = "" if not content or content[-1][-1].isspace() else " "
    return tokenise(space + sentences(draws, lacking))[:lacking]


def cut_at_stop(tokens: Sequence[str], stop: Sequence[str]) -> list[str] | None:
    """Cut tokens before the first stop sequence; None where there is none.

    A sequence may begin in the middle of a token and straddle several: the token it begins in
    is kept up to there.
    """
    text = "".join(tokens)
    found = [at for sequence in stop if (at := text.find(sequence)) >= 0]
    if not found:
        return None
    left = min(found)
    kept = []
    for token in tokens:
        if left <= 0:
            break
        kept.append(token[:left])
        left -= len(token)
    return kept


def _cut(
    reasoning: list[str], content: list[str], calls: list[CallTokens], limit: int
) -> tuple[list[str], list[str], list[CallTokens]]:
    reasoning = reasoning[:limit]
    limit -= len(reasoning)
    content = content[:limit]
    limit -= len(content)
    kept = []
    for call in calls:
        if limit < 1:
            break
        arguments = call.arguments[: limit - 1]
        kept.append(CallTokens(call.id, call.name, arguments))
        limit -= 1 + len(arguments)
    return reasoning, content, kept


def pieces(tokens: Sequence[str], draws: Draws) -> list[tuple[str, ...]]:
    """Group tokens into the pieces of a stream: one to four tokens each."""
    groups = []
    at = 0
    while at < len(tokens):
        size = 1 + draws.below(4)
        groups.append(tuple(tokens[at : at + size]))
        at += size
    return groups
