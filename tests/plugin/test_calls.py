"""`mock.calls` and the assertions: what happened."""

import contextlib
import gzip
import json
from typing import Any

import httpx
import pytest

from wafermock import CalledTool, MockServer, Space, anything, contains

from .conftest import Ask
from .test_criteria import HISTORY, TOOLS


def test_a_call_is_typed(mock: Space, ask: Ask) -> None:
    mock.on(tool_result=anything).reasons("Hm.").replies("22.")
    ask(mock, HISTORY, tools=TOOLS, headers={"X-Test": "a"})
    (call,) = mock.calls
    assert (call.number, call.method, call.path, call.query) == (
        1, "POST", "/v1/chat/completions", "",
    )  # fmt: skip
    assert (call.model, call.stream, call.status) == ("gpt-oss-120b", False, 200)
    assert [m.role for m in call.messages] == ["system", "user", "assistant", "tool"]
    assert call.messages[2].tool_calls == (CalledTool("look_up", {}, "c1"),)
    assert (call.system, call.last_user, call.turn) == ("Be brief.", "Look it up.", 2)
    assert call.tool_results == ("found: 22",)
    assert (call.tools[0].name, call.tools[0].parameters) == ("look_up", {"type": "object"})
    assert call.body["tools"] == TOOLS
    assert json.loads(call.raw) == call.body
    assert call.headers["X-TEST"] == call.headers["x-test"] == "a"
    assert (call.text, call.reasoning, call.finish_reason) == ("22.", "Hm.", "stop")
    assert call.answer["choices"][0]["message"]["content"] == "22."
    assert call.answer_headers["x-request-id"]
    assert call.rule == "on(tool_result=anything)"
    assert call.nearest == ()


def test_a_stream_is_joined(mock: Space, ask: Ask) -> None:
    mock.on().replies("one two").calls_tool("f", a=1)
    ask(mock, stream=True)
    call = mock.calls.last
    assert (call.stream, call.text, call.answer) == (True, "one two", None)
    assert [(c.name, c.arguments) for c in call.tool_calls] == [("f", {"a": 1})]
    assert call.answer_raw.endswith(b"data: [DONE]\n\n")


def test_keys_can_be_read_and_are_not_shown(mock: Space, ask: Ask) -> None:
    ask(mock, headers={"authorization": "Bearer csk-very-secret"})
    call = mock.calls[0]
    assert call.headers["Authorization"] == "Bearer csk-very-secret"
    assert "very-secret" not in f"{call!r} {call.headers!r} {mock.calls!r} {mock.report}"


def test_a_body_that_was_compressed(mock: Space, client: httpx.Client) -> None:
    sent = gzip.compress(json.dumps({"model": "m", "prompt": ["a", "b"]}).encode())
    headers = {"authorization": "Bearer x", "content-encoding": "gzip"}
    headers["content-type"] = "application/json"
    client.post(f"{mock.url}/v1/completions", content=sent, headers=headers)
    call = mock.calls[0]
    assert (call.raw, call.body) == (sent, {"model": "m", "prompt": ["a", "b"]})
    assert [m.text for m in call.messages] == ["a", "b"]


@pytest.mark.parametrize(
    ("body", "data"),
    [
        (b"", None),
        (b"{", None),
        (b"[1, 2]", [1, 2]),
        (b"null", None),
        (b'{"messages": 3, "tools": {}, "model": []}', {"messages": 3, "tools": {}, "model": []}),
        (b'{"messages": [1, {"role": 2, "tool_calls": [3]}]}', ...),
    ],
)
def test_whatever_came(mock: Space, body: bytes, data: Any, client: httpx.Client) -> None:
    headers = {"authorization": "Bearer x", "content-type": "application/json"}
    url = f"{mock.url}/v1/chat/completions"
    client.post(url, content=body, headers=headers)
    client.post(f"{mock.url}/nowhere", content=body, headers=headers)
    for call in mock.calls:
        assert data is ... or call.body == data
        assert (call.model, call.tools, call.stream) == ("", (), False)
        assert (call.messages, call.text, repr(call)) is not None
        assert call.status in (404, 422)
    assert len(mock.calls) == 2


def test_a_large_body_is_kept_whole(mock: Space, ask: Ask) -> None:
    text = "word " * 1_900_000
    ask(mock, text)
    assert mock.calls[0].last_user == text


def test_the_view_grows(mock: Space, ask: Ask) -> None:
    calls = mock.calls
    assert (len(calls), list(calls), repr(calls)) == (0, [], "<no calls>")
    ask(mock, "one")
    ask(mock, "two")
    assert [call.last_user for call in calls] == ["one", "two"]
    assert [call.last_user for call in calls[1:]] == ["two"]
    assert calls[0] is calls[0]
    with pytest.raises(IndexError, match=r"there is no call 2; 2 calls:\n.*1\. POST"):
        calls[2]


def test_housekeeping_is_no_call(mock: Space, client: httpx.Client) -> None:
    headers = {"authorization": "Bearer x"}
    for path in ("/v1/tcp_warming", "/v1/models"):
        client.get(mock.url + path, headers=headers)
    assert len(mock.calls) == 0
    assert [request.path for request in mock.requests] == ["/v1/tcp_warming", "/v1/models"]
    mock.assert_not_called()
    mock.assert_called(times=1, path="/v1/models")


def test_assert_called(mock: Space, ask: Ask) -> None:
    mock.on(last_user="a").replies("A")
    expectation = mock.on(last_user="b").fails(503)
    for said in ("a", "b", "b"):
        ask(mock, said)
    mock.assert_called()
    mock.assert_called(times=3, model="gpt-oss-120b")
    mock.assert_called(times=2, status=503)
    mock.assert_called(times=2, rule=expectation)
    mock.assert_called(times=0, last_user="c")
    mock.assert_not_called(last_user="c")
    mock.assert_all_used()


