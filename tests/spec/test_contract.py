"""The contract answers what a document says; what cannot be used is told of in one line."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wafermock.spec import Contract, DocumentError, load_contract, profiles
from wafermock.spec.bundle import bundle, to_yaml
from wafermock.spec.complete import complete
from wafermock.spec.document import Document, read_document
from wafermock.spec.lint import lint
from wafermock.spec.load import CATALOGUES as NAMES
from wafermock.spec.load import HERE, sources
from wafermock.spec.merge import merge
from wafermock.spec.show import show_contract, show_operation

from .documents import PETS, minimal, pets, with_schema, write

ANSWER = {"responses": {"200": {"description": "Fine"}}}


def loaded(folder: Path, document: Any, name: str = "api.yaml") -> Contract:
    return load_contract(documents=[write(folder, name, document)])


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Contract:
    """A user's own document, OpenAPI 3.0."""
    return loaded(tmp_path_factory.mktemp("pets"), PETS)


# --------------------------------------------------------------------------- the built-in one


@pytest.mark.parametrize("profile", profiles())
def test_both_profiles_load(profile: str) -> None:
    contract = load_contract(profile)
    assert contract.profile == profile
    assert {o.name for o in contract.operations} >= {
        "POST /v1/chat/completions",
        "POST /v1/completions",
    }
    assert contract.schema("ChatCompletionRequest").is_valid({"model": "m", "messages": []})
    with pytest.raises(KeyError):
        contract.schema("Nope")
    with pytest.raises(KeyError):
        contract.operation("nope")


def test_an_unknown_profile() -> None:
    with pytest.raises(ValueError, match="no profile 'x'; there are documented, observed"):
        load_contract("x")


def test_fingerprints_name_the_content(tmp_path: Path) -> None:
    one, two = load_contract(), load_contract("observed")
    assert one.fingerprint == load_contract().fingerprint != two.fingerprint
    assert re.fullmatch("[0-9a-f]{32}", one.fingerprint)
    assert (
        loaded(tmp_path, minimal(), "a.json").fingerprint == loaded(tmp_path, minimal()).fingerprint
    )


def test_an_item_of_a_stream_is_what_its_data_holds() -> None:
    success = load_contract().operation("createChatCompletion").success
    assert success is not None
    events = success.content["text/event-stream"]
    assert events.schema is None
    assert events.item_schema is not None
    assert events.item_schema.pointer[-1] == "contentSchema"


def test_without_the_built_in_overlays() -> None:
    bare = load_contract(corrected=False)
    assert {o.name for o in bare.operations} == {
        "POST /v1/chat/completions",
        "POST /v1/completions",
    }
    assert not any(o.streams for o in bare.operations)


# --------------------------------------------------------------------------- a user's document


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/pets", ("listPets", {})),
        ("get", "/pets", ("listPets", {})),
        ("POST", "/pets", ("createPet", {})),
        ("GET", "/pets/mine", ("myPet", {})),
        ("GET", "/pets/7", ("readPet", {"pet_id": "7"})),
        ("GET", "/pets/a%2Fb%20c", ("readPet", {"pet_id": "a/b c"})),
        ("GET", "/api/v2/pets/7", ("readPet", {"pet_id": "7"})),
        ("GET", "/api/v2/pets", ("listPets", {})),
        ("DELETE", "/pets", None),
        ("GET", "/pets/", None),
        ("GET", "/pets/7/", None),
        ("GET", "/pets/7/toys", None),
        ("GET", "/api/pets", None),
        ("GET", "/Pets", None),
        ("GET", "", None),
    ],
)
def test_routes(shop: Contract, method: str, path: str, expected: Any) -> None:
    route = shop.route(method, path)
    assert (route and (route.operation.id, route.path_values)) == expected


def test_methods_of_a_path(shop: Contract) -> None:
    assert shop.methods("/pets") == ["GET", "POST"]
    assert shop.methods("/api/v2/pets/7") == ["GET"]
    assert shop.methods("/nope") == []


