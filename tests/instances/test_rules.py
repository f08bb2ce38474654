"""Rules over generated schemas, patterns and seeds."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import wafermock.mockserver.instances as instances
from wafermock.mockserver.instances import Bounds, InstanceMaker, SchemaError
from wafermock.mockserver.instances.bounds import Budget
from wafermock.mockserver.instances.charset import complement, intersection, union
from wafermock.mockserver.instances.document import Graph
from wafermock.mockserver.instances.draws import Draws
from wafermock.mockserver.instances.equality import identity
from wafermock.mockserver.instances.evaluation import Evaluator
from wafermock.mockserver.instances.negation import negations
from wafermock.mockserver.instances.regex import lengths, parse
from wafermock.mockserver.instances.regex_text import candidates, matcher

QUICK = settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))

json_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=8)
)
json_values = st.recursive(
    json_scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner),
    max_leaves=6,
)
seeds = st.integers() | st.binary(max_size=12)


@st.composite
def strings(draw: st.DrawFn) -> dict[str, Any]:
    low = draw(st.integers(0, 40))
    schema: dict[str, Any] = {"type": "string", "minLength": low}
    if draw(st.booleans()):
        schema["maxLength"] = low + draw(st.integers(0, 20))
    return schema


@st.composite
def numbers(draw: st.DrawFn) -> dict[str, Any]:
    whole = draw(st.booleans())
    low = draw(st.integers(-(10**6), 10**6) if whole else st.floats(-1e6, 1e6))
    schema: dict[str, Any] = {"type": "integer" if whole else "number"}
    schema[draw(st.sampled_from(["minimum", "exclusiveMinimum"]))] = low
    if draw(st.booleans()):
        schema["maximum"] = low + draw(st.integers(2, 100))
    elif whole:
        schema["multipleOf"] = draw(st.integers(1, 1000))
    return schema


def arrays(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    @st.composite
    def build(draw: st.DrawFn) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "array", "items": draw(inner)}
        if draw(st.booleans()):
            schema["prefixItems"] = draw(st.lists(inner, min_size=1, max_size=3))
        if draw(st.booleans()):
            schema["minItems"] = draw(st.integers(0, 4))
        return schema

    return build()


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    @st.composite
    def build(draw: st.DrawFn) -> dict[str, Any]:
        properties = draw(st.dictionaries(st.sampled_from("abcdefgh"), inner, max_size=5))
        names = sorted(properties)
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        schema["required"] = draw(st.lists(st.sampled_from(names), unique=True)) if names else []
        extra = draw(st.sampled_from([None, False, True]))
        if extra is not None:
            keyword = draw(st.sampled_from(["additionalProperties", "unevaluatedProperties"]))
            schema[keyword] = extra
        if len(names) > 1 and draw(st.booleans()):
            schema["dependentRequired"] = {names[0]: [names[1]]}
        return schema

    return build()


def combined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return (
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"anyOf": parts})
        | inner.map(lambda part: {"allOf": [part, True]})
        | inner.map(lambda part: {"oneOf": [part, False]})
        | inner.map(lambda part: {"not": {"not": part}})
        | st.tuples(inner, inner).map(lambda two: {"if": two[0], "then": two[0], "else": two[1]})
    )


satisfiable = st.recursive(
    strings()
    | numbers()
    | st.just(True)
    | json_values.map(lambda value: {"const": value})
    | st.lists(json_values, min_size=1, max_size=4).map(lambda values: {"enum": values}),
    lambda inner: arrays(inner) | objects(inner) | combined(inner),
    max_leaves=12,
)
"""Schemas with an instance, by the way they are made."""


@QUICK
@given(satisfiable, seeds)
def test_a_satisfiable_schema_gets_a_valid_instance(schema: Any, seed: int | bytes) -> None:
    value = InstanceMaker(schema).make(seed)
    jsonschema.Draft202012Validator(schema).validate(json.loads(json.dumps(value)))


@QUICK
@given(satisfiable, seeds)
def test_the_same_seed_makes_the_same_instance(schema: Any, seed: int | bytes) -> None:
    maker = InstanceMaker(schema)
    first = json.dumps(maker.make(seed))
    maker.make(b"something else in between")
    assert json.dumps(maker.make(seed)) == first
    assert json.dumps(InstanceMaker(json.loads(json.dumps(schema))).make(seed)) == first


@QUICK
@given(satisfiable, json_values)
def test_the_searchs_own_judge_says_what_the_standards_judge_says(schema: Any, value: Any) -> None:
    node = Graph(schema, {}).root
    verdict = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert Evaluator(Budget(100_000)).meets(node, value) == verdict


@QUICK
@given(satisfiable, json_values)
def test_a_negation_rules_the_schema_out(schema: Any, value: Any) -> None:
    node = Graph(schema, {}).root
    judge = Evaluator(Budget(200_000))
    if any(judge.meets(way, value) for way in negations(node)):
        assert not judge.meets(node, value)


@QUICK
@given(json_values, json_values)
@example(1, 1.0)
@example(True, 1)
@example([0], [False])
@example({"a": 1}, {"a": 1.0})
def test_identity_is_equality_of_json(one: Any, other: Any) -> None:
    same = jsonschema.Draft202012Validator({"const": one}).is_valid(other)
    assert (identity(one) == identity(other)) == same


atoms = st.sampled_from(
    ["a", "[a-f]", "[^a-z]", "\\d", "\\w", ".", "\\.", "x-", "\\u00e9", "[\\s\\S]", "é"]
)
patterns = st.recursive(
    atoms,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map("".join)
        | st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})")
        | st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        )
    ),
    max_leaves=6,
)


@QUICK
@given(patterns, st.booleans(), st.integers(0, 2**32))
def test_what_is_written_for_a_pattern_matches_it(pattern: str, whole: bool, seed: int) -> None:
    pattern = f"^{pattern}$" if whole else pattern
    low, high = lengths(parse(pattern))
    for text in candidates(pattern, 0, max(low, 60), Draws(seed), 10):
        assert matcher(pattern)(text)
        assert len(text) >= low
        assert len(text) <= high or not whole


@QUICK
@given(patterns, st.integers(10, 60), st.integers(0, 2**32))
def test_a_string_is_as_long_as_is_asked(part: str, length: int, seed: int) -> None:
    pattern = f"^(?:{part})[a-z]*$"
    schema = {"type": "string", "pattern": pattern, "minLength": length, "maxLength": length + 60}
    value = InstanceMaker(schema).make(seed)
    assert length <= len(value) <= length + 60
    assert matcher(pattern)(value)


ranges = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 40)), max_size=5).map(
    lambda pairs: union(tuple((low, low + width) for low, width in pairs))
)


@given(ranges, ranges, st.integers(0, 400))
def test_sets_of_characters(one: Any, other: Any, point: int) -> None:
    def inside(found: Any) -> bool:
        return any(low <= point <= high for low, high in found)

    assert inside(union(one, other)) == (inside(one) or inside(other))
    assert inside(intersection(one, other)) == (inside(one) and inside(other))
    assert inside(complement(one)) != inside(one)


@given(st.integers(0, 2**64), st.integers(-(10**30), 10**30), st.integers(0, 10**30))
def test_draws_lie_within_their_bounds(seed: int, low: int, span: int) -> None:
    draws = Draws(seed)
    for _ in range(5):
        assert low <= draws.between(low, low + span) <= low + span
    assert sorted(draws.shuffled(range(9))) == list(range(9))


SCRIPT = """
import json
from wafermock.mockserver.instances import Bounds, InstanceMaker, SchemaError
schema = json.loads(%r)
maker = InstanceMaker(schema)
print(json.dumps([maker.make(seed) for seed in range(20)]))
"""


def test_every_process_makes_the_same() -> None:
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "email": {"type": "string", "format": "email"},
            "when": {"type": "string", "format": "date-time"},
            "code": {"type": "string", "pattern": "^[A-Z]{2}\\d+$"},
            "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True},
            "size": {"type": "number"},
            "more": {"oneOf": [{"type": "object", "minProperties": 2}, {"type": "null"}]},
            "next": {"$ref": "#"},
        },
        "patternProperties": {"^x-": {"type": "integer"}},
        "required": ["name"],
    }
    source = str(Path(instances.__file__).parents[3])
    found = set()
    for hash_seed in ("0", "1", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": source}
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT % json.dumps(schema)],
            env=environment,
            capture_output=True,
            check=True,
        )
        found.add(run.stdout)
    assert len(found) == 1


@QUICK
@given(satisfiable, st.lists(st.integers(0, 50), min_size=1, max_size=6), st.integers(500, 3_000))
def test_what_was_made_before_changes_nothing(schema: Any, before: list[int], steps: int) -> None:
    """Not even at the end of the budget: what is remembered costs as much as what is new."""

    def outcome(maker: InstanceMaker, seed: int) -> str:
        try:
            return json.dumps(maker.make(seed))
        except SchemaError as error:
            return str(error)

    bounds = Bounds(steps=steps)
    used = InstanceMaker(schema, bounds=bounds)
    for seed in before:
        outcome(used, seed)
    assert outcome(used, 7) == outcome(InstanceMaker(schema, bounds=bounds), 7)


def test_a_search_that_runs_out_of_steps_ends_the_same_way_again() -> None:
    schema = {
        "type": "object",
        "required": [f"x{i}" for i in range(12)],
        "properties": {f"x{i}": {"type": "boolean"} for i in range(12)},
        "allOf": [
            {
                "anyOf": [
                    {"properties": {f"x{(i * 5 + j * 7) % 12}": {"const": (i + j) % 2 == 0}}}
                    for j in range(3)
                ]
            }
            for i in range(25)
        ],
    }
    for steps in range(2_000, 20_000, 3_000):
        maker = InstanceMaker(schema, bounds=Bounds(steps=steps))
        outcomes = set()
        for _ in range(3):
            try:
                outcomes.add(json.dumps(maker.make(3)))
            except SchemaError as error:
                outcomes.add(str(error))
        assert len(outcomes) == 1
