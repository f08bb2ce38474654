"""Deliveries, failures and defects behind a real server, chosen by header, option and script."""

import json
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from cerebras.cloud.sdk import Cerebras, RateLimitError

from wafermock.mockserver.wire import DEFECTS, DELIVERIES, failure_catalogue
from wafermock.spec import load_contract

FAILURES = failure_catalogue(load_contract().errors)
BODY: dict[str, Any] = {
    "model": "gpt-oss-120b",
    "messages": [{"role": "user", "content": "Hello!"}],
}
EVERY = [
    *(("delivery", name) for name in DELIVERIES),
    *(("failure", name) for name in FAILURES),
    *(("defect", name) for name in DEFECTS),
]
WAITING = {"slow_first_byte", "slow_first_event", "stall", "crawl", "endless"}


def raw(url: str, body: dict[str, Any], **headers: str) -> bytes:
    """Return all that a server sends until it closes or resets the connection."""
    parts = urlsplit(url)
    data = json.dumps(body).encode()
    head = {
        "Host": "localhost",
        "Authorization": "Bearer key",
        "Connection": "close",
        "Content-Type": "application/json",
        "Content-Length": str(len(data)),
        **headers,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    received = b""
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as wire:
        wire.sendall(f"POST /v1/chat/completions HTTP/1.1\r\n{lines}\r\n".encode() + data)
        try:
            while part := wire.recv(65536):
                received += part
        except ConnectionResetError:
            received += b"<reset>"
    return received


def test_a_client_that_is_gone_is_no_error(server: str) -> None:
    """Nothing is said on standard error of one that sends its request and hangs up."""
    parts = urlsplit(server)
    for _ in range(20):
        with socket.create_connection((parts.hostname, parts.port), timeout=30) as wire:
            data = json.dumps(BODY).encode()
            wire.sendall(
                b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k\r\n"
                b"Content-Type: application/json\r\nX-Wafermock-Failure: reset_in_body\r\n"
                b"Content-Length: %d\r\n\r\n%b" % (len(data), data)
            )
            with suppress(OSError):  # the server may have reset the connection by then
                wire.shutdown(socket.SHUT_WR)
    assert raw(server, BODY).startswith(b"HTTP/1.1 200 OK\r\n")


def test_each_comes_to_its_end(server: str) -> None:
    """The fixture fails when the server says anything on standard error. How each looks is seen in
    wire/test_every_entry.py."""
    for kind, name in EVERY:
        text = f"{name}:seconds=0" if name in WAITING else name
        raw(server, {**BODY, "stream": True}, **{f"x-wafermock-{kind}": text})
    assert raw(server, BODY).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("by", ["option", "header"])
def test_defects_of_a_connection_and_between_calls(
    by: str, server: str, serve: Callable[..., Any]
) -> None:
    """What acts before a body is read, or needs the call before."""

    def chosen(defect: str) -> tuple[str, dict[str, str]]:
        if by == "option":
            return serve("--defect", defect).url, {}
        return server, {"x-wafermock-defect": defect}

    assert raw(server, BODY, Expect="100-continue").startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP")
    url, header = chosen("no_continue")
    assert raw(url, BODY, Expect="100-continue", **header).startswith(b"HTTP/1.1 200 OK\r\n")

    large = {**BODY, "user": "x" * 11_000_000}
    assert raw(server, large).startswith(b"HTTP/1.1 413 ")
    url, header = chosen("oversize_accepted")
    assert raw(url, large, **header).startswith(b"HTTP/1.1 200 OK\r\n")

    url, header = chosen("mixed_up")
    other = {**BODY, "messages": [{"role": "user", "content": "Goodbye!"}]}
    own, others = (raw(server, body).partition(b"\r\n\r\n")[2] for body in (BODY, other))
    got = [raw(url, body, **header).partition(b"\r\n\r\n")[2] for body in (BODY, other, BODY)]
    assert got == [own, own, others]


def test_a_defect_of_other_settings(server: str) -> None:
    invalid = {**BODY, "temperature": 3}
    (name,) = [n for n, e in DEFECTS.items() if e.settings == {"validate": "off"}][:1]
    assert raw(server, invalid).startswith(b"HTTP/1.1 422 ")
    assert raw(server, invalid, **{"x-wafermock-defect": name}).startswith(b"HTTP/1.1 200 ")


def test_a_header_chooses_for_one_request(server: str) -> None:
    got = raw(server, {**BODY, "stream": True}, **{"x-wafermock-delivery": "crlf"})
    plain = raw(server, {**BODY, "stream": True})
    assert b"data: [DONE]\r\n\r\n" in got
    assert b"data: [DONE]\r\n\r\n" not in plain
    assert raw(server, BODY, **{"x-wafermock-failure": "reset_before_headers"}) == b"<reset>"


def test_an_unknown_name_lists_what_there_is(server: str) -> None:
    got = raw(server, BODY, **{"x-wafermock-delivery": "crfl"})
    assert got.startswith(b"HTTP/1.1 400 ")
    assert b"crlf" in got


def test_an_option_chooses_for_all_by_its_rate(serve: Callable[..., Any]) -> None:
    url = serve("--failure", "request_quota_exceeded:rate=0.5").url
    client = Cerebras(base_url=url, api_key="key", max_retries=0)
    outcomes = []
    for _ in range(20):
        try:
            client.chat.completions.create(**BODY)
            outcomes.append(True)
        except RateLimitError:
            outcomes.append(False)
    assert True in outcomes
    assert False in outcomes


def test_a_script_chooses_for_its_rules(serve: Callable[..., Any], tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(
        "rules:\n"
        "  - match: {last: {contains: cut}}\n"
        "    reply: {text: One two three four five six., failure: 'reset:after=3'}\n"
        "  - match: {last: {contains: crlf}}\n"
        "    reply: {text: One., delivery: crlf}\n"
    )
    url = serve("--script", str(script)).url
    say = {**BODY, "stream": True, "messages": [{"role": "user", "content": "cut"}]}
    got = raw(url, say)
    assert got.endswith(b"<reset>")
    assert b"One" in got
    assert b"six" not in got
    assert b"[DONE]" not in got
    say["messages"] = [{"role": "user", "content": "crlf"}]
    assert b"data: [DONE]\r\n\r\n" in raw(url, say)


def test_a_bad_option_is_one_line() -> None:
    from click.testing import CliRunner

    from wafermock.cli import main

    result = CliRunner().invoke(main, ["serve", "--port", "0", "--delivery", "crfl"])
    assert result.exit_code == 2
    assert len(result.output.splitlines()) == 1
    assert "crlf" in result.output


def test_httpx_reads_every_delivery_as_the_same_text(server: str) -> None:
    """A delivery is legal: the joined text is always that of the plain one."""

    def text(**headers: str) -> str:
        said = ""
        url = f"{server}/v1/chat/completions"
        head = {"Authorization": "Bearer key", **headers}
        with httpx.stream("POST", url, json={**BODY, "stream": True}, headers=head) as answer:
            body = answer.read().decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
        for event in body.split("\n\n"):
            lines = [line for line in event.split("\n") if line.startswith("data:")]
            data = "\n".join(line[5:].removeprefix(" ") for line in lines)
            if data.startswith("{"):
                for choice in json.loads(data)["choices"]:
                    said += (choice.get("delta") or {}).get("content") or ""
        return said

    plain = text()
    assert plain
    for name in DELIVERIES:
        assert text(**{"x-wafermock-delivery": name}) == plain, name
