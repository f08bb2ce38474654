"""The commands `wafermock spec ...`: lint, bundle, show."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .contract_options import contract_options, fail, load, profile_option

if TYPE_CHECKING:
    from .spec.lint import Finding

# Something was found: the exit code of a linter.
FOUND = 1

_BUILT_IN = f"{Path(__file__).parent / 'spec'}{os.sep}"


@click.group()
def spec() -> None:
    """Examine, write out or show the contract."""


@spec.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@profile_option
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True,
)  # fmt: skip
def lint(files: tuple[Path, ...], profile: str, form: str) -> None:
    """Say what is wrong in OpenAPI documents.

    Without FILES: in the two built-in documents as given, then in the completed contract. A line
    tells the file, the line, the JSON pointer, what is wrong, the rule, and what the built-in
    overlays do about it. Ends with 0 when nothing is found, with 1 when something is.
    """
    from .spec.lint import lint_files

    examined = lint_files(files, profile)
    found = [finding for _, findings in examined for finding in findings]
    if form == "json":
        click.echo(json.dumps([_as_json(f) for f in found], indent=2, ensure_ascii=False))
    else:
        click.echo("\n\n".join(_as_text(name, findings) for name, findings in examined))
    raise SystemExit(FOUND if found else 0)


def _as_json(finding: Finding) -> dict[str, Any]:
    from msgspec.structs import asdict

    from .spec.pointer import format_pointer

    return {**asdict(finding), "pointer": format_pointer(finding.pointer)}


def _as_text(name: str, findings: list[Finding]) -> str:
    counted = {0: "nothing found", 1: "1 finding"}.get(len(findings), f"{len(findings)} findings")
    # The title has the whole path of a built-in document; its lines need no more than its place.
    return "\n".join([f"{name}: {counted}", *(str(f).removeprefix(_BUILT_IN) for f in findings)])


@spec.command()
@contract_options
@click.option(
    "--format", "form", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True,
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE",
    help="Where to write it (default: standard output).",
)  # fmt: skip
def bundle(form: str, output: Path | None, **contract: Any) -> None:
    """Write the completed contract as one OpenAPI 3.2 document.

    The document, read with `--bare --spec FILE`, is the same contract again.
    """
    from .spec.bundle import bundle, to_json, to_yaml

    document = bundle(load(**contract))
    text = to_json(document) if form == "json" else to_yaml(document)
    try:
        if output is None:
            click.echo(text, nl=False)
        else:
            output.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        fail(f"{output}: {error.strerror}")


@spec.command()
@click.argument("operation", required=False, metavar="[PATH|OPERATION_ID]")
@contract_options
def show(operation: str | None, **contract: Any) -> None:
    """Show an operation for people, or list them all.

    OPERATION is a path (`/v1/completions`; every method on it), a method and a path
    (`"GET /v1/models"`) or an operation id.
    """
    from .spec.show import show_contract, show_operation

    loaded = load(**contract)
    width = shutil.get_terminal_size((100, 24)).columns
    if operation is None:
        click.echo(show_contract(loaded, width))
        return
    found = [o for o in loaded.operations if operation in (o.id, o.path, o.name)]
    if not found:
        listed = ", ".join(f"{o.name} ({o.id})" for o in loaded.operations)
        fail(f"no operation {operation!r}; there are {listed}")
    click.echo("\n\n".join(show_operation(loaded, o, width) for o in found))
