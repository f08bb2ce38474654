"""`mock.on(...)`: what is answered."""

import json
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from wafermock import ClientRequest, Reply, Space, ToolCall, anything, contains

from .conftest import Ask

Text = Callable[[httpx.Response], str]
Pieces = Callable[[httpx.Response], list[str]]


def message(response: httpx.Response) -> dict[str, Any]:
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()["choices"][0]["message"]
    return found


def test_a_text(mock: Space, ask: Ask) -> None:
    mock.on(last_user="hi").replies("Hello.")
    answer = ask(mock)
    assert message(answer) == {"role": "assistant", "content": "Hello."}
    assert answer.json()["usage"]["completion_tokens"] == 2


@pytest.mark.parametrize("stream", [False, True])
def test_the_same_streamed_or_whole(mock: Space, ask: Ask, text_of: Text, stream: bool) -> None:
    mock.on().replies("One two three, and so on.")
    assert text_of(ask(mock, stream=stream)) == "One two three, and so on."


def test_an_agent_in_either_order_of_its_rules(mock: Space, ask: Ask) -> None:
    """A rule for a question does not answer the result that comes after it."""
    mock.on(last_user=contains("weather")).calls_tool("get_weather", city="Boston")
    mock.on(tool_result=anything).replies("Sunny.")
    history: list[dict[str, Any]] = [{"role": "user", "content": "weather?"}]
    (call,) = message(ask(mock, history))["tool_calls"]
    assert call["function"] == {"name": "get_weather", "arguments": '{"city": "Boston"}'}
    history += [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "22"},
    ]
    assert message(ask(mock, history))["content"] == "Sunny."


def test_several_calls_in_one_answer(mock: Space, ask: Ask) -> None:
    mock.on().calls_tool("a", x=1).calls_tools(
        ["b", ("c", {"y": [2]}), {"name": "d"}, ToolCall("e", "not JSON"), ("f", "raw")]
    )
    calls = [call["function"] for call in message(ask(mock))["tool_calls"]]
    assert [(c["name"], c["arguments"]) for c in calls] == [
        ("a", '{"x": 1}'),
        ("b", "{}"),
        ("c", '{"y": [2]}'),
        ("d", "{}"),
        ("e", "not JSON"),
        ("f", "raw"),
    ]


def test_a_mapping_of_calls(mock: Space, ask: Ask) -> None:
    mock.on().replies("Let me look.").calls_tools({"a": {"x": 1}, "b": {}})
    said = message(ask(mock))
    assert said["content"] == "Let me look."
    assert [call["function"]["name"] for call in said["tool_calls"]] == ["a", "b"]


def test_thoughts(mock: Space, ask: Ask) -> None:
    mock.on().reasons("Hm.").replies("Yes.")
    assert message(ask(mock)) == {"content": "Yes.", "reasoning": "Hm.", "role": "assistant"}


@pytest.mark.parametrize(
    "pieces", [["ab", "c d", "efghi"], ["one"], list("letters"), ["naïve ", "☃ ", "\n\n", "日本"]]
)
def test_exact_chunks(
    mock: Space, ask: Ask, text_of: Text, pieces_of: Pieces, pieces: list[str]
) -> None:
    mock.on().streams(pieces)
    assert pieces_of(ask(mock, stream=True)) == pieces
    assert text_of(ask(mock)) == "".join(pieces)


def test_exact_chunks_keep_the_frame_of_a_stream(mock: Space, ask: Ask) -> None:
    mock.on().reasons("Hm, let me think about it.").streams(["one two ", "three"])
    events = ask(mock, stream=True, logprobs=True).text.split("\n\n")
    assert events.pop() == ""
    assert events.pop() == "data: [DONE]"
    chunks = [json.loads(event[6:]) for event in events]
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant"}
    assert "reasoning" in chunks[1]["choices"][0]["delta"]
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1]["usage"]["completion_tokens"] > 0
    said = [c["choices"][0] for c in chunks if "content" in c["choices"][0]["delta"]]
    tokens = [[t["token"] for t in choice["logprobs"]["content"]] for choice in said]
    assert "".join(chain.from_iterable(tokens)) == "one two three"


