"""Recorded and replayed: the same bytes, whoever was the upstream."""

import asyncio
import base64
import gzip
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.clients.sdk import connect

from wafermock.mockserver.exchange import Answer, Request
from wafermock.mockserver.mock import Mock
from wafermock.mockserver.record.answering import ScriptAnswers
from wafermock.mockserver.record.replay import acceptable
from wafermock.mockserver.script import Script
from wafermock.mockserver.server import HttpServer
from wafermock.mockserver.service import Service
from wafermock.spec import load_contract

from .conftest import Running, Upstream, ask, body_of, request, says

Start = Callable[..., Awaitable[Any]]
KEY = "csk-0a1b2c3d4e5f60718293a4b5c6d7e8f9"
CHAT = {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": "Say é, 漢字 and 🙂."}]}


@pytest.fixture
async def mock() -> AsyncIterator[HttpServer]:
    server = HttpServer(Service(Mock(load_contract())))
    await server.start()
    yield server
    await server.stop()


def chat(**more: Any) -> bytes:
    return json.dumps({**CHAT, **more}).encode()


REQUESTS = {
    "whole": request(body=chat(), Authorization=f"Bearer {KEY}"),
    "stream": request(body=chat(stream=True), Authorization=f"Bearer {KEY}"),
    "logprobs": request(body=chat(stream=True, logprobs=True, n=2), Authorization=f"Bearer {KEY}"),
    "text": request(target="/v1/completions", body=b'{"model": "m", "prompt": "a"}',
                    Authorization=f"Bearer {KEY}"),
    "models": request("GET", "/v1/models", Authorization=f"Bearer {KEY}"),
    "refused": request(body=b'{"model": 3}', Authorization=f"Bearer {KEY}"),
    "no key": request(target="/v1/completions", body=b'{"model": "m", "prompt": "b"}'),
    "nowhere": request("GET", "/v1/nowhere?x=1"),
    "head": request("HEAD", "/v1/models", Authorization=f"Bearer {KEY}"),
    "not json": request(body=b"{", Authorization=f"Bearer {KEY}"),
}  # fmt: skip


def told(answer: bytes) -> tuple[int, dict[str, str], bytes]:
    head, _, _ = answer.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    for name in ("date", "server", "content-length"):
        headers.pop(name, None)
    return int(lines[0].split()[1]), headers, body_of(answer)


async def test_the_mock_is_replayed_byte_for_byte(
    mock: HttpServer, recording: Start, replaying: Start
) -> None:
    run: Running = await recording(mock.url)
    direct = {name: await ask(mock.port, sent) for name, sent in REQUESTS.items()}
    passed = {name: await ask(run.proxy.port, sent) for name, sent in REQUESTS.items()}
    for name in REQUESTS:
        assert told(passed[name][0]) == told(direct[name][0]), name
    script = await run.settled()
    assert KEY not in script
    replay = await replaying(run.path)
    for name, sent in REQUESTS.items():
        # In another order, and more than once.
        for _ in range(2):
            got, ended = await ask(replay.proxy.port, sent)
            assert told(got) == told(direct[name][0]), name
            assert ended == "close"
    assert not replay.said


async def test_the_official_client_hears_the_same(mock: HttpServer, recording: Start) -> None:
    run = await recording(mock.url)
    answers = []
    for url in (mock.url, run.proxy.url):
        # The SDK warms up while it is made, and waits for that: here it would wait for itself.
        client = connect("cerebras-async", url, warm_tcp_connection=False)
        whole = await client.chat(**CHAT)
        chunks = await client.chat_chunks(**CHAT)
        client.check_faithful(whole, client.exchanges[-2].json)
        answers.append((whole, chunks, [exchange.body for exchange in client.exchanges]))
        await client.api.close()
    assert answers[0] == answers[1]


async def test_a_stream_keeps_its_pace(upstream: Start, recording: Start, replaying: Start) -> None:
    go = asyncio.Queue[bytes]()
    now = [100.0]

    async def answer(up: Upstream, reader: Any, writer: Any, sent: bytes) -> None:
        while data := await go.get():
            writer.write(data)

    up = await upstream(answer)
    run = await recording(up.url, clock=lambda: now[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", run.proxy.port)
    writer.write(request(body=chat(stream=True)))
    go.put_nowait(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    for data in (b"data: 1\n\n", b"data", b": 2\n\n", b"data: 3\n\ndata: 4\n\n"):
        now[0] += 0.015
        go.put_nowait(data)
        await reader.readexactly(len(data))
    go.put_nowait(b"")
    await reader.read()
    writer.close()
    await run.settled()
    found = Script.load(run.path).rules[0].steps[0].reply.answer
    assert found is not None
    assert found.parts == (b"data: 1\n\n", b"data: 2\n\n", b"data: 3\n\n", b"data: 4\n\n")
    assert found.offsets == (0.015, 0.045, 0.06, 0.06)
    replay = await replaying(run.path)
    began = time.monotonic()
    got, _ = await ask(replay.proxy.port, request(body=chat(stream=True)))
    assert time.monotonic() - began >= 0.06  # it cannot have come earlier
    assert body_of(got) == b"".join(found.parts)


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "then"),
    [
        (b"", "reset"),
        (b"", "close"),
        (STREAM + b"9\r\ndata: 1\n\n\r\n", "reset"),
        (STREAM + b"9\r\ndata: 1\n\n\r\n", "close"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 9\r\n\r\nabc", "reset"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 9\r\n\r\nabc", "close"),
    ],
)
async def test_a_failure_is_replayed(
    upstream: Start, recording: Start, replaying: Start, answer: bytes, then: str
) -> None:
    up = await upstream(says(answer, then=then))
    run = await recording(up.url)
    passed, ended = await ask(run.proxy.port, request(body=chat()))
    await run.settled()
    replay = await replaying(run.path)
    got, again = await ask(replay.proxy.port, request(body=chat()))
    assert again == ended == then
    if answer:
        assert got.partition(b"\r\n\r\n")[2] == passed.partition(b"\r\n\r\n")[2]
    else:
        assert got == passed == b""


async def test_streams_of_any_form_are_byte_equal(
    upstream: Start, recording: Start, replaying: Start
) -> None:
    body = (
        b"\xef\xbb\xbf: hi\n\ndata:1\n\ndata: a\nid: 7\nevent: x\n\nretry: 5\r\n\r\ndata: \r\r"
        b"data: \xff\xfe\n\ndata:  two\ndata\n\ndata: last"
    )
    up = await upstream(says(STREAM + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)))
    run = await recording(up.url)
    await ask(run.proxy.port, request(body=chat(stream=True)))
    await run.settled()
    replay = await replaying(run.path)
    got, _ = await ask(replay.proxy.port, request(body=chat(stream=True)))
    assert body_of(got) == body


async def test_large_binary_answers(upstream: Start, recording: Start, replaying: Start) -> None:
    body = bytes(range(256)) * 4_000
    head = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: %d\r\n\r\n" % len(body)
    up = await upstream(says(head + body))
    run = await recording(up.url)
    sent = request("GET", "/v1/files/1/content")
    assert body_of((await ask(run.proxy.port, sent))[0]) == body
    await run.settled()
    replay = await replaying(run.path)
    assert body_of((await ask(replay.proxy.port, sent))[0]) == body


async def test_the_same_request_again_has_the_next_answer(
    upstream: Start, recording: Start, replaying: Start
) -> None:
    up = await upstream(says())
    run = await recording(up.url)
    answers = []
    for status, text in ((429, b"wait"), (429, b"wait"), (200, b"now"), (200, b"again")):
        up.answer = says(
            b"HTTP/1.1 %d x\r\nContent-Length: %d\r\n\r\n%s" % (status, len(text), text)
        )
        answers.append(body_of((await ask(run.proxy.port, request(body=chat())))[0]))
    await run.settled()
    replay = await replaying(run.path)
    heard = [
        body_of((await ask(replay.proxy.port, request(body=chat())))[0])
        for _ in range(len(answers) + 2)
    ]
    assert heard == [*answers, b"again", b"again"]


# ---------------------------------------------------------------------- secrets

MAIL = "ada.lovelace@example.org"
ORG = "org-Qw12Er34Ty56"
COOKIE = "cookie-value-123456"
BASIC = base64.b64encode(b"ada-the-admin:hunter2-hunter2").decode()
SECRETS = (KEY, MAIL, ORG, COOKIE, BASIC, "hunter2-hunter2", "ada-the-admin", "acme-internal",
           "PROJECT-4711", "query-secret-1", "set-cookie-secret")  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("streamed", [False, True])
async def test_no_secret_reaches_the_file(
    upstream: Start, recording: Start, replaying: Start, streamed: bool, packed: bool
) -> None:
    told = [*SECRETS, json.dumps({"email": MAIL, "nested": json.dumps({"apiKey": KEY})})]
    if streamed:
        letters = [letter for text in told for letter in f"{text} "]
        events = [{"choices": [{"delta": {"content": x}, "index": 0}]} for x in letters]
        events.append({"organization": "acme-internal", "key": KEY, "mail": MAIL})
        body = b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)
        body += f": seen {KEY}\n\ndata: [DONE]\n\n".encode()
    else:
        body = json.dumps({"told": told, "organization_id": 4711, MAIL: {"cookie": "abc"}}).encode()
    raw = gzip.compress(body) if packed else body
    kind = "text/event-stream" if streamed else "application/json"
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n"
        f"{'Content-Encoding: gzip' if packed else 'X-Plain: 1'}\r\n"
        f"Set-Cookie: id=set-cookie-secret; Path=/\r\nOpenAI-Organization: acme-internal\r\n"
        f"X-Echo: {KEY} {BASIC}\r\nLocation: /x?api_key={KEY}&to={MAIL}\r\n\r\n"
    ).encode()
    # Written in odd pieces, so that secrets are split between reads.
    pieces = [raw[at : at + 7] for at in range(0, len(raw), 7)]
    up = await upstream(says(head, *(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces), b"0\r\n\r\n"))
    run = await recording(up.url, patterns=[re.compile(r"PROJECT-\d+")])
    asked = json.dumps({"model": f"m {KEY}", "prompt": f"I am {MAIL}, PROJECT-4711", "user": MAIL})
    sent = request(
        target=f"/v1/completions/{MAIL}?api_key=query-secret-1&to={MAIL}",
        body=asked.encode(), Authorization=f"Bearer {KEY}", Proxy_Authorization=f"Basic {BASIC}",
        Cookie=f"session={COOKIE}; b=c", OpenAI_Organization="acme-internal", X_Org=ORG,
    )  # fmt: skip
    got, _ = await ask(run.proxy.port, sent)
    assert body_of(got) == raw  # what is passed on is whole
    script = await run.settled()
    plain = Script.load(run.path).rules[0].steps[0].reply.answer
    assert plain is not None
    kept = plain.body
    said = kept.decode()
    if streamed:
        lines = [line.removeprefix("data: ") for line in said.split("\n\n")]
        events = [json.loads(line) for line in lines if line.startswith("{")]
        said += "".join(e["choices"][0]["delta"]["content"] for e in events if "choices" in e)
    else:
        said += json.dumps(json.loads(kept))
    for text in (script, said, "\n".join(run.said), repr(plain.headers)):
        for secret in SECRETS:
            assert secret not in text, secret
    # With other keys it is still the same request, and gets an answer.
    other = (
        sent.replace(BASIC.encode(), base64.b64encode(b"bob:another-password").rstrip(b"="))
        .replace(KEY.encode(), b"csk-ffffffffffffffffffffffffffffffff")
        .replace(MAIL.encode(), b"grace.b.hopper@example.com"[2:])
    )
    replay = await replaying(run.path)
    assert body_of((await ask(replay.proxy.port, other))[0]) == kept


