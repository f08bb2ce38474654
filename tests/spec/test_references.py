"""`$ref`: inside a document, to other files, and to nowhere."""

import json
import re
import socket
from pathlib import Path
from typing import Any

import pytest

from wafermock.spec import DocumentError, load_contract
from wafermock.spec.document import read_document
from wafermock.spec.pointer import resolve
from wafermock.spec.references import follow, inline_files, point, unread, unresolved
from wafermock.spec.structure import references

from .documents import minimal, with_schema, write

FINE = {"200": {"description": "Fine"}}


def refused(*documents: Path) -> str:
    with pytest.raises(DocumentError) as caught:
        load_contract(documents=documents)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ------------------------------------------------------------------------- inside a document


def test_follow_a_chain() -> None:
    root = {"a": {"$ref": "#/b~1c"}, "b/c": {"$ref": "#/d%20e/0"}, "d e": [{"x": 1}]}
    assert follow(root, root["a"]) == {"x": 1}
    assert follow(root, {"x": 2}) == {"x": 2}


@pytest.mark.parametrize("target", ["#/a", "#/nope", "#/list/x", "#/list/9", "#nope", "b.yaml"])
def test_follow_to_nowhere(target: str) -> None:
    root: dict[str, Any] = {"a": {"$ref": "#/b"}, "b": {"$ref": "#/a"}, "list": []}
    with pytest.raises((LookupError, ValueError)):
        follow(root, {"$ref": target})


NOWHERE = {"$ref": "#/components/schemas/Nope"}


@pytest.mark.parametrize(
    ("parts", "pointer"),
    [
        ({"components": {"schemas": {"A": NOWHERE}}}, "#/components/schemas/A"),
        (
            {"components": {"schemas": {"A": {"properties": {"default": NOWHERE}}}}},
            "#/components/schemas/A/properties/default",
        ),
        (
            {"components": {"responses": {"default": NOWHERE}}},
            "#/components/responses/default",
        ),
        (
            {"components": {"headers": {"x-next": NOWHERE}}},
            "#/components/headers/x-next",
        ),
        (
            {"paths": {"/a": {"get": {"responses": {"default": NOWHERE}}}}},
            "#/paths/~1a/get/responses/default",
        ),
        (
            {"paths": {"/a": {"get": {"parameters": [NOWHERE], "responses": FINE}}}},
            "#/paths/~1a/get/parameters/0",
        ),
        ({"paths": {"/a": {"$ref": "#/components/pathItems/A"}}}, "#/paths/~1a"),
        ({"components": {"schemas": {"A": {"$ref": "#nope"}}}}, "#/components/schemas/A"),
        (
            {"components": {"schemas": {"A": {"$ref": "#/components/schemas/A"}}}},
            "#/components/schemas/A",
        ),
        (
            {
                "components": {
                    "schemas": {
                        "A": {
                            "oneOf": [{"$ref": "#/components/schemas/B"}],
                            "discriminator": {"propertyName": "t", "mapping": {"b": "Nope"}},
                        },
                        "B": {},
                    }
                }
            },
            "#/components/schemas/A/discriminator/mapping/b",
        ),
    ],
)
def test_nowhere_is_told_with_its_place(tmp_path: Path, parts: Any, pointer: str) -> None:
    path = write(tmp_path, "api.yaml", minimal(**parts))
    message = refused(path)
    assert re.match(
        rf"{re.escape(str(path))}:\d+: {re.escape(pointer)}: \$ref \S+ leads nowhere", message
    )


@pytest.mark.parametrize(
    "instances",
    [
        {"example": NOWHERE},
        {"default": NOWHERE},
        {"examples": [NOWHERE]},
        {"enum": [NOWHERE, 1]},
        {"const": NOWHERE},
        {"x-note": NOWHERE},
    ],
)
def test_instances_hold_no_references(tmp_path: Path, instances: dict[str, Any]) -> None:
    document = with_schema({"type": "object", **instances})
    path = write(tmp_path, "api.yaml", document)
    contract = load_contract(documents=[path])
    assert contract.schema("Subject").node == {"type": "object", **instances}


def test_names_that_look_like_keywords() -> None:
    """A property called `default` is a schema; the `default` of a property is not."""
    root = {
        "properties": {
            "default": {"$ref": "#/1"},
            "examples": {"$ref": "#/2"},
            "responses": {"default": {"$ref": "#/data"}, "properties": {"enum": {"$ref": "#/3"}}},
            "properties": {"example": {"$ref": "#/data"}},
            "$ref": {"type": "string"},
        }
    }
    assert [node["$ref"] for _, node in references(root)] == ["#/1", "#/2", "#/3"]


def test_schemas_by_name(tmp_path: Path) -> None:
    tree = {
        "$id": "https://pets.example/tree",
        "properties": {"next": {"$ref": "https://pets.example/tree"}, "leaf": {"$ref": "#leaf"}},
        "$defs": {"leaf": {"$anchor": "leaf", "type": "integer"}},
    }
    other = {"properties": {"a": {"$ref": "https://pets.example/tree#leaf"},
                            "b": {"$ref": "https://pets.example/tree#/$defs/leaf"}}}  # fmt: skip
    path = write(tmp_path, "api.json", with_schema(tree, Other=other))
    contract = load_contract(documents=[path])
    assert contract.schema("Subject").is_valid({"next": {"next": {"leaf": 1}}})
    assert not contract.schema("Subject").is_valid({"next": {"next": {"leaf": "x"}}})
    assert contract.schema("Other").is_valid({"a": 1, "b": 1})
    assert not contract.schema("Other").is_valid({"a": "x"})
    assert not contract.schema("Other").is_valid({"b": "x"})


