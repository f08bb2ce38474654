"""What `wafermock spec lint` finds, where, and what it says becomes of it."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from wafermock.spec import DocumentError, load_contract, profiles
from wafermock.spec.document import Document, read_document
from wafermock.spec.lint import RULES, Finding, lint, lint_files
from wafermock.spec.load import sources
from wafermock.spec.overlay import Overlay, read_overlay
from wafermock.spec.pointer import format_pointer, resolve
from wafermock.spec.schema import compiled

from .documents import minimal, pets, with_schema, write

CHAT, COMPLETIONS = sources().documents


def found(*roots: dict[str, Any], overlays: list[Overlay] | None = None) -> list[Finding]:
    documents = [Document(Path(f"{n}.yaml"), "", root) for n, root in enumerate(roots)]
    return lint(documents, overlays or [])


def places(root: dict[str, Any], rule: str) -> list[str]:
    """The pointers of a rule's findings; other rules must find nothing but what is listed here."""
    return [format_pointer(f.pointer) for f in found(root) if f.rule == rule]


def operation(**parts: Any) -> dict[str, Any]:
    """An operation without a fault, with more or other parts."""
    content = {"application/json": {"schema": {"type": "object"}}}
    answers = {
        "200": {"description": "Fine", "content": content},
        "default": {"description": "Not", "content": content},
    }
    return {"operationId": "a", "responses": answers, **parts}


def api(path: str = "/a", **parts: Any) -> dict[str, Any]:
    return minimal(paths={path: {"get": operation(**parts)}})


# ------------------------------------------------------------------ the two documents as given


@pytest.fixture(scope="module")
def given() -> list[Finding]:
    overlays = [read_overlay(path) for path in sources().overlays]
    return lint([read_document(CHAT), read_document(COMPLETIONS)], overlays)


CHAT_POST = "#/paths/~1v1~1chat~1completions/post"
POST = "#/paths/~1v1~1completions/post"
EXPECTED = [
    (CHAT, "header-ignored", f"{CHAT_POST}/parameters/0", "chat-completions.yaml"),
    (
        CHAT,
        "example-placeholder",
        f"{CHAT_POST}/requestBody/content/application~1json/examples/Image Input/value"
        "/messages/0/content/1/image_url/url",
        "chat-completions.yaml",
    ),
    (CHAT, "error-undeclared", f"{CHAT_POST}/responses", "error-responses.yaml"),
    (CHAT, "stream-undeclared", f"{CHAT_POST}/responses/200/content", "chat-completions.yaml"),
    (
        CHAT,
        "example-breaks-schema",
        f"{CHAT_POST}/responses/200/content/application~1json/examples/Streaming/value",
        "chat-completions.yaml",
    ),
    (COMPLETIONS, "stream-undeclared", f"{POST}/responses/200/content", "completions.yaml"),
    (COMPLETIONS, "security-undefined", f"{POST}/security/0/HTTPBearer", "completions.yaml"),
]


def test_the_faults_of_the_documents(given: list[Finding]) -> None:
    told = [
        (Path(f.file), f.rule, format_pointer(f.pointer), f.remedy.partition(", action ")[0])
        for f in given
        if f.rule != "nullable"
    ]
    assert told == [(file, rule, at, f"overlays/{remedy}") for file, rule, at, remedy in EXPECTED]


def test_every_nullable_is_found(given: list[Finding]) -> None:
    lines = [n for n, line in enumerate(CHAT.read_text().splitlines(), 1) if "nullable: " in line]
    assert [f.line for f in given if f.rule == "nullable"] == lines
    assert {f.remedy for f in given if f.rule == "nullable"} == {"normalised when read"}
    assert "nullable" not in COMPLETIONS.read_text()


def test_a_finding_is_one_line_that_leads_there(given: list[Finding]) -> None:
    roots = {str(path): read_document(path) for path in (CHAT, COMPLETIONS)}
    for finding in given:
        document = roots[finding.file]
        assert "\n" not in str(finding)
        assert finding.line == document.line_of(finding.pointer)
        assert str(finding).startswith(
            f"{finding.file}:{finding.line}: {format_pointer(finding.pointer)}: {finding.sentence} "
            f"[{finding.rule}] -> {finding.remedy}"
        )


def test_remedies_quote_the_action(given: list[Finding]) -> None:
    (finding,) = [f for f in given if f.rule == "security-undefined"]
    assert finding.sentence == "the security scheme HTTPBearer is not defined; there is BearerAuth"
    assert finding.remedy.startswith("overlays/completions.yaml, action 1: The document names the")


