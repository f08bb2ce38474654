"""What a run has spent of its budget: requests, tokens, seconds."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from wafermock.reports.run import Budget, Cost

from .exchange import Exchange
from .planned import Planned


class Spending:
    """Keeps the books. What may be spent is reserved before a request goes out, at the most that
    it may cost, and put right by what the answer says: a budget is never gone beyond."""

    def __init__(self, budget: Budget, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.budget = budget
        self._clock = clock
        self._began = clock()
        self._requests = 0
        self._tokens = 0
        self._reserved = 0  # tokens of requests that are on their way, or promised
        # Requests that have room, and have not started, by identity.
        self._promised: dict[int, list[Planned]] = {}
        self._promised_requests = 0

    @property
    def seconds(self) -> float:
        """How long the run has taken."""
        return self._clock() - self._began

    @property
    def seconds_left(self) -> float | None:
        """How long it may still take; None: as long as it likes."""
        return None if self.budget.seconds is None else self.budget.seconds - self.seconds

    @property
    def requests_left(self) -> int | None:
        if self.budget.requests is None:
            return None
        return self.budget.requests - self._requests - self._promised_requests

    @property
    def tokens_left(self) -> int | None:
        if self.budget.tokens is None:
            return None
        return self.budget.tokens - self._tokens - self._reserved

    def cost(self, waits: int = 0) -> Cost:
        """Return what has been spent until now."""
        return Cost(self._requests, self._tokens, waits, self.seconds)

    def allows(self, planned: Sequence[Planned]) -> bool:
        """Say whether there is room for requests; if so, keep it for them until they `start`."""
        if not self._has_room(len(planned), sum(request.tokens for request in planned)):
            return False
        for request in planned:
            self._promised.setdefault(id(request), []).append(request)
            self._promised_requests += 1
            self._reserved += request.tokens
        return True

    def start(self, planned: Planned) -> bool:
        """A request goes out; False: there is no room for it, and it must not."""
        promised = self._promised.get(id(planned))
        if promised:
            promised.pop()
            if not promised:
                del self._promised[id(planned)]
            self._promised_requests -= 1
        elif self._has_room(1, planned.tokens):
            self._reserved += planned.tokens
        else:
            return False
        self._requests += 1
        return True

    def again(self) -> bool:
        """A request goes out once more (its tokens are still reserved); False: it must not."""
        if not self._has_room(1, 0):
            return False
        self._requests += 1
        return True

    def end(self, planned: Planned, exchange: Exchange | None) -> None:
        """A request is answered for good, or will not be (None: it was never sent)."""
        self._reserved -= planned.tokens
        if exchange is not None:
            self._tokens += tokens_of(exchange, planned.tokens)

    def _has_room(self, requests: int, tokens: int) -> bool:
        seconds, left = self.seconds_left, self.requests_left
        if seconds is not None and seconds <= 0:
            return False
        if left is not None and left < requests:
            return False
        return self.tokens_left is None or not tokens or self.tokens_left >= tokens


def tokens_of(exchange: Exchange, estimate: int) -> int:
    """Return the tokens that an exchange has cost: what the answer says of `usage`, nothing for a
    refusal that says nothing, else the estimate."""
    if exchange.received is None:
        return estimate
    answer = exchange.answer
    for value in (answer.data, *reversed(answer.chunks)):
        if (total := _total(value)) is not None:
            return total
    return estimate if exchange.accepted else 0


def _total(value: Any) -> int | None:
    usage = value.get("usage") if isinstance(value, dict) else None
    total = usage.get("total_tokens") if isinstance(usage, dict) else None
    is_count = isinstance(total, int) and not isinstance(total, bool) and 0 <= total < 1 << 53
    return total if is_count else None
