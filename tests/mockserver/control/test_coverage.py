"""Coverage: each point is seen by the call that shows it, and by no other."""

import gzip
import json
from collections.abc import Callable
from typing import Any

import ormsgpack
import pytest

from wafermock.mockserver.control.coverage import points, seen_by
from wafermock.mockserver.control.entry import Miss, Why
from wafermock.mockserver.control.reading import read_answer
from wafermock.mockserver.exchange import Answer
from wafermock.spec import load_contract

JSON = {"content-type": "application/json"}
CALL = {"type": "function", "function": {"name": "f", "arguments": "{}"}}


def completion(*choices: dict[str, Any], **more: Any) -> Answer:
    body = {"choices": list(choices), **more}
    return Answer(200, JSON, (json.dumps(body).encode(),))


def choice(reason: str = "stop", **message: Any) -> dict[str, Any]:
    return {"finish_reason": reason, "message": {"role": "assistant", **message}}


def stream(*chunks: Any, done: bool = True) -> Answer:
    parts = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
    return Answer(200, JSON, (*parts, *([b"data: [DONE]\n\n"] * done)), streamed=True)


def delta(reason: str | None = None, **more: Any) -> dict[str, Any]:
    ending = {} if reason is None else {"finish_reason": reason}
    return {"choices": [{"index": 0, "delta": more, **ending}]}


WHOLE = {"operation:createChatCompletion", "answer:whole", "finish:stop"}
FAILED = {"operation:createChatCompletion"}
CALLS = "answer:parallel tool calls"
LOGPROBS = {"logprobs": {"content": []}}
STREAM_MARKS = {"operation:createChatCompletion", "answer:stream"}
EMPTY = "answer:no content"


@pytest.mark.parametrize(
    ("answer", "marks"),
    [
        (completion(choice(content="Hi")), WHOLE),
        (completion(choice("length", content="Hi")), WHOLE - {"finish:stop"} | {"finish:length"}),
        (completion(choice(content="漢")), WHOLE | {"answer:beyond ASCII"}),
        (completion(choice(content="Hi", reasoning="Hm")), WHOLE | {"answer:reasoning"}),
        (completion(choice(content="a"), choice(content="b")), WHOLE | {"answer:several choices"}),
        (completion(choice(tool_calls=[CALL])), WHOLE | {"answer:tool call", EMPTY}),
        (completion(choice(tool_calls=[CALL, CALL])), WHOLE | {CALLS, EMPTY}),
        (completion({**choice(content="a"), **LOGPROBS}), WHOLE | {"answer:logprobs"}),
        (Answer(429, JSON, (b'{"message": "no"}',)), FAILED | {"status:429"}),
        (
            Answer(403, {}, (b"<html>",)),
            FAILED | {"status:403", "trouble:page of a proxy"},
        ),
        (stream(delta(content="a"), delta("stop")), STREAM_MARKS | {"finish:stop"}),
        (stream(delta(content="a"), done=False), STREAM_MARKS | {"trouble:stream cut short"}),
        (
            stream(delta(content="a"), {"error": {"message": "x"}}, done=False),
            STREAM_MARKS | {"trouble:error in a stream"},
        ),
        (
            stream(
                delta(tool_calls=[{"index": 0, **CALL}]),
                delta(tool_calls=[{"index": 1, **CALL}]),
                delta("tool_calls"),
            ),
            STREAM_MARKS | {"finish:tool_calls", CALLS, EMPTY},
        ),
    ],
)  # fmt: skip
def test_answers(bench: Any, answer: Answer, marks: set[str]) -> None:
    assert seen_by(bench.call(answer=answer).entry) == marks


USER = {"role": "user", "content": "Hi"}


