"""The document is what drives: change it, and validation and answers follow."""

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import wafermock.spec
from wafermock.mockserver.mock import Mock, Settings
from wafermock.spec import load_contract

DOCUMENTS = Path(wafermock.spec.__file__).parent / "openapi"
CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
HELLO = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}]}
PROMPT = {"model": "m", "prompt": "Hello!"}

Ask = Callable[..., Any]


def copy(name: str) -> Any:
    return yaml.safe_load((DOCUMENTS / name).read_text())


def written(tmp_path: Path, root: Any, name: str = "document.yaml") -> Path:
    path = tmp_path / name
    text = json.dumps(root) if path.suffix == ".json" else yaml.safe_dump(root, sort_keys=False)
    path.write_text(text)
    return path


def mock_of(tmp_path: Path, root: Any, **settings: Any) -> Mock:
    return Mock(load_contract(documents=[written(tmp_path, root)]), Settings(**settings))


def locations(answer: Any) -> list[list[str | int]]:
    assert answer.status == 422, answer.body
    return [detail["loc"] for detail in json.loads(answer.body)["detail"]]


# ---------------------------------------------------------------------- the built-in documents


def test_a_new_property(tmp_path: Path, ask: Ask) -> None:
    root = copy("completions.yaml")
    schema = root["components"]["schemas"]["CompletionRequest"]
    schema["properties"]["patience"] = {"type": "integer", "minimum": 3, "default": 5}
    schema["required"].append("user")
    mock = mock_of(tmp_path, root)
    right = {**PROMPT, "user": "u"}
    assert ask(mock, TEXT, {**right, "patience": 3}).status == 200
    assert locations(ask(mock, TEXT, {**right, "patience": 2})) == [["body", "patience"]]
    assert locations(ask(mock, TEXT, {**right, "patience": "x"})) == [["body", "patience"]]
    assert locations(ask(mock, TEXT, PROMPT)) == [["body", "user"]]
    # Its default says nothing, another value something.
    ids = [
        json.loads(ask(mock, TEXT, {**right, **more}).body)["id"]
        for more in ({}, {"patience": 5}, {"patience": 4})
    ]
    assert ids[0] == ids[1] != ids[2]


def test_a_property_that_is_gone(tmp_path: Path, ask: Ask) -> None:
    root = copy("completions.yaml")
    del root["components"]["schemas"]["CompletionRequest"]["properties"]["user"]
    mock = mock_of(tmp_path, root)
    assert locations(ask(mock, TEXT, {**PROMPT, "user": "u"})) == [["body", "user"]]


def test_a_new_enum_value(tmp_path: Path, make_mock: Any, ask: Ask) -> None:
    body = {**HELLO, "service_tier": "express"}
    assert locations(ask(make_mock(), CHAT, body)) == [["body", "service_tier"]]
    root = copy("chat-completions.yaml")
    properties = root["components"]["schemas"]["ChatCompletionRequest"]["properties"]
    properties["service_tier"]["enum"].append("express")
    assert ask(mock_of(tmp_path, root), CHAT, body).status == 200


