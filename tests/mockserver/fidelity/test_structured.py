"""response_format: JSON that obeys the user's schema, keys in its order, streamed too."""

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from .asking import CHAT, JSON, content, examples, few, joined, refusal, says, whole

STRING: JSON = {"type": "string"}


def form(schema: Any, strict: bool | None = None, **more: Any) -> JSON:
    wanted = {"name": "s", "schema": schema, "strict": strict}
    return says(
        "Fill it in", response_format={"type": "json_schema", "json_schema": wanted}, **more
    )


def closed(**properties: Any) -> JSON:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


SCALARS = st.sampled_from(
    [STRING, {"type": "integer"}, {"type": "number"}, {"type": "boolean"}, {"type": "null"},
     {"enum": ["a", 1, None]}, {"const": {"a": [1]}}, {"type": ["string", "null"]}]
)  # fmt: skip
NAMES = st.sampled_from(["zip", "email", "b", "a", "créé", "first name", "url", "10", "x_y"])


def objects(inner: st.SearchStrategy[JSON]) -> st.SearchStrategy[JSON]:
    return st.dictionaries(NAMES, inner, min_size=1, max_size=4).map(lambda p: closed(**p))


# What a strict schema may be made of.
STRICT = objects(
    st.recursive(
        SCALARS,
        lambda inner: (
            objects(inner)
            | inner.map(lambda items: {"type": "array", "items": items})
            | st.lists(inner, min_size=1, max_size=3).map(lambda any_of: {"anyOf": any_of})
        ),
        max_leaves=8,
    )
)
# And what any schema may be made of beside that.
LOOSE = objects(
    st.sampled_from(
        [
            {"type": "string", "pattern": "^[A-Z]{2}[0-9]+$"},
            {"type": "string", "format": "email", "maxLength": 30},
            {"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": True},
            {"type": "number", "multipleOf": 0.25, "exclusiveMinimum": 3, "maximum": 9},
            {"oneOf": [{"type": "integer", "minimum": 5}, {"type": "integer", "maximum": 7}]},
            {"allOf": [{"minLength": 4}, {"type": "string", "not": {"const": "abcd"}}]},
            {
                "type": "object",
                "patternProperties": {"^x": {"type": "integer"}},
                "minProperties": 2,
            },
            {"if": {"type": "string"}, "then": {"minLength": 9}, "else": {"const": 4}},
            {"prefixItems": [{"type": "string"}, {"const": 1}], "items": False, "minItems": 2},
            {"type": "array", "contains": {"const": "c"}, "maxItems": 2},
            True,
        ]
    )
)


def in_order(value: Any, schema: Any) -> None:
    """Check that the keys of closed objects come in the schema's order, at every depth."""
    if not isinstance(schema, dict):
        return
    if isinstance(value, dict) and "properties" in schema:
        assert list(value) == [key for key in schema["properties"] if key in value]
        for key in value:
            in_order(value[key], schema["properties"][key])
    elif isinstance(value, list):
        for item in value:
            in_order(item, schema.get("items"))


@given(STRICT, st.booleans(), st.sampled_from(["gpt-oss-120b", "zai-glm-4.7"]))
@examples
def test_content_obeys_a_strict_schema(schema: JSON, streamed: bool, model: str) -> None:
    answer = (joined if streamed else whole)(CHAT, form(schema, True, model=model))
    value = json.loads(content(answer))
    jsonschema_rs.validate(schema, value)
    in_order(value, schema)
    assert answer["choices"][0]["finish_reason"] == "stop"


@given(LOOSE, st.sampled_from([None, False]), st.integers(1, 3), st.booleans())
@examples
def test_content_obeys_any_schema(
    schema: JSON, strict: bool | None, n: int, streamed: bool
) -> None:
    answer = (joined if streamed else whole)(CHAT, form(schema, strict, n=n))
    for index in range(n):
        value = json.loads(content(answer, index))
        jsonschema_rs.validate(schema, value)
        in_order(value, schema)


@given(STRICT, st.integers(0, 60))
@few
def test_a_limit_cuts_json_off(schema: JSON, limit: int) -> None:
    full = content(whole(CHAT, form(schema, True, model="llama3.1-8b")))
    cut = whole(CHAT, form(schema, True, model="llama3.1-8b", max_tokens=limit))
    assert full.startswith(content(cut))
    assert cut["choices"][0]["finish_reason"] == ("stop" if content(cut) == full else "length")


def test_json_gets_no_more_words() -> None:
    answer = whole(CHAT, form(closed(a=STRING), True, min_tokens=500, model="llama3.1-8b"))
    assert set(json.loads(content(answer))) == {"a"}


@pytest.mark.parametrize("body", [
    says("Some JSON", response_format={"type": "json_object"}),
    form(None), form({"type": "object"}), form({}),
    says("JSON", response_format={"type": "json_schema", "json_schema": {"name": "s"}}),
])  # fmt: skip
def test_json_without_a_schema_is_any_json(body: JSON) -> None:
    json.loads(content(whole(CHAT, body)))
    if body["response_format"]["type"] == "json_object":
        assert isinstance(json.loads(content(whole(CHAT, body))), dict)


@pytest.mark.parametrize("response_format", [None, {"type": "text"}])
def test_text_is_text(response_format: Any) -> None:
    answer = whole(CHAT, says("Fill it in", response_format=response_format))
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(content(answer))


def test_natural_values() -> None:
    schema = closed(
        email=STRING, age={"type": "integer"}, birthday={"type": "string", "format": "date"}
    )
    value = json.loads(content(whole(CHAT, form(schema))))
    assert "@" in value["email"]
    assert list(value) == ["email", "age", "birthday"]


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        (closed(a={"type": "string", "minLength": 5, "maxLength": 4}), "/properties/a"),
        (closed(a=STRING, b=closed(c={"enum": [1], "type": "string"})), "/properties/b"),
        (closed(a={"allOf": [{"type": "string"}, {"type": "integer"}]}), "/properties/a"),
        (closed(a=False), "/properties/a"),
        ({"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}}, "nowhere"),
        ({"$ref": "https://example.com/schema.json"}, "example.com"),
        ({"type": "object", "properties": 5}, "properties"),
        (closed(a={"type": "string", "pattern": "("}), "pattern"),
    ],
)
def test_what_cannot_be_is_said_with_its_place(schema: JSON, place: str) -> None:
    status, error = refusal(CHAT, form(schema))
    assert (status, error["param"], error["code"]) == (400, "response_format", "wrong_api_format")
    assert error["message"].startswith("Nothing can satisfy the schema at ")
    assert place in error["message"]


def test_a_tool_that_cannot_be_called_is_said_with_its_place() -> None:
    schema = closed(a={"type": "string", "minLength": 5, "maxLength": 4})
    tools = [{"type": "function", "function": {"name": "act", "parameters": schema}}]
    status, error = refusal(CHAT, says("x", tools=tools, tool_choice="required"))
    assert status == 400
    assert "the parameters of act" in error["message"]
    assert "/properties/a" in error["message"]
