"""SEMANTICS: every rule is broken by its defects, and kept by the mock in every legal delivery."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from wafermock.conformance.exchange import Arrival, Exchange, Probe, Purpose, Received, Sent
from wafermock.conformance.rule import Bench, Breach
from wafermock.conformance.rules.semantics import BOOK
from wafermock.mockserver.wire import DEFECTS, DELIVERIES
from wafermock.mockserver.wire.defects import semantics as defective
from wafermock.spec.pointer import parse_pointer, resolve

from .conftest import PROFILES
from .disturbed import NAMES, asked, changed, saying

FAIL, WARN = {"FAIL"}, {"WARN"}

# Which rules of the group are broken by a defect, on which answers. A ` stream` behind a name
# stands for a stream; those without are asked both ways, unless the defect shows on one alone.
DEFECTIVE: list[tuple[str, str, dict[str, set[str]]]] = [
    *(
        (name, defect, {rule: state})
        for name in ("chat", "text", "two", "tools")
        for defect, rule, state in (
            ("usage_sum", "SEM-USAGE-SUM", FAIL),
            ("usage_sum:by=-1", "SEM-USAGE-SUM", FAIL),
            ("usage_details", "SEM-USAGE-DETAILS", FAIL),
            ("cached_over_prompt", "SEM-USAGE-CACHED", FAIL),
            ("cached_odd", "SEM-USAGE-CACHED-BLOCKS", WARN),
            ("usage_zero", "SEM-USAGE-ZERO", FAIL),
            ("other_model", "SEM-MODEL", FAIL),
            ("created_in_milliseconds", "SEM-CREATED", FAIL),
            ("times_do_not_add_up", "SEM-TIME-SUM", FAIL),
        )
    ),
    ("cut", "length_ignored", {"SEM-LENGTH-BOUND": FAIL}),
    ("text", "length_ignored", {"SEM-LENGTH-BOUND": FAIL}),
    ("stop", "stop_ignored", {"SEM-STOP": FAIL}),
    ("two", "n_ignored", {"SEM-CHOICES-COUNT": FAIL}),
    ("texts", "n_ignored", {"SEM-CHOICES-COUNT": FAIL}),
    ("chat", "no_choices", {"SEM-CHOICES-COUNT": FAIL}),
    ("two", "choice_index_gap", {"SEM-CHOICES-INDEX": FAIL}),
    ("chat", "unknown_role", {"SEM-ROLE": FAIL}),
    ("text", "missing_choice_key:key=finish_reason", {"SEM-FINISH-THERE": WARN}),
    ("tools", "wrong_finish_reason", {"SEM-FINISH-CALLS": FAIL}),
    ("named", "wrong_finish_reason", {"SEM-FINISH-CALLS": WARN}),
    ("chat", "wrong_finish_reason", {"SEM-FINISH-LENGTH": FAIL}),
    ("cut", "wrong_finish_reason", {"SEM-FINISH-CUT": WARN}),
    ("logprobs", "logprobs_ignored", {"SEM-LOGPROBS-THERE": FAIL}),
    ("plain text", "logprobs_ignored", {"SEM-LOGPROBS-THERE": FAIL}),
    ("logprobs", "logprobs_short", {"SEM-LOGPROBS-TOKENS": FAIL}),
    ("parsed", "logprobs_short", {"SEM-LOGPROBS-TOKENS": FAIL}),
    ("logprobs", "logprob_bytes", {"SEM-LOGPROBS-BYTES": FAIL}),
    ("logprobs", "positive_logprobs", {"SEM-LOGPROBS-NEGATIVE": FAIL}),
    ("logprobs", "alternatives_reversed", {"SEM-LOGPROBS-ORDER": WARN}),
    ("plain text", "text_offsets", {"SEM-LOGPROBS-OFFSETS": WARN}),
    ("texts", "text_offsets", {"SEM-LOGPROBS-OFFSETS": WARN}),
    ("tools", "unknown_tool", {"SEM-TOOL-OFFERED": FAIL}),
    ("named", "unknown_tool", {"SEM-TOOL-OFFERED": FAIL}),
    ("tools", "arguments_not_json", {"SEM-TOOL-ARGUMENTS-JSON": FAIL}),
    ("tools", "arguments_invalid", {"SEM-TOOL-ARGUMENTS-VALID": FAIL}),
    ("loose tools", "arguments_invalid", {"SEM-TOOL-ARGUMENTS-VALID": WARN}),
    ("bare tool", "arguments_invalid", {"SEM-TOOL-ARGUMENTS-VALID": WARN}),
    ("tools stream", "no_call_id", {"SEM-TOOL-CALL-ID": FAIL}),
    ("no tools", "tool_choice_ignored", {"SEM-TOOL-CHOICE-NONE": FAIL}),
    ("tools", "tool_choice_ignored", {"SEM-TOOL-CHOICE-REQUIRED": FAIL}),
    ("named", "tool_choice_ignored", {"SEM-TOOL-CHOICE-NAMED": FAIL}),
    ("one call", "parallel_calls", {"SEM-TOOL-PARALLEL": FAIL}),
    ("json", "response_format_ignored", {"SEM-STRUCTURED-JSON": FAIL}),
    ("json", "json_fenced", {"SEM-STRUCTURED-JSON": FAIL}),
    ("json", "json_invalid", {"SEM-STRUCTURED-VALID": FAIL}),
    ("json", "json_key_order", {"SEM-STRUCTURED-ORDER": WARN}),
    ("object", "response_format_ignored", {"SEM-JSON-OBJECT": FAIL}),
    ("object", "json_fenced", {"SEM-JSON-OBJECT": FAIL}),
    *(
        (name, defect, {rule: state})
        for name in ("chat", "text")
        for defect, rule, state in (
            ("usage_negative", "SEM-USAGE-NEGATIVE", FAIL),
            ("images_over_prompt", "SEM-USAGE-IMAGES", FAIL),
            ("time_negative", "SEM-TIME-NEGATIVE", FAIL),
            ("time_created", "SEM-TIME-CREATED", WARN),
        )
    ),
    ("chat", "usage_missing", {"SEM-USAGE-THERE": WARN}),
    ("chat", "usage_parts", {"SEM-USAGE-DETAILS-SUM": WARN}),
    ("chat", "prompt_zero", {"SEM-USAGE-PROMPT-ZERO": FAIL}),
    ("chat", "id_prefix", {"SEM-ID": WARN}),
    ("least", "least_ignored", {"SEM-LENGTH-LEAST": FAIL}),
    ("text", "echo_ignored", {"SEM-ECHO": FAIL}),
    ("raw tokens", "raw_tokens_ignored", {"SEM-RAW-TOKENS": FAIL}),
    ("hidden", "reasoning_format_ignored", {"SEM-REASONING-HIDDEN": FAIL}),
    ("raw", "reasoning_format_ignored", {"SEM-REASONING-RAW": FAIL}),
    ("thoughtless", "effort_ignored", {"SEM-REASONING-NONE": FAIL}),
    ("parsed", "thoughts_lost", {"SEM-REASONING-PARSED": FAIL}),
    ("chat", "thoughts_uncounted", {"SEM-REASONING-COUNTED": WARN}),
    ("chat", "reasoning_content", {"SEM-REASONING-NAME": WARN}),
    ("chat", "logprobs_unasked", {"SEM-LOGPROBS-UNASKED": WARN}),
    ("logprobs", "alternatives_more", {"SEM-LOGPROBS-COUNT": FAIL}),
    ("logprobs", "alternatives_fewer", {"SEM-LOGPROBS-FEW": WARN}),
    ("logprobs", "alternatives_sum", {"SEM-LOGPROBS-SUM": FAIL}),
    ("logprobs", "alternatives_twice", {"SEM-LOGPROBS-DISTINCT": WARN}),
    ("logprobs", "chosen_missing", {"SEM-LOGPROBS-CHOSEN": FAIL}),
    ("plain text", "logprob_lists", {"SEM-LOGPROBS-LENGTHS": FAIL}),
    ("chat", "tier_unasked", {"SEM-TIER-UNASKED": FAIL}),
    ("tier", "tier_untold", {"SEM-TIER-UNTOLD": WARN}),
]
WHOLE_ONLY = {"object", "no_choices", "unknown_role", "tier_untold", "usage_missing"} | {
    "missing_choice_key:key=finish_reason"
}
ROWS = [
    (name + way, defect, expected)
    for name, defect, expected in DEFECTIVE
    for way in ("", " stream")
    if not (way and (" stream" in name or {name, defect} & WHOLE_ONLY))
]


@pytest.mark.parametrize(("name", "defect", "expected"), ROWS, ids=[f"{n}-{d}" for n, d, _ in ROWS])
def test_a_defect_breaks_its_rule_whole_and_streamed_alike(
    name: str, defect: str, expected: dict[str, set[str]], exchange: Any, broken: Any
) -> None:
    assert broken(BOOK, exchange(asked(name), defect=defect)) == expected


def test_every_defect_of_the_group_is_told_by_a_rule() -> None:
    told = {defect.partition(":")[0] for _, defect, _ in DEFECTIVE}
    # Of two requests, and of models.
    others = {"same_id", "model_twice", "model_swapped"}
    assert {e.name for e in DEFECTS.values() if e.group == "SEMANTICS"} - told == others


# ---------------------------------------------------------------------- changed by hand

Edit = Callable[[dict[str, Any]], object]


def in_usage(**values: Any) -> Edit:
    """Change numbers of `usage`; a dictionary goes into the details of that name."""

    def change(value: dict[str, Any]) -> None:
        if "usage" not in value:
            return
        for name, new in values.items():
            if isinstance(new, dict):
                value["usage"].setdefault(name, {}).update(new)
            else:
                value["usage"][name] = new
        usage = value["usage"]
        usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]

    return change


def in_choices(change: Edit) -> Edit:
    return lambda value: [change(choice) for choice in value.get("choices", ())]


def in_words(**values: Any) -> Edit:
    def change(choice: dict[str, Any]) -> None:
        words = choice.get("message", choice.get("delta", choice))
        # In a stream the first piece takes it.
        if "message" in choice or "role" in words or "text" in choice:
            words.update(values)

    return in_choices(change)


def in_entries(change: Edit) -> Edit:
    def change_all(choice: dict[str, Any]) -> None:
        for entry in (choice.get("logprobs") or {}).get("content", ()):
            change(entry)

    return in_choices(change_all)


def in_lists(change: Edit) -> Edit:
    return in_choices(lambda choice: change(choice["logprobs"]) if "logprobs" in choice else None)


def in_calls(change: Edit) -> Edit:
    def change_all(choice: dict[str, Any]) -> None:
        for call in choice.get("message", choice.get("delta", {})).get("tool_calls", ()):
            change(call)

    return in_choices(change_all)


def two_calls(choice: dict[str, Any]) -> None:
    calls = choice["message"]["tool_calls"]
    calls.append(calls[0])


def top(*logprobs: float) -> list[dict[str, Any]]:
    return [{"token": f"t{at}", "logprob": value} for at, value in enumerate(logprobs)]


def put(**values: Any) -> Edit:
    return lambda node: node.update(values)


def times(**values: Any) -> Edit:
    return lambda value: value["time_info"].update(values) if "time_info" in value else None


def end_of_turn(choice: dict[str, Any]) -> None:
    """Tell of a mark of the model's own, which has no text; others like it were likelier."""
    marks = [{"token": "", "logprob": value, "bytes": []} for value in (-1, -2)]
    mark = {"token": "", "logprob": -9, "bytes": [], "top_logprobs": [*marks, *top(-3)]}
    choice["logprobs"]["content"].append(mark)