def test_a_new_example(tmp_path: Path, ask: Ask) -> None:
    root = copy("chat-completions.yaml")
    operation = root["paths"][CHAT]["post"]
    asked = operation["requestBody"]["content"]["application/json"]["examples"]
    answered = operation["responses"]["200" if "200" in operation["responses"] else 200]
    answers = answered["content"]["application/json"]["examples"]
    question = {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": "Who wove it?"}]}
    asked["Weaver"] = {"value": question}
    answer = json.loads(json.dumps(answers["Default"]["value"]))
    answer["choices"][0]["message"]["content"] = "A spider did, in the night."
    answers["Weaver"] = {"value": answer}
    mock = mock_of(tmp_path, root)

    def words(body: Any, **headers: str) -> Any:
        said = json.loads(ask(mock, CHAT, body, headers).body)
        return said["choices"][0]["message"]["content"]

    assert words(question) == "A spider did, in the night."
    assert words({**question, "messages": HELLO["messages"]}) != "A spider did, in the night."
    assert words(HELLO, prefer="example=Weaver") == "A spider did, in the night."


def test_new_operations(tmp_path: Path, ask: Ask) -> None:
    root = copy("completions.yaml")
    schema = {
        "type": "object",
        "required": ["id", "kind", "tags"],
        "additionalProperties": False,
        "properties": {
            "id": {"type": "string", "format": "uuid"},
            "kind": {"enum": ["batch", "file"]},
            "tags": {"type": "array", "items": {"type": "integer"}, "minItems": 2},
        },
    }
    root["paths"]["/v1/files/{file_id}"] = {
        "get": {
            "operationId": "retrieveFile",
            "parameters": [{"name": "file_id", "in": "path", "schema": {"pattern": "^f-"}}],
            "responses": {
                "200": {
                    "description": "Known.",
                    "content": {"application/json": {"example": {"id": "f-1"}}},
                }
            },
        },
        "patch": {
            "operationId": "changeFile",
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": {"type": "object", "minProperties": 1}}},
            },
            "responses": {
                "201": {"description": "Ok.", "content": {"application/json": {"schema": schema}}}
            },
        },
    }
    mock = mock_of(tmp_path, root)
    got = ask(mock, "/v1/files/f-1", method="GET")
    assert (got.status, got.body) == (200, b'{"id":"f-1"}')
    assert locations(ask(mock, "/v1/files/g", method="GET")) == [["path", "file_id"]]
    got = ask(mock, "/v1/files/f-1", {"a": 1}, method="PATCH")
    assert got.status == 201
    declared = mock.contract.operation("changeFile").response(201)
    assert declared is not None
    made = declared.content["application/json"].schema
    assert made is not None
    assert made.violations(json.loads(got.body)) == []
    # The same for the same request, and another for another.
    assert ask(mock, "/v1/files/f-1", {"a": 1}, method="PATCH").body == got.body
    others = {ask(mock, f"/v1/files/f-{n}", {"a": n}, method="PATCH").body for n in range(5)}
    assert len(others) == 5
    assert locations(ask(mock, "/v1/files/f-1", {}, method="PATCH")) == [["body"]]
    got = ask(mock, "/v1/files/f-1", method="DELETE")
    assert (got.status, got.headers["Allow"]) == (405, "GET, PATCH")


def test_an_error_of_the_documents_own(tmp_path: Path, ask: Ask) -> None:
    """A document that declares another shape for an error gets that shape."""
    root = copy("completions.yaml")
    shape = {
        "type": "object",
        "required": ["title", "status"],
        "properties": {"title": {"type": "string"}, "status": {"const": 422}},
    }
    root["paths"][TEXT]["post"]["responses"]["422"] = {
        "description": "Wrong.",
        "content": {"application/json": {"schema": shape}},
    }
    path = written(tmp_path, root)
    mock = Mock(load_contract(documents=[path], corrected=False))
    got = ask(mock, TEXT, {"prompt": 1})
    assert got.status == 422
    assert json.loads(got.body)["status"] == 422


def test_an_overlay_of_the_users_own(tmp_path: Path, ask: Ask) -> None:
    overlay = {
        "overlay": "1.0.0",
        "info": {"title": "stricter", "version": "1"},
        "actions": [
            {
                "target": "$.components.schemas.ChatCompletionRequest.properties.user",
                "update": {"minLength": 3},
            }
        ],
    }
    mock = Mock(load_contract(overlays=[written(tmp_path, overlay, "overlay.yaml")]))
    assert ask(mock, CHAT, {**HELLO, "user": "abc"}).status == 200
    assert locations(ask(mock, CHAT, {**HELLO, "user": "ab"})) == [["body", "user"]]


# ---------------------------------------------------------------------- other people's documents

PET = {
    "type": "object",
    "required": ["id", "name"],
    "properties": {
        "id": {"type": "integer", "format": "int64", "minimum": 1},
        "name": {"type": "string", "minLength": 1},
        "tag": {"type": "string"},
        "status": {"type": "string", "enum": ["available", "sold"]},
    },
}


