"""Answers as HTTP libraries give them, read into what rules judge.

Libraries are known by what their objects have; none is imported. They hand out bodies without the
content coding, so the headers that tell of it are left out then.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from .conformance.exchange import Arrival, Headers, Received, Sent

_OF_CODING = ("content-encoding", "content-length", "transfer-encoding")


@dataclass(frozen=True)
class Given:
    """A request and its answer; `asked` is the request's JSON data, None where it is not known.
    `body_only`: the head is made up."""

    sent: Sent
    received: Received
    asked: Any = None
    body_only: bool = False


def read_given(answered: Any) -> Given | None:
    """Read a response, or a body alone; None: it is neither.

    Raises TypeError for a response whose body was not read.
    """
    inner = getattr(answered, "http_response", None)  # an SDK's raw response
    answered = answered if inner is None else inner
    if isinstance(answered, bytes | bytearray | str | list | tuple | dict):
        return _body_alone(answered)
    if hasattr(answered, "model_dump"):  # an SDK's answer, parsed
        return _body_alone(answered.model_dump(mode="json", exclude_unset=True))
    if hasattr(answered, "request_info"):
        return _of_aiohttp(answered)
    if hasattr(answered, "status_code") and hasattr(answered, "headers"):
        return _of_httpx(answered) if hasattr(answered, "http_version") else _of_requests(answered)
    return None


def _body_alone(body: Any) -> Given:
    if isinstance(body, list | tuple):
        chunks = [c.model_dump(mode="json", exclude_unset=True) if hasattr(c, "model_dump") else c
                  for c in body]  # fmt: skip
        written = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
        raw = f"{written}data: [DONE]\n\n".encode()
        return _made(raw, is_stream=True)
    if isinstance(body, dict):
        return _made(json.dumps(body).encode(), is_stream=False)
    raw = body.encode() if isinstance(body, str) else bytes(body)
    return _made(raw, is_stream=raw.lstrip().startswith((b"data:", b":", b"event:", b"id:")))


def _made(raw: bytes, *, is_stream: bool) -> Given:
    kind = "text/event-stream" if is_stream else "application/json"
    received = Received(200, "OK", (("content-type", kind),), (Arrival(0.0, raw),))
    return Given(Sent("POST", ""), received, body_only=True)


def _of_httpx(response: Any) -> Given:
    try:
        raw = response.content
    except Exception:
        if not hasattr(response, "read"):
            raise
        try:
            raw = response.read()
        except Exception as error:
            raise TypeError(
                "the body of this response was not read: `response.read()`, or `await "
                f"response.aread()`, before it is judged ({type(error).__name__})"
            ) from None
    request = response.request
    try:
        body = request.content
    except Exception:  # a request that was streamed
        body = b""
    url = urlsplit(str(request.url))
    sent = _sent(request.method, url.path, url.query, request.headers.multi_items(), body)
    headers = response.headers.multi_items()
    version = str(response.http_version).removeprefix("HTTP/")
    return _given(sent, response.status_code, response.reason_phrase, headers, raw, version)


def _of_requests(response: Any) -> Given:
    raw = response.content
    request = response.request
    url = urlsplit(request.url)
    body = request.body if isinstance(request.body, bytes) else (request.body or "").encode()
    sent = _sent(request.method, url.path, url.query, request.headers.items(), body)
    several = getattr(getattr(response, "raw", None), "headers", None)
    headers = several.items() if several is not None else response.headers.items()
    return _given(sent, response.status_code, response.reason or "", headers, raw)


def _of_aiohttp(response: Any) -> Given:
    raw = getattr(response, "_body", None)
    if raw is None:
        raise TypeError(
            "the body of this response was not read: `await response.read()` before it is judged"
        )
    info = response.request_info
    url = urlsplit(str(info.url))
    sent = _sent(info.method, url.path, url.query, info.headers.items(), b"")
    headers = [(n.decode("latin-1"), v.decode("latin-1")) for n, v in response.raw_headers]
    return _given(sent, response.status, response.reason or "", headers, raw)


def _sent(
    method: str, path: str, query: str, headers: Iterable[tuple[str, str]], body: bytes
) -> Sent:
    pairs = tuple((str(name), str(value)) for name, value in headers)
    return Sent(method, f"{path}?{query}" if query else path, pairs, body)


def _given(
    sent: Sent,
    status: int,
    reason: str,
    headers: Iterable[tuple[str, str]],
    raw: bytes,
    version: str = "1.1",
) -> Given:
    pairs: Headers = tuple((str(name), str(value)) for name, value in headers)
    if any(name.lower() == "content-encoding" for name, _ in pairs):
        pairs = tuple(pair for pair in pairs if pair[0].lower() not in _OF_CODING)
    received = Received(status, reason, pairs, (Arrival(0.0, raw),) if raw else (), http=version)
    return Given(sent, received, data_of(sent))


def data_of(sent: Sent) -> Any:
    """Return the JSON data of a request's body; None where it is not known."""
    from .conformance.decoded import decode

    if not sent.body:
        return None
    kind = sent.header("content-type") or "application/json"
    if "msgpack" in kind:
        return _unpacked(sent)
    named: Mapping[str, str | None] = {"content-encoding": sent.header("content-encoding")}
    headers = (("content-type", kind), *((n, v) for n, v in named.items() if v))
    return decode(Received(200, "", headers, (Arrival(0.0, sent.body),))).data


def _unpacked(sent: Sent) -> Any:
    import gzip

    import ormsgpack

    try:
        body = gzip.decompress(sent.body) if sent.header("content-encoding") else sent.body
        return ormsgpack.unpackb(body)
    except (ValueError, OSError, EOFError):
        return None
