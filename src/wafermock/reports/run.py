"""The result model: what one run of the judge found. Every report is made from a `Run` alone.

Plain frozen data: texts, numbers, tuples and mappings of them. `result_file` writes and reads it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

# The version of the result file. A reader refuses a larger first number.
VERSION = "1.0"

Level = Literal["MUST", "SHOULD", "MAY"]

# What a request is meant to be: one that keeps the contract, one that breaks it on purpose, or none
# of the contract's at all (bad JSON, bad gzip, an unknown path).
Meant = Literal["valid", "invalid", "broken"]

# What became of a rule. FAIL: a MUST is broken. WARN: a SHOULD is. INFO: worth knowing, nobody's
# fault. UNSUPPORTED: the server says cleanly that it cannot. NOT RUN: nothing that was seen asks
# for the rule; `Verdict.why` says what would have.
State = Literal["PASS", "FAIL", "WARN", "INFO", "UNSUPPORTED", "NOT RUN"]
STATES: tuple[State, ...] = ("FAIL", "WARN", "INFO", "UNSUPPORTED", "NOT RUN", "PASS")


@dataclass(frozen=True)
class Rule:
    """A requirement. `source` is a pointer into the contract, or a standard and its section;
    `guards` is the fault of a client that the rule guards from."""

    id: str
    group: str
    level: Level
    requirement: str
    source: str
    guards: str


@dataclass(frozen=True)
class Verdict:
    """What became of one rule: how many exchanges kept it, and how many broke it.

    `evidence` names exchanges that were judged, `findings` what was found. `why` explains a state
    that is neither PASS nor FAIL.
    """

    rule: str
    state: State
    kept: int = 0
    broken: int = 0
    evidence: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell of the table location x kind x state, which is never collapsed.

    `location` is a pointer into the contract (a property, a constraint, an operation), `kind` the
    kind of request that was sent (`example`, `boundary: above maximum`, `wrong type`, ...).
    """

    location: str
    kind: str
    rule: str
    state: State
    count: int


@dataclass(frozen=True)
class Part:
    """Bytes as they arrived, `at` seconds after the request was sent."""

    at: float
    data: bytes


@dataclass(frozen=True)
class Traffic:
    """One request and what came back, with every secret masked.

    `status` is None where nothing came back; `error` says why then, and with a status what was
    wrong with the framing. `ended` says how the body
    ended: `complete`, `cut`, `timeout`, `left` (the client hung up) or `overlong`. `omitted` is
    the number of bytes of the answer that are not kept.
    """

    id: str
    campaign: str
    kind: str
    method: str
    target: str
    request_headers: tuple[tuple[str, str], ...] = ()
    request_body: bytes = b""
    status: int | None = None
    reason: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    parts: tuple[Part, ...] = ()
    ended: str = "complete"
    error: str = ""
    omitted: int = 0
    # How it was sent, where that is not the usual: HTTP's version, the lengths of the chunks of the
    # request's body. What it was meant to be, which statuses a refusal may have, and
    # what else rules were told of it.
    http: str = "1.1"
    chunks: tuple[int, ...] = ()
    meant: Meant = "valid"
    statuses: tuple[int, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        return b"".join(part.data for part in self.parts)


@dataclass(frozen=True)
class Finding:
    """A broken rule at one place: the smallest traffic that shows it.

    `where` points into the answer (`chunk 3, /choices/0/delta/role`), `location` into the contract.
    `expected` and `actual` are sentences or values as texts. `count` is how often it was seen with
    the same rule, location and kind. `key` is what a baseline knows it by: `rule location kind`.
    """

    id: str
    rule: str
    state: State
    location: str
    kind: str
    where: str
    expected: str
    actual: str
    traffic: tuple[Traffic, ...] = ()
    count: int = 1
    curl: str = ""
    python: str = ""
    known: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.rule, self.location, self.kind)


@dataclass(frozen=True)
class Capability:
    """Something a server can or cannot do: `state` is PASS, FAIL (it refuses, not cleanly) or
    UNSUPPORTED; `why` is the evidence in a sentence."""

    name: str
    state: State
    why: str = ""


@dataclass(frozen=True)
class Spread:
    """How a measured quantity is spread over `count` samples; seconds, or tokens a second.

    `histogram` lists (upper bound, how many samples), the bounds rising; the quantiles come from
    it.
    """

    count: int
    p50: float
    p95: float
    p99: float
    histogram: tuple[tuple[float, int], ...] = ()


@dataclass(frozen=True)
class Budget:
    """What a run may cost. None: without bound. `seconds` and `rate` (requests a second)."""

    name: str
    requests: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    rate: float | None = None
    concurrency: int = 1


@dataclass(frozen=True)
class Cost:
    """What a run has cost: requests and tokens sent, how often it was told to wait, seconds."""

    requests: int = 0
    tokens: int = 0
    waits: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Exercised:
    """One thing of the contract, and how often the run exercised it (0: not at all).

    `section` is `operation`, `property`, `enum value`, `constraint`, `error response` or `stream
    shape`; `location` its pointer; `name` how people call it.
    """

    section: str
    location: str
    name: str
    count: int


@dataclass(frozen=True)
class Endpoint:
    """Who was judged. `url` is without user, password and query."""

    url: str
    model: str = ""
    server: str = ""


@dataclass(frozen=True)
class Tool:
    """What judged: versions and hashes of the tool and of the contract."""

    version: str
    contract: str
    profile: str
    python: str = ""
    libraries: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """One run. Times are Unix seconds. `ended_by` says why it ended: `done`, `budget`,
    `interrupted` or `unreachable`."""

    tool: Tool
    endpoint: Endpoint
    began: float
    seed: int
    budget: Budget
    cost: Cost
    rules: tuple[Rule, ...]
    verdicts: tuple[Verdict, ...]
    findings: tuple[Finding, ...] = ()
    cells: tuple[Cell, ...] = ()
    capabilities: tuple[Capability, ...] = ()
    timings: Mapping[str, Spread] = field(default_factory=dict)
    coverage: tuple[Exercised, ...] = ()
    ended_by: str = "done"
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def state(self) -> State:
        """The worst that became of any rule; findings that a baseline knows do not count."""
        states = {finding.state for finding in self.findings if not finding.known}
        for state in ("FAIL", "WARN"):
            if state in states:
                return state
        return "PASS"

    @property
    def conforms(self) -> bool:
        """Whether nothing fails that a baseline does not know."""
        return self.state != "FAIL"
