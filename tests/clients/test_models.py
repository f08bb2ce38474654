"""Models, and the request that the official SDKs make to open a connection."""

from collections.abc import Callable

import pytest

from .sdk import Client, awaited


async def test_list_and_retrieve(client: Client) -> None:
    listed = await awaited(client.api.models.list())
    client.check_faithful(listed, client.last.json)
    names = [model.id for model in listed.data]
    assert {"gpt-oss-120b", "zai-glm-4.7", "gemma-4-31b"} <= set(names)
    for model in listed.data:
        shown = await awaited(client.api.models.retrieve(model.id))
        client.check_faithful(shown, client.last.json)
        assert shown.id == model.id
        assert shown.object == "model"


async def test_warming(client: Client) -> None:
    """The official SDK calls this for every client object, and logs when it fails.

    An asynchronous client has it called by a short-lived client of its own.
    """
    await awaited(client.api.models.list())
    warmed = [e.status for e in client.exchanges if e.path == "/v1/tcp_warming"]
    assert warmed == ([200] if client.kind == "cerebras" else [])


async def test_warming_does_not_fail(
    connected: Callable[..., Client], server: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG", logger="cerebras.cloud.sdk"):
        connected(server)
    assert not [r for r in caplog.records if "exception" in r.getMessage().lower()]
