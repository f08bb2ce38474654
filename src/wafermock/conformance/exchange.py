"""Exchanges: one request and everything that came back, as rules judge it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from wafermock.reports.run import Meant as Meant
from wafermock.spec import Operation

Headers = tuple[tuple[str, str], ...]

# So much of a body is kept, in bytes, when rules have judged it: more than a report shows of one.
KEPT = 64 * 1024

# How the body of an answer ended: whole; before its framing said so; not within the time; the judge
# hung up on purpose; longer than the judge reads.
Ending = Literal["complete", "cut", "timeout", "left", "overlong"]


@dataclass(frozen=True)
class Sent:
    """A request as it went out. `target` is path and query, behind the endpoint's base URL.

    With `chunks` the body goes with `Transfer-Encoding: chunked`, cut at these lengths. With
    `leave_after` the client hangs up after so many bytes of the answer's body.
    """

    method: str
    target: str
    headers: Headers = field(default=(), repr=False)  # the key is among them
    body: bytes = b""
    http: str = "1.1"
    chunks: tuple[int, ...] | None = None
    expect_continue: bool = False
    leave_after: int | None = None

    def header(self, name: str) -> str | None:
        return self._values.get(name.lower())

    @cached_property
    def _values(self) -> Mapping[str, str]:
        return _by_name(self.headers)


@dataclass(frozen=True)
class Arrival:
    """Bytes of a body, without the framing of HTTP, `at` seconds after the request was sent."""

    at: float
    data: bytes


@dataclass(frozen=True)
class Received:
    """What came back. Bytes of the body are as sent: still gzip where the server says gzip.

    `first_byte` is when the head began, in seconds after the request was sent. `continued` tells
    whether `100 Continue` came. `framing_fault` says what was wrong with the message's framing
    (RFC 9112, sections 6 to 8), if anything. `forgotten` bytes stood behind those of `arrivals`,
    and were not kept when the answer had been judged.
    """

    status: int
    reason: str = ""
    headers: Headers = ()
    arrivals: tuple[Arrival, ...] = ()
    ended: Ending = "complete"
    http: str = "1.1"
    first_byte: float = 0.0
    seconds: float = 0.0
    continued: bool = False
    framing_fault: str = ""
    forgotten: int = 0

    def header(self, name: str) -> str | None:
        """Return a header's value, joined with a comma where it stands several times."""
        return self._values.get(name.lower())

    @cached_property
    def _values(self) -> Mapping[str, str]:
        return _by_name(self.headers)

    @cached_property
    def raw(self) -> bytes:
        """The bytes of the body as they were sent."""
        return b"".join(arrival.data for arrival in self.arrivals)

    @property
    def size(self) -> int:
        """How many bytes the body had when it came."""
        return sum(len(arrival.data) for arrival in self.arrivals) + self.forgotten

    def shortened(self, most: int) -> "Received":
        """Return it with the first bytes of its body alone; the rest is counted in `forgotten`."""
        taken: list[Arrival] = []
        left = most
        for arrival in self.arrivals:
            if left <= 0:
                break
            whole = len(arrival.data) <= left
            taken.append(arrival if whole else Arrival(arrival.at, arrival.data[:left]))
            left -= len(arrival.data)
        size = sum(len(arrival.data) for arrival in taken)
        return replace(self, arrivals=tuple(taken), forgotten=self.size - size)


@dataclass(frozen=True)
class Purpose:
    """Why a request is sent. `location` points into the contract (`#/paths/...`), `kind` says what
    kind of request it is, in the report's words; `campaign` who made it."""

    campaign: str
    kind: str
    location: str
    meant: Meant = "valid"
    # What a refusal must be, for requests that are invalid or broken: allowed statuses.
    statuses: tuple[int, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Exchange:
    """One request and its answer. `asked` is the JSON value that the body means, whatever its
    encoding; None where it has no meaning. `received` is None where no answer came: see `error`.
    `reached` is False where not even a connection came about: nobody had the request."""

    id: str
    purpose: Purpose
    sent: Sent
    operation: Operation | None = None
    asked: Any = None
    received: Received | None = None
    error: str = ""
    reached: bool = True

    @property
    def meant(self) -> Meant:
        return self.purpose.meant

    @property
    def accepted(self) -> bool:
        """Whether the server answered with success."""
        return self.received is not None and 200 <= self.received.status < 300

    @property
    def wants_stream(self) -> bool:
        return isinstance(self.asked, dict) and self.asked.get("stream") is True

    @cached_property
    def answer(self) -> "Decoded":
        """The answer decoded once for all rules. Raises nothing: faults are told in it."""
        from .decoded import decode

        assert self.received is not None, "only an exchange with an answer is decoded"
        return decode(self.received)

    @cached_property
    def kept(self) -> "Exchange":
        """What is kept of it for the report when every rule has seen it: without what was decoded,
        and without the far end of a long body. Runs with thousands of findings fit in memory."""
        return replace(self, received=self.received and self.received.shortened(KEPT))

    def answered(
        self, received: Received | None, error: str = "", *, reached: bool = True
    ) -> "Exchange":
        return replace(self, received=received, error=error, reached=reached)


@dataclass(frozen=True)
class Probe:
    """Exchanges that belong together, by their role: `whole` and `streamed`, `plain` and `gzip`.

    `name` says which probe made them: rules over several exchanges ask for theirs.
    """

    id: str
    name: str
    exchanges: Mapping[str, Exchange]

    def __getitem__(self, role: str) -> Exchange:
        return self.exchanges[role]


@dataclass(frozen=True)
class Decoded:
    """A body decoded, and what was wrong on the way.

    `data` is the JSON value of a whole answer. `events` are those of the strict parser (see
    event_stream.py), `chunks` the JSON values of their data, `[DONE]` left out; a datum that is no
    JSON is `Unreadable`. `faults` are about content coding, charset and JSON, in sentences.
    """

    media_type: str
    text: bytes
    data: Any = None
    is_json: bool = False
    stream: Any = None  # event_stream.Stream, where the media type or the bytes are of one
    chunks: tuple[Any, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def is_stream(self) -> bool:
        return self.stream is not None


def _by_name(headers: Headers) -> dict[str, str]:
    """Return the values of headers by their names in lower case, joined where there are several."""
    values: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        values[key] = f"{values[key]}, {value}" if key in values else value
    return values
