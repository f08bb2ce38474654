"""MockServer without pytest's fixtures: in scripts, unittest, notebooks, many threads."""

import asyncio
import json
import socket
import subprocess
import sys
import textwrap
import threading
import unittest
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

import aiohttp
import httpx
import pytest
import requests
from cerebras.cloud.sdk import AsyncCerebras, Cerebras
from openai import AsyncOpenAI, OpenAI

from wafermock import MockServer, Space, contains
from wafermock.spec import DocumentError

MODEL = "gpt-oss-120b"
MESSAGES = [{"role": "user", "content": "hi"}]
BODY = {"model": MODEL, "messages": MESSAGES}
HEADERS = {"authorization": "Bearer test"}


def said(url: str, text: str = "hi") -> str:
    body = {"model": MODEL, "messages": [{"role": "user", "content": text}]}
    request = urllib.request.Request(
        f"{url}/v1/chat/completions",
        json.dumps(body).encode(),
        {**HEADERS, "content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=20) as response:
        found: str = json.load(response)["choices"][0]["message"]["content"]
    return found


# ---------------------------------------------------------------------- starting and stopping


def test_with() -> None:
    with MockServer() as mock:
        mock.on().replies("Hello.")
        assert said(mock.url) == "Hello."
        assert mock.is_running
    assert not mock.is_running
    mock.assert_called(times=1)
    with pytest.raises(RuntimeError, match="does not run"):
        _ = mock.url


async def test_async_with() -> None:
    async with MockServer() as mock:
        mock.on().replies("Hello.")
        async with httpx.AsyncClient(trust_env=False) as client:
            url = f"{mock.url}/v1/chat/completions"
            answer = await client.post(url, json=BODY, headers=HEADERS)
        assert answer.json()["choices"][0]["message"]["content"] == "Hello."


def test_start_and_stop_again() -> None:
    mock = MockServer()
    mock.on().replies("before it started")
    for _ in range(2):
        mock.start()
        assert said(mock.url) == "before it started"
        mock.stop()
        mock.stop()
    assert len(mock.calls) == 2


def test_a_space_outlives_a_stop() -> None:
    mock = MockServer()
    space = mock.space("kept")
    space.on().replies("kept")
    for _ in range(2):
        with mock:
            assert said(space.url) == "kept"


def test_it_runs_once() -> None:
    with MockServer() as mock, pytest.raises(RuntimeError, match="runs already"):
        mock.start()


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        mock = MockServer(port=taken.getsockname()[1])
        with pytest.raises(OSError, match=str(taken.getsockname()[1])):
            mock.start()
        assert not mock.is_running
    with mock:
        assert mock.url


def test_stopping_does_not_wait_for_open_streams() -> None:
    mock = MockServer(clock="manual", ttft=3600).start()
    held = mock.on(last_user="held").replies("y").held(patience=60)
    with ThreadPoolExecutor(3) as pool, httpx.Client(trust_env=False) as client:

        def post(text: str) -> str:
            body = {**BODY, "stream": True, "messages": [{"role": "user", "content": text}]}
            try:
                url = f"{mock.url}/v1/chat/completions"
                return client.post(url, json=body, headers=HEADERS, timeout=60).text
            except httpx.TransportError as error:
                return type(error).__name__

        read = [pool.submit(post, text) for text in ("held", "paced")]
        held.until_begun()
        assert mock.clock.until_waiting()
        mock.stop()
        assert {future.result(timeout=20) for future in read} <= {
            "RemoteProtocolError", "ReadError", "ConnectError",
        }  # fmt: skip


@pytest.mark.parametrize("stop", ["mock.stop()", "pass"])
def test_a_process_ends_without_a_warning(stop: str) -> None:
    """Stopped or forgotten, with a connection left open: nothing hangs and nothing is said."""
    code = f"""
        import http.client
        from wafermock import MockServer
        mock = MockServer().start()
        mock.on().replies("x")
        connection = http.client.HTTPConnection(mock.url.removeprefix("http://"))
        connection.request("GET", "/v1/models", headers={{"authorization": "Bearer x"}})
        assert connection.getresponse().read()
        {stop}
        connection.close()
    """
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("settings", "kind", "sentence"),
    [
        ({"sed": 1}, TypeError, "no setting 'sed', did you mean 'seed'"),
        ({"seed": "1"}, TypeError, "a whole number is wanted"),
        ({"strict": 1}, TypeError, "True or False"),
        ({"validate": "of"}, ValueError, "there are strict, warn, off"),
        ({"profile": "observd"}, ValueError, "observd"),
        ({"limits": "rpmm=1"}, ValueError, "rpmm"),
        ({"ttft": "soon"}, ValueError, "soon"),
        ({"failure": "nothing_such"}, ValueError, "there is no failure"),
        ({"script": "nowhere.yaml"}, Exception, "nowhere.yaml"),
    ],
    ids=str,
)
def test_settings_that_there_are_not(
    server: MockServer, settings: dict[str, object], kind: type[Exception], sentence: str
) -> None:
    with pytest.raises(kind, match=sentence):
        MockServer(**settings)
    with pytest.raises(kind, match=sentence):
        server.space(**settings)


def test_a_document_of_ones_own_without_the_built_in_overlays(tmp_path: Path) -> None:
    answer = {"description": "Said.", "content": {"application/json": {"schema": {"const": 7}}}}
    operation = {"operationId": "chat", "responses": {"200": answer}}
    operation["requestBody"] = {"content": {"application/json": {}}}
    file = tmp_path / "api.json"
    file.write_text(json.dumps({
        "openapi": "3.1.0", "info": {"title": "Cerebras, changed", "version": "1"},
        "paths": {"/v1/chat/completions": {"post": operation}},
    }))  # fmt: skip
    with pytest.raises(DocumentError, match=r"bare=True"):
        MockServer(spec=file)
    with MockServer(spec=file, bare=True) as mock:
        assert httpx.post(f"{mock.url}/v1/chat/completions").json() == 7


# ---------------------------------------------------------------------- clients of every kind


def test_sync_clients(mock: Space) -> None:
    mock.on().replies("Hello.")
    with (
        Cerebras(base_url=mock.url, api_key="k") as cerebras,
        OpenAI(base_url=mock.url, api_key="k") as plain,
        OpenAI(base_url=mock.openai_url, api_key="k") as versioned,
    ):
        for client in (cerebras, plain, versioned):
            answer = client.chat.completions.create(model=MODEL, messages=MESSAGES)
            assert answer.choices[0].message.content == "Hello."
        assert plain.models.list().data
    url = f"{mock.url}/v1/chat/completions"
    answer = requests.post(url, json=BODY, headers=HEADERS, timeout=20)
    assert answer.json()["choices"][0]["message"]["content"] == "Hello."
    assert {call.path for call in mock.calls} == {"/v1/chat/completions"}
    assert {call.operation for call in mock.calls} == {"createChatCompletion"}
    mock.assert_called(times=4)


async def test_async_clients(mock: Space) -> None:
    mock.on().replies("Hello.")
    async with (
        AsyncCerebras(base_url=mock.url, api_key="k") as cerebras,
        AsyncOpenAI(base_url=mock.url, api_key="k") as plain,
        aiohttp.ClientSession() as session,
    ):
        for client in (cerebras, plain):
            answer = await client.chat.completions.create(model=MODEL, messages=MESSAGES)
            assert answer.choices[0].message.content == "Hello."
        url = f"{mock.url}/v1/chat/completions"
        async with session.post(url, json=BODY, headers=HEADERS) as response:
            assert (await response.json())["choices"][0]["message"]["content"] == "Hello."


def test_another_process(mock: Space) -> None:
    mock.on().replies("Hello.")
    code = (
        "import json, sys, urllib.request as u\n"
        "r = u.Request(sys.argv[1], sys.argv[2].encode(), {'authorization': 'Bearer x',"
        " 'content-type': 'application/json'})\n"
        "print(json.load(u.urlopen(r))['choices'][0]['message']['content'])"
    )
    url = f"{mock.url}/v1/chat/completions"
    command = [sys.executable, "-c", code, url, json.dumps(BODY)]
    assert subprocess.check_output(command, text=True, timeout=60).strip() == "Hello."


@pytest.mark.parametrize("path", ["/v1/v1/chat/completions", "/v2/chat/completions", "/chat"])
def test_paths_that_no_client_has(mock: Space, path: str, client: httpx.Client) -> None:
    answer = client.post(mock.url + path, json=BODY, headers=HEADERS)
    assert answer.status_code == 404


# ---------------------------------------------------------------------- spaces


def test_spaces_share_nothing(server: MockServer) -> None:
    one = server.space(limits="rpm=1", seed=1)
    other = server.space(limits="rpm=1", seed=2)
    with one, other:
        words = [said(space.url) for space in (one, other)]
        assert words[0] != words[1]
        for space in (one, other):
            space.on().replies(space.name)
        one.clock.advance(60)
        assert said(one.url) == one.name
        with pytest.raises(urllib.error.HTTPError, match="429") as refused:
            said(other.url)
        refused.value.close()
        assert (len(one.calls), len(other.calls)) == (2, 2)


def test_a_space_of_another_profile(server: MockServer, client: httpx.Client) -> None:
    with server.space(profile="observed") as space:
        url = f"{space.url}/v1/chat/completions"
        answer = client.post(url, json={"model": MODEL}, headers=HEADERS)
        assert (answer.status_code, answer.json()["param"]) == (400, "validation_error")


def test_settings_come_from_the_server(client: httpx.Client) -> None:
    with MockServer(api_key="right") as mock, mock.space() as space:
        answer = client.get(f"{space.url}/v1/models", headers=HEADERS)
        assert answer.status_code == 401


def test_a_closed_space_says_so(server: MockServer, client: httpx.Client) -> None:
    space = server.space("over-and-out")
    space.close()
    url = f"{space.url}/v1/chat/completions"
    answer = client.post(url, json=BODY, headers=HEADERS)
    assert (answer.status_code, answer.json()["code"]) == (404, "space_closed")
    assert "'over-and-out' is closed" in answer.json()["message"]
    with pytest.raises(ValueError, match="there is a space 'over-and-out' already"):
        server.space("over-and-out")


@pytest.mark.parametrize("name", ["a/b", "a b", "é", "x" * 81])
def test_names_that_a_url_cannot_have(server: MockServer, name: str) -> None:
    with pytest.raises(ValueError, match="a space's name"):
        server.space(name)


def test_many_threads_with_a_space_each(server: MockServer) -> None:
    def work(number: int) -> list[str]:
        with server.space() as space:
            for turn in range(5):
                space.on(last_user=f"turn {turn}").replies(f"{number}.{turn}")
            return [said(space.url, f"turn {turn}") for turn in range(5)]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(16)))
    assert found == [[f"{number}.{turn}" for turn in range(5)] for number in range(16)]


