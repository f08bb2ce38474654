"""The options of the commands that send: how an endpoint is reached, with which key and headers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from .contract_options import fail

if TYPE_CHECKING:
    from .conformance.endpoint import Endpoint


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


def api_key(name: str | None, endpoint: Endpoint) -> str | None:
    """Return the key that is sent to an endpoint. Ends with a line where there is none."""
    from .conformance.endpoint import EndpointError, key_of

    try:
        return key_of(endpoint, name, os.environ)
    except EndpointError as error:
        fail(str(error))


def own_header(text: str) -> tuple[str, str]:
    """Read `NAME=ENV`: a header, and the variable that holds its value. Ends with a line where that
    cannot be done."""
    name, equals, variable = text.partition("=")
    value = os.environ.get(variable, "")
    if not equals or not variable:
        fail(f"--header {text}: write NAME=ENV, where the environment variable ENV has the value")
    if not value:
        fail(f"--header {text}: the environment has no variable {variable}, or it is empty")
    if any(sign in name + value for sign in "\r\n\0") or not name.strip():
        fail(f"--header {text}: no header can hold that")
    return name.strip(), value


def reached_by(options: dict[str, Any], sources: dict[str, Any]) -> list[str]:
    """Return the options that `replay` wants too, as they were given. The profile is in the run."""
    given = [("--api-key-env", options["api_key_env"]), ("--ca-file", options["ca_file"])]
    given += [("--header", header) for header in options["header_envs"]]
    given += [("--spec", file) for file in sources["documents"]]
    given += [("--overlay", file) for file in sources["overlays"]]
    flags = {"--insecure": options["insecure"], "--bare": sources["bare"]}
    valued = [word for name, value in given if value for word in (name, str(value))]
    return valued + [name for name, on in flags.items() if on]
