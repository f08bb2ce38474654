"""The commands `wafermock report ...`: a result file in other formats, comparisons, baselines."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .contract_options import fail
from .extra import needs

if TYPE_CHECKING:
    from .reports.document_places import Places
    from .reports.run import Run

FORMATS = ("html", "markdown", "junit", "sarif", "text", "badge", "github")
# What `report` does where no command is named: `wafermock report RUN.json`.
DEFAULT = "show"


class _ReportGroup(click.Group):
    """A group whose first argument may be a file. A file called as a command is: `./compare`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)


@click.group(cls=_ReportGroup, context_settings={"help_option_names": ["-h", "--help"]})
def report() -> None:
    """Show what a run found: `wafermock report RUN.json --format html --out run.html`.

    A first argument that is no command below is a result file, and shown.
    """


_FILE = click.Path(path_type=Path, allow_dash=True)
_RESULT = click.argument("file", type=_FILE, metavar="RUN.json")
_OUT = click.option(
    "-o", "--out", type=click.Path(path_type=Path), metavar="FILE",
    help="Where to write it (default: standard output).",
)  # fmt: skip


@report.command()
@_RESULT
@click.option(
    "-f", "--format", "form", type=click.Choice(FORMATS), default="text", show_default=True,
    help="What to make of it.",
)  # fmt: skip
@_OUT
@click.option(
    "--baseline", type=_FILE, metavar="FILE", help="What is known, and no longer counts."
)  # fmt: skip
@click.option(
    "--document", type=_FILE, metavar="FILE",
    help="The contract's document: sarif and github point at its lines.",
)  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="One line (with text).")
@click.option(
    "--exit-code", is_flag=True,
    help="End as the check did: 0 conforms, 1 findings, 3 unreachable, 130 interrupted.",
)  # fmt: skip
def show(
    file: Path,
    form: str,
    out: Path | None,
    baseline: Path | None,
    document: Path | None,
    quiet: bool,
    exit_code: bool,
) -> None:
    """Show a result file in a format; this is what is done where no command is named."""
    from .reports import summary

    run = _run(file)
    if baseline is not None:
        run = _known(run, baseline)
    places = _places(document) if document is not None else None
    if form == "text":
        _write(_text(run, file, quiet=quiet, shown=out is None), out)
    else:
        _write(_RENDERERS[form](run, places), out)
    if form == "github":
        _job_summary(run)
    if exit_code:
        raise SystemExit(summary.exit_code(run))


def _html(run: Run, _: Places | None) -> str:
    from .reports.html import render

    return render(run)


def _markdown(run: Run, _: Places | None) -> str:
    from .reports.markdown import render

    return render(run)


def _junit(run: Run, _: Places | None) -> str:
    from .reports.junit import render

    return render(run)


def _sarif(run: Run, places: Places | None) -> str:
    from .reports.sarif import render

    return render(run, places)


def _badge(run: Run, _: Places | None) -> str:
    from .reports.badge import render

    return render(run)


def _github(run: Run, places: Places | None) -> str:
    from .reports.github import render

    return render(run, places)


# Each imports what it needs when it is asked for.
_RENDERERS: dict[str, Callable[[Run, Places | None], str]] = {
    "html": _html,
    "markdown": _markdown,
    "junit": _junit,
    "sarif": _sarif,
    "badge": _badge,
    "github": _github,
}


def rendered(run: Run, form: str, file: Path) -> str:
    """Return a run in a format, as a file is to hold it; `file` is its result file."""
    return _text(run, file) if form == "text" else _RENDERERS[form](run, None)


def _text(run: Run, file: Path, *, quiet: bool = False, shown: bool = False) -> str:
    """Return the summary of a run; `shown`: as it fits the terminal, which it goes to."""
    from .reports.text import look, render

    if quiet:
        return render(run, quiet=True)
    needs("rich")
    width, color = look(sys.stdout, os.environ) if shown else (100, False)
    return render(run, width, color, result="" if str(file) == "-" else str(file))