@pytest.mark.parametrize(
    ("more", "mark"),
    [
        ({"messages": [{"role": "system", "content": "Be"}, USER]}, "request:system message"),
        (
            {"messages": [USER, {"role": "assistant", "content": "Ho"}, USER]},
            "request:several turns",
        ),
        (
            {"messages": [USER, {"role": "tool", "content": "1", "tool_call_id": "a"}]},
            "request:tool result",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
            "request:image",
        ),
        ({"response_format": {"type": "json_schema"}}, "request:structured output"),
        ({"response_format": {"type": "json_object"}}, "request:JSON mode"),
    ],
)
def test_requests(bench: Any, more: dict[str, Any], mark: str) -> None:
    body = {"model": "m", "messages": [USER], **more}
    answer = completion(choice(content="Hi"))
    assert seen_by(bench.call(body, answer=answer).entry) == WHOLE | {mark}


def test_packed_requests(bench: Any, say: Callable[..., Any]) -> None:
    headers = {"content-type": "application/vnd.msgpack", "content-encoding": "gzip"}
    raw = gzip.compress(ormsgpack.packb(say("Hi")))
    marks = {"request:MessagePack body", "request:compressed body"}
    assert marks <= seen_by(bench.call(raw, headers=headers).entry)


def test_why_and_endings(bench: Any) -> None:
    near = (Miss("r", ("no",)),)
    call = bench.call(why=Why(failure="a", delivery="b", defect="c", nearest=near))
    call.end(0.1, "client gone")
    marks = {"trouble:failure", "trouble:delivery", "trouble:defect", "trouble:client gone"}
    assert marks | {"script:no rule matched"} <= seen_by(call.entry)
    assert "script:rule matched" in seen_by(bench.call(why=Why(rule="r")).entry)


@pytest.mark.parametrize(
    "body",
    [b"null", b"[]", b'{"choices": {}}', b'{"choices": [1, {"index": -1}, {"index": 1e9}]}',
     b'{"choices": [{"message": [], "delta": {"tool_calls": [1, {"function": 2}]}}]}', b"\xff",
     b"data: {\n\ndata: 1", b'{"usage": []}'],
)  # fmt: skip
def test_answers_that_are_none_do_no_harm(bench: Any, body: bytes) -> None:
    for streamed in (False, True):
        for status in (200, 500):
            seen_by(bench.call(answer=Answer(status, {}, (body,), streamed)).entry)


# ---------------------------------------------------------------- the session


def test_large_answers_are_not_kept_beside_the_journal() -> None:
    small, large = (b'{"choices": []}' + b" " * n for n in (0, 1_000_000))
    assert read_answer(200, False, (small,)) is read_answer(200, False, (small,))
    assert read_answer(200, False, (large,)) is not read_answer(200, False, (large,))
    assert read_answer(200, False, (large,)) == read_answer(200, False, (small,))


def test_the_list_comes_from_the_contract() -> None:
    ids = {point.id for point in points(load_contract())}
    assert {"operation:createChatCompletion", "finish:content_filter", "status:429"} <= ids
    assert {"finish:stop", "finish:length", "finish:tool_calls"} <= ids


def test_every_mark_is_a_point(bench: Any) -> None:
    """No call sees what the report does not list."""
    known = {point.id for point in points(load_contract())}
    bench.call(answer=stream(delta(content="a"), done=False)).end(1, "client gone")
    bench.call(answer=Answer(403, {}, (b"<html>",)), why=Why(rule="r", failure="f"))
    for entry in bench.control.journal.find():
        assert seen_by(entry) <= known


def test_calls_that_are_gone_still_count(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(entries=2)
    for number in range(5):
        bench.call(answer=completion(choice("length", content="Hi")), scope=f"s{number % 2}")
    (covered,) = [c for c in bench.control.covered() if c.point.id == "finish:length"]
    assert (covered.calls, covered.example) == (5, 5)
    assert covered.sentence == "5 calls saw finish_reason length"
    (covered,) = [c for c in bench.control.covered("s0") if c.point.id == "finish:length"]
    assert covered.calls == 3
    (covered,) = [c for c in bench.control.covered() if c.point.id == "status:429"]
    assert covered.sentence == "no call saw a 429"
    bench.control.forget()
    assert not any(c.calls for c in bench.control.covered())