def test_what_is_cached_comes_in_blocks_of_the_model(
    exchange: Callable[..., Exchange], bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of how many tokens is the catalogue's to say, for the judge and for the defect."""
    for models in (bench().contract.models, defective._models()):
        monkeypatch.setitem(models["gpt-oss-120b"], "cache_block", 7)
    over = exchange("chat", defect="cached_over_prompt")
    usage = over.answer.data["usage"]
    assert 0 < usage["prompt_tokens_details"]["cached_tokens"] - usage["prompt_tokens"] <= 7
    rule = next(rule for rule in BOOK if rule.id == "SEM-USAGE-CACHED-BLOCKS")
    assert list(rule.judge(over, bench())) == []
    (breach,) = rule.judge(exchange("chat", defect="cached_odd"), bench())
    assert isinstance(breach, Breach)
    assert (breach.expected, breach.actual) == ("a multiple of 7", "1")


CHANGED: list[tuple[str, Edit, dict[str, set[str]]]] = [
    ("logprobs", in_choices(end_of_turn), {}),
    ("chat", lambda value: value.pop("usage"), {"SEM-USAGE-THERE": WARN}),
    ("chat stream", in_usage(image_tokens=-1), {"SEM-USAGE-NEGATIVE": FAIL}),
    ("text", in_usage(prompt_tokens_details={"cached_tokens": -128}), {"SEM-USAGE-NEGATIVE": FAIL}),
    (
        "free",
        in_usage(
            completion_tokens=50,
            completion_tokens_details={"reasoning_tokens": 30, "accepted_prediction_tokens": 30},
        ),
        {"SEM-USAGE-DETAILS-SUM": WARN},
    ),
    ("chat stream", in_usage(image_tokens=100_000), {"SEM-USAGE-IMAGES": FAIL}),
    ("chat", in_usage(prompt_tokens=0), {"SEM-USAGE-PROMPT-ZERO": FAIL}),
    ("chat", times(queue_time=-0.5), {"SEM-TIME-NEGATIVE": FAIL}),
    ("chat stream", times(created=1.5), {"SEM-TIME-CREATED": WARN}),
    ("least", in_usage(completion_tokens=149), {"SEM-LENGTH-LEAST": FAIL}),
    ("text", in_words(text="something else"), {"SEM-ECHO": FAIL}),
    ("raw tokens", in_choices(put(text="words")), {"SEM-RAW-TOKENS": FAIL}),
    ("raw tokens", in_choices(lambda choice: choice.pop("tokens")), {"SEM-RAW-TOKENS": FAIL}),
    (
        "chat",
        in_choices(
            lambda choice: choice.update(
                logprobs={
                    "content": [
                        {"token": choice["message"]["content"], "logprob": -1, "top_logprobs": []}
                    ]
                }
            )
        ),
        {"SEM-LOGPROBS-UNASKED": WARN},
    ),
    (
        "logprobs",
        in_entries(put(logprob=-9, top_logprobs=top(-0.5, -0.6, -0.7))),
        {"SEM-LOGPROBS-SUM": FAIL},
    ),
    (
        "logprobs stream",
        in_entries(put(logprob=-9, top_logprobs=top(-2, -3, -4, -5))),
        {"SEM-LOGPROBS-COUNT": FAIL},
    ),
    ("logprobs", in_entries(put(logprob=-9, top_logprobs=top(-2, -3))), {"SEM-LOGPROBS-FEW": WARN}),
    (
        "logprobs",
        in_entries(put(logprob=-9, top_logprobs=[*top(-2, -3), *top(-4)])),
        {"SEM-LOGPROBS-DISTINCT": WARN},
    ),
    (
        "logprobs stream",
        in_entries(put(logprob=-1, top_logprobs=top(-2, -3, -4))),
        {"SEM-LOGPROBS-CHOSEN": FAIL},
    ),
    (
        "logprobs",
        in_entries(lambda entry: entry.update(logprob=entry["logprob"] - 1)),
        {"SEM-LOGPROBS-CHOSEN": FAIL},
    ),
    (
        "plain text",
        in_lists(lambda lists: lists["token_logprobs"].pop()),
        {"SEM-LOGPROBS-LENGTHS": FAIL},
    ),
    (
        "plain text",
        in_lists(put(top_logprobs=[])),
        {"SEM-LOGPROBS-LENGTHS": FAIL, "SEM-LOGPROBS-FEW": WARN},
    ),
    ("tools", in_choices(two_calls), {"SEM-TOOL-CALL-ID": FAIL}),
    ("tools", in_calls(put(id="")), {"SEM-TOOL-CALL-ID": FAIL}),
    (
        "one call",
        lambda value: in_choices(two_calls)(value),
        {"SEM-TOOL-CALL-ID": FAIL, "SEM-TOOL-PARALLEL": FAIL},
    ),
    (
        "bare tool",
        in_calls(lambda call: call["function"].update(arguments='{"a":1}')),
        {"SEM-TOOL-ARGUMENTS-VALID": WARN},
    ),
    (
        "tools",
        in_calls(lambda call: call["function"].update(arguments="[]")),
        {"SEM-TOOL-ARGUMENTS-VALID": FAIL},
    ),
    ("hidden", in_words(reasoning="I think"), {"SEM-REASONING-HIDDEN": FAIL}),
    ("raw stream", in_words(reasoning="I think"), {"SEM-REASONING-RAW": FAIL}),
    (
        "parsed",
        in_choices(lambda c: (c["message"].pop("reasoning"), c.pop("reasoning_logprobs"))),
        {"SEM-REASONING-PARSED": FAIL},
    ),
    (
        "thoughtless",
        in_words(reasoning="I think"),
        {"SEM-REASONING-NONE": FAIL, "SEM-REASONING-COUNTED": WARN},
    ),
    (
        "thoughtless stream",
        in_usage(completion_tokens_details={"reasoning_tokens": 2}),
        {"SEM-REASONING-NONE": FAIL},
    ),
    (
        "chat",
        in_usage(completion_tokens_details={"reasoning_tokens": 0}),
        {"SEM-REASONING-COUNTED": WARN},
    ),
    ("chat", in_words(reasoning_content="I think"), {"SEM-REASONING-NAME": WARN}),
    ("chat stream", put(id="c-1"), {"SEM-ID": WARN}),
]


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    CHANGED,
    ids=[f"{name}-{'-'.join(expected)}-{at}" for at, (name, _, expected) in enumerate(CHANGED)],
)
def test_a_changed_answer_breaks_its_rule(
    name: str, change: Edit, expected: dict[str, set[str]], exchange: Any, broken: Any
) -> None:
    plain = exchange(asked(name))
    made = changed(plain, change)
    assert made.received.raw != plain.received.raw
    assert broken(BOOK, made) == expected