@pytest.mark.parametrize("template", ["/a.b/{x}", "/a/{x}-{y}", "/(a)/{x}+", "/{x}"])
def test_templates_are_taken_literally_but_for_their_names(tmp_path: Path, template: str) -> None:
    contract = loaded(tmp_path, minimal(paths={template: {"get": ANSWER}}))
    filled = template.replace("{x}", "1").replace("{y}", "2")
    route = contract.route("GET", filled)
    assert route is not None
    assert route.path_values == {k: v for k, v in {"x": "1", "y": "2"}.items() if k in template}
    assert contract.route("GET", filled.replace(".", "X").replace("+", "") + "/") is None


def test_parameters(shop: Contract) -> None:
    listed = {(p.name, p.place): p for p in shop.operation("listPets").parameters}
    assert listed.keys() == {("limit", "query")}  # `Accept` shall be ignored
    limit = listed["limit", "query"]
    assert not limit.required
    assert limit.schema is not None
    assert [n for n in (0, 1, 100, 101) if limit.schema.is_valid(n)] == [1, 100]
    read = {p.name: p for p in shop.operation("readPet").parameters}
    assert read["pet_id"].required
    assert read["lang"].required  # the operation's own goes before the path's
    assert read["lang"].schema is not None
    assert not read["lang"].schema.is_valid("fr")


def test_bodies_and_answers(shop: Contract) -> None:
    create = shop.operation("createPet")
    assert create.request_body is not None
    assert create.request_body.required
    assert create.request_schema is not None
    assert create.request_schema.is_valid({"name": "Rex", "tag": None})
    assert not create.request_schema.is_valid({"name": None})
    assert not create.request_schema.is_valid({"name": "Rex", "weight": 0})
    assert create.success is create.responses["201"]
    assert create.response(404) is create.responses["4XX"]
    assert create.response(500) is None
    listed = shop.operation("listPets")
    assert listed.response(503) is listed.responses["default"]
    assert listed.responses["200"].headers["x-next"].required
    assert listed.responses["200"].headers["x-next"].example == "/p/2"
    assert not listed.streams


def test_examples(shop: Contract) -> None:
    content = shop.operation("listPets").responses["200"].content["application/json"]
    assert content.examples["default"].value[0]["name"] == "Rex"
    content = shop.operation("readPet").responses["200"].content["application/json"]
    assert content.examples["Rex"].value == {"id": 1, "name": "Rex"}
    assert content.examples["Rex"].summary == "A dog"


def test_security(shop: Contract) -> None:
    assert shop.operation("listPets").security == ({"key": []},)
    assert shop.operation("createPet").security == ({"key": []}, {})
    assert shop.operation("myPet").security == ()


def test_dates_in_a_document_are_text(shop: Contract) -> None:
    assert shop.schema("Pet").properties["born"]["default"] == "2020-01-01"


def test_json_is_the_same_contract(shop: Contract, tmp_path: Path) -> None:
    assert loaded(tmp_path, pets(), "pets.json").document == shop.document


def test_no_built_in_overlay_touches_it(shop: Contract) -> None:
    assert list(shop.document["paths"]) == ["/pets", "/pets/mine", "/pets/{pet_id}"]
    assert shop.document["openapi"] == "3.0.3"


def test_operations_without_an_id_are_named_by_method_and_path(tmp_path: Path) -> None:
    contract = loaded(tmp_path, minimal(paths={"/a": {"get": ANSWER, "query": ANSWER}}))
    assert {o.id for o in contract.operations} == {"get /a", "query /a"}


def test_chains_of_references(tmp_path: Path) -> None:
    content = {"application/json": {"schema": {"type": "integer"}}}
    document = minimal(
        paths={"/a": {"get": {"responses": {"200": {"$ref": "#/components/responses/A"}}}}},
        components={"responses": {
            "A": {"$ref": "#/components/responses/B"},
            "B": {"$ref": "#/components/responses/C"},
            "C": {"description": "C", "content": content},
        }},
    )  # fmt: skip
    response = loaded(tmp_path, document).operation("get /a").responses["200"]
    schema = response.content["application/json"].schema
    assert schema is not None
    assert not schema.is_valid("x")


