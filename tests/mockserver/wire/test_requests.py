"""Defects that act before the answer: the mock answers something else than what was asked."""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ormsgpack
import pytest

from wafermock.mockserver.exchange import Answer, Request
from wafermock.mockserver.mock import Mock
from wafermock.mockserver.refusal import Refusal
from wafermock.mockserver.wire import DEFECTS, rewritten

CHAT: dict[str, Any] = {
    "model": "gemma-4-31b",
    "messages": [{"role": "user", "content": "Tell me of rivers."}],
    "max_completion_tokens": 40,
}
TEXT: dict[str, Any] = {"model": "gpt-oss-120b", "prompt": "Rivers", "max_tokens": 20}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
FORMAT = {"type": "json_object"}


def asking(body: Any, path: str = "/v1/chat/completions", **headers: str) -> Request:
    raw = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
    given = {"authorization": "Bearer key", "content-type": "application/json"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    return Request("POST", path, "", given, raw)


def packed(body: Any, kind: str = "application/vnd.msgpack") -> Request:
    return asking(ormsgpack.packb(body), content_type=kind)


def zipped(body: Any) -> Request:
    raw = gzip.compress(json.dumps(body).encode(), mtime=0)
    return asking(raw, content_encoding="gzip")


@pytest.fixture(scope="module")
def mock(make_mock: Any) -> Mock:
    made: Mock = make_mock("observed", models="strict", api_key="key", max_body=100_000)
    return made


def answered(mock: Mock, request: Request, defect: str | None = None, position: int = 0) -> Answer:
    """Answer as a server with a defect does: what a server has to do."""
    if defect is None:
        return mock.answer(request)
    chosen = DEFECTS.parse(defect)
    if chosen.entry.stage == "settings":
        return Mock(mock.contract, replace(mock.settings, **chosen.entry.settings)).answer(request)
    try:
        return mock.answer(rewritten(request, [chosen], position))
    except Refusal as refusal:
        return mock.refuse(refusal, request)


def said(answer: Answer) -> Any:
    """The words and calls of an answer, however it came."""
    if not answer.streamed:
        value = json.loads(answer.body)
        return [(c.get("message") or {}).get("content", c.get("text")) for c in value["choices"]]
    parts: dict[int, str] = {}
    for part in answer.parts[:-1]:
        for choice in json.loads(part[6:])["choices"]:
            words = (choice.get("delta") or choice).get("content", choice.get("text")) or ""
            parts[choice["index"]] = parts.get(choice["index"], "") + words
    return [parts[index] for index in sorted(parts)]


def usage(answer: Answer) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answer.body)["usage"]
    return found


STREAM = {**CHAT, "stream": True}

# Requests that are answered otherwise, and requests that are not.
DIFFER: list[tuple[str, Request, Request]] = [
    ("stream_differs", asking(STREAM), asking(CHAT)),
    ("stream_differs", asking({**TEXT, "stream": True}, "/v1/completions"),
     asking(TEXT, "/v1/completions")),
    ("null_differs", asking({**CHAT, "stop": None}), asking(CHAT)),
    ("n_one_differs", asking({**CHAT, "n": 1}), asking(CHAT)),
    ("default_differs", asking({**CHAT, "top_p": 1}), asking({**CHAT, "top_p": 0.5})),
    ("white_space_differs", asking(json.dumps(CHAT, indent=2).encode()), asking(CHAT)),
    ("key_order_differs", asking(dict(reversed(CHAT.items()))), asking(CHAT)),
    ("msgpack_differs", packed(CHAT), asking(CHAT)),
    ("msgpack_differs:spelling=x-msgpack",
     replace(packed(TEXT, "application/x-msgpack"), path="/v1/completions"),
     replace(packed(TEXT), path="/v1/completions")),
    ("gzip_differs", zipped(CHAT), asking(CHAT)),
    ("chunked_differs", asking(CHAT, transfer_encoding="chunked"), asking(CHAT)),
]  # fmt: skip


@pytest.mark.parametrize(("defect", "other", "same"), DIFFER)
def test_what_means_the_same_is_answered_otherwise(
    defect: str, other: Request, same: Request, mock: Mock
) -> None:
    good = answered(mock, other)
    assert good.status == 200
    bad = answered(mock, other, defect)
    assert bad.status == 200
    assert said(bad) != said(good)
    assert answered(mock, same, defect) == answered(mock, same)


def test_unrepeatable(mock: Mock) -> None:
    request = asking({**CHAT, "seed": 1, "temperature": 0})
    answers = [said(answered(mock, request, "unrepeatable", number))[0] for number in range(5)]
    assert len(set(answers)) == 5
    assert said(answered(mock, request, "unrepeatable", 3))[0] == answers[3]


