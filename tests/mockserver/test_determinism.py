"""The determinism contract: what an answer depends on, and what it does not."""

import json
import re
import urllib.error
import urllib.request
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

CHAT, TEXT = "createChatCompletion", "completions_v1_completions_post"
PATHS = {CHAT: "/v1/chat/completions", TEXT: "/v1/completions"}
OPERATIONS = pytest.mark.parametrize("operation", [CHAT, TEXT])
FEW = settings(max_examples=40)

FIXED: dict[str, list[dict[str, Any]]] = {
    CHAT: [
        {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": "Hello!"}]},
        {
            "model": "zai-glm-4.7",
            "messages": [{"role": "user", "content": "Wie wird das Wetter? 🌦"}],
            "n": 2,
            "stream": True,
            "logprobs": True,
            "top_logprobs": 3,
        },
        {
            "model": "gpt-oss-120b",
            "messages": [{"role": "user", "content": "weather in Paris"}],
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "get_weather",
                        "parameters": {
                            "type": "object",
                            "properties": {"city": {"type": "string"}, "day": {"type": "integer"}},
                            "required": ["city", "day"],
                        },
                    },
                }
            ],
            "tool_choice": "required",
            "stream": True,
        },
        {"model": "gpt-oss-120b", "messages": "wrong", "x": {"b": 1, "a": 2}},
    ],
    TEXT: [
        {"model": "llama3.1-8b", "prompt": "Once upon a time"},
        {"model": "llama3.1-8b", "prompt": ["a", "b"], "n": 2, "stream": True, "logprobs": 2},
        {"model": "llama3.1-8b", "prompt": 5, "z": 1, "a": 2},
    ],
}


def said(answer: Any) -> tuple[int, dict[str, str], bytes]:
    """All of an answer but x-request-id, which has a test of its own."""
    headers = {k: v for k, v in answer.headers.items() if k != "x-request-id"}
    return answer.status, headers, answer.body


# ---------------------------------------------------------------------- processes


def test_two_processes(serving: Any, monkeypatch: pytest.MonkeyPatch, spellings: Any) -> None:
    """Another process, with other hashes, other spellings, in another order: the same bytes."""
    answers: list[dict[str, Any]] = []
    for hash_seed in ("1", "31337"):
        monkeypatch.setenv("PYTHONHASHSEED", hash_seed)
        found = {}
        with serving() as served:
            calls = [(id, n) for id, bodies in FIXED.items() for n in range(len(bodies))]
            for id, number in calls if hash_seed == "1" else reversed(calls):
                name = "compact" if hash_seed == "1" else "application/vnd.msgpack, gzip"
                headers, raw = spellings(FIXED[id][number])[name]
                found[id, number] = _post(served.url + PATHS[id], headers, raw)
            for path in ("/v1/models", "/v1/models/gpt-oss-120b", "/v1/tcp_warming", "/nothing"):
                found[path, 0] = _post(served.url + path, {}, None)
        answers.append(found)
    assert answers[0] == answers[1]
    assert len({status for status, _, _ in answers[0].values()}) == 3  # 200, 404, 422


