"""SCHEMA: every rule is broken by its defects, and kept by the mock in every legal delivery."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.conformance.exchange import Arrival, Received
from wafermock.conformance.http1_answer import BEHIND
from wafermock.conformance.rule import Breach
from wafermock.conformance.rules.schema import BOOK
from wafermock.mockserver.wire import DEFECTS, DELIVERIES
from wafermock.spec.pointer import parse_pointer, resolve

from .conftest import PROFILES
from .disturbed import NAMES, asked, changed, saying

# Which rules of the group are broken by a defect, on which answers.
DEFECTIVE: list[tuple[str, str, dict[str, set[str]]]] = [
    *(
        (name, f"missing_key:key={key}", {"SCHEMA-REQUIRED": {"FAIL"}})
        for name in ("chat", "text", "text stream")
        for key in ("id", "choices", "created", "model", "system_fingerprint", "object")
    ),
    # `choices` is not required in a chunk: a stream without them is for SEQUENCE.
    ("chat stream", "missing_key:key=id", {"SCHEMA-REQUIRED": {"FAIL"}}),
    ("chat stream", "missing_key:key=choices", {}),
    ("chat", "missing_choice_key", {"SCHEMA-REQUIRED": {"FAIL"}}),
    ("chat", "missing_choice_key:key=words", {"SCHEMA-REQUIRED": {"FAIL"}}),
    ("chat", "missing_choice_key:key=finish_reason", {"SCHEMA-REQUIRED": {"FAIL"}}),
    ("text stream", "missing_choice_key", {"SCHEMA-REQUIRED": {"FAIL"}}),
    ("chat", "wrong_object", {"SCHEMA-VALUE": {"FAIL"}}),
    ("chat stream", "wrong_object", {"SCHEMA-VALUE": {"FAIL"}}),
    ("text", "wrong_object", {"SCHEMA-VALUE": {"FAIL"}}),
    ("chat", "null_value", {"SCHEMA-NULL": {"FAIL"}}),
    ("text stream", "null_value:key=id", {"SCHEMA-NULL": {"FAIL"}}),
    ("chat", "wrong_type", {"SCHEMA-TYPE": {"FAIL"}}),
    ("chat stream", "wrong_type", {"SCHEMA-TYPE": {"FAIL"}}),
    ("chat", "unknown_key", {"SCHEMA-OPEN": {"WARN"}}),
    ("chat stream", "unknown_key", {"SCHEMA-CLOSED": {"FAIL"}}),
    ("text", "unknown_key", {"SCHEMA-CLOSED": {"FAIL"}}),
    ("chat", "unknown_finish_reason", {"SCHEMA-VALUE": {"FAIL"}}),
    ("text stream", "unknown_finish_reason", {"SCHEMA-VALUE": {"FAIL"}}),
    ("chat stream", "unknown_role", {"SCHEMA-VALUE": {"FAIL"}}),
    ("chat", "unknown_role", {}),  # the role of a whole answer is any text: for SEMANTICS
    ("text", "no_choices", {"SCHEMA-BOUND": {"FAIL"}}),
    ("chat", "no_choices", {}),  # no least number is declared: for SEMANTICS
    ("chat", "json_content_type", {"SCHEMA-MEDIA-TYPE": {"FAIL"}}),
    ("error", "json_content_type", {"SCHEMA-MEDIA-TYPE": {"WARN"}}),
    ("chat", "junk_behind_json", {"SCHEMA-JSON": {"FAIL"}}),
    ("chat", "nan", {"SCHEMA-NAN": {"FAIL"}}),
    ("chat stream", "nan", {"SCHEMA-NAN": {"FAIL"}}),
    ("chat", "key_twice", {"SCHEMA-KEY-TWICE": {"FAIL"}, "SCHEMA-VALUE": {"FAIL"}}),
    ("text stream", "key_twice", {"SCHEMA-KEY-TWICE": {"FAIL"}, "SCHEMA-VALUE": {"FAIL"}}),
    # Defects of other groups that break the contract as well.
    ("error", "error_status_wrong", {"SCHEMA-STATUS": {"WARN"}}),
    ("error", "error_shape", {"SCHEMA-ERROR": {"FAIL"}, "SCHEMA-OPEN": {"WARN"}}),
    ("error", "error_key_missing:key=type", {"SCHEMA-ERROR": {"FAIL"}}),
    ("error", "error_message_null", {"SCHEMA-ERROR": {"FAIL"}}),
    ("error", "error_empty", {"SCHEMA-JSON": {"FAIL"}}),
    ("error", "error_html", {"SCHEMA-MEDIA-TYPE": {"WARN"}}),
    ("chat stream", "error_event_without_status", {"SCHEMA-REQUIRED": {"FAIL"}}),
    ("chat stream", "junk_after_done", {"SCHEMA-REQUIRED": {"FAIL"}}),
]


@pytest.mark.parametrize(
    ("name", "defect", "expected"), DEFECTIVE, ids=[f"{n}-{d}" for n, d, _ in DEFECTIVE]
)
def test_a_defect_breaks_its_rules(
    name: str, defect: str, expected: dict[str, set[str]], exchange: Any, broken: Any
) -> None:
    assert broken(BOOK, exchange(asked(name), defect=defect)) == expected


def test_every_defect_of_the_group_is_told_by_a_rule() -> None:
    told = {defect.partition(":")[0] for _, defect, expected in DEFECTIVE if expected}
    of_semantics = {"no_choices"}
    assert {e.name for e in DEFECTS.values() if e.group == "SCHEMA"} - told <= of_semantics


def test_every_rule_has_a_defect() -> None:
    proved = {rule for _, _, expected in DEFECTIVE for rule in expected}
    assert {rule.id for rule in BOOK} - proved == {"SCHEMA-NO-BODY"}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", NAMES)
def test_the_mock_breaks_no_rule(name: str, profile: str, exchange: Any, broken: Any) -> None:
    assert broken(BOOK, exchange(asked(name), profile=profile), profile) == {}


# The completions document wants a choice in every chunk; other servers send one without.
APART = {"SCHEMA-BOUND": {"WARN"}}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("delivery", DELIVERIES)
def test_a_delivery_breaks_no_rule(delivery: str, profile: str, exchange: Any, broken: Any) -> None:
    for name in ("chat", "tools stream", "two stream", "text stream", "error"):
        made = exchange(asked(name), profile=profile, delivery=delivery)
        told = broken(BOOK, made, profile)
        assert told == (APART if (delivery, name) == ("usage_apart", "text stream") else {})


def test_every_rule_applies_to_something(exchange: Any) -> None:
    made = [exchange(asked(name)) for name in ("chat", "chat stream", "error")]
    applied = {rule.id for rule in BOOK for one in made if rule.applies(one)}
    assert {rule.id for rule in BOOK} - applied == {"SCHEMA-NO-BODY"}


# ---------------------------------------------------------------------- what is told


def found(exchange: Any, bench: Any) -> list[Breach]:
    return [
        breach
        for rule in BOOK
        if rule.applies(exchange)
        for breach in rule.judge(exchange, bench("observed"))
        if isinstance(breach, Breach)
    ]


def test_a_breach_says_where_and_what(exchange: Any, bench: Any) -> None:
    def spoil(chunk: dict[str, Any]) -> None:
        chunk["choices"][0]["delta"]["role"] = 7

    made = changed(exchange(asked("chat stream")), spoil)
    (breach,) = found(made, bench)
    assert breach == Breach(
        expected="string or null",
        actual="7",
        where="chunk 0, /choices/0/delta/role",
        location="#/components/schemas/ChatCompletionDelta/properties/role",
    )


@pytest.mark.parametrize(
    ("name", "change", "where", "location"),
    [
        (
            "chat",
            lambda value: value["choices"][0].pop("index"),
            "/choices/0/index",
            "#/components/schemas/ChatCompletionResponse/properties/choices/items/properties/index",
        ),
        (
            "chat",
            lambda value: value["choices"][0]["message"].update(a={"b/~": 1}),
            "/choices/0/message/a",
            "#/components/schemas/ChatCompletionResponse/properties/choices/items/properties/message",
        ),
        (
            "text",
            lambda value: value["usage"]["prompt_tokens_details"].update({"b/~": 1}),
            "/usage/prompt_tokens_details/b~1~0",
            "#/components/schemas/Usage/properties/prompt_tokens_details",
        ),
        (
            "text stream",
            lambda chunk: chunk["time_info"].update(queue_time=-1) if "time_info" in chunk else 0,
            "/time_info/queue_time",
            "#/components/schemas/TimeInfo/properties/queue_time",
        ),
        (
            "tools stream",
            lambda chunk: [
                call.update(type="tool")
                for choice in chunk["choices"]
                for call in choice["delta"].get("tool_calls", ())
            ],
            "/choices/0/delta/tool_calls/0/type",
            "#/components/schemas/ChatCompletionToolCallFragment/properties/type",
        ),
        (
            "logprobs",
            lambda value: value["choices"][0]["logprobs"]["content"][1].update(logprob=None),
            "/choices/0/logprobs/content/1/logprob",
            "#/components/schemas/ChatTokenLogprob/properties/logprob",
        ),
        (
            "error",
            lambda value: value.update(message=["no"]),
            "/message",
            "#/components/schemas/ErrorResponse/properties/message",
        ),
    ],
)
def test_a_breach_points_into_answer_and_contract(
    name: str, change: Any, where: str, location: str, exchange: Any, bench: Any, contract: Any
) -> None:
    (breach,) = found(changed(exchange(asked(name)), change), bench)
    assert breach.where.rpartition(", ")[2] == where
    assert breach.location == location
    resolve(contract("observed").document, parse_pointer(location))


def test_one_place_is_told_once_however_many_chunks_break_it(exchange: Any, bench: Any) -> None:
    made = exchange(asked("chat stream"), defect="null_value:key=model")
    assert len(made.answer.chunks) > 5
    (breach,) = found(made, bench)
    assert breach.where == "chunk 0, /model"


def test_nested_and_fastapi_errors_are_told(exchange: Any, broken: Any) -> None:
    plain = exchange(asked("error"))
    for shape in ({"error": {"message": "no"}}, {"detail": [{"loc": [], "msg": "", "type": ""}]}):
        made = plain.answered(saying(plain.received, json.dumps(shape).encode()))
        assert "SCHEMA-ERROR" in broken(BOOK, made)


def test_a_wrong_label_hides_no_fault(exchange: Any, broken: Any) -> None:
    made = changed(exchange(asked("chat")), lambda value: value.pop("id"))
    headers = (("content-type", "text/plain"),)
    labelled = made.answered(replace(made.received, headers=headers))
    assert set(broken(BOOK, labelled)) == {"SCHEMA-REQUIRED", "SCHEMA-MEDIA-TYPE"}


def test_answers_that_may_have_no_body(exchange: Any, broken: Any) -> None:
    plain = exchange(asked("chat"))
    head = replace(plain, sent=replace(plain.sent, method="HEAD"))
    assert broken(BOOK, head) == {"SCHEMA-NO-BODY": {"FAIL"}}
    none = saying(head.received, b"")
    assert broken(BOOK, head.answered(none)) == {}
    behind = replace(none, framing_fault=f"243 bytes {BEHIND} (RFC 9112, section 6.3)")
    assert broken(BOOK, head.answered(behind)) == {"SCHEMA-NO-BODY": {"FAIL"}}
    gone = plain.answered(replace(plain.received, status=204))
    assert broken(BOOK, gone)["SCHEMA-NO-BODY"] == {"FAIL"}


def test_a_body_cut_short_is_not_called_broken_json(exchange: Any, broken: Any) -> None:
    plain = exchange(asked("chat"))
    cut = replace(saying(plain.received, plain.received.raw[:50]), ended="cut")
    assert broken(BOOK, plain.answered(cut)) == {}


def test_a_request_of_no_operation_is_judged_by_no_rule(exchange: Any, broken: Any) -> None:
    made = exchange(("/v1/nowhere", {}))
    assert made.operation is None
    assert broken(BOOK, made) == {}


# ---------------------------------------------------------------------- hostile servers

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([2**70, 1e308, float("nan"), float("inf"), -0.5, "", "\ud83d", "é"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["", "choices", "index", "\ud83d", "usage", "error", "~/"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
TYPES = st.sampled_from(["application/json", "text/event-stream", "text/html", ""])
BODIES = (
    st.binary(max_size=60)
    | VALUES.map(lambda value: json.dumps(value).encode("utf-8", "surrogatepass"))
    | st.lists(VALUES, max_size=4).map(
        lambda values: "".join(f"data: {json.dumps(value)}\n\n" for value in values).encode()
    )
    | st.sampled_from([b"[" * 100_000, b'{"choices":' + b"[" * 900 + b"]" * 900 + b"}"])
    | st.sampled_from([b'{"id":' + b"9" * 5000 + b"}", b'{"created":1e999}'])
)


@given(TYPES, BODIES, st.sampled_from([200, 204, 400, 418, 599]), st.sampled_from(NAMES))
def test_no_bytes_make_a_rule_raise(
    exchange: Any, broken: Any, kind: str, body: bytes, status: int, name: str
) -> None:
    received = Received(status, "", (("content-type", kind),), (Arrival(0.0, body),))
    broken(BOOK, exchange(asked(name), received=received))


def test_deep_values_and_half_surrogates_hide_no_fault(exchange: Any, broken: Any) -> None:
    deep: Any = {}
    for _ in range(90):
        deep = {"a": deep}
    for more in ({"deep": deep}, {"\ud83d": 1}, {"deep": deep, "\ud83d": deep}):

        def spoil(value: dict[str, Any], more: Any = more) -> None:
            value.update(more, created="now")

        made = changed(exchange(asked("chat")), spoil)
        assert broken(BOOK, made)["SCHEMA-TYPE"] == {"FAIL"}


def test_a_stream_of_invalid_chunks_is_judged_in_bounded_time(exchange: Any, broken: Any) -> None:
    """Of 20,000 chunks that are all invalid, the first ones are looked into."""
    from wafermock.conformance.bodies import MOST_CHUNKS, faults

    plain = exchange(asked("chat stream"))
    made = plain.answered(saying(plain.received, b'data: {"id":1}\n\n' * 20_000))
    assert len({fault.body.where for fault in faults(made)}) == MOST_CHUNKS
    assert broken(BOOK, made)["SCHEMA-REQUIRED"] == {"FAIL"}
