"""`wafermock report`: what people type."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from wafermock.report_commands import FORMATS, report
from wafermock.reports.result_file import write
from wafermock.reports.run import Cell, Run

from .readers import read_html, read_junit, read_markdown, read_sarif
from .sample_runs import clean_run, hostile_run, rich_run
from .test_sarif import DOCUMENT

READ: dict[str, Callable[[str], object]] = {
    "html": read_html,
    "markdown": read_markdown,
    "junit": read_junit,
    "sarif": read_sarif,
    "badge": json.loads,
    "text": str.splitlines,
    "github": str.splitlines,
}


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_STEP_SUMMARY", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    for name, run in (("rich", rich_run()), ("clean", clean_run()), ("evil", hostile_run())):
        keep(name, run)

    def invoke(*arguments: str, **options: object) -> Result:
        return CliRunner().invoke(report, list(arguments), **options)  # type: ignore[arg-type]

    return invoke


def keep(name: str, run: Run) -> None:
    Path(f"{name}.json").write_bytes(write(run))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", ["rich", "clean", "evil"])
def test_formats(call: Callable[..., Result], form: str, name: str) -> None:
    shown = call(f"{name}.json", "--format", form)
    assert shown.exit_code == 0, shown.output
    assert READ[form](shown.output)
    written = call("--format", form, "--out", "made", f"{name}.json")  # options may come first
    assert (written.exit_code, written.output) == (0, "")
    assert Path("made").read_text(encoding="utf-8") == shown.output


def test_text_is_what_is_shown_unasked(call: Callable[..., Result]) -> None:
    assert call("rich.json").output.startswith("wafermock 0.1.0: https://api.example.test")
    assert call("show", "rich.json").output == call("rich.json").output
    assert len(call("rich.json", "--quiet").output.splitlines()) == 1


def test_standard_input(call: Callable[..., Result]) -> None:
    rich = Path("rich.json").read_bytes()
    shown = call("-", "-q", input=rich)
    assert shown.output == call("rich.json", "-q").output
    assert "wafermock replay RUN.json --finding" in call("-", input=rich).output
    assert "wafermock replay rich.json --finding" in call("rich.json").output
    compared = call("compare", "-", "clean.json", input=rich)
    assert "## `clean` beside `standard input`" in compared.output
    wrong = call("-", input=b"{")
    assert wrong.stderr.startswith("wafermock: standard input: ")


def test_only_what_is_shown_needs_its_package(
    call: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wafermock.extra.find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "rich", None)  # an import of it fails
    monkeypatch.setitem(sys.modules, "rich.console", None)
    refused = call("rich.json")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "this command needs rich: pip install 'wafermock[conformance]'" in refused.stderr
    assert call("rich.json", "--quiet").exit_code == 0
    for form in FORMATS:
        assert call("rich.json", "--format", form).exit_code == 2 * (form == "text")
    assert call("compare", "rich.json", "clean.json").exit_code == 0
    assert call("baseline", "rich.json").exit_code == 0
    assert call("schema").exit_code == 0


@pytest.mark.parametrize(
    ("run", "code"),
    [
        (clean_run(), 0),
        (rich_run(), 1),
        (replace(clean_run(), ended_by="unreachable"), 3),
        (replace(clean_run(), ended_by="interrupted"), 130),
    ],
)
def test_exit_code_is_asked_for(call: Callable[..., Result], run: Run, code: int) -> None:
    keep("it", run)
    assert call("it.json", "--exit-code").exit_code == code
    assert call("it.json").exit_code == 0


def test_a_baseline_from_the_first_run_to_the_next(call: Callable[..., Result]) -> None:
    assert call("baseline", "rich.json", "-o", "known.yaml", "--reason", "ticket").exit_code == 0
    known = call("rich.json", "--baseline", "known.yaml", "--exit-code")
    assert known.exit_code == 0
    assert "known    ticket" in known.output
    # The same was asked, and all of it is mended.
    asked = tuple(Cell(f.location, f.kind, "", "PASS", 1) for f in rich_run().findings)
    keep("mended", replace(clean_run(), cells=asked))
    clean = call("mended.json", "--baseline", "known.yaml", "--exit-code", "-q")
    assert clean.exit_code == 0
    assert clean.stderr.count("is stale: it matches nothing any more; remove it") == 10


def test_lines_of_the_document(call: Callable[..., Result]) -> None:
    Path("api.yaml").write_text(DOCUMENT)
    read = read_sarif(call("rich.json", "-f", "sarif", "--document", "api.yaml").output)
    lines = {
        one["properties"]["id"]: one["locations"][0]["physicalLocation"]["region"]["startLine"]
        for one in read["results"]
    }
    assert lines["F-001"] == 10
    shown = call("rich.json", "-f", "github", "--document", "api.yaml").output
    assert "::error file=api.yaml,line=10,title=SEQ-ROLE-FIRST (MUST)::" in shown


def test_job_summary(call: Callable[..., Result]) -> None:
    Path("summary.md").write_text("before\n")
    environ = {"GITHUB_STEP_SUMMARY": "summary.md"}
    assert call("rich.json", "-f", "github", env=environ).exit_code == 0
    summary = Path("summary.md").read_text(encoding="utf-8")
    assert summary.startswith("before\n# Wafermock: does not conform\n")
    call("rich.json", "-f", "text", env=environ)
    assert Path("summary.md").read_text(encoding="utf-8") == summary


def test_compare(call: Callable[..., Result]) -> None:
    shown = call("compare", "clean.json", "rich.json", "evil.json")
    assert shown.exit_code == 0
    assert "## `rich` beside `clean`" in shown.output
    read_markdown(shown.output)
    page = call("compare", "clean.json", "rich.json", "--format", "html", "-o", "c.html")
    assert page.exit_code == 0
    read_html(Path("c.html").read_text(encoding="utf-8"))
    assert call("compare", "clean.json", "rich.json", "--exit-code").exit_code == 1
    assert call("compare", "rich.json", "clean.json", "--exit-code").exit_code == 0


def test_compared_files_of_the_same_name(call: Callable[..., Result]) -> None:
    Path("old").mkdir()
    Path("old/rich.json").write_bytes(Path("rich.json").read_bytes())
    shown = call("compare", "old/rich.json", "rich.json").output
    assert "## `rich.json` beside `old/rich.json`" in shown
    assert "`rich.json (2)`" in call("compare", "rich.json", "rich.json").output


def test_schema(call: Callable[..., Result]) -> None:
    made = json.loads(call("schema").output)
    assert made["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["none.json"], "wafermock: none.json: No such file or directory"),
        (["."], "wafermock: .: Is a directory"),
        (["compare", "rich.json"], "name at least two result files"),
        (["rich.json", "--baseline", "none.yaml"], "none.yaml: No such file"),
        (["rich.json", "--baseline", "bad.yaml"], "bad.yaml:1: a baseline has no key `a`"),
        (["rich.json", "--document", "bad.json"], ": this is no YAML"),
        (["rich.json", "--document", "bytes"], "bytes: this is no UTF-8 (byte 0)"),
        (["bad.json"], "bad.json"),
        (["rich.json", "-f", "pdf"], "'pdf' is not one of"),
        (["rich.json", "-o", "none/x"], "none/x: No such file or directory"),
        (["compare", "rich.json", "bad.json"], "bad.json"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line(
    call: Callable[..., Result], arguments: list[str], told: str
) -> None:
    Path("bad.yaml").write_text("a: 1\n")
    Path("bad.json").write_text("{")
    Path("bytes").write_bytes(b"\xff")
    shown = call(*arguments)
    assert shown.exit_code == 2
    assert told in shown.stderr
    assert "Traceback" not in shown.output


def test_help_names_the_commands(call: Callable[..., Result]) -> None:
    shown = call("--help").output
    for command in ("baseline", "compare", "schema", "show"):
        assert command in shown
