"""An operation as people see it."""

from pathlib import Path
from typing import Any

import pytest

from wafermock.spec import Contract, load_contract
from wafermock.spec.show import show_contract, show_operation
from wafermock.spec.wording import constraints, first_sentence, flat, type_name

from .documents import PETS, minimal, write

PET = {"$ref": "#/components/schemas/Pet"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Contract:
    return load_contract(documents=[write(tmp_path_factory.mktemp("pets"), "pets.yaml", PETS)])


def test_the_list(shop: Contract) -> None:
    assert show_contract(shop, 80).splitlines() == [
        "GET   /pets           listPets   List pets",
        "POST  /pets           createPet",
        "GET   /pets/mine      myPet",
        "GET   /pets/{pet_id}  readPet",
    ]
    assert show_contract(shop, 30).splitlines()[:2] == [
        "GET   /pets           listPets",
        "      List pets",
    ]


def test_an_operation(shop: Contract) -> None:
    assert show_operation(shop, shop.operation("listPets"), 80).splitlines() == [
        "GET /pets  (listPets)",
        "List pets",
        "",
        "Security: key (header X-Key)",
        "",
        "Parameters",
        "  limit  integer, in query, >= 1, <= 100, default 20",
        "",
        "Response 200: The pets.",
        "  headers: x-next",
        "  application/json",
        "    examples: default",
        "    array of Pet",
        "      id      integer",
        "      name    string, required, characters >= 1",
        "      kind    any, one of dog, cat",
        "      tag     string or null",
        "      born    string, default 2020-01-01",
        "      weight  number, > 0",
        "",
        "Response default: It failed.",
        "  application/json",
        "    Failure",
        "      message  string",
    ]


def test_bodies_and_ways_to_pass(shop: Contract) -> None:
    lines = show_operation(shop, shop.operation("createPet"), 80).splitlines()
    assert "Security: key (header X-Key) or none" in lines
    assert "Request body (required)" in lines
    assert "    Pet (see above)" in lines  # a named schema is opened once
    assert "Security: none" in show_operation(shop, shop.operation("myPet"))


def test_a_stream() -> None:
    contract = load_contract()
    text = show_operation(contract, contract.operation("createChatCompletion"))
    assert "the data of each event: ChatCompletionChunk or ErrorChunkResponse" in text
    assert "Security: BearerAuth (Authorization: Bearer)" in text
    for name in ("messages", "- SystemMessage", "image_url", "max_completion_tokens", "delta"):
        assert any(line.strip().startswith(name) for line in text.splitlines()), name


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_lines_fit(width: int) -> None:
    contract = load_contract()
    for operation in contract.operations:
        for line in show_operation(contract, operation, width).splitlines():
            if line.startswith(f"{operation.name}  ("):
                continue
            assert len(line) <= max(width, 60) or len(line.split()) <= 2, line


def body(folder: Path, schema: Any, **named: Any) -> list[str]:
    """The lines that show a request body."""
    content = {"application/json": {"schema": schema}}
    post = {"requestBody": {"content": content}, "responses": {"204": {"description": "Done"}}}
    document = minimal(paths={"/a": {"post": post}}, components={"schemas": named})
    contract = load_contract(documents=[write(folder, "api.yaml", document)])
    lines = show_operation(contract, contract.operations[0], 80).splitlines()
    start = lines.index("Request body (optional)") + 2
    return lines[start : lines.index("", start)]


def test_nested_schemas_are_indented(tmp_path: Path) -> None:
    inner = {"type": "object", "required": ["x"], "properties": {"x": {"type": "integer"}}}
    named = {"$ref": "#/components/schemas/N"}
    schema = {
        "type": "object",
        "properties": {
            "one": {**inner, "description": "First. Second."},
            "many": {"type": "array", "items": inner},
            "map": {"type": "object", "additionalProperties": inner},
            "maybe": {"anyOf": [inner, {"type": "null"}]},
            "either": {"oneOf": [{"type": "string"}, inner, named]},
        },
    }  # fmt: skip
    assert body(tmp_path, schema, N={"properties": {"n": {"const": 1}}}) == [
        "    object",
        "      one      object",
        "               First.",
        "        x      integer, required",
        "      many     array of object",
        "        x      integer, required",
        "      map      object",
        "        <key>  object",
        "          x    integer, required",
        "      maybe    object or null",
        "        x      integer, required",
        "      either   string or object or N",
        "        - object",
        "          x    integer, required",
        "        - N",
        "          n    1, always 1",
    ]


def test_circles_end(tmp_path: Path) -> None:
    tree = {"properties": {"next": {"$ref": "#/components/schemas/Tree"}, "v": {}}}
    lines = body(tmp_path, {"$ref": "#/components/schemas/Tree"}, Tree=tree)
    assert [line.strip() for line in lines] == ["Tree", "next  Tree", "v     any"]


def test_endless_depth_ends(tmp_path: Path) -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(30):
        schema = {"type": "object", "properties": {"a": schema}}
    assert 5 < len(body(tmp_path, schema)) < 15


def test_a_body_of_anything(tmp_path: Path) -> None:
    assert body(tmp_path, True) == ["    any"]
    assert body(tmp_path, {}) == ["    any"]
    assert body(tmp_path, {"type": "string"}) == ["    string"]


# --------------------------------------------------------------------------------- wording


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["string", "null"]}, "string or null"),
        ({"type": "array"}, "array"),
        ({"type": "array", "items": {"type": "integer"}}, "array of integer"),
        ({"type": "array", "items": {"anyOf": [PET, {"type": "null"}]}}, "array of (Pet or null)"),
        ({"type": ["array", "null"], "items": PET}, "array of Pet or null"),
        ({"oneOf": [PET, {"type": "string"}, PET]}, "Pet or string"),
        ({"allOf": [PET]}, "Pet"),
        ({"allOf": [PET, PET]}, "object"),
        ({"properties": {}}, "object"),
        ({"const": "a"}, '"a"'),
        ({"$ref": "#/components/schemas/a~1b"}, "a/b"),
        ({}, "any"),
        (True, "any"),
        (False, "nothing"),
    ],
)
def test_type_names(schema: Any, expected: str) -> None:
    assert type_name(schema) == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, []),
        ({"minimum": 0, "maximum": 2, "default": 1}, [">= 0", "<= 2", "default 1"]),
        ({"exclusiveMinimum": 0, "exclusiveMaximum": 1.5}, ["> 0", "< 1.5"]),
        ({"enum": ["a", None, 1]}, ["one of a, 1"]),
        ({"const": None}, ["always null"]),
        ({"default": ""}, ['default ""']),
        ({"default": None}, ["default null"]),
        ({"minLength": 1, "format": "uri", "pattern": "^h"},
         ["characters >= 1", "format uri", "matches ^h"]),
        ({"minItems": 1, "maxItems": 4}, ["items >= 1", "items <= 4"]),
        ({"additionalProperties": False, "deprecated": True}, ["no other keys", "deprecated"]),
        ({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}, [">= 1"]),
        ({"anyOf": [{"minimum": 1}, {"maximum": 2}]}, []),
    ],
)  # fmt: skip
def test_constraints(schema: Any, expected: list[str]) -> None:
    assert constraints(schema) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two.", "One."),
        ("One, e.g. `this`, is. Two.", "One, e.g. `this`, is."),
        ("Up to 2.5 seconds.\n\nMore.", "Up to 2.5 seconds."),
        ("No end\n\nMore", "No end"),
        ("See [the\npage](https://x.example/a). Two.", "See the page."),
        ("", ""),
        (None, "None"),
    ],
)
def test_first_sentences(text: Any, expected: str) -> None:
    assert first_sentence(text) == expected


def test_flat() -> None:
    assert flat("**Bold** and\n  [link](x) `code`\n") == "Bold and link `code`"
