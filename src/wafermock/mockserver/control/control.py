"""Control: the journal, the metrics and the levers of one running mock, and its interface."""

from collections import deque
from collections.abc import Callable, Collection
from functools import lru_cache
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec.structs import asdict, replace

from ..exchange import Request
from ..limits import Limiter
from ..scope import split_scope
from ..service import Turn
from .entry import PLAIN, Entry, Miss, Why
from .journal import MIB, Journal
from .paths import METRICS, is_control

if TYPE_CHECKING:
    from .armed import Armed
    from .bench import Catalogues, Scripts, ServiceLike
    from .coverage import Coverage, Covered
    from .held import Held, Holds
    from .interface import ControlInterface
    from .metrics import Metrics

# So many calls, and no more bytes of one, are noted before they are entered into the journal.
_NOTED = 64
_SMALL = 16 * 1024
# Of so many paths it is remembered which operation they are.
_PATHS = 256

Made = TypeVar("Made")


class _made_once(Generic[Made]):
    """An attribute that is made when it is first asked for, by whichever thread; only once."""

    def __init__(self, make: "Callable[[Control], Made]") -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    def __get__(self, control: "Control", owner: type["Control"]) -> Made:
        with control._making:
            made: Made
            if self._name in control.__dict__:
                made = control.__dict__[self._name]
            else:
                made = control.__dict__[self._name] = self._make(control)
        return made


class Observed:
    """A call that is being answered. `end` it once the answer is out, or is given up.

    `held` is its stream under control; None: nobody wants to hold it.
    """

    __slots__ = ("_control", "_entry", "ending", "held", "request", "seconds", "time", "turn")

    def __init__(self, control: "Control", request: Request, turn: Turn, time: float) -> None:
        self._control = control
        self.request = request
        self.turn = turn
        self.time = time
        self.held: Held | None = None
        self.seconds = 0.0
        self.ending: str | None = None
        self._entry: Entry | None = None

    @property
    def entry(self) -> Entry:
        """The call in the journal."""
        if self._entry is None:
            self._control.enter()
        assert self._entry is not None
        return self._entry

    def end(self, seconds: float, ending: str = "complete") -> None:
        """Say how long it took, from the request on, and how it ended: `complete`, `client gone`
        or `dropped`. Only the first call counts."""
        if self.ending is not None:
            return
        self.seconds = seconds
        self.ending = ending
        if self.held is not None:
            self.held.over()
        # One of two threads sees what the other has done: this one, or the one that enters.
        if self._entry is not None:
            self._control.ended(self._entry, seconds, ending)

    def entered(self, entry: Entry) -> None:
        """Know the entry in the journal from now on."""
        self._entry = entry
        if self.ending is not None and entry.ending is None:
            self._control.ended(entry, self.seconds, self.ending)


