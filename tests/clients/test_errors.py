"""The exceptions that clients raise, and how often they try."""

from collections.abc import Callable
from typing import Any

import pytest

from .documents import chat_example
from .sdk import Client

HELLO = chat_example("Default")

Connected = Callable[..., Client]


def tries(client: Client) -> list[str]:
    """The retry count of each request that was no warming."""
    asked = [e for e in client.exchanges if e.path != "/v1/tcp_warming"]
    return [e.request_headers["x-stainless-retry-count"] for e in asked]


def check_told(error: Any, client: Client) -> None:
    """The error holds what was sent."""
    assert error.status_code == client.last.status
    assert error.body in (client.last.json, client.last.json.get("error"))
    assert error.response.headers["x-request-id"] == client.last.headers["x-request-id"]


async def test_wrong_key(connected: Connected, locked: str) -> None:
    client = connected(locked, api_key="shibboleth")
    with pytest.raises(client.sdk.AuthenticationError) as caught:
        await client.chat(**HELLO)
    check_told(caught.value, client)
    assert tries(client) == ["0"]

    right = connected(locked, api_key="open-sesame")
    assert (await right.chat(**HELLO)).choices[0].message.content


async def test_unknown_model(connected: Connected, choosy: str) -> None:
    client = connected(choosy)
    with pytest.raises(client.sdk.NotFoundError) as caught:
        await client.chat(**{**HELLO, "model": "no-such-model"})
    check_told(caught.value, client)
    assert "Model" in str(caught.value)
    assert tries(client) == ["0"]
    assert (await client.chat(**HELLO)).model == HELLO["model"]


async def test_any_model(client: Client) -> None:
    """Without `--models strict` the name of a model is no reason to refuse."""
    assert (await client.chat(**{**HELLO, "model": "model-of-tomorrow"})).choices[0].message.content


INVALID: list[dict[str, Any]] = [
    {"temperature": 7},
    {"messages": [{"role": "user"}]},
    {"messages": [{"role": "nobody", "content": "x"}]},
]


@pytest.mark.parametrize("fault", INVALID, ids=["temperature", "content", "role"])
async def test_invalid_body(
    connected: Connected, server: str, observed: str, fault: dict[str, Any]
) -> None:
    documented = connected(server)
    with pytest.raises(documented.sdk.UnprocessableEntityError) as caught:
        await documented.chat(**{**HELLO, **fault})
    check_told(caught.value, documented)
    detail = documented.last.json["detail"]
    assert detail[0]["loc"][:2] == ["body", next(iter(fault))]
    assert tries(documented) == ["0"]

    seen = connected(observed)
    with pytest.raises(seen.sdk.BadRequestError) as caught:
        await seen.chat(**{**HELLO, **fault})
    check_told(caught.value, seen)
    assert seen.last.json["code"] == "wrong_api_format"
    assert f"body.{next(iter(fault))}" in seen.last.json["message"] or "messages" in fault
    assert tries(seen) == ["0"]


async def test_invalid_body_of_a_stream(connected: Connected, server: str) -> None:
    """An error before the first event is a plain error, streamed or not."""
    client = connected(server)
    with pytest.raises(client.sdk.UnprocessableEntityError):
        await client.chat_chunks(**HELLO, temperature=7)
    assert tries(client) == ["0"]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that do not wait before they try again."""
    for module in ("cerebras.cloud.sdk", "openai"):
        owner = f"{module}._base_client.BaseClient"
        monkeypatch.setattr(f"{owner}._calculate_retry_timeout", lambda *_: 0.0)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("code", "name", "expected"),
    [
        (429, "RateLimitError", ["0", "1", "2"]),
        (408, "APIStatusError", ["0", "1", "2"]),
        (500, "InternalServerError", ["0", "1", "2"]),
        (503, "InternalServerError", ["0", "1", "2"]),
        (400, "BadRequestError", ["0"]),
        (401, "AuthenticationError", ["0"]),
        (402, "APIStatusError", ["0"]),
        (404, "NotFoundError", ["0"]),
    ],
)
async def test_preferred_error(
    connected: Connected, server: str, code: int, name: str, expected: list[str]
) -> None:
    client = connected(server)
    with pytest.raises(getattr(client.sdk, name)) as caught:
        await client.chat(**HELLO, extra_headers={"Prefer": f"code={code}"})
    assert caught.value.status_code == code
    check_told(caught.value, client)
    assert tries(client) == expected


async def test_no_retries(connected: Connected, server: str) -> None:
    client = connected(server, max_retries=0)
    with pytest.raises(client.sdk.RateLimitError):
        await client.chat(**HELLO, extra_headers={"Prefer": "code=429"})
    assert tries(client) == ["0"]
