"""Criteria: which requests an expectation is for."""

import re
from typing import Any

import pytest

from wafermock import (
    ClientRequest,
    Space,
    anything,
    at_least,
    at_most,
    contains,
    equals,
    matches,
)

from .conftest import Ask

TOOLS = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
HISTORY: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Look it up."},
    {
        "role": "assistant",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "found: 22"},
]
QUESTION = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why is that?"}]


def shown(value: object) -> str:
    """Name a case, the same in every process."""
    return re.sub(" at 0x[0-9a-f]+", "", str(value))[:60]


def never(request: ClientRequest) -> bool:
    raise RuntimeError("broken")


@pytest.mark.parametrize(
    ("criteria", "fits"),
    [
        ({}, True),
        ({"last_user": "Why is that?"}, True),
        ({"last_user": "Why"}, False),
        ({"last_user": contains("is", "Why")}, True),
        ({"last_user": contains("why")}, False),
        ({"last_user": contains("why", fold=True)}, True),
        ({"last_user": matches(r"^Why .*\?$")}, True),
        ({"last_user": matches(re.compile("^WHY", re.IGNORECASE))}, True),
        ({"last_user": equals("WHY IS THAT?", fold=True)}, True),
        ({"last_user": anything}, True),
        ({"any_user": contains("that")}, True),
        ({"any_message": contains("brief")}, True),
        ({"any_message": contains("long")}, False),
        ({"system": contains("brief")}, True),
        ({"system": contains("long")}, False),
        ({"tool_result": anything}, False),
        ({"tool_called": "look_up"}, False),
        ({"tool_offered": "look_*"}, True),
        ({"tool_offered": ["other", "look_up"]}, True),
        ({"model": "gpt-oss-120b"}, True),
        ({"model": "gpt-*"}, True),
        ({"model": "zai-*"}, False),
        ({"operation": "/v1/chat/completions"}, True),
        ({"operation": "/v1/completions"}, False),
        ({"stream": False}, True),
        ({"stream": True}, False),
        ({"turn": 1}, True),
        ({"turn": at_least(2)}, False),
        ({"turn": at_most(1)}, True),
        ({"header": {"X-Test": "a"}}, True),
        ({"header": {"x-test": contains("b")}}, False),
        ({"header": {"x-test": True, "x-other": False}}, True),
        ({"api_key": "test"}, True),
        ({"api_key": "another"}, False),
        ({"body": "tools[0].function.name"}, True),
        ({"body": ["tools", "n"]}, False),
        ({"body": {"temperature": 0, "messages[-1].role": "user"}}, True),
        ({"body": {"temperature": 1}}, False),
        ({"body": {"messages[-1].content": contains("Why")}}, True),
        ({"body": {"messages[-1].content": contains("who")}}, False),
        ({"body": {"temperature": anything, "n": anything}}, False),
        ({"schema": {"required": ["tools"]}}, True),
        ({"where": lambda request: request.turn == 1}, True),
        ({"where": never}, False),
        ({"last_user": contains("Why"), "model": "zai-*"}, False),
    ],
    ids=shown,
)
def test_a_question(mock: Space, ask: Ask, criteria: dict[str, Any], fits: bool) -> None:
    mock.on(**criteria).replies("fits")
    answer = ask(mock, QUESTION, tools=TOOLS, temperature=0, headers={"x-test": "a"})
    assert answer.status_code == 200
    assert (mock.calls[0].text == "fits") is fits
    assert bool(mock.unmatched) is not fits
    # What asks afterwards says the same as what answers.
    if fits:
        mock.assert_called(times=1, **criteria)
    else:
        mock.assert_not_called(**criteria)


@pytest.mark.parametrize(
    ("criteria", "fits"),
    [
        ({"last_user": contains("Look")}, False),
        ({"any_user": contains("Look")}, True),
        ({"tool_result": anything}, True),
        ({"tool_result": contains("22")}, True),
        ({"tool_result": "found: 22"}, True),
        ({"tool_result": {"look_up": contains("22")}}, True),
        ({"tool_result": {"other": contains("22")}}, False),
        ({"tool_called": "look_up"}, True),
        ({"turn": 2}, True),
    ],
    ids=shown,
)
def test_a_result_of_a_tool(mock: Space, ask: Ask, criteria: dict[str, Any], fits: bool) -> None:
    mock.on(**criteria).replies("fits")
    ask(mock, HISTORY, tools=TOOLS)
    assert (mock.calls[0].text == "fits") is fits


@pytest.mark.parametrize(
    ("criteria", "kind", "sentence"),
    [
        ({"last_usr": "a"}, TypeError, "no criterion 'last_usr', did you mean 'last_user'"),
        ({"last_user": 3}, TypeError, "last_user=3: a text, contains"),
        ({"last_user": ["a"]}, TypeError, "a text, contains"),
        ({"last_user": matches("(")}, ValueError, "not a regular expression"),
        ({"last_user": matches("(?=a)")}, ValueError, "look-ahead"),
        ({"model": 3}, TypeError, "a name is wanted"),
        ({"model": []}, ValueError, "at least one name"),
        ({"operation": "/v1/chat"}, ValueError, "operation"),
        ({"stream": "yes"}, TypeError, "True or False"),
        ({"turn": "1"}, TypeError, "a whole number"),
        ({"turn": 0}, ValueError, "counted from 1"),
        ({"header": "x"}, TypeError, "a mapping is wanted"),
        ({"body": 3}, TypeError, "JMESPath is wanted"),
        ({"body": "$.model"}, ValueError, "write 'model'"),
        ({"body": "a["}, ValueError, "not JMESPath"),
        ({"body": {"a[": contains("b")}}, ValueError, "not JMESPath"),
        ({"schema": 3}, TypeError, "JSON Schema"),
        ({"where": "x"}, TypeError, "a function"),
    ],
    ids=shown,
)
def test_what_cannot_be_asked(
    mock: Space, criteria: dict[str, Any], kind: type[Exception], sentence: str
) -> None:
    for method in (mock.on, mock.assert_called, mock.assert_not_called):
        with pytest.raises(kind, match=sentence):
            method(**criteria)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: contains(), ValueError),
        (lambda: contains(3), TypeError),
        (lambda: matches(3), TypeError),
        (lambda: equals(3), TypeError),
        (lambda: at_least("1"), TypeError),
        (lambda: at_most(True), TypeError),
    ],
)
def test_what_is_no_matcher(make: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        make()


def test_matchers_are_shown_as_they_are_written() -> None:
    shown = [contains("a", "b", fold=True), matches("^x"), equals("y"), anything, at_least(2)]
    assert repr(shown) == (
        "[contains('a', 'b', fold=True), matches('^x'), equals('y'), anything, at_least(2)]"
    )


def test_matchers_are_values() -> None:
    assert contains("a") == contains("a") != contains("b")
    assert {contains("a"), contains("a"), at_least(1), equals("a")} == {
        equals("a"), at_least(1), contains("a"),
    }  # fmt: skip
    assert repr([contains("a"), at_least(1)]) == "[contains('a'), at_least(1)]"
