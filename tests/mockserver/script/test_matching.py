"""What matches, and what a miss says."""

from pathlib import Path
from typing import Any

import pytest

from wafermock.mockserver.scope import split_scope
from wafermock.mockserver.script import Script

from . import asking
from .asking import CHAT, COMPLETIONS, called, result, subject, user

CONVERSATION = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": [{"type": "text", "text": "What is the weather?"}]},
    called("get_weather"),
    result("It is 7 °C."),
]
TOOLS = [{"type": "function", "function": {"name": "get_weather"}}]


def matches(tmp_path: Path, match: str, asked: Any) -> bool:
    loaded = asking.script(tmp_path, f"rules: [{{match: {match}, reply: {{text: x}}}}]")
    return loaded.rules[0].match.fits(asked)


@pytest.mark.parametrize(
    ("match", "body", "fits"),
    [
        ("{operation: createChatCompletion}", user("x"), True),
        ("{operation: /v1/chat/*}", user("x"), True),
        ("{operation: [/v1/completions, /v1/models]}", user("x"), False),
        ("{model: gpt-oss-120b}", user("x"), True),
        ("{model: 'gpt-*'}", user("x"), True),
        ("{model: 'GPT-*'}", user("x"), False),
        ("{model: ['llama*', 'gpt-oss-???b']}", user("x"), True),
        ("{stream: true}", user("x"), False),
        ("{stream: false}", user("x"), True),
        ("{stream: true}", user("x", stream=True), True),
        ("{last: x}", user("x"), True),
        ("{last: x}", user("xy"), False),
        ("{last: {contains: X}}", user("xy"), False),
        ("{last: {contains: X, fold: true}}", user("xy"), True),
        ("{last: {contains: [x, y]}}", user("y and x"), True),
        ("{last: {contains: [x, z]}}", user("y and x"), False),
        ("{last: {equals: STRASSE, fold: true}}", user("straße"), True),
        ("{last: {regex: '^wh.t'}}", user("what"), True),
        ("{last: {regex: '^WH.T', fold: true}}", user("what"), True),
        ("{last: {regex: 'a$', contains: b}}", user("ba"), True),
        ("{last: {regex: 'b$', contains: b}}", user("ba"), False),
        ("{last: {role: user, contains: weather}}", {"messages": CONVERSATION}, True),
        ("{last: {contains: weather}}", {"messages": CONVERSATION}, False),
        ("{last: {role: developer, contains: ''}}", {"messages": CONVERSATION}, False),
        ("{any: {role: system, contains: kind}}", {"messages": CONVERSATION}, True),
        ("{any: {role: user, contains: kind}}", {"messages": CONVERSATION}, False),
        ("{any: [Be kind., {regex: \"[0-9]\"}]}", {"messages": CONVERSATION}, True),
        ("{any: [Be kind., {regex: \"[0-9]{3}\"}]}", {"messages": CONVERSATION}, False),
        ("{turn: 2}", {"messages": CONVERSATION}, True),
        ("{turn: 1}", {"messages": CONVERSATION}, False),
        ("{turn: {at_least: 2, at_most: 2}}", {"messages": CONVERSATION}, True),
        ("{turn: {at_least: 3}}", {"messages": CONVERSATION}, False),
        ("{tool_called: 'get_*'}", {"messages": CONVERSATION}, True),
        ("{tool_called: get_time}", {"messages": CONVERSATION}, False),
        ("{tool_offered: get_weather}", {"messages": [], "tools": TOOLS}, True),
        ("{tool_offered: get_time}", {"messages": [], "tools": TOOLS}, False),
        ("{tool_result: {name: get_weather, contains: 7}}", {"messages": CONVERSATION}, None),
        ("{tool_result: {name: get_weather, contains: '7'}}", {"messages": CONVERSATION}, True),
        ("{tool_result: {name: get_time}}", {"messages": CONVERSATION}, False),
        ("{tool_result: {contains: ''}}", {"messages": CONVERSATION[:-1]}, False),
        ("{jmespath: \"messages[?role=='tool']\"}", {"messages": CONVERSATION}, True),
        ("{jmespath: \"messages[?role=='judge']\"}", {"messages": CONVERSATION}, False),
        ("{jmespath: {n: 2, \"messages[0].role\": user}}", user("x", n=2.0), True),
        ("{jmespath: {n: 1}}", user("x", n=True), False),
        ("{jmespath: {n: null}}", user("x"), True),
        ("{jmespath: 'length(n)'}", user("x", n=3), False),
        ("{jmespath: 'merge(n, {a: `1`}, {b: `2`}).b'}", user("x", n={}), True),
        ("{jmespath: 'not_null(a, b[0:1], n)'}", user("x", n=1), True),
        ("{jmespath: [n, 'temperature']}", user("x", n=3, temperature=0), True),
        ("{schema: {required: [seed]}}", user("x"), False),
        ("{schema: {required: [seed]}}", user("x", seed=1), True),
        ("{header: {X-Test: abc}}", user("x"), True),
        ("{header: {x-test: ab}}", user("x"), False),
        ("{header: {x-test: true, x-other: false}}", user("x"), True),
        ("{header: {x-test: false}}", user("x"), False),
        ("{header: {x-other: {contains: ''}}}", user("x"), False),
        ("{api_key: key}", user("x"), True),
        ("{api_key: {regex: '^k..$'}}", user("x"), True),
        ("{api_key: keys}", user("x"), False),
        ("{scope: 'a*'}", user("x"), True),
        ("{scope: ''}", user("x"), False),
    ],
)  # fmt: skip
def test_conditions(tmp_path: Path, match: str, body: Any, fits: bool | None) -> None:
    asked = subject(body, scope="alpha", x_test="abc")
    if fits is None:  # a number where a text is wanted
        with pytest.raises(Exception, match="write it in quotes"):
            matches(tmp_path, match, asked)
        return
    assert matches(tmp_path, match, asked) is fits
    loaded = Script.load([tmp_path / "script.yaml"], asking.contract())
    assert (loaded.rules[0].match.differences(asked) == []) is fits


