"""`wafermock rules`: what the judge looks at."""

from __future__ import annotations

import click

from .contract_options import fail


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
