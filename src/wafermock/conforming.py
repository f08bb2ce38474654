"""`assert_conforms`: whether an answer of anybody's server keeps the contract.

It judges by the rules of `wafermock.conformance`, those that look at one exchange: schemas, the
order of chunks, usage, errors, headers, encoding. `wafermock check` sends many requests more.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from .answers_read import Given, read_given
from .conformance.apps import Send, serving
from .conformance.client import Client
from .conformance.endpoint import Endpoint, EndpointError
from .conformance.error_bodies import clean_refusal
from .conformance.exchange import Exchange, Meant, Purpose, Received, Sent
from .conformance.planned import Subject, plan
from .conformance.rule import Bench, Rule
from .conformance.rules import all_rules
from .conformance.tally import Shown, Tally
from .conformance.wire import Silence
from .spec import Contract, Operation, load_contract

# Whether a valid request should have been answered is not the question of a response that is given:
# a limit that is reached, or a model that is not there, is an answer too.
_NOT_ASKED = ("ERR-VALID-ANSWERED",)

# Of a body alone, without its head, these say nothing.
_OF_HEADS = ("HDR-", "ENC-", "BODY-", "STREAM-MEDIA-TYPE", "SCHEMA-MEDIA-TYPE", "ERR-NO-SECRET")

# Where nobody knows what was asked, these say nothing: how many choices, which functions.
_OF_REQUESTS = ("SEM-CHOICES-COUNT", "SEM-TOOL-OFFERED")

# Statuses that refuse a request for what it is (RFC 9110, section 15.5); others refuse it for now.
_FOR_NOW = (401, 402, 403, 408, 429)

_SHOWN = 20

# The kind of an exchange that `assert_conforms` has begun itself.
ASKED_HERE = "asked"

# What is asked of an operation, by what it is answered with.
_SAYING_HELLO: dict[str, dict[str, Any]] = {
    "chat.completion": {"messages": [{"role": "user", "content": "Say hello."}]},
    "text_completion": {"prompt": "Hello"},
}


def assert_conforms(
    answered: Any,
    operation: str | None = None,
    *,
    request: Any = None,
    contract: Contract | None = None,
    model: str | None = None,
    api_key: str | None = None,
    headers: Mapping[str, str] | None = None,
    allow: Sequence[str] = (),
) -> None:
    """Fail unless an answer keeps the contract; the message lists what it breaks.

    `answered` is a response of httpx, requests or aiohttp (read, if it was streamed), or an SDK's
    raw one; a body alone: bytes, a text, the data of a JSON answer, a list of a stream's chunks; a
    base URL, an ASGI app or an aiohttp app, which are then asked: for a whole answer and a stream,
    or by the body `request`. An app runs in a thread, in an event loop of its own.

    `operation` is an id or a path of the contract; by default that which was asked, else chat.
    `request` is the body that was sent, where a response does not know it: what was asked decides
    on much of what may be answered. `model`, `api_key` and `headers` are for requests that are
    sent; one that is made here must not be refused. `allow` are ids of rules that may be broken.

    Raises AssertionError; TypeError for what is no answer, LookupError for an operation or a rule
    that there is not.
    """
    __tracebackhide__ = True
    used = contract or load_contract()
    unknown = sorted(set(allow) - {rule.id for rule in all_rules()})
    if unknown:
        raise LookupError(
            f"there is no rule {unknown[0]!r}; `wafermock rules` lists those there are"
        )
    wanted = None if operation is None else find_operation(used, operation)
    exchanges = _exchanges(answered, wanted, used, request, model, api_key, headers or {})
    broken = [
        (exchange, shown)
        for exchange, unjudged in exchanges
        for shown in judged(exchange, used, unjudged)
        if shown.state == "FAIL" and shown.rule not in allow
    ]
    if broken:
        raise AssertionError(_message(broken, api_key))
    if request is None:
        _all_answered(
            (exchange for exchange, _ in exchanges if exchange.purpose.kind == ASKED_HERE), api_key
        )


def _all_answered(asked: Iterable[Exchange], api_key: str | None) -> None:
    """Fail for a refusal of what was asked here: nobody else sees its status, and a server that
    refuses everything has shown nothing."""
    __tracebackhide__ = True
    for exchange in asked:
        if exchange.received is not None and not exchange.accepted:
            told = clean_refusal(exchange) or str(exchange.received.status)
            raise AssertionError(
                f"{_head(exchange)}: a valid request is refused: {without_key(told, api_key)}; are "
                "api_key= and model= right? (request=... asks for something else)"
            )


def judged(exchange: Exchange, contract: Contract, unjudged: tuple[str, ...] = ()) -> list[Shown]:
    """Judge one exchange by every rule that looks at one; return what is broken. `unjudged` is
    what the ids of rules begin with that cannot say anything of it."""
    left_out = (*_NOT_ASKED, *unjudged)
    rules: list[Rule] = [rule for rule in all_rules() if not rule.id.startswith(left_out)]
    return Tally(rules, Bench(contract)).exchange(exchange)


def find_operation(contract: Contract, named: str) -> Operation:
    """Find an operation by its id, its path, or `METHOD path`. Raises LookupError."""
    for each in contract.operations:
        if named in (each.id, each.path, f"{each.method.upper()} {each.path}"):
            return each
    known = ", ".join(f"{each.id} ({each.path})" for each in contract.operations)
    raise LookupError(f"the contract has no operation {named!r}; it has {known}")


def exchange_of(sent: Sent, received: Received, asked: Any, contract: Contract) -> Exchange:
    """Make the exchange of a request and its answer.

    The path may stand behind anything, and lack the `/v1` that clients of the OpenAI kind have in
    their base URL.
    """
    path = sent.target.partition("?")[0]
    ends = [path[at:] for at, sign in enumerate(path) if sign == "/"]
    routes = (contract.route(sent.method, end) for end in (*ends, *("/v1" + end for end in ends)))
    operation = next((route.operation for route in routes if route), None)
    return _exchange("1", sent, received, asked, operation)


def shown_breach(shown: Shown) -> str:
    """Write a breach in a line."""
    breach = shown.breach
    where = f" at {breach.where}" if breach.where else ""
    return f"{shown.rule}{where}: expected {breach.expected}, got {breach.actual}"


def _exchange(
    number: str,
    sent: Sent,
    received: Received,
    asked: Any,
    operation: Operation | None,
    kind: str = "given",
) -> Exchange:
    refused = 400 <= received.status < 500 and received.status not in _FOR_NOW
    meant: Meant = "invalid" if refused else "valid"
    statuses = (received.status,) if refused else ()
    where = f"#/paths/{operation.path.replace('/', '~1')}/{operation.method}" if operation else ""
    purpose = Purpose("assert_conforms", kind, where, meant, statuses)
    return Exchange(number, purpose, sent, operation, asked, received)


# ---------------------------------------------------------------------- what is judged


def _exchanges(
    answered: Any,
    operation: Operation | None,
    contract: Contract,
    request: Any,
    model: str | None,
    api_key: str | None,
    headers: Mapping[str, str],
) -> list[tuple[Exchange, tuple[str, ...]]]:
    """Return what is judged, each with the rules that cannot say anything of it."""
    __tracebackhide__ = True
    is_url = isinstance(answered, str) and answered.startswith(("http://", "https://"))
    given = None if is_url else read_given(answered)
    if given is not None:
        asked = given.asked if request is None else request
        unjudged = (*_OF_HEADS * given.body_only, *_OF_REQUESTS * (asked is None))
        return [(_given_exchange(given, operation, contract, asked), unjudged)]
    if not is_url and not callable(answered) and not hasattr(answered, "router"):
        raise TypeError(
            "assert_conforms() wants a response, a body, a URL or an app, "
            f"not {type(answered).__name__}"
        )
    chosen = operation or _chat(contract)
    subject = Subject(
        model or str(contract.models.listed()[0]["id"]), api_key, tuple(headers.items())
    )
    bodies = [request] if request is not None else list(_requests(chosen, subject.model))
    found = _run(lambda: _asked(answered, chosen, bodies, subject))
    return [(exchange, ()) for exchange in found]


def _given_exchange(
    given: Given, operation: Operation | None, contract: Contract, asked: Any
) -> Exchange:
    exchange = exchange_of(given.sent, given.received, asked, contract)
    chosen = operation or exchange.operation or (_chat(contract) if given.body_only else None)
    if chosen is None:
        target = urlsplit(given.sent.target).path
        raise LookupError(
            f"{given.sent.method} {target} is no operation of the contract; name one: operation=..."
        )
    streamed = exchange.answer.is_stream
    if exchange.asked is None and chosen.request_body is not None:
        # What nobody knows is taken for the least: who streams was asked to.
        exchange = replace(exchange, asked={"stream": True} if streamed else {})
    sent = replace(given.sent, method=chosen.method.upper())
    return replace(exchange, operation=chosen, sent=sent)


def _chat(contract: Contract) -> Operation:
    for each in contract.operations:
        if each.answer == "chat.completion":
            return each
    raise LookupError("the contract has no chat completions; name an operation: operation=...")


def _requests(operation: Operation, model: str) -> Iterable[Any]:
    """Yield the bodies that an operation is asked by: for a whole answer, and for a stream."""
    if operation.request_body is None:
        yield None
        return
    said = _SAYING_HELLO.get(operation.answer or "")
    if said is None:
        raise LookupError(f"{operation.id}: say what to ask it: request=...")
    yield {"model": model, **said}
    yield {"model": model, **said, "stream": True}


async def _asked(
    answered: Any, operation: Operation, bodies: Sequence[Any], subject: Subject
) -> list[Exchange]:
    if isinstance(answered, str):
        try:
            endpoint = Endpoint.at(answered)
        except EndpointError as error:
            raise ValueError(str(error)) from None
        async with Client(endpoint) as client:
            return await _sent_to(client.send, operation, bodies, subject)
    async with serving(answered) as send:
        return await _sent_to(send, operation, bodies, subject)


async def _sent_to(
    send: Send, operation: Operation, bodies: Sequence[Any], subject: Subject
) -> list[Exchange]:
    found = []
    for number, body in enumerate(bodies, start=1):
        values = {p.name: subject.model for p in operation.parameters if p.place == "path"}
        planned = plan(
            operation,
            body,
            subject,
            campaign="assert_conforms",
            kind=ASKED_HERE,
            path_values=values,
        )
        try:
            received = await send(planned.sent)
        except Silence as silence:
            raise AssertionError(
                f"{operation.method.upper()} {planned.sent.target}: no answer: {silence.reason}"
            ) from None
        found.append(_exchange(str(number), planned.sent, received, body, operation, ASKED_HERE))
    return found


def _run(work: Callable[[], Awaitable[list[Exchange]]]) -> list[Exchange]:
    """Run a coroutine in a thread: the caller may have an event loop that runs."""
    found: list[list[Exchange]] = []
    failed: list[BaseException] = []

    async def working() -> None:
        found.append(await work())

    def run() -> None:
        try:
            asyncio.run(working())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="wafermock conforms")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]


def _message(broken: Sequence[tuple[Exchange, Shown]], api_key: str | None) -> str:
    levels = {rule.id: rule for rule in all_rules()}
    places = "1 place" if len(broken) == 1 else f"{len(broken)} places"
    lines = [f"The answer breaks the contract in {places}:"]
    head = ""
    for exchange, shown in broken[:_SHOWN]:
        assert exchange.received is not None
        this = f"  {_head(exchange)} → {exchange.received.status}"
        lines += [this] if this != head else []
        head = this
        rule = levels[shown.rule].described
        lines.append(f"    {shown_breach(shown)}")
        lines.append(f"        {rule.requirement} ({rule.source})")
    if len(broken) > _SHOWN:
        lines.append(f"  and {len(broken) - _SHOWN} more")
    text = "\n".join(lines)
    return without_key(text, api_key)


def _head(exchange: Exchange) -> str:
    stream = " (a stream)" if exchange.wants_stream else ""
    return f"{exchange.sent.method} {exchange.sent.target.partition('?')[0]}{stream}"


def without_key(text: str, api_key: str | None) -> str:
    """Take a key out of a text, wherever it stands as a whole."""
    if not api_key:
        return text
    return re.sub(rf"(?<!\w){re.escape(api_key)}(?!\w)", "redacted", text)
