"""Campaigns over a document that knows nothing of chats, with the keywords those do not have."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from wafermock.conformance.campaigns import CAMPAIGNS, LeftOut
from wafermock.conformance.planned import Planned, Subject
from wafermock.spec import Contract, load_contract

DOCUMENT = r"""
openapi: 3.1.0
info: {title: a shop, version: "1"}
paths:
  /shops/{shop}/orders:
    post:
      operationId: order
      parameters:
        - {name: shop, in: path, required: true, schema: {type: string, pattern: '^[a-z]{3}$'}}
        - {name: X-Trace, in: header, schema: {type: string, minLength: 4, maxLength: 8}}
        - {name: X-Level, in: header, schema: {type: integer, minimum: 1, maximum: 5}}
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Order'}
            examples:
              one: {value: {id: 7, lines: [{sku: ABC-1, count: 2}], kind: order}}
              wrong: {value: {id: "7"}}
      responses: {'200': {description: taken}}
  /shops/{shop}:
    get:
      operationId: shop
      parameters:
        - {name: shop, in: path, required: true, schema: {type: string, pattern: '^[a-z]{3}$'}}
      responses: {'200': {description: found}}
  /open/{thing}:
    get:
      operationId: open
      parameters:
        - {name: thing, in: path, required: true, content: {text/plain: {}}}
      responses: {'200': {description: found}}
  /search:
    get:
      operationId: search
      parameters: [{name: q, in: query, required: true, schema: {type: string}}]
      responses: {'200': {description: found}}
  /impossible:
    post:
      operationId: impossible
      requestBody:
        content: {application/json: {schema: {type: string, minLength: 4, pattern: '^.$'}}}
      responses: {'200': {description: never}}
  /upload:
    post:
      operationId: upload
      requestBody: {content: {text/plain: {schema: {type: string}}}}
      responses: {'200': {description: taken}}
components:
  schemas:
    Order:
      type: object
      additionalProperties: false
      required: [id, lines, kind]
      properties:
        id: {type: integer, exclusiveMinimum: 0, exclusiveMaximum: 1000}
        kind: {const: order}
        price: {type: number, multipleOf: 0.5, minimum: 1}
        grams: {type: integer, multipleOf: 25, minimum: 30}
        lines:
          type: array
          minItems: 1
          maxItems: 3
          items: {$ref: '#/components/schemas/Line'}
        tags: {type: array, uniqueItems: true, minItems: 2, items: {type: string, minLength: 2}}
        labels:
          {type: object, minProperties: 1, maxProperties: 2, additionalProperties: {type: string}}
        point:
          {type: array, prefixItems: [{type: number}, {type: string, enum: [m, ft]}], minItems: 2}
        tree: {$ref: '#/components/schemas/Tree'}
        address:
          allOf:
            - {type: object, required: [city], properties: {city: {type: string, maxLength: 5}}}
            - {type: object, required: [zip], properties: {zip: {type: string, pattern: '^\d{5}$'}}}
        either: {oneOf: [{type: integer, maximum: 9}, {type: string, maxLength: 3}]}
        level: {type: integer, enum: [1, 2, 3]}
        code: {type: string, pattern: '^[A-Z]{3}$', maxLength: 3}
        grade: {type: integer, enum: [1, 2, 9], maximum: 9}
        huge: {type: string, maxLength: 1000000}
        odd: {type: integer, not: {const: 4}}
        anything: true
        whatever: {}
    Line:
      type: object
      required: [sku, count]
      properties:
        sku: {type: string, pattern: '^[A-Z]{3}-\d$'}
        count: {type: integer, minimum: 1}
        note: {type: [string, 'null'], maxLength: 10}
    Tree:
      type: object
      properties: {left: {$ref: '#/components/schemas/Tree'}, size: {type: integer, maximum: 3}}
