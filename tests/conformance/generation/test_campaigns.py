"""What campaigns plan is what they say it is: by the contract's schemas, and by the mock."""

import json
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from itertools import islice

import jsonschema_rs
import pytest

from wafermock.conformance.campaigns import CAMPAIGNS, LeftOut
from wafermock.conformance.campaigns.generated import turn_of
from wafermock.conformance.planned import Planned, Subject
from wafermock.spec.pointer import format_pointer, parse_pointer, resolve

from .asking import MODELS, PROFILES, SUBJECT, contract, surprise

COUNTS = {"generated": 300, "invalid": 1_100, "mutations": 260}


def is_of_header(planned: Planned) -> bool:
    location = planned.purpose.location
    return location.startswith("#/paths/") and "/parameters/" in location


@cache
def planned(
    name: str, profile: str = "documented", model: str = MODELS[0], seed: int = 0
) -> tuple[list[Planned], list[LeftOut]]:
    told: list[LeftOut] = []
    subject = Subject(model, "a-key")
    made = CAMPAIGNS[name](contract(profile), subject, seed, COUNTS.get(name), told.append)
    return list(made), told


@pytest.mark.parametrize(
    ("model", "profile"), [*zip(MODELS, PROFILES * 2, strict=False), (MODELS[0], PROFILES[1])]
)
@pytest.mark.parametrize("name", CAMPAIGNS)
def test_the_mock_answers_as_planned(name: str, model: str, profile: str) -> None:
    made, _ = planned(name, profile, model)
    assert len(made) == COUNTS.get(name, len(made)) > 0
    assert [told for each in made if (told := surprise(each, profile))] == []


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", ["examples", "boundaries", "generated", "invalid"])
def test_bodies_are_valid_exactly_where_they_are_meant_to_be(name: str, profile: str) -> None:
    """By a validator that is given the document as it stands, not by the contract's own."""
    document = contract(profile).document
    validators = {}
    for each in planned(name, profile)[0]:
        operation = each.operation
        assert operation is not None
        schema = operation.request_schema
        if schema is None:
            continue
        if operation.id not in validators:
            reference = {"$ref": format_pointer(schema.pointer), **document}
            validators[operation.id] = jsonschema_rs.Draft202012Validator(reference)
        assert json.loads(each.sent.body) == each.asked
        valid = each.purpose.meant == "valid" or is_of_header(each)
        assert validators[operation.id].is_valid(each.asked) == valid, each.purpose


@pytest.mark.parametrize("name", ["boundaries", "invalid"])
def test_a_request_breaks_the_constraint_that_it_names(name: str) -> None:
    """Without that one constraint in the document, the request is valid."""
    validators: dict[str, jsonschema_rs.Draft202012Validator] = {}
    for each in planned(name)[0]:
        location = each.purpose.location
        if each.purpose.meant == "valid" or is_of_header(each) or not _can_go(each):
            continue
        if location not in validators:
            validators[location] = _without(each)
        assert validators[location].is_valid(each.asked), each.purpose
    assert len(validators) > 70


def _can_go(each: Planned) -> bool:
    """Of the others a wrong type breaks several: type and enum, or each alternative."""
    pointer = parse_pointer(each.purpose.location)
    if pointer[-2] == "required":
        return not _is_discriminated(each)
    return pointer[-1] in ("additionalProperties", "minimum", "maximum", "maxItems", "maxLength",
                           "pattern")  # fmt: skip


def _without(each: Planned) -> jsonschema_rs.Draft202012Validator:
    """The operation's schema in a document that lacks the constraint."""
    assert each.operation is not None
    assert each.operation.request_schema is not None
    *above, token = parse_pointer(each.purpose.location)
    document = json.loads(json.dumps(contract().document))
    owner = resolve(document, above)
    del owner[int(token) if isinstance(owner, list) else token]
    reference = format_pointer(each.operation.request_schema.pointer)
    return jsonschema_rs.Draft202012Validator({"$ref": reference, **document})


def _is_discriminated(each: Planned) -> bool:
    """Alternatives that are told apart by a key: without it, two of them fit."""
    return each.purpose.location.rsplit("/", 2)[0] in (
        "#/components/schemas/SystemMessage",
        "#/components/schemas/UserMessage",
        "#/components/schemas/AssistantMessage",
        "#/components/schemas/DeveloperMessage",
        "#/components/schemas/ToolMessage",
    )


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_locations_lead_into_the_contract(name: str) -> None:
    made, told = planned(name)
    for location in {p.purpose.location for p in made} | {left.location for left in told}:
        resolve(contract().document, parse_pointer(location))


