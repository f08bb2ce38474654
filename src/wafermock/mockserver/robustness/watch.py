"""Watching a client: what comes to a space while it works, and what its caller is told."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from .tries import Outcome, Try, read_try
from .verdict import Limits, Verdict, judge

if TYPE_CHECKING:
    from ..control.control import Control, Observed
    from ..embedded.space import Space
    from .trials import Trial

# The models of calls: what SDKs send to warm a connection names none, and shall use up nothing.
_ANY_MODEL = "?*"

# An error's message is shown up to this, in characters.
_SHOWN = 200


class Arrivals:
    """When the calls of a space came, on a clock that only goes forward."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._seen: list[tuple[float, Observed]] = []
        self._watch = space.clock.stopwatch()
        self.verdicts: list[Verdict] = []
        space.bench.control.watching.append(lambda call: self._seen.append((self.now, call)))

    @property
    def now(self) -> float:
        """Seconds since the space is watched."""
        return self._watch.seconds

    def tries(self, since: float) -> list[Try]:
        """Return the calls that came from then on."""
        came_when = [(came, o) for came, o in list(self._seen) if came >= since]
        calls = {id(call.entry): call for call in self._space.calls}
        made = []
        for came, observed in came_when:
            entry = observed.entry
            call = calls.get(id(entry))
            if call is None or call.number is None:
                continue  # it asks for nothing
            acting = observed.turn.acting
            over = None if entry.duration is None else came + entry.duration
            failure = acting.failure if acting else None
            errors = self._space.contract.errors
            made.append(
                read_try(
                    call.number, came, over, observed.request, observed.turn.answer, failure,
                    entry.ending, errors,
                )
            )  # fmt: skip
        return made


_ARRIVALS: WeakKeyDictionary[Control, Arrivals] = WeakKeyDictionary()


def arrivals(space: Space) -> Arrivals:
    """Return what notes the arrivals of a space; from the first time on it does."""
    control = space.bench.control
    found = _ARRIVALS.get(control)
    if found is None:
        found = _ARRIVALS[control] = Arrivals(space)
    return found


class Watch:
    """Watches a client at work; made by `watch`.

    >>> with watch(wafermock) as client:
    ...     client.returned = ask(wafermock.url)
    >>> client.verdict.assert_ok()

    What the client raises ends the block, and is kept in `raised`: to fail is what a client should
    do now and then. Failed assertions, and what is no Exception, go on. A client that tells in
    another way that it has no answer: `client.told(answer is None)`.
    """

    def __init__(self, space: Space, limits: Limits, trial: Trial | None = None) -> None:
        self._space = space
        self._limits = limits
        self._trial = trial
        self._arrivals = arrivals(space)
        self._armed: int | None = None
        self._began = 0.0
        self._told = False
        self._verdict: Verdict | None = None
        self.returned: Any = None
        self.raised: Exception | None = None

    def told(self, failed: bool = True) -> None:
        """Say that the client has told its caller that there is no answer, not by raising."""
        self._told = bool(failed)

    def __enter__(self) -> Watch:
        if self._trial is not None:
            self._armed = arm(self._space, self._trial)
        self._began = self._arrivals.now
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        ended = self._arrivals.now
        is_over = self._disarm()
        if error is not None and (
            isinstance(error, AssertionError) or not isinstance(error, Exception)
        ):
            return False
        raised = ""
        if isinstance(error, Exception):
            self.raised = error
            message = " ".join(str(error).split())[:_SHOWN]
            raised = f"{type(error).__name__}: {message}" if message else type(error).__name__
        outcome = Outcome(self._began, ended, raised, self._told)
        self._verdict = judge(
            self._arrivals.tries(self._began),
            outcome,
            self._limits,
            is_over=is_over,
            trial=str(self._trial) if self._trial else "",
        )
        self._arrivals.verdicts.append(self._verdict)
        return True

    @property
    def verdict(self) -> Verdict:
        """What is to be said of the client. Raises RuntimeError before the block has ended."""
        if self._verdict is None:
            raise RuntimeError("the verdict is there behind the `with` block")
        return self._verdict

    def _disarm(self) -> bool | None:
        """Let nothing more go wrong. Say whether it was over already; None: nothing was armed."""
        if self._armed is None:
            return None
        return not self._space.bench.control.armed.disarm(self._armed)


def watch(
    space: Space, trial: Trial | None = None, *, patience: float | None = None, tries: int = 6
) -> Watch:
    """Watch a client of a space, in a `with` block; see Watch.

    With a `trial` that is a failure, it happens to the calls that come in the block. `patience`, in
    seconds, is how long the client may wait for an answer; `tries` how often it may ask the same.
    """
    from .trials import PATIENCE

    failure = trial if trial is not None and trial.kind == "failure" else None
    return Watch(space, Limits(PATIENCE if patience is None else patience, tries), failure)


def verdict(space: Space, *, patience: float | None = None, tries: int = 6) -> Verdict:
    """Return what the last `watch` of a space came to; without one, judge its calls alone.

    Calls are judged from the first time on that `arrivals` was asked for the space.
    """
    found = arrivals(space)
    if found.verdicts:
        return found.verdicts[-1]
    from .trials import PATIENCE

    limits = Limits(PATIENCE if patience is None else patience, tries)
    return judge(found.tries(0.0), None, limits, now=found.now)


def verdicts(space: Space) -> list[Verdict]:
    """Return what all watches of a space came to."""
    found = _ARRIVALS.get(space.bench.control)
    return list(found.verdicts) if found else []


def arm(space: Space, trial: Trial) -> int:
    """Let a failure happen to the next calls of a space; return the number to disarm it by."""
    from ..control.armed import Arming

    arming = Arming("failure", str(trial.chosen), trial.chosen, trial.times, model=_ANY_MODEL)
    return space.bench.control.armed.arm(arming)
