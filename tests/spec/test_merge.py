"""Several documents united: names that collide, what belongs to whom, errors of each file."""

from pathlib import Path
from typing import Any

import pytest

from wafermock.spec import DocumentError, load_contract
from wafermock.spec.document import read_document
from wafermock.spec.merge import Merged, merge

from .documents import minimal, write


def merged(folder: Path, *documents: Any) -> Merged:
    paths = [write(folder, f"{number}.yaml", d) for number, d in enumerate(documents)]
    return merge([read_document(path) for path in paths])


def api(path: str, schema: Any = None, method: str = "get", **more: Any) -> dict[str, Any]:
    """A document with one operation that answers with its own schema `Thing`."""
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}
    operation = {
        "operationId": f"{method}{path}",
        "responses": {"200": {"description": "", "content": content}},
    }
    components = {"schemas": {"Thing": schema or {"type": "string"}}}
    return minimal(paths={path: {method: operation}}, components=components, **more)


def test_paths_and_components_are_united(tmp_path: Path) -> None:
    root = merged(tmp_path, api("/a"), api("/b"), api("/a", method="post")).root
    assert list(root["paths"]) == ["/a", "/b"]
    assert list(root["paths"]["/a"]) == ["get", "post"]
    assert list(root["components"]["schemas"]) == ["Thing"]


def test_the_first_gives_the_rest(tmp_path: Path) -> None:
    first = api("/a", servers=[{"url": "https://a"}], tags=[{"name": "x", "description": "X"}])
    second = {**api("/b", servers=[{"url": "https://b"}], tags=[{"name": "x"}, {"name": "y"}]),
              "info": {"title": "B", "version": "2"}, "x-b": 1}  # fmt: skip
    root = merged(tmp_path, first, second).root
    assert root["info"]["title"] == "T"
    assert root["servers"] == [{"url": "https://a"}]
    assert root["tags"] == [{"name": "x", "description": "X"}, {"name": "y"}]
    assert root["x-b"] == 1


def test_names_that_collide_get_a_number(tmp_path: Path) -> None:
    other = {
        "type": "object",
        "properties": {"again": {"$ref": "#/components/schemas/Thing"},
                       "part": {"$ref": "#/components/schemas/Thing/properties/again"}},
    }  # fmt: skip
    root = merged(tmp_path, api("/a"), api("/b", other), api("/c", {"type": "integer"})).root
    schemas = root["components"]["schemas"]
    assert list(schemas) == ["Thing", "Thing_2", "Thing_3"]
    assert schemas["Thing_2"]["properties"] == {
        "again": {"$ref": "#/components/schemas/Thing_2"},
        "part": {"$ref": "#/components/schemas/Thing_2/properties/again"},
    }
    for path, name in {"/a": "Thing", "/b": "Thing_2", "/c": "Thing_3"}.items():
        content = root["paths"][path]["get"]["responses"]["200"]["content"]
        assert content["application/json"]["schema"]["$ref"].endswith(f"/{name}")


def test_a_number_that_is_taken_is_passed_over(tmp_path: Path) -> None:
    first, second = api("/a"), api("/b", {"type": "integer"})
    first["components"]["schemas"]["Thing_2"] = {"type": "null"}
    second["components"]["schemas"]["Thing_3"] = {"$ref": "#/components/schemas/Thing"}
    schemas = merged(tmp_path, first, second).root["components"]["schemas"]
    assert schemas["Thing_4"] == {"type": "integer"}
    assert schemas["Thing_3"] == {"$ref": "#/components/schemas/Thing_4"}


def test_other_components_collide_too(tmp_path: Path) -> None:
    def document(path: str, text: str) -> dict[str, Any]:
        responses = {"default": {"$ref": "#/components/responses/default"}}
        parts = {
            "responses": {
                "default": {
                    "description": text,
                    "headers": {"x-a": {"$ref": "#/components/headers/x-a"}},
                }
            },
            "headers": {"x-a": {"description": text}},
        }
        return minimal(paths={path: {"get": {"responses": responses}}}, components=parts)

    root = merged(tmp_path, document("/a", "A"), document("/b", "B")).root
    ref = root["paths"]["/b"]["get"]["responses"]["default"]["$ref"]
    assert ref == "#/components/responses/default_2"
    second = root["components"]["responses"]["default_2"]
    assert second["headers"]["x-a"]["$ref"] == "#/components/headers/x-a_2"
    assert root["components"]["headers"]["x-a_2"] == {"description": "B"}