# ---------------------------------------------------------------------- several exchanges, models


def of_probe(name: str, probe: Probe, bench: Bench) -> list[Breach]:
    return [
        breach
        for rule in BOOK
        if rule.probe == name
        for breach in rule.judge(probe, bench)
        if isinstance(breach, Breach)
    ]


@pytest.mark.parametrize("way", ["", " stream"])
def test_ids_of_different_requests_differ(way: str, exchange: Any, bench: Any) -> None:
    def probe(**more: Any) -> Probe:
        return Probe(
            "1",
            "ids",
            {"a": exchange(asked("chat" + way), **more), "b": exchange(asked("two" + way), **more)},
        )

    assert of_probe("ids", probe(), bench("observed")) == []
    (breach,) = of_probe("ids", probe(defect="same_id"), bench("observed"))
    assert breach.location.endswith("/ChatCompletionResponse/properties/id")


def test_probes_that_lack_an_answer_say_nothing(exchange: Any, bench: Any) -> None:
    plain = exchange(asked("chat"))
    lost = plain.answered(None, "connection refused")
    for made in ({"a": plain}, {"a": lost, "b": lost}, {}):
        assert of_probe("ids", Probe("1", "ids", made), bench("observed")) == []


def of_models(contract: Any, path: str, value: Any) -> Exchange:
    body = json.dumps(value).encode()
    head = (("content-type", "application/json"),)
    route = contract("observed").route("GET", path)
    return Exchange(
        "1",
        Purpose("test", "test", "#"),
        Sent("GET", path),
        route.operation,
        None,
        Received(200, "OK", head, (Arrival(0, body),)),
    )


