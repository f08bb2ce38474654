"""What holds for every request, whatever parameters come together."""

import itertools
import json
import math
from typing import Any

from hypothesis import given

from wafermock.mockserver.tokens import token_text, tokenise

from .asking import CHAT, COMPLETIONS, JSON, chunks, examples, joined, whole
from .generated import SCHEMA, chats, completions


def limit(body: JSON) -> int | None:
    """The most tokens that a request allows, None where it does not say."""
    for name in ("max_completion_tokens", "max_tokens"):
        if body.get(name) is not None and body[name] >= 0:
            return int(body[name])
    return None


def stops(body: JSON) -> list[str]:
    stop = body.get("stop")
    return [s for s in ([stop] if isinstance(stop, str) else stop or []) if s]


def check_usage(answer: JSON) -> None:
    usage = answer["usage"]
    details = usage["completion_tokens_details"]
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert 0 <= sum(details.values()) <= usage["completion_tokens"]
    assert min(details.values()) >= 0
    assert cached % 128 == 0
    assert 0 <= cached <= usage["prompt_tokens"]
    times = answer["time_info"]
    parts = times["queue_time"] + times["prompt_time"] + times["completion_time"]
    assert 0 < parts <= times["total_time"]


def check_entry(entry: JSON, top: int) -> None:
    """An entry of a chat's log probabilities."""
    assert entry["bytes"] == list(entry["token"].encode())
    assert entry["logprob"] <= 0
    found = entry["top_logprobs"]
    assert len(found) == top
    if top:
        assert (entry["token"], entry["logprob"]) in [(o["token"], o["logprob"]) for o in found]
    assert len({o["token"] for o in found}) == top
    assert all(o["bytes"] == list(o["token"].encode()) for o in found)
    assert [o["logprob"] for o in found] == sorted((o["logprob"] for o in found), reverse=True)
    assert sum(math.exp(o["logprob"]) for o in found) <= 1 + 1e-6


def check_chat_logprobs(body: JSON, choice: JSON, shown: JSON) -> None:
    if not body.get("logprobs"):
        assert "logprobs" not in choice
        assert "reasoning_logprobs" not in choice
        return
    entries = (choice.get("logprobs") or {}).get("content", [])
    thought = (choice.get("reasoning_logprobs") or {}).get("content", [])
    for entry in (*entries, *thought):
        check_entry(entry, body.get("top_logprobs") or 0)
    said = "".join(entry["token"] for entry in (*thought, *entries))
    assert said == shown.get("reasoning", "") + shown.get("content", "")


@given(chats())
@examples
def test_chat(body: JSON) -> None:
    answer = whole(CHAT, body)
    check_usage(answer)
    choices = answer["choices"]
    assert [choice["index"] for choice in choices] == list(range(body.get("n") or 1))
    most = limit(body)
    usage = answer["usage"]
    for choice in choices:
        shown = choice["message"]
        content = shown.get("content", "")
        assert not any(stop in content for stop in stops(body))
        if shown.get("tool_calls"):
            assert "content" not in shown
        check_chat_logprobs(body, choice, shown)
        if choice["finish_reason"] == "tool_calls":
            assert shown["tool_calls"]
        if choice["finish_reason"] == "length":
            assert most is not None
    if most is not None:
        assert usage["completion_tokens"] <= most * len(choices)
        if any(choice["finish_reason"] == "length" for choice in choices) and len(choices) == 1:
            assert usage["completion_tokens"] == most
    if "response_format" in body and body.get("reasoning_format") != "raw":
        for choice in choices:
            if choice["finish_reason"] == "stop" and not stops(body):
                check_structured(choice["message"]["content"])


def check_structured(text: str) -> None:
    value = json.loads(text)
    assert list(value) == list(SCHEMA["properties"])  # type: ignore[call-overload]