DIGESTS = """
import hashlib, sys
from wafermock.conformance.campaigns import CAMPAIGNS
from wafermock.conformance.planned import Subject
from wafermock.spec import load_contract

contract, subject = load_contract(), Subject("gpt-oss-120b", "a-key")
for name, campaign in CAMPAIGNS.items():
    digest = hashlib.sha256()
    for planned in campaign(contract, subject, 7, 300):
        digest.update(repr((planned.purpose, planned.sent, planned.tokens, planned.needs)).encode())
    print(name, digest.hexdigest())
"""


def test_the_same_seed_gives_the_same_requests_in_every_process() -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", DIGESTS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert len(runs[0].splitlines()) == len(CAMPAIGNS)


@pytest.mark.parametrize("name", ["generated", "invalid", "mutations"])
def test_another_seed_gives_other_requests(name: str) -> None:
    count = COUNTS[name]
    bodies = [
        {p.sent.body for p in islice(CAMPAIGNS[name](contract(), SUBJECT, seed), count)}
        for seed in (1, 2)
    ]
    assert bodies[0] != bodies[1]


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_a_smaller_count_gives_the_first_of_the_same_requests(name: str) -> None:
    few = list(CAMPAIGNS[name](contract(), SUBJECT, 3, 5))
    more = list(CAMPAIGNS[name](contract(), SUBJECT, 3, 8))
    assert few == more[:5]
    assert len(few) == 5


def test_both_sides_of_each_bound_are_planned() -> None:
    sides = Counter(
        (each.purpose.location, each.purpose.meant) for each in planned("boundaries")[0]
    )
    bounds = {at for at, _ in sides if at.endswith(("/minimum", "/maximum", "maxLength", "/enum"))}
    assert len(bounds) > 40
    assert {at for at in bounds if not (sides[at, "valid"] and sides[at, "invalid"])} == set()


def test_each_property_of_a_request_is_met() -> None:
    """Every property of both requests has a request at its boundary, or is told as left out."""
    made, told = planned("boundaries")
    locations = [each.purpose.location for each in made] + [left.location for left in told]
    for name in ("ChatCompletionRequest", "CompletionRequest"):
        for key in contract().schema(name).properties:
            at = f"#/components/schemas/{name}/properties/{key}/"
            assert any(location.startswith(at) for location in locations), at


def test_what_is_left_out_says_why() -> None:
    _, told = planned("boundaries")
    why = {left.location: left.why for left in told}
    assert "not supported" in why["#/components/schemas/CompletionRequest/properties/suffix/anyOf"]
    assert all(left.why and left.kind for left in told)


@pytest.mark.parametrize("profile", PROFILES)
def test_what_breaks_a_constraint_is_of_one_kind_in_whichever_campaign(profile: str) -> None:
    """One fault of a server is one finding, and one entry of a baseline."""

    def kinds(name: str) -> dict[tuple[str, bytes, object], set[tuple[str, str]]]:
        found: dict[tuple[str, bytes, object], set[tuple[str, str]]] = {}
        for each in planned(name, profile)[0]:
            if each.purpose.meant == "invalid":
                sent, purpose = each.sent, each.purpose
                request = (sent.target, sent.body, sent.headers)
                found.setdefault(request, set()).add((purpose.location, purpose.kind))
        return found

    boundaries, invalid = kinds("boundaries"), kinds("invalid")
    assert len(boundaries) > 200
    others = {request: named - invalid[request] for request, named in boundaries.items()}
    assert {request: named for request, named in others.items() if named} == {}


def test_a_small_budget_of_invalid_requests_breaks_all_kinds_of_constraint() -> None:
    few = list(CAMPAIGNS["invalid"](contract(), SUBJECT, 0, 12))
    keywords = {
        pointer[-2] if pointer[-2] == "required" else pointer[-1]
        for pointer in (parse_pointer(each.purpose.location) for each in few)
    }
    assert keywords >= {"type", "required", "enum", "minimum", "maximum", "maxLength", "pattern",
                        "maxItems", "additionalProperties"}  # fmt: skip
    assert len({each.purpose.location for each in few}) == 12


