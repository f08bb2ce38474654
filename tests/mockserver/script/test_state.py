"""Counting: times, after, sequences, scenarios, scopes; under threads too."""

import threading
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.script import Found, Missed, ScriptState
from wafermock.mockserver.script.matching import Match
from wafermock.mockserver.script.outcome import Plain, Prepared
from wafermock.mockserver.script.rule import Rule, Step

from . import asking
from .asking import missed, said, subject, user


def answers(state: ScriptState, text: str, count: int, scope: str = "") -> list[str]:
    """Ask the same so many times; a miss is `-`."""
    found = (state.find(subject(user(text), scope=scope)) for _ in range(count))
    return ["-" if isinstance(answer, Missed) else said(answer) for answer in found]


def test_the_first_match_wins(tmp_path: Path) -> None:
    text = "rules: [{reply: {text: one}}, {reply: {text: two}}]"
    state = asking.state(tmp_path, text)
    assert answers(state, "x", 2) == ["one", "one"]
    assert [rule.name for rule in state.unused()] == ["script.yaml#2"]


def test_times_and_after(tmp_path: Path) -> None:
    text = "rules: [{after: 1, times: 2, reply: {text: a}}, {times: 2, reply: {text: b}}]"
    state = asking.state(tmp_path, text)
    assert answers(state, "x", 6) == ["b", "a", "a", "b", "-", "-"]
    differences = [str(d) for d in missed(state.find(subject(user("x")))).nearest[0][1]]
    assert differences == ["times: expected 2 answers at most, got 2 given already"]


def test_a_rule_that_waits_says_so(tmp_path: Path) -> None:
    state = asking.state(tmp_path, "rules: [{after: 2, reply: {text: a}}]")
    differences = missed(state.find(subject(user("x")))).nearest[0][1]
    assert [str(d) for d in differences] == [
        "after: expected 2 requests before, got 1 of them so far"
    ]


def test_sequences(tmp_path: Path) -> None:
    text = """
rules:
  - {match: {last: r}, sequence: [{text: a, times: 2}, {text: b}]}
  - {match: {last: c}, sequence: [{text: a, times: 2}, {text: b}], then: cycle}
  - {match: {last: s}, sequence: [{text: a, times: 2}, {text: b}], then: stop}
  - {match: {last: t}, sequence: [{text: a}, {text: b}], then: cycle, times: 3}
"""
    state = asking.state(tmp_path, text)
    assert answers(state, "r", 5) == ["a", "a", "b", "b", "b"]
    assert answers(state, "c", 5) == ["a", "a", "b", "a", "a"]
    assert answers(state, "s", 5) == ["a", "a", "b", "-", "-"]
    assert answers(state, "t", 5) == ["a", "b", "a", "-", "-"]


def test_scenarios(tmp_path: Path) -> None:
    text = """
rules:
  - {match: {last: go}, scenario: {name: s, state: start, goes_to: gone}, reply: {text: going}}
  - {match: {last: go}, scenario: {name: s, state: gone}, reply: {text: gone already}}
  - {match: {last: back}, scenario: {name: s, goes_to: start}, reply: {text: back}}
"""
    state = asking.state(tmp_path, text)
    assert answers(state, "go", 3) == ["going", "gone already", "gone already"]
    assert state.scenarios() == {"": {"s": "gone"}}
    assert answers(state, "go", 1, scope="other") == ["going"]
    assert answers(state, "back", 1) == ["back"]
    assert answers(state, "go", 1) == ["going"]


def test_a_state_that_differs_is_told(tmp_path: Path) -> None:
    text = "rules: [{scenario: {name: s, state: later}, reply: {text: x}}]"
    differences = missed(asking.state(tmp_path, text).find(subject(user("x")))).nearest[0][1]
    assert [str(d) for d in differences] == ["scenario s: expected state 'later', got 'start'"]


def test_scopes_count_by_themselves(tmp_path: Path) -> None:
    state = asking.state(tmp_path, "rules: [{times: 1, reply: {text: a}}]")
    assert answers(state, "x", 2, scope="one") == ["a", "-"]
    assert answers(state, "x", 2, scope="two") == ["a", "-"]
    assert state.answers() == {"script.yaml#1": 2}
    assert state.answers("one") == {"script.yaml#1": 1}
    state.reset("one")
    assert answers(state, "x", 1, scope="one") == ["a"]
    assert answers(state, "x", 1, scope="two") == ["-"]
    state.reset()
    assert answers(state, "x", 1, scope="two") == ["a"]


