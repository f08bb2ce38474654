"""The summary for a terminal."""

import io
from collections.abc import Mapping
from dataclasses import replace

import pytest

from wafermock.reports.text import look, render
from wafermock.reports.visible import visible

from . import golden
from .sample_runs import clean_run, hostile_run, large_run, rich_run, small_run


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_golden() -> None:
    golden.check("small.txt", render(small_run()))
    golden.check("rich.txt", render(rich_run(), width=100))


def test_quiet_is_one_line() -> None:
    for run in (rich_run(), clean_run(), hostile_run()):
        (shown,) = render(run, quiet=True).splitlines()
        assert visible(shown) == shown


def test_colour_only_where_it_is_asked_for() -> None:
    assert "\x1b" not in render(rich_run())
    assert "\x1b[1;31mFAIL\x1b[0m" in render(rich_run(), color=True)


@pytest.mark.parametrize("width", [40, 72, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    from rich.cells import cell_len

    assert max(map(cell_len, render(rich_run(), width).splitlines())) <= width


def test_whatever_a_server_sends_moves_no_cursor() -> None:
    shown = render(hostile_run(), width=120)
    assert visible(shown, lines=True) == shown


def test_large_runs_stay_readable() -> None:
    shown = render(large_run(), width=100)
    assert len(shown.splitlines()) < 500
    assert "more findings of this rule" in shown
    assert "Broken as well" in shown


def test_incomplete_runs_say_so() -> None:
    shown = render(replace(clean_run(), ended_by="budget"), 100)
    assert "Not everything was asked: the budget was spent" in shown


@pytest.mark.parametrize(
    ("stream", "environ", "color"),
    [
        (Terminal(), {"TERM": "xterm"}, True),
        (Terminal(), {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (Terminal(), {"TERM": "xterm", "NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {"TERM": "xterm"}, False),
    ],
)
def test_look(stream: io.StringIO, environ: Mapping[str, str], color: bool) -> None:
    assert look(stream, environ)[1] is color


def test_width_is_what_the_terminal_says() -> None:
    assert look(Terminal(), {"COLUMNS": "123", "TERM": "xterm"})[0] == 123
    assert look(io.StringIO(), {"COLUMNS": "77"})[0] == 77
    assert look(io.StringIO(), {})[0] == 100
    assert look(Terminal(), {"COLUMNS": "3", "TERM": "xterm"})[0] == 40
