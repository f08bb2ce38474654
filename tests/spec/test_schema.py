"""Schemas judge instances: every keyword, where the fault is, and which alternative was meant."""

from typing import Any

import pytest

from wafermock.spec.schema import Schema, SchemaSpace, compiled
from wafermock.spec.violations import Violation

from .documents import with_schema


def schema(node: Any, **named: Any) -> Schema:
    return SchemaSpace(with_schema(node, **named)).at(("components", "schemas", "Subject"))


def broken(node: Any, instance: Any, **named: Any) -> list[tuple[Any, ...]]:
    """The violations as (location, keyword, limit, value)."""
    subject = schema(node, **named)
    found = subject.violations(instance)
    assert subject.is_valid(instance) is (found == [])
    assert all(violation.message for violation in found)
    return [(v.location, v.keyword, _plain(v.limit), v.value) for v in found]


def _plain(limit: Any) -> Any:
    """A limit of `type` is a list, in no order that matters."""
    return sorted(limit) if isinstance(limit, list) else limit


@pytest.mark.parametrize(
    ("node", "instance", "expected"),
    [
        ({"type": "string"}, 1, [((), "type", ["string"], 1)]),
        ({"type": ["string", "null"]}, 1, [((), "type", ["null", "string"], 1)]),
        ({"enum": ["a", "b"]}, "c", [((), "enum", ["a", "b"], "c")]),
        ({"const": "a"}, "b", [((), "const", "a", "b")]),
        ({"minimum": 1}, 0, [((), "minimum", 1, 0)]),
        ({"maximum": 1}, 2, [((), "maximum", 1, 2)]),
        ({"exclusiveMinimum": 1}, 1, [((), "exclusiveMinimum", 1, 1)]),
        ({"exclusiveMaximum": 1}, 1, [((), "exclusiveMaximum", 1, 1)]),
        ({"multipleOf": 2}, 3, [((), "multipleOf", 2, 3)]),
        ({"minLength": 2}, "a", [((), "minLength", 2, "a")]),
        ({"maxLength": 2}, "abc", [((), "maxLength", 2, "abc")]),
        ({"pattern": "^a"}, "b", [((), "pattern", "^a", "b")]),
        ({"minItems": 1}, [], [((), "minItems", 1, [])]),
        ({"maxItems": 1}, [1, 2], [((), "maxItems", 1, [1, 2])]),
        ({"uniqueItems": True}, [1, 1], [((), "uniqueItems", None, [1, 1])]),
        ({"contains": {"const": 1}}, [2], [((), "contains", None, [2])]),
        ({"minProperties": 1}, {}, [((), "minProperties", 1, {})]),
        ({"maxProperties": 0}, {"a": 1}, [((), "maxProperties", 0, {"a": 1})]),
        ({"required": ["a", "b"]}, {}, [(("a",), "required", None, None),
                                        (("b",), "required", None, None)]),
        ({"additionalProperties": False}, {"a": 1, "b": 2},
         [(("a",), "additionalProperties", None, 1), (("b",), "additionalProperties", None, 2)]),
        ({"unevaluatedProperties": False}, {"a": 1}, [(("a",), "unevaluatedProperties", None, 1)]),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, [((), "propertyNames", None, {"ab": 1})]),
        ({"not": {"type": "string"}}, "a", [((), "not", {"type": "string"}, "a")]),
        (False, 1, [((), "falseSchema", None, 1)]),
        ({"properties": {"a": {"type": "string"}}}, {"a": 1}, [(("a",), "type", ["string"], 1)]),
        ({"items": {"type": "string"}}, ["a", 1], [((1,), "type", ["string"], 1)]),
        ({"prefixItems": [{"const": 1}]}, [2], [((0,), "const", 1, 2)]),
        ({"allOf": [{"minimum": 1}, {"multipleOf": 2}]}, -1,
         [((), "minimum", 1, -1), ((), "multipleOf", 2, -1)]),
        ({"if": {"minimum": 1}, "then": {"maximum": 2}}, 3, [((), "maximum", 2, 3)]),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, [(("b",), "required", None, None)]),
    ],
    ids=lambda value: next(iter(value), "") if isinstance(value, dict) else None,
)  # fmt: skip
def test_keywords(node: Any, instance: Any, expected: Any) -> None:
    assert sorted(broken(node, instance), key=str) == sorted(expected, key=str)


def test_formats_are_no_constraints() -> None:
    """As JSON Schema 2020-12 has it: `format` is an annotation."""
    assert broken({"type": "string", "format": "uri"}, "no uri") == []


