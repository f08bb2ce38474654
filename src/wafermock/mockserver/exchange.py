"""What goes into the pipeline and what comes out of it. No socket in sight."""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from .clock import FROZEN_TIME

if TYPE_CHECKING:
    from .acting import Acting


class Request(Struct, frozen=True):
    """A request as it came: `path` percent-encoded, header names in lower case."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = {}
    body: bytes = b""


class Moment(Struct, frozen=True):
    """When a request is answered: the clock's reading (Unix seconds), and how long requests
    are queued for (seconds; None: nothing is simulated)."""

    time: float = FROZEN_TIME
    queue_time: float | None = None


# The moment of every request while the clock is frozen and no queue is simulated.
STILL = Moment()


class Cost(Struct, frozen=True):
    """What an answer takes from the limits: tokens reserved when it is asked for, tokens used."""

    model: str
    reserved: int
    used: int
    service_tier: str | None = None


class Answer(Struct, frozen=True, dict=True):
    """An answer as it will be delivered.

    A whole answer has one part; a stream has one part an event, so that a delivery may pace or
    cut between them. Joined, the parts are the body. `offsets` say when each part may go, in
    seconds after the request; None: at once. `cost` is None for what costs nothing, an error say.
    `acting` is what a script does to the answer on its way, `rule` names its rule that answered;
    where none did, `nearest` names those that came nearest, with what the request lacked.
    """

    status: int
    headers: Mapping[str, str]
    parts: tuple[bytes, ...]
    streamed: bool = False
    offsets: tuple[float, ...] | None = None
    cost: Cost | None = None
    acting: "Acting | None" = None
    rule: str | None = None
    nearest: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def body(self) -> bytes:
        return b"".join(self.parts)

    @cached_property
    def fields(self) -> bytes:
        """The fields of the header as HTTP/1.1 writes them; those that are decided as the answer
        goes (see _DECIDED) are to follow. Empty: the answer says such a one itself, has no body, or
        what cannot be written."""
        names = {name.lower() for name in self.headers}
        lines = [f"{name}: {value}" for name, value in self.headers.items()]
        if self.status in _NO_BODY or names & _DECIDED or "content-type" not in names:
            return b""
        text = "".join(lines)
        if not (text.isascii() and text.isprintable()) and _UNWRITABLE.search(text):
            return b""
        return "\r\n".join([*lines, ""]).encode()


# How a message is framed and a connection kept, and what the clock and the server say.
_DECIDED = frozenset(("connection", "content-length", "date", "server", "transfer-encoding"))
# RFC 9110, section 6.4.1: these answers never have a body.
_NO_BODY = (204, 304)
# Line ends and NUL (RFC 9110, section 5.5), and what has no bytes.
_UNWRITABLE = re.compile("[\r\n\0\ud800-\udfff]")
