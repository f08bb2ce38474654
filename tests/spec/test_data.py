"""The data of `spec/`: overlays, catalogues, and what they make of the two documents."""

import base64
import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from msgspec.structs import replace
from openapi_spec_validator import OpenAPIV32SpecValidator

from wafermock.spec import load, load_contract, profiles
from wafermock.spec.contract import Contract
from wafermock.spec.document import read_document
from wafermock.spec.errors import ErrorCatalogue
from wafermock.spec.merge import merge
from wafermock.spec.operation import MediaType, Operation
from wafermock.spec.overlay import apply_overlay, find, read_overlay
from wafermock.spec.pointer import Pointer, resolve

SPEC = load.HERE
OVERLAYS = sorted((SPEC / "overlays").glob("*.yaml"))
CHAT = SPEC / "openapi" / "chat-completions.yaml"
COMPLETIONS = SPEC / "openapi" / "completions.yaml"
DOCUMENTS = {"both": (), "chat": (CHAT,), "completions": (COMPLETIONS,)}
COMBINATIONS = [(name, profile) for name in DOCUMENTS for profile in ("documented", "observed")]
PATHS = {"createChatCompletion", "completions_v1_completions_post"}

# Overlay Specification 1.0.0, sections 4.4.1 to 4.4.3 and 4.6.
OVERLAY_1_0 = {
    "type": "object",
    "required": ["overlay", "info", "actions"],
    "properties": {
        "overlay": {"pattern": r"^1\.0\.\d+$"},
        "info": {
            "type": "object",
            "required": ["title", "version"],
            "properties": {"title": {"type": "string"}, "version": {"type": "string"}},
            "patternProperties": {"^x-": True},
            "additionalProperties": False,
        },
        "extends": {"type": "string", "format": "uri-reference"},
        "actions": {
            "type": "array",
            "minItems": 1,
            "uniqueItems": True,
            "items": {
                "type": "object",
                "required": ["target"],
                "properties": {
                    "target": {"type": "string", "pattern": r"^\$"},
                    "description": {"type": "string"},
                    "update": True,
                    "remove": {"type": "boolean"},
                },
                "patternProperties": {"^x-": True},
                "additionalProperties": False,
            },
        },
    },
    "patternProperties": {"^x-": True},
    "additionalProperties": False,
}


def read(path: Path) -> dict[str, Any]:
    return read_document(path).root


@pytest.fixture(scope="module")
def contracts() -> dict[tuple[str, str], Contract]:
    return {
        (name, profile): load_contract(profile, DOCUMENTS[name]) for name, profile in COMBINATIONS
    }


@pytest.fixture(scope="module")
def documented(contracts: dict[tuple[str, str], Contract]) -> Contract:
    return contracts["both", "documented"]


@pytest.fixture(scope="module")
def observed(contracts: dict[tuple[str, str], Contract]) -> Contract:
    return contracts["both", "observed"]


# ------------------------------------------------------------------------------------ overlays


def test_every_overlay_is_listed_once() -> None:
    sources = read(SPEC / "sources.yaml")
    listed = [*sources["overlays"], *(o for p in sources["profiles"].values() for o in p)]
    assert sorted(listed) == [f"overlays/{path.name}" for path in OVERLAYS]
    assert profiles() == ("documented", "observed")


@pytest.mark.parametrize("path", OVERLAYS, ids=lambda path: path.stem)
def test_overlay_is_one_by_the_specification(path: Path) -> None:
    overlay = read(path)
    validator = jsonschema_rs.Draft202012Validator(OVERLAY_1_0)
    assert [error.message for error in validator.iter_errors(overlay)] == []
    for action in overlay["actions"]:
        assert len(action["description"]) > 10, action["target"]
        assert ("update" in action) != ("remove" in action), action["target"]


