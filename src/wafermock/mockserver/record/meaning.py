"""What a recorded request means: the digest by which a recorded rule knows it again."""

from typing import Any

from wafermock.spec.excerpt import has_more_values_than
from wafermock.spec.media_type import essence

from ..bounds import MEMBER, MOST_VALUES
from ..decode import decode
from ..draws import digest
from ..exchange import Request
from ..refusal import Refusal
from .redaction import Redactor, secrets_of

# How large a body is read as data, as sent and as inflated, in bytes. A few kilobytes of gzip can
# say gigabytes: what says more than this is known again by its bytes.
LARGEST = 64 * 1024 * 1024
# How large a body that is no data may be to be looked through for secrets, in bytes.
SEARCHED = 256 * 1024


def request_digest(request: Request) -> str:
    """Name a request by its meaning, in 32 hexadecimal digits.

    The same for every spelling of it (order of keys, white space, JSON or MessagePack, gzip) and
    for every key it may be sent with: secrets are taken out first, so that nothing of them is in
    the digest either. Headers do not count. Whether the answer is streamed does count, since a
    recorded answer has one form. A function of the request alone.

    It is made of every request that a recorded rule may answer, so it costs no more than a second:
    what is too large to be looked through (`SEARCHED`, and bounds.py) is known by its bytes.
    """
    redactor = Redactor(known=secrets_of(request))
    parameters = sorted(redactor.query(request.query).split("&")) if request.query else []
    path = redactor.path(request.path)
    return digest(request.method.upper(), path, parameters, _said(request, redactor)).hex()


def said(request: Request) -> Any:
    """Return the data of a request's body; its bytes where it is no data, None without a body."""
    if not request.body:
        return None
    content_type = request.headers.get("content-type")
    try:
        return decode(
            request.body,
            content_type,
            request.headers.get("content-encoding"),
            media_types=(essence(content_type) or "application/json",),
            max_body=LARGEST,
        )
    except Refusal:
        return request.body


def _said(request: Request, redactor: Redactor) -> Any:
    body = said(request)
    if has_more_values_than(MOST_VALUES, body, member=MEMBER):
        body = request.body
    if isinstance(body, bytes):
        if len(body) > SEARCHED:
            return body
        return b"".join(redactor.pieces([body], request.headers.get("content-type", "")))
    if isinstance(body, dict):
        body = {name: value for name, value in body.items() if not _says_nothing(name, value)}
    return redactor.data(body)


def _says_nothing(name: str, value: Any) -> bool:
    return value is None or (name == "stream" and value is False)
