"""Tools: who is called, with what arguments, how it is streamed, and what is said after."""

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.tools import MOST_CALLS

from .asking import (
    CHAT,
    JSON,
    chunks,
    content,
    contract,
    examples,
    few,
    joined,
    message,
    says,
    whole,
)
from .generated import MODELS, SENTENCES


def tool(name: str, description: str = "", **properties: Any) -> JSON:
    parameters = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


WEATHER = tool("get_weather", "Weather of a city", city={"type": "string"})
TIME = tool("get_local_time", "The clock in a city", zone={"type": "string"})
MAIL = tool("sendMail", "Sends a message", to={"type": "string", "format": "email"})
ALL = [WEATHER, TIME, MAIL]


def called(body: JSON) -> list[str]:
    answer = whole(CHAT, body)
    calls = message(answer).get("tool_calls", [])
    assert answer["choices"][0]["finish_reason"] == ("tool_calls" if calls else "stop")
    assert ("content" in message(answer)) == (not calls)
    return [call["function"]["name"] for call in calls]


@pytest.mark.parametrize(
    ("text", "choice", "names"),
    [
        ("What is the weather in Rome?", "auto", ["get_weather"]),
        ("What is the weather in Rome?", None, ["get_weather"]),
        ("What is the weather in Rome?", "none", []),
        ("WEATHERS, please", "auto", ["get_weather"]),
        ("Write a mail", "auto", ["sendMail"]),
        ("Sing a song", "auto", []),
        ("Sing a song", "required", ["get_weather"]),
        ("Write a mail", "required", ["sendMail"]),
        ("Which city?", "auto", ["get_weather", "get_local_time"]),
        ("Which city?", "required", ["get_weather", "get_local_time"]),
    ],
)
def test_who_is_called(text: str, choice: str | None, names: list[str]) -> None:
    assert called(says(text, tools=ALL, tool_choice=choice)) == names
    one = says(text, tools=ALL, tool_choice=choice, parallel_tool_calls=False)
    assert called(one) == names[:1]


@pytest.mark.parametrize("name", ["get_weather", "get_local_time", "sendMail"])
@pytest.mark.parametrize("text", ["Sing a song", "What is the weather like in Boston today?"])
def test_a_named_tool_is_called(name: str, text: str) -> None:
    choice = {"type": "function", "function": {"name": name}}
    assert called(says(text, tools=ALL, tool_choice=choice)) == [name]


def test_a_named_tool_beats_an_example_of_another() -> None:
    example = contract().operation("createChatCompletion").request_body
    assert example is not None
    body = example.content["application/json"].examples["Tool Calling"].value
    assert called(body) == ["get_current_weather"]
    choice = {"type": "function", "function": {"name": "sendMail"}}
    assert called({**body, "tools": [*body["tools"], MAIL], "tool_choice": choice}) == ["sendMail"]
    elsewhere = json.loads(json.dumps(body).replace("Boston", "Paris"))
    (call,) = message(whole(CHAT, elsewhere))["tool_calls"]
    assert json.loads(call["function"]["arguments"])["location"] == "Paris"


def test_no_more_than_a_few_at_once() -> None:
    many = [tool(f"weather_{number}") for number in range(40)]
    assert len(called(says("The weather?", tools=many))) == MOST_CALLS


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n", [1, 3])
def test_calls_are_streamed_in_the_style_of_the_model(model: str, n: int) -> None:
    body = says("Which city?", model=model, tools=ALL, n=n)
    answer = whole(CHAT, body)
    assert joined(CHAT, body)["choices"] == answer["choices"]
    deltas = [p["delta"]["tool_calls"] for c in chunks(CHAT, body) for p in c["choices"]
              if "tool_calls" in p["delta"]]  # fmt: skip
    if contract().models[model]["tool_style"] == "whole":
        assert len(deltas) == n
        assert all([call["index"] for call in calls] == [0, 1] for calls in deltas)
        assert all(set(call) == {"id", "type", "function", "index"} for c in deltas for call in c)
    else:
        assert all(len(fragments) == 1 for fragments in deltas)
        first = [f for (f,) in deltas if "id" in f]
        assert len(first) == 2 * n
        assert all(f["function"]["arguments"] == "" and f["function"]["name"] for f in first)
        assert all(f["type"] == "function" for (f,) in deltas)
        more = [f for (f,) in deltas if "id" not in f]
        assert all(set(f["function"]) == {"arguments"} for f in more)


def test_ids_are_nine_hexadecimal_digits_and_differ() -> None:
    answer = whole(CHAT, says("Which city?", tools=ALL, n=3))
    calls = [call for c in answer["choices"] for call in c["message"]["tool_calls"]]
    assert all("index" not in call for call in calls)
    ids = {call["id"] for call in calls}
    assert len(ids) == 6
    assert all(len(id) == 9 and int(id, 16) >= 0 for id in ids)