def test_many_threads_with_one_space(mock: Space) -> None:
    """Each answer of a sequence is given once, whoever asks."""
    expectation = mock.on()
    for number in range(40):
        expectation = expectation.replies(str(number)).times(1)
    barrier = threading.Barrier(8)

    def work(_: int) -> list[str]:
        barrier.wait()
        return [said(mock.url) for _ in range(5)]

    with ThreadPoolExecutor(8) as pool:
        found = sorted(chain.from_iterable(pool.map(work, range(8))), key=int)
    assert found == list(map(str, range(40)))


async def test_many_tests_in_one_event_loop(server: MockServer) -> None:
    async def work(number: int) -> str:
        with server.space() as space:
            space.on().replies(str(number))
            async with AsyncOpenAI(base_url=space.url, api_key="k") as client:
                answer = await client.chat.completions.create(
                    model=MODEL, messages=[{"role": "user", "content": "hi"}]
                )
            return answer.choices[0].message.content or ""

    found = await asyncio.gather(*map(work, range(10)))
    assert found == list(map(str, range(10)))


def test_a_function_in_another_thread_than_the_test(mock: Space) -> None:
    seen: list[str] = []
    mock.on().replies(lambda request: seen.append(threading.current_thread().name) or "x")
    said(mock.url)
    assert seen == ["wafermock"]


# ---------------------------------------------------------------------- unittest, time, the page


class Unit(unittest.TestCase):
    def setUp(self) -> None:
        self.mock = self.enterContext(MockServer())

    def runTest(self) -> None:
        self.mock.on(last_user=contains("h")).replies("Hello.")
        assert said(self.mock.url) == "Hello."
        self.mock.assert_called(times=1)


def test_unittest() -> None:
    result = unittest.TestResult()
    Unit().run(result)
    assert result.wasSuccessful(), result.failures + result.errors


def test_the_page_of_the_control(server: MockServer, client: httpx.Client) -> None:
    answer = client.get(f"{server.url}/__wafermock__/")
    assert answer.status_code == 200


def test_the_place_is_that_of_the_test(mock: Space) -> None:
    expectation = mock.on()
    file, _, line = expectation.place.rpartition(":")
    assert Path(file).name == "test_mock_server.py"
    assert int(line) > 300