def test_violations_come_in_the_instances_order() -> None:
    node = {"properties": {key: {"type": "string"} for key in "abc"}, "required": ["z"],
            "additionalProperties": False}  # fmt: skip
    found = broken(node, {"c": 1, "q": 1, "a": 1, "b": 1})
    assert [location for location, *_ in found] == [("c",), ("q",), ("a",), ("b",), ("z",)]


def test_references_and_cycles() -> None:
    tree = {
        "properties": {"next": {"$ref": "#/components/schemas/Subject"}, "v": {"type": "string"}}
    }
    assert broken(tree, {"next": {"next": {"v": 1}}}) == [
        (("next", "next", "v"), "type", ["string"], 1)
    ]


def test_names_that_a_pointer_escapes() -> None:
    named = {"a b/c~d%ü": {"type": "string"}}
    space = SchemaSpace(with_schema({"$ref": "#/components/schemas/a%20b~1c~0d%25%C3%BC"}, **named))
    assert not space.at(("components", "schemas", "Subject")).is_valid(1)
    assert not space.at(("components", "schemas", "a b/c~d%ü")).is_valid(1)


def test_a_schema_in_a_list_is_found_by_text_and_by_number() -> None:
    space = SchemaSpace(with_schema({"anyOf": [{"type": "string"}]}))
    at = ("components", "schemas", "Subject", "anyOf")
    assert space.at((*at, "0")).node is space.at((*at, 0)).node
    assert space.at((*at, "0")).violations(1)


# ------------------------------------------------------------------------------ alternatives


def test_null_is_no_alternative_worth_telling_of() -> None:
    node = {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}
    assert broken(node, 0) == [((), "minimum", 1, 0)]
    assert broken(node, "a") == [((), "type", ["integer"], "a")]
    assert broken(node, None) == []


def test_every_type_that_is_wanted_is_told() -> None:
    node = {"anyOf": [{"type": "string"}, {"type": "array"}, {"type": ["null"]}]}
    assert broken(node, 1) == [((), "type", ["array", "null", "string"], 1)]


PARTS = {
    "oneOf": [
        {"type": "object", "required": ["type", "text"],
         "properties": {"type": {"enum": ["text"]}, "text": {"type": "string"}}},
        {"type": "object", "required": ["type", "image"],
         "properties": {"type": {"enum": ["image"]},
                        "image": {"type": "object", "required": ["url"]}}},
    ]
}  # fmt: skip


@pytest.mark.parametrize(
    ("instance", "expected"),
    [
        ({"type": "text", "text": 1}, [(("text",), "type", ["string"], 1)]),
        ({"type": "image"}, [(("image",), "required", None, None)]),
        ({"type": "image", "image": {}}, [(("image", "url"), "required", None, None)]),
    ],
)
def test_the_closest_alternative_is_told(instance: Any, expected: Any) -> None:
    assert broken(PARTS, instance) == expected
    assert broken({"items": PARTS}, [instance]) == [((0, *at), *rest) for at, *rest in expected]


def test_more_than_one_alternative() -> None:
    ((location, keyword, _, value),) = broken({"oneOf": [{}, {"type": "integer"}]}, 1)
    assert (location, keyword, value) == ((), "oneOf", 1)


# ----------------------------------------------------------------------------- discriminators

DOG = {"type": "object", "required": ["kind", "bark"],
       "properties": {"kind": {"const": "dog"}, "bark": {"type": "string"}}}  # fmt: skip
CAT = {"type": "object", "required": ["kind"],
       "properties": {"kind": {"type": "string"}, "purr": {"type": "integer"}}}  # fmt: skip


def either(keyword: str = "oneOf", mapping: dict[str, str] | None = None, *more: Any) -> Any:
    branches = [{"$ref": "#/components/schemas/Dog"}, {"$ref": "#/components/schemas/Cat"}, *more]
    discriminator: dict[str, Any] = {"propertyName": "kind"}
    if mapping is not None:
        discriminator["mapping"] = mapping
    return {keyword: branches, "discriminator": discriminator}


MAPPING = {"dog": "#/components/schemas/Dog", "cat": "Cat", "kitten": "Cat"}


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
def test_a_discriminator_names_the_one_branch(keyword: str) -> None:
    node = either(keyword, MAPPING)
    parts = {"Dog": DOG, "Cat": CAT}
    assert broken(node, {"kind": "dog", "bark": "wow"}, **parts) == []
    assert broken(node, {"kind": "kitten", "purr": 1}, **parts) == []
    wrong = broken(node, {"kind": "dog", "bark": 1}, **parts)
    assert wrong == [(("bark",), "type", ["string"], 1)]
    assert broken(node, {"kind": "dog"}, **parts) == [(("bark",), "required", None, None)]
    assert broken(node, {}, **parts) == [(("kind",), "required", None, None)]
    ((location, key, limit, value),) = broken(node, {"kind": "cow"}, **parts)
    assert (location, key, sorted(limit), value) == (
        ("kind",),
        "enum",
        ["cat", "dog", "kitten"],
        "cow",
    )
    assert broken(node, "dog", **parts) == [((), "type", ["object"], "dog")]


