"""The mock in time: what an answer depends on beside its request. A clock, limits, a queue."""

import sys
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

from .clock import Clock
from .exchange import Answer, Moment, Request
from .limits import Admission, Limiter, Limits
from .memory import Memory
from .mock import MIB, Mock
from .queueing import HEADER, Queue
from .refusal import Refusal

# How much of requests and answers is remembered, in bytes.
MEMORY = 32 * MIB


@dataclass(frozen=True)
class Turn:
    """One request and its answer, which is now to be delivered; then the turn is over."""

    answer: Answer
    admission: Admission | None = None

    def end(self) -> None:
        """Give back what was reserved and not used. Only the first call counts."""
        if self.admission and self.answer.cost:
            self.admission.settle(self.answer.cost.used)


class Service:
    """Answers requests at their time, and counts them.

    Without limits, and with the clock frozen, an answer is a function of its request alone, so
    that the answers given last are remembered whole.
    """

    def __init__(
        self,
        mock: Mock,
        clock: Clock | None = None,
        limiter: Limiter | None = None,
        queue: Queue | None = None,
    ) -> None:
        self.mock = mock
        self.clock = clock or Clock()
        self.limiter = limiter or Limiter(Limits(), self.clock)
        self.queue = queue or Queue()
        self._memory: Memory[Turn] = Memory(MEMORY)

    def begin(self, request: Request) -> Turn:
        """Answer a request. Never raises for anything a client sent."""
        moment = Moment(self.clock.time(), self.queue.seconds)
        if not (self.mock.is_pure and self.limiter.is_pure) or self.clock.kind == "real":
            return self._turn(request, moment)
        key = (*self.mock.heard(request), request.headers.get(HEADER), moment)
        turn = self._memory.get(key)
        if turn is None:
            turn = self._turn(request, moment)
            self._memory.put(key, turn, size=_size(key) + _size(turn.answer.parts))
        return turn

    def protocol_error(self, status: int, reason: str) -> Answer:
        """Answer what is no HTTP request at all."""
        answer = self.mock.protocol_error(status, reason)
        return _with_headers(answer, self.limiter.headers("", ""))

    def _turn(self, request: Request, moment: Moment) -> Turn:
        answer = self.mock.answer(request, moment)
        account = _account(request.headers)
        cost = answer.cost
        if cost is None:
            return Turn(_with_headers(answer, self.limiter.headers(account, "")))
        try:
            self.queue.admit({"service_tier": cost.service_tier}, request.headers)
            admission = self.limiter.admit(account, cost.model, cost.reserved)
        except Refusal as refusal:
            refused = self.mock.refuse(refusal, request)
            shown = self.limiter.headers(account, cost.model)
            return Turn(_with_headers(refused, {**shown, **refused.headers}))
        return Turn(_with_headers(answer, admission.headers), admission)


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
