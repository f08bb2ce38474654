"""SEMANTICS for requests and answers that nobody listed: right ones break no rule, and hostile ones
make none raise."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from wafermock.conformance.exchange import Probe
from wafermock.conformance.rules.schema import BOOK as SCHEMA
from wafermock.conformance.rules.semantics import BOOK

from .conftest import CHAT, PROFILES, TEXT, TOOL
from .disturbed import FORMAT, NAMED, NAMES, STRICT_TOOL, asked, saying

RULES = [*SCHEMA, *BOOK]

# ---------------------------------------------------------------------- right requests

WORDS = st.sampled_from(
    ["Hello!", "Why is fast inference important?", "Zeig mir 漢字 und 🙂", "", "x" * 300, "weather"]
)
MODELS = st.sampled_from(["gpt-oss-120b", "zai-glm-4.7", "gemma-4-31b", "llama3.1-8b", "my-model"])
SAMPLING = {
    "seed": st.integers(-(2**63), 2**63 - 1) | st.none(),
    "temperature": st.sampled_from([0, 1, 0.7, None]),
    "stop": st.sampled_from([None, "e", "zzz", "", [], ["a", ". "], "🙂", '"']),
    "stream": st.booleans() | st.none(),
    "n": st.sampled_from([1, 2, 3, None]),
    "logit_bias": st.none() | st.just({"17": -100}),
}
LENGTHS = st.integers(0, 60) | st.sampled_from([-1, 300, None])


def optional(**strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=strategies)


def tools(*given: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"tools": st.sampled_from(given)},
        optional={
            "tool_choice": st.sampled_from(["auto", "none", "required", NAMED, None]),
            "parallel_tool_calls": st.booleans() | st.none(),
        },
    )


CHATS = st.builds(
    lambda model, text, sampling, kind: {
        "model": model,
        "messages": [{"role": "user", "content": text}],
        **sampling,
        **kind,
    },
    MODELS,
    WORDS,
    optional(
        **SAMPLING,
        max_completion_tokens=LENGTHS,
        min_completion_tokens=st.sampled_from([None, 0, 7, 40]),
        service_tier=st.sampled_from(["auto", "default", None]),
    ),
    st.one_of(
        st.just({}),
        tools([TOOL], [STRICT_TOOL], [TOOL, {"type": "function", "function": {"name": "f"}}]),
        st.sampled_from([{"response_format": FORMAT}, {"response_format": {"type": "text"}}]),
        st.just({"response_format": {"type": "json_object"}, "stream": False}),
        st.integers(0, 5).map(lambda top: {"logprobs": True, "top_logprobs": top}),
        st.sampled_from(["none", "parsed", "text_parsed", "raw", "hidden"]).map(
            lambda format: {"model": "gpt-oss-120b", "reasoning_format": format, "logprobs": True}
        ),
        st.sampled_from([{"model": "zai-glm-4.7", "reasoning_effort": "none"}]),
    ),
)
TEXTS = st.builds(
    lambda model, prompt, sampling: {"model": model, "prompt": prompt, **sampling},
    MODELS,
    WORDS
    | st.lists(WORDS, min_size=1, max_size=3)
    | st.lists(st.integers(0, 200_000), min_size=1, max_size=6)
    | st.lists(st.lists(st.integers(0, 200_000), min_size=1, max_size=4), min_size=1, max_size=3),
    optional(
        **SAMPLING,
        max_tokens=LENGTHS,
        min_tokens=st.sampled_from([None, 0, 7, 40]),
        echo=st.booleans() | st.none(),
        logprobs=st.integers(0, 5) | st.none(),
        return_raw_tokens=st.booleans() | st.none(),
    ),
)


@settings(max_examples=60)
@given(CHATS, st.sampled_from(PROFILES))
def test_no_chat_breaks_a_rule(
    exchange: Any, broken: Any, body: dict[str, Any], profile: str
) -> None:
    made = exchange((CHAT, body), profile=profile)
    assert broken(RULES, made, profile) == {}


@settings(max_examples=60)
@given(TEXTS, st.sampled_from(PROFILES))
def test_no_completion_breaks_a_rule(
    exchange: Any, broken: Any, body: dict[str, Any], profile: str
) -> None:
    made = exchange((TEXT, body), profile=profile)
    assert broken(RULES, made, profile) == {}


# ---------------------------------------------------------------------- hostile answers

JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([2**70, 10**400, 1e308, float("nan"), float("inf"), -0.5, "", "\ud83d", "é"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["", "name", "token", "\ud83d"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def spoilt(draw: st.DrawFn, value: Any) -> Any:
    """Put junk into a few places of a JSON value."""
    value = json.loads(json.dumps(value))
    for _ in range(draw(st.integers(1, 4))):
        owner: Any = {"": value}
        key: Any = ""
        while isinstance(owner[key], dict | list) and owner[key]:
            owner = owner[key]
            key = draw(
                st.sampled_from(list(owner) if isinstance(owner, dict) else range(len(owner)))
            )
            if draw(st.integers(0, 3)) == 0:
                break
        if owner is value or not (isinstance(owner, dict) and list(owner) == [""]):
            owner[key] = draw(JUNK)
    return value


@settings(max_examples=150)
@given(st.data())
def test_no_answer_and_no_request_make_a_rule_raise(
    exchange: Any, broken: Any, bench: Any, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from([n for n in NAMES if n != "error"]))
    plain = exchange(asked(name))
    if plain.answer.is_stream:
        chunks = list(plain.answer.chunks)
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(0, len(chunks) - 1))
            chunks[at] = data.draw(spoilt(chunks[at]))
        text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    else:
        text = json.dumps(data.draw(spoilt(plain.answer.data)))
    body = data.draw(st.just(plain.asked) | spoilt(plain.asked) | JUNK)
    made = plain.answered(saying(plain.received, text.encode("utf-8", "surrogatepass")))
    made = replace(made, asked=body)
    broken(RULES, made)
    probe = Probe("1", "ids", {"a": plain, "b": made})
    for rule in BOOK:
        if rule.probe == "ids":
            list(rule.judge(probe, bench("observed")))


def test_a_huge_answer_is_judged_in_bounded_time(exchange: Any, broken: Any) -> None:
    """Nothing is quadratic: 50,000 calls, alternatives and choices are judged at once."""
    many = range(50_000)
    top = [{"token": str(at), "logprob": -20} for at in many]
    calls = [{"id": str(at), "function": {"name": "f", "arguments": "{}"}} for at in many]
    plain = exchange(asked("logprobs"))
    value = json.loads(plain.received.raw)
    value["choices"][0]["message"]["tool_calls"] = [*calls, calls[-1]]
    value["choices"][0]["logprobs"]["content"][0]["top_logprobs"] = [*top, top[-1]]
    value["choices"] += [{"index": 7, "message": {"content": "x"}} for _ in many]
    made = plain.answered(saying(plain.received, json.dumps(value).encode()))
    told = broken(BOOK, made)
    assert {
        "SEM-TOOL-CALL-ID",
        "SEM-LOGPROBS-DISTINCT",
        "SEM-CHOICES-INDEX",
        "SEM-CHOICES-COUNT",
    } <= set(told)