def _post(url: str, headers: dict[str, str], raw: bytes | None) -> tuple[int, Any, bytes]:
    headers = {"authorization": "Bearer key", **headers}
    request = urllib.request.Request(url, raw, headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            status, fields, body = response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        with error:
            status, fields, body = error.code, error.headers, error.read()
    kept = {k.lower(): v for k, v in fields.items() if k.lower() not in ("date", "x-request-id")}
    return status, kept, body


# ---------------------------------------------------------------------- spellings


@OPERATIONS
def test_spellings(operation: str, make_mock: Any, ask: Any, spellings: Any) -> None:
    for body in FIXED[operation]:
        _check_spellings(body, operation, make_mock, ask, spellings)


@OPERATIONS
def test_spellings_share_a_request_id(
    operation: str, make_mock: Any, ask: Any, spellings: Any
) -> None:
    for body in FIXED[operation][:2]:
        answers = [
            ask(make_mock(), PATHS[operation], raw, headers)
            for headers, raw in spellings(body).values()
        ]
        assert len({answer.headers["x-request-id"] for answer in answers}) == 1


@OPERATIONS
@FEW
@given(data=st.data())
def test_any_request_in_every_spelling(
    operation: str, data: Any, requests: Any, make_mock: Any, ask: Any, spellings: Any
) -> None:
    _check_spellings(data.draw(requests[operation]), operation, make_mock, ask, spellings)


def _check_spellings(body: Any, operation: str, make_mock: Any, ask: Any, spellings: Any) -> None:
    mock = make_mock()  # all spellings meet one mock: remembering must not mix them up either
    found = {
        name: said(ask(mock, PATHS[operation], raw, headers))
        for name, (headers, raw) in spellings(body).items()
    }
    (_, headers, first), *_ = found.values()
    for name, (status, other_headers, other) in found.items():
        if status < 400:
            assert (name, other_headers, other) == (name, headers, first)
        else:  # the faults are listed in the order of the request
            assert _sorted_details(other) == _sorted_details(first)


def _sorted_details(body: bytes) -> Any:
    value = json.loads(body)
    if "detail" in value:
        value["detail"].sort(key=lambda detail: json.dumps(detail, sort_keys=True))
    return value


# ---------------------------------------------------------------------- meaning


@OPERATIONS
@FEW
@given(data=st.data())
def test_null_absent_and_default_are_one(
    operation: str, data: Any, requests: Any, make_mock: Any, ask: Any, contract: Any
) -> None:
    body = data.draw(requests[operation])
    properties = contract("documented").operation(operation).request_schema.properties
    plain = {
        name: value
        for name, value in body.items()
        if value is not None
        and not ("default" in properties[name] and properties[name]["default"] == value)
    }
    explicit = dict(plain)
    for name, schema in properties.items():
        if name not in plain:
            deed = data.draw(st.sampled_from(["absent", "null", "default"]), label=name)
            if deed == "null" and _takes_null(schema):
                explicit[name] = None
            elif deed == "default" and schema.get("default") is not None and name != "best_of":
                # (`best_of` must exceed `n`, so its default may be wrong to say)
                explicit[name] = schema["default"]
    path = PATHS[operation]
    assert said(ask(make_mock(), path, plain)) == said(ask(make_mock(), path, body))
    assert said(ask(make_mock(), path, explicit)) == said(ask(make_mock(), path, plain))


def _takes_null(schema: dict[str, Any]) -> bool:
    branches = [*schema.get("anyOf", []), *schema.get("oneOf", []), schema]
    return any("null" in (b.get("type") or ()) for b in branches)


@OPERATIONS
@FEW
@given(data=st.data())
def test_what_was_asked_before_does_not_matter(
    operation: str, data: Any, requests: Any, make_mock: Any, ask: Any
) -> None:
    bodies = data.draw(st.lists(requests[operation], min_size=1, max_size=4))
    path = PATHS[operation]
    used = make_mock()
    there = [said(ask(used, path, body)) for body in bodies]
    back = [said(ask(used, path, body)) for body in reversed(bodies)]
    fresh = [said(ask(make_mock(), path, body)) for body in bodies]
    assert there == back[::-1] == fresh


def test_another_seed_says_other_words(make_mock: Any, ask: Any) -> None:
    for operation, body in (
        (CHAT, {"model": "m", "messages": [{"role": "user", "content": "xyzzy plugh"}]}),
        (TEXT, {"model": "m", "prompt": "xyzzy plugh"}),
    ):
        seen = {ask(make_mock(seed=seed), PATHS[operation], body).body for seed in range(5)}
        assert len(seen) == 5
        words = {_words(json.loads(body)) for body in seen}
        assert len(words) == 5
        ids = {json.loads(body)["id"] for body in seen}
        assert len(ids) == 5


def _words(whole: dict[str, Any]) -> str:
    choice = whole["choices"][0]
    return str(choice["message"].get("content") if "message" in choice else choice["text"])


def test_other_words_get_other_answers(make_mock: Any, ask: Any) -> None:
    mock = make_mock()
    bodies = [{"model": "m", "prompt": f"xyzzy {n}"} for n in range(5)]
    assert len({_words(json.loads(ask(mock, PATHS[TEXT], b).body)) for b in bodies}) == 5


# ---------------------------------------------------------------------- streams


@OPERATIONS
@settings(max_examples=80)
@given(data=st.data())
def test_a_joined_stream_is_the_whole(
    operation: str, data: Any, requests: Any, make_mock: Any, ask: Any
) -> None:
    body = data.draw(requests[operation])
    if (body.get("response_format") or {}).get("type") == "json_object":
        body.pop("response_format")
    whole = ask(make_mock(), PATHS[operation], {**body, "stream": False})
    stream = ask(make_mock(), PATHS[operation], {**body, "stream": True})
    assert stream.status == whole.status
    if whole.status != 200:
        assert stream.body == whole.body
        return
    assert stream.streamed
    assert not whole.streamed
    wanted = json.loads(whole.body)
    wanted.pop("service_tier_used", None)  # no chunk has a place for it
    assert joined(events(stream.parts)) == without_empty(wanted)


def events(parts: tuple[bytes, ...]) -> list[dict[str, Any]]:
    assert parts[-1] == b"data: [DONE]\n\n"
    return [json.loads(part.removeprefix(b"data: ")) for part in parts[:-1]]


def joined(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """Join the chunks of either operation to the whole answer, as a careful client would."""
    names = ("id", "created", "model", "system_fingerprint", "object")
    assert len({json.dumps([chunk[name] for name in names]) for chunk in chunks}) == 1
    for chunk in chunks[:-1]:
        assert "usage" not in chunk
        assert "time_info" not in chunk
    whole: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        assert chunk["choices"]
        whole |= {name: value for name, value in chunk.items() if name != "choices"}
        for part in chunk["choices"]:
            choice = choices.setdefault(part["index"], {"index": part["index"]})
            assert "finish_reason" not in choice, "something came after the finish"
            for name, value in part.items():
                if name == "delta":
                    _join(choice.setdefault("message", {}), value)
                elif name != "index":
                    _join(choice, {name: value})
    whole["object"] = whole["object"].removesuffix(".chunk")
    whole["choices"] = [choices[index] for index in sorted(choices)]
    return without_empty(whole)


def _join(into: dict[str, Any], piece: dict[str, Any]) -> None:
    for name, value in piece.items():
        if name == "tool_calls":
            calls = into.setdefault(name, [])
            for call in value:
                if call["index"] == len(calls):
                    calls.append({"function": {"arguments": ""}})
                known = calls[call["index"]]
                function = call["function"]
                known["function"]["arguments"] += function["arguments"]
                known["function"] |= {k: v for k, v in function.items() if k != "arguments"}
                known |= {k: v for k, v in call.items() if k not in ("index", "function")}
        elif name in ("role", "finish_reason") or name not in into or value is None:
            into[name] = value
        elif isinstance(value, dict):
            _join(into[name], value)
        else:  # texts and lists grow
            into[name] = into[name] + value


def without_empty(value: Any) -> Any:
    """Leave out what says nothing: a stream has no chunk for an empty text."""
    if isinstance(value, dict):
        cleaned = {k: without_empty(v) for k, v in value.items()}
        return {k: v for k, v in cleaned.items() if v not in ("", None, [], {}) or k == "arguments"}
    return [without_empty(item) for item in value] if isinstance(value, list) else value


# ---------------------------------------------------------------------- cuts


@OPERATIONS
@settings(max_examples=60)
@given(data=st.data(), length=st.integers(0, 80))
def test_a_cut_answer_is_a_prefix(
    operation: str, data: Any, length: int, requests: Any, make_mock: Any, ask: Any
) -> None:
    name = "max_completion_tokens" if operation == CHAT else "max_tokens"
    body = {**data.draw(requests[operation]), "stream": False}
    body.pop("stop", None)  # a stop may only be reached in the uncut answer
    body.pop(name, None)
    uncut = ask(make_mock(), PATHS[operation], body)
    cut = ask(make_mock(), PATHS[operation], {**body, name: length})
    assert uncut.status == cut.status == 200, (uncut.body, cut.body)
    before, after = json.loads(uncut.body), json.loads(cut.body)
    assert after["usage"]["prompt_tokens"] == before["usage"]["prompt_tokens"]
    for long, short in zip(before["choices"], after["choices"], strict=True):
        for key in ("content", "reasoning"):
            whole = long.get("message", {}).get(key) or ""
            assert whole.startswith(short.get("message", {}).get(key) or "")
        assert (long.get("text") or "").startswith(short.get("text") or "")
        if short["finish_reason"] != "length":
            assert {**short, "logprobs": 0} == {**long, "logprobs": 0}
    n = len(before["choices"])
    assert after["usage"]["completion_tokens"] <= length * n
    if all(choice["finish_reason"] == "length" for choice in after["choices"]):
        assert after["usage"]["completion_tokens"] == length * n


@OPERATIONS
@settings(max_examples=60)
@given(data=st.data())
def test_a_stop_sequence_is_never_said(
    operation: str, data: Any, requests: Any, make_mock: Any, ask: Any
) -> None:
    body = {**data.draw(requests[operation]), "stream": False}
    body.pop("echo", None)
    stop = body.get("stop")
    answer = ask(make_mock(), PATHS[operation], body)
    assert answer.status == 200, answer.body
    for choice in json.loads(answer.body)["choices"]:
        text = choice.get("text") or choice.get("message", {}).get("content") or ""
        for sequence in [stop] if isinstance(stop, str) else stop or []:
            assert not sequence or sequence not in text


def test_ids_have_their_form(make_mock: Any, ask: Any) -> None:
    uuid4 = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    for operation, prefix in ((CHAT, "chatcmpl-"), (TEXT, "chatcmpl-")):
        answer = ask(make_mock(), PATHS[operation], FIXED[operation][0])
        body = json.loads(answer.body)
        assert re.fullmatch(prefix + uuid4, body["id"])
        assert answer.headers["inference-id"] == body["id"]
        assert re.fullmatch(uuid4, answer.headers["x-request-id"])
        assert re.fullmatch("fp_[0-9a-f]{20}", body["system_fingerprint"])