def test_models(contract: Any, broken: Any) -> None:
    listed = contract("observed").models.listed()
    data = {"object": "list", "data": listed}
    assert broken(BOOK, of_models(contract, "/v1/models", data)) == {}
    for wrong in ([*listed, listed[0]], [{**listed[0], "id": ""}]):
        made = of_models(contract, "/v1/models", {**data, "data": wrong})
        assert broken(BOOK, made) == {"SEM-MODEL-LIST": FAIL}
    for hostile in (None, 7, {"data": 7}, {"data": [None, 7, {"id": 8}]}):
        assert broken(BOOK, of_models(contract, "/v1/models", hostile)) == {}
    assert (
        broken(BOOK, of_models(contract, "/v1/models/gemma%2D4-31b", {"id": "gemma-4-31b"})) == {}
    )
    made = of_models(contract, "/v1/models/gemma-4-31b", {"id": "other"})
    assert broken(BOOK, made) == {"SEM-MODEL-ID": FAIL}


# ---------------------------------------------------------------------- the book


def test_every_rule_is_proved() -> None:
    proved = {rule for _, _, expected in [*DEFECTIVE, *CHANGED] for rule in expected}
    elsewhere = {"SEM-IDS", "SEM-MODEL-LIST", "SEM-MODEL-ID"}
    assert {rule.id for rule in BOOK} == proved | elsewhere


