"""`wafermock check`, `wafermock rules` and `wafermock replay`: the judge on the command line."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from . import extra
from .contract_options import CONTRACT_OPTIONS, contract_options, fail, load
from .reports.summary import UNREACHABLE

if TYPE_CHECKING:
    from .conformance.check import Order
    from .conformance.endpoint import Endpoint
    from .conformance.workers import Workers
    from .reports.baseline import Baseline
    from .reports.run import Budget, Finding, Run
    from .spec import Contract


RESULT = Path("wafermock-run.json")

# The options, by their parameters, that make a budget.
BOUNDS = ("budget_name", "max_requests", "max_tokens", "seconds", "rate", "concurrency")


def endpoint_options(command: Any) -> Any:
    """The options that say how an endpoint is reached."""
    for option in (
        click.option("--ca-file", metavar="FILE", help="Trust the certificates in it (PEM)."),
        click.option("--insecure", is_flag=True, help="Trust whoever answers: no TLS checks."),
        click.option(
            "--api-key-env", metavar="NAME",
            help="The environment variable that holds the API key. The key is never written down.",
        ),
        click.option(
            "--header", "header_envs", multiple=True, metavar="NAME=ENV",
            help="Send a header whose value an environment variable holds; may repeat.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


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
    _tell(run, notes, quiet, result=str(out), page=page, options=_reached_by(options, sources))
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
        tuple(_header(text) for text in options["header_envs"]),
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


def api_key(name: str | None, endpoint: Endpoint) -> str | None:
    """Return the key that is sent to an endpoint. Ends with a line where there is none."""
    from .conformance.endpoint import EndpointError, key_of

    try:
        return key_of(endpoint, name, os.environ)
    except EndpointError as error:
        fail(str(error))


def _header(text: str) -> tuple[str, str]:
    name, equals, variable = text.partition("=")
    value = os.environ.get(variable, "")
    if not equals or not variable:
        fail(f"--header {text}: write NAME=ENV, where the environment variable ENV has the value")
    if not value:
        fail(f"--header {text}: the environment has no variable {variable}, or it is empty")
    if any(sign in name + value for sign in "\r\n\0") or not name.strip():
        fail(f"--header {text}: no header can hold that")
    return name.strip(), value


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


def _reached_by(options: dict[str, Any], sources: dict[str, Any]) -> list[str]:
    """Return the options that `replay` wants too, as they were given. The profile is in the run."""
    given = [("--api-key-env", options["api_key_env"]), ("--ca-file", options["ca_file"])]
    given += [("--header", header) for header in options["header_envs"]]
    given += [("--spec", file) for file in sources["documents"]]
    given += [("--overlay", file) for file in sources["overlays"]]
    flags = {"--insecure": options["insecure"], "--bare": sources["bare"]}
    valued = [word for name, value in given if value for word in (name, str(value))]
    return valued + [name for name, on in flags.items() if on]


def _tell(run: Run, notes: tuple[str, ...], quiet: bool, **known: Any) -> None:
    """Show a run. `known` is what `text.render` is told of the files and options of it."""
    from .reports import text

    width, color = text.look(sys.stdout, os.environ)
    click.echo(text.render(run, width, color, quiet, **known), nl=False, color=color)
    for note in notes:
        click.echo(note, err=True)


@click.command()
@click.argument("ids", nargs=-1, metavar="[RULE]...")
@click.option("--group", metavar="GROUP", help="Only the rules of a group, as STREAM or ERRORS.")
def rules(ids: tuple[str, ...], group: str | None) -> None:
    """List the rules, or show some in full."""
    from difflib import get_close_matches

    from .conformance.rules import all_rules

    listed = {rule.id: rule.described for rule in all_rules()}
    groups = list(dict.fromkeys(rule.group for rule in listed.values()))
    if group is not None and group.upper() not in groups:
        fail(f"--group {group}: there are {', '.join(groups)}")
    for id in ids:
        if id.upper() not in listed:
            near = get_close_matches(id.upper(), listed, 1)
            fail(f"no rule {id}, " + (
                f"did you mean {near[0]}?" if near else "see `wafermock rules`"
            ))  # fmt: skip
    if ids:
        for number, id in enumerate(ids):
            rule = listed[id.upper()]
            click.echo("\n" * bool(number) + f"{rule.id}  {rule.level}  {rule.group}")
            click.echo(f"  {rule.requirement}\n  Source: {rule.source}\n  Guards: {rule.guards}")
        return
    wide = max(map(len, listed))
    for rule in listed.values():
        if group is None or rule.group == group.upper():
            click.echo(f"{rule.id:{wide}}  {rule.level:6}  {rule.requirement}")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--url", help="Where to send it (default: where it was found).")
@click.option("--finding", "ids", multiple=True, metavar="ID", help="Only these findings, as F3.")
@endpoint_options
@contract_options
def replay(
    file: Path,
    url: str | None,
    ids: tuple[str, ...],
    api_key_env: str | None,
    header_envs: tuple[str, ...],
    insecure: bool,
    ca_file: str | None,
    **sources: Any,
) -> None:
    """Send the requests of findings again, and judge the answers.

    FILE is a result file. Exit code: 0 none shows any more, 1 some do or were not judged, 3 none
    was judged (out of reach, or a wrong key).
    """
    from .conformance.endpoint import Endpoint, EndpointError

    extra.needs(*extra.CONFORMANCE)
    run = read_run(file)
    findings = [finding for finding in run.findings if not ids or finding.id in ids]
    missing = set(ids) - {finding.id for finding in findings}
    if missing:
        ends = [finding.id for finding in (*run.findings[:1], *run.findings[1:][-1:])]
        known = f"there are {' to '.join(ends)}" if ends else "there are none"
        fail(f"{file} has no finding {', '.join(sorted(missing))}; {known}")
    try:
        endpoint = Endpoint.at(url or run.endpoint.url, insecure=insecure, ca_file=ca_file)
    except EndpointError as error:
        fail(str(error))
    given = click.get_current_context().get_parameter_source("profile")
    if given is ParameterSource.DEFAULT:
        sources["profile"] = run.tool.profile
    key, own = api_key(api_key_env, endpoint), tuple(map(_header, header_envs))
    sys.exit(_replayed(findings, endpoint, key, own, load(**sources)))


def _replayed(
    findings: list[Finding],
    endpoint: Any,
    key: str | None,
    own: tuple[tuple[str, str], ...],
    contract: Contract,
) -> int:
    import asyncio

    from .conformance.planned import Subject
    from .conformance.replayed import Replayed, replayed
    from .reports.visible import line

    subject = Subject("", key, own)
    results: list[Replayed] = asyncio.run(replayed(findings, endpoint, subject, contract))
    for result in results:
        shown = f"{result.finding.id} {result.finding.rule}"
        if result.silent:
            click.echo(f"{shown}: no answer: {line(result.silent)}")
        elif result.unjudged:
            click.echo(f"{shown}: not judged: {result.unjudged}")
        elif result.still:
            click.echo(f"{shown}: still: {line(result.still)}")
        else:
            click.echo(f"{shown}: does not show any more")
    untold = [bool(result.silent or result.unjudged) for result in results]
    if results and all(untold):
        return UNREACHABLE
    return int(any(untold) or any(result.still for result in results))
