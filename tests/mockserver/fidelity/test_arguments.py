"""Arguments hold what the user named, where the schema lets them."""

import json
from typing import Any

import pytest

from wafermock.mockserver.arguments import proper_names

from .asking import CHAT, message, says, whole
from .test_tools import tool

STRING = {"type": "string"}
UNIT = {"type": "string", "enum": ["celsius", "fahrenheit"]}


def arguments(text: Any, parameters: Any) -> Any:
    function = {"name": "act", "parameters": parameters}
    tools = [{"type": "function", "function": function}]
    answer = whole(CHAT, says(text, tools=tools, tool_choice="required"))
    return json.loads(message(answer)["tool_calls"][0]["function"]["arguments"])


def of(text: Any, **properties: Any) -> Any:
    return arguments(text, tool("f", **properties)["function"]["parameters"])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("What is the weather in Paris?", ["Paris"]),
        ("what about New York, then", ["New York"]),
        ("Is it cold in San Francisco, CA today?", ["San Francisco, CA"]),
        ("Fly from Oslo to Rome. Then to Bonn", ["Oslo", "Rome", "Bonn"]),
        ("Then I met John O'Hara's wife; I'm sure", ["John O'Hara"]),
        ("weather in paris", []),
        ("Weather! Paris", []),
        ("is it in São Paulo or Åre?", ["São Paulo", "Åre"]),
        ("take Jean-Luc, Anna", ["Jean-Luc", "Anna"]),
        ("", []),
    ],
)
def test_names_in_a_text(text: str, names: list[str]) -> None:
    assert list(proper_names(text)) == names


def test_a_place_is_the_one_that_was_named() -> None:
    assert of("What is the weather in New York?", location=STRING) == {"location": "New York"}
    flight = of("I fly from Oslo to Rome", origin_city=STRING, destinationCity=STRING)
    assert flight == {"origin_city": "Oslo", "destinationCity": "Rome"}


def test_a_query_is_the_whole_text() -> None:
    assert of("who won in Paris?", query=STRING) == {"query": "who won in Paris?"}
    parts = [{"type": "text", "text": "who won?"}]
    assert of(parts, searchText=STRING) == {"searchText": "who won?"}


@pytest.mark.parametrize(
    ("text", "values", "chosen"),
    [
        ("in Fahrenheit, please", ["celsius", "fahrenheit"], "fahrenheit"),
        ("by next day air", ["next", "next_day", "day"], "next_day"),
        ("blue, not red", ["red", "blue"], "blue"),
        ("a C++ one", ["c++", "rust"], "c++"),
    ],
)
def test_a_value_that_is_mentioned_is_chosen(text: str, values: list[str], chosen: str) -> None:
    assert of(text, kind={"enum": values}) == {"kind": chosen}


def test_a_mentioned_value_is_given_even_where_it_may_be_left_out() -> None:
    for number in range(8):
        schema = {"type": "object", "properties": {"unit": UNIT, "x": STRING}, "required": ["x"]}
        made = arguments(f"{number} in celsius", schema)
        assert made["unit"] == "celsius"
        assert list(made) == ["unit", "x"]


def test_what_the_schema_forbids_is_not_said() -> None:
    made = of("the weather in Rome", city={"type": "string", "maxLength": 2})
    assert len(made["city"]) <= 2
    made = of("the weather in Rome", city={"type": "string", "pattern": "^[a-c]+$"})
    assert set(made["city"]) <= set("abc")
    made = arguments(
        "in celsius",
        {"type": "object", "properties": {"u": UNIT, "x": STRING}, "required": ["x"],
         "maxProperties": 1},
    )  # fmt: skip
    assert list(made) == ["x"]


def test_inner_objects_are_filled_too() -> None:
    inner = tool("f", city=STRING, unit=UNIT)["function"]["parameters"]
    made = of("weather in Rome in celsius", place=inner)
    assert made == {"place": {"city": "Rome", "unit": "celsius"}}


def test_odd_schemas_are_survived() -> None:
    for properties in (
        {"a": True},
        {"city": {"type": ["string", "null"]}},
        {"u": {"enum": [1, None]}},
    ):
        schema: Any = {"type": "object", "properties": properties, "required": list(properties)}
        assert set(arguments("weather in Rome", schema)) == set(properties)
    schema = {
        "type": "object",
        "$ref": "#/$defs/a",
        "$defs": {"a": {"properties": {"city": STRING}}},
    }
    assert isinstance(arguments("weather in Rome", schema), dict)
