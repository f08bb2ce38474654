"""ENCODING: the same request in another dress is another request; bodies in the wrong dress."""

import zlib
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from wafermock.spec.media_type import essence

from ...draws import Draws
from ...exchange import Request
from ...refusal import Refusal
from ..catalogue import Parameter, Shelf
from ..draft import Draft, Write
from ..requests import media_type, otherwise

Values = Mapping[str, Any]

ENCODING = Shelf("ENCODING")
SAME = "JSON, each spelling of MessagePack, and gzip of both mean the same."
CHARSET = "JSON is UTF-8 (RFC 8259, section 8.1)."
CODING = "Content-Encoding tells how the body is coded (RFC 9110, section 8.4)."


def _is_msgpack(request: Request) -> bool:
    return media_type(request).endswith("msgpack")


def _is_gzip(request: Request) -> bool:
    return request.headers.get("content-encoding", "").lower() == "gzip"


def _is_chunked(request: Request) -> bool:
    return "chunked" in request.headers.get("transfer-encoding", "").lower()


@ENCODING.entry(
    "MessagePack is read as saying something else than the same JSON.",
    SAME,
    Parameter("spelling", "which media type: a part of its name", "msgpack", kind="text"),
    on="MessagePack requests",
    stage="request",
)
def msgpack_differs(request: Request, values: Values, position: int) -> Request:
    matches = _is_msgpack(request) and values["spelling"] in media_type(request)
    return otherwise(request) if matches else request


@ENCODING.entry(
    "A gzip body is read as saying something else than the same body plain.",
    SAME,
    on="gzip requests",
    stage="request",
)
def gzip_differs(request: Request, values: Values, position: int) -> Request:
    return otherwise(request) if _is_gzip(request) else request


@ENCODING.entry(
    "A chunked body is read as saying something else than the same body whole.",
    SAME,
    on="chunked requests",
    stage="request",
)
def chunked_differs(request: Request, values: Values, position: int) -> Request:
    return otherwise(request) if _is_chunked(request) else request


@ENCODING.entry(
    "The server fails at an encoding that the contract has.",
    SAME,
    Parameter("kind", "which", "msgpack", kind="choice", choices=("msgpack", "gzip", "chunked")),
    on="encoded requests",
    stage="request",
)
def encoding_breaks(request: Request, values: Values, position: int) -> Request:
    breaks = {"msgpack": _is_msgpack, "gzip": _is_gzip, "chunked": _is_chunked}
    if breaks[values["kind"]](request):
        raise Refusal("server_error")
    return request


ENCODING.named(
    "no_continue",
    "`Expect: 100-continue` is never answered with 100.",
    "A server that waits for a body says 100 (RFC 9110, section 10.1.1).",
    on="requests that expect 100",
    stage="connection",
)


@ENCODING.entry("The body is Latin-1.", CHARSET, on="text in Latin-1, beyond ASCII", phase="framed")
def latin1(draft: Draft, values: Values, draws: Draws) -> Draft:
    writes = []
    for write in draft.writes:
        try:
            data = write.data.decode().encode("latin-1")
        except UnicodeError:
            data = write.data
        writes.append(replace(write, data=data))
    return replace(draft, writes=tuple(writes))


@ENCODING.entry(
    "The body is said to be in another charset.",
    CHARSET,
    Parameter("value", "the charset", "utf-16", kind="text"),
    on="whole answers",
)
def charset(draft: Draft, values: Values, draws: Draws) -> Draft:
    if draft.streamed:
        return draft
    kind = essence(draft.header("content-type")) or "application/json"
    return draft.with_header("content-type", f"{kind}; charset={values['value']}")


@ENCODING.entry(
    "A text holds half of a surrogate pair.",
    "Texts are Unicode, whole characters.",
    on="completions",
)
def lone_surrogate(draft: Draft, values: Values, draws: Draws) -> Draft:
    def spoil(text: str) -> str:
        return text.replace('"system_fingerprint":"', '"system_fingerprint":"\\ud83d', 1)

    if not draft.streamed:
        spoilt = spoil(draft.body.decode()) if isinstance(draft.value, dict) else None
        return draft if spoilt is None else replace(draft, body=spoilt.encode())
    return draft.with_events([replace(event, data=spoil(event.data)) for event in draft.events])


@ENCODING.entry(
    "The body is gzip, though nobody asked for it.",
    "Content-Encoding is one that Accept-Encoding takes.",
    phase="sent",
)
def gzip_unasked(draft: Draft, values: Values, draws: Draws) -> Draft:
    packer = zlib.compressobj(0, wbits=31)
    packed = [
        Write(packer.compress(write.data) + packer.flush(zlib.Z_SYNC_FLUSH), write.offset)
        for write in draft.writes
    ]
    writes = (*packed, Write(packer.flush(), draft.end))
    return replace(draft, writes=writes).with_header("content-encoding", "gzip")


@ENCODING.entry("The body is said to be gzip, and is plain.", CODING)
def gzip_label(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft.with_header("content-encoding", "gzip")


@ENCODING.entry("The body is gzip, and the head does not say so.", CODING, phase="sent")
def gzip_unsaid(draft: Draft, values: Values, draws: Draws) -> Draft:
    packed: Draft = gzip_unasked(draft, values, draws)
    return packed.with_header("content-encoding", None)
