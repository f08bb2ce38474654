"""What gets no instance: which error, where, and why. Hostile schemas all come to an end."""

import json
from typing import Any

import pytest

from wafermock.mockserver.instances import (
    Bounds,
    InstanceMaker,
    InvalidSchema,
    SchemaError,
    TooLarge,
    Unsatisfiable,
    make_instance,
)


def _named(member: Any) -> dict[str, Any]:
    return {"type": "object", "required": ["a"], "properties": {"a": member}}


UNSATISFIABLE = [
    (False, "", "the schema is false"),
    ({"not": {}}, "/not", "everything meets"),
    (_named(False), "/required", "'a' must be there, and /properties/a rules it out"),
    (_named({"minimum": 5, "maximum": 3, "type": "integer"}), "/properties/a/minimum", "maximum"),
    (
        _named({"minLength": 5, "allOf": [{"maxLength": 3}], "type": "string"}),
        "/properties/a/minLength",
        "minLength 5 is more than maxLength 3 at /properties/a/allOf/0/maxLength",
    ),
    ({"type": "string", "enum": [1, 2]}, "/enum", "ruled out"),
    ({"enum": [1, 2], "allOf": [{"enum": [3]}]}, "/allOf/0/enum", "at /enum"),
    ({"type": "string", "allOf": [{"type": "integer"}]}, "/allOf/0/type", "the type is integer"),
    (
        {"type": "integer", "multipleOf": 10, "minimum": 1, "maximum": 9},
        "/minimum",
        "no multiple of 10",
    ),
    (
        {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 3},
        "/items",
        "boolean",
    ),
    (
        {"type": "object", "minProperties": 2, "additionalProperties": False},
        "/minProperties",
        "0 of 2",
    ),
    (
        {"type": "object", "required": ["a", "b"], "maxProperties": 1},
        "/maxProperties",
        "2 are required",
    ),
    (
        {"type": "object", "required": ["a"], "propertyNames": {"const": "b"}},
        "/propertyNames",
        "'a' is not allowed",
    ),
    (
        {
            "anyOf": [{"type": "string", "minLength": 4}, {"type": "null"}],
            "maxLength": 3,
            "not": {"type": "null"},
        },
        "/anyOf",
        "none of the 2 ways",
    ),
    ({"type": "string", "pattern": "^a$", "maxLength": 0}, "/pattern", "'^a$'"),
    ({"oneOf": [{"type": "integer"}, {"type": "integer"}], "type": "integer"}, "/oneOf", "2 ways"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "pointer", "reason"), UNSATISFIABLE)
def test_unsatisfiable(schema: Any, pointer: str, reason: str) -> None:
    for seed in (0, 1):
        with pytest.raises(Unsatisfiable) as caught:
            make_instance(schema, seed)
        assert caught.value.pointer == pointer
        assert reason in caught.value.reason
        assert str(caught.value) == f"{pointer or '(root)'}: {caught.value.reason}"


TOO_LARGE = [
    ({"type": "array", "minItems": 10**9}, "/minItems", "minItems", 1000),
    ({"type": "array", "contains": True, "minContains": 5000}, "/contains", "minContains", 1000),
    ({"type": "string", "minLength": 10**9}, "/minLength", "minLength", 20_000),
    ({"type": "object", "minProperties": 10**9}, "/minProperties", "minProperties", 1000),
    (
        {"type": "object", "required": [f"p{i}" for i in range(1001)]},
        "/required",
        "required",
        1000,
    ),
    (_named({"$ref": "#"}), "/properties/a", "depth", 32),
    (
        {"type": "array", "minItems": 60, "items": {"type": "array", "minItems": 60}},
        "/items/minItems",
        "minItems",
        3000,
    ),
    ({"type": "string", "pattern": "^((a{1000}){1000}){9}$"}, "", "pattern", 300_000),
]


@pytest.mark.parametrize(("schema", "pointer", "keyword", "bound"), TOO_LARGE)
def test_too_large(schema: Any, pointer: str, keyword: str, bound: int) -> None:
    with pytest.raises(TooLarge) as caught:
        make_instance(schema, 0)
    error = caught.value
    assert (error.pointer, error.keyword, error.bound) == (pointer, keyword, bound)


def test_bounds_can_be_set() -> None:
    schema = {"type": "array", "minItems": 5, "items": {"type": "null"}}
    with pytest.raises(TooLarge) as caught:
        make_instance(schema, 0, bounds=Bounds(items=4))
    assert caught.value.bound == 4
    assert make_instance(schema, 0, bounds=Bounds(items=5)) == [None] * 5


def test_an_optional_member_beyond_the_bounds_is_left_out() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "minItems": 10**6}}}
    assert make_instance(schema, 0) == {}


INVALID: list[tuple[Any, str, str]] = [
    ({"type": "strin"}, "/type", "strin"),
    (_named({"$ref": "https://example.com/x"}), "/properties/a/$ref", "example.com/x"),
    ({"items": {"$ref": "#/$defs/nope"}}, "/items/$ref", "#/$defs/nope"),
    ({"$ref": "#nope"}, "/$ref", "nope"),
    ({"type": "string", "pattern": "(a"}, "/pattern", "(a"),
    ({"const": float("nan")}, "/const", "nan"),
    ({"default": {1, 2}}, "/default", "set"),
    ({"enum": [{1: 2}]}, "/enum/0", "not a string"),
    ({"title": "\ud800"}, "/title", "surrogate"),
    ("string", "", "an object or a boolean"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "pointer", "reason"), INVALID)