def test_a_rule_that_is_met_and_has_no_answer_left_is_the_nearest(tmp_path: Path) -> None:
    text = """
rules:
  - {match: {last: y, model: gpt-*}, reply: {text: y}}
  - {name: spent, match: {last: x}, times: 1, after: 1, reply: {text: x}}
"""
    state = asking.state(tmp_path, text)
    for expected in ("after: expected", "-", "times: expected"):
        answer = state.find(subject(user("x")))
        if expected != "-":
            rule, differences = missed(answer).nearest[0]
            assert rule.name == "spent"
            assert str(differences[0]).startswith(expected)


def test_so_many_scopes_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wafermock.mockserver.script.state.MOST_SCOPES", 3)
    state = asking.state(tmp_path, "rules: [{name: r, times: 1, reply: {text: a}}]")
    for scope in ("a", "b", "c", "a", "d"):  # `a` is asked for again, and `b` has to go
        state.find(subject(user("x"), scope=scope))
    assert [state.answers(scope)["r"] for scope in "abcd"] == [1, 0, 1, 1]
    assert state.answers() == {"r": 4}  # what a forgotten scope has used is used
    assert [answers(state, "x", 1, scope=scope) for scope in "ab"] == [["-"], ["a"]]
    state.reset()
    assert state.answers() == {"r": 0}


def test_the_position_is_told(tmp_path: Path) -> None:
    state = asking.state(tmp_path, "rules: [{name: r, sequence: [{text: a}, {text: b}]}]")
    positions = [asking.found(state.find(subject(user("x")))).position for _ in range(3)]
    assert [(p.rule, p.step, p.hit) for p in positions] == [("r", 0, 1), ("r", 1, 2), ("r", 1, 3)]


def test_other_rules_keep_what_was_counted_of_those_that_stay(tmp_path: Path) -> None:
    text = "rules: [{name: a, times: 1, reply: {text: a}}, {name: b, times: 1, reply: {text: b}}]"
    state = asking.state(tmp_path, text)
    assert answers(state, "x", 3) == ["a", "b", "-"]
    state.script = asking.script(tmp_path, text.replace("text: b", "text: B"))
    assert answers(state, "x", 2) == ["B", "-"]


def test_threads_never_get_more_than_there_is(tmp_path: Path) -> None:
    text = """
rules:
  - {name: one, times: 100, reply: {text: one}}
  - {name: two, sequence: [{text: a, times: 50}, {text: b, times: 25}], then: stop}
  - {name: three, scenario: {name: s, state: start, goes_to: over}, reply: {text: once}}
"""
    state = asking.state(tmp_path, text)
    asked = subject(user("x"))
    begin = threading.Barrier(8)
    counted: Counter[str] = Counter()
    positions: set[tuple[str, int]] = set()
    lock = threading.Lock()

    def ask() -> None:
        begin.wait()
        for _ in range(40):
            answer = state.find(asked)
            with lock:
                if isinstance(answer, Found):
                    counted[said(answer)] += 1
                    positions.add((answer.rule.name, answer.position.hit))
                else:
                    counted["-"] += 1

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counted == {"one": 100, "a": 50, "b": 25, "once": 1, "-": 320 - 176}
    assert len(positions) == 176  # no position was given twice


STEPS = st.lists(st.integers(1, 4), min_size=1, max_size=4)


@given(
    steps=STEPS,
    then=st.sampled_from(["repeat", "cycle", "stop"]),
    times=st.none() | st.integers(1, 30),
    hit=st.integers(1, 40),
)
def test_the_step_of_a_hit_is_that_of_the_sequence_written_out(
    steps: list[int], then: str, times: int | None, hit: int
) -> None:
    rule = Rule(
        "r", Match(), tuple(Step(Prepared(Plain("x")), n) for n in steps), then,  # type: ignore[arg-type]
        times, 0, None, "f", 1, b"",
    )  # fmt: skip
    written = [at for at, count in enumerate(steps) for _ in range(count)]
    if then == "cycle":
        written *= 40
    elif then == "repeat":
        written += [len(steps) - 1] * 40
    written = written[:times]
    assert rule.step(hit) == (written[hit - 1] if hit <= len(written) else None)
