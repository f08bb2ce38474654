"""The sender of a run: one endpoint, at the run's pace, within its budget."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from .client import Client
from .exchange import Exchange, Received
from .planned import Planned
from .runner import Stopped
from .spending import Spending
from .throttle import Interrupted, Throttle, wait_asked
from .wire import Silence, Unreachable

# How often a request is sent again when the server asks for patience, and the longest wait, in
# seconds, that is not taken for a refusal.
MOST_WAITS = 4
LONGEST_WAIT = 120.0


class EndpointSender:
    """Sends what is planned. An exchange is called by its request's place in the plan; where that
    has none, by its number in the order in which they are asked for.

    An answer that asks to wait (429, or 503 with `Retry-After`) is given to `overheard`, so that
    rules judge it too, `waiting` is told the seconds, and the request is sent again. `prefix`
    stands before every id.
    """

    def __init__(
        self,
        client: Client,
        spending: Spending,
        throttle: Throttle,
        *,
        overheard: Callable[[Exchange], None] = lambda exchange: None,
        waiting: Callable[[float], None] = lambda seconds: None,
        prefix: str = "",
    ) -> None:
        self.client = client
        self.spending = spending
        self.throttle = throttle
        self._overheard = overheard
        self._waiting = waiting
        self._prefix = prefix
        self._count = 0

    def allows(self, planned: Sequence[Planned]) -> bool:
        """Say whether the budget has room for requests, and keep it for them."""
        return self.spending.allows(planned)

    def stop(self) -> None:
        """Send nothing more; who waits for a turn is told by Stopped("interrupted")."""
        self.throttle.stop()

    async def send(self, planned: Planned) -> Exchange:
        """Send a request; an answer that does not come is told in the exchange.

        Raises Stopped where the budget has no room for it, or the run was interrupted.
        """
        id = f"{self._prefix}{planned.place or self._next()}"
        if not self.spending.start(planned):
            raise Stopped("budget")
        exchange = None
        try:
            exchange = await self._patiently(planned, id)
        except Interrupted:
            raise Stopped("interrupted") from None
        finally:
            self.spending.end(planned, exchange)
        return exchange

    def _next(self) -> int:
        self._count += 1
        return self._count

    async def _patiently(self, planned: Planned, id: str) -> Exchange:
        for tries in range(MOST_WAITS + 1):
            async with self.throttle.turn():
                exchange = await self._once(planned, id)
            wait = self._wait(exchange, tries)
            if wait is None or not self.spending.again():
                break
            self._overheard(replace(exchange, id=f"{id}.{tries + 1}"))
            self._waiting(wait)
            self.throttle.pause(wait)
        return exchange

    def _wait(self, exchange: Exchange, tries: int) -> float | None:
        """Return how long to wait and send again; None: this answer is the one."""
        received = exchange.received
        if received is None or tries == MOST_WAITS or received.status in exchange.purpose.statuses:
            return None
        wait = wait_asked(received, tries)
        left = self.spending.seconds_left
        if wait is not None and wait > LONGEST_WAIT:
            self.client.note(
                f"the server asks to wait longer than a run does ({wait:,.0f} s; "
                f"{LONGEST_WAIT:g} s at most): what it refused so was not asked again"
            )
        if wait is None or wait > LONGEST_WAIT or (left is not None and wait >= left):
            return None
        return wait

    async def _once(self, planned: Planned, id: str) -> Exchange:
        received: Received | None = None
        error, reached = "", True
        try:
            received = await self.client.send(planned.sent, self.spending.seconds_left)
        except Silence as silence:
            error, reached = silence.reason, not isinstance(silence, Unreachable)
        return Exchange(
            id,
            planned.purpose,
            planned.sent,
            planned.operation,
            planned.asked,
            received,
            error,
            reached,
        )