@pytest.mark.parametrize("profile", profiles())
def test_the_completed_contract_has_no_fault(profile: str) -> None:
    assert found(load_contract(profile).document) == []


def test_without_files_the_built_in_documents_and_the_contract() -> None:
    examined = lint_files([], "observed")
    assert [len(findings) > 0 for _, findings in examined] == [True, True, False]
    assert [name.endswith(", as given") for name, _ in examined] == [True, True, False]
    assert "observed" in examined[-1][0]


# -------------------------------------------------------------------------------- the rules


def test_a_document_without_a_fault() -> None:
    assert found(api()) == []


def test_every_rule_says_what_it_wants() -> None:
    assert all(rule.description.endswith(".") for rule in RULES.values())
    assert all(RULES[id].id == id for id in RULES)


def test_security() -> None:
    root = {**api(security=[{"a": []}, {"c": [], "b": []}]), "security": [{"d": []}]}
    root["components"] = {"securitySchemes": {"a": {"type": "http"}, "b": {"type": "http"}}}
    assert places(root, "security-undefined") == ["#/security/0/d", "#/paths/~1a/get/security/1/c"]


def test_references() -> None:
    lost = {"$ref": "#/components/schemas/Nope"}
    either = {"oneOf": [{"$ref": "#/components/schemas/B"}],
              "discriminator": {"propertyName": "t", "mapping": {"x": "Gone"}}}  # fmt: skip
    root = with_schema({"properties": {"a": lost}}, B={}, C=either, D={"$ref": "gone.yaml#/x"})
    assert sorted(places(root, "reference-unresolved")) == [
        "#/components/schemas/C/discriminator/mapping/x",
        "#/components/schemas/D",
        "#/components/schemas/Subject/properties/a",
    ]


def test_a_fault_in_a_schema() -> None:
    root = with_schema({"properties": {"a": {"type": "strin", "nullable": True}}, "default": 1})
    (place,) = places(root, "schema-invalid")
    assert place.startswith("#/components/schemas/Subject/properties/a/type")
    assert places(root, "example-breaks-schema") == []


OLD = {
    "nullable": True,
    "minimum": 1,
    "exclusiveMinimum": True,
    "maximum": 3,
    "exclusiveMaximum": False,
    "example": 2,
}


@pytest.mark.parametrize("version", ["3.1.0", "3.1.1", "3.2.0", "3.10.0"])
def test_words_of_3_0_in_a_later_version(version: str) -> None:
    root = {**with_schema({"properties": {"nullable": OLD}}), "openapi": version}
    at = "#/components/schemas/Subject/properties/nullable"
    assert places(root, "nullable") == [f"{at}/nullable"]
    assert places(root, "exclusive-bound") == [f"{at}/exclusiveMinimum", f"{at}/exclusiveMaximum"]
    assert places(root, "schema-example") == [f"{at}/example"]


def test_words_of_3_0_in_3_0() -> None:
    root = {**with_schema(OLD), "openapi": "3.0.3"}
    assert {f.rule for f in found(root)} == {f.rule for f in found(minimal())}


def test_operation_ids() -> None:
    paths = {
        "/a": {"get": operation(operationId="x"), "post": operation(operationId="x")},
        "/b": {"get": operation(operationId="y"), "put": {**operation(), "operationId": ""}},
    }
    root = minimal(paths=paths)
    assert places(root, "operation-id-duplicate") == ["#/paths/~1a/post/operationId"]
    assert places(root, "operation-id-missing") == ["#/paths/~1b/put"]
    (first, second) = [f for f in found(root, api("/c", operationId="y"))
                       if f.rule == "operation-id-duplicate"]  # fmt: skip
    assert (first.file, second.file) == ("0.yaml", "1.yaml")
    assert "0.yaml, #/paths/~1b/get" in second.sentence


def test_path_parameters() -> None:
    x = {"name": "x", "in": "path", "required": True, "schema": {}}
    y, z = {**x, "name": "y"}, {**x, "name": "z"}
    paths = {
        "/{x}/{y}": {
            "parameters": [{"$ref": "#/components/parameters/X"}, z],
            "get": operation(parameters=[y]),
            "post": operation(operationId="b", parameters=[{**y, "in": "query"}]),
        }
    }
    root = minimal(paths=paths, components={"parameters": {"X": x}})
    at = "#/paths/~1{x}~1{y}"
    assert places(root, "path-parameter-undeclared") == [f"{at}/post"]
    assert places(root, "path-parameter-unused") == [f"{at}/parameters/1"]