"""

SUBJECT = Subject("no-model")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Contract:
    path: Path = tmp_path_factory.mktemp("shop") / "shop.yaml"
    path.write_text(DOCUMENT)
    return load_contract(documents=[path], corrected=False)


def plans(shop: Contract, name: str, count: int = 400) -> tuple[list[Planned], list[LeftOut]]:
    told: list[LeftOut] = []
    return list(CAMPAIGNS[name](shop, SUBJECT, 0, count, told.append)), told


def is_order(shop: Contract, body: Any) -> bool:
    form = {"$ref": "#/components/schemas/Order", **shop.document}
    return bool(jsonschema_rs.Draft202012Validator(form).is_valid(body))


@pytest.mark.parametrize("name", ["boundaries", "generated", "invalid"])
def test_bodies_are_valid_where_they_are_meant_to_be(shop: Contract, name: str) -> None:
    made, _ = plans(shop, name)
    assert len(made) > 50
    for each in made:
        assert each.operation is not None
        assert each.operation.id == "order"
        in_header = "/parameters/" in each.purpose.location
        meant = each.purpose.meant == "valid" or in_header
        assert is_order(shop, json.loads(each.sent.body)) == meant, each.purpose


def test_both_sides_of_every_keyword_are_met(shop: Contract) -> None:
    made, _ = plans(shop, "boundaries", 2_000)
    sides = {(e.purpose.location.split("/properties/", 1)[-1], e.purpose.meant) for e in made}
    for at in (
        "id/exclusiveMinimum", "id/exclusiveMaximum", "price/multipleOf", "grams/multipleOf",
        "lines/minItems", "lines/maxItems", "tags/uniqueItems", "tags/minItems",
        "labels/minProperties", "labels/maxProperties", "point/prefixItems/1/enum", "size/maximum",
        "address/allOf/0/properties/city/maxLength", "either/oneOf/1/maxLength", "kind/const",
        "sku/pattern", "level/enum",
    ):  # fmt: skip
        assert {(at, "valid"), (at, "invalid")} <= sides, at


def test_headers_are_met_on_both_sides(shop: Contract) -> None:
    made, _ = plans(shop, "boundaries", 2_000)
    traced = {e.purpose.kind: e.sent.header("X-Trace") for e in made if e.sent.header("X-Trace")}
    assert len(traced["boundary: at minLength"] or "") == 4
    assert len(traced["below minLength"] or "") == 3
    assert len(traced["above maxLength"] or "") == 9


def test_what_cannot_be_made_is_told(shop: Contract) -> None:
    _, told = plans(shop, "boundaries", 2_000)
    why = {left.location.split("/properties/", 1)[-1]: left.why for left in told}
    assert "cost too much" in why["huge/maxLength"]
    assert "no values are made" in why["odd/not"]
    assert any("impossible" in left.location and "can be made" in left.why for left in told)
    _, told = plans(shop, "generated")
    assert [left.location for left in told] == ["#/paths/~1impossible/post"]


def test_what_breaks_two_constraints_at_once_is_left_out(shop: Contract) -> None:
    made, told = plans(shop, "boundaries", 2_000)
    left = {(e.location.split("/properties/", 1)[-1], e.kind) for e in told}
    for at, kind in (
        ("code/maxLength", "above maxLength"),
        ("code/pattern", "longer than pattern allows"),
        ("grade/maximum", "above maximum"),
    ):
        assert (at, kind) in left
        assert not [e for e in made if e.purpose.location.endswith(at) and e.purpose.kind == kind]


def test_examples_and_operations_without_a_body(shop: Contract) -> None:
    made, told = plans(shop, "examples")
    assert {(e.sent.method, e.sent.target) for e in made} >= {("GET", "/shops/aaa")}
    assert sum(e.purpose.kind == "example" for e in made) == 1
    assert {left.location.rsplit("/", 1)[-1] for left in told} == {"wrong", "get"}
    # Without its query it would be no valid request, and its refusal no fault.
    (search,) = (left for left in told if "search" in left.location)
    assert search.why == "no request can be made: a value for the query parameter q"


def test_paths_are_filled(shop: Contract) -> None:
    for name in CAMPAIGNS:
        assert all("{" not in each.sent.target for each in plans(shop, name)[0]), name


def test_mutations_know_no_parameters_of_chats(shop: Contract) -> None:
    made, _ = plans(shop, "mutations")
    kinds = {each.purpose.kind for each in made}
    assert "truncated JSON" in kinds
    assert "NaN" not in kinds