def test_exact_chunks_are_cut_where_the_request_says(
    mock: Space, ask: Ask, pieces_of: Pieces
) -> None:
    mock.on().streams(["one ", "two ", "three ", "four"])
    assert pieces_of(ask(mock, stream=True, stop=["e f"])) == ["one ", "two ", "thre"]
    assert "".join(pieces_of(ask(mock, stream=True, max_completion_tokens=2))) == "one two"


def test_exact_chunks_of_a_text_completion(
    mock: Space, pieces_of: Pieces, client: httpx.Client
) -> None:
    mock.on().streams(["ab", "cde"])
    body = {"model": "gpt-oss-120b", "prompt": "p", "stream": True}
    url = f"{mock.url}/v1/completions"
    answer = client.post(url, json=body, headers={"authorization": "Bearer x"})
    assert pieces_of(answer) == ["ab", "cde"]


def test_json(mock: Space, ask: Ask, text_of: Text) -> None:
    schema = {"type": "object", "properties": {"n": {"const": 7}}, "required": ["n"]}
    mock.on().answers_json({"a": ["é", None]}).then.answers_json(schema=schema)
    assert json.loads(text_of(ask(mock))) == {"a": ["é", None]}
    assert json.loads(text_of(ask(mock))) == {"n": 7}


def test_json_of_the_schema_that_is_asked_for(mock: Space, ask: Ask, text_of: Text) -> None:
    mock.on().answers_json(schema=True)
    schema = {
        "type": "object",
        "properties": {"city": {"enum": ["Boston"]}},
        "required": ["city"],
        "additionalProperties": False,
    }
    wanted = {"name": "place", "strict": True, "schema": schema}
    answer = ask(mock, response_format={"type": "json_schema", "json_schema": wanted})
    assert json.loads(text_of(answer)) == {"city": "Boston"}


@pytest.mark.parametrize(
    ("body", "kind", "sent"),
    [
        ({"a": 1}, "application/json", b'{"a":1}'),
        ("<p>no</p>", "text/html; charset=utf-8", b"<p>no</p>"),
        (b"plain", "text/plain; charset=utf-8", b"plain"),
    ],
)
def test_a_whole_body(mock: Space, ask: Ask, body: Any, kind: str, sent: bytes) -> None:
    mock.on().answers(body, status=503, headers={"Retry-After": "0"})
    answer = ask(mock)
    assert (answer.status_code, answer.content) == (503, sent)
    assert (answer.headers["content-type"], answer.headers["retry-after"]) == (kind, "0")


def test_a_sequence(mock: Space, ask: Ask, text_of: Text) -> None:
    mock.on().replies("a").times(2).then.replies("b").then.replies("c")
    assert [text_of(ask(mock)) for _ in range(5)] == ["a", "a", "b", "c", "c"]


def test_behind_the_last_answer_the_next_expectation(mock: Space, ask: Ask, text_of: Text) -> None:
    mock.on(last_user="hi").replies("a").times(1)
    mock.on(last_user="hi").replies("b").times(1)
    mock.on(last_user="hi").replies("c")
    assert [text_of(ask(mock)) for _ in range(4)] == ["a", "b", "c", "c"]


def test_what_takes_everything_for_ever_is_asked_last(mock: Space, ask: Ask, text_of: Text) -> None:
    mock.on().replies("else")
    mock.on(last_user="hi").replies("hi")
    assert [text_of(ask(mock, said)) for said in ("hi", "ho")] == ["hi", "else"]


def test_what_takes_everything_once_has_its_turn(mock: Space, ask: Ask, text_of: Text) -> None:
    mock.on().replies("first").times(1)
    mock.on(last_user="hi").replies("hi")
    assert [text_of(ask(mock)) for _ in range(2)] == ["first", "hi"]


