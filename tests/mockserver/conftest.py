"""Mocks in this process, and strategies for requests of both operations."""

import gzip
import json
from collections.abc import Callable
from functools import cache
from typing import Any

import ormsgpack
import pytest
from hypothesis import strategies as st

from wafermock.mockserver.exchange import Answer, Request
from wafermock.mockserver.mock import Mock, Settings
from wafermock.spec import Contract, load_contract

MSGPACK = ("application/msgpack", "application/vnd.msgpack", "application/x-msgpack")

MakeMock = Callable[..., Mock]
Ask = Callable[..., Answer]


@cache
def _contract(profile: str) -> Contract:
    return load_contract(profile)


@pytest.fixture(scope="session")
def contract() -> Callable[[str], Contract]:
    """`contract("observed")`: the contract of a profile, loaded once."""
    return _contract


@pytest.fixture(scope="session")
def make_mock() -> MakeMock:
    """`make_mock("observed", validate="warn")`: a new mock, which remembers no answer yet."""
    return lambda profile="documented", **settings: Mock(_contract(profile), Settings(**settings))


@pytest.fixture(scope="session")
def ask() -> Ask:
    """`ask(mock, path, body)`: the answer to a body, given as data or as bytes."""
    return _ask


def _ask(
    mock: Mock,
    path: str,
    body: Any = None,
    headers: dict[str, str] | None = None,
    *,
    method: str = "POST",
    query: str = "",
) -> Answer:
    raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"authorization": "Bearer key", "content-type": "application/json", **(headers or {})}
    return mock.answer(Request(method, path, query, given, raw))


# ---------------------------------------------------------------------- spellings


@pytest.fixture(scope="session")
def spellings() -> Callable[[Any], dict[str, tuple[dict[str, str], bytes]]]:
    """`spellings(body)`: headers and bytes for each way to send a body, by a name for it."""
    return _spellings


def _spellings(body: Any) -> dict[str, tuple[dict[str, str], bytes]]:
    turned = _turned(body)
    plain: dict[str, tuple[str, bytes]] = {
        "compact": ("application/json", json.dumps(body, separators=(",", ":")).encode()),
        "spacious": ("application/json", b"\n " + json.dumps(body, indent=3).encode() + b"\r\n\t"),
        "unescaped": (
            "Application/JSON; charset=UTF-8",
            json.dumps(body, ensure_ascii=False).encode(),
        ),
        "turned": ("application/json", json.dumps(turned).encode()),
    }
    for name in MSGPACK:
        plain[name] = (name, ormsgpack.packb(body))
    plain["turned MessagePack"] = (MSGPACK[0], ormsgpack.packb(turned))
    found = {name: ({"content-type": kind}, raw) for name, (kind, raw) in plain.items()}
    for name, (kind, raw) in plain.items():
        headers = {"content-type": kind, "content-encoding": "gzip"}
        found[f"{name}, gzip"] = (headers, gzip.compress(raw, mtime=0))
    return found


def _turned(value: Any) -> Any:
    """Turn the order of keys around; not in schemas, whose order the answer's keys follow."""
    if isinstance(value, dict):
        return {
            key: value[key] if key in ("schema", "parameters") else _turned(value[key])
            for key in reversed(value)
        }
    return [_turned(item) for item in value] if isinstance(value, list) else value


# ---------------------------------------------------------------------- requests that are right

TEXTS = st.one_of(
    st.sampled_from(
        [
            "Hello!",
            "Why is fast inference important?",
            "What is in this image?",
            "What is the weather in San Francisco?",
            "Zeig mir 漢字 und 🙂",
            "",
            "x" * 500,
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
)
MODELS = st.sampled_from(["gpt-oss-120b", "zai-glm-4.7", "gemma-4-31b", "llama3.1-8b", "my-model"])
PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mP4EKWBFTEMLQk"
    "AVuRcgZIHKQ4AAAAASUVORK5CYII="
)
LEAF_SCHEMAS = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "enum": ["celsius", "fahrenheit"]},
        {"type": "integer", "minimum": 3, "maximum": 7},
        {"type": "number"},
        {"type": "boolean"},
        {"type": ["string", "null"]},
        {"type": "array", "items": {"type": "string"}},
        {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        {"const": "a"},
        {"$ref": "#/$defs/city"},
    ]
)


