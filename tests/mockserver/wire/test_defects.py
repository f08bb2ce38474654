"""Defects of an answer: what they say of themselves. How each looks: test_every_entry.py."""

from typing import Any

import pytest

from wafermock.mockserver.wire import DEFECTS

# What the server adds.
DATE = [("date", "Thu, 01 Jan 2026 00:00:00 GMT")]


@pytest.mark.parametrize("defect", [e.name for e in DEFECTS.values() if e.stage == "answer"])
def test_a_defect_says_whether_it_found_something(defect: str, planned: Any, seen: Any) -> None:
    """Where a defect changes nothing the bytes are the same, and the plan says so."""
    for answer in ("chat", "chat stream", "text stream", "tools stream", "logprobs", "error"):
        made, plain = planned(answer, defects=(defect,)), planned(answer)
        same = list(made.wire("", DATE)) == list(plain.wire("", DATE))
        same &= made.ending == plain.ending
        assert made.end >= plain.end
        found = made.applied == (defect,)
        assert found or made.idle == (defect,)
        assert found != (same and made.end == plain.end)


def test_several_defects_at_once(seen: Any) -> None:
    got = seen("chat stream", defects=("same_id", "done_twice", "no_request_id"), delivery="crlf")
    assert got.values[-2:] == ["[DONE]", "[DONE]"]
    assert "x-request-id" not in got.headers
    assert got.completions[0]["id"].startswith("chatcmpl-00000000")
    assert b"\r\n\r\n" in got.body
