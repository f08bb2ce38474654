"""A request as a proxy reads it: what it asks, and with which headers it goes on."""

import re
from collections.abc import Sequence

from ..exchange import Request
from .http_answer import Headers, end_to_end
from .recording import can_read

RawHeaders = Sequence[tuple[bytes, bytes]]


def target_of(raw: str) -> str:
    """Return a request target as it was sent; one in absolute form loses scheme and authority."""
    return _AUTHORITY.sub("", raw) or "/"


def asked(method: str, target: str, raw_headers: RawHeaders, body: bytes) -> Request:
    """Make the request that is recorded; headers that come several times are joined."""
    path, _, query = target.partition("?")
    headers: dict[str, str] = {}
    for name, value in decoded(raw_headers):
        key = name.lower()
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return Request(method, path, query, headers, body)


def to_upstream(
    raw_headers: RawHeaders, authority: str, *, is_chunked: bool, has_leave: bool
) -> Headers:
    """Return the headers that go to the upstream.

    They are the client's, but for those of the connection. Of Accept-Encoding only codings stay
    that the recorder can look through: in another one secrets would be out of its sight. Without
    Expect, if the client `has_leave` to send its body already.
    """
    given = decoded(raw_headers)
    headers = [("Host", authority)]
    for name, value in end_to_end(given):
        key = name.lower()
        if key == "accept-encoding":
            headers.append((name, _readable(value)))
        elif key != "host" and not (key == "expect" and has_leave):
            headers.append((name, value))
    if is_chunked:
        headers.append(("Transfer-Encoding", "chunked"))
    if any(name.lower() == "te" and "trailers" in value.lower() for name, value in given):
        return (*headers, ("TE", "trailers"), ("Connection", "TE, close"))
    return (*headers, ("Connection", "close"))


def decoded(raw_headers: RawHeaders) -> Headers:
    """Return headers as texts, from which the same bytes can be made again."""
    return tuple(
        (name.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape"))
        for name, value in raw_headers
    )


def _readable(accept_encoding: str) -> str:
    codings = [coding.strip() for coding in accept_encoding.split(",")]
    kept = [coding for coding in codings if can_read(coding.partition(";")[0])]
    return accept_encoding if kept == codings else ", ".join(kept) or "identity"


_AUTHORITY = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://[^/?]*")
