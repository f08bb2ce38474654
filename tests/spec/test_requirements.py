"""Rules between parameters: every one of them broken and kept, and any body survived."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.spec import load, load_contract
from wafermock.spec.checks import CHECKS
from wafermock.spec.document import Document, DocumentError, read_document
from wafermock.spec.errors import ErrorCatalogue
from wafermock.spec.predicates import PREDICATES
from wafermock.spec.requirements import RequirementCatalogue

CHAT = "createChatCompletion"
COMPLETIONS = "completions_v1_completions_post"
FILE = read_document(load.HERE / "requirements.yaml")
ERRORS = ErrorCatalogue(read_document(load.HERE / "errors.yaml"), "documented")
MODELS = read_document(load.HERE / "models.yaml").root["models"]
CATALOGUE = RequirementCatalogue(FILE, ERRORS)

PNG = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
WEB = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}


def broken(
    body: dict[str, Any],
    model: str | None = None,
    operation: str = CHAT,
    patch: int | None = None,
) -> list[str]:
    """Name the requirements that a body breaks."""
    body = {"messages": [{"role": "user", "content": "Hi"}], "model": model, **body}
    capabilities = MODELS[model] if model else None
    return [u.requirement.id for u in CATALOGUE.unmet(body, operation, capabilities, patch)]


def says(content: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": content}]}


def tool(name: str, strict: bool | None = None) -> dict[str, Any]:
    function = {"name": name} if strict is None else {"name": name, "strict": strict}
    return {"type": "function", "function": function}


def call(id: str) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}}


def asks(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [call(id) for id in ids]}


def answers(id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": ""}


def talk(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"messages": list(messages)}


def format_of(schema: Any, strict: Any = True) -> dict[str, Any]:
    json_schema = {"name": "s", "schema": schema, "strict": strict}
    return {"response_format": {"type": "json_schema", "json_schema": json_schema}}


def closed(properties: Any, **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        **more,
    }


def strict(properties: Any, **more: Any) -> dict[str, Any]:
    return format_of(closed(properties, **more))


def nested(depth: int) -> dict[str, Any]:
    """Nest `depth` objects and arrays in each other, in turn."""
    schema: dict[str, Any] = {"type": "string"}
    for level in reversed(range(depth)):
        schema = {"type": "array", "items": schema} if level % 2 else closed({"a": schema})
    return schema


CHOSEN = {"type": "function", "function": {"name": "f"}}
PREDICTION = {"prediction": {"type": "content", "content": "x"}}
JSON_OBJECT = {"response_format": {"type": "json_object"}}
TEXT = {"response_format": {"type": "text"}}
STRING = {"type": "string"}
HI = {"role": "user", "content": "Hi"}

# id: bodies that break it, bodies that keep it; in a tuple with the model and the operation, where
# these matter.
CASES: dict[str, tuple[list[Any], list[Any]]] = {
    "one-completion-limit": (
        [{"max_tokens": 1, "max_completion_tokens": 1}],
        [{"max_tokens": 1}, {"max_completion_tokens": 1, "max_tokens": None}],
    ),
    "top-logprobs-need-logprobs": (
        [{"top_logprobs": 2}, {"top_logprobs": 0, "logprobs": False}],
        [{"top_logprobs": 2, "logprobs": True}, {"top_logprobs": None}, {"logprobs": True}],
    ),
    "best-of-exceeds-n": (
        [({"best_of": 2, "n": 2}, None, COMPLETIONS), ({"best_of": 1, "n": 3}, None, COMPLETIONS)],
        [
            ({"best_of": 3, "n": 2}, None, COMPLETIONS),
            ({"best_of": 1, "n": 1}, None, COMPLETIONS),
            ({"n": 3}, None, COMPLETIONS),
            ({"best_of": 2, "n": 2}, None, CHAT),
        ],
    ),
    "best-of-is-not-streamed": (
        [({"best_of": 2, "stream": True}, None, COMPLETIONS)],
        [
            ({"best_of": 1, "stream": True}, None, COMPLETIONS),
            ({"best_of": 2, "stream": False}, None, COMPLETIONS),
        ],
    ),
    "no-suffix": (
        [({"suffix": "."}, None, COMPLETIONS)],
        [({"suffix": None}, None, COMPLETIONS), ({"suffix": "."}, None, CHAT)],
    ),
    "prediction-without-logprobs": (
        [{**PREDICTION, "logprobs": True}],
        [{**PREDICTION, "logprobs": False}, {"logprobs": True}],
    ),
    "prediction-without-n": (
        [{**PREDICTION, "n": 2}],
        [{**PREDICTION, "n": 1}, {**PREDICTION, "n": None}, {"n": 2}],
    ),
    "prediction-without-tools": (
        [{**PREDICTION, "tools": [tool("f")]}],
        [{**PREDICTION, "tools": []}, {"tools": [tool("f")]}],
    ),
    "reasoning-effort-of-model": (
        [
            ({"reasoning_effort": "none"}, "gpt-oss-120b"),
            ({"reasoning_effort": "low"}, "zai-glm-4.7"),
            ({"reasoning_effort": "low"}, "llama3.1-8b"),
        ],
        [
            ({"reasoning_effort": "high"}, "gpt-oss-120b"),
            ({"reasoning_effort": None}, "zai-glm-4.7"),
            ({"reasoning_effort": "none"}, "gemma-4-31b"),
            {"reasoning_effort": "none"},
        ],
    ),
    "reasoning-format-of-model": (
        [
            ({"reasoning_format": "raw"}, "gemma-4-31b"),
            ({"reasoning_format": "hidden"}, "gemma-4-31b", COMPLETIONS),
        ],
        [({"reasoning_format": "raw"}, "zai-glm-4.7"), {"reasoning_format": "raw"}],
    ),
    "clear-thinking-of-model": (
        [({"clear_thinking": False}, "gpt-oss-120b")],
        [
            ({"clear_thinking": False}, "zai-glm-4.7"),
            ({"clear_thinking": None}, "gpt-oss-120b"),
            {"clear_thinking": True},
        ],
    ),
    "model-parameters-of-model": (
        [({"model_parameters": {"a": 1}}, "gpt-oss-120b")],
        [({"model_parameters": {}}, "gpt-oss-120b"), {"model_parameters": {"a": 1}}],
    ),
    "roles-of-model": (
        [(talk(HI, {"role": "developer", "content": "x"}), "gemma-4-31b")],
        [(talk({"role": "developer", "content": "x"}), "gpt-oss-120b"), (talk(HI), "gemma-4-31b")],
    ),
    "images-are-embedded": (
        [(says([WEB]), "gemma-4-31b"), says([{"type": "text", "text": ""}, PNG, WEB])],
        [(says([PNG]), "gemma-4-31b"), says("https://example.com")],
    ),
    "images-for-vision-models": (
        [(says([PNG]), "gpt-oss-120b")],
        [(says([PNG]), "gemma-4-31b"), says([PNG])],
    ),
    "images-of-bounded-size": (
        [(says([{"type": "image_url", "image_url": {"url": "data:" + "A" * 10_485_760}}]),
          "gemma-4-31b")],
        [(says([PNG]), "gemma-4-31b")],
    ),
    "images-of-bounded-number": (
        [(says([PNG] * 6), "gemma-4-31b")],
        [(says([PNG] * 5), "gemma-4-31b"), says([PNG] * 6)],
    ),
    "tool-choice-needs-tools": (
        [{"tool_choice": "auto"}, {"tool_choice": CHOSEN, "tools": []}],
        [{"tool_choice": "auto", "tools": [tool("f")]}, {"tool_choice": None}],
    ),
    "tool-choice-names-a-tool": (
        [{"tool_choice": CHOSEN, "tools": [tool("g")]}],
        [{"tool_choice": CHOSEN, "tools": [tool("g"), tool("f")]},
         {"tool_choice": "required", "tools": [tool("g")]}],
    ),
    "tools-alike-in-strictness": (
        [{"tools": [tool("f", True), tool("g")]}, {"tools": [tool("f", True), tool("g", False)]}],
        [{"tools": [tool("f", True), tool("g", True)]}, {"tools": [tool("f"), tool("g", False)]}],
    ),
    "tools-or-response-format": (
        [{"tools": [tool("f")], **JSON_OBJECT}, {"tools": [tool("f")], **format_of({}, False)}],
        [{"tools": [tool("f")], **TEXT}, {"tools": [], **JSON_OBJECT}],
    ),
    "call-ids-are-unique": (
        [talk(asks("1"), answers("1"), asks("1"), answers("1")),
         talk(asks("1", "1"), answers("1"))],
        [talk(asks("1", "2"), answers("1"), answers("2"))],
    ),
    "tool-messages-answer-calls": (
        [talk(HI, answers("1")), talk(asks("1"), answers("1"), answers("2")),
         talk(asks("1"), answers("1"), asks("2"), answers("2"), answers("1"))],
        [talk(HI, asks("1"), answers("1"), HI)],
    ),
    "calls-are-answered": (
        [talk(HI, asks("1")), talk(asks("1"), HI), talk(asks("1", "2"), answers("1"), HI),
         talk(asks("1"), asks("2"), answers("2"))],
        [talk(asks("1", "2"), answers("2"), answers("1"), asks("3"), answers("3"))],
    ),
    "json-object-is-not-streamed": (
        [{**JSON_OBJECT, "stream": True}],
        [{**JSON_OBJECT, "stream": None}, {**TEXT, "stream": True}],
    ),
    "strict-size": (
        [strict({"a": {"anyOf": [STRING] * 5_000}})],
        [strict({"a": {"anyOf": [STRING] * 4_998}}),
         format_of(closed({"a": {"anyOf": [STRING] * 5_000}}), False)],
    ),
    "strict-root-is-an-object": (
        [format_of({"type": "array", "items": STRING}), format_of(closed({})), format_of(None),
         format_of(closed({"a": STRING}, anyOf=[{}]))],
        [strict({"a": STRING}), format_of({"type": "array"}, False),
         strict({"a": {"anyOf": [STRING, {"type": "null"}]}})],
    ),
    "strict-keywords": (
        [strict({"a": {"type": "array", "minItems": 1, "items": STRING}}),
         strict({"a": {"oneOf": [STRING]}}), strict({"a": {"type": "string", "format": "date"}}),
         strict({"a": {"$ref": "#/$defs/a"}}, **{"$defs": {"a": {"not": STRING}}}),
         strict({"a": STRING}, patternProperties={"b": STRING})],
        [strict({"pattern": STRING, "not": STRING, "if": STRING}),
         format_of({"pattern": "a"}, False), strict({"a": {"enum": ["format"]}})],
    ),
    "strict-definitions": (
        [strict({"a": {"$ref": "#/definitions/a"}}, definitions={"a": STRING})],
        [strict({"a": {"$ref": "#/$defs/a"}}, **{"$defs": {"a": STRING}})],
    ),
    "strict-objects-are-closed": (
        [format_of({"type": "object", "properties": {"a": STRING}}),
         strict({"a": {"type": "object", "properties": {"b": STRING}}}),
         strict({"a": {"items": {"type": "object", "additionalProperties": True}}})],
        [strict({"a": closed({"b": STRING})}), format_of({"type": "object"}, False)],
    ),
    "strict-references-are-local": (
        [strict({"a": {"$ref": "#/$defs/b"}}), strict({"a": {"$ref": "https://example.com/s"}}),
         strict({"a": {"$ref": 1}})],
        [strict({"a": {"$ref": "#/$defs/b~1c"}}, **{"$defs": {"b/c": STRING}})],
    ),
    "strict-schema-is-finite": (
        [strict({"a": {"$ref": "#"}}), strict({"a": {"$ref": "#/properties/a"}}),
         strict({"a": {"$ref": "#/$defs/b"}},
                **{"$defs": {"b": {"anyOf": [{"$ref": "#/$defs/c"}]},
                             "c": {"type": "array", "items": {"$ref": "#/$defs/b"}}}})],
        [strict({"a": {"$ref": "#/$defs/b"}, "c": {"$ref": "#/$defs/b"}},
                **{"$defs": {"b": closed({"d": {"$ref": "#/$defs/e"}}), "e": STRING}})],
    ),
    "strict-depth": (
        [format_of(nested(11)),
         strict({"a": {"$ref": "#/$defs/b"}}, **{"$defs": {"b": nested(10)}})],
        [format_of(nested(10)), format_of(nested(11), False),
         strict({"a": {"anyOf": [{"anyOf": [STRING]}] * 3}})],
    ),
    "strict-properties": (
        [strict({f"p{i}": STRING for i in range(501)}),
         strict({"a": closed({f"p{i}": STRING for i in range(500)})})],
        [strict({f"p{i}": STRING for i in range(500)})],
    ),
    "strict-enum-values": (
        [strict({"a": {"enum": list(range(501))}}),
         strict({"a": {"enum": list(range(250))}, "b": {"enum": list(range(251))}})],
        [strict({"a": {"enum": list(range(500))}})],
    ),
}  # fmt: skip
ONLY_PATCH_2 = {
    "tool-choice-needs-tools",
    "call-ids-are-unique",
    "tool-messages-answer-calls",
    "calls-are-answered",
    "strict-definitions",
    "strict-objects-are-closed",
}


def whole(case: Any) -> tuple[dict[str, Any], str | None, str]:
    """Complete a case: body, model, operation."""
    body, model, operation = (*case, CHAT)[:3] if isinstance(case, tuple) else (case, None, CHAT)
    return body, model, operation


def cases(side: int) -> list[Any]:
    return [
        pytest.param(name, *whole(case), id=f"{name}-{number}")
        for name, sides in CASES.items()
        for number, case in enumerate(sides[side])
    ]


def test_every_requirement_has_cases_in_its_order() -> None:
    assert [requirement.id for requirement in CATALOGUE.requirements] == list(CASES)


@pytest.mark.parametrize(("name", "body", "model", "operation"), cases(0))
def test_broken(name: str, body: dict[str, Any], model: str | None, operation: str) -> None:
    assert name in broken(body, model, operation)
    assert (name in broken(body, model, operation, patch=1)) == (name not in ONLY_PATCH_2)


@pytest.mark.parametrize(("name", "body", "model", "operation"), cases(1))
def test_kept(name: str, body: dict[str, Any], model: str | None, operation: str) -> None:
    assert name not in broken(body, model, operation)


def test_every_answer_is_a_declared_error() -> None:
    contract = load_contract()
    response = contract.operation(CHAT).responses["400"].content["application/json"]
    assert response.schema
    for name, (bodies, _) in CASES.items():
        for case in bodies:
            body, model, operation = whole(case)
            capabilities = MODELS[model] if model else None
            found = CATALOGUE.unmet({"model": model, **body}, operation, capabilities)
            (unmet,) = [u for u in found if u.requirement.id == name]
            answer = unmet.answer()
            assert isinstance(answer, dict)
            assert response.schema.violations(answer) == []
            assert "{" not in answer["message"] or "fields" in answer["message"]
            assert unmet.error.status == (413 if name == "images-of-bounded-size" else 400)
            assert answer["type"] == "invalid_request_error"


def message(body: dict[str, Any], model: str | None = None) -> Any:
    (unmet,) = CATALOGUE.unmet({"model": model, **body}, CHAT, MODELS[model] if model else None)
    answer = unmet.answer()
    assert isinstance(answer, dict)
    return answer["param"], answer["code"], answer["message"]


def test_recorded_answers_to_the_letter() -> None:
    wrong = "wrong_api_format"
    items = {"pattern": "a", "minItems": 2}
    schema = {"type": "array", "minItems": 1, "format": "x", "items": items}
    assert message(strict({"a": schema})) == (
        "response_format",
        wrong,
        "Unsupported JSON schema fields: {'minItems', 'format', 'pattern'}",
    )
    assert message(format_of({"type": "object", "properties": {"a": STRING}})) == (
        "response_format",
        wrong,
        "'additionalProperties' is required to be supplied and set to false.",
    )
    assert message({"tools": [tool("f")], **JSON_OBJECT}) == (
        "response_format",
        wrong,
        '"tools" is incompatible with "response_format"',
    )
    assert message({"tool_choice": "auto"}) == (
        "tool_choice",
        wrong,
        "'tool_choice' is only allowed when 'tools' are specified",
    )


@pytest.mark.parametrize(
    ("body", "model", "sentence"),
    [
        (
            {"reasoning_effort": "none"},
            "gpt-oss-120b",
            "reasoning_effort 'none' is not supported by model gpt-oss-120b. "
            "Supported: low, medium, high.",
        ),
        (
            {"reasoning_effort": "low"},
            "llama3.1-8b",
            "reasoning_effort 'low' is not supported by model llama3.1-8b. Supported: none at all.",
        ),
        (
            talk(HI, answers("x")),
            None,
            "messages.1: tool_call_id 'x' is not among the calls of the assistant message "
            "before it.",
        ),
        (
            talk(HI, asks("x"), HI),
            None,
            "messages.1: the tool call 'x' is not answered by a tool message right after it.",
        ),
        (
            says([PNG] * 6),
            "gemma-4-31b",
            "A request may hold up to 5 images; this one holds 6.",
        ),
    ],
)
def test_answers_name_what_was_found(body: Any, model: str | None, sentence: str) -> None:
    assert message(body, model)[2] == sentence


def test_several_are_listed_in_order() -> None:
    body = {"top_logprobs": 1, "max_tokens": 1, "max_completion_tokens": 1, "tool_choice": "auto"}
    assert broken(body) == [
        "one-completion-limit", "top-logprobs-need-logprobs", "tool-choice-needs-tools"
    ]  # fmt: skip


def test_documents_examples_break_nothing() -> None:
    contract = load_contract()
    for id in (CHAT, COMPLETIONS):
        request = contract.operation(id).request_body
        assert request
        for example in request.content["application/json"].examples.values():
            model = MODELS[example.value["model"]]
            for patch in (1, 2):
                assert CATALOGUE.unmet(example.value, id, model, patch) == []


def test_default_patch_is_the_headers_default() -> None:
    contract = load_contract()
    (header,) = [p for p in contract.operation(CHAT).parameters if "Version-Patch" in p.name]
    assert header.schema
    assert header.schema.node["default"] == str(CATALOGUE.default_patch)
    assert {int(p) for p in header.schema.node["enum"]} == {1, 2}


def test_operations_and_fields_exist() -> None:
    contract = load_contract()
    for requirement in CATALOGUE.requirements:
        for id in requirement.operations:
            schema = contract.operation(id).request_schema
            assert schema
            node = contract.schema(schema.node["$ref"].rsplit("/")[-1]).node
            for predicate in requirement.predicates:
                for field in fields(predicate):
                    assert field.split(".")[0] in node["properties"], (requirement.id, field)


def fields(predicate: Any) -> Iterator[str]:
    for name, operand in predicate.items():
        if name in ("present", "absent", "true", "not_true"):
            yield operand
        elif name in ("equals", "above", "not_above", "matches", "not_of_model"):
            yield from operand
            yield from operand.values() if name == "not_above" else ()


def test_whole_language_is_in_use() -> None:
    predicates = [p for r in CATALOGUE.requirements for p in r.predicates]
    assert {p["check"] for p in predicates if "check" in p} == set(CHECKS)
    assert {name for p in predicates if "check" not in p for name in p} == set(PREDICATES)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"when": [{"check": "nonsense"}]}, "there is no check nonsense"),
        ({"when": [{"nonsense": "a"}]}, "a predicate is one of present,"),
        ({"when": [{"present": "a", "absent": "b"}]}, "a predicate is one of present,"),
        ({"error": {"name": "nonsense"}}, "errors.yaml has no entry nonsense"),
        ({"error": {"message": "m", "nonsense": 1}}, "not an error:"),
    ],
)
def test_entry_that_cannot_be_read(change: dict[str, Any], sentence: str) -> None:
    root = copy.deepcopy(FILE.root)
    root["requirements"][1].update(change)
    catalogue = RequirementCatalogue(Document(FILE.path, FILE.text, root), ERRORS)
    with pytest.raises(DocumentError, match=sentence) as caught:
        catalogue.unmet({}, CHAT)
    assert caught.value.pointer
    assert caught.value.pointer[:2] == ("requirements", 1)


# ------------------------------------------------------------------------------------ any body

NAMES = st.sampled_from(
    ["messages", "content", "image_url", "url", "tools", "tool_choice", "tool_calls",
     "tool_call_id", "function", "name", "id", "role", "response_format", "json_schema", "schema",
     "strict", "type", "properties", "items", "anyOf", "$ref", "$defs", "enum", "n", "best_of",
     "stream", "logprobs", "top_logprobs", "reasoning_effort", "model", "prediction", "suffix"]
)  # fmt: skip
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
    | st.sampled_from(["#", "#/$defs/a", "json_schema", "tool", "assistant", "object", "https://x"])
)  # fmt: skip
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=25,
)


@given(JSON, st.sampled_from([None, *MODELS]), st.sampled_from([CHAT, COMPLETIONS, "other"]))
def test_any_body_is_survived(body: Any, model: str | None, operation: str) -> None:
    before = copy.deepcopy(body)
    found = CATALOGUE.unmet(body, operation, MODELS[model] if model else None)
    assert repr(body) == repr(before)
    assert operation != "other" or found == []
    for unmet in found:
        assert isinstance(unmet.answer(), dict)


ODD: list[Any] = [None, True, 0, 1.5, "", "x", [], ["x"], {}, {"x": 1}, [{}], [[]]]


def places(node: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from places(value, (*at, key))


def with_value(node: Any, at: tuple[Any, ...], value: Any) -> Any:
    if not at:
        return value
    changed = copy.copy(node)
    changed[at[0]] = with_value(node[at[0]], at[1:], value)
    return changed


@pytest.mark.parametrize(("name", "body", "model", "operation"), [*cases(0), *cases(1)])
def test_a_wrong_value_at_any_place_is_survived(
    name: str, body: Any, model: str | None, operation: str
) -> None:
    """Bodies that are nearly right reach deeper than any that are made at random."""
    if len(repr(body)) > 700:  # the cases about bounds: deep, wide, and no other in kind
        return
    for at in places(body):
        for value in ODD:
            CATALOGUE.unmet(
                with_value(body, at, value), operation, MODELS[model] if model else None
            )


@given(JSON)
def test_any_strict_schema_is_survived(schema: Any) -> None:
    for unmet in CATALOGUE.unmet(format_of(schema), CHAT):
        json.dumps(unmet.answer())


def chained(link: Any, length: int) -> dict[str, Any]:
    """Make definitions that each refer to the next: `link` makes one from the reference."""
    definitions = {str(i): link({"$ref": f"#/$defs/{i + 1}"}) for i in range(length)}
    return strict({"a": {"$ref": "#/$defs/0"}}, **{"$defs": {**definitions, str(length): {}}})


def deep(length: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(length):
        schema = {"type": "array", "items": schema}
    return strict({"a": schema})


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (deep(4_000), ["strict-depth"]),
        (chained(lambda ref: {"type": "array", "items": ref}, 2_000), ["strict-depth"]),
        (chained(lambda ref: {"anyOf": [ref, ref]}, 1_500), []),
        (strict({str(i): STRING for i in range(4_000)}), ["strict-properties"]),
        (strict({str(i): STRING for i in range(5_000)}, format="x"), ["strict-size"]),
        (strict({str(i): STRING for i in range(500_000)}, format="x"), ["strict-size"]),
    ],
    ids=["deep", "chain", "doubling", "wide", "large", "huge"],
)
def test_walks_neither_recurse_nor_follow_every_path(
    body: dict[str, Any], expected: list[str]
) -> None:
    assert broken(body) == expected