def test_headers_that_are_ignored() -> None:
    names = ["Content-Type", "accept", "AUTHORIZATION", "X-Other"]
    parameters = [{"name": n, "in": "header", "schema": {}} for n in names]
    parameters.append({"name": "accept", "in": "query", "schema": {}})
    root = api(parameters=parameters)
    headers = {"content-type": {"schema": {}}, "accept": {"schema": {}}}
    root["paths"]["/a"]["get"]["responses"]["200"]["headers"] = headers
    at = "#/paths/~1a/get"
    assert places(root, "header-ignored") == [
        f"{at}/parameters/0", f"{at}/parameters/1", f"{at}/parameters/2",
        f"{at}/responses/200/headers/content-type",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "stream",
    [
        {"type": "boolean"},
        {"type": ["boolean", "null"]},
        {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        {"$ref": "#/components/schemas/Flag"},
    ],
)
@pytest.mark.parametrize("wrap", ["plain", "allOf", "anyOf"])
def test_a_stream_that_is_not_declared(stream: Any, wrap: str) -> None:
    body: Any = {"type": "object", "properties": {"stream": stream}}
    if wrap != "plain":
        body = {wrap: [{"$ref": "#/components/schemas/Body"}]}
    root = api(requestBody={"content": {"application/json": {"schema": body}}})
    root["components"] = {"schemas": {
        "Flag": {"type": "boolean"},
        "Body": {"type": "object", "properties": {"stream": stream}},
    }}  # fmt: skip
    at = "#/paths/~1a/get/responses/200/content"
    assert places(root, "stream-undeclared") == [at]
    content = root["paths"]["/a"]["get"]["responses"]["200"]["content"]
    content["text/event-stream; charset=utf-8"] = {}
    assert places(root, "stream-undeclared") == [f"{at}/text~1event-stream; charset=utf-8"]
    content["text/event-stream; charset=utf-8"] = {"itemSchema": {"type": "object"}}
    assert places(root, "stream-undeclared") == []


def test_what_is_no_stream() -> None:
    for schema in ({"properties": {"stream": {"type": "string"}}}, {"properties": {"x": {}}}, True):
        root = api(requestBody={"content": {"application/json": {"schema": schema}}})
        assert places(root, "stream-undeclared") == []


@pytest.mark.parametrize(
    ("responses", "rule", "expected"),
    [
        ({}, "error-undeclared", ["#/paths/~1a/get/responses"]),
        ({"200": {}, "3XX": {}}, "error-undeclared", ["#/paths/~1a/get/responses"]),
        ({"4XX": {}}, "error-undeclared", []),
        ({"500": {}}, "error-undeclared", []),
        ({"default": {}}, "error-undeclared", []),
        ({"404": {}}, "error-without-shape", ["#/paths/~1a/get/responses/404"]),
        (
            {"5XX": {"content": {"application/json": {}}}},
            "error-without-shape",
            ["#/paths/~1a/get/responses/5XX"],
        ),
        ({"404": {"content": {"text/html": {"schema": {}}}}}, "error-without-shape", []),
        ({"404": {"$ref": "#/components/responses/R"}}, "error-without-shape", []),
        ({"304": {}}, "error-without-shape", []),
    ],
)
def test_errors(responses: Any, rule: str, expected: list[str]) -> None:
    root = api(responses=responses)
    content = {"content": {"application/json": {"schema": {}}}}
    root["components"] = {"responses": {"R": content}}
    assert places(root, rule) == expected


def test_an_operation_without_responses() -> None:
    root = minimal(paths={"/a": {"get": {"operationId": "a"}}})
    assert places(root, "error-undeclared") == ["#/paths/~1a/get"]


# ------------------------------------------------------------------------------- examples

INTEGER = {"type": "integer"}
TWO = {"good": {"value": 1}, "bad": {"value": "x"}, "named": {"$ref": "#/components/examples/E"}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({**INTEGER, "default": "x"}, ["/default"]),
        ({**INTEGER, "default": 1, "examples": [1, "x", 2, None]}, ["/examples/1", "/examples/3"]),
        ({**INTEGER, "nullable": True, "default": None}, []),
        ({**INTEGER, "nullable": True, "default": "x"}, ["/default"]),
        ({"properties": {"a": {**INTEGER, "default": "x"}}}, ["/properties/a/default"]),
        ({"allOf": [{**INTEGER, "example": "x"}], "nullable": True}, ["/allOf/0/example"]),
        ({"$ref": "#/components/schemas/Text", "default": 1}, ["/default"]),
        ({"properties": {"default": INTEGER, "example": INTEGER}}, []),
        ({"default": {"default": "x"}}, []),
    ],
)
def test_examples_and_defaults_in_schemas(schema: Any, expected: list[str]) -> None:
    root = with_schema(schema, Text={"type": "string"})
    at = "#/components/schemas/Subject"
    assert places(root, "example-breaks-schema") == [at + place for place in expected]


