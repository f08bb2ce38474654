"""Every failure, in the bytes of a socket."""

import gzip
import json
import zlib
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from wafermock.mockserver.exchange import Request
from wafermock.mockserver.mock import Mock
from wafermock.mockserver.wire import Catalogue, refusal_of
from wafermock.spec import load_contract

ERRORS = [entry.name for entry in load_contract("observed").errors]
Look = Callable[[Any, Any], bool]


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


@pytest.mark.parametrize("name", LOOKS)
def test_a_failure(name: str, seen: Any) -> None:
    answer, failure, look = LOOKS[name]
    plain = seen(answer)
    assert plain.whole
    assert plain.ended == "closed"
    assert look(seen(answer, failure=failure), plain)
    assert not look(plain, plain)


def test_every_failure_is_looked_at(failures: Catalogue) -> None:
    assert [*ERRORS, *dict.fromkeys(name.split()[0] for name in LOOKS)] == list(failures)


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_of_the_catalogue(
    name: str, seen: Any, failures: Catalogue, make_mock: Any
) -> None:
    mock: Mock = make_mock("observed")
    entry = mock.contract.errors[name]
    refusal = refusal_of(failures.parse(f"{name}:retry_after=7,should_retry=false"))
    assert refusal is not None
    got = seen(mock.refuse(refusal, Request("POST", "/v1/chat/completions")))
    assert got.status == entry.status
    assert got.headers["content-type"] == entry.media_type
    assert (got.headers["retry-after"], got.headers["x-should-retry"]) == ("7", "false")
    if entry.shape == "flat":
        assert got.value["type"] == entry.type
        assert got.value["code"] == entry.code
    assert got.whole


def test_an_error_says_nothing_of_retrying_unasked(failures: Catalogue) -> None:
    refusal = refusal_of(failures.parse("server_error"))
    assert refusal is not None
    assert refusal.headers == {}
    assert refusal_of(failures.parse("stall")) is None


def test_a_wait_ends_when_the_client_leaves(stage: Any, planned: Any) -> None:
    """No clock moves here: what ends the wait is the client."""
    made = planned("chat stream", failure="stall:after=1,seconds=1h")
    with closing(stage.connect()) as connection:
        connection.sendall(stage.ask(made))
        assert stage.clock.until_waiting()
        assert b"data: " in connection.recv(65536)
    assert stage.over.acquire(timeout=10)
    assert stage.outcomes[-1] == "CancelledError"
    assert stage.clock.waiting == 0


def test_an_error_event_is_the_documented_one(seen: Any, contract: Any) -> None:
    got = seen("chat stream", failure="error_event")
    schema = contract("observed").document["components"]["schemas"]["ErrorChunkResponse"]
    assert set(schema["required"]) == {"status_code", "error"}
    assert json.dumps(got.values[-1]) == (
        '{"status_code": 500, "error": {"message": "Encountered a server error, please try again.",'
        ' "type": "server_error", "param": "", "code": "", "id": ""}}'
    )