def petstore(version: str) -> dict[str, Any]:
    """A document as found in the wild; in 3.0 with its own ways of saying null and bounds."""
    is_30 = version.startswith("3.0")
    age = (
        {"type": "number", "minimum": 0, "exclusiveMinimum": True, "nullable": True}
        if is_30
        else {"type": ["number", "null"], "exclusiveMinimum": 0}
    )
    pet = {**PET, "properties": {**PET["properties"], "age": age}}  # type: ignore[dict-item]
    reference = {"$ref": "#/components/schemas/Pet"}
    one = {"description": "A pet.", "content": {"application/json": {"schema": reference}}}
    both = {"application/xml": {"schema": reference}, "application/json": {"schema": reference}}
    error = {"$ref": "#/components/responses/Error"}
    id_ = {"$ref": "#/components/parameters/Id"}
    return {
        "openapi": version,
        "info": {"title": "Pets", "version": "1.0.0", "license": {"name": "MIT"}},
        "servers": [{"url": "https://pets.example.org/api/v2"}, {"url": "/local"}],
        "paths": {
            "/pets": {
                "get": {
                    "operationId": "listPets",
                    "parameters": [
                        {
                            "name": "limit",
                            "in": "query",
                            "schema": {"type": "integer", "minimum": 1, "maximum": 100},
                        },
                        {
                            "name": "tags",
                            "in": "query",
                            "style": "form",
                            "schema": {"type": "array", "items": {"type": "integer"}},
                        },
                        {"name": "exact", "in": "query", "schema": {"type": "boolean"}},
                        {"name": "X-Trace", "in": "header", "required": True, "schema": {}},
                    ],
                    "responses": {
                        "200": {
                            "description": "Pets.",
                            "headers": {"X-Next": {"required": True, "schema": {"type": "string"}}},
                            "content": {
                                "application/json": {
                                    "schema": {"type": "array", "items": reference, "maxItems": 5}
                                }
                            },
                        },
                        "default": error,
                    },
                },
                "post": {
                    "requestBody": {"required": True, "content": both},
                    "responses": {"201": {"description": "Made.", "content": both}, "4XX": error},
                },
            },
            "/pets/{petId}": {
                "parameters": [id_],
                "get": {"responses": {"200": one, "404": {"description": "None."}}},
                "delete": {"responses": {"204": {"description": "Gone."}}},
            },
            "/pets/{petId}/photo": {
                "parameters": [id_],
                "put": {
                    "requestBody": {"content": {"image/*": {}, "application/octet-stream": {}}},
                    "responses": {"202": {"description": "Taken."}},
                },
            },
            "/login": {
                "post": {
                    "requestBody": {
                        "content": {
                            "application/x-www-form-urlencoded": {
                                "schema": {"type": "object", "required": ["user"]}
                            }
                        }
                    },
                    "responses": {
                        "200": {
                            "description": "A token.",
                            "content": {"text/plain": {"example": "t0k€n"}},
                        }
                    },
                }
            },
            "/health": {
                "get": {
                    "responses": {
                        "200": {
                            "description": "Well.",
                            "content": {
                                "application/json": {
                                    "examples": {
                                        "well": {"value": {"ok": True}},
                                        "ill": {"$ref": "#/components/examples/ill"},
                                    },
                                    "schema": {
                                        "type": "object",
                                        "required": ["ok"],
                                        "properties": {"ok": {"type": "boolean"}},
                                    },
                                }
                            },
                        }
                    }
                }
            },
        },
        "components": {
            "schemas": {
                "Pet": pet,
                "Error": {
                    "type": "object",
                    "required": ["code", "message"],
                    "properties": {"code": {"type": "integer"}, "message": {"type": "string"}},
                },
            },
            "examples": {"ill": {"value": {"ok": False}}},
            "parameters": {
                "Id": {
                    "name": "petId",
                    "in": "path",
                    "required": True,
                    "schema": {"type": "integer", "minimum": 1},
                }
            },
            "responses": {
                "Error": {
                    "description": "A fault.",
                    "content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/Error"}}
                    },
                }
            },
        },
    }


TRACED = {"x-trace": "t"}