def steps(name: str, profile: str) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield each action that is applied, with the document as it stands before it."""
    files = load.sources(profile, DOCUMENTS[name])
    root = merge([read_document(path) for path in files.documents]).root
    for path in files.overlays:
        overlay = read_overlay(path)
        if not overlay.applies(root):
            continue
        for action in overlay.actions:
            yield root, action
            apply_overlay(root, replace(overlay, actions=(action,)))


@pytest.mark.parametrize(("name", "profile"), COMBINATIONS)
def test_actions_mean_one_thing_in_every_reading_of_overlay_1_0(name: str, profile: str) -> None:
    for root, action in steps(name, profile):
        found = find(action.target, root, action)
        assert found, action.target
        for pointer in found:
            node = resolve(root, pointer)
            assert isinstance(node, dict | list), f"{action.target} selects a primitive"
            if "update" in action.body:
                assert_plain(node, action.body["update"], action.target)


def assert_plain(node: Any, update: Any, target: str) -> None:
    """An array gets one entry; inside an object no array meets an array that is there already."""
    if isinstance(node, list):
        assert isinstance(update, dict), f"{target}: an entry to append is wanted"
        return
    assert isinstance(update, dict), f"{target}: an object is updated with an object"
    for key, value in update.items():
        if key in node:
            assert not (isinstance(node[key], list) and isinstance(value, list)), (target, key)
            assert not isinstance(value, dict) or isinstance(node[key], dict), (target, key)
            if isinstance(value, dict):
                assert_plain(node[key], value, target)


def test_components_for_chat_alone_are_those_of_completions() -> None:
    own = read(COMPLETIONS)["components"]["schemas"]
    (action,) = read(SPEC / "overlays" / "chat-alone.yaml")["actions"]
    assert action["update"] == {name: own[name] for name in action["update"]}


def test_another_document_is_left_alone(tmp_path: Path) -> None:
    pets = {
        "openapi": "3.1.0",
        "info": {"title": "Pets", "version": "1"},
        "paths": {"/pets": {"get": {"responses": {"200": {"description": "Pets"}}}}},
    }
    path = tmp_path / "pets.yaml"
    path.write_text(yaml.safe_dump(pets))
    for profile in profiles():
        assert load_contract(profile, [path]).document == pets


# ------------------------------------------------------------------------------------ the result


@pytest.mark.parametrize(("name", "profile"), COMBINATIONS)
def test_contract_is_openapi_3_2(contracts: Any, name: str, profile: str) -> None:
    document = contracts[name, profile].document
    assert [e.message for e in OpenAPIV32SpecValidator(document).iter_errors()] == []
    assert document["openapi"] == "3.2.0"
    assert document["info"]["title"] == "Cerebras Inference API"


@pytest.mark.parametrize(("name", "profile"), COMBINATIONS)
def test_operations_are_complete(contracts: Any, name: str, profile: str) -> None:
    contract = contracts[name, profile]
    tags = {tag["name"]: tag for tag in contract.document["tags"]}
    assert all(tag.get("description") for tag in tags.values())
    for operation in contract.operations:
        node = operation.node
        assert all(node.get(key) for key in ("operationId", "summary", "description", "tags"))
        assert set(node["tags"]) <= set(tags)
        for requirement in operation.security:
            assert set(requirement) <= set(contract.document["components"]["securitySchemes"])
        assert {"401", "403", "405", "429", "500", "502", "503", "504"} <= set(operation.responses)
        if operation.id in PATHS:
            assert {"400", "402", "404", "408", "413", "415"} <= set(operation.responses)
            assert ("422" in operation.responses) == (profile == "documented")
            assert operation.streams


def test_who_answers_what(documented: Contract) -> None:
    assert {o.id: o.answer for o in documented.operations} == {
        "createChatCompletion": "chat.completion",
        "completions_v1_completions_post": "text_completion",
        "listModels": "model.list",
        "retrieveModel": "model",
        "warmConnection": None,
    }


def media_types(operation: Operation) -> Iterator[MediaType]:
    if operation.request_body:
        yield from operation.request_body.content.values()
    for response in operation.responses.values():
        yield from response.content.values()


@pytest.mark.parametrize(("name", "profile"), COMBINATIONS)
def test_examples_obey_their_schemas(contracts: Any, name: str, profile: str) -> None:
    seen = 0
    for operation in contracts[name, profile].operations:
        for media_type in media_types(operation):
            for example in media_type.examples.values():
                seen += 1
                if media_type.item_schema is None:
                    assert media_type.schema is not None
                    assert media_type.schema.violations(example.value) == [], example.name
                else:
                    *chunks, end = (event["data"] for event in example.value)
                    assert end == "[DONE]"
                    for chunk in chunks:
                        assert media_type.item_schema.violations(json.loads(chunk)) == []
    assert seen > 40


def test_request_and_answer_examples_share_their_names(documented: Contract) -> None:
    for id in PATHS:
        operation = documented.operation(id)
        assert operation.request_body
        assert operation.success
        asked = set(operation.request_body.content["application/json"].examples)
        answered = {n for m in operation.success.content.values() for n in m.examples}
        assert asked == answered
        assert {"Default", "Streaming"} <= asked
        assert set(operation.success.content["text/event-stream"].examples) == {"Streaming"}


def test_documents_examples_are_kept(documented: Contract) -> None:
    response = documented.operation("completions_v1_completions_post").success
    assert response
    own = read(COMPLETIONS)["components"]["schemas"]
    default = response.content["application/json"].examples["Default"].value
    assert default == own["CompletionResponse"]["examples"][0]
    request = documented.operation("completions_v1_completions_post").request_body
    assert request
    streaming = request.content["application/json"].examples["Streaming"].value
    assert streaming == own["CompletionRequest"]["examples"][0]
    chat = read(CHAT)["paths"]["/v1/chat/completions"]["post"]["responses"]["200"]
    given = chat["content"]["application/json"]["examples"]["Streaming"]["value"]
    events = documented.operation("createChatCompletion").success
    assert events
    chunk = events.content["text/event-stream"].examples["Streaming"].value[0]["data"]
    assert json.loads(chunk) == given


def test_image_example_is_an_image(documented: Contract) -> None:
    body = documented.operation("createChatCompletion").request_body
    assert body
    example = body.content["application/json"].examples["Image Input"].value
    url = example["messages"][0]["content"][1]["image_url"]["url"]
    data = base64.b64decode(url.removeprefix("data:image/png;base64,"), validate=True)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    kinds, at = [], 8
    while at < len(data):  # PNG, section 5.3: length, type, data, CRC
        (length,) = struct.unpack(">I", data[at : at + 4])
        chunk = data[at + 4 : at + 8 + length]
        (crc,) = struct.unpack(">I", data[at + 8 + length : at + 12 + length])
        assert zlib.crc32(chunk) == crc
        kinds.append(chunk[:4])
        at += 12 + length
    assert kinds == [b"IHDR", b"IDAT", b"IEND"]


def test_every_body_is_read_in_four_spellings(documented: Contract) -> None:
    for id in PATHS:
        body = documented.operation(id).request_body
        assert body
        assert set(body.content) == {
            "application/json",
            "application/msgpack",
            "application/vnd.msgpack",
            "application/x-msgpack",
        }


def test_headers_of_requests(documented: Contract) -> None:
    def headers(id: str) -> dict[str, Any]:
        parameters = documented.operation(id).parameters
        return {p.name: p.schema for p in parameters if p.place == "header"}

    chat, completions = headers("createChatCompletion"), headers("completions_v1_completions_post")
    assert set(chat) == {"Content-Encoding", "queue_threshold", "X-Cerebras-Version-Patch"}
    assert {"Content-Encoding", "X-Cerebras-Version-Patch"} <= set(completions)
    good = ["50", "99", "100", "9999", "10000", "19999", "20000"]
    bad = ["", "0", "49", "050", "20001", "30000", "100000", "1.5", "-100", "50\n", "５５"]
    threshold = chat["queue_threshold"]
    assert [value for value in good + bad if threshold.is_valid(value)] == good


def test_headers_of_answers(documented: Contract) -> None:
    spans = ("minute", "hour", "day")
    names = {f"x-ratelimit-{k}-{w}-{s}" for k in ("limit", "remaining")
             for w in ("requests", "tokens") for s in spans}  # fmt: skip
    names |= {"x-ratelimit-reset-requests-day", "x-ratelimit-reset-tokens-minute"}
    for id in PATHS:
        success = documented.operation(id).success
        assert success
        assert set(success.headers) == names | {"x-request-id", "inference-id"}
        assert not any(header.required for header in success.headers.values())
        reset = success.headers["x-ratelimit-reset-tokens-minute"].schema
        assert reset
        assert reset.is_valid(31.25)


# ------------------------------------------------------------------------------------ streams

ENVELOPE = {
    "id": "chatcmpl-29429662-a0ae-4139-815a-be566d744aae",
    "created": 1775680004,
    "model": "gpt-oss-120b",
    "system_fingerprint": "fp_4c26d27ac5dbffe28c72",
    "object": "chat.completion.chunk",
}
CHOICES: list[dict[str, Any]] = [
    {"delta": {"role": "assistant"}, "index": 0},
    {"delta": {"content": "Hello"}, "index": 0},
    {"delta": {"reasoning": "We", "content": "Hi"}, "index": 0},
    {"delta": {}, "finish_reason": "stop", "index": 0},
    {"delta": {"tool_calls": [{"function": {"name": "f", "arguments": ""}, "type": "function",
                               "id": "049d9b129", "index": 0}]}, "index": 0},
    {"delta": {"tool_calls": [{"function": {"arguments": "{"}, "type": "function", "index": 0}]},
     "index": 0},
    {"delta": {"content": "é", "tokens": [1]}, "index": 1, "reasoning_logprobs": None,
     "logprobs": {"content": [{"token": "é", "logprob": -0.5, "bytes": [195, 169], "top_logprobs": [
         {"token": "é", "logprob": -0.5, "bytes": [195, 169]}]}], "refusal": None}},
    {"index": 0, "text": "Hi", "tokens": [1, 2]},
]  # fmt: skip
USAGE = {
    "total_tokens": 3, "completion_tokens": 1, "prompt_tokens": 2, "image_tokens": 1,
    "completion_tokens_details": {
        "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0, "reasoning_tokens": 1
    },
    "prompt_tokens_details": {"cached_tokens": 0},
}  # fmt: skip
TIME_INFO = {"queue_time": 0.1, "prompt_time": 0.1, "completion_time": 1, "total_time": 2,
             "created": 1775680004.5}  # fmt: skip
ERROR_EVENT = {
    "status_code": 500,
    "error": {
        "message": "Encountered a server error, please try again.",
        "type": "server_error", "param": "", "code": "", "id": "",
    },
}  # fmt: skip


def item_schema(contract: Contract, id: str) -> Any:
    success = contract.operation(id).success
    assert success
    return success.content["text/event-stream"].item_schema


@pytest.mark.parametrize("choice", CHOICES, ids=range(len(CHOICES)))
def test_chunks_of_every_kind(documented: Contract, choice: dict[str, Any]) -> None:
    schema = item_schema(documented, "createChatCompletion")
    chunk = {**ENVELOPE, "choices": [choice]}
    last = {**chunk, "usage": USAGE, "time_info": TIME_INFO, "service_tier": "default"}
    assert schema.violations(chunk) == []
    assert schema.violations(last) == []


def test_chunk_is_closed_at_every_level(documented: Contract) -> None:
    chunk = {**ENVELOPE, "choices": CHOICES, "usage": USAGE, "time_info": TIME_INFO}
    schema = item_schema(documented, "createChatCompletion")
    assert schema.is_valid(chunk)
    places = list(objects(chunk, ()))
    assert len(places) > 20
    for pointer in places:
        broken = json.loads(json.dumps(chunk))
        resolve(broken, pointer)["surplus"] = None
        assert not schema.is_valid(broken), pointer


def objects(value: Any, at: Pointer) -> Iterator[Pointer]:
    """Yield the pointer of every object inside a value."""
    if isinstance(value, dict):
        yield at
        for key, inner in value.items():
            yield from objects(inner, (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from objects(inner, (*at, index))


@pytest.mark.parametrize("key", ["id", "created", "model", "system_fingerprint", "object"])
def test_chunk_needs_its_envelope(documented: Contract, key: str) -> None:
    schema = item_schema(documented, "createChatCompletion")
    assert not schema.is_valid({k: v for k, v in ENVELOPE.items() if k != key})
    assert not schema.is_valid({**ENVELOPE, "object": "chat.completion"})


LOGPROB = ("choices", 6, "logprobs", "content", 0)
NEEDED: list[Pointer] = [
    ("choices", 0, "index"),
    *(("choices", 4, "delta", "tool_calls", 0, key) for key in ("function", "type")),
    *((*LOGPROB, key) for key in ("token", "logprob", "top_logprobs")),
    *((*LOGPROB, "top_logprobs", 0, key) for key in ("token", "logprob")),
]


@pytest.mark.parametrize("pointer", NEEDED, ids=str)
def test_pieces_of_a_chunk_need_their_keys(documented: Contract, pointer: Pointer) -> None:
    broken = json.loads(json.dumps({**ENVELOPE, "choices": CHOICES}))
    del resolve(broken, pointer[:-1])[pointer[-1]]
    assert not item_schema(documented, "createChatCompletion").is_valid(broken)


@pytest.mark.parametrize(("name", "profile"), COMBINATIONS)
def test_error_in_a_stream(contracts: Any, name: str, profile: str) -> None:
    contract = contracts[name, profile]
    for operation in contract.operations:
        if operation.id in PATHS:
            schema = item_schema(contract, operation.id)
            assert schema.is_valid(ERROR_EVENT)
            assert not schema.is_valid(ERROR_EVENT["error"])


def test_events_are_data_only(documented: Contract) -> None:
    for path in ("/v1/chat/completions", "/v1/completions"):
        success = documented.document["paths"][path]["post"]["responses"]["200"]
        event = success["content"]["text/event-stream"]["itemSchema"]
        assert jsonschema_rs.is_valid(
            {**event, "properties": {"data": {"type": "string"}}}, {"data": "[DONE]"}
        )
        assert event["required"] == ["data"]
        assert event["additionalProperties"] is False


# ------------------------------------------------------------------------------------ requests

USER = {"role": "user", "content": "Hi"}
FUNCTION = {"name": "f", "parameters": {"type": "object"}, "strict": True, "description": None}
CALL = {"id": "1", "type": "function", "index": 0, "function": {"name": "f", "arguments": "{}"}}
EVERYTHING: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": [{"type": "text", "text": "Be"}], "name": None},
        {"role": "developer", "content": [{"type": "text", "text": "Be"}], "name": "d"},
        {"role": "user", "name": "u", "content": [
            {"type": "text", "text": "Hi"},
            {"type": "image_url", "image_url": {"url": "data:", "detail": "auto"}},
        ]},
        {"role": "assistant", "content": None, "name": None, "reasoning": None,
         "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "1", "name": "f",
         "content": [{"type": "text", "text": ""}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Hi"}], "tool_calls": None},
    ],
    "clear_thinking": True, "disable_reasoning": True, "frequency_penalty": -2,
    "logit_bias": {"1": -100}, "logprobs": None, "max_completion_tokens": -1, "max_tokens": -1,
    "min_completion_tokens": -1, "min_tokens": -1, "model_parameters": {"foo": "bar"}, "n": 1,
    "parallel_tool_calls": True, "presence_penalty": -2, "prompt_cache_key": "k",
    "prediction": {"type": "content", "content": [{"type": "text", "text": "Hi"}]},
    "reasoning_effort": "none", "reasoning_format": "none", "seed": 0, "service_tier": "auto",
    "response_format": {"type": "json_schema", "json_schema": {
        "name": "s", "description": None, "schema": {"type": "object"}, "strict": None}},
    "stop": ["a", "b", "c", "d"], "stream": False, "stream_options": {"include_usage": True},
    "temperature": 0, "tool_choice": {"type": "function", "function": {"name": "f"}},
    "tools": [{"type": "function", "function": FUNCTION}], "top_logprobs": 0, "top_p": 1,
    "user": "u",
}  # fmt: skip


@pytest.mark.parametrize("profile", ["documented", "observed"])
def test_every_parameter_is_taken(contracts: Any, profile: str) -> None:
    schema = contracts["both", profile].schema("ChatCompletionRequest")
    assert schema.violations(EVERYTHING) == []
    assert set(schema.node["properties"]) == set(EVERYTHING)


OPTIONAL = sorted(set(EVERYTHING) - {"model", "messages"})


@pytest.mark.parametrize("profile", ["documented", "observed"])
@pytest.mark.parametrize("name", OPTIONAL)
def test_null_is_taken_where_clients_send_it(contracts: Any, profile: str, name: str) -> None:
    schema = contracts["both", profile].schema("ChatCompletionRequest")
    assert schema.is_valid({"model": "m", "messages": [USER], name: None})


@pytest.mark.parametrize(
    "fault",
    [
        {"n": 0},
        {"stop": ["a"] * 5},
        {"stop": 1},
        {"max_completion_tokens": -2},
        {"max_tokens": -2},
        {"logit_bias": {"1": 101}},
        {"reasoning_format": "plain"},
        {"stream_options": True},
        {"tools": [{"type": "function", "function": {"name": "a b"}}]},
        {"tools": [{"type": "function", "function": {"name": "a" * 65}}]},
        {"tools": [{"type": "function", "function": {"name": "a\n"}}]},
        {"tool_choice": "any"},
    ],
    ids=str,
)
def test_bounds_of_parameters(documented: Contract, fault: dict[str, Any]) -> None:
    schema = documented.schema("ChatCompletionRequest")
    (violation, *_) = schema.violations({"model": "m", "messages": [USER], **fault})
    assert violation.location[0] == next(iter(fault))


FREE = {
    ("model_parameters",),
    ("logit_bias",),
    ("response_format", "json_schema", "schema"),
    ("tools", 0, "function", "parameters"),
}


def test_observed_refuses_unknown_properties_everywhere(
    documented: Contract, observed: Contract
) -> None:
    open_schema = documented.schema("ChatCompletionRequest")
    closed = observed.schema("ChatCompletionRequest")
    for pointer in objects(EVERYTHING, ()):
        body = json.loads(json.dumps(EVERYTHING))
        resolve(body, pointer)["surplus"] = 1
        assert open_schema.is_valid(body), pointer
        assert closed.is_valid(body) == (pointer in FREE), pointer


def test_observed_refuses_reasoning_content_in_its_words(observed: Contract) -> None:
    from wafermock.spec.faults import faults

    said = {"role": "assistant", "content": "Hi", "reasoning_content": "We"}
    body = {"model": "m", "messages": [USER, said, said], "store": False}
    violations = observed.schema("ChatCompletionRequest").violations(body)
    answer = observed.errors["validation_error"].answer(faults(violations))
    assert answer == {
        "message": "messages.1.assistant.reasoning_content: property "
        "'messages.1.assistant.reasoning_content' is unsupported\n"
        "messages.2.assistant.reasoning_content: property "
        "'messages.2.assistant.reasoning_content' is unsupported\n"
        "body.store: property 'body.store' is unsupported",
        "type": "invalid_request_error",
        "param": "validation_error",
        "code": "wrong_api_format",
        "id": "",
    }


def test_whole_answer_needs_what_clients_read(documented: Contract) -> None:
    schema = documented.schema("ChatCompletionResponse")
    success = documented.operation("createChatCompletion").success
    assert success
    answer = success.content["application/json"].examples["Tool Calling"].value
    for pointer in [
        *((key,) for key in ("id", "choices", "created", "model", "object", "system_fingerprint")),
        *(("choices", 0, key) for key in ("finish_reason", "index", "message")),
        ("choices", 0, "message", "role"),
        *(("choices", 0, "message", "tool_calls", 0, key) for key in ("id", "type", "function")),
        ("choices", 0, "message", "tool_calls", 0, "function", "name"),
    ]:
        broken = json.loads(json.dumps(answer))
        del resolve(broken, pointer[:-1])[pointer[-1]]
        (violation,) = schema.violations(broken)
        assert violation.location == pointer
    surplus = {**answer, "surplus": 1}
    assert schema.is_valid(surplus)  # the document leaves the whole answer open


# ------------------------------------------------------------------------------------ errors

RECORDED = [
    ("context_length_exceeded", 400, "invalid_request_error", "messages", "context_length_exceeded",
     "Please reduce the length of the messages or completion. "
     "Current length is N while limit is M"),
    ("unsupported_schema_fields", 400, "invalid_request_error", "response_format",
     "wrong_api_format", "Unsupported JSON schema fields: {'minItems', 'items'}"),
    ("wrong_api_key", 401, "invalid_request_error", "api_key", "wrong_api_key", "Wrong API Key"),
    ("payment_required", 402, "payment_required_error", "quota", "payment_required",
     "Payment required to access this resource. Visit your billing tab."),
    ("model_not_found", 404, "not_found_error", "model", "model_not_found",
     "Model does not exist or you do not have access to it."),
    ("request_quota_exceeded", 429, "too_many_requests_error", "quota", "request_quota_exceeded",
     "Requests per minute limit exceeded - too many requests sent."),
    ("token_quota_exceeded", 429, "too_many_tokens_error", "quota", "token_quota_exceeded",
     "Tokens per minute limit exceeded - too many tokens processed."),
    ("queue_exceeded", 429, "too_many_requests_error", "queue", "queue_exceeded",
     "We're experiencing high traffic right now! Please try again soon."),
]  # fmt: skip
VALUES = {"length": "N", "limit": "M", "fields": "{'minItems', 'items'}"}


@pytest.mark.parametrize("profile", ["documented", "observed"])
@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded[0])
def test_recorded_errors_to_the_letter(profile: str, recorded: tuple[Any, ...]) -> None:
    name, status, type_, param, code, message = recorded
    entry = ErrorCatalogue(read_document(SPEC / "errors.yaml"), profile)[name]
    flat = {"message": message, "type": type_, "param": param, "code": code, "id": ""}
    assert (entry.status, entry.answer((), **VALUES)) == (status, flat)
    assert not entry.assumed


REQUIRED = {"status", "shape", "message", "when", "source", "assumed", "retried"}
ENTRIES = read(SPEC / "errors.yaml")["errors"]


@pytest.mark.parametrize("name", ENTRIES)
def test_catalogue_entry_is_complete(name: str) -> None:
    entry = ENTRIES[name]
    assert set(entry) >= REQUIRED
    assert entry["when"].endswith(".")
    for profile in ("documented", "observed"):
        known = ErrorCatalogue(read_document(SPEC / "errors.yaml"), profile)[name]
        assert known.shape in ("flat", "fastapi", "html")
        assert bool(known.body) == (known.shape == "html")
        if known.shape == "flat":
            assert {"type", "param", "code"} <= set(entry)
        # The official SDKs, 1.91: 408, 409, 429, and 500 and above are tried again.
        assert known.retried == (known.status in (408, 409, 429) or known.status >= 500)


@pytest.mark.parametrize(("name", "profile"), COMBINATIONS)
def test_errors_obey_the_declared_responses(contracts: Any, name: str, profile: str) -> None:
    contract = contracts[name, profile]
    operation = next(o for o in contract.operations if o.id in PATHS)
    shown = set()
    for entry in contract.errors:
        media_type = operation.responses[str(entry.status)].content[entry.media_type]
        assert media_type.schema.violations(entry.answer()) == [], entry.name
        assert media_type.examples[entry.name].value == entry.answer()
        shown.add(entry.name)
    assert shown == set(ENTRIES)


def test_profiles_differ_in_faults_of_the_body(documented: Contract, observed: Contract) -> None:
    names = {"validation_error", "malformed_json", "empty_body"}
    for entry in documented.errors:
        other = observed.errors[entry.name]
        assert (entry == other) == (entry.name not in names)
    for name in names:
        assert (documented.errors[name].status, documented.errors[name].shape) == (422, "fastapi")
        assert (observed.errors[name].status, observed.errors[name].shape) == (400, "flat")
    assert documented.errors["malformed_json"].answer() == {
        "detail": [{"type": "json_invalid", "loc": ["body"], "msg": "JSON decode error"}]
    }


# ------------------------------------------------------------------------------------ models

MODELS = read(SPEC / "models.yaml")["models"]


def test_models_are_complete_and_alike() -> None:
    (keys,) = {tuple(sorted(model)) for model in MODELS.values()}
    assert len(keys) == 13
    assert list(MODELS)[:3] == ["gpt-oss-120b", "zai-glm-4.7", "gemma-4-31b"]


@pytest.mark.parametrize("name", MODELS)
def test_model_fits_the_contract(documented: Contract, name: str) -> None:
    model = MODELS[name]
    request = documented.schema("ChatCompletionRequest").node["properties"]
    roles = request["messages"]["items"]["discriminator"]["mapping"]
    assert set(model["roles"]) <= set(roles)
    assert ("developer" in model["roles"]) == (name == "gpt-oss-120b")
    assert model["clear_thinking"] == (name == "zai-glm-4.7")
    assert bool(model["vision"]) == (name == "gemma-4-31b")
    assert model["tool_style"] == ("fragments" if name == "gpt-oss-120b" else "whole")
    assert model["context"] == {"paid": 131_072, "free": 65_536}
    assert model["cache_block"] == 128
    reasoning = model["reasoning"]
    if reasoning is not None:
        assert set(reasoning["efforts"]) <= set(request["reasoning_effort"]["enum"])
        assert reasoning["default_effort"] in [*reasoning["efforts"], None]
        assert set(reasoning["formats"]) <= set(request["reasoning_format"]["enum"])
        assert reasoning["default_format"] in reasoning["formats"]
        assert len(reasoning["tags"]) == 2


def test_list_of_models_shows_the_listed_ones(documented: Contract) -> None:
    listing = documented.operation("listModels").success
    assert listing
    assert listing.content["application/json"].examples["Default"].value == {
        "object": "list",
        "data": [
            {"id": name, "object": "model", "created": m["created"], "owned_by": m["owned_by"]}
            for name, m in MODELS.items()
            if m["listed"]
        ],
    }


@pytest.mark.parametrize(
    ("width", "height", "tokens"), [(336, 226, 260), (512, 512, 256), (672, 672, 256)]
)
def test_image_tokens_of_the_published_table(width: int, height: int, tokens: int) -> None:
    vision = MODELS["gemma-4-31b"]["vision"]
    scale = (vision["token_pixels"] / (width * height)) ** 0.5
    columns, rows = (int(side * scale) // vision["token_step"] for side in (width, height))
    assert min(columns * rows, vision["max_tokens"]) == tokens