Look = Callable[[Answer], bool]
# What each defect does to a request that it acts on, and what holds without it.
IGNORED: list[tuple[str, Request, Look]] = [
    ("length_ignored", asking({**CHAT, "max_completion_tokens": 3}), lambda a:
        usage(a)["completion_tokens"] > 3),
    ("stop_ignored", asking({**CHAT, "stop": "e"}), lambda a: "e" in said(a)[0]),
    ("n_ignored", asking({**CHAT, "n": 2}), lambda a: len(said(a)) == 1),
    ("logprobs_ignored", asking({**CHAT, "logprobs": True, "top_logprobs": 2}), lambda a:
        b"logprobs" not in a.body),
    ("response_format_ignored", asking({**CHAT, "response_format": FORMAT}), lambda a:
        not said(a)[0].startswith("{")),
    ("tool_choice_ignored", asking({**CHAT, "tools": [TOOL], "tool_choice": "required"}), lambda a:
        b"tool_calls" not in a.body),
    ("tool_choice_ignored", asking({**CHAT, "tools": [TOOL], "tool_choice": "none"}), lambda a:
        b'"tool_calls"' in a.body),
    ("stream_ignored", asking(STREAM), lambda a: not a.streamed),
    ("always_streams", asking(CHAT), lambda a: a.streamed),
    ("valid_refused", asking(CHAT), lambda a: a.status == 400),
    ("encoding_breaks", packed(CHAT), lambda a: a.status == 500),
    ("encoding_breaks:kind=gzip", zipped(CHAT), lambda a: a.status == 500),
    ("encoding_breaks:kind=chunked", asking(CHAT, transfer_encoding="chunked"), lambda a:
        a.status == 500),
]  # fmt: skip


@pytest.mark.parametrize(("defect", "request_", "look"), IGNORED)
def test_what_is_asked_for_is_ignored(
    defect: str, request_: Request, look: Look, mock: Mock
) -> None:
    good = answered(mock, request_)
    assert good.status == 200
    assert not look(good)
    assert look(answered(mock, request_, defect))


NO_KEY = Request("POST", "/v1/chat/completions", "", {"content-type": "application/json"},
                 json.dumps(CHAT).encode())  # fmt: skip
ACCEPTED: list[tuple[str, Request]] = [
    ("invalid_accepted", asking({**CHAT, "temperature": 77})),
    ("invalid_accepted", asking({"model": "gpt-oss-120b"})),
    ("unknown_model_accepted", asking({**CHAT, "model": "no-such-model"})),
    ("wrong_key_accepted", asking(CHAT, authorization="Bearer wrong")),
    ("oversize_accepted", asking({**CHAT, "user": "x" * 120_000})),
    ("media_type_accepted", asking(CHAT, content_type="text/plain")),
    ("malformed_accepted", asking(b"{")),
    ("malformed_accepted:kind=json", asking(b'{"prompt":', "/v1/completions")),
    ("malformed_accepted:kind=msgpack", asking(b"\xc1", content_type="application/vnd.msgpack")),
    ("malformed_accepted:kind=gzip", asking(b"no gzip", content_encoding="gzip")),
    ("method_accepted", replace(asking(CHAT), method="PUT")),
    ("path_accepted", asking(CHAT, "/v1/no/such/path")),
]


@pytest.mark.parametrize(("defect", "request_"), ACCEPTED)
def test_what_is_to_be_refused_is_answered(defect: str, request_: Request, mock: Mock) -> None:
    assert 400 <= answered(mock, request_).status < 500
    assert answered(mock, request_, defect).status == 200


def test_no_key(make_mock: Any) -> None:
    mock = make_mock("observed")
    for authorization in ({}, {"authorization": "Basic x"}, {"authorization": "Bearer "}):
        request = replace(NO_KEY, headers={**NO_KEY.headers, **authorization})
        assert answered(mock, request).status == 401
        assert answered(mock, request, "no_key_accepted").status == 200


def test_each_kind_of_malformed_body_apart(mock: Mock) -> None:
    assert answered(mock, asking(b"{"), "malformed_accepted:kind=gzip").status == 400


def test_between_calls() -> None:
    first, second = (Answer(200, {}, (text,)) for text in (b"one", b"two"))
    stream = replace(second, streamed=True)
    mixed = DEFECTS["mixed_up"].effect
    assert mixed(second, first, False) is first
    assert mixed(second, None, False) is second
    assert mixed(stream, first, False) is stream  # the form is what was asked for
    spoils = DEFECTS["hang_up_spoils"].effect
    assert spoils(second, first, False) is second
    spoilt = spoils(stream, first, True)
    assert (spoilt.status, spoilt.streamed, spoilt.offsets) == (500, False, None)


def test_every_defect_of_a_request_is_tested() -> None:
    tested = {text.partition(":")[0] for text, *_ in [*DIFFER, *IGNORED, *ACCEPTED]}
    tested |= {"unrepeatable", "no_key_accepted"}
    stages = ("request", "settings")
    assert tested == {entry.name for entry in DEFECTS.values() if entry.stage in stages}


def test_other_stages() -> None:
    stages = {e.name: e.stage for e in DEFECTS.values() if e.stage in ("service", "connection")}
    assert stages == {
        "no_continue": "connection",
        "mixed_up": "service",
        "hang_up_spoils": "service",
    }
    for entry in DEFECTS.values():
        assert bool(entry.settings) == (entry.stage == "settings")


@pytest.mark.parametrize("defect", [e.name for e in DEFECTS.values() if e.stage == "request"])
@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b'"a"', b"{}", b'{"messages":[3]}',
                                  b'{"messages":[{"content":[]}]}', b'{"prompt":[[1]]}',
                                  b'{"prompt":null,"messages":"x"}'])  # fmt: skip
def test_odd_requests_break_nothing(defect: str, body: bytes, mock: Mock) -> None:
    for path in ("/v1/chat/completions", "/v1/completions"):
        answered(mock, asking(body, path), defect)
