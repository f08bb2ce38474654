"""A call as a command and as a rule: both give the same call again."""

import base64
import gzip
import json
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
import yaml

from wafermock.mockserver.call import Call
from wafermock.mockserver.control.entry import Why
from wafermock.mockserver.control.export import curl, rule
from wafermock.mockserver.control.scripts import LoadedScripts
from wafermock.mockserver.exchange import Answer, Request
from wafermock.mockserver.script import Found, Script, ScriptState, Subject
from wafermock.spec import DocumentError

# A stand-in for curl that says what it was called with.
ARGUMENTS = 'curl() { printf "%s\\0" "$@"; [ "${*: -1}" = @- ] && base64 -w0; true; }'


def called(command: str) -> list[str]:
    """Let a shell read a command; return the arguments that curl would get."""
    script = f"CEREBRAS_API_KEY=key\n{ARGUMENTS}\n{command}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    return done.stdout.decode().split("\0")


NASTY = "it's $HOME `id` \\ \"quoted\" \n!! %s 漢 '; rm -rf /"


def test_curl_survives_the_shell(bench: Any, say: Callable[..., Any]) -> None:
    headers = {"x-note": NASTY.replace("\n", " "), "cookie": "a=b", "x-stainless-os": "Linux"}
    call = bench.call(say(NASTY, stream=True), headers=headers, scope="a b/c", query="x='y'")
    arguments = called(curl(call.entry, "http://127.0.0.1:4010"))
    assert arguments[0] == "http://127.0.0.1:4010/t/a%20b%2Fc/v1/chat/completions?x='y'"
    options = dict(zip(arguments[1::2], arguments[2::2], strict=False))
    assert "-N" in arguments
    assert json.loads(arguments[arguments.index("--data-binary") + 1]) == say(NASTY, stream=True)
    sent = [arguments[i + 1] for i, word in enumerate(arguments) if word == "-H"]
    assert sent == [
        "Authorization: Bearer key",
        "content-type: application/json",
        f"x-note: {headers['x-note']}",
    ]
    assert options


@pytest.mark.parametrize(
    "body", [gzip.compress(b"{}", mtime=0), ormsgpack.packb({"a": "\0"}), b"@file"]
)
def test_curl_with_bytes(bench: Any, body: bytes) -> None:
    arguments = called(curl(bench.call(body).entry, "http://h"))
    assert arguments[-2] == "@-"
    assert base64.b64decode(arguments[-1]) == body


def test_curl_of_other_methods(bench: Any) -> None:
    get = bench.call(b"", path="/v1/models", method="GET")
    assert "-X" not in called(curl(get.entry, "http://h"))
    head = bench.call(b"", path="/v1/models", method="HEAD")
    assert called(curl(head.entry, "http://h"))[1:3] == ["-X", "HEAD"]


# ---------------------------------------------------------------- rules


def found(bench: Any, entry: Any, tmp_path: Path) -> Any:
    """Make a rule of a call, and ask its script for an answer to the same call."""
    file = tmp_path / "made.yaml"
    file.write_text(rule(entry), encoding="utf-8")
    contract = bench.service.mock.contract
    state = ScriptState(Script.load(file, contract))
    operation = contract.operation(entry.operation)
    call = Call(operation, entry.data, {}, 0, contract.fingerprint)
    hit = state.find(Subject(entry.request, call, entry.scope))
    assert isinstance(hit, Found), str(hit)
    other = Call(operation, {"model": "other", "messages": []}, {}, 0, contract.fingerprint)
    assert not isinstance(state.find(Subject(entry.request, other, entry.scope)), Found)
    return hit.outcome


@pytest.mark.parametrize("stream", [False, True])
def test_words_become_words(
    bench: Any, say: Callable[..., Any], tmp_path: Path, stream: bool
) -> None:
    entry = bench.call(say("Tell me *all*?", stream=stream), scope="a").entry
    reply = found(bench, entry, tmp_path).reply
    (choice,) = entry.said.choices
    assert choice.content
    assert (reply.content, reply.reasoning) == (choice.content, choice.reasoning)