def test_a_reference_into_a_list(tmp_path: Path) -> None:
    parameters = [{"name": "n", "in": "query", "schema": {"type": "integer"}}]
    paths = {
        "/a": {"get": {**ANSWER, "parameters": parameters}},
        "/b": {"get": {**ANSWER, "parameters": [{"$ref": "#/paths/~1a/get/parameters/0"}]}},
    }
    (parameter,) = loaded(tmp_path, minimal(paths=paths)).operation("get /b").parameters
    assert parameter.schema is not None
    assert not parameter.schema.is_valid("x")


def test_a_stream_of_plain_items(tmp_path: Path) -> None:
    item = {"type": "object", "required": ["data"], "properties": {"data": {"type": "string"}}}
    content = {"text/event-stream": {"itemSchema": item}}
    paths = {"/a": {"get": {"responses": {"200": {"description": "", "content": content}}}}}
    operation = loaded(tmp_path, minimal(openapi="3.2.0", paths=paths)).operation("get /a")
    assert operation.streams
    assert operation.success is not None
    schema = operation.success.content["text/event-stream"].item_schema
    assert schema is not None
    assert schema.is_valid({"data": "x"})
    assert not schema.is_valid({})


def test_the_document_is_what_drives(tmp_path: Path) -> None:
    """A property, an operation and an example more, and the contract has them."""
    given = json.loads(json.dumps(load_contract(corrected=False).document))
    given["components"]["schemas"]["ChatCompletionRequest"]["properties"]["mood"] = {
        "enum": ["good"]
    }
    given["paths"]["/v1/more"] = {"get": {"operationId": "more", **ANSWER}}
    contract = loaded(tmp_path, given, "copy.json")
    request = {"model": "m", "messages": []}
    schema = contract.schema("ChatCompletionRequest")
    assert schema.is_valid({**request, "mood": "good"})
    assert not schema.is_valid({**request, "mood": "bad"})
    assert contract.route("GET", "/v1/more") is not None


# ------------------------------------------------------------------------ what cannot be used


@pytest.mark.parametrize(
    ("change", "pointer", "words"),
    [
        ({"openapi": None}, "#", "not an OpenAPI 3 document"),
        ({"openapi": 3.1}, "#", "not an OpenAPI 3 document"),
        ({"openapi": "2.0"}, "#", "not an OpenAPI 3 document"),
        ({"info": []}, "#/info", "a mapping is wanted"),
        ({"servers": {"url": "x"}}, "#/servers", "a list is wanted"),
        ({"servers": [{}]}, "#/servers/0", "`url` is missing"),
        ({"security": {"a": []}}, "#/security", "a list is wanted"),
        ({"tags": ["a"]}, "#/tags/0", "a mapping is wanted"),
        ({"paths": {}}, "#/paths", "no operations"),
        ({"paths": None}, "#/paths", "a mapping is wanted"),
        ({"paths": {"a": {}}}, "#/paths", "a path begins with `/`"),
        ({"paths": {"/a": []}}, "#/paths/~1a", "a mapping is wanted"),
        ({"paths": {"/a": {"get": []}}}, "#/paths/~1a/get", "a mapping is wanted"),
        ({"paths": {"/a": {"get": {"operationId": 1}}}}, "#/paths/~1a/get/operationId", "a text"),
        (
            {"paths": {"/a": {"get": {"parameters": [{"name": "x"}]}}}},
            "#/paths/~1a/get/parameters/0",
            "`in` is missing",
        ),
        (
            {"paths": {"/a": {"get": {"parameters": [{"name": "x", "in": "body"}]}}}},
            "#/paths/~1a/get/parameters/0/in",
            "one of path, query, header",
        ),
        (
            {"paths": {"/a": {"get": {"responses": {"ok": {}}}}}},
            "#/paths/~1a/get/responses",
            "under a status",
        ),
        (
            {"paths": {"/a": {"get": {"responses": {"200": {"content": []}}}}}},
            "#/paths/~1a/get/responses/200/content",
            "a mapping is wanted",
        ),
        ({"components": {"schemas": []}}, "#/components/schemas", "a mapping is wanted"),
        (
            {"components": {"schemas": {"A": {"properties": []}}}},
            "#/components/schemas/A/properties",
            "a mapping is wanted",
        ),
        (
            {"components": {"schemas": {"A": {"type": "strin"}}}},
            "#/components/schemas/A/type",
            "not a schema",
        ),
        (
            {"components": {"schemas": {"A": {"pattern": "("}}}},
            "#/components/schemas/A/pattern",
            "not a schema",
        ),
        (
            {"paths": {"/a": {"get": {"parameters": [{"$ref": "#/info"}], **ANSWER}}}},
            "#/paths/~1a/get",
            "cannot be read",
        ),
    ],
)
def test_one_line_with_file_line_and_pointer(
    tmp_path: Path, change: Any, pointer: str, words: str
) -> None:
    document = {k: v for k, v in {**minimal(), **change}.items() if v is not None or k != "openapi"}
    path = write(tmp_path, "api.yaml", document)
    with pytest.raises(DocumentError) as caught:
        load_contract(documents=[path])
    message = str(caught.value)
    assert re.match(rf"{re.escape(str(path))}:\d+: {re.escape(pointer)}: ", message), message
    assert words in message
    assert "\n" not in message


