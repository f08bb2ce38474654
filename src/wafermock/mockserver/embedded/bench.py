"""The parts of a space: a mock, a service and a control of its own.

They differ from those of a server by little: the path of a request may lack `/v1`, as clients of
the OpenAI kind leave it out; what asks for nothing is answered by few rules; streams are held for
expectations.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ..clock import Clock
from ..control.control import Control, Observed
from ..exchange import Answer, Request
from ..limits import Limiter, parse_limits
from ..mock import MIB, Mock
from ..pace import read_pace
from ..queueing import Queue, parse_queue_time
from ..scope import split_scope
from ..script import Found, Missed, Rule, Script, ScriptState, Subject
from ..service import Service, Turn

if TYPE_CHECKING:
    from wafermock.spec import Contract

    from ..acting import Early
    from ..control.held import Held
    from .held import HeldStream
    from .settings import SpaceSettings

# How much of a test's calls is kept, in bytes: enough for a body of any size that is answered.
JOURNAL = 256 * MIB

_OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)")

# What clients of the OpenAI kind have in their base URL, and others in their paths.
VERSION = "/v1"


def spelt(request: Request, contract: Contract) -> Request:
    """Return a request with the path that the contract has: no prefix of a space, and with `/v1`
    where only that makes a path of it."""
    path = request.path
    if path.startswith("/t/") and not contract.methods(path):
        path = split_scope(path)[1]
    if not contract.methods(path) and contract.methods(VERSION + path):
        path = VERSION + path
    return request if path == request.path else replace(request, path=path)


def asks(subject: Subject) -> bool:
    """Say whether a request asks for something. What has no body, as the SDKs' warming of a
    connection, does not; what is no call of the contract may have been meant to."""
    operation = subject.call.operation if subject.call else None
    return operation is None or operation.request_body is not None


def _names_operation(rule: Rule) -> bool:
    return "operation" in rule.match.fields


class SpaceState(ScriptState):
    """A script at work for whom what asks for nothing is nothing to be answered: SDKs warm their
    connection whenever a client is made."""

    def find(self, subject: Subject, among: Callable[[Rule], bool] | None = None) -> Found | Missed:
        """Find what answers a request. What asks for nothing is answered only by a rule that
        names an operation, and came near to none."""
        if among is not None or asks(subject):
            return super().find(subject, among)
        found = super().find(subject, _names_operation)
        return found if isinstance(found, Found) else Missed()


class SpaceService(Service):
    """A service that knows its requests by either spelling of their paths."""

    def begin(self, request: Request, early: Early | None = None) -> Turn:
        return super().begin(spelt(request, self.mock.contract), early)

    def at_head(self, head: Request) -> Early | None:
        return super().at_head(spelt(head, self.mock.contract))


class SpaceControl(Control):
    """A control that tells who watches of each call, and holds streams for expectations.

    `watching` are told of a call before it is delivered.
    """

    def __init__(self, service: SpaceService) -> None:
        super().__init__(service, limit=JOURNAL)
        self._contract = service.mock.contract
        self.watching: list[Callable[[Observed], None]] = []
        # Streams that are to be held, by the name of the rule that answers; None: any.
        self.awaited: dict[str | None, deque[HeldStream]] = {}
        self._begun: list[HeldStream] = []

    def note(self, request: Request, turn: Turn) -> Observed:
        observed = super().note(spelt(request, self._contract), replace(turn, scope=""))
        for told in self.watching:
            told(observed)
        holdable = turn.answer.streamed and not turn.acting
        if holdable and observed.held is None and self.awaited:
            observed.held = self._hold(observed, turn.answer)
        return observed

    def close(self) -> None:
        """Drop held streams, and let go of everything else."""
        self.awaited.clear()
        for stream in self._begun:
            stream.end()
        super().close()

    def _hold(self, observed: Observed, answer: Answer) -> Held | None:
        for name in (answer.rule, None):
            if awaited := self.awaited.get(name):
                stream = awaited.popleft()
                self._begun.append(stream)
                return stream.begin(self.holds, observed.entry.number, len(answer.parts))
        return None


class Bench(Struct, frozen=True):
    """What a space consists of."""

    contract: Contract
    state: SpaceState
    service: SpaceService
    control: SpaceControl


def make_bench(contract: Contract, settings: SpaceSettings) -> Bench:
    """Make the parts of a space. Raises ValueError with a sentence that names the setting, and
    CatalogueError (a ValueError) for what no catalogue has."""
    state = SpaceState(Script(contract=contract))
    clock = Clock(settings.clock)
    try:
        service = SpaceService(
            Mock(contract, settings.of_mock(_pace(settings)), state),
            clock,
            Limiter(
                parse_limits(settings.limits, contract.limits),
                clock,
                retry_after=settings.retry_after,
            ),
            Queue(_queue_time(settings), contract.limits.queue),
        )
    except ValueError as error:
        # What reads the settings calls them as the command does, `--queue-time`.
        raise ValueError(_OPTION.sub(lambda m: m[1].replace("-", "_"), str(error))) from None
    if settings.delivery or settings.failure or settings.defect:
        from ..acting import read_choices

        service.choices = read_choices(
            contract.errors, settings.delivery, settings.failure, settings.defect
        )
    return Bench(contract, state, service, SpaceControl(service))


def _queue_time(settings: SpaceSettings) -> float | None:
    given = settings.queue_time
    return None if given is None else parse_queue_time(str(given))


def _pace(settings: SpaceSettings) -> Any:
    texts = {
        "ttft": settings.ttft,
        "tokens_per_second": settings.tokens_per_second,
        "jitter": settings.jitter,
    }
    given = {name: None if value is None else str(value) for name, value in texts.items()}
    return read_pace(**given, model_speed=settings.model_speed)
