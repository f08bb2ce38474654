"""HEADERS: what stands beside the body, and has to fit."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from email.utils import parsedate_to_datetime

from wafermock.reports.run import State

from ..assembly import whole
from ..error_bodies import shortened
from ..exchange import Exchange, Probe
from ..rule import Bench, Breach, Found, RuleBook, Unsupported
from . import rate_limits
from .header_fields import DECLARED, fields

BOOK = RuleBook("HEADERS")

ANY = "an answer"


def _has(*names: str) -> Callable[[Exchange], bool]:
    return lambda exchange: any(name in fields(exchange) for name in names)


def _status(exchange: Exchange) -> int:
    assert exchange.received is not None
    return exchange.received.status


# ---------------------------------------------------------------------- whose answer it is


@BOOK.rule(
    "HDR-REQUEST-ID",
    "SHOULD",
    "Every answer has an x-request-id.",
    source=f"{DECLARED}/x-request-id; observed traffic, 2026",
    guards="Nobody can say to support which request failed.",
    applies=lambda exchange: True,
    needs=ANY,
)
def _request_id(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    if not any(fields(exchange).get("x-request-id", ())):
        yield Breach("an id", "it is not there", "header x-request-id")


@BOOK.probe_rule(
    "HDR-REQUEST-ID-OWN",
    "SHOULD",
    "Different requests have different x-request-ids.",
    source=f"{DECLARED}/x-request-id (the id of the request)",
    guards="Two requests cannot be told apart in logs.",
    probe="calls",
    needs="several different requests",
)
def _own_request_id(probe: Probe, bench: Bench) -> Iterable[Found]:
    seen: dict[str, str] = {}
    for role, exchange in probe.exchanges.items():
        for id in fields(exchange).get("x-request-id", ())[:1] if exchange.received else ():
            if seen.setdefault(id, role) != role:
                told = f"{role} and {seen[id]}: {shortened(id, 80)}"
                yield Breach("an id of its own", told, "header x-request-id")
                return
    if len(seen) < 2:
        yield Unsupported("there are no x-request-ids to compare")


@BOOK.rule(
    "HDR-INFERENCE-ID",
    "MUST",
    "inference-id is the id of the body.",
    source=f"{DECLARED}/inference-id",
    guards="A client that logs the header finds no such answer.",
    applies=lambda exchange: exchange.accepted and "inference-id" in fields(exchange),
    needs="an answer with inference-id",
)
def _inference_id(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    answer = whole(exchange)
    id = answer.get("id") if isinstance(answer, dict) else None
    told = fields(exchange)["inference-id"][0]
    if isinstance(id, str) and id != told:
        yield Breach(shortened(id, 80), shortened(told, 80), "header inference-id")


BOOK.rules += rate_limits.BOOK.rules


@BOOK.rule(
    "HDR-RETRY-AFTER",
    "MUST",
    "Retry-After, where it stands, is a number of seconds, or a date.",
    source="RFC 9110, section 10.2.3",
    guards="A client that waits as it is told fails to read for how long.",
    applies=lambda exchange: True,
    needs=ANY,
)
def _retry_after(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    for value in fields(exchange).get("retry-after", ()):
        if re.fullmatch("[0-9]+", value) or is_date(value):
            continue
        # With a fraction the SDKs still read it; the standard does not have it.
        state: State | None = "WARN" if re.fullmatch(r"[0-9]+\.[0-9]+", value) else None
        told = shortened(value, 60) or "it is empty"
        yield Breach("whole seconds, or a date", told, "header retry-after", state=state)


# ---------------------------------------------------------------------- HTTP's own


def is_date(text: str) -> bool:
    """Say whether a text is a date of HTTP (RFC 9110, section 5.6.7), one of the three forms."""
    if not _DATE.fullmatch(text):
        return False
    try:
        parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return _ASCTIME.fullmatch(text) is not None
    return True


_ASCTIME = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-3][0-9] [0-9:]{8} [0-9]{4}")
_DATE = re.compile(
    r"[A-Z][a-z]{2,8}, [0-9]{2}[ -][A-Z][a-z]{2}[ -][0-9]{2,4} [0-9:]{8} GMT"
    rf"|{_ASCTIME.pattern}"
)


@BOOK.rule(
    "HDR-DATE",
    "SHOULD",
    "Every answer has a Date.",
    source="RFC 9110, section 6.6.1 (a server with a clock)",
    guards="A client cannot tell how old an answer is, nor how its clock differs.",
    applies=lambda exchange: _status(exchange) < 500,
    needs=ANY,
)
def _date(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    if "date" not in fields(exchange):
        yield Breach("a date", "it is not there", "header date")


@BOOK.rule(
    "HDR-DATE-FORM",
    "MUST",
    "Date is a date of HTTP.",
    source="RFC 9110, section 5.6.7",
    guards="A client that reads it fails.",
    applies=_has("date"),
    needs="an answer with Date",
)
def _date_form(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    value = fields(exchange)["date"][0]
    if not is_date(value):
        yield Breach("Sun, 06 Nov 1994 08:49:37 GMT", shortened(value, 60), "header date")


@BOOK.rule(
    "HDR-CACHE",
    "SHOULD",
    "No cache may keep a completion, nor give any answer to others.",
    source="RFC 9111, sections 3.5 and 5.2.2",
    guards="A cache between client and server answers one user with another's completion.",
    applies=lambda exchange: True,
    needs=ANY,
)
def _cache(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    told = ", ".join(fields(exchange).get("cache-control", ())).lower()
    if not told:
        return
    directives = {name.strip(): value.strip(' "') for name, _, value in
                  (item.partition("=") for item in told.split(","))}  # fmt: skip
    if {"no-store", "no-cache"} & directives.keys():
        return
    is_shared = "public" in directives or _lasts(directives.get("s-maxage"))
    is_kept = _lasts(directives.get("max-age")) and exchange.sent.method not in ("GET", "HEAD")
    if is_shared or is_kept:
        yield Breach("no-store", shortened(told, 80), "header cache-control")


def _lasts(seconds: str | None) -> bool:
    return seconds is not None and seconds.strip("0") != ""


@BOOK.rule(
    "HDR-CORS",
    "MAY",
    "Access-Control-Allow-Origin: * goes with no credentials.",
    source="Fetch, section 3.3.3 (CORS protocol and credentials)",
    guards="A page in a browser gets an error instead of the answer.",
    applies=lambda exchange: True,
    needs=ANY,
)
def _cors(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    origins = fields(exchange).get("access-control-allow-origin", ())
    credentials = fields(exchange).get("access-control-allow-credentials", ())
    if "*" in origins and "true" in [value.lower() for value in credentials]:
        name = "header access-control-allow-credentials"
        yield Breach("an origin, or no credentials", "*, with credentials", name)


@BOOK.rule(
    "HDR-CONTENT-TYPE",
    "SHOULD",
    "An answer with a body has a Content-Type.",
    source="RFC 9110, section 8.3",
    guards="A client guesses what the body is.",
    applies=lambda exchange: exchange.received is not None and bool(exchange.received.raw),
    needs="an answer with a body",
)
def _content_type(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    if not any(fields(exchange).get("content-type", ())):
        yield Breach("a media type", "it is not there", "header content-type")


def _once(names: Sequence[str], exchange: Exchange) -> Iterator[Found]:
    found = fields(exchange)
    for name in names:
        values = found.get(name, ())
        if len(values) > 1:
            told = shortened(" and ".join(values), 100)
            yield Breach("it stands once", f"{len(values)} times: {told}", f"header {name}")


@BOOK.rule(
    "HDR-CONTENT-TYPE-ONCE",
    "MUST",
    "Content-Type stands once.",
    source="RFC 9110, sections 5.3 and 8.3",
    guards="Clients take the first, the last, or both joined: each reads another type.",
    applies=_has("content-type"),
    needs="an answer with Content-Type",
)
def _content_type_once(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    return _once(("content-type",), exchange)


@BOOK.rule(
    "HDR-LENGTH-ONCE",
    "MUST",
    "Content-Length stands once, and not beside Transfer-Encoding.",
    source="RFC 9112, sections 6.1 and 6.3",
    guards="A proxy and the client disagree on where the answer ends: answers are smuggled.",
    applies=_has("content-length"),
    needs="an answer with Content-Length",
)
def _length_once(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    yield from _once(("content-length",), exchange)
    if "transfer-encoding" in fields(exchange):
        yield Breach("one of the two", "both are there", "header content-length")


# Each is one value, and no list: to join two of them means nothing.
_SINGLE = ("date", "retry-after", "location", "etag", "last-modified", "x-request-id",
           "inference-id")  # fmt: skip


@BOOK.rule(
    "HDR-ONCE",
    "MUST",
    "Headers with one value stand once.",
    source="RFC 9110, section 5.3",
    guards="Clients take the first, the last, or both joined.",
    applies=lambda exchange: True,
    needs=ANY,
)
def _single_once(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    return _once(_SINGLE, exchange)


# What is said between two that are next to each other, or by a client, and never to it.
_PASSED_ON = ("proxy-connection", "proxy-authorization", "te", "host", "authorization", "cookie",
              "expect")  # fmt: skip


@BOOK.rule(
    "HDR-HOP",
    "SHOULD",
    "No header of another hop stands in an answer, nor one that only requests have.",
    source="RFC 9110, section 7.6.1; RFC 9113, section 8.2.2",
    guards="A client takes what was said to a proxy for its own; keys of others may leak.",
    applies=lambda exchange: True,
    needs=ANY,
)
def _hop(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    assert exchange.received is not None
    found = fields(exchange)
    there = [name for name in _PASSED_ON if name in found]
    if exchange.received.http.startswith("2"):
        own = ("connection", "keep-alive", "transfer-encoding", "upgrade")
        there += [name for name in own if name in found]
    if "proxy-authenticate" in found and _status(exchange) != 407:
        there.append("proxy-authenticate")
    for name in there:
        yield Breach("it is not there", "it is there", f"header {name}")
