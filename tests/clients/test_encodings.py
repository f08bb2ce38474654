"""Requests as MessagePack and gzip.

The SDKs themselves send JSON only; the vendor's page on smaller requests has users encode the
body themselves. Here the same SDK calls go out in every encoding and get the same bytes back.
"""

import gzip
from collections.abc import Callable

import ormsgpack
import pytest

from .documents import chat_example
from .recording import Encoding
from .sdk import Client


def _gzip(body: bytes, headers: dict[str, str]) -> bytes:
    headers["content-encoding"] = "gzip"
    return gzip.compress(body)


def _msgpack(body: bytes, headers: dict[str, str]) -> bytes:
    import json

    headers["content-type"] = "application/vnd.msgpack"
    return ormsgpack.packb(json.loads(body))


def _msgpack_gzip(body: bytes, headers: dict[str, str]) -> bytes:
    return _gzip(_msgpack(body, headers), headers)


@pytest.mark.parametrize("encoding", [_gzip, _msgpack, _msgpack_gzip], ids=lambda e: e.__name__)
async def test_same_bytes(
    client: Client, connected: Callable[..., Client], server: str, encoding: Encoding
) -> None:
    encoded = connected(server, encoding=encoding)
    for body in (chat_example("Default"), chat_example("Tool Calling")):
        await client.chat(**body)
        await encoded.chat(**body)
        assert encoded.last.body == client.last.body
        await client.chat_chunks(**body)
        await encoded.chat_chunks(**body)
        assert encoded.last.body == client.last.body
    text = {"model": "gpt-oss-120b", "prompt": "Once", "max_tokens": 20}
    await client.text(**text)
    await encoded.text(**text)
    assert encoded.last.body == client.last.body
    assert not encoded.last.request_body.startswith(b"{")
