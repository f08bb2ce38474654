"""SEQUENCE: every rule is broken by its defects, and kept by every legal delivery."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.conformance.chunk_sequence import TABLE, run
from wafermock.conformance.exchange import Arrival, Received
from wafermock.conformance.rules.framing import BOOK as FRAMING
from wafermock.conformance.rules.sequence import BOOK
from wafermock.mockserver.wire import DEFECTS, DELIVERIES
from wafermock.spec.pointer import parse_pointer, resolve

from .conftest import ASKED, PROFILES, STREAMS

STREAM = (("Content-Type", "text/event-stream"),)
CHATS = ["chat stream", "two stream", "logprobs stream", "tools stream", "whole tools stream"]
CALLS = ["tools stream", "whole tools stream"]

# What breaks, by defect, and for which streams.
DEFECTIVE: list[tuple[str, list[str], set[str]]] = [
    ("no_role", CHATS, {"SEQ-ROLE-FIRST"}),
    ("late_role", ["chat stream", "tools stream"], {"SEQ-ROLE-FIRST"}),
    ("role_changes", ["chat stream", "tools stream"], {"SEQ-ROLE-SAME"}),
    ("changing_key:key=id", STREAMS, {"SEQ-ID"}),
    ("changing_key:key=created", STREAMS, {"SEQ-CREATED"}),
    ("changing_key:key=model", STREAMS, {"SEQ-MODEL"}),
    ("changing_key:key=system_fingerprint", STREAMS, {"SEQ-FINGERPRINT"}),
    ("changing_key:key=object", STREAMS, {"SEQ-OBJECT"}),
    ("choice_index_gap", STREAMS, {"SEQ-CHOICE-INDEX"}),
    ("two_finish_reasons", STREAMS, {"SEQ-FINISH-ONCE"}),
    ("no_finish_reason", STREAMS, {"SEQ-FINISH"}),
    ("words_after_finish", ["chat stream", "text stream"], {"SEQ-FINISH-LAST", "SEQ-USAGE-LAST"}),
    ("no_call_id", CALLS, {"SEQ-CALL-ID"}),
    ("call_id_changes", CALLS, {"SEQ-CALL-ID-SAME"}),
    ("call_name_repeated", CALLS, {"SEQ-CALL-NAME-ONCE"}),
    ("call_index_gap", CALLS, {"SEQ-CALL-INDEX"}),
    ("no_call_index", CALLS, {"SEQ-CALL-INDEXED"}),
    ("fragments_swapped", CALLS, {"SEQ-CALL-ARGUMENTS"}),
    ("no_call_name", CALLS, {"SEQ-CALL-NAME"}),
    ("call_id_repeated", CALLS, {"SEQ-CALL-ID-ONCE"}),
    ("call_id_shared", CALLS, {"SEQ-CALL-ID-OWN", "SEQ-CALL-ORDER"}),
    ("calls_interleaved", CALLS, {"SEQ-CALL-ORDER"}),
    ("no_usage", STREAMS, {"SEQ-USAGE"}),
    ("early_usage", STREAMS, {"SEQ-USAGE-LAST"}),
    ("usage_in_every_chunk", STREAMS, {"SEQ-USAGE-ONCE"}),
    ("flat_error_event", STREAMS, {"SEQ-ERROR-SHAPE", "SEQ-ERROR-NONE"}),
    ("error_event_without_status", STREAMS, {"SEQ-ERROR-SHAPE", "SEQ-ERROR-NONE"}),
    ("goes_on_after_error", STREAMS, {"SEQ-ERROR-LAST", "SEQ-ERROR-NONE"}),
]

# Legal, and yet worth a word: none of it is a FAIL.
TOLD: dict[str, dict[str, set[str]]] = {
    "role_repeated": {"SEQ-ROLE-ONCE": {"WARN"}},
    "usage_apart": {"SEQ-CHOICE-ANY": {"INFO"}},
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("defect", "asked", "rules"),
    [(defect, asked, rules) for defect, streams, rules in DEFECTIVE for asked in streams],
)
def test_defect_breaks_its_rules(
    exchange: Any, broken: Any, defect: str, asked: str, rules: set[str], profile: str
) -> None:
    assert broken(BOOK, exchange(asked, defect=defect, profile=profile), profile).keys() == rules


def test_every_defect_of_the_group_is_here() -> None:
    names = {entry.name for entry in DEFECTS.groups["SEQUENCE"]}
    assert names == {defect.partition(":")[0] for defect, _, _ in DEFECTIVE}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("asked", [*ASKED, *STREAMS])
def test_undisturbed_mock_keeps_all(exchange: Any, broken: Any, asked: str, profile: str) -> None:
    assert broken(BOOK, exchange(asked, profile=profile), profile) == {}


@pytest.mark.parametrize("asked", STREAMS)
@pytest.mark.parametrize("delivery", DELIVERIES)
def test_deliveries_are_legal(exchange: Any, broken: Any, asked: str, delivery: str) -> None:
    told = broken(BOOK, exchange(asked, delivery=delivery))
    has_roles = delivery != "role_repeated" or asked in CHATS
    assert told == (TOLD.get(delivery, {}) if has_roles else {})


@pytest.mark.parametrize("failure", ["close", "reset", "unfinished"])
def test_cut_streams(exchange: Any, broken: Any, failure: str) -> None:
    """What is missing is a fault of the stream only where the stream ended by itself."""
    told = broken(BOOK, exchange("chat stream", failure=failure))
    assert told.keys() == ({"SEQ-FINISH", "SEQ-USAGE"} if failure == "unfinished" else set())


# ---------------------------------------------------------------------- what no defect shows


def piece(**more: Any) -> Any:
    return {"choices": [{"index": 0, **more}]}


def fragment(index: int | None, **more: Any) -> Any:
    return piece(delta={"tool_calls": [{"index": index, "type": "function", **more}]})


ROLE = piece(delta={"role": "assistant"})
END = {**piece(delta={}, finish_reason="tool_calls"), "usage": {}}
FIRST = fragment(0, id="a", function={"name": "f", "arguments": ""})
MORE = fragment(0, function={"arguments": "{}"})
OTHER = fragment(1, id="b", function={"name": "g", "arguments": "{}"})

CHUNKS: list[tuple[list[Any], set[str]]] = [
    ([ROLE, FIRST, MORE, OTHER, END], set()),
    ([ROLE, FIRST, OTHER, MORE, END], {"SEQ-CALL-ORDER"}),
    ([ROLE, FIRST, fragment(None, id="b", function={"name": "g"}), END], {"SEQ-CALL-INDEXED"}),
    ([{"choices": [{"delta": {"content": "x"}}]}], {"SEQ-USAGE"}),
    ([ROLE, FIRST, fragment(0, id="a", function={"arguments": "{}"}), END], {"SEQ-CALL-ID-ONCE"}),
    ([ROLE, FIRST, fragment(1, id="a", function={"name": "g"}), END], {"SEQ-CALL-ID-OWN"}),
    ([ROLE, fragment(0, id="a", function={"arguments": "{}"}), END], {"SEQ-CALL-NAME"}),
    ([ROLE, fragment(0, id="", function={"name": "g"}), END], {"SEQ-CALL-ID"}),
    ([{**ROLE, "object": "a"}, {**END, "object": "b"}], {"SEQ-OBJECT"}),
    ([{**ROLE, "created": 1}, {**END, "created": 1.0}], set()),
    ([{**ROLE, "created": float("nan")}, {**END, "created": float("nan")}], set()),
    ([ROLE, piece(delta={"content": "a"}), {"choices": []}, END], {"SEQ-CHOICE-ANY"}),
    ([piece(delta={"content": "", "role": "assistant"}), {**END, "usage": {}}], set()),
    ([ROLE, END, piece(delta={"content": ""}, finish_reason=None)], {"SEQ-USAGE-LAST"}),
    ([{**ROLE, "usage": None}, END], set()),
    ([{"status_code": 500, "error": {}}], {"SEQ-ERROR-NONE"}),
    ([ROLE, {"error": {}}, END], {"SEQ-ERROR-SHAPE", "SEQ-ERROR-LAST", "SEQ-ERROR-NONE"}),
]


@pytest.mark.parametrize(("chunks", "rules"), CHUNKS)
def test_chunks(exchange: Any, broken: Any, chunks: list[Any], rules: set[str]) -> None:
    assert broken(BOOK, exchange("chat stream", received=streamed(chunks))).keys() == rules


def streamed(chunks: list[Any], end: str = "data: [DONE]\n\n") -> Received:
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + end
    return Received(200, "", STREAM, (Arrival(0.1, body.encode("utf-8", "surrogatepass")),))


def test_table_is_whole() -> None:
    """Every state knows every sign, and every state but the first is reached."""
    states, signs = {state for state, _ in TABLE}, {sign for _, sign in TABLE}
    assert TABLE.keys() == {(state, sign) for state in states for sign in signs}
    assert {state for state, _ in TABLE.values()} == states - {"silent"}


def test_place_of_a_fault() -> None:
    [fault] = run([ROLE, {**END, "choices": [ROLE["choices"][0], *END["choices"]]}]).faults
    assert (fault.kind, fault.where) == ("role again", "chunk 1, /choices/0/delta/role")


def test_every_rule_is_broken_somewhere() -> None:
    shown = {rule for *_, rules in [*DEFECTIVE, *CHUNKS] for rule in rules}
    assert {rule.id for rule in BOOK} == shown | {rule for told in TOLD.values() for rule in told}


# ---------------------------------------------------------------------- hostile chunks

SCALARS = st.sampled_from(
    [None, True, False, 0, 1, -1, 2**70, 0.5, 1e308, "", "assistant", "x", "\ud800", "stop", [], {}]
)
GOOD = [ROLE, FIRST, MORE, OTHER, END, piece(text="x"), {"status_code": 500, "error": {}}]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a value with each of its keys."""
    if not isinstance(value, dict | list):
        return []
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    return [(value, key) for key in keys] + [p for key in keys for p in places(value[key])]


@st.composite
def spoilt(draw: st.DrawFn) -> list[Any]:
    """Chunks with something wrong in any place of them."""
    chunks = copy.deepcopy(draw(st.lists(st.sampled_from(GOOD) | SCALARS, max_size=8)))
    for _ in range(draw(st.integers(0, 4))):
        if found := places(chunks):
            owner, key = draw(st.sampled_from(found))
            owner[key] = draw(SCALARS | st.lists(SCALARS, max_size=2))
    return chunks


@given(spoilt(), st.sampled_from(PROFILES))
def test_nothing_raises(exchange: Any, broken: Any, chunks: list[Any], profile: str) -> None:
    made = exchange("chat stream", profile=profile, received=streamed(chunks))
    broken(BOOK, made, profile)


@pytest.mark.parametrize("profile", PROFILES)
def test_sources_are_in_the_contract(contract: Any, profile: str) -> None:
    for rule in [*BOOK, *FRAMING]:
        if rule.described.source.startswith("#"):
            resolve(contract(profile).document, parse_pointer(rule.described.source))
