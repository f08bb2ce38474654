"""What the tests of the embedded mock share: a server, and a client that shows everything."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from wafermock import MockServer, Space

MODEL = "gpt-oss-120b"

Ask = Callable[..., httpx.Response]


@pytest.fixture(scope="session")
def server() -> Iterator[MockServer]:
    with MockServer() as server:
        yield server


@pytest.fixture
def mock(server: MockServer) -> Iterator[Space]:
    with server.space() as space:
        yield space


@pytest.fixture(scope="session")
def client() -> Iterator[httpx.Client]:
    """A client for all tests: to make one takes longer than most tests do."""
    headers = {"authorization": "Bearer test"}
    with httpx.Client(timeout=20, trust_env=False, verify=False, headers=headers) as client:
        yield client


@pytest.fixture(scope="session")
def ask(client: httpx.Client) -> Ask:
    """Send a chat request, from a text or whole messages; more keywords go into its body."""

    def send(
        space: Space, said: Any = "hi", *, headers: dict[str, str] | None = None, **more: Any
    ) -> httpx.Response:
        messages = [{"role": "user", "content": said}] if isinstance(said, str) else said
        body = {"model": MODEL, "messages": messages, **more}
        return client.post(f"{space.url}/v1/chat/completions", json=body, headers=headers)

    return send


@pytest.fixture
def text_of() -> Callable[[httpx.Response], str]:
    """Read what an answer says, whole or streamed."""
    return lambda response: "".join(pieces_of(response))


@pytest.fixture(name="pieces_of")
def pieces_of_fixture() -> Callable[[httpx.Response], list[str]]:
    return pieces_of


def pieces_of(response: httpx.Response) -> list[str]:
    """Read the words of an answer, chunk by chunk if it is a stream."""
    assert response.status_code == 200, response.text
    if not response.headers["content-type"].startswith("text/event-stream"):
        return [response.json()["choices"][0]["message"]["content"]]
    events = [e.removeprefix("data: ") for e in response.text.split("\n\n") if e]
    assert events.pop() == "[DONE]"
    choices = [json.loads(event)["choices"][0] for event in events]
    found = [c["delta"].get("content") if "delta" in c else c.get("text") for c in choices]
    return [words for words in found if words]
