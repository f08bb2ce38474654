"""What the official clients make of failures and defects: why the advice is what it is."""

from typing import Any

import cerebras.cloud.sdk as cerebras
import httpx
import openai
import pytest

CHAT = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def read(sdk: str, clients: Any, stage: Any, made: Any) -> list[Any]:
    """Return the chunks of a stream, and the exception that ended it, if one did."""
    found: list[Any] = []
    headers = {"x-plan": stage.add(made)}
    try:
        found.extend(
            clients[sdk].chat.completions.create(**CHAT, stream=True, extra_headers=headers)
        )
    except Exception as error:
        found.append(error)
    finally:
        assert stage.over.acquire(timeout=10)
    return found


@pytest.mark.parametrize(
    ("chosen", "in_cerebras", "in_openai"),
    [
        ({"failure": "close"}, httpx.RemoteProtocolError, openai.APIConnectionError),
        ({"failure": "close_in_body"}, httpx.RemoteProtocolError, openai.APIConnectionError),
        ({"failure": "reset"}, httpx.ReadError, openai.APIConnectionError),
        ({"failure": "reset_before_headers"}, cerebras.APIConnectionError,
         openai.APIConnectionError),
        ({"failure": "reset_in_headers"}, cerebras.APIConnectionError, openai.APIConnectionError),
        ({"failure": "close_before_headers"}, cerebras.APIConnectionError,
         openai.APIConnectionError),
        ({"failure": "html_page"}, cerebras.InternalServerError, openai.InternalServerError),
        ({"failure": "html_page:status=403"}, cerebras.PermissionDeniedError,
         openai.PermissionDeniedError),
        ({"failure": "error_event:error=queue_exceeded"}, cerebras.RateLimitError,
         openai.APIError),
        ({"failure": "error_event"}, cerebras.InternalServerError, openai.APIError),
    ],
)  # fmt: skip
def test_what_raises(
    chosen: Any, in_cerebras: type, in_openai: type, clients: Any, stage: Any, planned: Any
) -> None:
    made = planned("chat stream", **chosen)
    for sdk, kind in (("cerebras", in_cerebras), ("openai", in_openai)):
        *_, last = read(sdk, clients, stage, made)
        assert isinstance(last, kind), (sdk, last)


@pytest.mark.parametrize("sdk", ["cerebras", "openai"])
def test_what_is_lost_without_a_word(sdk: str, clients: Any, stage: Any, planned: Any) -> None:
    whole = read(sdk, clients, stage, planned("chat stream"))
    for chosen in (
        {"failure": "unfinished"},
        {"failure": "empty_stream"},
        {"defects": ("no_last_blank_line",), "delivery": "no_done"},
    ):
        chunks = read(sdk, clients, stage, planned("chat stream", **chosen))
        assert len(chunks) < len(whole)
        assert not any(isinstance(chunk, Exception) for chunk in chunks)
    assert read(sdk, clients, stage, planned("chat stream", delivery="no_done")) == whole


@pytest.mark.parametrize("sdk", ["cerebras", "openai"])
def test_a_flat_error_is_taken_for_a_chunk(
    sdk: str, clients: Any, stage: Any, planned: Any
) -> None:
    *_, last = read(sdk, clients, stage, planned("chat stream", defects=("flat_error_event",)))
    assert not isinstance(last, Exception)
    assert "server error" in last.message
