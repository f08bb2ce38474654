"""ENCODING: bodies in the right dress, and requests that mean the same in every dress."""

from collections.abc import Iterable

from ..decoded import Fault
from ..exchange import Exchange, Probe
from ..rule import Bench, Breach, Found, RuleBook, Unsupported
from ..sameness import Comparison

BOOK = RuleBook("ENCODING")

BODY = "#/paths/~1v1~1chat~1completions/post/requestBody/content"
DIFFERENT = "A client that changes how it sends a request gets another answer, and no error."


def _has_body(exchange: Exchange) -> bool:
    received = exchange.received
    return received is not None and received.ended == "complete" and bool(received.arrivals)


def _is_whole(exchange: Exchange) -> bool:
    return _has_body(exchange) and not exchange.answer.is_stream


def _faults(exchange: Exchange, *kinds: str) -> Iterable[Fault]:
    for fault in exchange.answer.faults:
        if isinstance(fault, Fault) and fault.kind in kinds:
            yield fault


# ---------------------------------------------------------------------- what comes


@BOOK.rule(
    "ENC-UTF8",
    "MUST",
    "JSON is UTF-8.",
    source="RFC 8259, section 8.1",
    guards="A client fails at the first letter beyond ASCII, or shows rubbish.",
    applies=_is_whole,
    needs="a whole answer",
)
def _utf8(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    for fault in _faults(exchange, "UTF-8"):
        yield Breach("UTF-8", str(fault), fault.where)


@BOOK.rule(
    "ENC-CHARSET",
    "MUST",
    "A whole answer is said to be in no other charset than UTF-8.",
    source="RFC 8259, section 8.1 and section 11 (no charset parameter is defined)",
    guards="A client that believes the header decodes the body wrongly.",
    applies=_is_whole,
    needs="a whole answer",
)
def _charset(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    for fault in _faults(exchange, "charset"):
        yield Breach("charset=utf-8, or none", str(fault), "header content-type")


@BOOK.rule(
    "ENC-BOM",
    "MUST",
    "No byte order mark stands before JSON.",
    source="RFC 8259, section 8.1",
    guards="Many JSON parsers refuse the whole body.",
    applies=_is_whole,
    needs="a whole answer",
)
def _bom(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    for fault in _faults(exchange, "BOM"):
        yield Breach("{ as the first byte", str(fault), fault.where)


@BOOK.rule(
    "ENC-SURROGATE",
    "SHOULD",
    "Texts are whole characters: no half of a surrogate pair.",
    source="RFC 8259, section 8.2; RFC 7493, section 2.1",
    guards="A client that writes the text anywhere fails: UTF-8 has no bytes for it.",
    applies=_has_body,
    needs="an answer with a body",
)
def _surrogate(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    for fault in _faults(exchange, "surrogate"):
        yield Breach("whole characters", str(fault), fault.where)
        return


@BOOK.rule(
    "ENC-CODING",
    "MUST",
    "Content-Encoding tells how the body is coded, and nothing else.",
    source="RFC 9110, section 8.4",
    guards="A client cannot read the body at all.",
    applies=_has_body,
    needs="an answer with a body",
)
def _coding(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    for fault in _faults(exchange, "coding", "coding unsaid"):
        yield Breach("a body that is as it is called", str(fault), "header content-encoding")
        return


@BOOK.rule(
    "ENC-ACCEPTED",
    "SHOULD",
    "A body is coded only as the client takes it.",
    source="RFC 9110, section 12.5.3; observed: answers are plain where nothing is asked for",
    guards="A client without that coding cannot read the body.",
    applies=_has_body,
    needs="an answer with a body",
)
def _accepted(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    assert exchange.received is not None
    named = exchange.received.header("content-encoding") or ""
    if not named:
        return
    taken = exchange.sent.header("accept-encoding")
    for coding in (name.strip().lower() for name in named.split(",")):
        if coding not in ("", "identity") and not takes(taken, coding):
            expected = "no coding" if taken is None else f"one of: {taken}"
            yield Breach(expected, f"it is {coding[:40]}", "header content-encoding")


def takes(accept_encoding: str | None, coding: str) -> bool:
    """Say whether a client takes a content coding (RFC 9110, section 12.5.3). One that says
    nothing takes none here, stricter than the standard is."""
    weights = {}
    for item in (accept_encoding or "").split(","):
        name, *parameters = (part.strip().lower() for part in item.split(";"))
        weight = next((p[2:] for p in parameters if p.startswith("q=")), "1")
        weights[name.removeprefix("x-")] = weight.strip(" 0.") != ""
    return weights.get(coding.removeprefix("x-"), weights.get("*", False))


@BOOK.rule(
    "ENC-CONTINUE",
    "MUST",
    "A request that expects 100 is told 100 before its body is taken.",
    source="RFC 9110, section 10.1.1",
    guards="A client waits for the word, a second or for ever, before it sends the body.",
    applies=lambda exchange: exchange.sent.expect_continue and exchange.accepted,
    needs="a request with Expect: 100-continue",
)
def _continue(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    assert exchange.received is not None
    if not exchange.received.continued:
        yield Breach("100 Continue", "the final status came without it", "status")


# ---------------------------------------------------------------------- what is sent

MSGPACK = ("application/msgpack", "application/vnd.msgpack", "application/x-msgpack")


def _same(
    id: str,
    requirement: str,
    probe: str,
    role: str,
    *,
    source: str,
    optional: bool = True,
    guards: str = DIFFERENT,
) -> None:
    """Put a rule there that the request of a role means what the plain one means."""
    comparison = Comparison("plain", role, optional)

    @BOOK.probe_rule(
        id,
        "MUST",
        requirement,
        source=source,
        guards=guards,
        probe=probe,
        needs=f"a plain request, and the same as: {role}",
    )
    def judge(probe: Probe, bench: Bench) -> Iterable[Found]:
        return comparison.judge(probe, bench)


for _id, _spelling in zip(("MSGPACK", "MSGPACK-VND", "MSGPACK-X"), MSGPACK, strict=True):
    _same(
        f"ENC-{_id}",
        f"A body of {_spelling} means what the same JSON means.",
        "msgpack",
        _spelling,
        source=f"{BODY}/{_spelling.replace('/', '~1')}",
    )
_same(
    "ENC-MSGPACK-GZIP",
    "A gzip body of MessagePack means what the same JSON means.",
    "msgpack",
    "gzip",
    source=f"{BODY}; RFC 9110, section 8.4",
)
_same(
    "ENC-GZIP",
    "A gzip body means what the same body plain means.",
    "gzip",
    "gzip",
    source="observed traffic, 2026: the official SDKs send gzip; RFC 9110, section 8.4",
)
_same(
    "ENC-CHUNKED",
    "A chunked body means what the same body whole means.",
    "encoding",
    "chunked",
    source="RFC 9112, section 7.1",
    optional=False,
)
_same(
    "ENC-EXPECT",
    "A request that expects 100 means what the same request means.",
    "encoding",
    "expect",
    source="RFC 9110, section 10.1.1",
    optional=False,
)
_same(
    "ENC-CHARSET-SENT",
    "`charset=utf-8` beside the media type of a request means nothing.",
    "encoding",
    "charset",
    source="RFC 8259, section 11",
    optional=False,
    guards="HTTP libraries add the parameter unasked: the client is refused, or read otherwise.",
)
_same(
    "ENC-ANSWER-GZIP",
    "An answer to a client that takes gzip says what the plain answer says.",
    "encoding",
    "accept gzip",
    source="RFC 9110, section 12.5.3",
    optional=False,
    guards="HTTP libraries ask for gzip unasked: the answer is another, or cannot be read.",
)
_same(
    "ENC-HTTP2",
    "A request over HTTP/2 means what the same request over HTTP/1.1 means.",
    "http2",
    "http2",
    source="RFC 9113, section 8",
)


@BOOK.probe_rule(
    "ENC-IDENTITY",
    "SHOULD",
    "An answer to a client that takes no coding is plain.",
    source="RFC 9110, section 12.5.3",
    guards="A client without gzip cannot read the answer.",
    probe="encoding",
    needs="a request with Accept-Encoding: identity",
)
def _identity(probe: Probe, bench: Bench) -> Iterable[Found]:
    exchange = probe.exchanges.get("accept identity")
    if exchange is None or exchange.received is None:
        yield Unsupported("no request was sent for 'accept identity'")
        return
    coding = exchange.received.header("content-encoding") or "identity"
    if coding.strip().lower() != "identity":
        yield Breach("no content coding", f"it is {coding[:40]}", "header content-encoding")
