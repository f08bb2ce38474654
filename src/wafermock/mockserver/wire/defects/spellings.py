"""ENCODING and METAMORPHIC: other spellings of a request that are taken for another request."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ...draws import Draws
from ...exchange import Request
from ..catalogue import Shelf
from ..draft import Draft
from ..requests import body_of, otherwise
from .encoding import CHARSET

Values = Mapping[str, Any]

DRESSES = Shelf("ENCODING")
SPELLINGS = Shelf("METAMORPHIC")


@DRESSES.entry(
    "A charset beside the media type of a request makes another request.",
    "`charset=utf-8` means nothing (RFC 8259, section 11).",
    on="requests with a charset",
    stage="request",
)
def charset_differs(request: Request, values: Values, position: int) -> Request:
    has_charset = "charset" in request.headers.get("content-type", "").lower()
    return otherwise(request) if has_charset else request


@DRESSES.entry(
    "A request that expects 100 is read as saying something else.",
    "`Expect: 100-continue` changes nothing of the answer (RFC 9110, section 10.1.1).",
    on="requests that expect 100",
    stage="request",
)
def expect_differs(request: Request, values: Values, position: int) -> Request:
    return otherwise(request) if request.headers.get("expect") else request


@DRESSES.entry(
    "A client that takes gzip gets another answer.",
    "Accept-Encoding changes nothing of what the answer says (RFC 9110, section 12.5.3).",
    on="requests with Accept-Encoding: gzip",
    stage="request",
)
def accept_gzip_differs(request: Request, values: Values, position: int) -> Request:
    takes_gzip = "gzip" in request.headers.get("accept-encoding", "").lower()
    return otherwise(request) if takes_gzip else request


@DRESSES.entry(
    "A request that came over HTTP/2 (`Via: 2.0 ...`, says the proxy before the mock) is read as "
    "saying something else.",
    "A request means the same over HTTP/2 (RFC 9113, section 8).",
    on="requests behind a proxy that speaks HTTP/2",
    stage="request",
)
def http2_differs(request: Request, values: Values, position: int) -> Request:
    is_http2 = request.headers.get("via", "").strip().startswith("2")
    return otherwise(request) if is_http2 else request


@DRESSES.entry("A byte order mark stands before JSON.", CHARSET, on="whole answers")
def json_bom(draft: Draft, values: Values, draws: Draws) -> Draft:
    if draft.streamed or not draft.body or draft.value is None:
        return draft
    return replace(draft, body=b"\xef\xbb\xbf" + draft.body)


@SPELLINGS.entry(
    "Escaped characters make another request.",
    "An escaped character means what the character means (RFC 8259, section 7).",
    on="requests with \\u escapes",
    stage="request",
)
def escapes_differ(request: Request, values: Values, position: int) -> Request:
    is_json = "json" in request.headers.get("content-type", "application/json")
    escaped = is_json and b"\\u" in request.body and body_of(request) is not None
    return otherwise(request) if escaped else request