def test_rules_point_into_the_contract(contract: Any) -> None:
    """A source that is a pointer leads somewhere, in both profiles."""
    pointers = [r.described.source for r in BOOK if r.described.source.startswith("#/")]
    assert len(pointers) > 40
    for profile in PROFILES:
        for pointer in pointers:
            resolve(contract(profile).document, parse_pointer(pointer))


def test_a_breach_points_into_the_contract(exchange: Any, bench: Any, contract: Any) -> None:
    """What is not obeyed is located at the parameter, the rest where the answer declares it."""
    locations = {}
    for name, defect, _ in ROWS:
        made = exchange(asked(name), defect=defect)
        for rule in BOOK:
            if not rule.probe and rule.applies(made):
                for breach in rule.judge(made, bench("observed")):
                    locations[rule.id] = breach.location
                    resolve(contract("observed").document, parse_pointer(breach.location))
    assert locations["SEM-STOP"] == "#/components/schemas/ChatCompletionRequest/properties/stop"
    usage = "#/components/schemas/ChatCompletionResponse/properties/usage/properties"
    assert locations["SEM-USAGE-SUM"] == f"{usage}/total_tokens"


# ---------------------------------------------------------------------- what must break nothing


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", NAMES)
def test_the_mock_breaks_no_rule(name: str, profile: str, exchange: Any, broken: Any) -> None:
    assert broken(BOOK, exchange(asked(name), profile=profile), profile) == {}


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_a_delivery_breaks_no_rule(delivery: str, exchange: Any, broken: Any) -> None:
    for name in ("chat", "tools stream", "two stream", "logprobs stream", "texts stream"):
        assert broken(BOOK, exchange(asked(name), delivery=delivery)) == {}