def test_pointing_leaves_other_references_alone() -> None:
    root = with_schema({"$ref": "#/components/schemas/B"}, B={"type": "string"})
    before = json.dumps(root)
    point(root)
    assert json.dumps(root) == before
    assert unresolved(root) == []


def test_path_item_by_reference(tmp_path: Path) -> None:
    item = {"get": {"operationId": "a", "responses": FINE}, "summary": "S"}
    paths = {"/a": {"$ref": "#/components/pathItems/A", "post": {"responses": FINE}}}
    document = minimal(paths=paths, components={"pathItems": {"A": item}})
    contract = load_contract(documents=[write(tmp_path, "api.yaml", document)])
    assert {o.name for o in contract.operations} == {"POST /a", "GET /a"}


# ------------------------------------------------------------------------------- other files


def test_files(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    write(
        tmp_path / "parts",
        "pet.yaml",
        "type: object\nproperties: {owner: {$ref: 'people.json#/Owner'}}\n",
    )
    home = {"$ref": "../api.yaml#/components/schemas/Home"}
    owner = {"properties": {"name": {"$ref": "#/Name"}, "home": home}}
    write(tmp_path / "parts", "people.json", {"Owner": owner, "Name": {"type": "string"}})
    document = with_schema({"$ref": "parts/pet.yaml"}, Home={"const": "here"})
    path = write(tmp_path, "api.yaml", document)
    schema = load_contract(documents=[path]).schema("Subject")
    assert schema.is_valid({"owner": {"name": "x", "home": "here"}})
    assert not schema.is_valid({"owner": {"name": 1}})
    assert not schema.is_valid({"owner": {"home": "there"}})


def test_what_stands_beside_a_reference_to_a_file(tmp_path: Path) -> None:
    write(tmp_path, "parts.yaml", {
        "Text": {"type": "string", "description": "Theirs", "minLength": 3},
        "Item": {"get": {"operationId": "a", "responses": FINE}},
    })  # fmt: skip
    schemas = {
        "Told": {"$ref": "parts.yaml#/Text", "description": "Mine"},
        "Shorter": {"$ref": "parts.yaml#/Text", "minLength": 1, "maxLength": 4},
    }
    paths = {"/a": {"$ref": "parts.yaml#/Item", "post": {"responses": FINE}}}
    document = minimal(paths=paths, components={"schemas": schemas})
    contract = load_contract(documents=[write(tmp_path, "api.yaml", document)])
    assert contract.schema("Told").node["description"] == "Mine"
    shorter = contract.schema("Shorter")
    assert [t for t in ("ab", "abc", "abcde") if shorter.is_valid(t)] == ["abc"]
    assert {o.name for o in contract.operations} == {"GET /a", "POST /a"}


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("gone.yaml", "No such file"),
        ("part.yaml#/nope", "leads nowhere"),
        ("part.yaml#nope", "leads nowhere"),
        ("broken.yaml", "broken.yaml:2: not YAML"),
        ("list.yaml", "a mapping is wanted"),
        ("https://pets.example/pet.yaml", "references to the network are not read"),
        ("file:///etc/hosts#/a", "references to the network are not read"),
        ("circle.yaml#/a", "in a circle through other files"),
    ],
)
def test_bad_files(tmp_path: Path, target: str, words: str) -> None:
    write(tmp_path, "part.yaml", "a: {type: string}\n")
    write(tmp_path, "broken.yaml", "a: [\n")
    write(tmp_path, "list.yaml", "- a\n")
    write(tmp_path, "circle.yaml", "a: {properties: {b: {$ref: '#/a'}}}\n")
    path = write(tmp_path, "api.yaml", with_schema({"properties": {"x": {"$ref": target}}}))
    message = refused(path)
    place = path if "circle" not in target else tmp_path / "circle.yaml"
    assert message.startswith(f"{place}:")
    assert ": #/" in message
    assert words in message
    (lost,) = unread(read_document(path))
    assert words in str(lost)


def test_examples_may_speak_of_files(tmp_path: Path) -> None:
    value = {"$ref": "gone.yaml"}
    path = write(tmp_path, "api.yaml", with_schema({"example": value, "default": value}))
    root = inline_files(read_document(path))
    assert resolve(root, ("components", "schemas", "Subject")) == {
        "example": value,
        "default": value,
    }


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_the_network_is_never_asked(tmp_path: Path, keyword: str) -> None:
    """Not by the validator either, which could fetch what it does not know."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        target = f"http://127.0.0.1:{listener.getsockname()[1]}/a.json"
        path = write(tmp_path, "api.yaml", with_schema({"properties": {"a": {keyword: target}}}))
        message = refused(path)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert message.startswith(f"{path}:")
    assert target in message