def test_the_first_round_of_invalid_requests_breaks_each_constraint_once() -> None:
    made, _ = planned("invalid")
    locations = [each.purpose.location for each in made]
    first = len(set(locations))
    assert first > 200
    assert len(set(locations[:first])) == first


def test_invalid_requests_come_in_generated_bodies_after_the_least() -> None:
    made, _ = planned("invalid")
    sizes = [len(each.asked) for each in made if isinstance(each.asked, dict)]
    assert max(sizes[:200]) <= 5
    assert max(sizes[-100:]) > 6


def test_requests_are_cheap() -> None:
    """A quick budget is 20,000 tokens for everything."""
    for name, count in (("boundaries", 40), ("generated", 40), ("invalid", 40), ("mutations", 40)):
        made = CAMPAIGNS[name](contract(), SUBJECT, 0, count)
        assert sum(each.tokens for each in made) < 13_000, name


def test_examples_are_those_of_the_document_with_the_model_of_the_subject() -> None:
    made, told = planned("examples", model="gemma-4-31b")
    assert told == []
    content = contract().operation("createChatCompletion").request_body
    assert content is not None
    for name, example in content.content["application/json"].examples.items():
        (one,) = [
            p
            for p in made
            if p.purpose.location.endswith(
                f"chat~1completions/post/requestBody/content/application~1json/examples/{name}"
            )
        ]
        assert one.asked == {**example.value, "model": "gemma-4-31b"}
    targets = {each.sent.target for each in made}
    assert {"/v1/models", "/v1/models/gemma-4-31b", "/v1/tcp_warming"} <= targets


def test_an_example_that_the_model_cannot_answer_is_left_out() -> None:
    _, told = planned("examples")
    assert [(left.kind, "image" in left.why) for left in told] == [("example", True)]


def test_each_mutation_comes_in_every_round() -> None:
    made, _ = planned("mutations")
    kinds = Counter((each.operation.id, each.purpose.kind) for each in made if each.operation)
    assert min(kinds.values()) >= 1
    assert max(kinds.values()) - min(kinds.values()) <= 1
    assert {"truncated JSON", "duplicated key", "deep nesting", "byte order mark", "UTF-16",
            "gzip cut off", "chunks of a byte", "number out of range", "no content type"} <= {
        kind for _, kind in kinds
    }  # fmt: skip


@pytest.mark.parametrize("name", ["boundaries", "invalid", "mutations"])
def test_nothing_is_sent_where_there_are_no_text_completions(name: str) -> None:
    made, _ = planned(name)
    text = [each for each in made if each.sent.target == "/v1/completions"]
    assert text
    assert all("completions" in each.needs for each in text)


def test_only_chats_and_models_must_be_there() -> None:
    made, _ = planned("examples")
    optional = {each.sent.target: each.purpose.facts.get("optional", False) for each in made}
    assert {target for target, may_lack in optional.items() if may_lack} == {"/v1/tcp_warming"}


def test_chunks_hold_the_whole_body() -> None:
    made, _ = planned("mutations")
    chunked = [each.sent for each in made if each.sent.chunks is not None]
    assert chunked
    assert all(sum(sent.chunks or ()) == len(sent.body) for sent in chunked)


def test_a_turn_of_four_goes_to_each_other_operation() -> None:
    assert [turn_of(number, 2) for number in range(8)] == [0, 0, 0, 1, 0, 0, 0, 1]
    assert [turn_of(number, 3) for number in range(8)] == [0, 0, 0, 1, 0, 0, 0, 2]
    assert {turn_of(number, 1) for number in range(8)} == {0}


def test_needs_name_what_a_request_asks_for() -> None:
    for each in planned("generated")[0]:
        asked = each.asked
        assert ("streams" in each.needs) == (asked.get("stream") is True)
        assert ("tools" in each.needs) == bool(asked.get("tools"))
        assert ("completions" in each.needs) == ("prompt" in asked)


def test_the_key_of_the_subject_goes_along_and_nowhere_else() -> None:
    for name in CAMPAIGNS:
        for each in planned(name)[0]:
            assert each.sent.header("Authorization") == "Bearer a-key"
            assert "a-key" not in repr(each.purpose)
