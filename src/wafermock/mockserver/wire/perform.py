"""Performing a plan on a connection of aiohttp, byte for byte.

aiohttp's own response classes set right what is wrong on purpose here (framing, headers, cuts), so
the bytes go to the connection directly. A handler returns what `perform` returns.
"""

import asyncio
import socket
import struct
from collections.abc import Callable, Sequence
from http import HTTPStatus

from .. import web
from ..clock import Stopwatch
from ..one_write import Written, write_last
from .plan import Plan


class Performed(Written):
    """An answer that is on the wire as its plan wants it."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(status=plan.status)
        self.plan = plan

    @property
    def keep_alive(self) -> bool:
        return self.plan.ending == "keep" and super().keep_alive


async def perform(
    request: web.BaseRequest,
    plan: Plan,
    watch: Stopwatch,
    headers: Sequence[tuple[str, str]] = (),
    over: Callable[[], None] = lambda: None,
) -> Performed:
    """Put a plan on the wire, at its times; `watch` began with the request.

    `headers` (name, value), `Date` and `Server` perhaps, are added where the plan has none of the
    name. `over` is called once all is done but what the client will see last: the last write, a
    reset, or the end of the connection.
    Raises ConnectionResetError when the client has left, which aiohttp takes in silence. A wait
    ends at once when the client leaves where the server cancels handlers then
    (`web.Server(handler, handler_cancellation=True)`), else at its own end.
    """
    writes = list(plan.wire(_reason(plan.status), headers))
    for number, write in enumerate(writes, start=1):
        await watch.reach(write.offset)
        _transport(request)
        is_last = number == len(writes)
        # Who was told the length, or of the last chunk, does not wait for the connection to end.
        if is_last and plan.ending in ("keep", "close") and plan.end <= write.offset:
            await write_last(request.writer, write.data, over)
        else:
            await request.writer.write(write.data)
        # Lets the connection take each write by itself, and others have their turn.
        await asyncio.sleep(0)
    await watch.reach(plan.end)
    over()
    if plan.ending == "reset":
        await _reset(request)
    return Performed(plan)


def _transport(request: web.BaseRequest) -> asyncio.Transport:
    transport = request.transport
    if transport is None or transport.is_closing():
        raise ConnectionResetError("the client has left")
    return transport


async def _reset(request: web.BaseRequest) -> None:
    """End the connection with an RST, once all that was written has gone."""
    transport = _transport(request)
    transport.set_write_buffer_limits(high=0)  # so that draining waits for the last byte
    await request.writer.drain()
    sock: socket.socket | None = transport.get_extra_info("socket")
    if sock is not None:
        # Closing with a linger time of 0 resets (the socket manual, SO_LINGER).
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def _reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
