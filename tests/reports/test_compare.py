"""Runs beside each other."""

from dataclasses import replace

import pytest

from wafermock.reports import compare_html, compare_markdown
from wafermock.reports.compare import change, compare
from wafermock.reports.markdown_text import size
from wafermock.reports.run import Run, State, Verdict

from . import golden
from .readers import read_html, read_markdown
from .sample_runs import clean_run, hostile_run, large_run, rich_run, small_run


def mended(run: Run) -> Run:
    """The run after its first rule was mended and its second was broken."""
    first, second = run.rules
    verdicts = (Verdict(first.id, "PASS", 210), Verdict(second.id, "FAIL", 3, 1))
    found = replace(run.findings[0], id="F-9", rule=second.id, kind="probe: gzip")
    return replace(run, verdicts=verdicts, findings=(found,))


NAMED = [("monday", small_run()), ("friday", mended(small_run()))]


def test_golden() -> None:
    golden.check("compare.md", compare_markdown.render(compare(NAMED)))
    golden.check("compare.html", compare_html.render(compare(NAMED)))


def test_what_is_better_worse_new_and_gone() -> None:
    made = compare(NAMED)
    monday, friday = made.runs
    assert (monday.new, monday.gone, monday.better, monday.worse) == ((), (), (), ())
    assert [finding.key[0] for finding in friday.new] == ["ENC-GZIP"]
    assert [finding.key[0] for finding in friday.gone] == ["SEQ-ROLE-FIRST"]
    assert (friday.better, friday.worse) == (("SEQ-ROLE-FIRST",), ("ENC-GZIP",))
    assert made.got_worse
    assert made.unlike == ()


def test_the_same_run_differs_in_nothing() -> None:
    made = compare([("a", rich_run()), ("b", rich_run()), ("c", rich_run())])
    assert not any(row.differs for row in made.rows)
    assert not made.got_worse
    assert "Nothing is better, worse, new or gone." in compare_markdown.render(made)


def test_findings_are_compared_by_key_and_not_by_id() -> None:
    run = small_run()
    renamed = replace(run, findings=(replace(run.findings[0], id="F-77", actual="other words"),))
    _, other = compare([("a", run), ("b", renamed)]).runs
    assert (other.new, other.gone) == ((), ())


def test_new_findings_come_worst_first() -> None:
    _, rich = compare([("clean", clean_run()), ("rich", rich_run())]).runs
    assert [finding.state for finding in rich.new] == ["FAIL"] * 7 + ["WARN"] * 2 + ["INFO"]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("PASS", "FAIL", "worse"),
        ("FAIL", "WARN", "better"),
        ("INFO", "PASS", "better"),
        ("PASS", "PASS", "same"),
        ("FAIL", "NOT RUN", "other"),
        ("UNSUPPORTED", "FAIL", "other"),
        (None, "PASS", "other"),
    ],
)
def test_change(before: State | None, after: State, told: str) -> None:
    assert change(before, after) == told


def test_runs_of_other_rules() -> None:
    run = small_run()
    fewer = replace(run, rules=run.rules[1:], verdicts=run.verdicts[1:], findings=())
    made = compare([("all", run), ("fewer", fewer)])
    assert [row.states for row in made.rows] == [("FAIL", None), ("PASS", "PASS")]
    assert "(no such rule)" in compare_markdown.render(made)
    made = compare([("fewer", fewer), ("all", run)])
    assert {row.rule.id: row.states for row in made.rows}["SEQ-ROLE-FIRST"] == (None, "FAIL")


def test_what_else_may_explain_a_difference_is_told() -> None:
    run = small_run()
    other = replace(
        run,
        tool=replace(run.tool, contract="another", profile="observed", version="9.9"),
        seed=8,
        ended_by="budget",
    )
    told = compare([("a", run), ("b", other)]).unlike
    assert [text.split(":")[0] for text in told] == [
        "The contracts differ", "The profiles differ", "The versions of Wafermock differ",
        "The seeds differ", "b is not complete",
    ]  # fmt: skip
    assert "documented in a; observed in b" in told[1]


@pytest.mark.parametrize("runs", [[rich_run, clean_run], [clean_run, large_run, hostile_run]])
def test_both_formats_are_read_back(runs: list[object]) -> None:
    named = [(f"run {number}", make()) for number, make in enumerate(runs) if callable(make)]
    made = compare(named)
    text = compare_markdown.render(made)
    assert size(text) <= 65_536
    read_markdown(text)
    tree = read_html(compare_html.render(made))
    assert not list(tree.iter("script"))
    assert not list(tree.iter("img"))
    # One row a rule, over both tables of rules, with a head each; and one a run.
    states = [cell for cell in tree.iter("td") if cell.get("class") is not None]
    assert len(states) >= len(made.rows) * len(named)
