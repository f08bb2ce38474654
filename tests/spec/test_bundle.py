"""The bundle: one OpenAPI 3.2 document that others accept and that is the same contract again."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from openapi_spec_validator import OpenAPIV32SpecValidator

from wafermock.spec import Contract, load_contract, profiles
from wafermock.spec.bundle import bundle, to_json, to_yaml
from wafermock.spec.document import read_document
from wafermock.spec.pointer import uri_fragment
from wafermock.spec.structure import walk_schemas

from .documents import PETS, minimal, with_schema, write


def accepted(document: dict[str, Any]) -> list[str]:
    """What openapi-spec-validator says against a document."""
    return [error.message for error in OpenAPIV32SpecValidator(document).iter_errors()]


@pytest.fixture(scope="module", params=[*profiles(), "pets"])
def contract(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Contract:
    if request.param != "pets":
        return load_contract(request.param)
    folder = tmp_path_factory.mktemp("pets")
    return load_contract(documents=[write(folder, "pets.yaml", PETS)])


def again(contract: Contract, text: str, path: Path) -> Contract:
    path.write_text(text, encoding="utf-8")
    return load_contract(contract.profile, [path], corrected=False)


def test_others_accept_it(contract: Contract) -> None:
    document = bundle(contract)
    assert document["openapi"] == "3.2.0"
    assert accepted(document) == []


def test_every_schema_of_it_compiles(contract: Contract) -> None:
    document = bundle(contract)
    pointers: list[Any] = []
    walk_schemas(document, lambda schema, at: pointers.append(at))
    parts = {"components": document["components"], "paths": document["paths"]}
    for pointer in pointers:
        jsonschema_rs.Draft202012Validator({"$ref": uri_fragment(pointer), **parts})
    assert len(pointers) > 10


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_bundling_what_was_bundled(contract: Contract, tmp_path: Path, form: str) -> None:
    text = to_yaml(bundle(contract)) if form == "yaml" else to_json(bundle(contract))
    second = again(contract, text, tmp_path / f"bundle.{form}")
    assert bundle(second) == bundle(contract)
    once_more = to_yaml(bundle(second)) if form == "yaml" else to_json(bundle(second))
    assert once_more == text
    assert [(o.id, o.answer) for o in second.operations] == [
        (o.id, o.answer) for o in contract.operations
    ]


def test_the_contract_is_left_as_it_was(contract: Contract) -> None:
    before = json.dumps(contract.document)
    bundle(contract)["info"]["title"] = "Another"
    assert json.dumps(contract.document) == before


def test_keys_stand_in_an_order_for_readers() -> None:
    document = bundle(load_contract())
    assert list(document) == [
        "openapi",
        "info",
        "servers",
        "security",
        "tags",
        "paths",
        "components",
    ]
    post = document["paths"]["/v1/completions"]["post"]
    assert list(post)[:4] == ["operationId", "tags", "summary", "description"]
    assert list(post)[-2:] == ["responses", "x-wafermock-answer"]
    assert next(iter(document["components"])) == "schemas"


def test_streams_are_described() -> None:
    paths = bundle(load_contract())["paths"]
    for path in ("/v1/chat/completions", "/v1/completions"):
        content = paths[path]["post"]["responses"]["200"]["content"]
        assert "itemSchema" in content["text/event-stream"]


def test_a_document_of_3_0(tmp_path: Path) -> None:
    document = bundle(load_contract(documents=[write(tmp_path, "pets.yaml", PETS)]))
    pet = document["components"]["schemas"]["Pet"]["properties"]
    assert pet["tag"] == {"type": ["string", "null"]}
    assert pet["weight"] == {"type": "number", "exclusiveMinimum": 0}


def test_files_are_brought_in(tmp_path: Path) -> None:
    write(tmp_path, "pet.yaml", {"type": "object", "nullable": True})
    path = write(tmp_path, "api.yaml", with_schema({"$ref": "pet.yaml"}))
    document = bundle(load_contract(documents=[path]))
    assert document["components"]["schemas"]["Subject"] == {"type": ["object", "null"]}


# ---------------------------------------------------------------------------------- YAML


def test_yaml_has_no_aliases_and_long_texts_are_blocks() -> None:
    text = to_yaml(bundle(load_contract()))
    kinds = {type(event).__name__ for event in yaml.parse(text)}
    assert "AliasEvent" not in kinds
    assert not any(getattr(event, "anchor", None) for event in yaml.parse(text))
    assert text.startswith("openapi: 3.2.0\ninfo:\n  title: Cerebras Inference API\n")
    assert "      description: >" in text
    assert "description: |" in text


TEXTS = st.text() | st.sampled_from(
    ["1e3", "0o17", "0x1F", ".5", "1.", "+1", "null", "~", "yes", "on", "2020-01-01", "a: b", "- a",
     "# a", " a", "a ", "a\n", "a\n\n", "\na", " a\n b\n", "a\tb", "x" * 150, "word " * 40,
     "word " * 40 + "\n", "  " + "word " * 40, "a\n" + "word " * 40, "a  b " * 30, "'", '"', "\x85",
     "1:30", "=", "<<", "é" * 120, "a\u2028b"]
)  # fmt: skip


@given(st.dictionaries(TEXTS, st.lists(TEXTS | st.integers() | st.booleans() | st.none())))
def test_yaml_reads_back_as_it_was(data: dict[str, Any]) -> None:
    assert yaml.load(to_yaml(data), Loader=yaml.SafeLoader) == data


@pytest.mark.parametrize(
    "text", ["1e3", "0o17", "0x1F", ".5", "1.", "+1", "12", "no", "null", "1:30"]
)
def test_texts_that_look_like_other_things_are_quoted(text: str) -> None:
    """YAML 1.1 and 1.2 differ in what they take for a number."""
    assert to_yaml({"a": text, text: "b"}) == f"a: '{text}'\n'{text}': b\n"


@pytest.mark.parametrize("number", [0, -1, 1.0, 1e-05, 1e30, 0.1])
def test_numbers_stay_numbers(tmp_path: Path, number: float) -> None:
    path = tmp_path / "bundle.yaml"
    path.write_text(to_yaml(minimal(**{"x-number": number})))
    value = read_document(path).root["x-number"]
    assert value == number
    assert isinstance(value, type(number))


def test_json_is_readable() -> None:
    assert to_json({"a": ["é"]}) == '{\n  "a": [\n    "é"\n  ]\n}\n'
