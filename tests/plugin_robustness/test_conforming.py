"""assert_conforms: on responses of every library, bodies, URLs and apps; good ones and broken."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import aiohttp
import httpx
import pytest
import requests
from aiohttp import web
from hypothesis import given, settings
from openai import OpenAI

from wafermock import MockServer, Space
from wafermock.conforming import assert_conforms
from wafermock.strategies import chat_answers, chunk_streams

BODY = {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": "hi"}]}
KEY = {"authorization": "Bearer a-secret-key"}
CHAT = "/v1/chat/completions"

FEW = settings(max_examples=40, deadline=None, database=None)


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer() as server:
        yield server


@pytest.fixture(params=[False, True], ids=["good", "broken"])
def broken(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def space(server: MockServer, broken: bool) -> Iterator[Space]:
    with server.space(unmatched=False) as space:
        if broken:
            space.every_answer(defect="wrong_object")
        yield space


def check(broken: bool, answered: Any, *arguments: Any, **more: Any) -> None:
    if broken:
        with pytest.raises(AssertionError, match="breaks the contract"):
            assert_conforms(answered, *arguments, **more)
    else:
        assert_conforms(answered, *arguments, **more)


@pytest.mark.parametrize("stream", [False, True])
def test_httpx(space: Space, broken: bool, stream: bool) -> None:
    with httpx.Client(trust_env=False, verify=False, headers=KEY) as client:
        body = {**BODY, "stream": stream}
        check(broken, client.post(f"{space.url}{CHAT}", json=body))
        with client.stream("POST", f"{space.url}{CHAT}", json=body) as response:
            check(broken, response)


async def test_httpx_in_a_coroutine(space: Space, broken: bool) -> None:
    async with httpx.AsyncClient(trust_env=False, verify=False, headers=KEY) as client:
        async with client.stream("POST", f"{space.url}{CHAT}", json=BODY) as response:
            with pytest.raises(TypeError, match=r"await response\.aread\(\)"):
                assert_conforms(response)
        check(broken, await client.post(f"{space.url}{CHAT}", json=BODY))


@pytest.mark.parametrize("stream", [False, True])
def test_requests(space: Space, broken: bool, stream: bool) -> None:
    with requests.Session() as session:
        session.trust_env = False
        body = {**BODY, "stream": stream}
        check(broken, session.post(f"{space.url}{CHAT}", json=body, headers=KEY))


async def test_aiohttp(space: Space, broken: bool) -> None:
    async with (
        aiohttp.ClientSession(headers=KEY) as session,
        session.post(f"{space.url}{CHAT}", json=BODY) as response,
    ):
        with pytest.raises(TypeError, match=r"await response\.read\(\)"):
            assert_conforms(response)
        await response.read()
        check(broken, response, request=BODY)


@pytest.mark.parametrize("base", ["url", "openai_url"])
def test_sdks(space: Space, broken: bool, base: str) -> None:
    """With `/v1` in the base URL, or without, as `url` may be given to every client."""
    with OpenAI(
        base_url=getattr(space, base), api_key="k", http_client=httpx.Client(trust_env=False)
    ) as sdk:
        asked: Any = BODY
        check(broken, sdk.chat.completions.with_raw_response.create(**asked))
        check(broken, sdk.chat.completions.create(**asked), request=BODY)
        check(broken, list(sdk.chat.completions.create(**asked, stream=True)))


def test_a_url_is_asked_for_both(space: Space, broken: bool) -> None:
    check(broken, space.url, api_key="k")
    assert [call.stream for call in space.calls] == [False, True]
    check(broken, space.openai_url, "completions_v1_completions_post", api_key="k")
    assert_conforms(space.url, "GET /v1/models", api_key="k")
    check(broken, space.url, "/v1/chat/completions", request={**BODY, "n": 2}, api_key="k")
    assert len(space.calls) == 5


def test_a_url_that_refuses_what_is_asked_of_it_has_shown_nothing(server: MockServer) -> None:
    """A wrong key, a wrong model: else every such test would pass."""
    strict = server.space(api_key="right", models="strict")
    with pytest.raises(
        AssertionError,
        match=r"^POST /v1/chat/completions: a valid request is refused: 401: .*api_key=",
    ):
        assert_conforms(strict.url, api_key="wrong")
    with pytest.raises(AssertionError, match=r"refused: 404: .* are api_key= and model= right"):
        assert_conforms(strict.url, api_key="right", model="nobody")
    assert_conforms(strict.url, api_key="wrong", request=BODY)
    assert_conforms(strict.url, api_key="right")


def test_errors_conform_as_well(space: Space, broken: bool) -> None:
    space.fail_next("server_error")
    with httpx.Client(trust_env=False, verify=False, headers=KEY) as client:
        assert_conforms(client.post(f"{space.url}{CHAT}", json=BODY))
        assert_conforms(client.post(f"{space.url}{CHAT}", json={**BODY, "messages": 3}))
        assert_conforms(
            client.post(
                f"{space.url}{CHAT}", content=b"{", headers={"content-type": "application/json"}
            )
        )
    with httpx.Client(trust_env=False, verify=False) as client:
        assert_conforms(client.post(f"{space.url}{CHAT}", json=BODY))


def asgi_app(space: Space, log: list[str]) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for stage in ("startup", "shutdown"):
                assert (await receive())["type"] == f"lifespan.{stage}"
                log.append(stage)
                await send({"type": f"lifespan.{stage}.complete"})
            return
        assert scope["type"] == "http"
        body = (await receive())["body"]
        headers = {n.decode(): v.decode() for n, v in scope["headers"] if n != b"host"}
        async with httpx.AsyncClient(trust_env=False, verify=False) as client:
            url = f"{space.url}{scope['path']}"
            answer = await client.request(scope["method"], url, content=body, headers=headers)
        raw = [(n, v) for n, v in answer.headers.raw if n.lower() != b"transfer-encoding"]
        await send({"type": "http.response.start", "status": answer.status_code, "headers": raw})
        for piece in (answer.content[:9], answer.content[9:]):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body"})

    return app


def test_an_asgi_app_is_started_asked_and_stopped(space: Space, broken: bool) -> None:
    log: list[str] = []
    check(broken, asgi_app(space, log), api_key="k")
    assert log == ["startup", "shutdown"]


async def test_an_asgi_app_in_a_coroutine(space: Space, broken: bool) -> None:
    check(broken, asgi_app(space, []), request=BODY, api_key="k")


def test_an_app_that_fails_is_told(server: MockServer) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise LookupError("no model")

    with pytest.raises(AssertionError, match="no answer: the application raised LookupError: no m"):
        assert_conforms(app)


def test_an_aiohttp_app(space: Space, broken: bool) -> None:
    async def answer(request: web.Request) -> web.Response:
        async with aiohttp.ClientSession() as session:
            url, body = f"{space.url}{request.path}", await request.read()
            kept = {
                n: v for n, v in request.headers.items() if n in ("Authorization", "Content-Type")
            }
            async with session.post(url, data=body, headers=kept) as got:
                drop = ("Transfer-Encoding", "Content-Length", "Date", "Server")
                headers = {n: v for n, v in got.headers.items() if n not in drop}
                return web.Response(body=await got.read(), status=got.status, headers=headers)

    app = web.Application()
    app.router.add_post(CHAT, answer)
    check(broken, app, api_key="k")


def test_bodies_alone() -> None:
    with MockServer() as mock, httpx.Client(trust_env=False, headers=KEY) as client:
        whole = client.post(f"{mock.url}{CHAT}", json=BODY)
        stream = client.post(f"{mock.url}{CHAT}", json={**BODY, "stream": True})
    assert_conforms(whole.json(), request=BODY)
    assert_conforms(whole.text)
    assert_conforms(stream.content)
    chunks = [
        json.loads(line[6:]) for line in stream.text.split("\n") if line.startswith("data: {")
    ]
    assert_conforms(chunks)
    chunks[-1]["choices"][0]["finish_reason"] = "because"
    with pytest.raises(
        AssertionError, match=r"SCHEMA-VALUE at chunk \d+, /choices/0/finish_reason"
    ):
        assert_conforms(chunks)
    value = whole.json()
    value["usage"]["total_tokens"] += 1
    with pytest.raises(AssertionError, match="SEM-USAGE-SUM") as raised:
        assert_conforms(value)
    assert "1 place" in str(raised.value)
    assert_conforms(value, allow=["SEM-USAGE-SUM"])


@FEW
@given(chat_answers())
def test_an_answer_whose_request_nobody_knows(answer: dict[str, Any]) -> None:
    """How many choices were wanted, and which functions were offered, is not guessed at."""
    assert_conforms(answer)


@FEW
@given(chunk_streams())
def test_a_stream_whose_request_nobody_knows(chunks: list[dict[str, Any]]) -> None:
    assert_conforms(chunks)


def test_a_request_that_is_known_counts(server: MockServer) -> None:
    with server.space() as space:
        space.on().calls_tool("get_weather", city="Oslo")
        response = httpx.post(f"{space.url}{CHAT}", json=BODY, headers=KEY, trust_env=False)
    with pytest.raises(AssertionError, match="SEM-TOOL-OFFERED"):
        assert_conforms(response)
    assert_conforms(response.content)


def test_what_cannot_be_judged_is_told() -> None:
    with pytest.raises(TypeError, match="wants a response, a body, a URL or an app, not int"):
        assert_conforms(3)
    with pytest.raises(LookupError, match="has no operation 'chat'; it has createChatCompletion"):
        assert_conforms({}, "chat")
    with pytest.raises(LookupError, match="there is no rule 'X'; `wafermock rules` lists"):
        assert_conforms({}, allow=["X"])
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with pytest.raises(AssertionError, match="no answer: nobody"):
        assert_conforms(f"http://127.0.0.1:{port}")
