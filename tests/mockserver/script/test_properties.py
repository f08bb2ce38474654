"""Rules: matching is total, and an outcome is a function of its inputs."""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from wafermock.mockserver.script import Found, Missed, Script, ScriptState

from . import asking
from .asking import CHAT, COMPLETIONS, subject

EVERY_CONDITION = """
rules:
  - name: every condition
    match:
      operation: '*'
      model: '*a*'
      scope: '*'
      stream: true
      turn: {at_least: 1}
      last: {role: user, equals: a, contains: b, regex: c, fold: true}
      any: [{contains: a}, {role: tool, regex: '\\d'}]
      tool_offered: '*'
      tool_called: '*'
      tool_result: {name: '*', contains: a}
      api_key: {regex: k}
      header: {x-a: true, x-b: {contains: a}}
      jmespath:
        - messages[*].content
        - sort_by(messages, &content)
        - max(n) > `1`
        - join(',', tools)
        - to_number(model)
        - sum(messages[].n)
        - keys(body)
      schema: {type: object, required: [model], properties: {model: {pattern: '^(a+)+$'}}}
    reply: {text: x}
  - {name: words, match: {jmespath: "model"}, reply: {json: true}}
  - {name: template, reply: {template: "{{ body }} {{ messages }} {{ words(3) }} {{ hit }}"}}
"""


@cache
def script() -> Script:
    with TemporaryDirectory() as folder:
        return asking.script(Path(folder), EVERY_CONDITION)


KEYS = st.sampled_from(
    ["model", "messages", "prompt", "stream", "tools", "role", "content", "tool_calls", "function",
     "name", "id", "tool_call_id", "arguments", "type", "text", "n", "response_format",
     "json_schema", "schema"]
)  # fmt: skip
TEXTS = st.text(max_size=8) | st.sampled_from(
    ["user", "assistant", "tool", "a", "abc", "\ud83d", "json_schema", "json_object"]
)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.just(10**400),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | TEXTS, inner, max_size=5),
    max_leaves=25,
)
BODIES = st.dictionaries(KEYS, JSON, max_size=6)


@settings(max_examples=300)
@given(body=BODIES, path=st.sampled_from([CHAT, COMPLETIONS]), scope=st.text(max_size=3))
def test_matching_is_total(body: dict[str, Any], path: str, scope: str) -> None:
    asked = subject(body, path, scope, x_b="a")
    answer = ScriptState(script()).find(asked)
    assert isinstance(answer, Found)
    for rule in script().rules:
        assert rule.match.fits(asked) == (not rule.match.differences(asked))
    missed = Missed(tuple((rule, tuple(rule.match.differences(asked))) for rule in script().rules))
    str(missed).encode()
    assert len(str(missed)) < 10_000


@settings(max_examples=100)
@given(body=BODIES)
def test_an_outcome_is_a_function_of_subject_script_and_position(body: dict[str, Any]) -> None:
    first, second = (ScriptState(script()).find(subject(body)) for _ in range(2))
    assert isinstance(first, Found)
    assert isinstance(second, Found)
    assert first.position == second.position
    assert first.outcome.reply == second.outcome.reply
    if first.outcome.refusal and second.outcome.refusal:
        assert first.outcome.refusal.values == second.outcome.refusal.values


def test_deep_bodies_are_matched() -> None:
    deep: Any = []
    for _ in range(900):  # as deep as a decoder reads
        deep = [deep]
    body = {"model": "a", "messages": deep}
    assert isinstance(ScriptState(script()).find(subject(body)), Found)


def test_words_differ_by_request_rule_and_step_not_by_scope_or_hit(tmp_path: Path) -> None:
    text = """
rules:
  - match: {last: {contains: seq}}
    sequence: [{template: '{{ words(8) }}'}, {template: '{{ words(8) }}'}]
  - {name: a, match: {last: {contains: a}}, reply: {template: '{{ words(8) }}'}}
  - {name: b, reply: {template: '{{ words(8) }}'}}
"""
    state = asking.state(tmp_path, text)

    def words(text: str, scope: str = "") -> str:
        return asking.said(state.find(subject(asking.user(text), scope=scope)))

    assert words("a") == words("a") == words("a", scope="other")
    assert len({words("a"), words("aa"), words("b"), words("c")}) == 4
    first, second, third = words("seq"), words("seq"), words("seq")
    assert first != second == third


def test_words_do_not_depend_on_how_the_request_is_written(tmp_path: Path) -> None:
    state = asking.state(tmp_path, "rules: [{reply: {template: '{{ words(8) }}'}}]")
    body = asking.user("x", temperature=1.0)
    turned = dict(reversed(json.loads(json.dumps(body)).items()))
    turned["temperature"] = 1
    assert asking.said(state.find(subject(body))) == asking.said(state.find(subject(turned)))


def test_what_is_said_can_be_written(tmp_path: Path) -> None:
    """JSON may hold half a surrogate pair, UTF-8 may not."""
    text = r"""rules: [{reply: {template: '{{ "\ud83d" }}{{ last_user }}'}}]"""
    state = asking.state(tmp_path, text)
    assert asking.said(state.find(subject(asking.user("\ud83d")))) == "??"


def test_a_template_that_fails_on_a_request_is_an_error_that_names_the_rule(tmp_path: Path) -> None:
    text = "rules: [{name: ratio, reply: {template: '{{ 1 / body.n }}', delivery: crlf}}]"
    state = asking.state(tmp_path, text)
    assert asking.said(state.find(subject(asking.user("x", n=2)))) == "0.5"
    outcome = asking.found(state.find(subject(asking.user("x", n=0)))).outcome
    assert outcome.refusal is not None
    status, body = asking.error_of(outcome.refusal)
    assert (status, body["code"]) == (500, "script_failed")
    assert body["message"] == (
        "The rule 'ratio' of the script cannot answer this request: "
        "line 1 of the template: division by zero"
    )
    assert (outcome.reply, [str(d) for d in outcome.delivery]) == (None, ["crlf"])


def test_the_schema_of_a_request_without_one_is_an_error(tmp_path: Path) -> None:
    state = asking.state(tmp_path, "rules: [{reply: {json: true}}]")
    for body in ({}, {"response_format": 3}, {"response_format": {"type": "json_schema"}}):
        refusal = asking.found(state.find(subject(body))).outcome.refusal
        assert refusal is not None
        assert "the request has none" in refusal.values["reason"]
