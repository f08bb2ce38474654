"""Pace: when each part of an answer may go, so that a client sees a model at work.

An answer waits in the queue, reads its prompt (its first part may then go), and makes one token
after the other. A part goes when all tokens of the parts before it are made, the last one when its
own are too. So the time to the first token is as asked for, the time in all does not depend on how
an answer is cut into parts, and `time_info` tells the same as a stopwatch.

Times are whole nanoseconds counted from the start of the answer: rounding does not add up.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

from msgspec import Struct

from .clock import SECOND, nanoseconds, parse_duration
from .completion import TimeInfo
from .draws import Draws

_NUMBER = re.compile(r"(?:\d+(?:\.\d+)?|\.\d+)", re.ASCII)

# Between the fastest model and one that needs more than a quarter of an hour for a token.
_FASTEST, _SLOWEST = 1e9, 1e-3


class Pace(Struct, frozen=True):
    """How fast answers are delivered.

    `ttft` is in seconds, `tokens_per_second` is a rate, None means at once. `jitter` varies the
    time of the prompt and of every token by up to that part of it, from 0 to 1. With `model_speed`
    the speeds of models.yaml stand in for what is None.
    """

    ttft: float | None = None
    tokens_per_second: float | None = None
    jitter: float = 0.0
    model_speed: bool = False

    def schedule(
        self,
        identity: bytes,
        speed: Mapping[str, Any],
        prompt_tokens: int,
        completion_tokens: int,
        queue_time: float | None = None,
    ) -> "Schedule":
        """Plan the answer to a call.

        `identity` is the call's, which jitter is drawn from. `speed` is the model's in the
        catalogue: tokens a second, `prompt` and `completion`. `queue_time` is in seconds.
        """
        ttft, rate = self.ttft or 0.0, self.tokens_per_second
        if self.model_speed:
            ttft = prompt_tokens / speed["prompt"] if self.ttft is None else ttft
            rate = speed["completion"] if rate is None else rate
        return Schedule(
            identity=identity,
            queue=nanoseconds(queue_time or 0.0),
            prompt=nanoseconds(ttft * _varied(self.jitter, Draws("ttft", identity))),
            tokens=completion_tokens,
            seconds_per_token=1 / rate if rate else 0.0,
            jitter=self.jitter,
        )


def _varied(jitter: float, draws: Draws) -> float:
    return draws.between(1 - jitter, 1 + jitter) if jitter else 1.0


class Schedule(Struct, frozen=True, dict=True):
    """The times of one answer. `queue` and `prompt` are in nanoseconds."""

    identity: bytes
    queue: int
    prompt: int
    tokens: int
    seconds_per_token: float
    jitter: float

    def _made(self, number: int) -> int:
        """Return when so many tokens are made, in nanoseconds after the prompt was read."""
        steps = self._steps[number] if self.jitter else number
        return nanoseconds(self.seconds_per_token * steps)

    @cached_property
    def _steps(self) -> Sequence[float]:
        """How long so many tokens take, with their jitter, in times of one token."""
        draws = Draws("pace", self.identity)
        steps = (_varied(self.jitter, draws) for _ in range(self.tokens))
        return list(accumulate(steps, initial=0.0))

    def offsets(self, counts: Sequence[int]) -> tuple[float, ...]:
        """Return when each part may go, in seconds after the request came, never falling.

        `counts` has the number of tokens in each part, 0 for one without (a role, a finish, the
        `[DONE]`); a whole answer is one part with all of them. Tokens that no part shows (hidden
        reasoning) are made before the first one; what is shown beyond the answer's tokens (an
        echoed prompt) takes no time.
        """
        made = list(accumulate(counts, initial=max(self.tokens - sum(counts), 0)))
        if counts:
            made[-2] = made[-1]
        lead = self.queue + self.prompt
        return tuple((lead + self._made(min(n, self.tokens))) / SECOND for n in made[:-1])

    def delays(self, counts: Sequence[int]) -> tuple[float, ...]:
        """Return the seconds to wait before each part, after the one before it.

        For showing; a delivery waits for offsets, so that the time of writing does not add up.
        """
        offsets = self.offsets(counts)
        return tuple(now - before for now, before in zip(offsets, (0.0, *offsets), strict=False))

    def time_info(self, now: float) -> TimeInfo:
        """Return the times that the answer tells, in seconds; the request came at Unix `now`."""
        made = self._made(self.tokens)
        total = self.queue + self.prompt + made
        return TimeInfo(
            queue_time=self.queue / SECOND,
            prompt_time=self.prompt / SECOND,
            completion_time=made / SECOND,
            total_time=total / SECOND,
            created=round(now + total / SECOND, 6),
        )


def read_pace(
    ttft: str | None = None,
    tokens_per_second: str | None = None,
    jitter: str | None = None,
    model_speed: bool = False,
) -> Pace | None:
    """Read the options `--ttft 200ms --tokens-per-second 2000 --jitter 10% --model-speed`.

    None where there is no pace: answers then go at once, in one write. Raises ValueError with a
    sentence that names the option and says what was meant.
    """
    if ttft is None and tokens_per_second is None and not model_speed:
        if jitter is not None:
            raise ValueError(
                "--jitter varies a pace and there is none; "
                "give --ttft, --tokens-per-second or --model-speed too"
            )
        return None
    return Pace(
        ttft=None if ttft is None else _parse_ttft(ttft),
        tokens_per_second=None if tokens_per_second is None else _parse_rate(tokens_per_second),
        jitter=0.0 if jitter is None else _parse_jitter(jitter),
        model_speed=model_speed,
    )


def _parse_ttft(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise ValueError(f"--ttft: {error}") from None


def _parse_rate(text: str) -> float:
    number = text.strip()
    rate = float(number) if _NUMBER.fullmatch(number) else 0.0
    if not _SLOWEST <= rate <= _FASTEST:
        raise ValueError(
            f"--tokens-per-second: {text!r} is no rate; "
            f"write a number from {_SLOWEST:g} to {_FASTEST:.0f}, as 2000"
        )
    return rate


def _parse_jitter(text: str) -> float:
    number, percent = text.strip().removesuffix("%").strip(), "%" in text
    jitter = float(number) if _NUMBER.fullmatch(number) else -1.0
    if percent:
        jitter /= 100
    if not 0 <= jitter <= 1:
        meant = f"; did you mean {number}%?" if not percent and 1 < jitter <= 100 else ""
        raise ValueError(f"--jitter: {text!r} is not from 0% to 100%, as 10% or 0.1{meant}")
    return jitter
