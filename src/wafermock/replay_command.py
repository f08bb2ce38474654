"""`wafermock replay`: the requests of findings, sent again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from . import extra
from .check_command import read_run
from .contract_options import contract_options, fail, load
from .endpoint_options import api_key, endpoint_options, own_header
from .reports.summary import UNREACHABLE

if TYPE_CHECKING:
    from .conformance.replayed import Replayed
    from .reports.run import Finding
    from .spec import Contract


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
    key, own = api_key(api_key_env, endpoint), tuple(map(own_header, header_envs))
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
    from .conformance.replayed import replayed
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
