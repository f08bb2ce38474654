"""The mock in time: what an answer depends on beside its request. A clock, limits, a queue."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from .between import Between
from .clock import Clock
from .draws import digest
from .exchange import Answer, Moment, Request
from .limits import Admission, Limiter, Limits
from .memory import Memory, size_of
from .mock import MIB, Mock
from .queueing import Queue
from .refusal import Refusal
from .scope import split_scope

if TYPE_CHECKING:
    from .acting import Acting, CallChoices, Choices, Early
    from .control.armed import Armed, Arming
    from .script import ScriptState

# What acting.py reads; named here too, since most servers never need that module.
ACTING_HEADERS = ("x-wafermock-delivery", "x-wafermock-failure", "x-wafermock-defect")

# How much of requests and answers is remembered, in bytes.
MEMORY = 32 * MIB


class Turn(Struct, frozen=True):
    """One request and its answer, which is now to be delivered; then the turn is over."""

    answer: Answer
    admission: Admission | None = None
    acting: "Acting | None" = None
    scope: str = ""

    def in_scope(self, scope: str) -> "Turn":
        """Return the same turn, of a call in a scope."""
        return self if self.scope == scope else replace(self, scope=scope)

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
        self.limiter = limiter or Limiter(Limits(catalogue=mock.contract.limits), self.clock)
        self.queue = queue or Queue(threshold=mock.contract.limits.queue)
        self.watch = watch
        self.choices = choices
        self.armed: Armed | None = None
        self._between = Between()
        self._asked = 0
        self._memory: Memory[Turn] = Memory(MEMORY)
        # Turns by what the mock answered, which lives as long as it is kept here.
        self._turns: Memory[tuple[Answer, Turn]] = Memory(MEMORY // 4)

    def begin(self, request: Request, early: "Early | None" = None) -> Turn:
        """Answer a request. Never raises for anything a client sent.

        A path that begins with `/t/NAME` has the scope NAME, and is the path behind it. `early` is
        what `at_head` has settled for the request, if it was asked.
        """
        time, queued = self.clock.time(), self.queue.seconds
        request, scope = self._scoped(request)
        if self.watch and self.mock.script is not None:
            self._read_script_again(self.mock.script)
        if not self._repeats(request):
            return self._turn(request, Moment(time, queued), scope, early)
        key = (
            *self.mock.heard(request),
            request.headers.get(self.queue.threshold.header),
            time,
            queued,
        )
        turn = self._memory.get(key)
        if turn is None:
            turn = self._turn(request, Moment(time, queued), scope, None)
            self._memory.put(key, turn, size=size_of(key) + size_of(turn.answer.parts))
        # The same is said in every scope, but whoever takes note of it wants to know in which.
        return turn.in_scope(scope)

    def at_head(self, head: Request) -> "Early | None":
        """Settle what acts before the body of a request is read; None: nothing can.

        `head` is the request without its body. To be asked once for a request whose client waits
        for leave to send the body, or whose body is over the bound.
        """
        if not (self._is_chosen(head) or self._has_armed or self._has_rules):
            return None
        from .acting import Choices, of_headers
        from .early import settle

        head, scope = self._scoped(head)
        try:
            by_header = of_headers(head.headers, self.mock.contract.errors)
        except Refusal:  # which is the answer, once the body is here
            by_header = Choices()
        identity = digest(self.mock.settings.seed, *self.mock.heard(head))
        arming = self._take_armed(self.armed, head, scope) if self.armed else None
        chosen = (by_header, self.choices or Choices())
        return settle(self.mock, head, scope, chosen, arming, identity, self._asked + 1)

    def left(self, scope: str) -> None:
        """Note that a client of a scope has hung up in a stream."""
        self._between.left(scope)

    def forget(self, scope: str | None = None) -> None:
        """Forget what the calls of a scope, or all, left behind for the next."""
        self._between.forget(scope)

    def _scoped(self, request: Request) -> tuple[Request, str]:
        """Take the prefix of a scope off the path."""
        if request.path.startswith("/t/") and not self.mock.contract.methods(request.path):
            scope, path = split_scope(request.path)
            return replace(request, path=path), scope
        return request, ""

    def _is_chosen(self, request: Request) -> bool:
        """Say whether the server's options or the request's header choose anything."""
        return bool(self.choices) or any(name in request.headers for name in ACTING_HEADERS)

    @property
    def _has_armed(self) -> bool:
        return bool(self.armed and self.armed.listed)

    @property
    def _has_rules(self) -> bool:
        return bool(self.mock.script and self.mock.script.script.rules)

    def _repeats(self, request: Request) -> bool:
        """Say whether the answer is a function of the request alone."""
        return (
            self.mock.is_pure
            and self.limiter.is_pure
            and self.clock.kind != "real"
            and not self._has_armed
            and not self._is_chosen(request)
        )

    def _read_script_again(self, state: "ScriptState") -> None:
        """Take a changed script in; of a broken one say so, and go on with the last good rules."""
        if script := state.read_again():
            problem, count = script.problem, len(script.rules)
            if self.watch:
                rules = f"{count} rule{'s' * (count != 1)}"
                self.watch(str(problem) if problem else f"script read again: {rules}")

    def protocol_error(self, status: int, reason: str) -> Answer:
        """Answer what is no HTTP request at all."""
        answer = self.mock.protocol_error(status, reason)
        return _with_headers(answer, self.limiter.headers("", ""))

    def _turn(self, request: Request, moment: Moment, scope: str, early: "Early | None") -> Turn:
        """Answer a request, and let happen to it what is chosen."""
        try:
            chosen = self._chosen(request, scope, early)
        except Refusal as refusal:
            return self._refused(refusal, request, scope)
        acting: Acting | None = None
        mock = self.mock
        try:
            if chosen:
                acting = chosen.acting()
                mock = self._mock_for(acting, request)
                request = chosen.changed(request)
            answer = mock.answer(request, moment, scope)
            if answer.acting:
                acting = answer.acting
                answer = self._answered_again(mock, answer, request, moment, scope)
        except Refusal as refusal:
            return self._refused(refusal, request, scope, acting=acting)
        if chosen or answer.acting:
            from .acting import CallChoices

            chosen = chosen or CallChoices()
            acting = chosen.acting(answer.acting)
            answer = self._between.dealt(
                answer, scope, acting.defects, remembered=chosen.remembered
            )
        elif self.limiter.is_pure and self.queue.seconds is None and mock.remembers(answer):
            # It comes again, and nothing is counted beside the rule.
            _, turn = self._turns.get(id(answer)) or (None, None)
            if turn is None:
                turn = self._admitted(answer, request, None, scope)
                self._turns.put(id(answer), (answer, turn), size=size_of(answer.parts))
            return turn.in_scope(scope)
        return self._admitted(answer, request, acting or None, scope)

    def _admitted(
        self, answer: Answer, request: Request, acting: "Acting | None", scope: str
    ) -> Turn:
        """Let an answer pass by the queue and the limits, if they do."""
        cost = answer.cost
        if cost is None:
            return Turn(self._counted_out(answer, request, ""), None, acting, scope)
        account = _account(request.headers)
        try:
            self.queue.admit({"service_tier": cost.service_tier}, request.headers)
            admission = self.limiter.admit(account, cost.model, cost.reserved)
        except Refusal as refusal:
            return self._refused(refusal, request, scope, cost.model, acting)
        return Turn(_with_headers(answer, admission.headers), admission, acting, scope)

    def _refused(
        self,
        refusal: Refusal,
        request: Request,
        scope: str,
        model: str = "",
        acting: "Acting | None" = None,
    ) -> Turn:
        """Make the turn of an error that stands outside of the request."""
        answer = self._counted_out(self.mock.refuse(refusal, request), request, model)
        return Turn(answer, None, acting or None, scope)

    def _take_armed(self, armed: "Armed", request: Request, scope: str) -> "Arming | None":
        """Use up what the control interface has armed for a call like this one, if anything.

        What asks for no completion, such as the SDKs' warming of a connection, uses up only what
        names an operation; what is no call of the contract uses up anything.
        """
        listed = armed.listed
        route = self.mock.contract.route(request.method, request.path)
        named = any(arming.operation for _, arming, _ in listed)
        if not listed or (route and route.operation.answer not in _COMPLETIONS and not named):
            return None
        body = _body_of(request) if any(arming.model for _, arming, _ in listed) else None
        model = body.get("model") if body else None
        return armed.take(
            scope,
            route.operation.id if route else None,
            model if isinstance(model, str) else None,
        )

    def _mock_for(self, acting: "Acting", request: Request) -> Mock:
        """Return the mock, or one with other settings where a defect is that of such a server."""
        mock = self.mock
        if not acting.defects:
            return mock
        from .again import settings_of

        changed = settings_of(acting.defects, request)
        if not changed:
            return mock
        return mock.changed(mock.script, **changed)

    def _answered_again(
        self, mock: Mock, answer: Answer, request: Request, moment: Moment, scope: str
    ) -> Answer:
        """Return an answer as the rule that gave it wants the request understood."""
        from .again import answered_again, before_the_answer

        if not before_the_answer(answer):
            return answer
        return answered_again(mock, answer, request, moment, scope)

    def _counted_out(self, answer: Answer, request: Request, model: str) -> Answer:
        """Give an answer that costs nothing the headers of the limits."""
        shown = self.limiter.headers(_account(request.headers), model)
        return replace(answer, headers={**shown, **answer.headers}) if shown else answer

    def _chosen(self, request: Request, scope: str, early: "Early | None") -> "CallChoices | None":
        """Say what is armed, and what the request's header and the server's options choose."""
        arming = early.arming if early else None
        if self._has_armed and self.armed and not early:
            arming = self._take_armed(self.armed, request, scope)
        if not (arming or early or self._is_chosen(request)):
            return None
        from .acting import NOTHING, CallChoices, Choices, armed_acting, of_headers

        self._asked += 1
        identity = digest(self.mock.settings.seed, *self.mock.heard(request))
        by_header = of_headers(request.headers, self.mock.contract.errors)
        by_option = self.choices or Choices()
        first = armed_acting(arming) if arming else NOTHING
        listed = (*first.defects, *by_header.defects, *by_option.defects)
        return CallChoices(
            first.before(by_header.acting(identity, self._asked)),
            by_option.acting(identity, self._asked),
            Refusal(arming.name) if arming and arming.kind == "error" else None,
            early,
            self._asked,
            any(choice.entry.stage == "service" for choice in listed),
        )


# What answers an operation that is asked for words.
_COMPLETIONS = ("chat.completion", "text_completion")


def _body_of(request: Request) -> dict[str, Any] | None:
    from .wire.requests import body_of

    return body_of(request)


def _account(headers: Mapping[str, str]) -> str:
    """Tell accounts apart by the key they send."""
    return headers.get("authorization", "").partition(" ")[2].strip()


def _with_headers(answer: Answer, headers: Mapping[str, str]) -> Answer:
    return replace(answer, headers={**answer.headers, **headers}) if headers else answer