def _object_of(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


OBJECT_SCHEMAS = (
    st.dictionaries(
        st.sampled_from(["city", "unit", "é", "a b", "n"]),
        LEAF_SCHEMAS | st.dictionaries(st.just("x"), LEAF_SCHEMAS, min_size=1).map(_object_of),
        min_size=1,
        max_size=4,
    )
    .map(_object_of)
    .map(lambda schema: {**schema, "$defs": {"city": {"type": "string"}}})
)
TOOLS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["get_weather", "f", "A-1_b"])},
        optional={
            "description": TEXTS | st.none(),
            "parameters": OBJECT_SCHEMAS | st.none() | st.just({}),
        },
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda function: str(function["name"]),
).map(lambda functions: [{"type": "function", "function": function} for function in functions])
NAMES = st.sampled_from(["Ada", "b", None])


def _optional(**strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=strategies)


SAMPLING = {
    "seed": st.integers(-(2**63), 2**63 - 1) | st.none(),
    "temperature": st.sampled_from([0, 0.0, 1, 1.0, 0.7, 2, None]),
    "top_p": st.sampled_from([0, 0.5, 1, None]),
    "frequency_penalty": st.sampled_from([-2, 0, 1.5, None]),
    "presence_penalty": st.sampled_from([-2, 0, 1.5, None]),
    "logit_bias": st.none() | st.dictionaries(st.sampled_from(["17", "99"]), st.just(-100)),
    "stop": st.sampled_from([None, "e", "zzz", "", [], ["a", ". "], ["\n", "", "q", "x"]]),
    "stream": st.sampled_from([True, True, False, None]),
    "stream_options": st.sampled_from([None, {}, {"include_usage": True}]),
    "user": st.sampled_from(["u", "", None]),
    "prompt_cache_key": st.sampled_from(["k", None]),
    "n": st.sampled_from([1, 2, 3, None]),
}
LENGTHS = st.integers(0, 60) | st.sampled_from([-1, None])

TURNS = st.one_of(
    st.fixed_dictionaries(
        {"role": st.just("user"), "content": TEXTS}, optional={"name": NAMES}
    ).map(lambda message: [message]),
    st.lists(TEXTS, min_size=1, max_size=3).map(
        lambda texts: [
            {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}
        ]
    ),
    st.fixed_dictionaries(
        {"role": st.just("assistant"), "content": TEXTS},
        optional={"reasoning": TEXTS, "tool_calls": st.none()},
    ).map(lambda message: [message]),
    st.tuples(TEXTS, st.sampled_from(["call1", "b"])).map(
        lambda pair: [
            {
                "role": "assistant",
                "tool_calls": [
                    {
                        "id": pair[1],
                        "type": "function",
                        "function": {"name": "f", "arguments": '{"a":1}'},
                    }
                ],
            },
            {"role": "tool", "content": pair[0], "tool_call_id": pair[1]},
        ]
    ),
)


@st.composite
def _chat_requests(draw: st.DrawFn) -> dict[str, Any]:
    body: dict[str, Any] = {"model": draw(MODELS), "messages": _distinct(draw(MESSAGES))}
    body |= draw(
        _optional(
            **SAMPLING,
            max_completion_tokens=LENGTHS,
            logprobs=st.sampled_from([True, False, None]),
            parallel_tool_calls=st.booleans() | st.none(),
            service_tier=st.sampled_from(["auto", "default", None]),
        )
    )
    if body.get("logprobs"):
        body |= draw(_optional(top_logprobs=st.integers(0, 4) | st.none()))
    extra = draw(st.sampled_from(["", "", "tools", "format", "image", "effort", "prediction"]))
    if extra == "tools":
        body["tools"] = draw(TOOLS)
        body |= draw(_optional(tool_choice=st.sampled_from(["auto", "required", "none", None])))
    elif extra == "format":
        body["response_format"] = draw(FORMATS)
        if body["response_format"].get("type") == "json_object":
            body.pop("stream", None)
    elif extra == "image":
        body["model"] = "gemma-4-31b"
        image = {"type": "image_url", "image_url": {"url": PNG}}
        content = [{"type": "text", "text": draw(TEXTS)}, image]
        body["messages"] = [{"role": "user", "content": content}]
    elif extra == "effort":
        body["model"] = "gpt-oss-120b"
        body["reasoning_effort"] = draw(st.sampled_from(["low", "medium", "high", None]))
        body["reasoning_format"] = draw(
            st.sampled_from(["none", "parsed", "text_parsed", "raw", "hidden", None])
        )
    elif extra == "prediction" and not body.get("logprobs") and (body.get("n") or 1) == 1:
        body["prediction"] = {"type": "content", "content": draw(TEXTS)}
    return body


