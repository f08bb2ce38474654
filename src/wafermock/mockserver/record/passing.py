"""What passes through the proxy: an exchange under way, and who is told of it."""

from typing import Protocol

from msgspec import Struct

from ..event_stream import DONE
from ..exchange import Request
from .http_answer import Head, end_to_end
from .recording import Ending, Piece, Recording

# So many bytes are the last event at most, and may come one by one: its lines may end in CR LF.
_LONGEST_DONE = len(DONE.replace(b"\n", b"\r\n"))


class Exchange(Struct):
    """One exchange under way: what has come of the answer. `began` is on the proxy's clock."""

    request: Request
    began: float
    head: Head | None = None
    pieces: list[Piece] = []
    head_bytes: int = 0

    @property
    def is_done(self) -> bool:
        """Whether a stream has said that it is at its end; some clients leave then.

        Lines may end in any way, and the blank is nobody's duty (WHATWG HTML, section 9.2.5).
        """
        told = b"".join(piece.data for piece in self.pieces[-_LONGEST_DONE:])
        lines = told.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return lines.endswith((DONE, DONE.replace(b" ", b"")))

    def recording(self, ending: Ending, at: float) -> Recording:
        """Return what has come so far, as it is recorded if it ends now."""
        return Recording(
            request=self.request,
            status=self.head.status if self.head else None,
            headers=end_to_end(self.head.headers) if self.head else (),
            pieces=tuple(self.pieces),
            ending=ending,
            ended_at=at - self.began,
            head_bytes=self.head_bytes,
        )


class Listener(Protocol):
    """Who is told of what passes through a proxy, as a Recorder is."""

    def start(self) -> int:
        """Return the place of an exchange that begins now in the order of all."""

    def learn(self, request: Request) -> None:
        """Know the request, before it is passed on."""

    def hear(self, exchange: Exchange, at: float, *, is_over: bool) -> None:
        """Know that more of the answer has come, before the client has it. `at` is on the proxy's
        clock."""

    async def keep(self, start: int, recording: Recording) -> None:
        """Take an exchange that has ended."""

    def pass_over(self, start: int, reason: str) -> None:
        """Know that an exchange came to nothing, and why."""
