"""OpenAPI 3.0's `nullable` and exclusive bounds, written so that a 2020-12 validator sees them."""

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.spec.normalise import normalise

from .documents import minimal, with_schema

NULL = {"type": "null"}
TEXT = {"type": "string"}
A = {"$ref": "#/components/schemas/A"}


def normalised(schema: Any, **components: Any) -> Any:
    root = with_schema(json.loads(json.dumps(schema)), **components)
    normalise(root)
    return root["components"]["schemas"]["Subject"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({**TEXT, "nullable": True}, {"type": ["string", "null"]}),
        ({**TEXT, "nullable": False}, TEXT),
        ({"type": ["string", "null"], "nullable": True}, {"type": ["string", "null"]}),
        ({"type": ["array", "object"], "nullable": True}, {"type": ["array", "object", "null"]}),
        (
            {**TEXT, "enum": ["a"], "nullable": True},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        ({"enum": ["a", None], "nullable": True}, {"enum": ["a", None]}),
        ({"const": "a", "nullable": True}, {"enum": ["a", None]}),
        ({"const": None, "nullable": True}, {"const": None}),
        ({"const": "a", "enum": ["a", "b"], "nullable": True}, {"enum": ["a", None]}),
        ({"const": "c", "enum": ["a", "b"], "nullable": True}, {"enum": [None]}),
        ({"anyOf": [TEXT], "nullable": True}, {"anyOf": [TEXT, NULL]}),
        ({"anyOf": [TEXT, NULL], "nullable": True}, {"anyOf": [TEXT, NULL]}),
        ({"oneOf": [TEXT], "nullable": True}, {"oneOf": [TEXT, NULL]}),
        ({"oneOf": [TEXT, {}], "nullable": True}, {"oneOf": [TEXT, {}]}),
        ({"oneOf": [{}, NULL], "nullable": True}, {"anyOf": [{"oneOf": [{}, NULL]}, NULL]}),
        (
            {"oneOf": [A], "discriminator": {"propertyName": "t"}, "nullable": True},
            {"oneOf": [A, NULL], "discriminator": {"propertyName": "t"}},
        ),
        ({**A, "nullable": True, "title": "T"}, {"title": "T", "anyOf": [A, NULL]}),
        ({"allOf": [A, TEXT], "nullable": True}, {"anyOf": [{"allOf": [A, TEXT]}, NULL]}),
        ({"not": TEXT, "nullable": True}, {"anyOf": [{"not": TEXT}, NULL]}),
        (
            {"allOf": [A], "anyOf": [TEXT], "nullable": True},
            {"anyOf": [TEXT, NULL], "allOf": [{"anyOf": [{"allOf": [A]}, NULL]}]},
        ),
        (
            {**A, "allOf": [TEXT], "not": NULL, "nullable": True},
            {"anyOf": [{**A, "allOf": [TEXT], "not": NULL}, NULL]},
        ),
        (
            {"if": TEXT, "then": {"minLength": 1}, "else": False, "nullable": True},
            {"anyOf": [{"if": TEXT, "then": {"minLength": 1}, "else": False}, NULL]},
        ),
        ({"nullable": True}, {}),
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ({"maximum": 1, "exclusiveMaximum": False}, {"maximum": 1}),
        ({"exclusiveMinimum": True}, {}),
        ({"exclusiveMinimum": 1, "minimum": 0}, {"exclusiveMinimum": 1, "minimum": 0}),
        ({"nullable": "yes"}, {"nullable": "yes"}),
    ],
)  # fmt: skip
def test_one_schema(schema: Any, expected: Any) -> None:
    assert normalised(schema, A={"type": "object"}) == expected


def test_a_property_may_be_called_nullable() -> None:
    schema = {"properties": {"nullable": {"type": "boolean", "nullable": True}, "type": TEXT}}
    assert normalised(schema) == {
        "properties": {"nullable": {"type": ["boolean", "null"]}, "type": TEXT}
    }


def test_instances_are_left_alone() -> None:
    instance = {"nullable": True, "exclusiveMinimum": True, "type": "string"}
    schema = {"default": instance, "example": instance, "examples": [instance], "enum": [instance],
              "const": instance, "x-note": instance}  # fmt: skip
    assert normalised(schema) == schema
    content = {
        "application/json": {
            "schema": TEXT,
            "example": instance,
            "examples": {"a": {"value": instance}},
        }
    }
    root = minimal(paths={"/a": {"post": {"requestBody": {"content": content}}}})
    before = json.dumps(root)
    normalise(root)
    assert json.dumps(root) == before


NULLABLE = {"type": "string", "nullable": True}
HOLDER = {"schema": NULLABLE}
CONTENT = {"content": {"application/json": HOLDER}}
OPERATION = {
    "parameters": [{"name": "a", "in": "query", **HOLDER}, {"name": "b", "in": "query", **CONTENT}],
    "requestBody": CONTENT,
    "responses": {"200": {**CONTENT, "headers": {"a": HOLDER, "b": CONTENT}}},
}


