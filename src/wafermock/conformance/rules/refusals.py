"""Refusals: what is bad is refused, in the right way, and what is valid is not.

A bad request says in `purpose.facts["fault"]` what is wrong with it (see `Fault`); one that does
not breaks a constraint of the contract (`invalid`), or is no message of it at all (`broken`). The
same cause breaks one rule: taken for good, `ERR-REFUSED-...`; called the server's fault,
`ERR-NO-5XX`; called another fault of the client, `ERR-STATUS`.
"""

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Literal

from wafermock.reports.run import Level, State

from ..error_bodies import clean_refusal, is_absent, refused_in_stream
from ..exchange import Exchange
from ..rule import Bench, Breach, Found, RuleBook, Unsupported

BOOK = RuleBook("ERRORS")

Fault = Literal[
    "constraint", "requirement", "no key", "malformed key", "wrong key", "model", "path", "method",
    "JSON", "MessagePack", "gzip", "coding", "media type", "empty", "no object", "size", "bytes",
]  # fmt: skip

ERRORS = "#/components/responses"
TOO_MANY = 429


def fault_of(exchange: Exchange) -> str:
    """Name what is wrong with a request; empty for a valid one."""
    if exchange.meant == "valid":
        return ""
    named = exchange.purpose.facts.get("fault")
    return str(named) if named else "constraint" if exchange.meant == "invalid" else "bytes"


def status_of(exchange: Exchange) -> int:
    """Return the status of an answer."""
    assert exchange.received is not None
    return exchange.received.status


def _is_bad(exchange: Exchange) -> bool:
    return exchange.purpose.meant != "valid" and status_of(exchange) != TOO_MANY


def is_error(exchange: Exchange) -> bool:
    """Whether there is a body that tells of an error. An answer to HEAD has none."""
    return status_of(exchange) >= 400 and exchange.sent.method != "HEAD"


def expected(exchange: Exchange) -> str:
    """Say which statuses a bad request may get."""
    statuses = exchange.purpose.statuses
    return " or ".join(map(str, statuses)) if statuses else "a status of 400 to 499"


# ---------------------------------------------------------------------- refused


@dataclass(frozen=True)
class _Refused:
    fault: Fault
    id: str
    what: str
    source: str
    guards: str
    level: Level = "MUST"
    # A fact of the bench by which a server is known not to look at this at all: `any_key`.
    unless: str = ""

    @property
    def option(self) -> str:
        """The option by which the judge is told that fact."""
        return f"--{self.unless.replace('_', '-')}"

    @property
    def told(self) -> str:
        """The fact in words: `any key`."""
        return self.unless.replace("_", " ")


_REFUSED = (
    _Refused(
        "constraint", "CONSTRAINT", "A body that breaks a constraint of the contract",
        "#/paths/~1v1~1chat~1completions/post/requestBody",
        "A misspelt or misplaced parameter passes the tests and does nothing in production.",
    ),
    _Refused(
        "requirement", "REQUIREMENT", "A body whose parameters do not go together",
        "the contract's rules between parameters; the documents' descriptions of them",
        "A client believes that both parameters hold, and one of them is dropped in silence.",
    ),
    _Refused(
        "no key", "NO-KEY", "A request without a key", "#/components/securitySchemes/BearerAuth",
        "A client that forgets the key shows it in production only.",
    ),
    _Refused(
        "malformed key", "MALFORMED-KEY",
        "An Authorization header of another scheme, or without a key",
        "#/components/securitySchemes/BearerAuth; RFC 9110, section 11.6.2",
        "A client that writes the header wrongly is not told.",
    ),
    _Refused(
        "wrong key", "WRONG-KEY", "A wrong key", f"{ERRORS}/Unauthorized",
        "A client never learns to tell a wrong key from an answer.",
        unless="any_key",
    ),
    _Refused(
        "model", "MODEL", "A model that is not there", f"{ERRORS}/NotFound",
        "A misspelt model is answered by another one.",
        unless="any_model",
    ),
    _Refused(
        "path", "PATH", "A path that the contract does not have", "RFC 9110, section 15.5.5",
        "A wrong base URL looks like a server that answers.",
    ),
    _Refused(
        "method", "METHOD", "A method that a path does not know", "RFC 9110, section 15.5.6",
        "A request that a proxy turned into another method is answered as if nothing were wrong.",
    ),
    _Refused(
        "JSON", "JSON", "A body that is called JSON and is not", "RFC 8259, section 2",
        "A client that sends torn JSON is answered by chance.",
    ),
    _Refused(
        "MessagePack", "MSGPACK", "A body that is called MessagePack and is not",
        "the MessagePack specification", "A client that sends torn MessagePack is not told.",
    ),
    _Refused(
        "gzip", "GZIP", "A body that is called gzip and is not",
        "RFC 9110, section 8.4; RFC 1952",
        "A client that names the coding and forgets to compress is not told.",
    ),
    _Refused(
        "coding", "CODING", "A body in a content coding that nobody knows",
        "RFC 9110, section 15.5.16", "A client is answered to what the server could not read.",
    ),
    _Refused(
        "media type", "MEDIA-TYPE", "A body of a media type that the operation does not take",
        "RFC 9110, section 15.5.16; the contract's requestBody.content",
        "A client that forgets the Content-Type works here, and nowhere else.",
    ),
    _Refused(
        "empty", "EMPTY", "A body that is empty where one is wanted",
        "the contract's requestBody.required",
        "A client that loses its body (a redirect, a stream read twice) is not told.",
    ),
    _Refused(
        "no object", "NO-OBJECT", "A body that is JSON and no object",
        "the contract's request schema: type object",
        "A client that wraps its request in an array is not told.",
    ),
    _Refused(
        "size", "SIZE", "A body of many MiB", f"{ERRORS}/ContentTooLarge",
        "A server without a bound falls over at the first large body.",
        level="MAY",
    ),
    _Refused(
        "bytes", "BYTES", "A request that is no message of the contract",
        "RFC 9110, section 15.5.1", "What a client breaks on the way is taken for what it meant.",
    ),
)  # fmt: skip


