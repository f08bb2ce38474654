"""The command `wafermock`. Each command is a few lines over a function of a room."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import __version__
from .collector import nothing_collected
from .contract_options import CONTRACT_OPTIONS, cannot_listen, contract_options, fail, load

if TYPE_CHECKING:
    from .mockserver.script import ScriptState
    from .mockserver.server import HttpServer


# Commands in modules of their own, imported when they are asked for: `serve` shall start at once.
ELSEWHERE = {
    "check": "check_command",
    "record": "record_command",
    "replay": "replay_command",
    "report": "report_commands",
    "rules": "rules_command",
    "script": "script_commands",
    "spec": "spec_commands",
}


class _Group(click.Group):
    """Turns the errors that are a user's to mend into one line and exit code 2."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *ELSEWHERE])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in ELSEWHERE:
            module = import_module(f".{ELSEWHERE[cmd_name]}", __package__)
            command: click.Command = getattr(module, cmd_name)
            return command
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        from .spec import DocumentError

        try:
            return super().invoke(ctx)
        except DocumentError as error:
            fail(str(error))


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="wafermock")
def main() -> None:
    """A test bench for the Cerebras inference API."""


@main.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", default=4010, show_default=True, type=click.IntRange(0, 65535),
    help="The port to listen on; 0 picks a free one.",
)  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="Another seed, other words and ids.")
@click.option(
    "--validate", type=click.Choice(["strict", "warn", "off"]), default="strict",
    show_default=True, help="What to do with requests that break the contract.",
)  # fmt: skip
@click.option(
    "--models", type=click.Choice(["any", "strict"]), default="any", show_default=True,
    help="Whether a model that is not in the catalogue is answered.",
)  # fmt: skip
@click.option("--api-key", metavar="KEY", help="The only key that passes (default: any key does).")
@click.option(
    "--max-body", default=10 * 1024 * 1024, show_default=True, metavar="BYTES",
    type=click.IntRange(min=1), help="The largest request body, as sent and as inflated.",
)  # fmt: skip
@click.option(
    "--cache", type=click.Choice(["pure", "seen"]), default="pure", show_default=True,
    help="Whether cached_tokens are a figure of the request, or what was really sent before.",
)  # fmt: skip
@click.option(
    "--script", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
    help="Rules that say what is answered (docs/scripts.md); a file or a folder; may repeat.",
)  # fmt: skip
@click.option("--strict-script", is_flag=True, help="What no rule matches is an error.")
@click.option("--watch", is_flag=True, help="Read a script again when it has changed.")
@click.option("--delivery", default="", metavar="NAME", help="See docs/deliveries.md.")
@click.option("--failure", default="", metavar="NAME:rate=0.1", help="See docs/failures.md.")
@click.option("--defect", default="", metavar="NAME", help="See docs/defects.md.")
@click.option(
    "--control", type=click.Choice(["off", "loopback", "anywhere"]), default="loopback",
    show_default=True,
    help="Serve the journal, the levers and a page at /__wafermock__/, to this machine or to all.",
)  # fmt: skip
@click.option(
    "--clock", type=click.Choice(["frozen", "real"]), default="frozen", show_default=True,
    help="frozen: `created` and all times repeat. real: they are the computer's.",
)  # fmt: skip
@click.option(
    "--limits", multiple=True, metavar="[MODEL:]NAME=N,...",
    help="Rate limits, as rpm=5,tpm=30k (also rph, rpd, tph, tpd); may repeat.",
)  # fmt: skip
@click.option("--retry-after", is_flag=True, help="Send Retry-After with a rate-limit error.")
@click.option("--queue-time", metavar="TIME", help="How long requests are queued, as 300ms.")
@click.option("--ttft", metavar="TIME", help="Time to the first token, as 200ms.")
@click.option("--tokens-per-second", metavar="N", help="How fast tokens come.")
@click.option("--jitter", metavar="PERCENT", help="Vary the pace, as 10%.")
@click.option("--model-speed", is_flag=True, help="The pace that was observed of each model.")
@contract_options
def serve(host: str, port: int, watch: bool, control: str, **options: Any) -> None:
    """Serve the mock until interrupted."""
    with nothing_collected():
        import asyncio

        from . import serving
        from .mockserver.process import serve

        contract = load(**{name: options.pop(name) for name in CONTRACT_OPTIONS})
        try:
            made = serving.service(contract, watch=click.echo if watch else None, **options)
        except ValueError as error:
            fail(str(error))
    try:
        levers = None
        if control != "off":
            levers = serving.control(made, anywhere=control == "anywhere")
        asyncio.run(serve(made, host, port, _announce, levers))
    except (OSError, UnicodeError) as error:
        fail(cannot_listen(host, port, error))
    _tell_unused(made.mock.script)


def _tell_unused(script: ScriptState | None) -> None:
    """List the rules that answered nothing: a script that has grown stale says so."""
    for rule in script.unused() if script else ():
        click.echo(f"rule {rule.name!r} ({rule.place}) answered nothing")


def _announce(server: HttpServer) -> None:
    try:
        click.echo(f"listening on {server.url}")
    except OSError:  # nobody reads it; serve all the same
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
