"""Defects that act before the answer, for requests that are odd. How each looks in bytes:
test_every_entry.py."""

from typing import Any

import pytest

from wafermock.mockserver.exchange import Answer
from wafermock.mockserver.refusal import Refusal
from wafermock.mockserver.wire import DEFECTS, rewritten

from .asked import asking


def test_stages() -> None:
    stages = {e.name: e.stage for e in DEFECTS.values() if e.stage in ("service", "connection")}
    assert stages == {
        "no_continue": "connection",
        "mixed_up": "service",
        "hang_up_spoils": "service",
    }
    for entry in DEFECTS.values():
        assert not entry.settings or entry.stage in ("settings", "request")
        assert entry.settings or entry.stage != "settings"


@pytest.mark.parametrize("defect", [e.name for e in DEFECTS.values() if e.stage == "request"])
@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b'"a"', b"{}", b'{"messages":[3]}',
                                  b'{"messages":[{"content":[]}]}', b'{"prompt":[[1]]}',
                                  b'{"prompt":null,"messages":"x"}'])  # fmt: skip
def test_odd_requests_break_nothing(defect: str, body: bytes, make_mock: Any) -> None:
    mock = make_mock("observed", models="strict", api_key="key")
    for path in ("/v1/chat/completions", "/v1/completions"):
        for asked in (asking(body, path), asking(body, path, content_type="application/x-msgpack")):
            try:
                answer: Answer = mock.answer(rewritten(asked, [DEFECTS.parse(defect)]))
            except Refusal as refusal:
                answer = mock.refuse(refusal, asked)
            assert answer.status in range(200, 600)
