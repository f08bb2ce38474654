"""Requests of HTTP/1.1 as bytes, written as they are told, and no socket anywhere."""

import re
from collections.abc import Iterator

from .exchange import Headers, Sent

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")


def head_of(sent: Sent, *, host: str, base_path: str, user_agent: str) -> bytes:
    """Write the head of a request: its own headers, and those that HTTP wants and it lacks.

    Raises ValueError where a method or header cannot be written on a line: it would be read as
    another request.
    """
    headers = complete_headers(sent, host=host, user_agent=user_agent)
    line = f"{sent.method} {full_target(sent.target, base_path)} HTTP/1.1"
    if not _TOKEN.fullmatch(sent.method):
        raise ValueError(f"a request cannot have the method {sent.method!r}")
    lines = [line.encode("ascii")]
    for name, value in headers:
        lines.append(header_bytes(name) + b": " + header_bytes(value))
    return b"\r\n".join([*lines, b"", b""])


def complete_headers(sent: Sent, *, host: str, user_agent: str) -> Headers:
    """Return the headers that go out: `Host` first, then those of the request, then framing."""
    given = {name.lower() for name, _ in sent.headers}
    before = [] if "host" in given else [("Host", host)]
    if "user-agent" not in given:
        before.append(("User-Agent", user_agent))
    return (*before, *sent.headers, *framing_headers(sent))


def framing_headers(sent: Sent) -> Headers:
    """Return the headers that say how the body comes, as far as the request has none of its own."""
    given = {name.lower() for name, _ in sent.headers}
    framing = []
    if sent.chunks is not None:
        if "transfer-encoding" not in given:
            framing.append(("Transfer-Encoding", "chunked"))
    elif not given & {"content-length", "transfer-encoding"} and (
        sent.body or sent.method in ("POST", "PUT", "PATCH")
    ):
        framing.append(("Content-Length", str(len(sent.body))))
    if sent.expect_continue and "expect" not in given:
        framing.append(("Expect", "100-continue"))
    return tuple(framing)


def header_bytes(text: str) -> bytes:
    """Encode a name or value of a header: as Latin-1 where that is possible, else as UTF-8."""
    if any(sign in text for sign in "\r\n\0"):
        raise ValueError(f"a header cannot hold {text!r}: it would end the line")
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def full_target(target: str, base_path: str) -> str:
    """Join the path of the endpoint and a target, with all percent-encoded that no target holds."""
    if target == "*":
        return target
    joined = base_path + (target if target.startswith("/") else "/" + target)
    return "".join(
        sign
        if "!" <= sign <= "~"
        else "".join(f"%{byte:02X}" for byte in sign.encode("utf-8", "surrogatepass"))
        for sign in joined
    )


def chunks_of(sent: Sent) -> list[bytes]:
    """Return the body in the pieces that its chunks hold; what `chunks` leave over is the last."""
    pieces, start = [], 0
    for length in sent.chunks or ():
        pieces.append(sent.body[start : start + length])
        start += length
    return [piece for piece in [*pieces, sent.body[start:]] if piece]


def body_of(sent: Sent) -> Iterator[bytes]:
    """Yield the bytes of a request's body as they go out, chunk by chunk where it is chunked."""
    if sent.chunks is None:
        if sent.body:
            yield sent.body
        return
    for piece in chunks_of(sent):
        yield b"%x\r\n%b\r\n" % (len(piece), piece)
    yield b"0\r\n\r\n"
