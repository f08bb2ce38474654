"""The control interface of a real server: what it notes, and what its levers do to real clients."""

import contextlib
import ipaddress
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from cerebras.cloud.sdk import Cerebras, RateLimitError

HELLO: Any = [{"role": "user", "content": "Hello!"}]


@pytest.fixture(scope="module")
def shared(serving: Callable[..., Any]) -> Iterator[str]:
    with serving() as served:
        yield served.url


@pytest.fixture
def url(shared: str) -> Iterator[str]:
    """A server on which nothing was done: what a test did to it is taken back behind it."""
    yield shared
    with httpx.Client(base_url=f"{shared}/__wafermock__") as control:
        assert control.put("/script", json={"rules": []}).is_success
        assert control.post("/reset", json={}).is_success


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


def test_it_is_not_there_when_it_is_off(serve: Callable[..., Any]) -> None:
    url = serve("--control", "off").url
    headers = {"Authorization": "Bearer key"}
    assert httpx.get(f"{url}/__wafermock__/state", headers=headers).status_code == 404
    assert httpx.get(f"{url}/metrics", headers=headers).status_code == 404


# ---------------------------------------------------------------- who may use it


def addresses_of_this_machine() -> list[str]:
    """Return the addresses that others reach this machine by."""
    found = []
    for family, nobody in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((nobody, 9))  # sends nothing: it asks for the way there
            found.append(probe.getsockname()[0])
    return [address for address in found if not ipaddress.ip_address(address).is_loopback]


OUTSIDE = addresses_of_this_machine()
needs_address = pytest.mark.skipif(not OUTSIDE, reason="this machine has no address but loopback")


def hosts(address: str) -> tuple[str, str]:
    """Return an address that listens for it, and how it is written in a URL."""
    return ("::", f"[{address}]") if ":" in address else ("0.0.0.0", address)


@needs_address
@pytest.mark.parametrize("address", OUTSIDE)
@pytest.mark.parametrize(
    ("option", "status"), [((), 403), (("--control", "anywhere"), 200)], ids=["default", "anywhere"]
)
def test_other_machines_get_the_api_and_the_interface_only_if_asked(
    serve: Callable[..., Any], address: str, option: tuple[str, ...], status: int
) -> None:
    """A connection by an address that is no loopback looks like one from another machine."""
    everywhere, written = hosts(address)
    port = serve("--host", everywhere, *option).url.rpartition(":")[2]
    outside = f"http://{written}:{port}"
    assert say(outside).choices[0].message.content
    for path in ("/__wafermock__/", "/__wafermock__/state", "/__wafermock__/journal", "/metrics"):
        assert httpx.get(outside + path).status_code == status, path
    assert httpx.post(f"{outside}/__wafermock__/reset", json={}).status_code == status
    # A name of loopback in `Host` does not make it come from there.
    lie = httpx.get(f"{outside}/__wafermock__/state", headers={"Host": "127.0.0.1"})
    assert lie.status_code == status
    inside = "[::1]" if ":" in address else "127.0.0.1"
    assert httpx.get(f"http://{inside}:{port}/__wafermock__/state").status_code == 200


# ---------------------------------------------------------------- what it costs


HEAVY = ("jinja2", "prometheus_client", "jsonschema", "faker", "hypothesis")
LATER = ("control.interface", "control.coverage", "control.metrics", "script", "wire", "instances")


def test_nothing_of_it_is_imported_before_someone_looks() -> None:
    """A first answer, noted: no more is loaded than a server without control needs."""
    program = f"""
import sys
from wafermock import serving
from wafermock.mockserver.exchange import Request
from wafermock.spec import load_contract

service = serving.service(load_contract(), max_body=1_000_000)
control = serving.control(service)
body = b'{{"model": "gpt-oss-120b", "messages": [{{"role": "user", "content": "Hello!"}}]}}'
headers = {{"authorization": "Bearer k", "content-type": "application/json"}}
request = Request("POST", "/v1/chat/completions", "", headers, body)
control.note(request, service.begin(request)).end(0.0)
control.close()
later = ["wafermock.mockserver." + name for name in {LATER!r}]
print([name for name in [*{HEAVY!r}, *later] if name in sys.modules])
print(service.mock.is_pure, service.mock.script, len(control.journal))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["[]", "True None 1"], done.stderr


def test_a_rule_that_is_loaded_and_taken_back_leaves_the_mock_as_it_was(
    url: str, control: httpx.Client
) -> None:
    plain = say(url).choices[0].message.content
    rule = {"match": {"last": "Hello!"}, "reply": {"text": "By rule."}}
    control.put("/script", json={"rules": [rule]})
    assert say(url).choices[0].message.content == "By rule."
    assert [r["used"] for r in control.get("/script").json()["rules"]] == [1]
    control.put("/script", json={"rules": []})
    assert say(url).choices[0].message.content == plain