@pytest.mark.parametrize(
    ("body", "last", "turn"),
    [
        ({"prompt": "Once"}, "Once", 1),
        ({"prompt": ["Once", "Twice"]}, "Twice", 1),
        ({"prompt": [1, 2]}, "", 1),
        ({}, "", 1),
    ],
)
def test_a_prompt_is_a_message_of_the_user(body: Any, last: str, turn: int) -> None:
    asked = subject(body, COMPLETIONS)
    assert (asked.last_user, asked.turn) == (last, turn)


@pytest.mark.parametrize(
    ("path", "scope", "rest"),
    [
        ("/v1/models", "", "/v1/models"),
        ("/t/a/v1/models", "a", "/v1/models"),
        ("/t/a%20b/v1", "a b", "/v1"),
        ("/t//v1", "", "/t//v1"),
        ("/t/a", "", "/t/a"),
        ("/t/a/t/b/v1", "a", "/t/b/v1"),
    ],
)
def test_the_scope_of_a_path(path: str, scope: str, rest: str) -> None:
    assert split_scope(path) == (scope, rest)


def test_a_miss_says_what_differs_nearest_first(tmp_path: Path) -> None:
    state = asking.state(
        tmp_path,
        """
rules:
  - name: far
    match: {model: llama*, stream: true, turn: 3}
    reply: {text: x}
  - name: near
    match: {model: gpt-*, last: {contains: weather}, header: {x-test: abc}}
    reply: {text: x}
""",
    )
    missed = asking.missed(state.find(subject(user("hello"), x_test="abc")))
    assert [rule.name for rule, _ in missed.nearest] == ["near", "far"]
    assert [str(d) for d in missed.nearest[0][1]] == [
        "last: expected a text that contains 'weather', got 'hello'"
    ]
    assert [(d.field, d.expected, d.actual) for d in missed.nearest[1][1]] == [
        ("model", "'llama*'", "'gpt-oss-120b'"),
        ("stream", "true", "false"),
        ("turn", "3", "1"),
    ]
    refusal = missed.refusal
    status, body = asking.error_of(refusal)
    assert (status, body["code"]) == (404, "no_rule")
    assert "Nearest: 'near'" in body["message"]
    assert "Then: 'far'" in body["message"]


def test_an_empty_script_misses_everything(tmp_path: Path) -> None:
    missed = asking.missed(asking.state(tmp_path, "rules: []").find(subject(user("x"))))
    assert missed.nearest == ()
    assert missed.refusal.values == {"nearest": "The script has no rules."}


def test_no_secret_stands_in_a_miss(tmp_path: Path) -> None:
    text = """
rules:
  - match: {api_key: csk-wanted, header: {authorization: Bearer csk-wanted, cookie: a=b}}
    reply: {text: x}
"""
    asked = subject(user("x"), authorization="Bearer csk-secret", cookie="csk-secret")
    missed = str(asking.missed(asking.state(tmp_path, text).find(asked)))
    assert "csk-secret" not in missed
    assert "another key of 10 characters" in missed


def test_differences_are_short(tmp_path: Path) -> None:
    text = "rules: [{match: {last: x, jmespath: {messages: 1}}, reply: {text: x}}]"
    missed = asking.missed(asking.state(tmp_path, text).find(subject(user("y" * 100_000))))
    assert len(str(missed)) < 1_000


def test_models_can_be_scripted(tmp_path: Path) -> None:
    state = asking.state(
        tmp_path, "rules: [{match: {operation: listModels}, reply: {body: {object: list}}}]"
    )
    answer = asking.found(state.find(subject({}, "/v1/models"))).outcome.answer
    assert answer is not None
    assert answer.body == b'{"object":"list"}'
    asking.missed(state.find(subject(user("x"), CHAT)))


def test_a_recorded_request_is_known_however_it_is_spelt(tmp_path: Path) -> None:
    asked = subject(user("x"), authorization="Bearer one")
    text = f"rules: [{{match: {{recorded: '{asked.recorded}'}}, reply: {{parts: [{{text: x}}]}}}}]"
    state = asking.state(tmp_path, text)
    assert state.script.rules[0].match.fields == ("recorded",)
    asking.found(state.find(asked))
    turned = dict(reversed(user("x").items()))
    asking.found(state.find(subject(turned, authorization="Bearer two")))
    asking.missed(state.find(subject(user("y"))))


def test_the_digest_of_a_recording_has_a_form(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="'abc' is not what 'recorded' takes"):
        asking.script(tmp_path, "rules: [{match: {recorded: abc}, reply: {text: x}}]")