def _refusal_rule(entry: _Refused) -> None:
    @BOOK.rule(
        f"ERR-REFUSED-{entry.id}",
        entry.level,
        f"{entry.what} is refused.",
        source=entry.source,
        guards=entry.guards,
        applies=lambda exchange: _is_bad(exchange) and fault_of(exchange) == entry.fault,
        needs=f"a request of this kind: {entry.fault}",
    )
    def judge(exchange: Exchange, bench: Bench) -> Iterable[Found]:
        status = status_of(exchange)
        if status >= 300 or status in exchange.purpose.statuses or refused_in_stream(exchange):
            return
        if entry.unless and bench.facts.get(entry.unless):
            yield Unsupported(f"the server does not look at it ({entry.told})")
            return
        wanted = expected(exchange)
        if entry.unless:
            wanted += f"; of a mock that is meant to take it, say so: {entry.option}"
        yield Breach(wanted, f"the status is {status}", "status")


for _entry in _REFUSED:
    _refusal_rule(_entry)


def takes_all(broken: Container[str]) -> list[str]:
    """Say what to do where, by the ids of the rules that are broken, a server takes any key or any
    model, as mocks are meant to. One sentence for each: parts of a run may see one of them."""
    return [
        f"the server takes {e.told}: if it is a mock that is meant to, check it with {e.option}"
        for e in _REFUSED
        if e.unless and f"ERR-REFUSED-{e.id}" in broken
    ]


@BOOK.rule(
    "ERR-STATUS",
    "MUST",
    "A refusal has the status that says what is wrong.",
    source=f"{ERRORS}; RFC 9110, section 15.5",
    guards="A client retries what can never work, or gives up what would: it goes by the status.",
    applies=lambda exchange: (
        _is_bad(exchange) and fault_of(exchange) != "size" and bool(exchange.purpose.statuses)
    ),
    needs="a bad request",
)
def _right_status(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    status = status_of(exchange)
    if 300 <= status < 500 and status not in exchange.purpose.statuses:
        yield Breach(expected(exchange), f"the status is {status}", "status")


@BOOK.rule(
    "ERR-NO-5XX",
    "MUST",
    "A client's fault is not called the server's.",
    source="RFC 9110, section 15.6",
    guards="Clients retry 5xx: a request that can never work is sent again and again.",
    applies=_is_bad,
    needs="a bad request",
)
def _no_server_error(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    status = status_of(exchange)
    if status >= 500 and status not in exchange.purpose.statuses:
        yield Breach(expected(exchange), f"the status is {status}", "status")


# What a server says that cannot do something, and knows it.
_CANNOT = re.compile(
    r"\b(?:un|not[ _])supported|\bdoes(?:n't| not) support|\bnot[ _](?:implemented|available|"
    r"allowed|enabled)|\bunsupported|\bunavailable",
    re.IGNORECASE,
)
_MEDIA = 415


@BOOK.rule(
    "ERR-VALID-ANSWERED",
    "MUST",
    "A valid request is answered.",
    source="#/paths (each operation's success response)",
    guards="A client that keeps the contract is refused all the same.",
    applies=lambda exchange: exchange.meant == "valid" and status_of(exchange) != TOO_MANY,
    needs="a valid request",
)
def _valid_is_answered(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    status = status_of(exchange)
    if exchange.accepted:
        return
    said = clean_refusal(exchange)
    if said is not None and (
        exchange.purpose.campaign == "capabilities" or status == _MEDIA or _CANNOT.search(said)
    ):
        yield Unsupported(said)
        return
    if is_absent(exchange):
        yield Unsupported(f"{status}: there is no such operation")
        return
    told = said or f"the status is {status}"
    # What is valid by the schema, and nobody would ask, may be refused for what it says.
    unlikely = said is not None and bool(exchange.purpose.facts.get("unlikely"))
    yield Breach("a status of 200 to 299", told, "status", state="WARN" if unlikely else None)


@BOOK.rule(
    "ERR-ANSWERED",
    "MUST",
    "Every request that a server takes is answered.",
    source="RFC 9110, section 3.4",
    guards="A connection that is closed or stays silent tells nothing: the client asks once more, "
    "and with a server that the request has ended, everybody else waits as well.",
    # Who does not speak HTTP/2 closes the connection, and a body of many MiB may be cut off.
    applies=lambda exchange: (
        exchange.reached and exchange.sent.http != "2" and fault_of(exchange) != "size"
    ),
    needs="a request",
    unanswered=True,
)
def _is_answered(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    if exchange.received is None:
        # What is no message of the contract's at all may just be dropped (RFC 9112, section 2.2).
        state: State | None = "WARN" if fault_of(exchange) == "bytes" else None
        yield Breach("an answer", exchange.error or "nothing came", "connection", state=state)