@pytest.fixture(params=["3.0.3", "3.1.0"])
def pets(request: pytest.FixtureRequest, tmp_path: Path) -> Mock:
    path = written(tmp_path, petstore(request.param), "pets.json")
    return Mock(load_contract(documents=[path]))


def obeys(mock: Mock, path: str, method: str, answer: Any) -> Any:
    route = mock.contract.route(method, path)
    assert route is not None
    response = route.operation.response(answer.status)
    assert response is not None
    schema = response.content[answer.headers["content-type"]].schema
    assert schema is not None
    value = json.loads(answer.body)
    assert schema.violations(value) == []
    return value


@pytest.mark.parametrize("base", ["", "/api/v2", "/local"])
def test_pets_are_listed(pets: Mock, ask: Ask, base: str) -> None:
    got = ask(
        pets, f"{base}/pets", headers=TRACED, method="GET", query="limit=5&tags=1,2&exact=true"
    )
    assert got.status == 200
    assert isinstance(obeys(pets, f"{base}/pets", "GET", got), list)
    assert got.headers["x-next"]


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("limit=0", ["query", "limit"]),
        ("limit=101", ["query", "limit"]),
        ("limit=x", ["query", "limit"]),
        ("limit=", ["query", "limit"]),
        ("limit=1.5", ["query", "limit"]),
        ("limit=NaN", ["query", "limit"]),
        ("limit=1e999", ["query", "limit"]),
        ("limit=" + "[" * 5000, ["query", "limit"]),
        ("limit=" + "9" * 5000, ["query", "limit"]),
        ("exact=yes", ["query", "exact"]),
        ("tags=a", ["query", "tags"]),
        ("tags=1,b", ["query", "tags", 1]),
        ("tags=1&tags=b", ["query", "tags", 1]),
    ],
)
def test_wrong_query(pets: Mock, ask: Ask, query: str, place: list[Any]) -> None:
    got = ask(pets, "/pets", headers=TRACED, method="GET", query=query)
    assert 400 <= got.status < 500
    error = json.loads(got.body)
    if "detail" in error:  # else the document's own shape
        (detail,) = error["detail"]
        assert detail["loc"][:2] == place[:2]


@pytest.mark.parametrize(
    "query", ["limit=1", "tags=1&tags=2", "tags=7", "exact=false", "other=x", ""]
)
def test_right_query(pets: Mock, ask: Ask, query: str) -> None:
    assert ask(pets, "/pets", headers=TRACED, method="GET", query=query).status == 200


def test_a_number_out_of_bounds_is_told_so(tmp_path: Path, ask: Ask) -> None:
    root = petstore("3.1.0")
    del root["paths"]["/pets"]["get"]["responses"]["default"]
    got = ask(mock_of(tmp_path, root), "/pets", headers=TRACED, method="GET", query="limit=101")
    (detail,) = json.loads(got.body)["detail"]
    assert detail["loc"] == ["query", "limit"]
    assert detail["msg"] == "Input should be less than or equal to 100"


def test_a_required_header(pets: Mock, ask: Ask) -> None:
    assert 400 <= ask(pets, "/pets", method="GET").status < 500


def test_a_pet_is_made(pets: Mock, ask: Ask) -> None:
    pet = {"id": 1, "name": "Rex", "age": None}
    got = ask(pets, "/pets", pet)
    assert got.status == 201
    obeys(pets, "/pets", "POST", got)
    assert ask(pets, "/pets", {**pet, "age": 0.5}).status == 201
    for wrong in ({**pet, "age": 0}, {"id": 1}, {**pet, "status": "eaten"}, []):
        answer = ask(pets, "/pets", wrong)
        assert answer.status == 422
        assert answer.headers["content-type"] == "application/json"


def test_a_pet_in_xml_is_not_judged(pets: Mock, ask: Ask) -> None:
    got = ask(pets, "/pets", b"<pet id='1'/>", {"content-type": "application/xml"})
    assert got.status == 201


def test_one_pet(pets: Mock, ask: Ask) -> None:
    obeys(pets, "/pets/7", "GET", ask(pets, "/pets/7", method="GET"))
    assert ask(pets, "/pets/0", method="GET").status == 422
    assert ask(pets, "/pets/x", method="GET").status == 422
    assert ask(pets, "/pets/7/8", method="GET").status == 404