def test_an_overlay_that_breaks_the_shape(tmp_path: Path) -> None:
    action = {"target": "$.paths['/a'].get", "update": {"parameters": {"x": 1}}}
    overlay = {"overlay": "1.0.0", "info": {"title": "T", "version": "1"}, "actions": [action]}
    with pytest.raises(DocumentError, match="#/paths/~1a/get/parameters: a list is wanted here"):
        load_contract(
            documents=[write(tmp_path, "api.yaml", minimal())],
            overlays=[write(tmp_path, "overlay.yaml", overlay)],
        )


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
@pytest.mark.parametrize("profile", profiles())
def test_an_api_of_the_same_paths(tmp_path: Path, path: str, profile: str) -> None:
    """The built-in overlays are about Cerebras's documents, which their titles name; they are not
    about somebody else's API."""
    body = {"content": {"application/json": {"schema": {"type": "object"}}}}
    post = {"requestBody": body, "responses": ANSWER["responses"]}
    theirs = write(tmp_path, "api.yaml", minimal(paths={path: {"post": post}}))
    contract = load_contract(profile, documents=[theirs])
    assert [(o.name, o.answer) for o in contract.operations] == [(f"POST {path}", None)]


def test_a_document_that_the_built_in_overlays_do_not_fit(tmp_path: Path) -> None:
    """It has the name and a path of the API, and little else of the published documents."""
    info = {"title": "Cerebras Inference", "version": "1"}
    post = {"requestBody": {"content": {"application/json": {}}}, **ANSWER}
    document = minimal(info=info, paths={"/v1/chat/completions": {"post": post}})
    path = write(tmp_path, "api.yaml", document)
    with pytest.raises(DocumentError) as caught:
        load_contract(documents=[path])
    message = str(caught.value)
    assert message.startswith(f"{path}:1: #: the built-in overlays")
    assert re.search(
        r"\([a-z-]+\.yaml:\d+, action \d+, target .*\): leave them out with --bare ", message
    )
    load_contract(documents=[path], corrected=False)


def test_an_overlay_of_ones_own_that_does_not_fit_is_the_fault(tmp_path: Path) -> None:
    action = {"target": "$.nope", "update": {"x": 1}}
    overlay = {"overlay": "1.0.0", "info": {"title": "T", "version": "1"}, "actions": [action]}
    mine = write(tmp_path, "overlay.yaml", overlay)
    with pytest.raises(DocumentError, match=r"matches nothing in the document$") as caught:
        load_contract(documents=[write(tmp_path, "api.yaml", minimal())], overlays=[mine])
    assert caught.value.file == str(mine)


