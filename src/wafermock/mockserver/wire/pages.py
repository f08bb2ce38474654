"""The pages of the docs, made from the catalogues: docs/failures.md, deliveries.md, defects.md.

`python -m wafermock.mockserver.wire.pages docs` writes them.
"""

import sys
from pathlib import Path

from wafermock.spec import load_contract
from wafermock.spec.errors import ErrorCatalogue

from .catalogue import Catalogue, Entry, Parameter, written
from .defects import DEFECTS
from .deliveries import DELIVERIES
from .failures import failure_catalogue
from .readers import READERS

_CHOOSING = """
An entry is chosen by name, with parameters behind a colon where the defaults do not suit: `{name}`
or `{example}`. Several parameters have `,` between them, several entries `;`. Each entry takes
`rate` as well, the part of the calls it happens to (`{example},rate=30%`): which ones, the seed and
the call decide, so a run repeats.

| for | choose it by |
| --- | --- |
| every call | the option `--{noun} {name}` |
| the calls of a rule of a script | `reply: {{{noun}: {name}}}` |
| one call | the header `x-wafermock-{noun}: {name}` |
| the next calls | `POST /__wafermock__/armed` `{{"kind": "{noun}", "name": "{name}"}}` |

Of several choices of a kind the one furthest down counts.
"""

_FAILURES = """# Failures

What a real service, or the network before it, does to a client now and then, and what the client
should do about it. Statuses are those of the profile `documented`.
{choosing}
Times are seconds, or written as `200ms`, `2min`. Tokens are those of the mock, as `usage` counts
them; a stream breaks between two events, so where an event holds several tokens it breaks behind
it. After a reset (TCP RST) nothing more is said, and nothing is logged.

What the official Python clients make of it, as the tests hold it:

| what happens | `cerebras_cloud_sdk` 1.91 | `openai` 3.57 |
| --- | --- | --- |
| reset or closed before the body | `APIConnectionError` | `APIConnectionError` |
| closed in the body | `httpx.RemoteProtocolError`, not the SDK's own | `APIConnectionError` |
| reset in the body | `httpx.ReadError`, not the SDK's own | `APIConnectionError` |
| an error event | the exception of its `status_code` | `APIError` |
| a page of HTML | the exception of its status | the exception of its status |
| `unfinished`, `empty_stream` | the end, no exception | the end, no exception |
"""

_DELIVERIES = """# Deliveries

Legal ways to put the same answer on the wire. A client that reads one of them and not another has
a fault that the real service may show it any day.
{choosing}
Every delivery is read, in the tests, by the official clients, and the third column says how:
{readers}.
"""

_DEFECTS = """# Defects

Each breaks one rule on purpose, so that a judge can be shown to see it; a client never meets them
in a server that keeps the contract.
{choosing}
The stage says where a defect acts: on the answer on its way (`answer`), on the request before the
mock sees it (`request`), as a setting of the mock (`settings`), between calls (`service`), or
before a body is read (`connection`).

A rule of a script is looked for once a request is read and found good. What takes a bad request for
a good one finds nothing to act on there, and of what acts before a body is read (`no_continue`,
`oversize_accepted`) only a rule that asks for nothing of the body can choose. What happens between
calls happens between those of one scope (`/t/NAME/v1`).
"""


def pages(errors: ErrorCatalogue) -> dict[str, str]:
    """Return each page by its file name."""
    failures = failure_catalogue(errors)
    return {
        "failures.md": _page(_FAILURES, failures, "stall", "what a client should do"),
        "deliveries.md": _page(_deliveries(), DELIVERIES, "random_pieces", "how it is read"),
        "defects.md": _page(_DEFECTS, DEFECTS, "missing_key", "the rule that it breaks"),
    }


def _deliveries() -> str:
    """Return the lead of the page, with the clients and versions that it is true of."""
    readers = ",\n".join(f"{reader} {reader.version}" for reader in READERS.values())
    return _DELIVERIES.replace("{readers}", readers)


def _page(lead: str, catalogue: Catalogue, shown: str, advice: str) -> str:
    first = catalogue[shown].parameters[0]
    example = f"{shown}:{first.name}={written(first.default)}"
    parts = [
        lead.format(
            choosing=_CHOOSING.format(name=shown, example=example, noun=catalogue.noun)
        ).strip()
    ]
    has_stages = any(entry.stage in ("request", "settings") for entry in catalogue.values())
    for group, entries in catalogue.groups.items():
        shared = {entry.parameters for entry in entries} if len(entries) > 1 else set()
        columns = ["name", "what happens", advice, "shows on", "parameters", "stage"]
        rows = [_cells(entry) for entry in entries]
        lead = ""
        if len(shared) == 1 and entries[0].parameters:  # said once, above
            lead = f"Parameters of each: {_parameters(entries[0], '; ')}.\n\n"
            columns, rows = _without(4, columns, rows)
        if not has_stages:
            columns, rows = _without(len(columns) - 1, columns, rows)
        table = [columns, ["---"] * len(columns), *rows]
        lines = ["| " + " | ".join(row) + " |" for row in table]
        parts.append(f"## {group}\n\n{lead}" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _cells(entry: Entry) -> list[str]:
    cells = [f"`{entry.name}`", entry.says, entry.advice, entry.on]
    cells += [_parameters(entry, "<br>"), entry.stage]
    return [cell.replace("|", "\\|") for cell in cells]


def _without(
    place: int, columns: list[str], rows: list[list[str]]
) -> tuple[list[str], list[list[str]]]:
    """Leave a column out."""
    kept = [[cell for at, cell in enumerate(row) if at != place] for row in (columns, *rows)]
    return kept[0], kept[1:]


def _parameters(entry: Entry, between: str) -> str:
    return between.join(_parameter(parameter) for parameter in entry.parameters)


def _parameter(parameter: Parameter) -> str:
    default = "" if parameter.default is None else f"={written(parameter.default)}"
    choices = f" ({', '.join(parameter.choices)})" if 1 < len(parameter.choices) <= 8 else ""
    return f"`{parameter.name}{default}` {parameter.says}{choices}"


def write(folder: Path) -> None:
    """Write the pages into a folder."""
    for name, text in pages(load_contract().errors).items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