# ---------------------------------------------------------------------- only what is missing


async def test_only_what_is_missing_is_asked_for(
    upstream: Start, recording: Start, tmp_path: Path
) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"
    up = await upstream(says(answer + b"a"))
    run = await recording(up.url)
    await ask(run.proxy.port, request(body=chat()))
    await run.proxy.stop()
    up.answer = says(answer + b"b")
    known = ScriptAnswers(Script.load(run.path), load_contract())
    more = await recording(up.url, "out.yaml", answers=known)
    for body, want in ((chat(), b"a"), (chat(seed=1), b"b"), (chat(), b"a")):
        got, _ = await ask(more.proxy.port, request(body=body))
        assert body_of(got) == want
    expecting = request(body=chat(seed=2), Expect="100-continue")
    got, _ = await ask(more.proxy.port, expecting)
    assert got.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert len(up.requests) == 3
    assert "Expect" not in up.head
    await more.proxy.stop()
    assert [rule.name.partition(" ")[0] for rule in Script.load(run.path).rules] == [
        "#1",
        "#2",
        "#3",
    ]


HAND_WRITTEN = """
rules:
  - {match: {last: Hello!}, reply: {text: By hand.}}
  - {match: {last: busy?}, reply: {error: request_quota_exceeded}}
  - {match: {last: again?}, times: 1, reply: {body: {a: 1}, failure: reset_in_body}}
"""


