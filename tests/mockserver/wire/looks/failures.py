"""Failures: each error of the catalogue, and what else a service does now and then."""

import gzip
import zlib
from typing import Any

from wafermock.spec import load_contract
from wafermock.spec.errors import ErrorEntry

from .case import Case, Look


def prefix(seen: Any, plain: Any) -> bool:
    """Say whether a part of the body came, and not all of it."""
    return len(seen.body) < len(plain.body) and plain.body.startswith(seen.body)


def words(seen: Any) -> int:
    return sum("content" in c.get("delta", {}) or "reasoning" in c.get("delta", {})
               for c in seen.choices)  # fmt: skip


# What a failure looks like beside the undisturbed answer. One answer or several for each.
LOOKS: dict[str, tuple[str, str, Look]] = {
    "slow_first_byte": ("chat", "slow_first_byte:seconds=2", lambda seen, plain:
        seen.at(1.9) == b"" and seen.body == plain.body),
    "slow_first_byte stream": ("chat stream", "slow_first_byte", lambda seen, plain:
        seen.at(9.9) == b"" and seen.body == plain.body),
    "slow_first_event": ("chat stream", "slow_first_event", lambda seen, plain:
        seen.at(9.9).endswith(b"\r\n\r\n") and b"data" not in seen.at(9.9)
        and seen.body == plain.body),
    "stall": ("chat stream", "stall:after=3,seconds=30", lambda seen, plain:
        seen.at(0).count(b"data: ") == seen.at(29.9).count(b"data: ") > 1
        and b'"finish_reason":' not in seen.at(29.9) and seen.body == plain.body),
    "crawl": ("chat stream", "crawl:seconds=200ms", lambda seen, plain:
        all(seen.at(n * 0.2 + 0.1).count(b"data: ") == n for n in range(5))
        and seen.body == plain.body),
    "reset_before_headers": ("chat", "reset_before_headers", lambda seen, plain:
        seen.raw == b"" and seen.ended == "reset"),
    "reset_in_headers": ("chat", "reset_in_headers:after=12", lambda seen, plain:
        seen.raw == b"HTTP/1.1 200" and seen.ended == "reset"),
    "reset_in_body": ("chat", "reset_in_body:after=40", lambda seen, plain:
        len(seen.body) == 40 and prefix(seen, plain) and seen.ended == "reset"),
    "reset_in_body stream": ("chat stream", "reset_in_body:after=555", lambda seen, plain:
        len(seen.body) == 555 and prefix(seen, plain) and seen.ended == "reset"),
    "reset": ("chat stream", "reset:after=0", lambda seen, plain:
        prefix(seen, plain) and len(seen.values) == 1 and not seen.whole
        and seen.ended == "reset"),
    "close_before_headers": ("chat", "close_before_headers", lambda seen, plain:
        seen.raw == b"" and seen.ended == "closed"),
    "close_in_body": ("chat", "close_in_body", lambda seen, plain:
        len(seen.body) == 40 and prefix(seen, plain) and not seen.whole
        and seen.ended == "closed"),
    "close_in_body last": ("chat", "close_in_body:after=1000000", lambda seen, plain:
        seen.body == plain.body[:-1] and not seen.whole),
    "close": ("chat stream", "close:after=3", lambda seen, plain:
        prefix(seen, plain) and words(seen) > 0 and not seen.whole and seen.ended == "closed"),
    "close late": ("chat stream", "close:after=100000", lambda seen, plain:
        prefix(seen, plain) and words(seen) == words(plain) and b"finish" not in seen.body),
    "unfinished": ("chat stream", "unfinished", lambda seen, plain:
        prefix(seen, plain) and seen.whole and b"[DONE]" not in seen.body),
    "empty_stream": ("chat stream", "empty_stream", lambda seen, plain:
        seen.body == b"" and seen.whole and seen.headers["content-type"] ==
        "text/event-stream; charset=utf-8"),
    "empty_stream done": ("chat stream", "empty_stream:done=yes", lambda seen, plain:
        seen.body == b"data: [DONE]\n\n"),
    "no_body": ("chat", "no_body", lambda seen, plain:
        seen.body == b"" and seen.headers["content-length"] == "0" and seen.status == 200),
    "half_json": ("chat", "half_json", lambda seen, plain: prefix(seen, plain) and seen.whole),
    "half_json stream": ("chat stream", "half_json:after=2", lambda seen, plain:
        seen.whole and isinstance(seen.values[-1], str) and b"[DONE]" not in seen.body
        and all(isinstance(value, dict) for value in seen.values[:-1])),
    "truncated_gzip": ("chat", "truncated_gzip", lambda seen, plain:
        seen.whole and seen.headers["content-encoding"] == "gzip" and torn(seen.body, plain.body)),
    "truncated_gzip stream": ("chat stream", "truncated_gzip:percent=99", lambda seen, plain:
        seen.whole and torn(seen.body, plain.body)),
    "html_page": ("chat", "html_page", lambda seen, plain:
        (seen.status, seen.headers["content-type"]) == (502, "text/html")
        and b"<h1>502 Bad Gateway</h1>" in seen.body and "inference-id" not in seen.headers),
    "html_page 403": ("chat stream", "html_page:status=403", lambda seen, plain:
        seen.status == 403 and seen.body.startswith(b"<html>") and seen.whole),
    "html_page 503": ("chat stream", "html_page:status=503", lambda seen, plain:
        seen.status == 503 and b"503" in seen.body),
    "error_event": ("chat stream", "error_event:after=2,error=queue_exceeded", lambda seen, plain:
        seen.whole and seen.last.get("status_code") == 429
        and seen.last["error"]["code"] == "queue_exceeded" and words(seen) > 0
        and plain.values[: len(seen.values) - 1] == seen.values[:-1]),
    "error_as_200": ("chat stream", "error_as_200:error=server_error", lambda seen, plain:
        seen.status == 200 and seen.value.get("type") == "server_error"),
}  # fmt: skip


def torn(body: bytes, plain: bytes) -> bool:
    """Say whether a gzip body ends early: a strict reader fails, a lenient one has the start."""
    try:
        gzip.decompress(body)
    except gzip.BadGzipFile:
        return False
    except EOFError:
        return plain.startswith(zlib.decompressobj(wbits=31).decompress(body))
    return False


FAILURES = [Case("failure", text, asked, look) for asked, text, look in LOOKS.values()]


def error(entry: ErrorEntry) -> Look:
    """Return what an error of the catalogue looks like, told to be asked again in 7 seconds."""

    def look(seen: Any, plain: Any) -> bool:
        said = (seen.value.get("type"), seen.value.get("code"))
        return bool(
            seen.whole
            and (seen.status, seen.headers["content-type"]) == (entry.status, entry.media_type)
            and (seen.headers["retry-after"], seen.headers["x-should-retry"]) == ("7", "false")
            and (entry.shape != "flat" or said == (entry.type, entry.code))
        )

    return look


ERRORS = [
    Case("failure", f"{entry.name}:retry_after=7,should_retry=false", asked, error(entry))
    for entry in load_contract("observed").errors
    for asked in ("chat", "chat stream")
]