class Control:
    """What a running mock is seen and moved by.

    `service` is what it moves, `scripts` its script, `catalogues` what can be armed beside the
    errors of the contract: `failure`, `delivery` and `defect`; both may be functions that make
    them. The journal keeps `entries` calls and `limit` bytes at most. `anywhere` and `hosts` say
    who may use the interface, see Guard.

    To make one, and to note a call, costs next to nothing: what serves people is imported, made and
    counted when people come.
    """

    def __init__(
        self,
        service: "ServiceLike",
        *,
        scripts: "Scripts | Callable[[], Scripts] | None" = None,
        catalogues: "Catalogues | Callable[[], Catalogues] | None" = None,
        entries: int = 10_000,
        limit: int = 64 * MIB,
        anywhere: bool = False,
        hosts: Collection[str] = (),
    ) -> None:
        self.service = service
        self._scripts = scripts
        self._catalogues = catalogues
        self._admits = (anywhere, frozenset(hosts))
        self.journal = Journal(entries, limit, self._leaving, self.enter)
        self._noted: deque[Observed] = deque()
        self._entering = RLock()
        self._holds: Holds | None = None
        self._making = RLock()
        self._operation = lru_cache(_PATHS)(self._operation_of)
        self._began = (service.clock.time(), service.limiter.limits, service.queue.seconds)

    @_made_once
    def interface(self) -> "ControlInterface":
        """What answers the requests that `serves` takes."""
        from .guard import Guard
        from .interface import ControlInterface

        return ControlInterface(self, Guard(*self._admits))

    @_made_once
    def scripts(self) -> "Scripts":
        """The script, to be shown, loaded and begun anew."""
        from .bench import NoScripts

        given = self._scripts() if callable(self._scripts) else self._scripts
        return given or NoScripts()

    @_made_once
    def catalogues(self) -> "Catalogues":
        """What can be armed, by kind."""
        from .bench import Errors

        given = self._catalogues() if callable(self._catalogues) else self._catalogues
        return {"error": Errors(self.service.mock.contract.errors), **(given or {})}

    @_made_once
    def armed(self) -> "Armed":
        """What is armed. The service asks it from now on."""
        from .armed import Armed

        self.service.armed = made = Armed()
        return made

    @_made_once
    def holds(self) -> "Holds":
        """Which streams are held, or shall be."""
        from .held import Holds

        self._holds = made = Holds()
        return made

    @_made_once
    def metrics(self) -> "Metrics":
        """What is counted."""
        from .metrics import Metrics

        return Metrics(self.journal.find)

    @_made_once
    def _coverage(self) -> "Coverage":
        from .coverage import Coverage

        return Coverage(self.service.mock.contract)

    def _operation_of(self, method: str, path: str) -> str | None:
        route = self.service.mock.contract.route(method, path)
        return route.operation.id if route else None

    def _leaving(self, entries: list[Entry]) -> None:
        """Count calls that the journal will not keep."""
        self.metrics.count(entries)
        self._coverage.add(entries)

    def note(self, request: Request, turn: Turn) -> Observed:
        """Take note of a turn that is now to be delivered. Costs a microsecond or two.

        Nothing but the time is looked at here: calls are entered into the journal some at a time,
        which costs each a third of what it costs alone, and before anyone looks.
        """
        observed = Observed(self, request, turn, self.service.clock.time())
        noted = self._noted
        noted.append(observed)
        if (
            len(noted) >= _NOTED
            or len(request.body) > _SMALL
            or len(turn.answer.parts) != 1
            or len(turn.answer.parts[0]) > _SMALL
            or self._holds is not None
        ):
            self._look_at(observed)
        return observed

    def _look_at(self, observed: Observed) -> None:
        """Enter what has been noted, if it is time to; take a stream under control."""
        request, answer, holds = observed.request, observed.turn.answer, self._holds
        if holds is not None and answer.streamed and holds.is_waiting:
            entry = observed.entry
            count, model = len(answer.parts), answer.cost.model if answer.cost else None
            observed.held = holds.take(entry.number, count, entry.scope, entry.operation, model)
        elif len(self._noted) >= _NOTED or len(request.body) + sum(map(len, answer.parts)) > _SMALL:
            self.enter()

    def enter(self) -> None:
        """Enter into the journal what has been noted."""
        with self._entering:
            noted = self._noted
            observed = [noted.popleft() for _ in range(len(noted))]
            entries = list(map(self._entry_of, observed))
            self.journal.add(entries)
            for call, entry in zip(observed, entries, strict=True):
                call.entered(entry)

    def _entry_of(self, observed: Observed) -> Entry:
        request, turn = observed.request, observed.turn
        answer, scope = turn.answer, turn.scope
        why = PLAIN
        if answer.rule or answer.nearest or turn.acting:
            why = _why(turn)
        if scope:
            request = replace(request, path=split_scope(request.path)[1])
        operation = self._operation(request.method, request.path)
        entry = Entry(scope, observed.time, request, answer, operation, why)
        if observed.ending is not None:
            entry.duration = observed.seconds
            entry.ending = observed.ending
        return entry

    def ended(self, entry: Entry, seconds: float, ending: str) -> None:
        """Note the end of a call that is entered."""
        if not self.journal.finish(entry, seconds, ending):
            self.metrics.count((entry,))

    def serves(self, path: str) -> bool:
        """Say whether a path is the interface's, and not the contract's."""
        if is_control(path):
            return True
        return path == METRICS and self.service.mock.contract.route("GET", path) is None

    def close(self) -> None:
        """Let go of everything, as a server does that stops: held streams are dropped."""
        if self._holds is not None:
            self._holds.drop_all()

    def covered(self, scope: str | None = None) -> "list[Covered]":
        """List what the calls of the session, or of a scope, have seen and what not."""
        return self._coverage.report(self.journal.find(), scope)

    def forget(self, scope: str | None = None) -> int:
        """Forget the calls of a scope, or all, and what they covered; return how many."""
        self._coverage.reset(scope)
        going = self.journal.reset(scope)
        self.metrics.count(going)
        return len(going)

    def reset(self, scope: str | None = None) -> int:
        """Begin anew: everything, or what belongs to a scope. Return how many calls are forgotten.

        The computer's own clock cannot be set back to when the server was started.
        """
        self.scripts.reset(scope)
        self.armed.reset(scope)
        self.service.forget(scope)
        if scope is None:
            time, limits, queue = self._began
            service = self.service
            self.holds.reset()
            if service.clock.kind != "real":
                service.clock.set(time)
            retry_after = service.limiter.retry_after
            service.limiter = Limiter(limits, service.clock, retry_after=retry_after)
            service.queue.seconds = queue
        return self.forget(scope)

    def clock_shown(self) -> dict[str, Any]:
        """Show the clock."""
        clock = self.service.clock
        return {"kind": clock.kind, "time": clock.time()}

    def state(self) -> dict[str, Any]:
        """Show everything that can be moved, as it is now."""
        from . import shown

        mock = self.service.mock
        streams = self.holds.streams
        return {
            "profile": mock.contract.profile,
            "seed": mock.settings.seed,
            "validate": mock.settings.validate,
            "clock": self.clock_shown(),
            "limits": shown.limits_shown(self.service.limiter.limits),
            "queue": self.service.queue.seconds,
            "armed": len(self.armed.listed),
            "held": sum(stream.state == "held" for stream in streams),
            "rules": len(self.scripts.rules()),
            "journal": asdict(self.journal.span),
            "in_flight": self.metrics.in_flight,
        }


def _why(turn: Turn) -> Why:
    """Say why an answer is what it is."""
    answer, acting = turn.answer, turn.acting
    return Why(
        rule=answer.rule,
        nearest=tuple(Miss(name, lacks) for name, lacks in answer.nearest),
        failure=str(acting.failure) if acting and acting.failure else None,
        delivery=str(acting.delivery) if acting and acting.delivery else None,
        defect="; ".join(map(str, acting.defects)) if acting and acting.defects else None,
    )