JUNK: list[Any] = [
    None, 0, 1.5, True, "x", "", [], {}, [None], [{}], {"a": 1}, {"$ref": "#/nope"}, {"$ref": 1},
    {"$ref": "#/components/schemas/Pet"}, {"$ref": "#/components/responses/Failure"},
    {"$ref": "#/paths"}, "#", [[]], {"x-a": []}, {"": {}}, {"type": 5},
    {"$ref": "#/components/schemas/Pet/properties/kind/enum/0"},
]  # fmt: skip
KEYS = [
    "default", "type", "items", "allOf", "properties", "nullable", "enum", "required", "const",
    "content", "schema", "examples", "headers", "security", "tags", "servers", "callbacks", "$ref",
    "discriminator", "itemSchema", "parameters", "responses",
]  # fmt: skip


def damaged(seed: int) -> dict[str, Any]:
    """A document with one node replaced, removed or added, as the seed has it."""
    document = pets()
    document["components"]["schemas"]["Either"] = {
        "oneOf": [{"$ref": "#/components/schemas/Pet"}, {"$ref": "#/components/schemas/Failure"}],
        "discriminator": {"propertyName": "kind", "mapping": {"dog": "#/components/schemas/Pet"}},
        "nullable": True,
    }
    draw = random.Random(seed)
    nodes = list(containers(document))
    node = draw.choice(nodes)
    junk = json.loads(json.dumps(draw.choice(JUNK)))
    if isinstance(node, dict) and (not node or draw.random() < 0.2):
        node[draw.choice(KEYS)] = junk
    elif node:
        key = draw.choice(list(node)) if isinstance(node, dict) else draw.randrange(len(node))
        if draw.random() < 0.1:
            del node[key]
        else:
            node[key] = junk
    return document


def containers(node: Any) -> Any:
    if isinstance(node, dict | list):
        yield node
        for inner in node.values() if isinstance(node, dict) else node:
            yield from containers(inner)


CATALOGUES = {name: read_document(HERE / f"{name}.yaml") for name in NAMES}


@given(st.integers(0, 10**9))
@settings(max_examples=200)
def test_damaged_documents_load_or_are_told_of(seed: int) -> None:
    root = damaged(seed)
    document = Document(Path("damaged.yaml"), json.dumps(root), root)
    outcomes = [
        outcome(lambda: lint([document])),
        outcome(lambda: use(complete(merge([document]), [], CATALOGUES, "documented"))),
    ]
    for error in outcomes:
        assert error is None or re.match(r"damaged\.yaml:\d+: #.*: ", str(error))


def outcome(deed: Callable[[], object]) -> DocumentError | None:
    try:
        deed()
    except DocumentError as error:
        return error
    return None


def use(contract: Contract) -> None:
    """Ask a contract all there is."""
    to_yaml(bundle(contract))
    show_contract(contract)
    for operation in contract.operations:
        show_operation(contract, operation, 80)
        media_types = [m for r in operation.responses.values() for m in r.content.values()]
        media_types += operation.request_body.content.values() if operation.request_body else []
        for media_type in media_types:
            for schema in (media_type.schema, media_type.item_schema):
                if schema is not None:
                    schema.violations({"kind": "dog"})
                    assert isinstance(schema.properties, dict)
    contract.route("GET", "/pets/7")
    contract.methods("/api/v2/pets")


def test_sources_of_a_profile() -> None:
    files = sources("observed", ["a.yaml"], ["b.yaml"])
    assert files.documents == (Path("a.yaml"),)
    assert files.overlays[-1] == Path("b.yaml")
    assert files.overlays[-2].name == "observed-chat.yaml"
    assert sources("observed", [], ["b.yaml"], corrected=False).overlays == (Path("b.yaml"),)


def test_schemas_with_every_scalar_default(tmp_path: Path) -> None:
    contract = loaded(tmp_path, with_schema({"default": None, "examples": [None]}))
    assert contract.schema("Subject").is_valid(None)
