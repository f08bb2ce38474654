"""An answer that goes out in one write, as the very bytes that aiohttp would send.

aiohttp makes the head of each response anew, which costs as much as all else that an answer takes
whose words are known. Here its fields are written once, and kept with the answer.
"""

from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus

from aiohttp import HttpVersion11, hdrs
from aiohttp.abc import AbstractStreamWriter

from . import web
from .exchange import Answer

# What a connection takes at once whether its other end reads or not, in bytes: the high-water mark
# of asyncio.
_AT_ONCE = 64 * 1024


def goes_at_once(data: bytes) -> bool:
    """Say whether a write is over as soon as it is begun: it does not wait for a slow reader."""
    return len(data) <= _AT_ONCE


async def write_first(writer: AbstractStreamWriter, data: bytes) -> bytes:
    """Write what may have to wait for a slow reader, and return the last of it, which goes at once.

    Raises ConnectionResetError when the client has left.
    """
    if not goes_at_once(data):
        await writer.write(data[:-_AT_ONCE])
        await writer.drain()
    return data[-_AT_ONCE:]


async def write_last(writer: AbstractStreamWriter, data: bytes, over: Callable[[], None]) -> None:
    """Write the last of an answer. `over` is called when no more is left than goes at once: before
    its last byte, and not at all where a client leaves much of it unread.

    Raises ConnectionResetError when the client has left.
    """
    last = await write_first(writer, data)
    over()
    await writer.write(last)


class Written(web.StreamResponse):
    """Stands for an answer whose bytes go past aiohttp, which has nothing to add to them."""

    @property
    def keep_alive(self) -> bool:
        """Whether the connection is kept, which aiohttp settles in `prepare`."""
        return self._keep_alive is not False

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        return None


class OneWrite(Written):
    """A message that is written as soon as aiohttp sends what a handler has returned."""

    def __init__(self, message: bytes) -> None:
        # Not the base's: nothing is asked of it beside these four methods.
        self._message = message

    async def begin(self, request: web.BaseRequest) -> None:
        """Write what may have to wait for a slow reader, and leave the last of it to be sent."""
        self._message = await write_first(request.writer, self._message)

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        await request.writer.write(self._message)
        # Each request has a writer of its own, which waits for a slow reader only when it has
        # written much itself: a client that asks on and on, and reads nothing, would fill memory.
        await request.writer.drain()
        return None


def one_write(request: web.BaseRequest, answer: Answer, stamp: bytes) -> OneWrite | None:
    """Return an answer as it goes to a usual request; None: aiohttp has to say how it goes.

    `stamp` holds the fields that are decided as the answer goes, its framing apart.
    """
    if (
        request.version != HttpVersion11
        or not request.keep_alive
        or request.method == hdrs.METH_HEAD
        or not answer.fields
    ):
        return None
    head, body = _status_line(answer.status) + answer.fields + stamp, answer.body
    if not answer.streamed:
        return OneWrite(b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), body))
    # RFC 9112, section 7.1
    chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
    return OneWrite(b"%bTransfer-Encoding: chunked\r\n\r\n%b0\r\n\r\n" % (head, chunk))


@lru_cache
def _status_line(status: int) -> bytes:
    phrase = HTTPStatus(status).phrase if status in _KNOWN else ""
    return f"HTTP/1.1 {status} {phrase}\r\n".encode()


_KNOWN = {status.value for status in HTTPStatus}