def test_without_a_mapping_the_schemas_names_choose() -> None:
    parts = {"Dog": {**DOG, "properties": {"bark": {"type": "string"}}}, "Cat": CAT}
    assert broken(either(), {"kind": "Dog", "bark": 1}, **parts) == [
        (("bark",), "type", ["string"], 1)
    ]


def test_null_beside_a_discriminator() -> None:
    node = either("oneOf", MAPPING, {"type": "null"})
    assert broken(node, None, Dog=DOG, Cat=CAT) == []
    assert broken(node, {"kind": "dog"}, Dog=DOG, Cat=CAT) == [(("bark",), "required", None, None)]


def test_a_branch_without_a_name_is_judged_like_any() -> None:
    node = either("oneOf", MAPPING, {"type": "string"})
    assert broken(node, "text", Dog=DOG, Cat=CAT) == []
    assert broken(node, {"kind": "dog", "bark": "wow", "purr": "x"}, Dog=DOG, Cat=CAT) == []


def test_locations_are_tagged_with_the_chosen_branches() -> None:
    toy = {"properties": {"toys": {"type": "array", "items": either("oneOf", MAPPING)}}}
    node = {
        "type": "object",
        "properties": {"pets": {"type": "array", "items": either("oneOf", MAPPING)}},
    }
    dog = {**DOG, "properties": {**DOG["properties"], **toy["properties"]}}
    instance = {
        "pets": [
            {"kind": "cat"},
            {"kind": "dog", "bark": "w", "toys": [{"kind": "cat", "purr": "x"}]},
        ]
    }
    (violation,) = schema(node, Dog=dog, Cat=CAT).violations(instance)
    assert violation.location == ("pets", 1, "toys", 0, "purr")
    assert violation.tagged_location == ("pets", 1, "dog", "toys", 0, "cat", "purr")
    (missing,) = schema(node, Dog=dog, Cat=CAT).violations({"pets": [{"kind": "dog"}]})
    assert missing.tagged_location == ("pets", 0, "dog", "bark")


def test_tags_stand_behind_the_depth_they_belong_to() -> None:
    violation = Violation(("a", 0, "b"), "type", None, 1, "no", tags=((2, "x"), (3, "y")))
    assert violation.tagged_location == ("a", 0, "x", "b", "y")


# --------------------------------------------------------------------------- what is no schema


@pytest.mark.parametrize(
    ("node", "pointer"),
    [
        ({"type": "strin"}, ("type",)),
        ({"properties": {"a": {"minimum": "1"}}}, ("properties", "a", "minimum")),
        ({"pattern": "["}, ("pattern",)),
        ({"items": [{"type": "string"}]}, ("items",)),
        ({"required": ["a", "a"]}, ("required",)),
        ({"enum": 1}, ("enum",)),
    ],
)
def test_what_is_no_schema(node: Any, pointer: tuple[str, ...]) -> None:
    at = ("components", "schemas", "Subject")
    space = SchemaSpace(with_schema(node, Fine={"$ref": "#/components/schemas/Subject"}))
    assert [place for place, _ in space.faults()] == [(*at, *pointer)]
    assert SchemaSpace(with_schema({})).faults() == []


def test_properties_of_what_a_schema_stands_for() -> None:
    node = {"anyOf": [{"$ref": "#/components/schemas/A"}, {"type": "null"}]}
    assert schema(node, A={"properties": {"a": {}}}).properties == {"a": {}}
    assert schema({"$ref": "#/components/schemas/Subject"}).properties == {}
    assert schema(True).properties == {}


def test_a_schema_of_its_own_brings_all_it_refers_to() -> None:
    node = {"properties": {"a": {"$ref": "#/x-parts/a"}, "b": {"$ref": "#/components/schemas/B"}}}
    root = {**with_schema(node, B={"type": "string"}), "x-parts": {"a": {"type": "integer"}}}
    own = SchemaSpace(root).at(("components", "schemas", "Subject")).standalone
    assert compiled(own).is_valid({"a": 1, "b": "x"})
    assert not compiled(own).is_valid({"a": "x"})
    assert not compiled(own).is_valid({"b": 1})
    own = SchemaSpace(with_schema(False)).at(("components", "schemas", "Subject")).standalone
    assert not compiled(own).is_valid(1)
