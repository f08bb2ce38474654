"""Performing: what a connection goes through, beyond the bytes of one answer."""

import socket
import struct
from contextlib import closing
from typing import Any

import pytest
from msgspec.structs import replace

from wafermock.mockserver.exchange import Answer

JSON = {"content-type": "application/json"}


def read_until(connection: socket.socket, end: bytes, got: bytes = b"") -> bytes:
    while not got.endswith(end):
        data = connection.recv(65536)
        assert data, f"closed after {got[-80:]!r}"
        got += data
    return got


def test_a_connection_is_kept(stage: Any, planned: Any) -> None:
    """One answer after the other, whole and streamed, asked for one by one and at once."""
    made = [planned(name, keep_alive=True) for name in ("chat", "chat stream", "error")]
    ends = [made[0].writes[-1].data, b"0\r\n\r\n", made[2].writes[-1].data]
    with closing(stage.connect()) as connection:
        for plan, end in zip(made, ends, strict=True):
            connection.sendall(stage.ask(plan))
            read_until(connection, end)
            assert stage.over.acquire(timeout=10)
        connection.sendall(b"".join(stage.ask(plan) for plan in made))
        got = read_until(connection, ends[-1])
        assert got.count(b"HTTP/1.1 ") == 3
        for _ in made:
            assert stage.over.acquire(timeout=10)


@pytest.mark.parametrize(
    "chosen",
    [{"failure": "close"}, {"defects": ("no_last_chunk",)}, {"delivery": "http_1_0"},
     {"defects": ("content_length:by=-1",)}],
)  # fmt: skip
def test_a_connection_that_ends_takes_no_more(chosen: Any, stage: Any, planned: Any) -> None:
    made = planned("chat stream", keep_alive=True, **chosen)
    with closing(stage.connect()) as connection:
        connection.sendall(stage.ask(made) + stage.ask(made))
        got = b""
        while data := connection.recv(65536):
            got += data
        assert got.count(b"HTTP/1.") == 1
    assert stage.over.acquire(timeout=10)


def test_head(stage: Any, planned: Any) -> None:
    made = planned("chat", method="HEAD", keep_alive=True)
    with closing(stage.connect()) as connection:
        connection.sendall(stage.ask(made, "HEAD") + stage.ask(made, "HEAD"))
        got = read_until(connection, b"\r\n\r\n")
        if got.count(b"\r\n\r\n") == 1:
            got += read_until(connection, b"\r\n\r\n")
    assert [part.partition(b"\r\n")[0] for part in got.split(b"\r\n\r\n")] == [
        b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK", b""
    ]  # fmt: skip
    for _ in range(2):
        assert stage.over.acquire(timeout=10)


def test_a_large_body_comes_whole(seen: Any) -> None:
    """Also where the client reads less than is sent, and the server has to wait."""
    body = b'"' + b"x" * 5_000_000 + b'"'
    for delivery in (None, "http_1_0", "one_write"):
        got = seen(Answer(200, JSON, (body,)), delivery=delivery)
        assert got.whole
        assert got.body == body


def test_a_client_that_hangs_up_is_passed_over_in_silence(stage: Any, planned: Any) -> None:
    """It resets the connection while the server has more to say than anyone takes."""
    answer = Answer(200, JSON, (b"x" * 20_000_000,))
    with closing(stage.connect()) as connection:
        connection.sendall(stage.ask(planned(answer)))
        assert connection.recv(1000)
        linger = struct.pack("ii", 1, 0)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    assert stage.over.acquire(timeout=10)
    assert stage.outcomes[-1] in ("CancelledError", "ConnectionResetError",
                                  "ClientConnectionResetError")  # fmt: skip


def test_an_answer_that_nobody_waits_for_is_not_begun(stage: Any, planned: Any) -> None:
    made = planned("chat", failure="slow_first_byte:seconds=5")
    with closing(stage.connect()) as connection:
        connection.sendall(stage.ask(made))
        assert stage.clock.until_waiting()
    assert stage.over.acquire(timeout=10)
    assert stage.outcomes[-1] == "CancelledError"


def test_a_reset_comes_behind_all_that_was_written(seen: Any) -> None:
    body = b"x" * 60_000
    got = seen(Answer(200, JSON, (body,)), failure="reset_in_body:after=59999")
    assert got.body == body[:-1]
    assert got.ended == "reset"


def test_a_status_without_a_name(seen: Any) -> None:
    got = seen("error", defects=("error_status_5xx:status=599",))
    assert got.raw.startswith(b"HTTP/1.1 599 Unknown\r\n")


def test_a_body_the_server_need_not_send(stage: Any, planned: Any) -> None:
    made = replace(planned("chat"), writes=())
    assert b"".join(w.data for w in made.wire("OK")).endswith(b"\r\n\r\n")
