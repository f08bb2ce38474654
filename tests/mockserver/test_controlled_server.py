"""The control interface of a real server: what it notes, and what its levers do to real clients."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from cerebras.cloud.sdk import Cerebras, RateLimitError

HELLO: Any = [{"role": "user", "content": "Hello!"}]


@pytest.fixture
def url(serve: Callable[..., Any]) -> str:
    return str(serve("--control", "loopback").url)


@pytest.fixture
def control(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{url}/__wafermock__", timeout=30) as client:
        yield client


def say(url: str, **options: Any) -> Any:
    client = Cerebras(base_url=url, api_key="secret-key", max_retries=0)
    return client.chat.completions.create(model="gpt-oss-120b", messages=HELLO, **options)


def test_calls_are_noted_without_their_keys(url: str, control: httpx.Client) -> None:
    say(url + "/t/mine")
    calls = control.get("/journal", params={"scope": "mine", "path": "/v1/chat/completions"}).json()
    (call,) = calls["calls"]
    assert (call["status"], call["model"]) == (200, "gpt-oss-120b")
    shown = control.get(f"/journal/{call['number']}").text
    assert "Hello!" in shown
    assert "secret-key" not in shown
    assert "curl" in control.get(f"/journal/{call['number']}/curl").text


def test_the_page_and_the_metrics(url: str, control: httpx.Client) -> None:
    say(url)
    page = control.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "content-security-policy" in page.headers
    metrics = httpx.get(f"{url}/metrics").text
    assert "createChatCompletion" in metrics


def test_a_failure_is_armed_for_so_many_calls(url: str, control: httpx.Client) -> None:
    armed = control.post("/armed", json={"name": "request_quota_exceeded", "times": 2})
    assert armed.status_code == 201
    for _ in range(2):
        with pytest.raises(RateLimitError):
            say(url)
    assert say(url).choices[0].message.content


def test_a_rule_is_put_in_while_it_runs(url: str, control: httpx.Client) -> None:
    rule = {"match": {"last": {"contains": "Hello"}}, "reply": {"text": "Goodbye."}}
    assert control.post("/script", json={"rules": [rule]}).status_code == 200
    assert say(url).choices[0].message.content == "Goodbye."
    control.post("/reset")


def test_the_clock_is_moved(url: str, control: httpx.Client) -> None:
    before = say(url).created
    control.post("/clock/advance", json={"seconds": 60})
    assert say(url).created == before + 60


def test_a_stream_is_held_and_let_go(url: str, control: httpx.Client) -> None:
    control.post("/held", json={"at": 1})
    heard: list[Any] = []
    first = threading.Event()

    def listen() -> None:
        for chunk in say(url, stream=True):
            heard.append(chunk)
            first.set()

    listener = threading.Thread(target=listen)
    listener.start()
    assert first.wait(30)
    (stream,) = control.get("/held").json()["streams"]
    assert len(heard) == 1
    control.post(f"/held/{stream['number']}/release")
    listener.join(30)
    assert heard[-1].choices[0].finish_reason == "stop"


def test_a_held_stream_is_dropped(url: str, control: httpx.Client) -> None:
    control.post("/held", json={"at": 1})
    chunks = iter(say(url, stream=True))
    next(chunks)
    (stream,) = control.get("/held").json()["streams"]
    control.post(f"/held/{stream['number']}/drop")
    with pytest.raises(httpx.HTTPError):
        list(chunks)


def test_a_page_of_another_site_may_not_use_it(control: httpx.Client) -> None:
    assert control.post("/reset", headers={"Origin": "https://evil.example"}).status_code == 403
    assert control.get("/state", headers={"Host": "evil.example"}).status_code == 403


def test_it_is_off_unless_asked_for(server: str) -> None:
    headers = {"Authorization": "Bearer key"}
    assert httpx.get(f"{server}/__wafermock__/state", headers=headers).status_code == 404