@given(st.integers(0, 120), st.sampled_from(MODELS), st.booleans())
@examples
def test_a_limit_cuts_a_call_off(limit: int, model: str, streamed: bool) -> None:
    body = says("Which city?", model=model, tools=ALL)
    full = whole(CHAT, body)
    cut = (joined if streamed else whole)(CHAT, {**body, "max_completion_tokens": limit})
    length = full["usage"]["completion_tokens"]
    assert cut["usage"]["completion_tokens"] == min(limit, length)
    (choice,) = cut["choices"]
    assert choice["finish_reason"] == ("length" if limit < length else "tool_calls")
    calls = message(full)["tool_calls"]
    for call, part in zip(calls, choice["message"].get("tool_calls", ()), strict=False):
        assert part["id"] == call["id"]
        assert call["function"]["arguments"].startswith(part["function"]["arguments"])


SCALARS = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "minLength": 3, "maxLength": 6},
        {"type": "string", "pattern": "^[a-f]{4}$"},
        {"type": "integer", "minimum": 3, "maximum": 4},
        {"type": "number"},
        {"type": "boolean"},
        {"enum": ["celsius", "fahrenheit", 3, None]},
        {"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": True},
        {"type": "string", "format": "date"},
        {"anyOf": [{"type": "null"}, {"type": "string", "format": "email"}]},
    ]
)
NAMES = st.sampled_from(["city", "query", "unit", "name", "x", "destination_city", "text", "when"])
OBJECTS = st.builds(
    lambda properties, wanted, closed: {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name in wanted],
        **({"additionalProperties": False} if closed else {}),
    },
    st.dictionaries(NAMES, SCALARS, max_size=5),
    st.sets(NAMES),
    st.booleans(),
)
NESTED = st.builds(
    lambda inner, outer: {**outer, "properties": {**outer["properties"], "inner": inner}},
    OBJECTS,
    OBJECTS,
)
TALK = SENTENCES | st.just("Fly from New York to Rome, Italy, in Celsius. Why? Ask John O'Hara.")


@given(OBJECTS | NESTED, TALK, st.integers(1, 3))
@examples
def test_arguments_obey_the_parameters(schema: JSON, text: str, n: int) -> None:
    named = {"type": "function", "function": {"name": "f", "parameters": schema}}
    answer = whole(CHAT, says(text, tools=[named], tool_choice="required", n=n))
    for index in range(n):
        (call,) = message(answer, index)["tool_calls"]
        arguments = json.loads(call["function"]["arguments"])
        assert isinstance(arguments, dict)
        jsonschema_rs.validate(schema, arguments)
        known = [key for key in arguments if key in schema["properties"]]
        assert known == [key for key in schema["properties"] if key in arguments]


@pytest.mark.parametrize("parameters", [None, {}, "absent", {"properties": {}}, {"type": "object"}])
def test_without_parameters_the_arguments_are_an_object(parameters: Any) -> None:
    function = {"name": "f"} if parameters == "absent" else {"name": "f", "parameters": parameters}
    tools = [{"type": "function", "function": function}]
    (call,) = message(whole(CHAT, says("x", tools=tools, tool_choice="required")))["tool_calls"]
    assert isinstance(json.loads(call["function"]["arguments"]), dict)


def answered(*results: str, text: str = "What is the weather in Rome?") -> JSON:
    calls = [
        {"id": f"00000000{n}", "type": "function",
         "function": {"name": "get_weather", "arguments": "{}"}}
        for n in range(len(results))
    ]  # fmt: skip
    said = [{"role": "tool", "tool_call_id": c["id"], "content": r}
            for c, r in zip(calls, results, strict=True)]  # fmt: skip
    talk = [*says(text)["messages"], {"role": "assistant", "tool_calls": calls}, *said]
    return says("", messages=talk, tools=ALL)


@given(st.lists(SENTENCES, min_size=1, max_size=3))
@few
def test_a_result_is_told_in_the_final_text(results: list[str]) -> None:
    body = answered(*results)
    assert called(body) == []
    text = content(whole(CHAT, body))
    assert all(f"According to get_weather: {result}" in text for result in results)
    assert joined(CHAT, body)["choices"] == whole(CHAT, body)["choices"]


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ('{"temperature": 21.5, "sky": "clear"}', "temperature: 21.5, sky: clear"),
        ('{"Ort": "Zürich", "list": ["é", 1]}', 'Ort: Zürich, list: ["é", 1]'),
        ("21 degrees", "21 degrees"),
        ("[1, 2]", "[1, 2]"),
        ("{broken", "{broken"),
        ("[" * 5000, "[" * 1000 + "…"),
        ("1" * 5000, "1" * 1000 + "…"),
    ],
)
def test_how_a_result_is_told(result: str, told: str) -> None:
    assert f"According to get_weather: {told}\n\n" in content(whole(CHAT, answered(result)))


def test_after_a_result_a_tool_may_still_be_wanted() -> None:
    assert called({**answered("21"), "tool_choice": "required"}) == ["get_weather"]
    asked_again = answered("21")
    asked_again["messages"] += says("And the weather in Oslo?")["messages"]
    assert called(asked_again) == ["get_weather"]
