"""What campaigns and probes plan: requests that are still to be sent, and why."""

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from wafermock.spec import Operation
from wafermock.spec.pointer import format_pointer

from .exchange import Meant, Purpose, Sent

JSON = "application/json"


@dataclass(frozen=True)
class Planned:
    """A request to be sent. `tokens` is what it may cost at most, for the budget. `needs` names the
    capabilities without which it is not sent (`streams`, `tools`, `msgpack`, ...). `place` is what
    its exchange is called, see placed.py; empty: by the order in which requests are sent."""

    purpose: Purpose
    sent: Sent
    operation: Operation | None = None
    asked: Any = None
    tokens: int = 0
    needs: tuple[str, ...] = ()
    place: str = ""


@dataclass(frozen=True)
class PlannedProbe:
    """Requests that belong together, by their role, sent one behind the other in their order, or
    all at the same time."""

    name: str
    requests: Mapping[str, Planned]
    together: bool = False
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Subject:
    """Who is asked: the model, the key (None: none is sent), and headers that always go along."""

    model: str
    api_key: str | None = field(default=None, repr=False)
    headers: tuple[tuple[str, str], ...] = ()


Encoding = Literal["json", "msgpack"]


def plan(
    operation: Operation,
    asked: Any,
    subject: Subject,
    *,
    campaign: str,
    kind: str,
    location: str = "",
    meant: Meant = "valid",
    statuses: Sequence[int] = (),
    path_values: Mapping[str, str] | None = None,
    media_type: str = JSON,
    gzipped: bool = False,
    body: bytes | None = None,
    headers: Sequence[tuple[str, str]] = (),
    tokens: int = 0,
    needs: Sequence[str] = (),
    facts: Mapping[str, Any] | None = None,
    change: Callable[[Sent], Sent] = lambda sent: sent,
) -> Planned:
    """Plan a request of an operation. `body` overrules the encoding of `asked`; `change` has the
    last word on what is sent, for what no other argument says."""
    path = operation.path
    for name, value in (path_values or {}).items():
        path = path.replace("{" + name + "}", value)
    sent_headers = list(subject.headers)
    if subject.api_key is not None:
        sent_headers.append(("Authorization", f"Bearer {subject.api_key}"))
    data = body if body is not None else b"" if asked is None else encoded(asked, media_type)
    if gzipped:
        data = gzip.compress(data, mtime=0)
        sent_headers.append(("Content-Encoding", "gzip"))
    if asked is not None or body is not None:
        sent_headers.append(("Content-Type", media_type))
    sent = Sent(operation.method.upper(), path, (*sent_headers, *headers), data)
    purpose = Purpose(
        campaign,
        kind,
        location or pointer(operation),
        meant,
        tuple(statuses),
        facts or {},
    )
    return Planned(purpose, change(sent), operation, asked, tokens, tuple(needs))


def encoded(value: Any, media_type: str = JSON) -> bytes:
    """Encode a JSON value as JSON or, where the media type says so, as MessagePack."""
    if "msgpack" in media_type:
        import ormsgpack

        return ormsgpack.packb(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def without_header(sent: Sent, name: str) -> Sent:
    """Return a request that lacks a header."""
    kept = tuple((key, value) for key, value in sent.headers if key.lower() != name.lower())
    return replace(sent, headers=kept)


def pointer(operation: Operation, *more: str) -> str:
    """Point to an operation in the contract, or into it."""
    return format_pointer(("paths", operation.path, operation.method, *more))
