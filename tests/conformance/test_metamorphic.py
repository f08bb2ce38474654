"""METAMORPHIC: every rule is broken by its defects and by nothing legal."""

from typing import Any

import pytest

from wafermock.conformance.exchange import Probe
from wafermock.conformance.rule import Breach, Unsupported
from wafermock.conformance.sameness import words_of

from .judged import PROFILES, MockEndpoint, answer, broken, broken_in, run, verdict

# The calls of a server that mixes them up are no longer those of their probe.
MIXED = {"META-APART"}

DEFECTIVE: dict[str, set[str]] = {
    "stream_text_differs": {"META-STREAM"},
    "stream_differs": {"META-STREAM", "META-STREAM-USAGE", "META-STREAM-CALLS"},
    "null_differs": {"META-NULL"},
    "n_one_differs": {"META-N-ONE"},
    "default_differs": {"META-DEFAULT"},
    "white_space_differs": {"META-WHITE-SPACE", "META-ESCAPES"},
    "key_order_differs": {"META-KEY-ORDER"},
    "hang_up_spoils": {"META-HANG-UP"},
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("defect", DEFECTIVE)
def test_a_defect_breaks_its_rules(defect: str, profile: str) -> None:
    tally = run(MockEndpoint(profile, [defect]), "metamorphic")
    assert broken_in("METAMORPHIC", tally) == DEFECTIVE[defect]


@pytest.mark.parametrize("profile", PROFILES)
def test_calls_that_are_mixed_up(profile: str) -> None:
    found = broken(run(MockEndpoint(profile, ["mixed_up"]), "metamorphic"))
    assert found["META-APART"] == "FAIL"


@pytest.mark.parametrize("profile", PROFILES)
def test_a_server_that_repeats_nothing_is_warned(profile: str) -> None:
    """What is not deterministic is told, and is held to nothing that needs it."""
    found = broken(run(MockEndpoint(profile, ["unrepeatable"]), "metamorphic"))
    assert found["META-REPEAT"] == "WARN"
    assert set(found.values()) == {"WARN"}


# ---------------------------------------------------------------------- by hand


def said(
    words: str = "a", tokens: int = 5, id: str = "1", marker: str = "", finish: str = "stop"
) -> Any:
    choice = {"index": 0, "message": {"content": words}, "finish_reason": finish}
    usage = {"prompt_tokens": tokens, "completion_tokens": 3}
    return answer(200, {"id": id, "choices": [choice], "usage": usage}, facts={"marker": marker})


def test_answers_that_belong_to_others() -> None:
    def together(*answers: Any) -> Probe:
        return Probe("1", "together", {f"call {n}": a for n, a in enumerate(answers)})

    apart = together(said("x", 5, "1", "mar"), said("y", 7, "2", "ker"))
    assert verdict("META-APART", apart) == []
    same = together(said("x", 5, "1"), said("x", 7, "1"), said("z", 9, "2"))
    assert [found.where for found in verdict("META-APART", same)] == ["/id"]
    swapped = together(said("x", 7, "1"), said("y", 5, "2"))
    assert [found.where for found in verdict("META-APART", swapped)] == ["/usage/prompt_tokens"]
    other = together(said("the ker", 5, "1", "mar"), said("the ker", 7, "2", "ker"))
    assert [found.where for found in verdict("META-APART", other)] == ["/choices"]
    # One id for all answers is another fault.
    assert verdict("META-APART", together(said("x", 5), said("y", 7))) == []
    assert isinstance(verdict("META-APART", together(said(), answer(429)))[0], Unsupported)


@pytest.mark.parametrize("status", [400, 500, 503])
def test_who_asks_after_another_has_left(status: int) -> None:
    roles = {"before": said(), "leave": said(), "after": answer(status)}
    assert isinstance(verdict("META-HANG-UP", Probe("1", "hang up", roles))[0], Breach)
    roles = {"before": said(), "leave": answer(400), "after": said()}
    assert isinstance(verdict("META-HANG-UP", Probe("1", "hang up", roles))[0], Unsupported)


@pytest.mark.parametrize(
    ("one", "other", "where"),
    [
        (said("a"), said("b"), "/choices/0, content"),
        (said("a"), said(""), "/choices/0, content"),
        (said(finish="stop"), said(finish="length"), "/choices/0/finish_reason"),
        (said(), answer(200, {"choices": []}), "/choices"),
        (said(), answer(200, {"choices": [{}, {}]}), "/choices"),
    ],
)
def test_where_answers_part(one: Any, other: Any, where: str) -> None:
    probe = Probe("1", "repeat", {"first": one, "second": other})
    (found,) = verdict("META-REPEAT", probe, deterministic=True)
    assert (found.where, found.state) == (where, None)
    (found,) = verdict("META-REPEAT", probe)
    assert found.state == "WARN"


def test_an_empty_text_is_none() -> None:
    empty = answer(200, {"choices": [{"message": {"content": "", "reasoning": None}}]})
    none = answer(200, {"choices": [{"message": {}}]})
    assert words_of(empty) == words_of(none)


def test_usage_of_a_stream() -> None:
    probe = Probe("1", "streamed", {"whole": said(tokens=5), "streamed": said(tokens=6)})
    assert [f.where for f in verdict("META-STREAM-USAGE", probe)] == ["/usage/prompt_tokens"]
    bare = answer(200, {"choices": []})
    probe = Probe("1", "streamed", {"whole": said(), "streamed": bare})
    assert isinstance(verdict("META-STREAM-USAGE", probe)[0], Unsupported)
