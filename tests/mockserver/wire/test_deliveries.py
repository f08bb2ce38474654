"""Every delivery means the same, at the same pace. How each looks in bytes is looked at in
test_every_entry.py, how clients read it in tests/clients/test_deliveries.py."""

import json
import re
from typing import Any

import pytest

from wafermock.mockserver.pace import Pace
from wafermock.mockserver.wire import DELIVERIES


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("answer", ["chat", "text stream", "two stream", "json stream", "error"])
def test_a_delivery_changes_no_meaning(delivery: str, answer: str, seen: Any) -> None:
    plain, got = seen(answer), seen(answer, delivery=delivery)
    assert got.whole
    assert got.status == plain.status
    if answer in ("chat", "error"):
        assert got.value == plain.value
    else:
        assert (got.text, got.usage) == (plain.text, plain.usage)


@pytest.mark.parametrize("delivery", ["bytewise", "random_pieces", "one_write", "http_1_0"])
def test_deliveries_keep_the_pace(delivery: str, seen: Any, make_mock: Any, ask: Any) -> None:
    mock = make_mock("observed", pace=Pace(ttft=0.5, tokens_per_second=10))
    answer = ask(mock, "/v1/completions", {"model": "m", "prompt": "a", "max_tokens": 5,
                                           "stream": True})  # fmt: skip
    got = seen(answer, delivery=delivery)
    if delivery == "one_write":
        assert got.at(0.9) == b""
    else:
        assert got.at(0.4).endswith(b"\r\n\r\n")
        assert got.at(0.4).count(b"\r\n\r\n") == 1  # the head alone
        # A byte of its own is a chunk of HTTP: what stands between two of them goes.
        first_token = re.sub(rb"\r\n[0-9a-f]+\r\n", b"", got.at(0.6).partition(b"\r\n\r\n")[2])
        assert b'"text"' in first_token
        assert b"finish_reason" not in first_token
    assert got.whole


def test_a_chunk_apart_has_no_choices(seen: Any) -> None:
    """Why a client must not take `choices[0]` of every chunk."""
    got = seen("chat stream", delivery="usage_apart")
    with pytest.raises(IndexError):
        [json.loads(e["data"])["choices"][0] for e in got.events if e["data"] != "[DONE]"]
