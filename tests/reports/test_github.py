"""Annotations, the summary of a job, and the badge."""

import json
import re
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import pytest

from wafermock.reports import badge, github
from wafermock.reports.document_places import places
from wafermock.reports.markdown_text import size
from wafermock.reports.run import Run

from . import golden
from .readers import read_markdown
from .sample_runs import WORKFLOW, clean_run, hostile_run, large_run, rich_run, small_run
from .test_sarif import DOCUMENT

COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")


def read(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Read workflow commands as the runner of GitHub Actions does."""
    commands = []
    for row in text.split("\n"):
        if found := COMMAND.fullmatch(row):
            keys = dict(pair.split("=", 1) for pair in found[2].split(","))
            told = {key: unquote(value) for key, value in keys.items()}
            commands.append((found[1], told, unquote(found[3])))
        else:
            assert not row.startswith(("::", "##[")), row
    return commands


def test_golden() -> None:
    golden.check("rich.github.txt", github.render(rich_run()))


def test_an_annotation_a_broken_rule() -> None:
    commands = read(github.render(rich_run()))
    assert [command for command, _, _ in commands] == ["error"] * 7 + ["warning", "notice"]
    _, keys, message = commands[0]
    assert keys == {"title": "HDR-LIMIT-NUMBER (MUST)"}
    assert message.splitlines()[-1] == "actual: many"


def test_annotations_point_into_the_document() -> None:
    ((_, keys, _),) = read(github.render(small_run(), places(DOCUMENT, "a,b:c.yaml")))
    assert keys["file"] == "a,b:c.yaml"
    assert keys["line"] == "10"


def test_no_more_than_are_shown() -> None:
    commands = read(github.render(large_run()))
    counted = [command for command, _, _ in commands]
    assert max(map(counted.count, counted)) <= github.SHOWN
    assert re.fullmatch(r"\d+ more rules broken: see the report", commands[-1][2])


def test_nobody_can_slip_in_a_command() -> None:
    run = hostile_run()
    evil = replace(
        run,
        findings=tuple(replace(f, rule="EVIL-1", actual=WORKFLOW) for f in run.findings),
        endpoint=replace(run.endpoint, url=WORKFLOW),
    )
    for one in (run, evil):
        for _, keys, _ in read(github.render(one)):
            assert set(keys) <= {"title", "file", "line"}


@pytest.mark.parametrize("make", [rich_run, hostile_run, large_run])
def test_job_summary(make: Any) -> None:
    text = github.job_summary(make())
    assert size(text) <= github.SUMMARY_LIMIT
    read_markdown(text)


def test_a_run_that_did_not_end_is_an_error() -> None:
    commands = read(github.render(replace(clean_run(), ended_by="unreachable")))
    assert commands == [("error", {"title": "wafermock"}, "the endpoint could not be reached")]


@pytest.mark.parametrize(
    ("run", "message", "color"),
    [
        (clean_run(), "103 of 103 rules", "brightgreen"),
        (rich_run(), "81 of 91 rules", "red"),
        (replace(clean_run(), ended_by="unreachable"), "unreachable", "lightgrey"),
        (replace(clean_run(), rules=(), verdicts=()), "not judged", "lightgrey"),
        (
            replace(clean_run(), ended_by="interrupted"),
            "103 of 103 rules (interrupted)",
            "lightgrey",
        ),
    ],
)
def test_badge(run: Run, message: str, color: str) -> None:
    made = json.loads(badge.render(run))
    # shields.io refuses keys that it does not know, and versions other than 1.
    assert set(made) <= {"schemaVersion", "label", "message", "color", "isError"}
    assert made["schemaVersion"] == 1
    assert (made["message"], made["color"]) == (message, color)


def test_badge_of_warnings() -> None:
    run = small_run()
    warned = replace(run, findings=(replace(run.findings[0], state="WARN"),))
    assert badge.badge(warned)["color"] == "yellow"
    assert badge.badge(warned)["isError"] is False
