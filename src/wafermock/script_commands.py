"""The commands `wafermock script ...`: schema, check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from .contract_options import WRONG_USAGE, contract_options, fail, load

# Something is wrong in a script: the exit code of a linter.
FOUND = 1


@click.group()
def script() -> None:
    """Examine scripts: the rules that say what the mock answers."""


@script.command()
def schema() -> None:
    """Print the JSON Schema of scripts, for editors to complete and check them by."""
    from .mockserver.script.schema import script_schema

    click.echo(json.dumps(script_schema(), indent=2, ensure_ascii=False))


@script.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@contract_options
def check(files: tuple[Path, ...], **contract: Any) -> None:
    """Say what is wrong in scripts.

    FILES are scripts, or folders of them, together as `wafermock serve --script` takes them. A
    line tells the file, the line, the JSON pointer, what is wrong and what was meant. Ends with 0
    when nothing is wrong, with 1 when something is, with 2 when a file cannot be read.
    """
    from .mockserver.script import problems
    from .spec.document import UnreadFile

    read, wrong = problems(files, load(**contract))
    code = FOUND
    for error in wrong:
        if isinstance(error, UnreadFile):
            code = WRONG_USAGE
            click.echo(f"wafermock: {error}", err=True)
        else:
            click.echo(str(error))
    if wrong:
        raise SystemExit(code)
    if not read.rules:
        fail("no rules in these files; a folder's scripts end in .yaml, .yml or .json", FOUND)
    count = len(read.rules)
    click.echo(f"nothing is wrong: {count} rule{'s' if count != 1 else ''}")