MESSAGES = st.tuples(
    st.lists(st.builds(lambda text: {"role": "system", "content": text}, TEXTS), max_size=1),
    st.lists(TURNS, min_size=1, max_size=3),
).map(lambda pair: [*pair[0], *(message for turn in pair[1] for message in turn)])

FORMATS = st.one_of(
    st.just({"type": "text"}),
    st.just({"type": "json_object"}),
    st.tuples(OBJECT_SCHEMAS, st.booleans()).map(
        lambda pair: {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": pair[1], "schema": pair[0]},
        }
    ),
)


def _distinct(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give every call an id of its own."""
    made: list[dict[str, Any]] = []
    for number, message in enumerate(messages):
        if message.get("tool_calls"):
            call = {**message["tool_calls"][0], "id": f"call{number}"}
            message = {**message, "tool_calls": [call]}
        elif message["role"] == "tool":
            message = {**message, "tool_call_id": f"call{number - 1}"}
        made.append(message)
    return made


PROMPTS = st.one_of(
    TEXTS,
    st.lists(TEXTS, min_size=1, max_size=3),
    st.lists(st.integers(0, 200_000), min_size=1, max_size=6),
    st.lists(st.lists(st.integers(0, 200_000), min_size=1, max_size=4), min_size=1, max_size=3),
)


@st.composite
def _completion_requests(draw: st.DrawFn) -> dict[str, Any]:
    body = {"model": draw(MODELS), "prompt": draw(PROMPTS)}
    return body | draw(
        _optional(
            **SAMPLING,
            max_tokens=LENGTHS,
            echo=st.booleans() | st.none(),
            logprobs=st.integers(0, 4) | st.none(),
            return_raw_tokens=st.booleans() | st.none(),
        )
    )


@pytest.fixture(scope="session")
def requests() -> dict[str, st.SearchStrategy[dict[str, Any]]]:
    """Strategies for request bodies that keep every rule, by operation id."""
    return {
        "createChatCompletion": _chat_requests(),
        "completions_v1_completions_post": _completion_requests(),
    }


# ---------------------------------------------------------------------- requests that are wrong

ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([2**70, -(10**400), 1.0, 1e308, -0.0, 1.5, "", "user", "a\x00\u2028é", "7"])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["", "type", "role", "a", "function"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def _broken(draw: st.DrawFn, right: st.SearchStrategy[dict[str, Any]]) -> Any:
    """Break a right request in a few places: a value replaced, a key removed, one put in."""
    body: Any = json.loads(json.dumps(draw(right)))
    for _ in range(draw(st.integers(1, 3))):
        owner, key = body, ""
        node: Any = body
        while isinstance(node, dict | list) and node:
            owner = node
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            key = draw(st.sampled_from(keys))
            node = owner[key]
            if draw(st.booleans()):
                break
        if owner is body and not body:
            return draw(ANY_JSON)
        deed = draw(st.sampled_from(["replace", "replace", "remove", "add"]))
        if deed == "remove":
            del owner[key]
        elif deed == "add" and isinstance(owner, dict):
            owner[draw(st.sampled_from(["", "store", "é", "index"]))] = draw(ANY_JSON)
        else:
            owner[key] = draw(ANY_JSON)
    return body


@pytest.fixture(scope="session")
def broken_requests(
    requests: dict[str, st.SearchStrategy[dict[str, Any]]],
) -> dict[str, st.SearchStrategy[Any]]:
    """Strategies for bodies with something wrong in most of them, by operation id."""
    return {id: _broken(right) | ANY_JSON for id, right in requests.items()}