def test_tool_calls(bench: Any, say: Callable[..., Any], tmp_path: Path) -> None:
    weather = {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
    tools = [{"type": "function", "function": weather}]
    entry = bench.call(say("Weather?", tools=tools, tool_choice="required")).entry
    reply = found(bench, entry, tmp_path).reply
    (choice,) = entry.said.choices
    assert [(c.name, c.arguments) for c in reply.tool_calls] == [
        (c["name"], c["arguments"]) for c in choice.tool_calls
    ]
    assert reply.tool_calls


@pytest.mark.parametrize(
    "answer",
    [
        Answer(429, {"content-type": "application/json"}, (b'{"message":"Slow down","code":"x"}',)),
        Answer(403, {"content-type": "text/html"}, (b"<html>no</html>",)),
        Answer(200, {"content-type": "application/json"}, (b'{"choices": [],   "a": 1.0}',)),
        Answer(502, {"content-type": "application/octet-stream"}, (b"\xff\xfe",)),
        Answer(200, {"content-type": "text/event-stream"}, (b"data: a\n\n", b": b\n\n"), True),
    ],
)
def test_what_are_no_words_is_kept_as_it_went(bench: Any, answer: Answer, tmp_path: Path) -> None:
    outcome = found(bench, bench.call(answer=answer).entry, tmp_path)
    assert outcome.answer.status == answer.status
    assert outcome.answer.body == answer.body
    assert outcome.answer.headers["content-type"] == answer.headers["content-type"]


def test_the_result_of_a_tool_is_what_a_rule_looks_for(bench: Any) -> None:
    body = {
        "model": "gpt-oss-120b",
        "messages": [
            {"role": "user", "content": "Weather?"},
            {
                "role": "assistant",
                "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": "sunny"},
        ],
    }
    (made,) = yaml.safe_load(rule(bench.call(body).entry))["rules"]
    assert made["match"]["tool_result"] == "sunny"


def test_faults_go_along(bench: Any) -> None:
    entry = bench.call(why=Why(failure="stall:after=3", delivery="crlf")).entry
    (made,) = yaml.safe_load(rule(entry))["rules"]
    assert (made["reply"]["failure"], made["reply"]["delivery"]) == ("stall:after=3", "crlf")


# ---------------------------------------------------------------- loading


RULE = "rules:\n- {name: NAME, reply: {text: hi}}\n"


@pytest.fixture
def scripts(bench: Any, tmp_path: Path) -> LoadedScripts:
    file = tmp_path / "started.yaml"
    file.write_text(RULE.replace("NAME", "started"), encoding="utf-8")
    mock = bench.service.mock
    mock.script = ScriptState(Script.load(file, mock.contract))
    return LoadedScripts(mock)


def names(scripts: LoadedScripts) -> list[str]:
    return [rule.name for rule in scripts.rules()]


def test_loaded_rules_come_first_or_alone(scripts: LoadedScripts) -> None:
    scripts.load(RULE.replace("NAME", "second"), "script", instead=False)
    scripts.load(RULE.replace("NAME", "third"), "script", instead=False)
    assert names(scripts) == ["third", "second", "started"]
    assert scripts.rules()[0].place == "script-2.yaml:2"
    scripts.load(RULE.replace("NAME", "alone"), "script", instead=True)
    assert names(scripts) == ["alone"]
    scripts.reset(None)


def test_scripts_that_are_loaded_at_once_all_count(scripts: LoadedScripts) -> None:
    begin = threading.Barrier(4)

    def load(number: int) -> None:
        begin.wait()
        for step in range(3):
            scripts.load(RULE.replace("NAME", f"{number}-{step}"), "script", instead=False)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(load, range(4)))
    loaded = {f"{number}-{step}" for number in range(4) for step in range(3)}
    assert set(names(scripts)) == {"started", *loaded}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rules: [", "script-1.yaml:2: not YAML"),
        ("rules:\n- {rpely: 1}\n", "script-1.yaml:2: #/rules/0"),
        (RULE.replace("NAME", "started"), "stands at"),
        ("rules:\n- {reply: {file: /etc/passwd}}\n", "takes no files"),
        ("rules:\n- sequence: [{text: a}, {file: x}]\n", "#/rules/0/sequence/1/file"),
        ("rules: 1", "script-1.yaml"),
        ("", "script-1.yaml"),
    ],
)
def test_a_broken_script_changes_nothing(scripts: LoadedScripts, text: str, says: str) -> None:
    with pytest.raises(DocumentError) as caught:
        scripts.load(text, "script", instead=False)
    assert says in str(caught.value)
    assert "wafermock-scripts-" not in str(caught.value)
    assert names(scripts) == ["started"]


DEEP = "[" * 100_000
CALLS_DEEP = {"tool_calls": [{"function": {"name": "f", "arguments": DEEP}}]}


@pytest.mark.parametrize(
    "body",
    [DEEP, "[" * 900 + "]" * 900, json.dumps({"choices": [{"message": CALLS_DEEP}]})],
)
def test_what_is_nested_too_deep_to_be_data_stays_text(
    scripts: LoadedScripts, bench: Any, body: str
) -> None:
    answer = Answer(200, {"content-type": "application/json"}, (body.encode(),))
    bench.call(answer=answer).end(0.1)
    made = bench.ask("GET", "/journal/1/rule")
    assert made.status == 200
    scripts.load(made.body.decode(), "script", instead=True)
    assert names(scripts) == ["call 1"]


def test_a_rule_made_of_a_call_can_be_loaded(scripts: LoadedScripts, bench: Any) -> None:
    scripts.load(rule(bench.call().entry), "script", instead=False)
    assert names(scripts) == ["call 1", "started"]


def test_requests_are_not_touched(bench: Any) -> None:
    """The same entry may be exported as often as one likes."""
    entry = bench.call().entry
    assert rule(entry) == rule(entry)
    assert isinstance(entry.request, Request)