@report.command()
@click.argument("files", nargs=-1, required=True, type=_FILE, metavar="A.json B.json...")
@click.option(
    "-f", "--format", "form", type=click.Choice(["html", "markdown"]), default="markdown",
    show_default=True, help="What to make of it.",
)  # fmt: skip
@_OUT
@click.option("--exit-code", is_flag=True, help="End with 1 where a run is worse than the first.")
def compare(files: tuple[Path, ...], form: str, out: Path | None, exit_code: bool) -> None:
    """Compare runs: the first with each of the others.

    Servers beside each other, or today beside last week: rules by runs, what is better and worse,
    which findings are new and which are gone.
    """
    if len(files) < 2:
        fail("report compare: name at least two result files")
    from .reports import compare_html, compare_markdown
    from .reports.compare import compare as compared

    comparison = compared([(name, _run(file)) for name, file in _named(files)])
    render = compare_html.render if form == "html" else compare_markdown.render
    _write(render(comparison), out)
    if exit_code:
        raise SystemExit(int(comparison.got_worse))


def _named(files: tuple[Path, ...]) -> list[tuple[str, Path]]:
    """Files by the shortest names that tell them apart."""
    names = [_stem(file) for file in files]
    if len(set(names)) < len(names):
        names = [_called(file) for file in files]
    if len(set(names)) < len(names):
        names = [f"{name} ({number})" for number, name in enumerate(names, start=1)]
    return list(zip(names, files, strict=True))


def _stem(file: Path) -> str:
    return _called(file) if str(file) == "-" else file.stem


def _called(file: Path) -> str:
    """What people call a file that is read."""
    return "standard input" if str(file) == "-" else str(file)


@report.command()
@_RESULT
@_OUT
@click.option("--reason", default="", metavar="TEXT", help="Why all of it is accepted.")
def baseline(file: Path, out: Path | None, reason: str) -> None:
    """Write a baseline that knows everything a run has found.

    Give each entry its reason, and an `expires` where it shall not be for good; then
    `wafermock report RUN.json --baseline FILE`.
    """
    from .reports.baseline import first

    _write(first(_run(file), reason), out)


@report.command()
@_OUT
def schema(out: Path | None) -> None:
    """Write the JSON Schema of result files."""
    import json

    from .reports.result_file import schema

    _write(json.dumps(schema(), indent=2, ensure_ascii=False) + "\n", out)


def _run(file: Path) -> Run:
    from .reports.result_file import ResultFileError, read

    try:
        return read(_read(file), _called(file))
    except ResultFileError as error:
        fail(str(error))


def _known(run: Run, file: Path) -> Run:
    """Mark what a baseline knows; what is wrong with it goes to standard error."""
    from .reports.baseline import BaselineError, apply, read

    try:
        known, notes = apply(run, read(_read(file), _called(file)), datetime.now(UTC).date())
    except BaselineError as error:
        fail(str(error))
    for note in notes:
        click.echo(f"wafermock: {note}", err=True)
    return known


def _places(file: Path) -> Places:
    from .reports.document_places import UnreadableDocument, places

    try:
        return places(_read(file).decode("utf-8"), file.as_posix())
    except UnicodeDecodeError as error:
        fail(f"{file}: this is no UTF-8 (byte {error.start})")
    except UnreadableDocument as error:
        fail(str(error))


def _job_summary(run: Run) -> None:
    """Append the summary of the job to the file that GitHub Actions names for it."""
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    if not file:
        return
    from .reports.github import job_summary

    try:
        with open(file, "a", encoding="utf-8", newline="\n") as opened:
            opened.write(job_summary(run))
    except OSError as error:
        fail(f"GITHUB_STEP_SUMMARY: {file}: {error.strerror}")


def _read(file: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        fail(f"{file}: {error.strerror}")


def _write(text: str, out: Path | None) -> None:
    """Write UTF-8 to a file, or to standard output in whatever encoding that has."""
    try:
        if out is None or str(out) == "-":
            encoding = sys.stdout.encoding or "utf-8"
            click.echo(text.encode(encoding, "backslashreplace"), nl=False)
        else:
            out.write_text(text, encoding="utf-8", newline="\n")
    except BrokenPipeError:
        raise  # click ends quietly
    except OSError as error:
        fail(f"{out or 'standard output'}: {error.strerror}")