def test_invalid(schema: Any, pointer: str, reason: str) -> None:
    with pytest.raises(InvalidSchema) as caught:
        InstanceMaker(schema)
    assert caught.value.pointer == pointer
    assert reason in caught.value.reason


def test_names_of_drafts_and_references_as_they_are_found_in_the_wild() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft-07/schema",
        "definitions": {"Map<string, T>": {"const": 1}},
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"$ref": "#/definitions/Map<string, T>"}},
    }
    assert make_instance(schema, 0)["a"] == 1
    assert make_instance({"$schema": "https://example.com/unknown", "const": 2}, 0) == 2


def _doubled(keyword: str, levels: int, last: Any) -> dict[str, Any]:
    """Schemas that each refer to the next one twice."""
    definitions = {
        f"d{i}": {keyword: [{"$ref": f"#/$defs/d{i + 1}"}, {"$ref": f"#/$defs/d{i + 1}"}]}
        for i in range(levels)
    }
    return {"$defs": {**definitions, f"d{levels}": last}, "$ref": "#/$defs/d0"}


def _nested(levels: int) -> Any:
    schema: Any = {"type": "integer"}
    for _ in range(levels):
        schema = {"allOf": [schema]}
    return schema


HOSTILE: dict[str, Any] = {
    "allOf, doubled": _doubled("allOf", 60, {"type": "integer"}),
    "anyOf, doubled": _doubled("anyOf", 60, {"type": "integer"}),
    "oneOf, doubled": _doubled("oneOf", 60, {"type": "integer"}),
    "not, doubled": _doubled("allOf", 60, {"not": {"type": "integer"}}),
    "members, doubled": {
        "$defs": {
            f"d{i}": {
                "type": "object",
                "required": ["a", "b"],
                "properties": {name: {"$ref": f"#/$defs/d{i + 1}"} for name in "ab"},
            }
            for i in range(30)
        }
        | {"d30": True},
        "$ref": "#/$defs/d0",
    },
    "a tree without leaves": {
        "anyOf": [
            {
                "type": "object",
                "required": list(names),
                "properties": {name: {"$ref": "#"} for name in names},
            }
            for names in ("lr", "xyz")
        ]
    },
    "catastrophic patterns": {
        "type": "string",
        "pattern": "^(a+)+$",
        "minLength": 5000,
        "not": {"pattern": "^(a|aa)+$"},
    },
    "many ifs at odds": {
        "type": "object",
        "required": [f"x{i}" for i in range(20)],
        "properties": {f"x{i}": {"type": "boolean"} for i in range(20)},
        "allOf": [
            {
                "anyOf": [
                    {"properties": {f"x{(i * 7 + j * 3) % 20}": {"const": (i + j) % 2 == 0}}}
                    for j in range(3)
                ]
            }
            for i in range(60)
        ],
    },
    "a chain of references": {
        "$defs": {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(2000)} | {"d2000": True},
        "$ref": "#/$defs/d0",
    },
    "a chain of allOf": {
        "$defs": {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}]} for i in range(2000)}
        | {"d2000": {"oneOf": [True, {"type": "string"}]}},
        "$ref": "#/$defs/d0",
    },
    "a deep text": _nested(110),
    "a text too deep": _nested(5000),
    "thousands of branches": {"oneOf": [{"const": i} for i in range(3000)]},
    "alike branches": {"oneOf": [{"type": "object", "properties": {"a": True}}] * 100},
    "many names of one pattern": {
        "type": "object",
        "minProperties": 900,
        "patternProperties": {"^(a+)+b$": True},
        "additionalProperties": False,
    },
    "recursion by many ways": {
        "type": "object",
        "required": ["n"],
        "allOf": [{"properties": {"n": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}}}] * 40,
    },
    "patterns that backtrack": {
        "type": "object",
        "required": [f"{'a' * 60}b{i}" for i in range(300)],
        "patternProperties": {f"^(?=a)(a+)+c{i}$": True for i in range(300)},
    },
    "thousands of listed objects": {
        "enum": [{"a": i} for i in range(10_000)],
        "properties": {"a": {"maximum": 3}},
    },
    "thousands of parts": {
        "type": "object",
        "allOf": [
            {"properties": {f"p{i}": {"type": "string"}}, "required": [f"p{i}"]}
            for i in range(900)
        ],
    },
    "large and unique": {
        "type": "array",
        "uniqueItems": True,
        "minItems": 1000,
        "items": {"type": "string", "maxLength": 2},
    },
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_schemas_end_in_an_instance_or_a_refusal(name: str) -> None:
    for seed in (0, 1):
        try:
            value = make_instance(HOSTILE[name], seed)
        except SchemaError as error:
            refusal = error
        else:
            json.dumps(value, allow_nan=False)
            continue
        assert isinstance(refusal, TooLarge | Unsatisfiable)
        assert len(str(refusal)) < 2_000


def test_steps_are_the_measure_not_time() -> None:
    schema = {"allOf": [{"not": {"const": i}} for i in range(50)], "enum": list(range(51))}
    assert make_instance(schema, 0) == 50
    with pytest.raises(TooLarge) as caught:
        make_instance(_doubled("oneOf", 60, {"type": "integer"}), 0, bounds=Bounds(steps=5_000))
    assert (caught.value.keyword, caught.value.bound) == ("work", 5_000)