def test_a_name_that_begins_like_another_is_not_renamed(tmp_path: Path) -> None:
    second = api("/b", {"type": "integer"})
    second["components"]["schemas"]["Things"] = {"type": "boolean"}
    second["components"]["schemas"]["User"] = {"$ref": "#/components/schemas/Things"}
    schemas = merged(tmp_path, api("/a"), second).root["components"]["schemas"]
    assert schemas["User"] == {"$ref": "#/components/schemas/Things"}


def test_discriminators_follow_their_schemas(tmp_path: Path) -> None:
    def document(path: str, kind: str) -> dict[str, Any]:
        either = {
            "oneOf": [{"$ref": "#/components/schemas/Thing"}],
            "discriminator": {"propertyName": "t", "mapping": {"x": "#/components/schemas/Thing"}},
        }
        thing = {"type": "object", "properties": {"t": {"const": "x"}, "v": {"type": kind}}}
        answer = api(path, thing)
        answer["components"]["schemas"][f"Either{kind}"] = either
        return answer

    paths = [
        write(tmp_path, "a.yaml", document("/a", "string")),
        write(tmp_path, "b.yaml", document("/b", "integer")),
    ]
    contract = load_contract(documents=paths)
    assert contract.schema("Eitherstring").is_valid({"t": "x", "v": "text"})
    assert contract.schema("Eitherinteger").is_valid({"t": "x", "v": 1})
    assert not contract.schema("Eitherinteger").is_valid({"t": "x", "v": "text"})


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([{"a": []}], [{"b": []}], [{"b": []}]),
        ([{"a": []}], None, []),
        (None, [{"b": []}], [{"b": []}]),
        ([{"a": []}], [{"a": []}], [{"a": []}]),
        (None, None, []),
    ],
)
def test_security_stays_with_its_document(
    tmp_path: Path, first: Any, second: Any, expected: Any
) -> None:
    own = [{**api("/a")}, {**api("/b")}]
    for document, security in zip(own, (first, second), strict=True):
        if security is not None:
            document["security"] = security
    paths = [write(tmp_path, f"{n}.yaml", d) for n, d in enumerate(own)]
    contract = load_contract(documents=paths)
    assert list(contract.operation("get/a").security) == (first or [])
    assert list(contract.operation("get/b").security) == expected


def test_the_same_operation_twice(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        merged(tmp_path, api("/a"), api("/b"), api("/a", {"type": "integer"}))
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / '2.yaml'}:")
    assert "#/paths/~1a: get of this path stands in another document too" in message


def test_the_same_document_twice_is_one(tmp_path: Path) -> None:
    assert merged(tmp_path, api("/a"), api("/a")).root == api("/a")


def test_shared_parts_of_a_path(tmp_path: Path) -> None:
    shared = {"parameters": [{"name": "x", "in": "query"}]}
    first, second = api("/a"), api("/a", method="post")
    first["paths"]["/a"].update(shared)
    second["paths"]["/a"].update(shared)
    root = merged(tmp_path, first, second).root
    assert root["paths"]["/a"].keys() == {"get", "post", "parameters"}


def test_errors_name_the_file_a_part_came_from(tmp_path: Path) -> None:
    wrong = {"properties": {"a": {"type": "strin"}}}
    paths = [write(tmp_path, "a.yaml", api("/a")), write(tmp_path, "b.yaml", api("/b", wrong))]
    with pytest.raises(DocumentError) as caught:
        load_contract(documents=paths)
    error = caught.value
    assert error.file == str(paths[1])
    assert error.pointer == ("components", "schemas", "Thing", "properties", "a", "type")
    assert error.line is not None
    assert "strin" in paths[1].read_text().splitlines()[error.line - 1]


def test_errors_in_operations_name_their_file(tmp_path: Path) -> None:
    second = api("/b")
    second["paths"]["/b"]["get"]["parameters"] = [{"$ref": "#/components/schemas/Thing"}]
    paths = [write(tmp_path, "a.yaml", api("/a")), write(tmp_path, "b.yaml", second)]
    with pytest.raises(DocumentError) as caught:
        load_contract(documents=paths)
    assert str(caught.value).startswith(f"{paths[1]}:")
    assert "#/paths/~1b/get: an operation that cannot be read" in str(caught.value)
