"""Every keyword: an instance is made, and a judge that is not the generator's accepts it."""

import json
from typing import Any

import jsonschema
import jsonschema_rs
import pytest

from wafermock.mockserver.instances import InstanceMaker, make_instance

D7 = "http://json-schema.org/draft-07/schema#"
D4 = "http://json-schema.org/draft-04/schema#"
D2019 = "https://json-schema.org/draft/2019-09/schema"
D2020 = "https://json-schema.org/draft/2020-12/schema"

SCHEMAS = {
    "boolean true": True,
    "empty": {},
    "each type": {"type": ["object", "array", "string", "integer", "number", "boolean", "null"]},
    "enum of unlike values": {"enum": [1, "1", True, None, [1], {"a": 1}]},
    "const": {"const": {"a": [1, 2.5, None]}},
    "enum beside type": {"enum": [1, "a", 2.5], "type": "integer"},
    "integer bounds": {"type": "integer", "minimum": -3, "exclusiveMaximum": -1},
    "number between": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1e-9},
    "fraction, not whole": {"type": "number", "not": {"type": "integer"}},
    "multiples": {"type": "integer", "multipleOf": 6, "allOf": [{"multipleOf": 4}], "minimum": 1},
    "multiples of a fraction": {"type": "number", "multipleOf": 0.01, "minimum": 0.995},
    "not a multiple": {"type": "integer", "not": {"multipleOf": 2}, "minimum": 10, "maximum": 12},
    "huge": {"type": "integer", "minimum": 10**40, "multipleOf": 7},
    "lengths": {"type": "string", "minLength": 31, "maxLength": 31},
    "pattern": {"type": "string", "pattern": "^[A-Z]{3}-\\d{4}$"},
    "pattern, look-ahead": {"type": "string", "pattern": "^(?=.*\\d)(?=.*[A-Z])[A-Za-z\\d]{8,12}$"},
    "pattern, Unicode": {"type": "string", "pattern": "^\\p{Lu}\\p{L}+$"},
    "pattern, back reference": {"type": "string", "pattern": "^(a|b)c\\1$"},
    "pattern and length": {"type": "string", "pattern": "^(ab)*$", "minLength": 10},
    "three patterns": {"allOf": [{"pattern": p} for p in ("^a", "c", "b$")], "type": "string"},
    "not a pattern": {"type": "string", "not": {"pattern": "^[a-m]"}, "maxLength": 4},
    "unique": {"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 3, "uniqueItems": True},
    "unique, 1 is 1.0": {"prefixItems": [{"const": 1}, {"enum": [1.0, 2]}], "uniqueItems": True,
                         "minItems": 2, "type": "array"},
    "prefix": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "null"}],
               "items": False, "minItems": 2},
    "items as a list": {"$schema": D7, "type": "array", "items": [{"const": 1}, {"const": 2}],
                        "additionalItems": {"const": 3}, "minItems": 4},
    "contains": {"type": "array", "contains": {"const": 7}, "minContains": 2, "maxContains": 3,
                 "minItems": 5, "items": {"type": "integer"}},
    "contains twice": {"allOf": [{"contains": {"const": 1}}, {"contains": {"const": 2}}],
                       "type": "array", "maxItems": 2},
    "contains none": {"type": "array", "contains": {"type": "string"}, "minContains": 0,
                      "maxContains": 0, "minItems": 2},
    "not unique": {"type": "array", "not": {"uniqueItems": True}},
    "unevaluated items": {"prefixItems": [{"type": "integer"}], "contains": {"const": "x"},
                          "unevaluatedItems": False, "type": "array", "minItems": 3},
    "required but undescribed": {"type": "object", "required": ["a", "b"]},
    "additional properties": {"type": "object", "minProperties": 4,
                              "additionalProperties": {"type": "integer"}},
    "pattern properties": {"type": "object", "patternProperties": {"^x-\\d+$": {"const": 1}},
                           "additionalProperties": False, "minProperties": 3},
    "property names": {"type": "object", "propertyNames": {"pattern": "^[a-z]{2}$"},
                       "minProperties": 5},
    "at most": {"type": "object", "maxProperties": 2,
                "properties": {name: {"type": "integer"} for name in "abcdef"}},
    "dependent required": {"type": "object", "dependentRequired": {"a": ["b"], "b": ["c"]},
                           "required": ["a"]},
    "dependent schema": {"type": "object", "required": ["a"],
                         "dependentSchemas": {"a": {"properties": {"b": {"const": 1}},
                                                    "required": ["b"]}}},
    "dependencies": {"$schema": D7, "type": "object", "required": ["a", "x"],
                     "dependencies": {"a": ["b"], "x": {"required": ["y"]}}},
    "a dependent that forbids": {"type": "object", "properties": {"a": True, "b": True},
                                 "required": ["b"], "dependentSchemas": {"a": False}},
    "unevaluated properties": {"type": "object", "allOf": [{"properties": {"a": {"const": 1}}}],
                               "anyOf": [{"properties": {"b": {"const": 2}}, "required": ["b"]}],
                               "unevaluatedProperties": False},
    "allOf of objects": {"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]},
                                   {"properties": {"a": {"minLength": 50}}}]},
    "oneOf that overlaps": {"oneOf": [{"type": "integer", "minimum": 0},
                                      {"type": "integer", "maximum": 10}]},
    "oneOf of objects": {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                         "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
    "not required": {"type": "object", "not": {"required": ["a", "b"]},
                     "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
    "not of not": {"not": {"not": {"type": "string", "minLength": 3}}},
    "if, by a tag": {"type": "object", "required": ["kind"],
                     "properties": {"kind": {"enum": ["a", "b"]}},
                     "if": {"properties": {"kind": {"const": "a"}}},
                     "then": {"required": ["x"]}, "else": {"required": ["y"]}},
    "a chain of ifs": {"type": "object", "required": ["k"],
                       "properties": {"k": {"enum": list("abcdefgh")}},
                       "allOf": [{"if": {"properties": {"k": {"const": c}}},
                                  "then": {"required": [c]}, "else": {"not": {"required": [c]}}}
                                 for c in "abcdefgh"]},
    "a tree": {"$defs": {"node": {"type": "object", "required": ["left", "right"], "properties": {
        "left": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]},
        "right": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]}}}},
        "$ref": "#/$defs/node"},
    "anchors and ids": {"$id": "https://example.com/root.json", "$ref": "item.json#part",
                        "$defs": {"x": {"$id": "item.json", "$defs": {
                            "p": {"$anchor": "part", "type": "integer", "minimum": 5}}}}},
    "a reference to itself": {"allOf": [{"$ref": "#"}], "type": "boolean"},
    "a dynamic reference": {
        "$schema": D2020, "$id": "https://example.com/strings", "$ref": "list",
        "$defs": {"strings": {"$dynamicAnchor": "item", "type": "string"},
                  "list": {"$id": "list", "type": "array", "minItems": 2,
                           "items": {"$dynamicRef": "#item"},
                           "$defs": {"any": {"$dynamicAnchor": "item"}}}}},
    "a recursive reference": {"$schema": D2019, "$recursiveAnchor": True, "type": "object",
                              "properties": {"next": {"$recursiveRef": "#"}},
                              "additionalProperties": False},
    "draft-04 bounds": {"$schema": D4, "type": "integer", "minimum": 3, "exclusiveMinimum": True,
                        "maximum": 4},
    "draft-07, siblings of $ref": {"$schema": D7, "definitions": {"a": {"type": "integer"}},
                                   "properties": {"x": {"$ref": "#/definitions/a",
                                                        "type": "string"}},
                                   "required": ["x"], "type": "object"},
    "a metaschema": {"$ref": "https://json-schema.org/draft/2020-12/schema"},
    "another draft's metaschema": {"$ref": "http://json-schema.org/draft-07/schema#",
                                   "type": "object"},
}  # fmt: skip

