"""HTTP/2 against a server that is made of the library itself."""

import asyncio
from collections.abc import Callable
from typing import Any

import h2.config
import h2.connection
import h2.events
import pytest

from wafermock.conformance.exchange import Sent
from wafermock.conformance.wire import NoAnswer

from .conftest import LONG, Serve, short

Connection = h2.connection.H2Connection
Answer = Callable[[Connection, dict[str, str], bytes], None]


class H2Server:
    """`answer(connection, headers, body)` is called when a request is there whole."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.headers: dict[str, str] = {}
        self.body = b""
        self.frames = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        config = h2.config.H2Configuration(
            client_side=False, header_encoding="utf-8", validate_outbound_headers=False,
            normalize_outbound_headers=False,
        )  # fmt: skip
        connection = Connection(config)
        connection.initiate_connection()
        writer.write(connection.data_to_send())
        while data := await reader.read(65536):
            for event in connection.receive_data(data):
                self._happened(connection, event)
            writer.write(connection.data_to_send())

    def _happened(self, connection: Connection, event: Any) -> None:
        if isinstance(event, h2.events.RequestReceived):
            self.headers = dict(event.headers)
            if "expect" in self.headers:
                connection.send_headers(1, [(":status", "100")])
        elif isinstance(event, h2.events.DataReceived):
            self.frames += bool(event.data)
            self.body += event.data
            connection.acknowledge_received_data(event.flow_controlled_length, 1)
        elif isinstance(event, h2.events.StreamEnded):
            self.answer(connection, self.headers, self.body)


def hello(connection: Connection, headers: dict[str, str], body: bytes) -> None:
    connection.send_headers(1, [(":status", "200"), ("X-A", "1"), ("x-a", "2")])
    connection.send_data(1, b"hel")
    connection.send_data(1, b"lo", end_stream=True)


SENT = Sent("POST", "/v1/x?y=z", (("X-Key", "1"), ("Connection", "close")), b"body", http="2")


@pytest.mark.parametrize("tls", [False, True])
async def test_an_exchange(serve: Serve, tls: bool) -> None:
    server = H2Server(hello)
    raw = await serve(server, tls=tls, alpn="h2")
    async with raw.client() as client:
        received = await client.send(SENT)
    assert raw.faults == []
    assert (received.status, received.raw, received.ended, received.http) == (
        200, b"hello", "complete", "2",
    )  # fmt: skip
    assert received.headers == (("X-A", "1"), ("x-a", "2"))
    assert received.framing_fault == ""
    assert server.body == b"body"
    assert server.headers == {
        ":method": "POST", ":scheme": raw.scheme, ":authority": f"localhost:{raw.port}",
        ":path": "/v1/x?y=z", "user-agent": server.headers["user-agent"], "x-key": "1",
        "content-length": "4",
    }  # fmt: skip


async def test_a_body_larger_than_the_window(serve: Serve) -> None:
    server = H2Server(hello)
    raw = await serve(server)
    body = bytes(range(256)) * 2_000
    async with raw.client() as client:
        assert (await client.send(Sent("POST", "/", body=body, http="2"))).raw == b"hello"
    assert server.body == body


async def test_chunks_are_frames(serve: Serve) -> None:
    server = H2Server(hello)
    raw = await serve(server)
    async with raw.client() as client:
        await client.send(Sent("POST", "/", body=b"abcdef", chunks=(1, 2), http="2"))
    assert (server.body, server.frames) == (b"abcdef", 3)
    assert "transfer-encoding" not in server.headers


async def test_expect_continue(serve: Serve) -> None:
    raw = await serve(H2Server(hello))
    async with raw.client() as client:
        received = await client.send(
            Sent("POST", "/", body=b"body", expect_continue=True, http="2")
        )
    assert (received.continued, received.raw) == (True, b"hello")


async def test_an_answer_larger_than_the_window(serve: Serve) -> None:
    async def large(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(h2.config.H2Configuration(client_side=False))
        connection.initiate_connection()
        left = 300_000
        begun = False
        while data := await reader.read(65536):
            for event in connection.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    connection.send_headers(1, [(":status", "200")])
                    begun = True
            while begun and left and (room := connection.local_flow_control_window(1)):
                size = min(room, left, connection.max_outbound_frame_size)
                left -= size
                connection.send_data(1, b"x" * size, end_stream=not left)
            writer.write(connection.data_to_send())

    raw = await serve(large)
    async with raw.client() as client:
        received = await client.send(Sent("GET", "/", http="2"))
    assert (len(received.raw), received.ended) == (300_000, "complete")


def resets(connection: Connection, headers: dict[str, str], body: bytes) -> None:
    connection.send_headers(1, [(":status", "200")])
    connection.send_data(1, b"hel")
    connection.reset_stream(1, 2)


def stops(connection: Connection, headers: dict[str, str], body: bytes) -> None:
    connection.send_headers(1, [(":status", "200")])
    connection.send_data(1, b"hel")


def too_short(connection: Connection, headers: dict[str, str], body: bytes) -> None:
    connection.send_headers(1, [(":status", "200"), ("content-length", "9")])
    connection.send_data(1, b"hel", end_stream=True)


@pytest.mark.parametrize(
    ("answer", "ended", "fault"),
    [(resets, "cut", "reset, error 2"), (stops, "timeout", ""), (too_short, "cut", "Expected 9")],
)
async def test_broken_answers(serve: Serve, answer: Answer, ended: str, fault: str) -> None:
    raw = await serve(H2Server(answer))
    async with raw.client(short("between") if answer is stops else LONG) as client:
        received = await client.send(Sent("GET", "/", http="2"))
    assert received.ended == ended
    assert fault in received.framing_fault
    # Who resets a stream takes back what is not read yet.
    assert received.raw in (b"hel", b"") if answer is resets else received.raw == b"hel"


async def test_the_client_hangs_up(serve: Serve) -> None:
    raw = await serve(H2Server(stops))
    async with raw.client() as client:
        received = await client.send(Sent("GET", "/", http="2", leave_after=1))
    assert (received.ended, received.raw) == ("left", b"hel")


async def test_who_does_not_offer_it(serve: Serve) -> None:
    raw = await serve([b"HTTP/1.1 200 OK\r\n\r\n"], tls=True, alpn="http/1.1")
    async with raw.client() as client:
        with pytest.raises(NoAnswer, match="does not offer HTTP/2"):
            await client.send(Sent("GET", "/", http="2"))


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b""])
async def test_who_does_not_know_it(serve: Serve, answer: bytes) -> None:
    async def http1(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)

    raw = await serve(http1)
    async with raw.client() as client:
        with pytest.raises(
            NoAnswer, match="breaks HTTP/2: no frame.*'HTTP/1" if answer else "without an answer"
        ):
            await client.send(Sent("GET", "/", http="2"))


async def test_who_says_nothing(serve: Serve) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(-1)

    raw = await serve(silent)
    async with raw.client(short("first_byte")) as client:
        with pytest.raises(NoAnswer, match=r"no answer within 0.2 s"):
            await client.send(SENT)