def test_no_content(pets: Mock, ask: Ask) -> None:
    got = ask(pets, "/pets/7", method="DELETE")
    assert (got.status, got.body) == (204, b"")
    assert "content-type" not in got.headers


def test_a_file_and_a_form(pets: Mock, ask: Ask) -> None:
    png = {"content-type": "image/png"}
    assert ask(pets, "/pets/7/photo", b"\x89PNG\xff", png, method="PUT").status == 202
    assert ask(pets, "/pets/7/photo", b"\x89PNG\xff", method="PUT").status == 415
    form = {"content-type": "application/x-www-form-urlencoded"}
    got = ask(pets, "/login", b"user=a&password=b", form)
    assert got.status == 200
    assert got.headers["content-type"] == "text/plain; charset=utf-8"
    assert got.body == "t0k€n".encode()


def test_examples_by_name(pets: Mock, ask: Ask) -> None:
    def health(prefer: str) -> Any:
        return ask(pets, "/health", headers={"prefer": prefer}, method="GET")

    assert json.loads(health("").body) == {"ok": True}
    assert json.loads(health("example=ill").body) == {"ok": False}
    assert health("example=ill").headers["preference-applied"] == 'example="ill"'
    got = health("example=dead")
    assert got.status == 400
    assert "well, ill" in json.loads(got.body)["message"]
    assert "preference-applied" not in got.headers
    dynamic = health("dynamic=true")
    assert dynamic.headers["preference-applied"] == "dynamic=true"
    assert set(json.loads(dynamic.body)) >= {"ok"}


def test_errors_by_their_code(pets: Mock, ask: Ask) -> None:
    def asked(code: int, path: str = "/pets", method: str = "GET") -> Any:
        headers = {**TRACED, "prefer": f"code={code}"}
        return ask(pets, path, b"" if method == "POST" else None, headers, method=method)

    for code in (418, 429, 503):  # by `default`: the shape is the document's
        got = asked(code)
        assert got.status == code
        assert set(json.loads(got.body)) >= {"code", "message"}
    got = asked(451, method="POST")  # by `4XX`
    assert got.status == 451
    assert set(json.loads(got.body)) >= {"code", "message"}
    got = asked(404, "/pets/7")
    assert got.status == 404
    got = asked(418, "/pets/7")  # not declared at all
    assert got.status == 400


def test_a_success_by_its_code(tmp_path: Path, ask: Ask) -> None:
    root = petstore("3.1.0")
    responses = root["paths"]["/health"]["get"]["responses"]
    responses["202"] = {"description": "Later."}
    mock = mock_of(tmp_path, root)
    got = ask(mock, "/health", headers={"prefer": "code=202"}, method="GET")
    assert (got.status, got.body) == (202, b"")
    got = ask(mock, "/health", headers={"prefer": "code=200"}, method="GET")
    assert (got.status, got.body) == (200, b'{"ok":true}')
    got = ask(mock, "/health", headers={"prefer": "code=206"}, method="GET")
    assert got.status == 400


def test_a_schema_that_nothing_satisfies(tmp_path: Path, ask: Ask) -> None:
    root = petstore("3.1.0")
    impossible = {"application/json": {"schema": {"type": "integer", "minimum": 5, "maximum": 4}}}
    root["paths"]["/health"]["get"]["responses"] = {
        "200": {"description": "Never.", "content": impossible},
        "422": {"description": "Never.", "content": impossible},
    }
    mock = mock_of(tmp_path, root)
    got = ask(mock, "/health", method="GET")
    assert got.status == 500  # the document is at fault, not the client
    assert "minimum" in got.body.decode() or "maximum" in got.body.decode()
    got = ask(mock, "/health", headers={"prefer": "code=422"}, method="GET")
    assert got.status in (422, 500)