async def test_any_rule_answers_and_the_rest_is_recorded(
    upstream: Start, recording: Start, tmp_path: Path
) -> None:
    by_hand = tmp_path / "by_hand.yaml"
    by_hand.write_text(HAND_WRITTEN, encoding="utf-8")
    contract = load_contract()
    up = await upstream(says(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nu"))
    answers = ScriptAnswers(Script.load(by_hand, contract), contract)
    run = await recording(up.url, "rest.yaml", answers=answers)

    async def said(words: str, **more: Any) -> bytes:
        body = {"model": "m", "messages": [{"role": "user", "content": words}], **more}
        asked = request(body=json.dumps(body).encode(), **{"Content-Type": "application/json",
                        "Authorization": "Bearer k"})  # fmt: skip
        return (await ask(run.proxy.port, asked))[0]

    assert json.loads(body_of(await said("Hello!")))["choices"][0]["message"]["content"] == (
        "By hand."
    )
    assert b"data: [DONE]" in await said("Hello!", stream=True)
    assert (await said("busy?")).startswith(b"HTTP/1.1 429 ")
    assert len(up.requests) == 0
    await said("again?")
    for words in ("again?", "something else"):  # used up; never there
        assert body_of(await said(words)) == b"u"
    await run.proxy.stop()
    assert len(up.requests) == 2
    assert len(Script.load(run.path).rules) == 2


# ---------------------------------------------------------------------- the form of an answer


@pytest.mark.parametrize(
    ("accepts", "packed"),
    [
        (None, False),
        ("gzip", True),
        ("deflate, GZIP;q=0.5", True),
        ("*", True),
        ("gzip;q=0, *", False),
        ("br", False),
        ("", False),
    ],
)
def test_a_coding_that_the_client_takes(accepts: str | None, packed: bool) -> None:
    parts = (gzip.compress(b"hel"), gzip.compress(b"lo"))
    answer = Answer(200, {"content-encoding": "gzip", "a": "b"}, parts, offsets=(0.0, 1.0))
    headers = {} if accepts is None else {"accept-encoding": accepts}
    got = acceptable(answer, Request("POST", "/", headers=headers))
    if packed:
        assert got == answer
    else:
        assert got == Answer(200, {"a": "b"}, (b"hel", b"lo"), offsets=(0.0, 1.0))