def test_failures_then_success(mock: Space, ask: Ask) -> None:
    mock.on().fails("server_error", times=2).replies("ok")
    assert [ask(mock).status_code for _ in range(4)] == [500, 500, 200, 200]


@pytest.mark.parametrize(
    ("failure", "values", "status", "headers"),
    [
        (503, {}, 503, {}),
        (429, {}, 429, {}),
        ("request_quota_exceeded", {"retry_after": 2}, 429, {"retry-after": "2"}),
        ("server_error", {"should_retry": "false"}, 500, {"x-should-retry": "false"}),
        ("wrong-api-key", {}, 401, {}),
        ("html_page", {}, 502, {}),
    ],
)
def test_failures_by_name_and_status(
    mock: Space,
    ask: Ask,
    failure: str | int,
    values: dict[str, Any],
    status: int,
    headers: dict[str, str],
) -> None:
    mock.on().fails(failure, **values)
    answer = ask(mock)
    assert answer.status_code == status
    assert {name: answer.headers[name] for name in headers} == headers


def test_the_values_of_a_message(mock: Space, ask: Ask) -> None:
    mock.on().fails("context_length_exceeded", length=9000, limit=8192)
    assert "length is 9000 while limit is 8192" in ask(mock).text


def test_a_stream_that_breaks_behind_its_words(mock: Space, ask: Ask) -> None:
    mock.on().replies("one two three four five six seven eight nine").fails("close", after=2)
    with pytest.raises(httpx.RemoteProtocolError):
        ask(mock, stream=True)
    assert mock.calls[0].failure == "close:after=2"


def test_a_delivery_and_a_defect(mock: Space, ask: Ask) -> None:
    mock.on().replies("a").delivered("crlf").then.replies("b").breaks("done_twice")
    assert b"\r\n\r\n" in ask(mock, stream=True).content
    assert ask(mock, stream=True).content.count(b"[DONE]") == 2


def test_the_next_call_fails_whatever_answers_it(mock: Space, ask: Ask, text_of: Text) -> None:
    mock.on().replies("ok")
    mock.fail_next("server_error")
    assert ask(mock).status_code == 500
    assert text_of(ask(mock)) == "ok"


@pytest.mark.parametrize("finish", [lambda e: e, lambda e: e.replies("a").then])
def test_an_expectation_that_answers_nothing(mock: Space, finish: Callable[[Any], Any]) -> None:
    finish(mock.on(last_user="hi"))
    with pytest.raises(AssertionError, match=r"on\(last_user='hi'\) \(.*:\d+\) does not say"):
        mock.verify()


def test_every_answer_until_no_more(mock: Space, ask: Ask) -> None:
    mock.on().replies("a")
    mock.every_answer(delivery="crlf")
    assert b"\r\n\r\n" in ask(mock, stream=True).content
    mock.every_answer(failure="server_error")
    assert ask(mock).status_code == 500
    mock.every_answer()
    assert b"\r\n\r\n" not in ask(mock, stream=True).content
    with pytest.raises(ValueError, match="did you mean 'crlf'"):
        mock.every_answer(delivery="crfl")


def test_a_long_criterion_makes_no_long_name(mock: Space) -> None:
    assert len(mock.on(last_user="x" * 500).name) < 130


def test_a_function_of_the_request(mock: Space, ask: Ask, text_of: Text) -> None:
    mock.on().replies(lambda request: f"{request.model} heard {request.last_user}")
    assert text_of(ask(mock, "you")) == "gpt-oss-120b heard you"
    assert text_of(ask(mock, "you", stream=True)) == "gpt-oss-120b heard you"


