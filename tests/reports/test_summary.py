"""The facts that every report tells."""

from dataclasses import replace

import pytest

from wafermock.reports import summary
from wafermock.reports.run import Cost, Exercised, Finding, Rule, Run, Verdict

from .sample_runs import clean_run, rich_run, small_run


@pytest.mark.parametrize(
    ("ended_by", "run", "code"),
    [
        ("done", clean_run(), 0),
        ("budget", clean_run(), 0),
        ("done", rich_run(), 1),
        ("budget", rich_run(), 1),
        ("unreachable", clean_run(), 3),
        ("interrupted", clean_run(), 130),
        ("interrupted", rich_run(), 130),
    ],
)
def test_exit_code(ended_by: str, run: Run, code: int) -> None:
    assert summary.exit_code(replace(run, ended_by=ended_by)) == code


def test_warnings_and_known_findings_do_not_fail() -> None:
    run = small_run()
    warned = replace(run, findings=(replace(run.findings[0], state="WARN"),))
    known = replace(run, findings=(replace(run.findings[0], known="a ticket"),))
    assert [summary.exit_code(one) for one in (run, warned, known)] == [1, 0, 0]
    assert summary.verdict(warned) == "CONFORMS, WITH WARNINGS"
    assert summary.verdict(known) == "CONFORMS"


def test_nothing_is_lost_that_a_run_describes_in_part() -> None:
    found = Finding("F1", "B", "FAIL", "", "", "", "", "", count=3)
    run = replace(
        clean_run(),
        rules=(Rule("A", "G", "MUST", "", "", ""),),
        verdicts=(Verdict("C", "PASS"),),
        findings=(found,),
    )
    states = {item.rule.id: (item.state, item.verdict.broken) for item in summary.judged(run)}
    assert states == {"A": ("NOT RUN", 0), "B": ("FAIL", 3), "C": ("PASS", 0)}


def test_broken_rules_come_worst_first_and_known_ones_last() -> None:
    items = summary.broken(rich_run())
    assert [item.state for item in items] == ["FAIL"] * 7 + ["WARN", "INFO", "WARN"]
    assert [item.known for item in items] == [False] * 9 + [True]
    assert [item.verdict.broken for item in items[:3]] == [230, 41, 12]


def test_score_counts_what_was_judged() -> None:
    assert summary.score(clean_run()) == (103, 103)
    assert summary.score(rich_run()) == (81, 91)
    nothing = replace(clean_run(), verdicts=(), rules=())
    assert summary.score(nothing) == (0, 0)
    assert summary.verdict(nothing) == "NOTHING WAS JUDGED"


def test_headline_is_one_line_of_facts() -> None:
    run = replace(small_run(), cost=Cost(1, 2, 0, 0.25))
    assert summary.headline(run) == (
        "DOES NOT CONFORM: https://api.example.test (gpt-oss-120b): "
        "1 of 2 rules kept, 1 finding, 1 request, 0.2 s"
    )


def test_coverage_by_section() -> None:
    run = replace(
        clean_run(),
        coverage=(
            Exercised("operation", "#/a", "a", 1),
            Exercised("enum value", "#/b", "b", 0),
            Exercised("operation", "#/c", "c", 0),
        ),
    )
    first, second = summary.coverage(run)
    assert (first.section, first.exercised, first.total) == ("operation", 1, 2)
    assert [item.name for item in first.missing] == ["c"]
    assert (second.section, second.exercised, second.total) == ("enum value", 0, 1)


def test_things_of_one_name_are_named_once() -> None:
    items = [Exercised("property", f"#/{at}", name, 0) for at, name in enumerate("aabcbd")]
    assert summary.names(items, 2) == (("a", "b"), 2)
    assert summary.names(items, 9) == (("a", "b", "c", "d"), 0)


@pytest.mark.parametrize("began", [float("nan"), float("inf"), 1e300, -1e300])
def test_a_time_that_is_none(began: float) -> None:
    assert summary.moment(replace(clean_run(), began=began)) == ""


def test_what_to_do_next() -> None:
    assert next(summary.next_steps(rich_run())).startswith("Begin with HDR-LIMIT-NUMBER, finding F")
    gone = replace(rich_run(), ended_by="unreachable")
    assert next(summary.next_steps(gone)).startswith("It answered no more after 1,204 requests")
    (unreachable,) = summary.next_steps(replace(gone, cost=Cost()))
    assert unreachable.startswith("Start the server")
    told = "\n".join(summary.next_steps(rich_run(), "my runs/a.json"))
    assert "wafermock replay 'my runs/a.json' --finding F-" in told
    assert "wafermock report 'my runs/a.json' --format html --out run.html" in told
    assert "wafermock report baseline 'my runs/a.json' --out" in told
    told = next(summary.next_steps(rich_run(), "a.json", options=("--ca-file", "my ca.pem")))
    assert told.endswith(" --ca-file 'my ca.pem'")
    told = "\n".join(summary.next_steps(rich_run(), "a.json", "a.html"))
    assert "Show all of it in a browser: a.html" in told
    assert "run.html" not in told
    (clean,) = summary.next_steps(clean_run(), "a.json")
    assert clean.startswith("Keep a copy of a.json")
    assert clean.endswith("wafermock report compare COPY.json a.json")
    assert "larger budget" in "".join(summary.next_steps(replace(clean_run(), ended_by="budget")))
    stopped = "".join(summary.next_steps(replace(clean_run(), ended_by="interrupted")))
    assert "--resume" in stopped
    assert "budget" not in stopped