def test_examples_of_parameters_headers_and_media_types() -> None:
    holder = {"schema": INTEGER, "example": "x"}
    content = {"application/json": {"schema": INTEGER, "examples": TWO}}
    root = api(
        parameters=[{"name": "p", "in": "query", **holder},
                    {"name": "q", "in": "query", "content": content}],
        requestBody={"content": content},
    )  # fmt: skip
    root["components"] = {
        "headers": {"H": holder},
        "mediaTypes": {"M": {"schema": INTEGER, "examples": TWO}},
        "examples": {"E": {"value": []}},
    }
    at = "#/paths/~1a/get"
    media_types = [
        f"{at}/parameters/1/content/application~1json",
        f"{at}/requestBody/content/application~1json",
        "#/components/mediaTypes/M",
    ]
    assert sorted(places(root, "example-breaks-schema")) == sorted([
        f"{at}/parameters/0/example",
        "#/components/headers/H/example",
        *(f"{place}/examples/{name}" for place in media_types for name in ("bad/value", "named")),
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("media_type", "example", "faults"),
    [
        ("application/json", "{}", 1),
        ("application/problem+json; charset=utf-8", "{}", 1),
        ("application/xml", "<a/>", 0),
        ("application/xml", [], 1),
        ("application/x-www-form-urlencoded", "a=b", 0),
    ],
)
def test_texts_of_media_types_that_are_not_json(media_type: str, example: Any, faults: int) -> None:
    content = {media_type: {"schema": {"type": "object"}, "example": example}}
    assert len(places(api(requestBody={"content": content}), "example-breaks-schema")) == faults


def stream(*events: Any) -> dict[str, Any]:
    chunk_schema = {"$ref": "#/components/schemas/C"}
    json_text = {"contentMediaType": "application/json", "contentSchema": chunk_schema}
    data = {"type": "string", "anyOf": [json_text, {"const": "[DONE]"}]}
    item = {"type": "object", "required": ["data"], "properties": {"data": data}}
    media_type = {"itemSchema": item, "examples": {"S": {"dataValue": list(events)}}}
    root = api(responses={"200": {"content": {"text/event-stream": media_type}}, "default": {}})
    chunk = {"type": "object", "required": ["n"], "properties": {"n": INTEGER}}
    return {**root, "openapi": "3.2.0", "components": {"schemas": {"C": chunk}}}


def test_examples_of_streams() -> None:
    good = [{"data": '{"n": 1}'}, {"data": "[DONE]"}]
    assert places(stream(*good), "example-breaks-schema") == []
    for bad, where in [
        ({"data": '{"n": "x"}'}, "at 1/data/n"),
        ({"data": "{}"}, "at 1/data/n"),
        ({"event": "x"}, "at 1/data"),
        ("text", "at 1"),
    ]:
        root = stream(good[0], bad)
        (finding,) = [f for f in found(root) if f.rule == "example-breaks-schema"]
        assert finding.pointer[-3:] == ("examples", "S", "dataValue")
        assert f"breaks its own schema {where}: " in finding.sentence


@pytest.mark.parametrize(
    ("text", "placeholder"),
    [
        ("data:image/png;base64,{BASE64_IMAGE}", "{BASE64_IMAGE}"),
        ("Bearer ${API_KEY}", "{API_KEY}"),
        ("{{ORG}}", "{ORG}"),
        ("<YOUR_KEY>", "<YOUR_KEY>"),
        ('{"a": {b}}', None),
        ("<HTML>", None),
        ("{A}", None),
    ],
)
def test_placeholders(text: str, placeholder: str | None) -> None:
    schema = {"properties": {"a": {"type": "array", "items": {"pattern": "^data:"}}}}
    root = with_schema({**schema, "examples": [{"a": ["data:", text]}]})
    findings = [f for f in found(root) if f.rule == "example-placeholder"]
    assert [f.pointer[-4:] for f in findings] == ([("examples", 0, "a", 1)] if placeholder else [])
    assert all(f"the placeholder {placeholder}" in f.sentence for f in findings)
    if placeholder:  # one fault, told once
        assert places(root, "example-breaks-schema") == []


def test_many_schemas_are_judged_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling costs in proportion to the document: not once for each of its examples."""
    calls = []

    def counting(schema: dict[str, Any]) -> Any:
        calls.append(schema)
        return compiled(schema)

    monkeypatch.setattr("wafermock.spec.schema.compiled", counting)
    many = {f"S{n}": {"properties": {"a": {**INTEGER, "default": n}}} for n in range(200)}
    found(with_schema({**INTEGER, "default": "x"}, **many))
    assert len(calls) < 5


def test_long_values_do_not_fill_the_screen() -> None:
    (finding,) = [f for f in found(with_schema({**INTEGER, "default": "x" * 10_000}))
                  if f.rule == "example-breaks-schema"]  # fmt: skip
    assert len(finding.sentence) < 300


# ------------------------------------------------------------------------------- remedies


def overlay(folder: Path, *actions: dict[str, Any], name: str = "o.yaml") -> Overlay:
    info = {"title": "T", "version": "1"}
    root = {
        "overlay": "1.0.0",
        "info": info,
        "actions": [{"description": f"Deed {n}", **a} for n, a in enumerate(actions, 1)],
    }
    return read_overlay(write(folder, name, root))


def test_the_action_after_which_it_is_gone(tmp_path: Path) -> None:
    root = api(security=[{"lost": []}])
    actions = [
        {"target": "$.paths['/a'].get", "update": {"summary": "near, but no help"}},
        {"target": "$.info", "update": {"title": "far"}},
        {"target": "$.paths['/a'].get.security", "remove": True},
        {"target": "$.paths['/a'].get", "update": {"security": []}},
    ]
    (finding,) = found(root, overlays=[overlay(tmp_path, *actions)])
    assert finding.remedy == f"{tmp_path.name}/o.yaml, action 3: Deed 3"


def test_no_action_helps(tmp_path: Path) -> None:
    root = api(security=[{"lost": []}])
    actions = [{"target": "$.paths['/a'].get", "update": {"summary": "S"}}]
    (finding,) = found(root, overlays=[overlay(tmp_path, *actions)])
    assert finding.remedy == "nothing; add an overlay action"
    assert found(root)[0].remedy == finding.remedy


def test_an_overlay_that_does_not_fit_is_no_error(tmp_path: Path) -> None:
    root = api(security=[{"lost": []}])
    actions = [
        {"target": "$.nope", "remove": True},
        {"target": "$.paths['/a'].get.security", "remove": True},
    ]
    (finding,) = found(root, overlays=[overlay(tmp_path, *actions)])
    assert finding.remedy == "nothing; add an overlay action"


def test_the_document_is_left_as_it_was(tmp_path: Path) -> None:
    root = api(security=[{"lost": []}])
    before = repr(root)
    found(
        root, overlays=[overlay(tmp_path, {"target": "$.paths['/a'].get.security", "remove": True})]
    )
    assert repr(root) == before


# ---------------------------------------------------------------------------------- files


def test_a_users_document(tmp_path: Path) -> None:
    ((name, findings),) = lint_files([write(tmp_path, "pets.json", pets())], "documented")
    assert name == str(tmp_path / "pets.json")
    assert Counter(f.rule for f in findings) == {"header-ignored": 1}


def test_findings_stand_in_the_order_of_lines(tmp_path: Path) -> None:
    path = write(tmp_path, "api.yaml", with_schema({**INTEGER, "default": "x", "nullable": True}))
    ((_, findings),) = lint_files([path], "documented")
    lines = [f.line or 0 for f in findings]
    assert lines == sorted(lines)
    for finding in findings:
        assert resolve(read_document(path).root, finding.pointer) is not None


def test_what_cannot_be_linted(tmp_path: Path) -> None:
    for text in ("openapi: [", "swagger: '2.0'\n", "openapi: 3.1.0\npaths: []\n"):
        with pytest.raises(DocumentError):
            lint_files([write(tmp_path, "bad.yaml", text)], "documented")
    with pytest.raises(DocumentError, match="No such file"):
        lint_files([tmp_path / "gone.yaml"], "documented")