def test_a_function_that_changes_its_request_changes_nothing_that_was_asked(mock: Space) -> None:
    """What a request means is remembered for the next that is the same."""

    def changing(request: ClientRequest) -> str:
        request.messages[0].content.pop()
        request.messages[0].raw.pop("role")
        request.tools[0].parameters["seen"] = True
        request.body["messages"].clear()
        return f"heard {request.last_user}"

    mock.on(last_user="hi").replies(changing)
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    said = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
    body = {"model": "gpt-oss-120b", "messages": [said], "tools": [tool]}
    for _ in range(3):
        headers = {"authorization": "Bearer k"}
        answer = httpx.post(f"{mock.url}/v1/chat/completions", json=body, headers=headers)
        assert message(answer)["content"] == "heard hi"
    assert [call.last_user for call in mock.calls] == ["hi"] * 3


def test_a_function_may_return_a_reply_or_a_body(mock: Space, ask: Ask) -> None:
    returned: list[Any] = [Reply("a", "b", (ToolCall("c", "{}"),)), {"id": "mine"}]
    mock.on().replies(lambda request: returned.pop(0))
    said = message(ask(mock))
    assert (said["content"], said["reasoning"]) == ("a", "b")
    assert said["tool_calls"][0]["function"]["name"] == "c"
    assert ask(mock).json() == {"id": "mine"}


def test_what_a_function_raises_reaches_the_test(mock: Space, ask: Ask) -> None:
    def broken(request: ClientRequest) -> str:
        raise LookupError("no such city")

    mock.on().replies(broken)
    answer = ask(mock)
    assert (answer.status_code, answer.headers["x-should-retry"]) == (500, "false")
    assert "LookupError: no such city" in answer.text
    assert "LookupError: no such city" in mock.problems_shown
    with pytest.raises(LookupError, match="no such city") as caught:
        mock.verify()
    assert "test_expectations.py" in caught.value.__notes__[0]
    mock.verify()  # told once


def test_a_function_may_fail_the_test(mock: Space, ask: Ask) -> None:
    mock.on().replies(lambda request: pytest.fail("not like this"))
    assert ask(mock).status_code == 500
    with pytest.raises(pytest.fail.Exception, match="not like this"):
        mock.verify()


@pytest.mark.parametrize("returned", [None, 3, b"x"])
def test_what_a_function_cannot_return(mock: Space, ask: Ask, returned: Any) -> None:
    mock.on().replies(lambda request: returned)
    ask(mock)
    with pytest.raises(TypeError, match="returns a text, a Reply, or a mapping"):
        mock.verify()


def test_a_coroutine_is_refused(mock: Space, ask: Ask) -> None:
    async def answer(request: ClientRequest) -> str:
        return ""

    mock.on().replies(answer)  # type: ignore[arg-type]
    ask(mock)
    with pytest.raises(TypeError, match="no coroutine"):
        mock.verify()


def test_a_script_by_file_and_by_text(mock: Space, ask: Ask, text_of: Text, tmp_path: Path) -> None:
    script = tmp_path / "rules.yaml"
    script.write_text('rules: [{match: {last: "hi"}, reply: {text: "from a file"}}]')
    mock.load_script(script)
    mock.load_script('rules:\n  - match: {last: "ho"}\n    reply: {text: from a text}\n')
    mock.on(last_user="hey").replies("from the test")
    assert [text_of(ask(mock, said)) for said in ("hi", "ho", "hey")] == [
        "from a file",
        "from a text",
        "from the test",
    ]


def test_a_broken_script_says_where(mock: Space) -> None:
    with pytest.raises(Exception, match=r"<script>:3.*did you mean 'text'"):
        mock.load_script('rules:\n  - match: {last: "ho"}\n    reply: {txt: a}\n')