BEYOND_THE_SECOND_JUDGE = {
    "pattern, Unicode",  # Python's re has no Unicode properties
    "multiples of a fraction",  # it divides floats: 1.11 is no multiple of 0.01
    "a reference to itself",  # it follows it without end
}


@pytest.mark.parametrize("minimal", [False, True], ids=["natural", "minimal"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_instances_are_valid(name: str, minimal: bool) -> None:
    schema = SCHEMAS[name]
    maker = InstanceMaker(schema)
    judge: Any
    if name in BEYOND_THE_SECOND_JUDGE:
        judge = jsonschema_rs.validator_for(schema, offline=True)
    else:
        judge = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)(schema)
    for seed in range(12):
        value = json.loads(json.dumps(maker.make(seed, minimal=minimal), allow_nan=False))
        judge.validate(value)


def test_members_stand_in_the_order_of_properties() -> None:
    names = ["zeta", "alpha", "mid", "beta"]
    schema = {
        "type": "object",
        "required": ["beta", "zeta"],
        "properties": {name: {"type": "integer"} for name in names},
    }
    for seed in range(30):
        made = list(make_instance(schema, seed))
        assert made == [name for name in names if name in made]


def test_draws_reach_every_branch_and_value() -> None:
    maker = InstanceMaker(
        {"oneOf": [{"const": 1}, {"const": 2}, {"enum": [3, 4]}, {"type": "boolean"}]}
    )
    assert {json.dumps(maker.make(seed)) for seed in range(200)} == {
        *("1", "2", "3", "4", "true", "false")
    }


def test_optional_members_are_mostly_there_and_minimal_leaves_them_out() -> None:
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in "abcd"}}
    maker = InstanceMaker(schema)
    sizes = [len(maker.make(seed)) for seed in range(50)]
    assert sum(sizes) / len(sizes) > 3
    assert maker.make(1, minimal=True) == {}


