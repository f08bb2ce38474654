"""A finding's requests sent again by the judge, by curl and by Python: always the same bytes."""

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from wafermock.conformance.client import USER_AGENT
from wafermock.conformance.exchange import Exchange, Purpose, Received, Sent
from wafermock.conformance.http1_request import body_of, head_of
from wafermock.conformance.planned import Subject, encoded
from wafermock.conformance.repeating import KEY, LONGEST_ARGUMENT, curl, python
from wafermock.conformance.replay import replay, sent_again
from wafermock.conformance.secrets import Masking
from wafermock.reports.run import Finding, Part, Traffic
from wafermock.spec import load_contract

from .conftest import CERTIFICATE, Raw, Serve

SECRET = "csk-'5\"$(x)`\\ %s"
MASKING = Masking([SECRET])
JSON = ("Content-Type", "application/json")

REQUESTS = {
    "get": Sent("GET", "/v1/models"),
    "key": Sent("GET", "/v1/models", (("Authorization", f"Bearer {SECRET}"),)),
    "key within": Sent("GET", "/", (("x-api-key", f"a{SECRET}b"), ("X-Star", "***"))),
    "wrong key": Sent("GET", "/", (("Authorization", "Bearer wafermock-wrong"),)),
    "json": Sent("POST", "/v1/x?a=b&c=%20[1]", (JSON,), b'{"a": "it\'s $HOME `x` \\n \\"q\\" !"}'),
    "words": Sent("POST", "/", (JSON,), "\n漢字 🙂\té\n".encode()),
    "at sign": Sent("POST", "/", (JSON,), b"@/etc/hostname"),
    "empty": Sent("POST", "/", (JSON,)),
    "no type": Sent("POST", "/", (), b"{}"),
    "binary": Sent("POST", "/", (("Content-Type", "application/msgpack"),), bytes(range(256)) * 3),
    "bad UTF-8": Sent("POST", "/", (JSON,), b'{"a": "\xff\xfe"}'),
    "carriage returns": Sent("POST", "/", (JSON,), b"{\r\n}\r\n"),
    "NUL": Sent("POST", "/", (JSON,), b"\0"),
    "long": Sent("POST", "/", (JSON,), b'"' + b"x" * (LONGEST_ARGUMENT * 6) + b'"'),
    "headers": Sent("GET", "/", (("X-A", "it's"), ("X-A", "two"), ("X-Empty", ""), ("x-é", "é\t%d"),
                                 ("Accept", "a/b"), ("User-Agent", "me"), ("X-U", "漢"))),
    "target": Sent("GET", "/a/../b//c?d=é 漢&e={1,2}[3-4]"),
    "host": Sent("GET", "/", (("Host", "other.test"),)),
    "method": Sent("DELETE", "/v1/x"),
    "body with get": Sent("GET", "/", (), b"body"),
    "chunked": Sent("POST", "/", (JSON,), b'{"a": 1}', chunks=(8,)),
    "chunked, nothing": Sent("POST", "/", (JSON,), b"", chunks=()),
    "wrong length": Sent("POST", "/", (JSON, ("Content-Length", "2")), b"{}"),
}  # fmt: skip


Run = Callable[..., Awaitable[bytes]]


def written(sent: Sent, raw: Raw) -> bytes:
    """Return the bytes of a request as the judge sends it."""
    head = head_of(sent, host=f"localhost:{raw.port}", base_path="/base", user_agent=USER_AGENT)
    return head + b"".join(body_of(sent))


def lines(request: bytes) -> tuple[bytes, list[bytes], bytes]:
    """Return the request line, the headers in no order (curl and Python have their own; those of
    one name keep theirs), and the body."""
    head, _, body = request.partition(b"\r\n\r\n")
    first, *headers = head.split(b"\r\n")
    pairs = [header.partition(b":") for header in headers]
    return first, sorted((k.lower() + b": " + v.strip() for k, _, v in pairs),
                         key=lambda line: line.partition(b":")[0]), body  # fmt: skip


def traffic(sent: Sent) -> Traffic:
    return MASKING.traffic(Exchange("1", Purpose("c", "k", "#/"), sent))


def finding(*sent: Sent) -> Finding:
    return Finding("1", "R", "FAIL", "#/x", "k", "", "", "", tuple(map(traffic, sent)))