def test_every_rule_applies_to_something(exchange: Any) -> None:
    made = [exchange(asked(name)) for name in NAMES]
    applied = {rule.id for rule in BOOK for one in made if rule.applies(one)}
    # Images alone have image tokens; the others need other operations, or two exchanges.
    needs_more = {"SEM-USAGE-IMAGES", "SEM-IDS", "SEM-MODEL-LIST", "SEM-MODEL-ID"}
    assert {rule.id for rule in BOOK} - applied <= needs_more


def test_what_is_no_whole_answer_is_not_judged(exchange: Any) -> None:
    plain = exchange(asked("chat stream"))
    assert any(rule.applies(plain) for rule in BOOK)
    events = plain.received.raw
    error = b'data: {"status_code":500,"error":{"message":"x"}}\n\n'
    for made in (
        plain.answered(replace(plain.received, ended="cut")),
        plain.answered(saying(plain.received, events[:600] + b"\n\n" + error)),
        plain.answered(saying(plain.received, events + b"data: {\n\n")),
        replace(plain, purpose=Purpose("test", "test", "#", "invalid")),
        exchange(asked("error")),
    ):
        assert not any(rule.applies(made) for rule in BOOK)


def said(content: str, **more: Any) -> Edit:
    """Have a whole chat answer say something else."""
    return lambda value: (
        value["choices"][0]["message"].update(content=content),
        value.update(more),
    )


LEGAL: list[tuple[str, Edit]] = [
    # Tokens that are a part of a character have bytes, and a stand-in for their text.
    (
        "parsed",
        in_choices(
            lambda choice: (
                choice["message"].update(content="é"),
                choice.update(
                    logprobs={
                        "content": [
                            {"token": "\ufffd", "logprob": -1, "bytes": [195], "top_logprobs": []},
                            {"token": "\ufffd", "logprob": -1, "bytes": [169], "top_logprobs": []},
                        ]
                    }
                ),
            )
        ),
    ),
    # A token that is drawn at a high temperature need not be among the likeliest.
    ("logprobs", in_entries(put(logprob=-9, top_logprobs=top(-2, -3, -4)))),
    # Words before the call may hold a `stop` that was asked for; then there is no call.
    (
        "tools, stop",
        in_choices(
            lambda choice: (
                choice.update(finish_reason="stop"),
                choice["message"].pop("tool_calls", None),
                choice["message"].update(content="Once a river "),
            )
        ),
    ),
    # Bytes are not required.
    ("logprobs", in_entries(lambda entry: entry.update(bytes=None))),
    # Offsets may count from the prompt's end, and in bytes.
    (
        "plain text",
        in_lists(
            lambda lists: lists.update(
                text_offset=[at + len("Zeig mir 漢字, é und 🙂!") for at in lists["text_offset"]]
            )
        ),
    ),
    ("json", said('{"city": "B",\n "count": 2.0}\n')),
    # Times are rounded each for itself.
    ("chat", times(queue_time=0, prompt_time=0.1, completion_time=0.2, total_time=0.3)),
    ("chat", times(queue_time=None, prompt_time=None, total_time=None)),
]


@pytest.mark.parametrize(("name", "change"), LEGAL)
def test_what_servers_may_say_breaks_nothing(
    name: str, change: Edit, exchange: Any, broken: Any
) -> None:
    assert broken(BOOK, changed(exchange(asked(name)), change)) == {}
