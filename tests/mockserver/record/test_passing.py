"""What has passed of an exchange."""

import pytest

from wafermock.mockserver.exchange import Request
from wafermock.mockserver.record.passing import Exchange
from wafermock.mockserver.record.recording import Piece


def passed(*parts: bytes) -> Exchange:
    return Exchange(Request("POST", "/"), 0.0, pieces=[Piece(0.0, part) for part in parts])


@pytest.mark.parametrize("blank", [b"", b" "])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("bytewise", [False, True])
def test_a_stream_that_has_said_so_is_done(blank: bytes, end: bytes, bytewise: bool) -> None:
    told = b"data: {}" + 2 * end + b"data:" + blank + b"[DONE]" + 2 * end
    parts = [bytes([byte]) for byte in told] if bytewise else [told]
    assert passed(*parts).is_done
    assert not passed(told.removesuffix(end)).is_done


@pytest.mark.parametrize(
    "told", [b"", b"data: [DONE]", b"data: [DONE]\n", b'data: "[DONE]"\n\n', b"data: {}\n\n"]
)
def test_any_other_is_not(told: bytes) -> None:
    assert not passed(told).is_done