def test_it_is_served(tmp_path: Path, serve: Callable[..., Any]) -> None:
    """The same over the wire, from YAML and JSON."""
    root = petstore("3.0.3")
    for name in ("pets.yaml", "pets.json"):
        served = serve("--spec", str(written(tmp_path, root, name)))
        with urllib.request.urlopen(f"{served.url}/local/health", timeout=30) as response:
            assert json.loads(response.read()) == {"ok": True}
        request = urllib.request.Request(f"{served.url}/pets/7", method="DELETE")
        with urllib.request.urlopen(request, timeout=30) as response:
            assert (response.status, response.read()) == (204, b"")


# ---------------------------------------------------------------------- media types


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/xml", "application/xml"),
        ("application/xml;q=0.5, application/json;q=0.4", "application/xml"),
        ("application/*;q=0.9, application/json;q=0.1", "application/xml"),
        ("text/html, */*;q=0.1", "application/json"),
        ("text/html", "application/xml"),  # nothing fits: the first of all
        ("APPLICATION/JSON", "application/json"),
        (",;q=,", "application/xml"),
    ],
)
def test_accept(pets: Mock, ask: Ask, accept: str, chosen: str) -> None:
    pet = {"id": 1, "name": "Rex"}
    assert ask(pets, "/pets", pet, {"accept": accept}).headers["content-type"] == chosen


def test_a_stream_of_a_new_operation(tmp_path: Path, ask: Ask) -> None:
    root = petstore("3.1.0")
    item = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    root["paths"]["/events"] = {
        "get": {
            "responses": {
                "200": {
                    "description": "Events.",
                    "content": {"text/event-stream": {"itemSchema": item}},
                }
            }
        }
    }
    got = ask(mock_of(tmp_path, root), "/events", method="GET")
    assert got.streamed
    assert got.headers["content-type"] == "text/event-stream; charset=utf-8"
    for part in got.parts:
        assert isinstance(json.loads(part.removeprefix(b"data: "))["n"], int)


# ---------------------------------------------------------------------- keys

SCHEMES = {
    "header": ({"type": "apiKey", "in": "header", "name": "X-Key"}, {"x-key": "k"}, ""),
    "query": ({"type": "apiKey", "in": "query", "name": "key"}, {}, "key=k"),
    "cookie": ({"type": "apiKey", "in": "cookie", "name": "key"}, {"cookie": "a=b; key=k"}, ""),
    "bearer": ({"type": "http", "scheme": "bearer"}, {"authorization": "bearer k"}, ""),
    "basic": ({"type": "http", "scheme": "Basic"}, {"authorization": "Basic k"}, ""),
    "oauth2": ({"type": "oauth2", "flows": {}}, {"authorization": "Bearer k"}, ""),
}


@pytest.mark.parametrize("name", SCHEMES)
def test_security_schemes(tmp_path: Path, ask: Ask, name: str) -> None:
    scheme, headers, query = SCHEMES[name]
    root = petstore("3.1.0")
    root["components"]["securitySchemes"] = {"one": scheme}
    root["security"] = [{"one": []}]
    root["paths"]["/pets/{petId}"]["delete"]["security"] = []
    mock = mock_of(tmp_path, root, api_key="k")

    def status(headers: dict[str, str], query: str = "", method: str = "GET") -> int:
        return int(
            ask(mock, "/pets/1", headers={"authorization": "", **headers}, query=query,
                method=method).status
        )  # fmt: skip

    assert status(headers, query) == 200
    assert status({}) == 401
    assert (
        status({key: value + "x" for key, value in headers.items()}, query and query + "x") == 401
    )
    assert status({}, method="DELETE") == 204  # open to all


def test_one_of_several_schemes_is_enough(tmp_path: Path, ask: Ask) -> None:
    root = petstore("3.1.0")
    root["components"]["securitySchemes"] = {
        n: SCHEMES[n][0] for n in ("header", "query", "bearer")
    }
    root["security"] = [{"header": [], "query": []}, {"bearer": []}]
    mock = mock_of(tmp_path, root)
    none = {"authorization": ""}
    assert ask(mock, "/pets/1", method="GET").status == 200
    assert ask(mock, "/pets/1", headers={**none, "x-key": "k"}, method="GET").status == 401
    both = ask(mock, "/pets/1", headers={**none, "x-key": "k"}, query="key=k", method="GET")
    assert both.status == 200
