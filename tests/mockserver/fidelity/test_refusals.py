"""What the API refuses: each rule between parameters, and the recorded errors to the letter."""

import json
from typing import Any

import pytest

from wafermock.spec.requirements import Requirement

from .asking import CHAT, COMPLETIONS, JSON, asks, contract, mock, refusal, says, send
from .test_images import png, shows, uri
from .test_structured import STRING, closed, form

RULES = contract().requirements.requirements
TOOL: JSON = {"type": "function", "function": {"name": "f"}}
STRICT_TOOL: JSON = {"type": "function", "function": {"name": "g", "strict": True}}
PREDICTION = {"prediction": {"type": "content", "content": "x"}}


def call(id: str) -> JSON:
    return {"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}}


def talk(*turns: Any) -> JSON:
    """A conversation of the user's words, ids of calls (a tuple), and ids that are answered."""
    messages = []
    for turn in turns:
        if isinstance(turn, tuple):
            messages.append({"role": "assistant", "tool_calls": [call(id) for id in turn]})
        elif turn.isdigit():
            messages.append({"role": "tool", "tool_call_id": turn, "content": "done"})
        else:
            messages.append({"role": "user", "content": turn})
    return says("", messages=messages, tools=[TOOL])


def nested(depth: int) -> JSON:
    schema: JSON = STRING
    for _ in range(depth):
        schema = closed(a=schema)
    return schema


# What breaks each rule and nothing else, and the message that names what was found.
BROKEN: dict[str, tuple[JSON, str]] = {
    "one-completion-limit": (
        says("x", max_tokens=1, max_completion_tokens=1),
        "'max_tokens' and 'max_completion_tokens' cannot both be specified.",
    ),
    "top-logprobs-need-logprobs": (
        says("x", top_logprobs=2),
        "'logprobs' must be true when 'top_logprobs' is specified.",
    ),
    "best-of-exceeds-n": (asks("x", n=2, best_of=2), "'best_of' must be greater than 'n'."),
    "best-of-is-not-streamed": (
        asks("x", best_of=2, stream=True),
        "Results of 'best_of' cannot be streamed.",
    ),
    "no-suffix": (asks("x", suffix="y"), "'suffix' is not supported."),
    "prediction-without-logprobs": (
        says("x", **PREDICTION, logprobs=True),
        "'prediction' is incompatible with 'logprobs'.",
    ),
    "prediction-without-n": (
        says("x", **PREDICTION, n=2),
        "'prediction' is incompatible with 'n' greater than 1.",
    ),
    "prediction-without-tools": (
        says("x", **PREDICTION, tools=[TOOL]),
        "'prediction' is incompatible with 'tools'.",
    ),
    "reasoning-effort-of-model": (
        says("x", reasoning_effort="none"),
        "reasoning_effort 'none' is not supported by model gpt-oss-120b. "
        "Supported: low, medium, high.",
    ),
    "reasoning-format-of-model": (
        says("x", model="gemma-4-31b", reasoning_format="hidden"),
        "reasoning_format 'hidden' is not supported by model gemma-4-31b. "
        "Supported: none, parsed, text_parsed.",
    ),
    "clear-thinking-of-model": (
        says("x", clear_thinking=True),
        "'clear_thinking' is not supported by model gpt-oss-120b.",
    ),
    "model-parameters-of-model": (
        says("x", model_parameters={"a": 1}),
        "'model_parameters' is not supported by model gpt-oss-120b.",
    ),
    "roles-of-model": (
        says("x", model="gemma-4-31b", messages=[{"role": "developer", "content": "x"}]),
        "Messages of the role 'developer' are not supported by model gemma-4-31b. "
        "Supported: system, user, assistant, tool.",
    ),
    "images-are-embedded": (
        shows("https://example.com/a.png"),
        "External image URLs are not supported. Send the image as data:image/png;base64,... "
        "or data:image/jpeg;base64,...",
    ),
    "images-for-vision-models": (
        shows(uri(png(1, 1)), model="gpt-oss-120b"),
        "Model gpt-oss-120b does not support image input.",
    ),
    "images-of-bounded-size": (
        shows("data:image/png;base64," + "A" * 10_485_760),
        "The image is larger than 10485760 bytes.",
    ),
    "images-of-bounded-number": (
        shows(*[uri(png(1, 1))] * 6),
        "A request may hold up to 5 images; this one holds 6.",
    ),
    "tool-choice-needs-tools": (
        says("x", tool_choice="auto"),
        "'tool_choice' is only allowed when 'tools' are specified",
    ),
    "tool-choice-names-a-tool": (
        says("x", tools=[STRICT_TOOL], tool_choice=TOOL),
        "tool_choice names the function 'f', which is not among 'tools'.",
    ),
    "tools-alike-in-strictness": (
        says("x", tools=[TOOL, STRICT_TOOL]),
        "Tools with mixed values for 'strict' are not allowed. "
        "Please set all tools to 'strict: true' or 'strict: false'",
    ),
    "tools-or-response-format": (
        says("x", tools=[TOOL], response_format={"type": "json_object"}),
        '"tools" is incompatible with "response_format"',
    ),
    "call-ids-are-unique": (
        talk("x", ("1",), "1", ("1",), "1"),
        "The tool call id '1' stands twice in 'messages'.",
    ),
    "tool-messages-answer-calls": (
        talk("x", ("1",), "1", "2"),
        "messages.3: tool_call_id '2' is not among the calls of the assistant message before it.",
    ),
    "calls-are-answered": (
        talk("x", ("1", "2"), "1", "y"),
        "messages.1: the tool call '2' is not answered by a tool message right after it.",
    ),
    "json-object-is-not-streamed": (
        says("x", response_format={"type": "json_object"}, stream=True),
        "response_format 'json_object' is not compatible with streaming. Set 'stream' to false.",
    ),
    "strict-size": (
        form(closed(a={"anyOf": [STRING] * 5_000}), True),
        "the size of the schema is more than 5000 subschemas; this server answers up to 5000.",
    ),
    "strict-root-is-an-object": (
        form({"type": "array", "items": STRING}, True),
        "The root of a strict schema must be of type 'object', with 'properties' and "
        "without 'anyOf'.",
    ),
    "strict-keywords": (
        form(closed(a={"type": "array", "minItems": 1, "items": {"pattern": "a"}}), True),
        "Unsupported JSON schema fields: {'minItems', 'pattern'}",
    ),
    "strict-definitions": (
        form({**closed(a={"$ref": "#/definitions/b"}), "definitions": {"b": STRING}}, True),
        "Unsupported JSON schema fields: {'definitions'}",
    ),
    "strict-objects-are-closed": (
        form({"type": "object", "properties": {"a": STRING}}, True),
        "'additionalProperties' is required to be supplied and set to false.",
    ),
    "strict-references-are-local": (
        form(closed(a={"$ref": "#/$defs/b"}), True),
        "The schema's reference '#/$defs/b' leads nowhere in the schema. "
        "Only local references are supported.",
    ),
    "strict-schema-is-finite": (
        form(closed(a={"anyOf": [STRING, {"$ref": "#"}]}), True),
        "Recursive schemas are not supported.",
    ),
    "strict-depth": (form(nested(11), True), "The schema nests more than 10 levels deep."),
    "strict-properties": (
        form(closed(**{f"p{number}": STRING for number in range(501)}), True),
        "The schema has 501 properties; up to 500 are supported.",
    ),
    "strict-enum-values": (
        form(closed(a={"enum": list(range(501))}), True),
        "The schema has 501 enum values; up to 500 are supported.",
    ),
}
ROOMY = {"max_body": 20 * 1024 * 1024}  # for the images that are too large


def path_of(body: JSON) -> str:
    return COMPLETIONS if "prompt" in body else CHAT


def test_every_rule_has_its_request() -> None:
    assert list(BROKEN) == [rule.id for rule in RULES]


@pytest.mark.parametrize("patch", [None, "1", "2"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_broken_rule_is_refused(rule: Requirement, patch: str | None) -> None:
    body, sentence = BROKEN[rule.id]
    headers = {} if patch is None else {"x_cerebras_version_patch": patch}
    answer = send(path_of(body), body, by=mock(**ROOMY), **headers)
    if rule.patches is not None and int(patch or 2) not in rule.patches:
        assert answer.status == 200, answer.body
        return
    error = rule.error
    assert answer.status == error.status
    assert json.loads(answer.body) == {
        "message": sentence,
        "type": "invalid_request_error",
        "param": error.param,
        "code": error.code,
        "id": "",
    }


# ------------------------------------------------------------------- profile `observed`
def observed(status: int, type: str, param: str, code: str, text: str) -> tuple[int, JSON]:
    return status, {"message": text, "type": type, "param": param, "code": code, "id": ""}


def ask_observed(body: JSON, **settings: Any) -> tuple[int, JSON]:
    return refusal(path_of(body), body, by=mock("observed", **settings))


def wrong(text: str) -> tuple[int, JSON]:
    return observed(400, "invalid_request_error", "validation_error", "wrong_api_format", text)


INVALID = "invalid_request_error"


def test_too_long_a_prompt() -> None:
    for body, length in ((says("a", max_tokens=131_072), 131_077), (asks("a " * 131_072), 131_073)):
        said = ask_observed(body)
        text = (
            "Please reduce the length of the messages or completion. "
            f"Current length is {length} while limit is 131072"
        )
        assert said == observed(400, INVALID, "messages", "context_length_exceeded", text)


def test_fields_that_a_strict_schema_may_not_have() -> None:
    schema = closed(a={"type": "array", "items": STRING, "minItems": 1, "maxItems": 3})
    text = "Unsupported JSON schema fields: {'minItems', 'maxItems'}"
    said = ask_observed(form(schema, True))
    assert said == observed(400, INVALID, "response_format", "wrong_api_format", text)


def test_a_wrong_key() -> None:
    said = ask_observed(says("x"), api_key="another")
    assert said == observed(401, INVALID, "api_key", "wrong_api_key", "Wrong API Key")


def test_a_model_that_is_not_there() -> None:
    said = ask_observed(says("x", model="gpt-4"), models="strict")
    text = "Model does not exist or you do not have access to it."
    assert said == observed(404, "not_found_error", "model", "model_not_found", text)


@pytest.mark.parametrize(
    ("name", "status", "type", "param", "code", "text"),
    [
        ("payment_required", 402, "payment_required_error", "quota", "payment_required",
         "Payment required to access this resource. Visit your billing tab."),
        ("request_quota_exceeded", 429, "too_many_requests_error", "quota",
         "request_quota_exceeded", "Requests per minute limit exceeded - too many requests sent."),
        ("token_quota_exceeded", 429, "too_many_tokens_error", "quota", "token_quota_exceeded",
         "Tokens per minute limit exceeded - too many tokens processed."),
        ("queue_exceeded", 429, "too_many_requests_error", "queue", "queue_exceeded",
         "We're experiencing high traffic right now! Please try again soon."),
    ],
)  # fmt: skip
def test_errors_that_are_asked_for(
    name: str, status: int, type: str, param: str, code: str, text: str
) -> None:
    wanted = f'code={status}, example="{name}"'
    said = refusal(CHAT, says("x"), by=mock("observed"), prefer=wanted)
    assert said == observed(status, type, param, code, text)


def test_what_is_not_in_the_schema() -> None:
    assert ask_observed(says("x", store=True)) == wrong(
        "body.store: property 'body.store' is unsupported"
    )
    talk = [
        {"role": "system", "content": "x"},
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "x", "reasoning_content": "y"},
    ]
    name = "messages.2.assistant.reasoning_content"
    assert ask_observed(says("", messages=talk)) == wrong(
        f"{name}: property '{name}' is unsupported"
    )


def test_several_faults_stand_on_a_line_each() -> None:
    status, error = ask_observed(says("x", store=True, metadata={}))
    assert status == 400
    assert error["message"].split("\n") == [
        "body.store: property 'body.store' is unsupported",
        "body.metadata: property 'body.metadata' is unsupported",
    ]
    status, error = ask_observed(asks("x", store=True, echoes=1))
    assert len(error["message"].split("\n")) == 2


def test_the_documented_profile_answers_422() -> None:
    status, error = refusal(COMPLETIONS, asks("x", store=True))
    assert status == 422
    assert error["detail"][0]["loc"] == ["body", "store"]
