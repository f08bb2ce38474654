"""A plan: what goes on the wire, and when. Made from an answer, without a socket in sight."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby

from msgspec import Struct
from msgspec.structs import replace

from ..draws import Draws
from ..exchange import Answer
from .catalogue import PHASES, Chosen
from .deliveries import APART
from .draft import Draft, Ending, Framing, Write, drafted, framed

# Of these names in the head of an answer the plan itself is the author.
_FRAMING_HEADERS = ("connection", "content-length", "transfer-encoding")

# RFC 9110, section 6.4.1: these answers never have a body.
_NO_BODY = frozenset({204, 304})


class Plan(Struct, frozen=True):
    """What goes on the wire, and when; times are in seconds after the request came.

    `headers` are complete but for `date` and `server`. `start`: when the head may go; `writes`
    hold the body. `framing`: how the end of the body is told. `ending` comes at `end`: `keep` the
    connection, `close` it, `cut` it (closed in order, the body unfinished) or `reset` it.
    `head_bytes`: how much of the head goes, None for all. `joined`: all goes in one write.
    `withheld`: names of headers that nobody adds.
    `applied` names what had an effect, `idle` what found nothing to act on.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    writes: tuple[Write, ...]
    framing: Framing
    ending: Ending
    version: str = "HTTP/1.1"
    start: float = 0.0
    end: float = 0.0
    head_bytes: int | None = None
    joined: bool = False
    withheld: frozenset[str] = frozenset()
    applied: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()

    def wire(self, reason: str = "", more: Sequence[tuple[str, str]] = ()) -> Iterator[Write]:
        """Yield everything that goes on the wire, framed, in order.

        `reason` stands beside the status; `more` are headers for those names that have none yet.
        """
        if self.joined and self.head_bytes is None:
            parts = list(replace(self, joined=False).wire(reason, more))
            yield Write(b"".join(part.data for part in parts), parts[-1].offset)
            return
        head = self._head(reason, more)
        if self.head_bytes is not None:
            yield from [Write(head[: self.head_bytes], self.start)] if self.head_bytes else []
            return
        yield Write(head, self.start)
        for write in self.writes:
            if write.data:
                yield replace(write, data=_chunk(write.data)) if self._chunked else write
        if self._chunked and self.ending in ("keep", "close"):
            yield Write(b"0\r\n\r\n", self.end)

    @property
    def _chunked(self) -> bool:
        return self.framing == "chunked"

    def _head(self, reason: str, more: Sequence[tuple[str, str]]) -> bytes:
        given = {name.lower() for name, _ in self.headers} | self.withheld
        headers = [*self.headers, *(pair for pair in more if pair[0].lower() not in given)]
        lines = [f"{self.version} {self.status} {reason}", *(f"{n}: {v}" for n, v in headers)]
        text = "\r\n".join([*(line.translate(_BARE) for line in lines), "", ""])
        return text.encode("utf-8", "surrogateescape")


# A header's value holds no line end, whatever an answer says.
_BARE = {13: " ", 10: " ", 0: " "}


def _chunk(data: bytes) -> bytes:
    """Write a chunk (RFC 9112, section 7.1)."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def plan(
    answer: Answer,
    *,
    http_version: tuple[int, int] = (1, 1),
    method: str = "POST",
    keep_alive: bool = True,
    delivery: Chosen | None = None,
    failure: Chosen | None = None,
    defects: Sequence[Chosen] = (),
    draws: Draws,
) -> Plan:
    """Plan how an answer goes to a client that speaks `http_version` and used `method`.

    What is chosen does happen: rates are asked before (see `happening`). Entries that act before
    the answer is made (see `Stage`) have no effect here and are named in neither list.
    `keep_alive`: whether the client wants to keep the connection. `draws` decides what a delivery
    leaves open.
    """
    acting = [c for c in (delivery, *defects, failure) if c and c.entry.stage == "answer"]
    draft = drafted(answer, method)
    applied: list[str] = []
    idle: list[str] = []
    apart = delivery is not None and delivery.name == APART
    for phase in PHASES:
        if phase == "framed":
            draft = _framed(draft)
        elif phase == "sent" and not apart:
            draft = _grouped(draft)
        for chosen in acting:
            if chosen.entry.phase != phase:
                continue
            done: Draft = chosen.entry.effect(draft, chosen.values, draws)
            (idle if done == draft else applied).append(str(chosen))
            draft = done
    made = _finished(draft, http_version, keep_alive)
    return replace(made, applied=tuple(applied), idle=tuple(idle))


def _framed(draft: Draft) -> Draft:
    if draft.streamed:
        # What was moved or made may not go before what stands before it.
        offsets = accumulate((event.offset for event in draft.events), max)
        writes = [
            Write(framed(event, draft.style), offset)
            for event, offset in zip(draft.events, offsets, strict=True)
        ]
    else:
        writes = [Write(draft.body, draft.start)] if draft.body else []
    return replace(draft, writes=tuple(writes))


def _grouped(draft: Draft) -> Draft:
    """Join the writes that may go at the same time: one write an event costs much more."""
    groups = groupby(draft.writes, lambda write: write.offset)
    joined = tuple(Write(b"".join(w.data for w in group), at) for at, group in groups)
    return replace(draft, writes=joined)


def _finished(draft: Draft, http_version: tuple[int, int], keep_alive: bool) -> Plan:
    """Decide on framing and connection, and complete the head."""
    framing, ending = _framing(draft, http_version), draft.ending
    bodyless = (draft.method == "HEAD" or draft.status in _NO_BODY) and not draft.bodied
    headers = [pair for pair in draft.headers if pair[0].lower() not in _FRAMING_HEADERS]
    if framing == "chunked":
        headers.append(("Transfer-Encoding", "chunked"))
    elif framing == "length" and draft.status not in _NO_BODY:
        size = sum(len(write.data) for write in draft.writes) + draft.length_error
        headers.append(("Content-Length", str(max(size, 0))))
    if ending == "keep" and (not keep_alive or framing == "close" or draft.length_error):
        ending = "close"
    if ending != "keep":
        headers.append(("Connection", "close"))
    elif http_version < (1, 1):
        headers.append(("Connection", "keep-alive"))
    return Plan(
        status=draft.status,
        headers=(*headers, *draft.more),
        writes=() if bodyless else draft.writes,
        framing="length" if bodyless else framing,
        ending=ending,
        version=draft.version,
        start=draft.start,
        end=max([draft.end, *(write.offset for write in draft.writes[-1:])]),
        head_bytes=draft.head_bytes,
        joined=draft.joined,
        withheld=draft.withheld,
    )


def _framing(draft: Draft, http_version: tuple[int, int]) -> Framing:
    """Choose how the end of the body is told: in HTTP/1.0 there are no chunks."""
    usual: Framing = "chunked" if draft.streamed else "length"
    framing = draft.framing or usual
    return "close" if framing == "chunked" and http_version < (1, 1) else framing