def test_arrays_and_strings_are_of_a_size_for_a_chat() -> None:
    schema = {
        "type": "object",
        "required": ["steps"],
        "properties": {
            "steps": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["explanation", "output"],
                    "properties": {
                        "explanation": {"type": "string"},
                        "output": {"type": "string"},
                    },
                },
            }
        },
    }
    maker = InstanceMaker(schema)
    for seed in range(30):
        made = maker.make(seed)
        assert 1 <= len(made["steps"]) <= 4
        assert len(json.dumps(made)) < 1_500


def test_an_object_that_is_a_map_has_members() -> None:
    maker = InstanceMaker({"type": "object", "additionalProperties": {"type": "integer"}})
    for seed in range(10):
        made = maker.make(seed)
        assert len(made) == 2
        assert all(isinstance(value, int) for value in made.values())
    assert maker.make(0, minimal=True) == {}


def test_examples_and_defaults_are_used_where_they_are_valid() -> None:
    maker = InstanceMaker({"type": "string", "examples": ["Ada Lovelace"], "default": 5})
    made = {maker.make(seed) for seed in range(40)}
    assert "Ada Lovelace" in made
    assert len(made) > 1


def test_references_into_resources_that_are_handed_in() -> None:
    resources = {
        "https://example.com/point": {"$ref": "number#/$defs/n", "$defs": {}},
        "https://example.com/number": {"$defs": {"n": {"const": 4.5}}},
        "https://example.com/unused": {"$ref": "https://example.org/nowhere"},
    }
    assert InstanceMaker({"$ref": "https://example.com/point"}, resources=resources).make(0) == 4.5


def test_the_schema_is_copied() -> None:
    schema = {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]}
    maker = InstanceMaker(schema)
    schema["properties"]["a"]["const"] = 2  # type: ignore[index]
    assert maker.make(0) == {"a": 1}
