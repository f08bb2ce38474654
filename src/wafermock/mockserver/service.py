"""The mock in time: what an answer depends on beside its request. A clock, limits, a queue."""

import sys
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .clock import Clock
from .draws import digest
from .exchange import Answer, Moment, Request
from .limits import Admission, Limiter, Limits
from .memory import Memory
from .mock import MIB, Mock
from .queueing import HEADER, Queue
from .refusal import Refusal
from .scope import split_scope

if TYPE_CHECKING:
    from .acting import Acting, Choices
    from .control.armed import Armed, Arming
    from .script import ScriptState

# What acting.py reads; named here too, since most servers never need that module.
ACTING_HEADERS = ("x-wafermock-delivery", "x-wafermock-failure", "x-wafermock-defect")

# How much of requests and answers is remembered, in bytes.
MEMORY = 32 * MIB


@dataclass(frozen=True)
class Turn:
    """One request and its answer, which is now to be delivered; then the turn is over."""

    answer: Answer
    admission: Admission | None = None
    acting: "Acting | None" = None
    scope: str = ""

    def end(self) -> None:
        """Give back what was reserved and not used. Only the first call counts."""
        if self.admission and self.answer.cost:
            self.admission.settle(self.answer.cost.used)


class Service:
    """Answers requests at their time, and counts them.

    Without limits, and with the clock frozen, an answer is a function of its request alone, so
    that the answers given last are remembered whole. With `watch` a changed script is read again
    before the next answer, and `watch` is told in a line how that went.
    """

    def __init__(
        self,
        mock: Mock,
        clock: Clock | None = None,
        limiter: Limiter | None = None,
        queue: Queue | None = None,
        watch: Callable[[str], None] | None = None,
        choices: "Choices | None" = None,
    ) -> None:
        self.mock = mock
        self.clock = clock or Clock()
        self.limiter = limiter or Limiter(Limits(), self.clock)
        self.queue = queue or Queue()
        self.watch = watch
        self.choices = choices
        self.armed: Armed | None = None
        self._asked = 0
        self._memory: Memory[Turn] = Memory(MEMORY)

    def begin(self, request: Request) -> Turn:
        """Answer a request. Never raises for anything a client sent.

        A path that begins with `/t/NAME` has the scope NAME, and is the path behind it.
        """
        moment = Moment(self.clock.time(), self.queue.seconds)
        scope = ""
        if request.path.startswith("/t/") and not self.mock.contract.methods(request.path):
            scope, path = split_scope(request.path)
            request = replace(request, path=path)
        if self.watch and self.mock.script is not None:
            self._read_script_again(self.mock.script)
        if not self._repeats(request):
            return self._turn(request, moment, scope)
        key = (*self.mock.heard(request), request.headers.get(HEADER), moment)
        turn = self._memory.get(key)
        if turn is None:
            turn = self._turn(request, moment, scope)
            self._memory.put(key, turn, size=_size(key) + _size(turn.answer.parts))
        return turn

    def _repeats(self, request: Request) -> bool:
        """Say whether the answer is a function of the request alone."""
        return (
            self.mock.is_pure
            and self.limiter.is_pure
            and self.clock.kind != "real"
            and not self.choices
            and not (self.armed and self.armed.listed)
            and not any(name in request.headers for name in ACTING_HEADERS)
        )

    def _read_script_again(self, state: "ScriptState") -> None:
        """Take a changed script in; of a broken one say so, and go on with the last good rules."""
        if state.script.changed():
            state.script = state.script.reload()
            problem, count = state.script.problem, len(state.script.rules)
            if self.watch:
                self.watch(str(problem) if problem else f"script read again: {count} rules")

    def protocol_error(self, status: int, reason: str) -> Answer:
        """Answer what is no HTTP request at all."""
        answer = self.mock.protocol_error(status, reason)
        return _with_headers(answer, self.limiter.headers("", ""))

    def _turn(self, request: Request, moment: Moment, scope: str) -> Turn:
        try:
            acting = self._chosen(request)
        except Refusal as refusal:
            return Turn(self._counted_out(self.mock.refuse(refusal, request), request, ""))
        if acting:
            from .wire import refusal_of, rewritten

            failed = acting.failure and refusal_of(acting.failure)
            if failed:
                return Turn(self._counted_out(self.mock.refuse(failed, request), request, ""))
            try:
                request = rewritten(request, acting.defects, self._asked)
            except Refusal as refusal:
                return Turn(self._counted_out(self.mock.refuse(refusal, request), request, ""))
        answer = self._mock_for(acting).answer(request, moment, scope)
        if answer.acting:
            acting = acting.before(answer.acting) if acting else answer.acting
        if self.armed and (arming := self._take_armed(self.armed, request, answer, scope)):
            failed = _refusal(arming)
            if failed:
                refused = self.mock.refuse(failed, request)
                return Turn(self._counted_out(refused, request, ""), scope=scope)
            acting = _acting(arming).before(acting) if acting else _acting(arming)
        cost = answer.cost
        if cost is None:
            return Turn(self._counted_out(answer, request, ""), None, acting, scope)
        account = _account(request.headers)
        try:
            self.queue.admit({"service_tier": cost.service_tier}, request.headers)
            admission = self.limiter.admit(account, cost.model, cost.reserved)
        except Refusal as refusal:
            refused = self.mock.refuse(refusal, request)
            return Turn(self._counted_out(refused, request, cost.model), scope=scope)
        return Turn(_with_headers(answer, admission.headers), admission, acting, scope)

    def _take_armed(
        self, armed: "Armed", request: Request, answer: Answer, scope: str
    ) -> "Arming | None":
        """Use up what the control interface has armed for a call like this one, if anything.

        What costs nothing, such as the SDKs' warming of a connection, uses up only what names an
        operation.
        """
        named = any(arming.operation for _, arming, _ in armed.listed)
        if answer.cost is None and answer.status < 400 and not named:
            return None
        route = self.mock.contract.route(request.method, request.path)
        model = answer.cost.model if answer.cost else None
        return armed.take(scope, route.operation.id if route else None, model)

    def _mock_for(self, acting: "Acting | None") -> Mock:
        """Return the mock, or one with other settings where a defect is that of such a server."""
        changed: dict[str, Any] = {}
        for defect in acting.defects if acting else ():
            changed.update(defect.entry.settings)
        if not changed:
            return self.mock
        mock = self.mock
        return Mock(mock.contract, replace(mock.settings, **changed), mock.script)

    def _counted_out(self, answer: Answer, request: Request, model: str) -> Answer:
        """Give an answer that costs nothing the headers of the limits."""
        shown = self.limiter.headers(_account(request.headers), model)
        return replace(answer, headers={**shown, **answer.headers})

    def _chosen(self, request: Request) -> "Acting | None":
        """Say what the request's headers, else the server's options, choose for its answer."""
        named = any(name in request.headers for name in ACTING_HEADERS)
        if not named and not self.choices:
            return None
        from .acting import Acting, of_headers

        self._asked += 1
        identity = digest(*self.mock.heard(request))
        acting = Acting()
        if named:
            errors = self.mock.contract.errors
            acting = of_headers(request.headers, errors).acting(identity, self._asked)
        if self.choices:
            acting = acting.before(self.choices.acting(identity, self._asked))
        return acting or None


def _refusal(arming: "Arming") -> Refusal | None:
    """Return the error that is armed, if it is one."""
    from .wire import refusal_of

    if arming.kind == "error":
        return Refusal(arming.name)
    return refusal_of(arming.chosen) if arming.kind == "failure" else None


def _acting(arming: "Arming") -> "Acting":
    from .acting import Acting

    return Acting(
        arming.chosen if arming.kind == "delivery" else None,
        arming.chosen if arming.kind == "failure" else None,
        (arming.chosen,) if arming.kind == "defect" else (),
    )


def _account(headers: Mapping[str, str]) -> str:
    """Tell accounts apart by the key they send."""
    return headers.get("authorization", "").partition(" ")[2].strip()


def _size(values: tuple[Hashable, ...]) -> int:
    """Say how many bytes a tuple holds, and tuples in it: keys can be larger than answers."""
    return sys.getsizeof(values) + sum(
        _size(value) if isinstance(value, tuple) else sys.getsizeof(value) for value in values
    )


def _with_headers(answer: Answer, headers: Mapping[str, str]) -> Answer:
    return replace(answer, headers={**answer.headers, **headers})
