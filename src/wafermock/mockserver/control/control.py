"""Control: the journal, the metrics and the levers of one running mock, and its interface."""

from collections.abc import Collection
from dataclasses import asdict, replace
from typing import Any

from ..exchange import Answer, Request
from ..limits import Limiter
from ..scope import split_scope
from ..service import Turn
from . import shown
from .armed import Armed
from .bench import Catalogues, Errors, NoScripts, Scripts, ServiceLike
from .coverage import Coverage, Covered
from .entry import PLAIN, Entry, Miss, Why
from .guard import Guard
from .held import Held, Holds
from .interface import METRICS, ControlInterface, is_control
from .journal import MIB, Journal
from .metrics import Metrics


class Observed:
    """A call that is being answered. `end` it once the answer is out, or is given up.

    `held` is its stream under control; None: nobody wants to hold it.
    """

    __slots__ = ("_control", "entry", "held")

    def __init__(self, control: "Control", entry: Entry, held: Held | None) -> None:
        self._control = control
        self.entry = entry
        self.held = held

    def end(self, seconds: float, ending: str = "complete") -> None:
        """Say how long it took, from the request on, and how it ended: `complete`, `client gone`
        or `dropped`. Only the first call counts."""
        if self.entry.ending is not None:
            return
        if self.held is not None:
            self.held.over()
        self._control.journal.finish(self.entry, seconds, ending)
        self._control.metrics.ended(
            self.entry.operation, seconds, streamed=self.entry.answer.streamed
        )


class Control:
    """What a running mock is seen and moved by.

    `service` is what it moves, `scripts` its script, `catalogues` what can be armed beside the
    errors of the contract: `failure`, `delivery` and `defect`. The journal keeps `entries` calls
    and `limit` bytes at most. `anywhere` and `hosts` say who may use the interface, see Guard.
    """

    def __init__(
        self,
        service: ServiceLike,
        *,
        scripts: Scripts | None = None,
        catalogues: Catalogues | None = None,
        entries: int = 10_000,
        limit: int = 64 * MIB,
        anywhere: bool = False,
        hosts: Collection[str] = (),
    ) -> None:
        contract = service.mock.contract
        self.service = service
        self.scripts: Scripts = scripts or NoScripts()
        self.catalogues: Catalogues = {"error": Errors(contract.errors), **(catalogues or {})}
        self._coverage = Coverage(contract)
        self.journal = Journal(entries, limit, self._coverage.add)
        self.metrics = Metrics()
        self.armed = Armed()
        self.holds = Holds()
        self.interface = ControlInterface(self, Guard(anywhere, frozenset(hosts)))
        self._began = (service.clock.time(), service.limiter.limits, service.queue.seconds)

    def observe(
        self,
        request: Request,
        answer: Answer,
        *,
        scope: str = "",
        why: Why = PLAIN,
        parts: int | None = None,
    ) -> Observed:
        """Take note of a call whose answer is now to be delivered; costs microseconds.

        `request` is without the prefix of its scope. `parts` is in how many a stream is delivered,
        for those who hold it; as many as the answer has, unless said otherwise.
        """
        route = self.service.mock.contract.route(request.method, request.path)
        operation = route.operation.id if route else None
        cost = answer.cost
        model = cost.model if cost else None
        entry = self.journal.record(
            request,
            answer,
            scope=scope,
            time=self.service.clock.time(),
            operation=operation,
            why=why,
        )
        self.metrics.began(
            operation,
            answer.status,
            model,
            tokens=cost.used if cost else 0,
            streamed=answer.streamed,
            rule=why.rule,
            faults=None if why is PLAIN else _faults(why),
        )
        held = None
        if answer.streamed:
            count = len(answer.parts) if parts is None else parts
            held = self.holds.take(entry.number, count, scope, operation, model)
        return Observed(self, entry, held)

    def serves(self, path: str) -> bool:
        """Say whether a path is the interface's, and not the contract's."""
        if is_control(path):
            return True
        return path == METRICS and self.service.mock.contract.route("GET", path) is None

    def note(self, request: Request, turn: Turn) -> Observed:
        """Take note of a turn that is now to be delivered."""
        answer, acting = turn.answer, turn.acting
        why = PLAIN
        if answer.rule or answer.nearest or acting:
            why = Why(
                rule=answer.rule,
                nearest=tuple(Miss(name, lacks) for name, lacks in answer.nearest),
                failure=str(acting.failure) if acting and acting.failure else None,
                delivery=str(acting.delivery) if acting and acting.delivery else None,
                defect="; ".join(map(str, acting.defects)) if acting and acting.defects else None,
            )
        if turn.scope:
            request = replace(request, path=split_scope(request.path)[1])
        return self.observe(request, answer, scope=turn.scope, why=why)

    def close(self) -> None:
        """Let go of everything, as a server does that stops: held streams are dropped."""
        self.holds.drop_all()
        self.scripts.close()

    def covered(self, scope: str | None = None) -> list[Covered]:
        """List what the calls of the session, or of a scope, have seen and what not."""
        return self._coverage.report(self.journal.find(), scope)

    def forget(self, scope: str | None = None) -> int:
        """Forget the calls of a scope, or all, and what they covered; return how many."""
        self._coverage.reset(scope)
        return self.journal.reset(scope)

    def reset(self, scope: str | None = None) -> int:
        """Begin anew: everything, or what belongs to a scope. Return how many calls are forgotten.

        The computer's own clock cannot be set back to when the server was started.
        """
        self.scripts.reset(scope)
        self.armed.reset(scope)
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


def _faults(why: Why) -> dict[str, str]:
    """Name what is in play, without its parameters: they are the client's to choose."""
    names = {"failure": why.failure, "delivery": why.delivery, "defect": why.defect}
    return {kind: name.partition(":")[0] for kind, name in names.items() if name is not None}
