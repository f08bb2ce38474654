"""What people see while a run runs."""

import io

import pytest

from wafermock.reports.progress import TOLD, Lines, Live, Progress, progress
from wafermock.reports.run import Budget

from .sample_runs import rich_run
from .test_text import Terminal

BUDGET = Budget("quick", requests=100, tokens=5000)


def run_through(shown: Progress, findings: int = 2) -> None:
    with shown:
        shown.start("http://127.0.0.1:4010", BUDGET, 103)
        shown.phase("probes", 40)
        shown.advance(30, 900)
        shown.decided("A", "FAIL")
        for number in range(findings):
            shown.finding(f"RULE-{number}", "FAIL", "it\x1b[31m came\nlate", "#/a whole")
            shown.finding(f"RULE-{number}", "FAIL", "again", "#/a streamed")
            shown.finding(f"RULE-{number}", "FAIL", "so told another process", "#/a whole")
        shown.note("told to wait 3 s")
        shown.note("told to wait 3 s")
        shown.phase("generated requests", None)
        shown.advance(20, 1200)
        shown.end(rich_run())


def test_plain_lines() -> None:
    written = io.StringIO()
    run_through(progress(written, {}))
    assert written.getvalue() == (
        "checking http://127.0.0.1:4010 with 103 rules, budget quick\n"
        "probes (40 requests); so far 0 of 100 requests, 0 of 5,000 tokens, "
        "0 of 103 rules judged, 0 findings\n"
        "FAIL RULE-0: it\\x1b[31m came\\nlate\n"
        "FAIL RULE-1: it\\x1b[31m came\\nlate\n"
        "note: told to wait 3 s\n"
        "generated requests; so far 30 of 100 requests, 900 of 5,000 tokens, "
        "1 of 103 rules judged, 4 findings\n"
        "1,204 requests, 188,402 tokens, 91 of 103 rules judged, 10 findings\n"
    )


def test_lines_are_no_flood() -> None:
    written = io.StringIO()
    run_through(progress(written, {}), findings=1000)
    lines = written.getvalue().splitlines()
    assert len(lines) == TOLD + 5
    assert lines[-3] == "... the report tells the rest"


def test_quiet_shows_nothing() -> None:
    terminal = Terminal()
    run_through(progress(terminal, {}, quiet=True))
    assert terminal.getvalue() == ""


def test_live_on_a_terminal() -> None:
    terminal = Terminal()
    run_through(progress(terminal, {"TERM": "xterm", "COLUMNS": "120"}))
    shown = terminal.getvalue()
    assert "FAIL RULE-0: it\\x1b[31m came\\nlate" in shown
    assert "50 of 100 requests, 1,200 of 5,000 tokens, 1 of 103 rules judged, 4 findings" in shown
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == 1  # the cursor is back


def test_a_phase_of_unknown_length_has_no_bound() -> None:
    terminal = Terminal()
    run_through(progress(terminal, {"TERM": "xterm", "COLUMNS": "120"}))
    assert "0/40" in terminal.getvalue()
    assert "20/?" in terminal.getvalue()


def test_a_fall_leaves_the_terminal_clean() -> None:
    terminal = Terminal()

    def fall() -> None:
        with progress(terminal, {"TERM": "xterm"}) as shown:
            shown.start("http://127.0.0.1", BUDGET, 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fall()
    assert terminal.getvalue().count("\x1b[?25h") == 1


def test_no_color_keeps_the_display_and_drops_the_colours() -> None:
    terminal = Terminal()
    run_through(progress(terminal, {"TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "120"}))
    assert "\x1b[31m" not in terminal.getvalue()


def test_the_kind_of_display() -> None:
    assert isinstance(progress(Terminal(), {"TERM": "xterm"}), Live)
    assert isinstance(progress(Terminal(), {"TERM": "dumb"}), Lines)
    assert isinstance(progress(io.StringIO(), {"TERM": "xterm"}), Lines)


def test_nobody_who_reads_ends_no_run() -> None:
    closed = io.StringIO()
    closed.close()
    run_through(Lines(closed))


def test_another_encoding_shows_escapes() -> None:
    raw = io.BytesIO()
    shown = Lines(io.TextIOWrapper(raw, encoding="ascii"))
    shown.note("später")
    assert raw.getvalue() == b"note: sp\\xe4ter\n"