def test_a_failing_assertion_shows_the_calls_and_the_nearest(mock: Space, ask: Ask) -> None:
    mock.on().replies("A")
    ask(mock, "a")
    ask(mock, "b", stream=True)
    with pytest.raises(AssertionError) as caught:
        mock.assert_called(last_user=contains("z"), stream=True)
    assert str(caught.value).splitlines() == [
        "expected a call with last_user=contains('z'), stream=True, but there was none.",
        "2 calls:",
        '  1. POST /v1/chat/completions gpt-oss-120b "a" → 200 "A" by on()',
        '  2. POST /v1/chat/completions gpt-oss-120b stream "b" → 200 "A" by on()',
        "nearest: call 2",
        "  last_user: expected the user's text contains 'z', got 'b'",
    ]
    with pytest.raises(AssertionError, match=r"expected 2 calls .*there was 1(?s:.*)fitting: 1"):
        mock.assert_called(times=2, last_user="a")
    with pytest.raises(AssertionError, match="expected no call, but there were 2"):
        mock.assert_not_called()


def test_a_failing_assertion_without_calls(mock: Space) -> None:
    with pytest.raises(AssertionError, match=r"^expected a call, but there was none\.$"):
        mock.assert_called()


def test_many_calls_are_not_all_shown(mock: Space, ask: Ask) -> None:
    for number in range(25):
        ask(mock, f"number {number}")
    with pytest.raises(AssertionError) as caught:
        mock.assert_called(times=1)
    assert "and 5 more" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 23


def test_unmatched_calls_show_what_was_nearest(mock: Space, ask: Ask) -> None:
    mock.on(last_user=contains("x"), model="gpt-*").replies("X")
    mock.on(last_user="y", stream=True).replies("Y")
    ask(mock, "z")
    with pytest.raises(AssertionError) as caught:
        mock.assert_no_unmatched()
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("1 call fits no expectation")
    assert lines[2].startswith("    nearest: on(last_user=contains('x'), model='gpt-*') (")
    assert "test_calls.py:" in lines[2]
    assert lines[3] == "      last_user: expected the user's text contains 'x', got 'z'"
    assert lines[4].startswith("    nearest: on(last_user='y', stream=True) (")
    assert lines[5:] == [
        "      last_user: expected the user's text equals 'y', got 'z'",
        "      stream: expected true, got false",
    ]
    mock.allow_unmatched()
    mock.verify()


def test_an_expectation_that_is_used_up_is_said_to_be(mock: Space, ask: Ask) -> None:
    mock.on(last_user="a").replies("A").times(1)
    ask(mock, "a")
    ask(mock, "a")
    with pytest.raises(AssertionError, match="times: expected 1 answers at most, got 1 given"):
        mock.verify()


def test_without_expectations_nothing_is_unmatched(mock: Space, ask: Ask) -> None:
    assert ask(mock).status_code == 200
    mock.verify()


@pytest.mark.parametrize("profile", ["documented", "observed"])
def test_why_a_request_was_refused_is_told(server: Any, ask: Ask, profile: str) -> None:
    """Not "by no expectation": it was refused before one was looked for."""
    with server.space(profile=profile) as mock:
        mock.on().replies("A")
        assert ask(mock, messages="hi").status_code in (400, 422)
        assert ask(mock, headers={"authorization": ""}).status_code == 401
    refused, without_key = mock.report.splitlines()
    assert "body.messages: Input should be a valid list" in refused
    assert without_key.endswith('→ 401 "Wrong API Key"')
    assert "expectation" not in mock.report


def test_errors_are_shown_in_full(mock: Space, ask: Ask) -> None:
    mock.on().answers_json(schema=True)
    ask(mock)
    assert "it answers the request's schema, and the request has none" in mock.report


def test_strict_is_unmatched_too(server: Any, ask: Ask) -> None:
    with server.space(strict=True) as mock:
        mock.on(last_user="a").replies("A")
        answer = ask(mock, "b")
        assert answer.status_code == 404
        assert "on(last_user='a')" in answer.text
        assert len(mock.unmatched) == 1


def test_what_was_never_used(mock: Space, ask: Ask) -> None:
    mock.on(last_user="a").replies("A")
    mock.on(last_user="b").replies("B")
    ask(mock, "a")
    with pytest.raises(AssertionError, match=r"answered nothing:\n  on\(last_user='b'\) \("):
        mock.assert_all_used()


def test_reset(mock: Space, ask: Ask) -> None:
    mock.on(last_user="a").replies("A").times(1)
    for said in ("a", "a"):
        ask(mock, said)
    mock.clock.advance(5)
    mock.reset()
    mock.verify()
    assert (len(mock.calls), mock.clock.time()) == (0, 1767225600)
    mock.on(last_user="a").replies("A").times(1)
    ask(mock, "a")
    assert (mock.calls[0].number, mock.calls[0].text) == (1, "A")


@pytest.mark.parametrize(
    "how",
    [
        {"delivery": "bytewise"}, {"delivery": "known_length"}, {"delivery": "close_delimited"},
        {"failure": "service_unavailable"}, {"defect": "missing_key"}, {"ttft": "1ms"},
        {"ttft": "1ms", "tokens_per_second": 10_000},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("headers", [{}, {"connection": "close"}], ids=str)
def test_who_has_an_answer_may_ask_how_it_ended(
    how: Any, headers: dict[str, str], ask: Ask
) -> None:
    with MockServer(**how) as mock:
        mock.on().replies("one two three")
        for stream in (True, False) * 10:
            with contextlib.suppress(AssertionError):
                ask(mock, stream=stream, headers=headers)
            assert mock.calls[-1].ending == "complete"