def test_every_place_of_a_document_that_holds_schemas() -> None:
    item = {"parameters": OPERATION["parameters"], "post": OPERATION}
    operation = {**OPERATION, "callbacks": {"called": {"{$request.body#/url}": item}}}
    root = minimal(
        paths={"/a": {"parameters": OPERATION["parameters"], "query": operation}},
        webhooks={"w": item},
        components={
            "schemas": {"S": {"$defs": {"a": NULLABLE}, "items": NULLABLE, "not": NULLABLE,
                              "patternProperties": {"^x": NULLABLE}, "prefixItems": [NULLABLE]}},
            "parameters": {"P": OPERATION["parameters"][0]},
            "headers": {"H": HOLDER},
            "requestBodies": {"B": CONTENT},
            "responses": {"R": OPERATION["responses"]["200"]},
            "mediaTypes": {"M": {"itemSchema": NULLABLE}},
            "callbacks": {"C": {"{$url}": item}},
            "pathItems": {"I": item},
        },
    )  # fmt: skip
    root = json.loads(json.dumps(root))
    expected = json.dumps(root).replace(
        json.dumps(NULLABLE), json.dumps({"type": ["string", "null"]})
    )
    normalise(root)
    assert json.dumps(root) == expected


def test_a_second_time_changes_nothing() -> None:
    schema = {
        "oneOf": [A, {"allOf": [A], "nullable": True}],
        "nullable": True,
        "minimum": 1,
        "exclusiveMinimum": True,
    }
    once = normalised(schema, A=TEXT)
    assert normalised(once, A=TEXT) == once


# ---------------------------------------------------------- what 3.0 means, word for word

SCALARS = st.sampled_from([None, True, 0, 1, 2, "", "a"])
INSTANCES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=4,
)


def combined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    branches = st.lists(inner, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "object", "array", "boolean"]),
            "enum": st.lists(SCALARS, min_size=1, max_size=3, unique_by=repr),
            "const": SCALARS,
            "minimum": st.integers(0, 2),
            "exclusiveMinimum": st.booleans(),
            "properties": st.dictionaries(st.sampled_from("ab"), inner),
            "items": inner,
            "allOf": branches,
            "anyOf": branches,
            "oneOf": branches,
            "not": inner,
            "if": inner,
            "then": inner,
            "$ref": st.just(A["$ref"]),
            "nullable": st.booleans(),
        },
    )


LEAVES = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "integer", "boolean"])},
    optional={"nullable": st.booleans()},
)
SCHEMAS = st.recursive(LEAVES, combined, max_leaves=6)
NAMED = LEAVES | st.just({"oneOf": [TEXT, {"type": "integer", "nullable": True}]})


def obeys(instance: Any, schema: dict[str, Any], named: dict[str, Any]) -> bool:
    """Say whether an instance obeys a schema of OpenAPI 3.0; `nullable: true` lets null pass."""
    if instance is None and schema.get("nullable"):
        return True

    def fits(branch: dict[str, Any]) -> bool:
        return obeys(instance, branch, named)

    same = [json.dumps(instance) == json.dumps(value) for value in schema.get("enum", [instance])]
    types = {"string": str, "integer": int, "object": dict, "array": list, "boolean": bool}
    kind = types.get(schema.get("type", ""), object)
    number = type(instance) is int and "minimum" in schema
    low = schema.get("minimum", 0) + bool(schema.get("exclusiveMinimum"))
    inside = schema.get("properties", {}) if isinstance(instance, dict) else {}
    items = instance if isinstance(instance, list) and "items" in schema else []
    return (
        isinstance(instance, kind)
        and not (isinstance(instance, bool) and kind is int)
        and any(same)
        and ("const" not in schema or json.dumps(schema["const"]) == json.dumps(instance))
        and (not number or instance >= low)
        and all(obeys(instance[k], v, named) for k, v in inside.items() if k in instance)
        and all(obeys(item, schema["items"], named) for item in items)
        and all(map(fits, schema.get("allOf", [])))
        and ("anyOf" not in schema or any(map(fits, schema["anyOf"])))
        and ("oneOf" not in schema or sum(map(fits, schema["oneOf"])) == 1)
        and ("not" not in schema or not fits(schema["not"]))
        and ("$ref" not in schema or fits(named))
        and ("if" not in schema or not fits(schema["if"]) or fits(schema.get("then", {})))
    )


@given(SCHEMAS, NAMED, INSTANCES)
def test_what_obeys_3_0_obeys_the_result_and_nothing_else(
    schema: dict[str, Any], named: dict[str, Any], instance: Any
) -> None:
    root = with_schema(json.loads(json.dumps(schema)), A=json.loads(json.dumps(named)))
    normalise(root)
    result = {"$ref": "#/components/schemas/Subject", "components": root["components"]}
    assert jsonschema_rs.Draft202012Validator(result).is_valid(instance) is obeys(
        instance, schema, named
    )
    assert "nullable" not in json.dumps(root)