@given(chats())
@examples
def test_a_joined_chat_stream_is_the_whole_answer(body: JSON) -> None:
    answer = whole(CHAT, body)
    for choice in answer["choices"]:
        if choice["message"].get("content") == "":
            del choice["message"]["content"]  # nothing to stream
    answer.pop("service_tier_used", None)  # no chunk has it
    assert joined(CHAT, body) == {**answer, "object": "chat.completion.chunk"}


@given(completions())
@examples
def test_completion(body: JSON) -> None:
    answer = whole(COMPLETIONS, body)
    check_usage(answer)
    prompt = body["prompt"]
    several = isinstance(prompt, list) and prompt and isinstance(prompt[0], str | list)
    prompts = prompt if several else [prompt]
    n = body.get("n") or 1
    assert [c["index"] for c in answer["choices"]] == list(range(n * len(prompts)))
    written = 0
    for choice in answer["choices"]:
        echo = said(prompts[choice["index"] // n]) if body.get("echo") else []
        assert ("tokens" in choice) == bool(body.get("return_raw_tokens"))
        assert ("text" in choice) != ("tokens" in choice)
        text = text_of(choice)
        assert text.startswith("".join(echo))
        own = text.removeprefix("".join(echo))
        assert not any(stop in own for stop in stops(body))
        logprobs = choice.get("logprobs")
        assert (logprobs is None) == (body.get("logprobs") is None)
        if logprobs:
            check_completion_logprobs(logprobs, text, body["logprobs"])
            assert logprobs["tokens"][: len(echo)] == echo
            written += len(logprobs["tokens"]) - len(echo)
            if choice["finish_reason"] == "length":
                assert len(logprobs["tokens"]) - len(echo) == limit(body)
    if body.get("logprobs") is not None:
        assert written == answer["usage"]["completion_tokens"]
    assert answer["usage"]["prompt_tokens"] == sum(len(said(one)) for one in prompts)


def said(prompt: Any) -> list[str]:
    """The tokens of one prompt, as text."""
    return tokenise(prompt) if isinstance(prompt, str) else [token_text(t) for t in prompt]


def text_of(choice: JSON) -> str:
    if "tokens" in choice:
        return "".join(map(token_text, choice["tokens"]))
    return str(choice["text"])


def check_completion_logprobs(logprobs: JSON, text: str, top: int) -> None:
    tokens = logprobs["tokens"]
    assert "".join(tokens) == text
    assert logprobs["text_offset"] == list(itertools.accumulate(map(len, tokens), initial=0))[:-1]
    rows = zip(tokens, logprobs["token_logprobs"], logprobs["top_logprobs"], strict=True)
    for token, logprob, found in rows:
        assert logprob <= 0
        assert len(found) == top
        assert not top or found[token] == logprob
        assert list(found.values()) == sorted(found.values(), reverse=True)
        assert sum(map(math.exp, found.values())) <= 1 + 1e-6


@given(completions())
@examples
def test_a_joined_completion_stream_is_the_whole_answer(body: JSON) -> None:
    answer = whole(COMPLETIONS, body)
    for choice in answer["choices"]:
        if not choice.get("logprobs", {}).get("tokens", [""]):
            del choice["logprobs"]  # nothing to stream
    assert joined(COMPLETIONS, body) == answer


@given(chats())
@examples
def test_chat_chunks_are_written_as_the_api_writes_them(body: JSON) -> None:
    read = chunks(CHAT, body)
    order = ["id", "choices", "created", "model", "system_fingerprint", "object"]
    ending = ["service_tier"] if body.get("service_tier") not in (None, "default") else []
    assert all(list(c) == [*order, *ending] for c in read[:-1])
    assert list(read[-1]) == [*order, *ending, "usage", "time_info"]
    assert all(len(c["choices"]) == 1 for c in read)
    assert read[0]["choices"] == [{"delta": {"role": "assistant"}, "index": 0}]
    assert read[-1]["choices"][0]["delta"] == {}
    assert None not in [
        v for c in read for p in c["choices"] for v in (*p.values(), *p["delta"].values())
    ]
