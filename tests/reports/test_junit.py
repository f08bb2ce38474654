"""JUnit XML, read by junitparser."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from junitparser import Error, Failure, Skipped

from wafermock.reports.junit import render

from . import golden
from .readers import read_junit
from .sample_runs import clean_run, hostile_run, large_run, rich_run, small_run


def test_golden() -> None:
    golden.check("small.junit.xml", render(small_run()))


def test_a_case_a_rule_and_a_suite_a_group() -> None:
    run = rich_run()
    read = read_junit(render(run))
    assert {suite.name for suite in read} == {rule.group for rule in run.rules}
    cases = {case.name: case for suite in read for case in suite}
    assert sorted(cases) == sorted(rule.id for rule in run.rules)
    for verdict in run.verdicts:
        case = cases[verdict.rule]
        kinds = [type(result) for result in case.result]
        if verdict.rule == "STREAM-DONE":  # known
            assert kinds == [Skipped]
            assert case.result[0].message.startswith("known: The gateway in front")
        elif verdict.state == "FAIL":
            assert kinds == [Failure]
        elif verdict.state in ("UNSUPPORTED", "NOT RUN"):
            assert kinds == [Skipped]
            assert case.result[0].message == f"{verdict.state}: {verdict.why}"
        else:
            assert kinds == []
        assert case.system_out.startswith(verdict.state)
    assert (read.tests, read.failures, read.errors, read.skipped) == (103, 7, 0, 13)
    assert read.time == 412.7


def test_a_failure_tells_how_to_repeat_it() -> None:
    run = small_run()
    read = read_junit(render(run))
    (failed,) = [case for suite in read for case in suite if case.result]
    assert failed.result[0].message == f"{run.rules[0].requirement} (MUST, broken 12 times)"
    for text in (run.findings[0].expected, run.findings[0].actual, run.findings[0].curl):
        assert text in failed.result[0].text


@pytest.mark.parametrize("ended_by", ["interrupted", "unreachable"])
def test_a_run_that_did_not_end_is_an_error(ended_by: str) -> None:
    read = read_junit(render(replace(clean_run(), ended_by=ended_by)))
    assert read.errors == 1
    (case,) = [case for suite in read if suite.name == "RUN" for case in suite]
    assert isinstance(case.result[0], Error)
    assert case.result[0].type == ended_by


def test_hostile_texts() -> None:
    text = render(hostile_run())
    read = read_junit(text)
    assert read.tests == 104
    root = ElementTree.fromstring(text)
    assert {element.tag for element in root.iter()} <= {
        "testsuites", "testsuite", "testcase", "failure", "error", "skipped", "system-out",
        "properties", "property",
    }  # fmt: skip


def test_thousands_of_findings() -> None:
    text = render(large_run())
    assert read_junit(text).tests == 103
    assert len(text) < 10_000_000
