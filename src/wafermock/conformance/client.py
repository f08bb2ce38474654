"""Sends requests to one endpoint over connections that are kept, and over nothing else."""

import asyncio
from types import TracebackType

import wafermock

from .endpoint import Endpoint
from .exchange import Received, Sent
from .http1 import Connection, connect
from .http1_request import head_of
from .wire import NoAnswer, Patience, reaching

USER_AGENT = f"wafermock/{wafermock.__version__}"
# Servers commonly close a connection that was idle for 5 s: one that may be closed just now is
# not used again.
KEPT_IDLE = 4.0
PATIENCE = Patience()


class Client:
    """`async with Client(endpoint) as client: received = await client.send(sent)`.

    Any number of requests may be on their way at the same time, each over a connection of its own;
    connections are kept for the next. `notes` are things worth telling that belong to no answer.
    """

    def __init__(self, endpoint: Endpoint, patience: Patience = PATIENCE) -> None:
        self.endpoint = endpoint
        self.notes: list[str] = []
        self._patience = patience
        self._tls = endpoint.tls("http/1.1")
        self._idle: list[Connection] = []

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection that is kept."""
        for connection in self._idle:
            self._note_junk(connection)
            connection.abort()
        self._idle.clear()
        await asyncio.sleep(0)  # the transports close in the loop's next turn

    async def send(self, sent: Sent, seconds: float | None = None) -> Received:
        """Send a request and read its answer to the end, whatever it is, for so many seconds.

        Raises Unreachable or NoAnswer, whose `reason` is for the report, and ValueError where a
        header cannot be written.
        """
        patience = self._patience.at_most(seconds)
        if sent.http == "2":
            from .http2 import send as send_http2

            received = await send_http2(sent, self.endpoint, patience, user_agent=USER_AGENT)
        else:
            received = await self._send_http1(sent, patience)
        if note := self.endpoint.elsewhere(received, sent.target):
            self.note(note)
        return received

    async def _send_http1(self, sent: Sent, patience: Patience) -> Received:
        endpoint = self.endpoint
        head = head_of(
            sent,
            host=endpoint.authority,
            base_path=endpoint.base_path,
            user_agent=USER_AGENT,
        )
        connection = self._kept() or await self._new(patience)
        try:
            return await self._over(connection, sent, head, patience)
        except NoAnswer:
            if not connection.stale:
                raise
            # The server had closed a kept connection when the request was on its way to it: that
            # is no answer to the request (RFC 9112, section 9.3.1).
            return await self._over(await self._new(patience), sent, head, patience)

    async def _over(
        self, connection: Connection, sent: Sent, head: bytes, patience: Patience
    ) -> Received:
        received = await connection.exchange(sent, head, patience)
        if connection.usable:
            self._idle.append(connection)
        return received

    def _kept(self) -> Connection | None:
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection = self._idle.pop()
            self._note_junk(connection)
            if connection.usable and now - connection.idle_since < KEPT_IDLE:
                return connection
            connection.abort()
        return None

    def _note_junk(self, connection: Connection) -> None:
        if connection.unasked:
            self.note(
                "bytes came on a kept connection behind the end of an answer, "
                "before the next request"
            )

    def note(self, note: str) -> None:
        """Keep something that is worth telling, once."""
        if note not in self.notes:
            self.notes.append(note)

    async def _new(self, patience: Patience) -> Connection:
        endpoint, seconds = self.endpoint, patience.connect
        with reaching(endpoint, seconds):
            async with asyncio.timeout(seconds):
                return await connect(endpoint.host, endpoint.port, self._tls)
