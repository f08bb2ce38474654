"""The client and the mock: what the mock sends legally has no fault, and what it breaks is seen."""

import json
import zlib
from dataclasses import replace
from typing import Any

import pytest

from wafermock.conformance.client import Client
from wafermock.conformance.endpoint import Endpoint
from wafermock.conformance.exchange import Sent
from wafermock.mockserver.wire import DELIVERIES

ASKED: dict[str, Any] = {
    "model": "gpt-oss-120b",
    "messages": [{"role": "user", "content": "Say something about rivers, 漢字 and 🙂."}],
    "max_completion_tokens": 30,
}


KEY = ("Authorization", "Bearer csk-test-key")


def chat(stream: bool, *headers: tuple[str, str]) -> Sent:
    body = json.dumps({**ASKED, "stream": stream}).encode()
    headers = (("Content-Type", "application/json"), KEY, *headers)
    return Sent("POST", "/v1/chat/completions", headers, body)


@pytest.mark.parametrize("base", ["", "/v1", "/v1/"])
async def test_what_the_mock_answers(server: str, base: str) -> None:
    async with Client(Endpoint.at(server + base)) as client:
        for sent, status in (
            (Sent("GET", "/v1/models", (KEY,)), 200),
            (Sent("GET", "/v1/models"), 401),
            (Sent("GET", "/nowhere"), 404),
            (Sent("HEAD", "/v1/models", (KEY,)), None),
            (chat(False), 200),
            (chat(True), 200),
            (replace(chat(False), chunks=(1, 20, 5)), 200),
            (replace(chat(False), body=b"{"), 422),
        ):
            received = await client.send(sent)
            assert (received.ended, received.framing_fault) == ("complete", "")
            assert status in (None, received.status)
        assert client.notes == []


async def test_continue(server: str) -> None:
    async with Client(Endpoint.at(server)) as client:
        received = await client.send(replace(chat(False), expect_continue=True))
    assert (received.status, received.continued) == (200, True)


async def test_bodies_stay_as_they_were_sent(server: str) -> None:
    async with Client(Endpoint.at(server)) as client:
        received = await client.send(chat(False, ("Accept-Encoding", "gzip")))
    if received.header("content-encoding") == "gzip":
        assert json.loads(zlib.decompress(received.raw, 31))["object"] == "chat.completion"
    else:
        assert json.loads(received.raw)["object"] == "chat.completion"


async def test_leaving_harms_no_other(server: str) -> None:
    async with Client(Endpoint.at(server)) as client:
        before = await client.send(chat(True))
        left = await client.send(replace(chat(True), leave_after=100))
        after = await client.send(chat(True))
    assert (left.ended, after.raw == before.raw) == ("left", True)


@pytest.mark.parametrize("stream", [False, True])
async def test_every_delivery_is_legal(server: str, stream: bool) -> None:
    async with Client(Endpoint.at(server)) as client:
        for entry in DELIVERIES:
            received = await client.send(chat(stream, ("x-wafermock-delivery", entry)))
            assert (received.status, received.ended) == (200, "complete"), entry
            assert received.framing_fault == "", entry
        assert client.notes == []


@pytest.mark.parametrize(
    ("defect", "stream", "fault", "ended"),
    [
        ("no_last_chunk", True, "before the last chunk", "cut"),
        ("content_length:by=7", False, "bytes of the body", "cut"),
        ("content_length:by=-7", False, "7 bytes behind the end", "complete"),
    ],
)
async def test_broken_framing_is_seen(
    server: str, defect: str, stream: bool, fault: str, ended: str
) -> None:
    async with Client(Endpoint.at(server)) as client:
        received = await client.send(chat(stream, ("x-wafermock-defect", defect)))
    assert fault in received.framing_fault
    assert received.ended == ended


async def test_headers_twice_are_kept(server: str) -> None:
    async with Client(Endpoint.at(server)) as client:
        received = await client.send(chat(False, ("x-wafermock-defect", "content_type_twice")))
    assert [name.lower() for name, _ in received.headers].count("content-type") == 2
