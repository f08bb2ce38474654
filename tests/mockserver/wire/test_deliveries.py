"""Every delivery: in the bytes of a socket, and as clients read it."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from wafermock.mockserver.pace import Pace
from wafermock.mockserver.wire import DELIVERIES

Look = Callable[[Any, Any], bool]


def lines_end(seen: Any, end: bytes) -> bool:
    rest = seen.body.replace(end, b"")
    return end in seen.body and b"\r" not in rest and b"\n" not in rest


def cut_inside(seen: Any, plain: Any) -> bool:
    """Say whether every character of several bytes is torn, and nothing else."""
    tears = sum(byte >= 0xC0 for byte in plain.body)
    return tears > 0 and len(seen.chunks) == tears + 1 and seen.body == plain.body


# What a delivery looks like beside the usual one.
LOOKS: dict[str, tuple[str, Look]] = {
    "bytewise": ("chat stream", lambda seen, plain:
        seen.body == plain.body and {len(chunk) for chunk in seen.chunks} == {1}),
    "random_pieces:most=9": ("chat stream", lambda seen, plain:
        seen.body == plain.body and max(map(len, seen.chunks)) <= 9
        and len(set(map(len, seen.chunks))) > 5),
    "inside_characters": ("text stream", cut_inside),
    "inside_data": ("chat stream", lambda seen, plain:
        seen.body == plain.body and len(seen.chunks) == plain.body.count(b"data:") + 1
        and all(chunk.startswith(b"ta:") for chunk in seen.chunks[1:])),
    "one_write_an_event": ("chat stream", lambda seen, plain:
        seen.body == plain.body and len(seen.chunks) == plain.body.count(b"data:")),
    "crlf": ("chat stream", lambda seen, plain: lines_end(seen, b"\r\n")),
    "between_cr_and_lf": ("chat stream", lambda seen, plain:
        lines_end(seen, b"\r\n") and all(chunk[0:1] == b"\n" for chunk in seen.chunks[1:])
        and not any(b"\r\n" in chunk for chunk in seen.chunks)),
    "cr": ("chat stream", lambda seen, plain: lines_end(seen, b"\r")),
    "no_space": ("chat stream", lambda seen, plain:
        seen.body.startswith(b"data:{") and b"data:[DONE]" in seen.body
        and b"data: " not in seen.body),
    "bom": ("chat stream", lambda seen, plain: seen.body == b"\xef\xbb\xbf" + plain.body),
    "comments": ("chat stream", lambda seen, plain:
        seen.body.count(b"\n: a comment\n") == plain.body.count(b"data:") - 1
        and seen.values == plain.values),
    "keep_alives": ("chat stream", lambda seen, plain:
        seen.body.count(b": keep-alive\n\n") == plain.body.count(b"data:")
        and seen.values == plain.values),
    "several_data_lines": ("chat stream", lambda seen, plain:
        seen.body.count(b"\ndata:  ") > 10 and seen.values == plain.values),
    "event_message": ("chat stream", lambda seen, plain:
        all(event["event"] == "message" for event in seen.events)),
    "ids": ("chat stream", lambda seen, plain:
        [event["id"] for event in seen.events] == [str(n) for n in range(len(plain.events))]),
    "retry:milliseconds=5": ("chat stream", lambda seen, plain:
        {event["retry"] for event in seen.events} == {"5"}),
    "unknown_field": ("chat stream", lambda seen, plain:
        {event["x-trace"] for event in seen.events} == {"7"}),
    "usage_apart": ("chat stream", lambda seen, plain:
        seen.completions[-1]["choices"] == [] and "usage" not in seen.completions[-2]
        and seen.usage == plain.usage and "time_info" in seen.completions[-1]),
    "finish_with_content": ("chat stream", lambda seen, plain:
        bool(seen.completions[-1]["choices"][0]["delta"].get("content")
             or seen.completions[-1]["choices"][0]["delta"].get("reasoning"))
        and seen.completions[-1]["choices"][0]["finish_reason"] is not None
        and seen.usage == plain.usage),
    "role_repeated": ("chat stream", lambda seen, plain:
        {choice["delta"]["role"] for choice in seen.choices} == {"assistant"}),
    "no_done": ("chat stream", lambda seen, plain: seen.values == plain.values[:-1]),
    "tool_calls_whole": ("tools stream", lambda seen, plain:
        len(seen.calls) == len(plain.arguments) < len(plain.calls)
        and seen.arguments == plain.arguments),
    "tool_calls_fragmented:size=1": ("tools whole stream", lambda seen, plain:
        len(seen.calls) == len(plain.arguments) + sum(map(len, plain.arguments))
        and seen.arguments == plain.arguments and seen.calls[0]["function"]["arguments"] == ""),
    "escaped": ("text stream", lambda seen, plain:
        seen.body.isascii() and seen.values == plain.values),
    "http_1_0": ("chat stream", lambda seen, plain:
        seen.version == b"HTTP/1.0" and seen.body == plain.body
        and not {"transfer-encoding", "content-length"} & set(seen.headers)),
    "close_delimited": ("chat", lambda seen, plain:
        seen.version == b"HTTP/1.1" and seen.body == plain.body
        and not {"transfer-encoding", "content-length"} & set(seen.headers)),
    "known_length": ("chat stream", lambda seen, plain:
        seen.headers["content-length"] == str(len(plain.body)) and seen.body == plain.body),
    "loud_headers": ("chat", lambda seen, plain:
        ("CONTENT-TYPE", "application/json") in seen.fields),
}  # fmt: skip


def missing_is_false(look: Look, seen: Any, plain: Any) -> bool:
    try:
        return look(seen, plain)
    except (KeyError, IndexError):
        return False


@pytest.mark.parametrize("delivery", LOOKS)
def test_a_delivery(delivery: str, seen: Any) -> None:
    answer, look = LOOKS[delivery]
    plain = seen(answer)
    got = seen(answer, delivery=delivery)
    assert look(got, plain)
    assert got.whole
    assert got.text == plain.text
    assert not missing_is_false(look, plain, plain)


def test_lf_is_what_the_api_sends(seen: Any) -> None:
    assert seen("chat stream", delivery="lf").raw == seen("chat stream").raw


def test_one_write(seen: Any, planned: Any) -> None:
    (write,) = planned("chat stream", delivery="one_write").wire("OK")
    got = seen("chat stream", delivery="one_write")
    assert got.raw == write.data == seen("chat stream").raw


def test_every_delivery_is_looked_at() -> None:
    assert {*(text.partition(":")[0] for text in LOOKS), "lf", "one_write"} == set(DELIVERIES)


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("answer", ["chat", "text stream", "two stream", "json stream", "error"])
def test_a_delivery_changes_no_meaning(delivery: str, answer: str, seen: Any) -> None:
    plain, got = seen(answer), seen(answer, delivery=delivery)
    assert got.whole
    assert got.status == plain.status
    if answer in ("chat", "error"):
        assert got.value == plain.value
    else:
        assert (got.text, got.usage) == (plain.text, plain.usage)


@pytest.mark.parametrize("delivery", ["bytewise", "random_pieces", "one_write", "http_1_0"])
def test_deliveries_keep_the_pace(delivery: str, seen: Any, make_mock: Any, ask: Any) -> None:
    mock = make_mock("observed", pace=Pace(ttft=0.5, tokens_per_second=10))
    answer = ask(mock, "/v1/completions", {"model": "m", "prompt": "a", "max_tokens": 5,
                                           "stream": True})  # fmt: skip
    got = seen(answer, delivery=delivery)
    if delivery == "one_write":
        assert got.at(0.9) == b""
    else:
        assert got.at(0.4).endswith(b"\r\n\r\n")
        assert got.at(0.4).count(b"\r\n\r\n") == 1  # the head alone
        # A byte of its own is a chunk of HTTP: what stands between two of them goes.
        first_token = re.sub(rb"\r\n[0-9a-f]+\r\n", b"", got.at(0.6).partition(b"\r\n\r\n")[2])
        assert b'"text"' in first_token
        assert b"finish_reason" not in first_token
    assert got.whole


# ---------------------------------------------------------------------- official clients

CHAT = {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": "hello"}]}


def read_by(client: Any, stage: Any, made: Any, *, text: bool) -> tuple[str, str, list[str]]:
    """Read a stream as a client does: text, arguments of calls, finish reasons."""
    said, arguments, reasons = "", "", []
    headers = {"x-plan": stage.add(made)}
    if text:
        stream = client.completions.create(
            model="m", prompt="a", stream=True, extra_headers=headers
        )
    else:
        stream = client.chat.completions.create(**CHAT, stream=True, extra_headers=headers)
    for chunk in stream:
        for choice in chunk.choices or ():
            reasons += [choice.finish_reason] if choice.finish_reason else []
            if text:
                said += choice.text or ""
                continue
            said += choice.delta.content or ""
            for call in choice.delta.tool_calls or ():
                arguments += call.function.arguments or ""
    assert stage.over.acquire(timeout=10)
    return said, arguments, reasons


# What clients get wrong, without a word: the first event is lost, or all of them.
LOST_FIRST = {("bom", "cerebras"), ("bom", "openai")}
LOST_ALL = {("event_message", "cerebras")}


@pytest.mark.parametrize("sdk", ["cerebras", "openai"])
@pytest.mark.parametrize("delivery", DELIVERIES)
def test_sdks_read_all_deliveries_alike(
    delivery: str, sdk: str, stage: Any, planned: Any, clients: Any
) -> None:
    answers = ["text stream", "tools stream"]
    if DELIVERIES[delivery].group == "CHUNKS":
        answers += ["chat stream", "tools whole stream"]
    for answer in answers:
        text = answer == "text stream"
        plain = read_by(clients[sdk], stage, planned(answer), text=text)
        got = read_by(clients[sdk], stage, planned(answer, delivery=delivery), text=text)
        assert plain[2]
        if (delivery, sdk) in LOST_FIRST and text:
            # The first event is lost: what came is the end of the text.
            assert got[0] != plain[0]
            assert plain[0].endswith(got[0])
        elif (delivery, sdk) in LOST_ALL:
            assert got == ("", "", [])
        else:
            assert got == plain


def test_a_chunk_apart_has_no_choices(seen: Any) -> None:
    """Why a client must not take `choices[0]` of every chunk."""
    got = seen("chat stream", delivery="usage_apart")
    with pytest.raises(IndexError):
        [json.loads(e["data"])["choices"][0] for e in got.events if e["data"] != "[DONE]"]
