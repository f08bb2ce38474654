"""Clients that are connected to a server and watched."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from .sdk import CEREBRAS, OPENAI, Client, awaited, connect


@pytest.fixture(params=[*CEREBRAS, *OPENAI])
def kind(request: pytest.FixtureRequest) -> str:
    """Which client; a test that takes `client` or `connected` runs with each of the four."""
    return str(request.param)


@pytest.fixture
async def connected(kind: str) -> AsyncIterator[Callable[..., Client]]:
    """`connected(url, **options)` makes a client; it is closed with the test."""
    made: list[Client] = []

    def connect_and_keep(url: str, **options: Any) -> Client:
        made.append(connect(kind, url, **options))
        return made[-1]

    yield connect_and_keep
    for client in made:
        await awaited(client.api.close())


@pytest.fixture
def client(connected: Callable[..., Client], server: str) -> Iterator[Client]:
    """A client that gets every answer at the first try."""
    client = connected(server)
    yield client
    assert {exchange.status for exchange in client.exchanges} <= {200}
    retries = [e.request_headers["x-stainless-retry-count"] for e in client.exchanges]
    assert set(retries) <= {"0"}


@pytest.fixture(scope="session")
def observed(serving: Any) -> Iterator[str]:
    """The base URL of a server with the profile `observed`."""
    with serving("--profile", "observed") as served:
        yield served.url


@pytest.fixture(scope="session")
def locked(serving: Any) -> Iterator[str]:
    """The base URL of a server that knows one key, `open-sesame`."""
    with serving("--api-key", "open-sesame") as served:
        yield served.url


@pytest.fixture(scope="session")
def choosy(serving: Any) -> Iterator[str]:
    """The base URL of a server that answers for the models of the catalogue only."""
    with serving("--models", "strict") as served:
        yield served.url
