"""Sending a finding's requests again, to the endpoint it was found at or to any other."""

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from wafermock.reports.run import Finding, Traffic
from wafermock.spec import Contract, Operation

from .client import Client
from .exchange import Exchange, Headers, Purpose, Sent
from .secrets import MASK, SECRET_HEADERS
from .wire import Silence, Unreachable


async def replay(
    finding: Finding,
    client: Client,
    *,
    api_key: str | None = None,
    headers: Headers = (),
    contract: Contract | None = None,
) -> list[Exchange]:
    """Send the requests of a finding, one behind the other, and return the exchanges.

    `api_key` is put where the key was, `headers` where they were masked. With a contract each
    exchange knows its operation, so that rules can judge it. An answer that does not come is told
    in the exchange.
    """
    return [
        await _again(client, planned) for planned in _exchanges(finding, api_key, headers, contract)
    ]


async def _again(client: Client, exchange: Exchange) -> Exchange:
    try:
        return exchange.answered(await client.send(exchange.sent))
    except Silence as silence:
        reached = not isinstance(silence, Unreachable)
        return exchange.answered(None, silence.reason, reached=reached)


def _exchanges(
    finding: Finding, api_key: str | None, own: Headers, contract: Contract | None
) -> Iterator[Exchange]:
    for traffic in finding.traffic:
        sent = sent_again(traffic, api_key, own)
        purpose = Purpose(
            traffic.campaign,
            traffic.kind,
            finding.location,
            traffic.meant,
            traffic.statuses,
            traffic.facts,
        )
        yield Exchange(traffic.id, purpose, sent, _operation(sent, contract), _meaning(sent))


def sent_again(traffic: Traffic, api_key: str | None = None, own: Headers = ()) -> Sent:
    """Return a request as it went out, with the key back in its place, and the user's own headers.

    Without a key the mask stays: who asks for no key does not mind.
    """
    theirs = {name.lower(): value for name, value in own}

    def unmasked(name: str, value: str) -> str:
        if MASK in value and name.lower() in theirs:
            return theirs[name.lower()]
        return value.replace(MASK, api_key or MASK) if name.lower() in SECRET_HEADERS else value

    headers = tuple((name, unmasked(name, value)) for name, value in traffic.request_headers)
    sent = Sent(traffic.method, traffic.target, headers, traffic.request_body, traffic.http)
    if (sent.header("transfer-encoding") or "").lower() == "chunked":
        sent = replace(sent, chunks=traffic.chunks or (len(sent.body),))
    if (sent.header("expect") or "").lower() == "100-continue":
        sent = replace(sent, expect_continue=True)
    if traffic.ended == "left":
        sent = replace(sent, leave_after=len(traffic.body) + traffic.omitted)
    return sent


def _operation(sent: Sent, contract: Contract | None) -> Operation | None:
    if contract is None:
        return None
    route = contract.route(sent.method, sent.target.partition("?")[0])
    return None if route is None else route.operation


def _meaning(sent: Sent) -> Any:
    """Return the JSON value that a body means; None: it has no meaning."""
    media_type = sent.header("content-type") or ""
    body = sent.body
    try:
        if (sent.header("content-encoding") or "").lower() == "gzip":
            body = gzip.decompress(body)
        if "msgpack" in media_type:
            import ormsgpack

            return ormsgpack.unpackb(body)
        return json.loads(body)
    except (ValueError, OSError, EOFError, RecursionError, zlib.error):
        return None
