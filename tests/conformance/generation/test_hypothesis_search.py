"""Shrinking by Hypothesis, of our own requests and of those of Schemathesis."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wafermock.conformance.campaigns.generated import generated_plans
from wafermock.conformance.generation.scene import Scene, scenes
from wafermock.conformance.hypothesis_search import shrunk
from wafermock.conformance.planned import Planned
from wafermock.conformance.schemathesis_bridge import schemathesis_plans

from .asking import SUBJECT, contract, surprise


def scene(operation: str = "createChatCompletion") -> Scene:
    return next(s for s in scenes(contract(), SUBJECT.model) if s.operation.id == operation)


def likely() -> st.SearchStrategy[Planned]:
    return generated_plans(scene(), SUBJECT)


def judged(planned: Planned) -> set[str]:
    """A server that cannot do with tools, nor with more than two messages."""
    broken = {"TOOLS"} if planned.asked.get("tools") else set()
    return broken | ({"TALK"} if len(planned.asked["messages"]) > 2 else set())


def test_each_broken_rule_is_shrunk_for_itself() -> None:
    found = {each.key: each.planned.asked for each in shrunk(likely(), judged, seed=1)}
    assert found.keys() == {"TOOLS", "TALK"}
    assert len(found["TOOLS"]["tools"]) == 1
    # A call and its result go with the tool or stay with it: which, is a matter of what was drawn.
    assert len(found["TOOLS"]["messages"]) in (1, 3)
    assert len(found["TALK"]["messages"]) == 3
    assert "tools" not in found["TALK"]


def test_the_key_is_shown_nowhere(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shrunk(likely(), judged, seed=1, most=1, database=tmp_path)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert kept
    assert not any(b"a-key" in data for data in kept)


def test_the_same_seed_finds_the_same() -> None:
    runs = [shrunk(likely(), judged, seed=4, most=1) for _ in range(2)]
    assert runs[0] == runs[1]


def test_nothing_is_found_where_nothing_is_broken() -> None:
    assert shrunk(likely(), lambda planned: (), seed=0, examples=20) == []


def test_no_more_are_looked_for_than_wanted() -> None:
    assert len(shrunk(likely(), judged, seed=1, most=1)) == 1


def test_what_failed_is_tried_first_the_next_time(tmp_path: Path) -> None:
    tried: list[Planned] = []

    def noting(planned: Planned) -> set[str]:
        tried.append(planned)
        return judged(planned)

    (first,) = shrunk(likely(), noting, seed=1, most=1, database=tmp_path)
    tried.clear()
    shrunk(likely(), noting, seed=2, most=1, database=tmp_path)
    assert tried[0] == first.planned


def test_the_end_of_the_budget_ends_the_search() -> None:
    sent: list[Planned] = []

    class Spent(Exception):
        pass

    def poor(planned: Planned) -> set[str]:
        if len(sent) == 7:
            raise Spent
        sent.append(planned)
        return set()

    with pytest.raises(Spent):
        shrunk(likely(), poor, seed=0)
    assert len(sent) == 7


def test_a_server_that_answers_differently_each_time_is_no_obstacle() -> None:
    turns = iter(range(10**6))
    found = shrunk(likely(), lambda _: {"X"} if next(turns) % 2 else set(), seed=0, most=1)
    assert [each.key for each in found] == ["X"]


FEW = settings(
    max_examples=10, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("operation", ["createChatCompletion", "completions_v1_completions_post"])
def test_requests_of_schemathesis_are_valid_and_for_the_model(operation: str) -> None:
    there = scene(operation)

    @FEW
    @given(schemathesis_plans(there, SUBJECT))
    def check(planned: Planned) -> None:
        assert planned.purpose.meant == "valid"
        assert there.problem(planned.asked) == ""
        assert planned.asked["model"] == SUBJECT.model

    check()


def test_invalid_requests_of_schemathesis_are_refused() -> None:
    there = scene("completions_v1_completions_post")

    @FEW
    @given(schemathesis_plans(there, SUBJECT, invalid=True))
    def check(planned: Planned) -> None:
        assert planned.purpose.meant in ("invalid", "broken")
        assert surprise(planned) == ""

    check()
