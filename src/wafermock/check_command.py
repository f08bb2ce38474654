"""`wafermock check`: the judge on the command line."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from . import extra
from .contract_options import CONTRACT_OPTIONS, contract_options, fail, load
from .endpoint_options import api_key, endpoint_options, own_header, reached_by
from .reports.summary import UNREACHABLE

if TYPE_CHECKING:
    from .conformance.check import Order
    from .conformance.workers import Workers
    from .reports.baseline import Baseline
    from .reports.run import Budget, Run
    from .spec import Contract


RESULT = Path("wafermock-run.json")

# The options, by their parameters, that make a budget.
BOUNDS = ("budget_name", "max_requests", "max_tokens", "seconds", "rate", "concurrency")


@click.command()
@click.argument("url")
@endpoint_options
@click.option("--model", default="", metavar="NAME", help="Default: the first that the list names.")
@click.option(
    "--budget", "budget_name", type=click.Choice(["quick", "standard", "deep"]), default="quick",
    show_default=True, help="100, 2,000 or 20,000 requests at most; a bound below overrules it.",
)  # fmt: skip
@click.option("--max-requests", type=click.IntRange(min=1), metavar="N")
@click.option("--max-tokens", type=click.IntRange(min=1), metavar="N")
@click.option("--time", "seconds", metavar="TIME", help="How long a run may take, as 10m.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="Requests a second.")
@click.option("--concurrency", type=click.IntRange(1, 256), metavar="N", help="Requests at a time.")
@click.option("-n", "processes", type=click.IntRange(1, 64), default=1, help="Processes that send.")
@click.option("--seed", default=0, show_default=True, help="Another seed, other requests.")
@click.option("--any-key", is_flag=True, help="The endpoint is a mock that takes any key.")
@click.option("--any-model", is_flag=True, help="The endpoint is a mock that takes any model.")
@click.option(
    "--expect", type=click.Path(path_type=Path), metavar="FILE",
    help="A baseline: findings that are known do not fail (`wafermock report baseline`).",
)  # fmt: skip
@click.option(
    "--out", type=click.Path(path_type=Path), default=RESULT, show_default=True,
    help="The result file, of which every report is made.",
)  # fmt: skip
@click.option(
    "--report", "reports", multiple=True, metavar="FORMAT=FILE",
    help="Write a report too: html, markdown, junit, sarif, text, badge or github; may repeat.",
)  # fmt: skip
@click.option(
    "--examples", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
    help="Where a deep run keeps what its search found; the next tries that first.",
)  # fmt: skip
@click.option("--resume", is_flag=True, help="Go on with the run in the result file.")
@click.option("-q", "--quiet", is_flag=True, help="One line.")
@contract_options
def check(url: str, **options: Any) -> None:
    """Fuzz an endpoint and judge it by every rule.

    Exit code: 0 conforms, 1 findings, 2 wrong usage, 3 out of reach, 130 interrupted.
    """
    from .reports import summary

    extra.needs(*extra.CONFORMANCE)
    wanted = options.pop("reports")
    files = [report_file(text) for text in wanted]
    sources = {name: options.pop(name) for name in CONTRACT_OPTIONS}
    quiet, out, expect = options.pop("quiet"), options.pop("out"), options.pop("expect")
    order = _order(url, load(**sources), options)
    before = _before(out, order) if options["resume"] else None
    known = _baseline(expect) if expect else None
    _writable("--out", out)
    for name, file in files:
        _writable(f"--report {name}", file)
    run = _run(order, sources, options["processes"], before, quiet)
    notes: tuple[str, ...] = ()
    if known is not None:
        run, notes = _apply(run, known)
    _write(run, out, files)
    page = next((str(file) for name, file in files if name == "html"), "")
    _tell(run, notes, quiet, result=str(out), page=page, options=reached_by(options, sources))
    sys.exit(summary.exit_code(run))


def _writable(option: str, file: Path) -> None:
    """End with a line where a file cannot be written: a run is not to be lost for that."""
    if file.is_dir():
        fail(f"{option} {file}: this is a folder; name a file in it")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        fail(f"{option} {file}: the folder is not there, or cannot be written to")


def report_file(text: str) -> tuple[str, Path]:
    """Read FORMAT=FILE."""
    from .report_commands import FORMATS

    name, equals, file = text.partition("=")
    if not equals or not file or name not in FORMATS:
        fail(f"--report {text}: write FORMAT=FILE; the formats are {', '.join(FORMATS)}")
    return name, Path(file)


def _order(url: str, contract: Contract, options: dict[str, Any]) -> Order:
    """Make an order of the options. Ends with a line where one of them cannot be used."""
    from .conformance.check import Order
    from .conformance.endpoint import Endpoint, EndpointError

    try:
        endpoint = Endpoint.at(url, insecure=options["insecure"], ca_file=options["ca_file"])
        endpoint.tls()
    except EndpointError as error:
        fail(str(error))
    facts = {name: True for name in ("any_key", "any_model") if options[name]}
    return Order(
        endpoint,
        contract,
        _budget(options),
        options["model"],
        api_key(options["api_key_env"], endpoint),
        tuple(own_header(text) for text in options["header_envs"]),
        options["seed"],
        facts=facts,
        examples=options["examples"],
    )


def _budget(options: dict[str, Any]) -> Budget:
    from .conformance.budgets import budget
    from .mockserver.clock import parse_duration

    seconds = options["seconds"]
    try:
        time = None if seconds is None else parse_duration(seconds)
    except ValueError as error:
        fail(f"--time: {error}")
    return budget(
        options["budget_name"],
        requests=options["max_requests"],
        tokens=options["max_tokens"],
        seconds=time,
        rate=options["rate"],
        concurrency=options["concurrency"],
    )


def _before(out: Path, order: Order) -> Run:
    """Return the run that is to be gone on with."""
    from .conformance.parts import resumable

    if not out.exists():
        fail(
            f"--resume: there is no run in {out} yet: run without --resume first, or name its --out"
        )
    before = read_run(out)
    if why := resumable(before, order) or _otherwise(before, order):
        fail(f"--resume: the run in {out} cannot be gone on with: {why}")
    return before


def _otherwise(before: Run, order: Order) -> str:
    """Say which option asks for another run than the one that is gone on with; empty: none."""
    source = click.get_current_context().get_parameter_source
    given = {name for name in BOUNDS if source(name) is ParameterSource.COMMANDLINE}
    if given and order.budget != before.budget:
        return "its budget was another one; leave out the options of it"
    if source("seed") is ParameterSource.COMMANDLINE and order.seed != before.seed:
        return f"its seed was {before.seed}"
    if order.model and order.model != before.endpoint.model:
        return f"it asked the model {before.endpoint.model}"
    return ""


def read_run(path: Path) -> Run:
    """Read a result file. Ends with a line where it cannot be read."""
    from .reports import result_file

    try:
        return result_file.read(path.read_bytes(), str(path))
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    except ValueError as error:
        fail(str(error))


def _run(
    order: Order, sources: dict[str, Any], processes: int, before: Run | None, quiet: bool
) -> Run:
    import asyncio
    from contextlib import nullcontext

    from .conformance.beginning import CannotCheck
    from .conformance.check import check
    from .conformance.interruption import interruption
    from .conformance.parts import check_in_parts, resume
    from .conformance.workers import workers
    from .reports.progress import progress

    recipe = (
        sources["profile"],
        tuple(map(str, sources["documents"])),
        tuple(map(str, sources["overlays"])),
        not sources["bare"],
    )

    async def run(started: Workers | None) -> Run:
        with progress(sys.stderr, os.environ, quiet) as shown, interruption() as interrupted:
            if before is not None:
                run = await resume(order, before, shown, interrupted)
            elif started is not None:
                run = await check_in_parts(order, started, shown, interrupted)
            else:
                run = await check(order, shown, interrupted)
            shown.end(run)
            return run

    in_parts = processes > 1 and before is None
    try:
        # Before the event loop, and whatever else starts a thread.
        with workers(processes, order.contract, recipe) if in_parts else nullcontext() as started:
            return asyncio.run(run(started))
    except CannotCheck as error:
        fail(str(error), UNREACHABLE)


def _baseline(path: Path) -> Baseline:
    from .reports import baseline

    try:
        return baseline.read(path.read_bytes(), str(path))
    except OSError as error:
        fail(f"--expect {path}: {error.strerror}")
    except baseline.BaselineError as error:
        fail(f"--expect {error}")


def _apply(run: Run, known: Baseline) -> tuple[Run, tuple[str, ...]]:
    from datetime import UTC, datetime

    from .reports import baseline

    return baseline.apply(run, known, datetime.now(UTC).date())


def _write(run: Run, out: Path, files: list[tuple[str, Path]]) -> None:
    from .report_commands import rendered
    from .reports import result_file

    try:
        out.write_bytes(result_file.write(run))
        for name, path in files:
            path.write_text(rendered(run, name, out), "utf-8", newline="\n")
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")


def _tell(run: Run, notes: tuple[str, ...], quiet: bool, **known: Any) -> None:
    """Show a run. `known` is what `text.render` is told of the files and options of it."""
    from .reports import text

    width, color = text.look(sys.stdout, os.environ)
    click.echo(text.render(run, width, color, quiet, **known), nl=False, color=color)
    for note in notes:
        click.echo(note, err=True)
