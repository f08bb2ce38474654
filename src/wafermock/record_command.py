"""The command `wafermock record`: a proxy that writes a script of what passes through it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .contract_options import cannot_listen, fail

if TYPE_CHECKING:
    import re

    from .mockserver.record.answering import ScriptAnswers
    from .mockserver.record.proxy import RecordingProxy

# Something was not recorded that should have been.
INCOMPLETE = 1


@click.command()
@click.option(
    "--upstream", required=True, metavar="URL",
    help="The server to pass on to, without /v1: https://api.cerebras.ai, say.",
)  # fmt: skip
@click.option(
    "--out", required=True, metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
    help="The script to write (YAML). One that is there is added to.",
)  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", default=4011, show_default=True, type=click.IntRange(0, 65535),
    help="The port to listen on; 0 picks a free one.",
)  # fmt: skip
@click.option(
    "--only-missing", is_flag=True,
    help="Answer what the scripts (and --out) have an answer for; record the rest.",
)  # fmt: skip
@click.option(
    "--script", "scripts", multiple=True, metavar="FILE", type=click.Path(path_type=Path),
    help="With --only-missing: a script, or a folder of scripts, to answer from; may repeat.",
)  # fmt: skip
@click.option(
    "--redact", "patterns", multiple=True, metavar="PATTERN",
    help="A regular expression of what must not be written either; may repeat.",
)  # fmt: skip
@click.option(
    "--timeout", default=600.0, show_default=True, metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    help="How long the upstream may say nothing.",
)  # fmt: skip
def record(
    upstream: str,
    out: Path,
    host: str,
    port: int,
    only_missing: bool,
    scripts: tuple[Path, ...],
    patterns: tuple[str, ...],
    timeout: float,
) -> None:
    """Pass everything on to a server, and write a script that answers the same.

    Set the address that is printed as the base URL of a client, and let it work. Keys, cookies,
    organisations and e-mail addresses are not written. Ends with 1 when something that passed
    could not be recorded.
    """
    import asyncio

    from .mockserver.record.proxy import RecordingProxy
    from .mockserver.record.proxy import record as serve
    from .mockserver.record.recorder import Recorder
    from .mockserver.record.script_file import ScriptFile
    from .mockserver.record.upstream import read_address

    if scripts and not only_missing:
        fail("--script is what --only-missing answers from; give both")
    expressions = _compiled(patterns)
    try:
        address = read_address(upstream)
    except ValueError as error:
        fail(f"--upstream: {error}")
    recorder = Recorder(ScriptFile(out), expressions, _say)
    answers = _answers([*scripts, *([out] if out.exists() else [])]) if only_missing else None
    proxy = RecordingProxy(address, recorder, host, port, answers=answers, timeout=timeout)
    try:
        asyncio.run(serve(proxy, _announce))
    except (OSError, UnicodeError) as error:
        fail(cannot_listen(host, port, error))
    finally:
        recorder.close()
    if recorder.lost:
        raise SystemExit(INCOMPLETE)


def _compiled(patterns: tuple[str, ...]) -> list[re.Pattern[str]]:
    import re

    compiled = []
    for pattern in patterns:
        try:
            expression = re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            fail(f"--redact {pattern!r} is no regular expression: {error}")
        if expression.fullmatch(""):
            fail(f"--redact {pattern!r} fits an empty text too; write what it must at least hold")
        compiled.append(expression)
    return compiled


def _answers(scripts: list[Path]) -> ScriptAnswers:
    from .mockserver.record.answering import ScriptAnswers
    from .mockserver.script import Script
    from .spec import load_contract

    contract = load_contract()
    return ScriptAnswers(Script.load(scripts, contract), contract)


def _say(line: str) -> None:
    click.echo(line, err=True)


def _announce(proxy: RecordingProxy) -> None:
    click.echo(f"recording on {proxy.url}")
    sys.stdout.flush()
