"""The verdict: what a client did wrong when something went wrong. A pure function.

Seven faults, by the advice of docs/failures.md:

- `retried_in_vain`: the same request again, though no other answer could come;
- `ignored_retry_after`: again sooner than it was told;
- `retry_storm`: too often, or without pauses, or with pauses that do not grow;
- `no_time_limit`: still waiting when the test's patience was over;
- `took_cut_for_whole`: it returned, though the answer was cut, empty, or ended in an error;
- `took_error_for_answer`: it returned, though the last thing it got was an error;
- `gave_up`: it failed, though it would have been answered had it asked again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from .tries import Outcome, Try

# Two clocks that look at the same moment through a socket differ by so much, in seconds.
SLACK = 0.05

# Pauses that are no longer than this are none, in seconds.
_NO_PAUSE = 0.05

# Pauses that lie within this of each other do not grow.
_GROWTH = 1.25


class Limits(Struct, frozen=True):
    """What is expected of a client: `patience` in seconds, and the `tries` at one request."""

    patience: float = 1.0
    tries: int = 6


class Fault(Struct, frozen=True):
    """One thing that a client did wrong: a sentence, the numbers of the calls that show it, and
    what it should do."""

    name: str
    sentence: str
    calls: tuple[int, ...]
    advice: str

    def __str__(self) -> str:
        return f"{self.name}: {self.sentence} {self.advice}"


class Verdict(Struct, frozen=True):
    """What is to be said of a client. `trial` names what was tried on it; empty: nothing was.

    `happened`: something did go wrong, so that the client could show what it makes of it.
    """

    faults: tuple[Fault, ...]
    tries: tuple[Try, ...]
    outcome: Outcome | None = None
    trial: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults

    @property
    def names(self) -> tuple[str, ...]:
        """The faults by name, each once."""
        return tuple(dict.fromkeys(fault.name for fault in self.faults))

    @property
    def happened(self) -> bool:
        return any(each.trouble for each in self.tries)

    def assert_ok(self, *, allow: Sequence[str] = ()) -> None:
        """Fail unless nothing is wrong but what is allowed, by the names of faults."""
        __tracebackhide__ = True
        unknown = sorted(set(allow) - set(NAMES))
        if unknown:
            raise ValueError(f"there is no fault {unknown[0]!r}; there are {', '.join(NAMES)}")
        if any(fault.name not in allow for fault in self.faults):
            raise AssertionError(str(self))

    def __str__(self) -> str:
        stands = "stands" if self.ok else "does not stand"
        lines = [f"The client {stands} {self.trial or 'what happened'}:"]
        lines += [f"  {fault}" for fault in self.faults]
        start = self.tries[0].came if self.tries else 0.0
        lines += [f"  {_line(each, start)}" for each in self.tries]
        if self.outcome is not None:
            seconds = self.outcome.ended - start
            lines.append(f"  {_end(self.outcome)} after {seconds:.2f} s")
        return "\n".join(lines)

    __repr__ = __str__


NAMES = (
    "retried_in_vain", "ignored_retry_after", "retry_storm", "no_time_limit",
    "took_cut_for_whole", "took_error_for_answer", "gave_up",
)  # fmt: skip


def judge(
    tries: Sequence[Try],
    outcome: Outcome | None = None,
    limits: Limits = Limits(),
    *,
    is_over: bool | None = None,
    now: float = 0.0,
    trial: str = "",
) -> Verdict:
    """Judge a client by its calls, in the order they came, and by what its caller was told.

    Without an outcome only the calls are judged. `is_over`: another try would have been answered;
    None: nobody knows. `now` is the time at which calls that are under way are looked at.
    """
    end = outcome.ended if outcome else now
    chains = _chains(tries)
    faults: list[Fault] = []
    for chain in chains:
        faults += _in_vain(chain)
        faults += _too_soon(chain)
        faults += _storm(chain, limits)
        faults += _no_limit(chain, limits, end)
    if outcome is not None and chains:
        last = max(chains, key=lambda chain: chain[-1].came)[-1]
        faults += _taken_for_success(last, outcome)
        faults += _given_up(last, outcome, is_over)
    return Verdict(tuple(faults), tuple(tries), outcome, trial)


def _chains(tries: Sequence[Try]) -> list[list[Try]]:
    """Put together what is one request, tried again and again.

    A request that comes while the same one is under way is another one; and so is one that comes
    after it was answered.
    """
    chains: list[list[Try]] = []
    for each in tries:
        for chain in chains:
            last = chain[-1]
            over = last.slow or (last.over is not None and each.came >= last.over - SLACK)
            # Some clients leave when they have heard `[DONE]`: that is no trouble.
            went_wrong = last.trouble and not last.succeeded
            if last.request == each.request and over and went_wrong:
                chain.append(each)
                break
        else:
            chains.append([each])
    return chains


def _in_vain(chain: Sequence[Try]) -> Iterator[Fault]:
    for before, after in pairwise(chain):
        if before.again == "must not" and before.trouble and not before.gone:
            yield Fault(
                "retried_in_vain",
                f"Call {before.number} was answered with {before.trouble}, and call "
                f"{after.number} asked the same again.",
                (before.number, after.number),
                "Do not try that again: tell what the message says.",
            )


def _too_soon(chain: Sequence[Try]) -> Iterator[Fault]:
    for before, after in pairwise(chain):
        wanted, pause = before.retry_after, after.came - before.came
        if wanted is not None and pause < wanted - SLACK:
            yield Fault(
                "ignored_retry_after",
                f"Call {before.number} was told to come back after {wanted:g} s "
                f"(Retry-After), and call {after.number} came after {pause:.2f} s.",
                (before.number, after.number),
                "Wait as long as Retry-After says, at least.",
            )


def _storm(chain: Sequence[Try], limits: Limits) -> Iterator[Fault]:
    numbers = tuple(each.number for each in chain)
    advice = "Try a few times at most, after pauses that grow, each a little by chance."
    if len(chain) > limits.tries:
        many = f"{len(chain)} times (calls {_range(numbers)}); {limits.tries} are enough."
        yield Fault("retry_storm", f"The same was asked {many}", numbers, advice)
    pauses = [
        after.came - (before.came if before.over is None else before.over)
        for before, after in pairwise(chain)
        if before.retry_after is None
    ]
    shown = ", ".join(f"{max(pause, 0):.2f} s" for pause in pauses[:8])
    if len(pauses) >= 2 and max(pauses) < _NO_PAUSE:
        text = f"Between calls {_range(numbers)} there were no pauses."
        yield Fault("retry_storm", text, numbers, advice)
    elif len(pauses) >= 3 and max(pauses) < _GROWTH * min(pauses):
        text = f"The pauses between calls {_range(numbers)} do not grow: {shown}."
        yield Fault("retry_storm", text, numbers, advice)


def _no_limit(chain: Sequence[Try], limits: Limits, end: float) -> Iterator[Fault]:
    # Who asks the same again waits no more, though the mock may not have noticed yet.
    for each, until in zip(chain, [*(after.came for after in chain[1:]), end], strict=True):
        waited = min(each.lasted(end), until - each.came)
        if waited > limits.patience + SLACK:
            verb = "still waited" if each.over is None else "waited"
            yield Fault(
                "no_time_limit",
                f"The client {verb} for call {each.number} after {waited:.2f} s"
                f"{f' ({each.trouble})' if each.trouble else ''}; the test's patience was "
                f"{limits.patience:g} s.",
                (each.number,),
                "Have time limits for the first byte, between events, and for the whole answer; "
                "for the test shorter ones than its patience.",
            )


def _taken_for_success(last: Try, outcome: Outcome) -> Iterator[Fault]:
    # A slow answer that came at last is whole, though the mock may not have noted its end yet.
    if outcome.failed or last.gone or (last.whole and last.status < 400):
        return
    if last.status >= 400 or (last.trouble and last.trouble.startswith("error_as_200")):
        yield Fault(
            "took_error_for_answer",
            f"The client returned as if all were well, and call {last.number} was answered "
            f"with {last.trouble}.",
            (last.number,),
            "Look at the status, and for `choices` in the body; raise an error.",
        )
    else:
        yield Fault(
            "took_cut_for_whole",
            f"The client returned as if all were well, and the answer of call {last.number} was "
            f"not whole ({last.trouble}).",
            (last.number,),
            "Take an answer for whole only if it has its finish reason and no error in it.",
        )


def _given_up(last: Try, outcome: Outcome, is_over: bool | None) -> Iterator[Fault]:
    if outcome.failed and is_over and last.again == "should" and not last.succeeded:
        yield Fault(
            "gave_up",
            f"The client failed with call {last.number} ({last.trouble}); the same request would "
            "have been answered had it come again.",
            (last.number,),
            "Try that again, after a pause that grows, a few times at most.",
        )


def _line(each: Try, start: float) -> str:
    words = [f"call {each.number} at {each.came - start:.2f} s:", str(each.status)]
    words += [f"[{each.trouble}]"] if each.trouble else []
    words += [f"Retry-After {each.retry_after:g}"] if each.retry_after is not None else []
    words += ["client left"] if each.gone else []
    return " ".join(words)


def _end(outcome: Outcome) -> str:
    if outcome.raised:
        return f"raised {outcome.raised}"
    return "told that it failed" if outcome.told else "returned"


def _range(numbers: Sequence[int]) -> str:
    return f"{numbers[0]} to {numbers[-1]}"