@pytest.mark.parametrize(
    ("say", "kind", "sentence"),
    [
        (lambda e: e.replies(3), TypeError, "wants a text or a function"),
        (lambda e: e.replies("a").replies("b"), ValueError, r"write `\.then` before"),
        (lambda e: e.replies("a").answers("b"), ValueError, r"write `\.then` before"),
        (lambda e: e.fails("server_error").replies("b"), ValueError, r"write `\.then` before"),
        (lambda e: e.streams("abc"), TypeError, "wants a list of texts"),
        (lambda e: e.streams(["a", ""]), ValueError, "makes no chunk"),
        (lambda e: e.calls_tools([]), ValueError, "at least one call"),
        (lambda e: e.calls_tools([3]), TypeError, "wants a list with each"),
        (lambda e: e.calls_tools("get_weather"), TypeError, "wants a list of calls"),
        (lambda e: e.calls_tools(None), TypeError, "wants a list of calls"),
        (lambda e: e.calls_tool("f", {"x": 1}), TypeError, r"by name: calls_tool\('f', city="),
        (lambda e: e.reply("a"), AttributeError, "no attribute 'reply', did you mean 'replies'"),
        (lambda e: e.replies("a").times(0), ValueError, "from 1 is wanted"),
        (lambda e: e.calls_tool("f", x=object()), TypeError, "no JSON"),
        (lambda e: e.calls_tool(""), TypeError, "name of a function"),
        (lambda e: e.answers_json({1, 2}), TypeError, "this is no JSON"),
        (lambda e: e.answers_json(schema={"type": "nothing"}), ValueError, "answers_json"),
        (lambda e: e.answers("a", status=99), ValueError, "from 200 to 599"),
        (lambda e: e.answers("a", headers={"a b": "c"}), ValueError, "no name of a header"),
        (lambda e: e.fails("servr_error"), ValueError, "did you mean 'server_error'"),
        (lambda e: e.fails("stall", aftr=1), ValueError, "did you mean 'after'"),
        (lambda e: e.fails("server_error", city=1), ValueError, "no placeholder 'city'"),
        (lambda e: e.fails(418), ValueError, "no error with the status 418"),
        (lambda e: e.fails("server_error", times=0), ValueError, "from 1 is wanted"),
        (lambda e: e.times(1), ValueError, "behind what is answered"),
        (lambda e: e.then, ValueError, "behind what is answered"),
        (lambda e: e.held(), ValueError, "behind what is answered"),
        (lambda e: e.replies("a").fails("close").held(), ValueError, "nothing else happens"),
        (lambda e: e.delivered("crfl"), ValueError, "did you mean 'crlf'"),
        (lambda e: e.breaks("nothing_such"), ValueError, "there is no defect"),
    ],
)
def test_what_cannot_be_said(
    mock: Space, say: Callable[[Any], Any], kind: type[Exception], sentence: str
) -> None:
    with pytest.raises(kind, match=sentence):
        say(mock.on())


def test_a_criterion_without_its_name(mock: Space) -> None:
    on: Any = mock.on
    with pytest.raises(TypeError, match=r"by name: on\(last_user=contains\('weather'\)\)"):
        on("weather")
    with pytest.raises(AttributeError, match="no attribute 'call', did you mean 'calls'"):
        _ = cast(Any, mock).call


def test_what_could_not_be_said_changes_nothing(mock: Space, ask: Ask, text_of: Text) -> None:
    expectation = mock.on().replies("a").times(1)
    with pytest.raises(ValueError, match="there is no failure"):
        expectation.fails("nothing")
    expectation.replies("b")
    assert [text_of(ask(mock)) for _ in range(2)] == ["a", "b"]


def test_warming_a_connection_uses_nothing_up(mock: Space, ask: Ask, client: httpx.Client) -> None:
    mock.on().fails("server_error", times=1).replies("ok")
    for _ in range(2):
        headers = {"authorization": "Bearer test"}
        warmed = client.get(f"{mock.url}/v1/tcp_warming", headers=headers)
        assert warmed.status_code == 200
    assert ask(mock).status_code == 500
    assert not mock.unmatched


def test_an_operation_without_a_body_is_answered_by_its_name(
    mock: Space, client: httpx.Client
) -> None:
    mock.on(operation="/v1/models").answers({"object": "list", "data": []})
    headers = {"authorization": "Bearer test"}
    answer = client.get(f"{mock.url}/v1/models", headers=headers)
    assert answer.json() == {"object": "list", "data": []}
    mock.assert_called(times=1, operation="/v1/models")