async def collecting(serve: Serve, tls: bool = False) -> Raw:
    """A server that reads one request, chunked or not, keeps and answers it."""
    collected: list[bytes] = []

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        if b"chunked" in request.lower():
            request += await reader.readuntil(b"0\r\n\r\n")
        elif b"content-length:" in request.lower():
            length = request.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
            request += await reader.readexactly(int(length))
        collected.append(request)
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello")

    raw = await serve(script, tls=tls)
    raw.requests = collected
    return raw


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`await run("sh", text)` runs a text as a script, with the key in the environment."""

    async def run(program: str, text: str, *options: str) -> bytes:
        script = tmp_path / "again"
        script.write_text(text, encoding="utf-8")
        environment = {**os.environ, KEY: SECRET, "HOME": "/nowhere", "CURL_HOME": "/nowhere"}
        process = await asyncio.create_subprocess_exec(
            program, *options, str(script), env=environment,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        async with asyncio.timeout(60):
            out, err = await process.communicate()
        assert (process.returncode, err) == (0, b"")
        return out

    return run


@pytest.mark.parametrize("name", REQUESTS)
async def test_the_judge_sends_the_same_again(serve: Serve, name: str) -> None:
    raw = await collecting(serve)
    sent = REQUESTS[name]
    client = raw.client()
    async with client:
        client.endpoint = replace(client.endpoint, base_path="/base")
        exchanges = await replay(finding(sent), client, api_key=SECRET)
    assert lines(raw.requests[0]) == lines(written(sent, raw))
    assert [e.received and e.received.raw for e in exchanges] == [b"hello"]
    assert [e.purpose.location for e in exchanges] == ["#/x"]


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("name", REQUESTS)
async def test_curl_sends_the_same(serve: Serve, run: Run, name: str, shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    raw = await collecting(serve)
    text = curl([traffic(REQUESTS[name])], f"{raw.url}/base")
    assert SECRET not in text
    out = await run(shell, text)
    assert lines(raw.requests[0]) == lines(written(REQUESTS[name], raw))
    assert out.endswith(b"hello")


@pytest.mark.parametrize("name", REQUESTS)
async def test_python_sends_the_same(serve: Serve, run: Run, name: str) -> None:
    raw = await collecting(serve)
    text = python([traffic(REQUESTS[name])], f"{raw.url}/base")
    assert SECRET not in text
    out = await run(sys.executable, text, "-I")
    assert lines(raw.requests[0]) == lines(written(REQUESTS[name], raw))
    assert out.startswith(b"200 OK")
    assert b"hello" in out


async def test_several_requests_come_one_behind_the_other(serve: Serve, run: Run) -> None:
    raw = await collecting(serve)
    several = [traffic(REQUESTS[name]) for name in ("get", "long", "json")]
    await run(sys.executable, python(several, raw.url))
    if shutil.which("curl"):
        await run("sh", curl(several, raw.url))
    bodies = [request.partition(b"\r\n\r\n")[2] for request in raw.requests]
    expected = [one.request_body for one in several]
    assert bodies in (expected, expected * 2)


@pytest.mark.parametrize("trust", [{"insecure": True}, {"ca_file": str(CERTIFICATE)}])
async def test_tls(serve: Serve, run: Run, trust: dict[str, Any]) -> None:
    raw = await collecting(serve, tls=True)
    one = [traffic(REQUESTS["json"])]
    assert b"hello" in await run(sys.executable, python(one, raw.url, **trust))
    if shutil.which("curl"):
        assert (await run("sh", curl(one, raw.url, **trust))).endswith(b"hello")


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
async def test_curl_asks_for_the_head_alone(serve: Serve, run: Run) -> None:
    raw = await collecting(serve)
    await run("sh", curl([traffic(Sent("HEAD", "/v1/models"))], raw.url))
    assert raw.requests[0].startswith(b"HEAD /v1/models HTTP/1.1\r\n")


# ------------------------------------------------------------------------- the judge alone


def test_what_went_out_otherwise_goes_out_so_again() -> None:
    sent = Sent("POST", "/", (JSON,), b"{}", chunks=(1,), expect_continue=True, leave_after=4)
    recorded = replace(
        MASKING.traffic(
            Exchange("1", Purpose("c", "k", "#/"), sent, received=Received(200, ended="left"))
        ),
        parts=(Part(0.0, b"1234567"),),
        omitted=3,
    )
    again = sent_again(recorded)
    assert (again.chunks, again.expect_continue, again.leave_after) == ((1,), True, 10)
    assert again.body == b"{}"


def test_without_a_key_the_mask_stays() -> None:
    recorded = traffic(REQUESTS["key"])
    assert sent_again(recorded).header("Authorization") == "Bearer ***"
    assert sent_again(recorded, "k").header("Authorization") == "Bearer k"


def test_headers_of_the_users_own_are_put_back() -> None:
    recorded = Masking.of(Subject("m", "csk-1234", (("X-Gateway", "gw-token-1"),))).traffic(
        Exchange(
            "1",
            Purpose("test", "plain", "#/paths"),
            Sent("GET", "/", (("Authorization", "Bearer csk-1234"), ("X-Gateway", "gw-token-1"))),
        )
    )
    assert dict(recorded.request_headers) == {"Authorization": "Bearer ***", "X-Gateway": "***"}
    again = sent_again(recorded, "k", (("x-gateway", "gw-token-2"),))
    assert dict(again.headers) == {"Authorization": "Bearer k", "X-Gateway": "gw-token-2"}


async def test_exchanges_of_a_replay_can_be_judged(serve: Serve) -> None:
    asked = {"model": "m", "messages": []}
    path = "/v1/chat/completions"
    several = finding(
        Sent("POST", path, (JSON,), encoded(asked)),
        Sent("POST", path, (("Content-Type", "application/vnd.msgpack"),),
             encoded(asked, "application/vnd.msgpack")),
        Sent("POST", path, (JSON,), b"{"),
        Sent("GET", "/nowhere"),
    )  # fmt: skip
    raw = await collecting(serve)
    async with raw.client() as client:
        exchanges = await replay(several, client, contract=load_contract())
    operations = [exchange.operation.id if exchange.operation else "" for exchange in exchanges]
    assert operations == ["createChatCompletion"] * 3 + [""]
    assert [exchange.asked for exchange in exchanges] == [asked, asked, None, None]


async def test_silence_is_told(serve: Serve) -> None:
    raw = await serve([b""])
    async with raw.client() as client:
        (exchange,) = await replay(finding(REQUESTS["get"]), client)
    assert (exchange.received, exchange.error) == (None, "closed without an answer")
