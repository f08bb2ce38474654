"""A run for GitHub Actions: annotations on the files, and the summary of a job."""

from collections.abc import Iterator

from . import markdown, summary
from .document_places import Places
from .run import Run
from .summary import Judged
from .visible import block, line

# GitHub shows so many annotations of a kind from one step, and drops the others without a word.
SHOWN = 10
# The longest summary of a step, in bytes (1 MiB).
SUMMARY_LIMIT = 1_048_576

_COMMANDS = {"FAIL": "error", "WARN": "warning", "INFO": "notice"}


def render(run: Run, places: Places | None = None) -> str:
    """Write workflow commands, one a rule that is broken and not known: `::error ...::...`.

    With `places`, findings are pinned to the lines of the contract's document.
    """
    written: dict[str, int] = dict.fromkeys(_COMMANDS.values(), 0)
    lines: list[str] = []
    left = 0
    for item in summary.broken(run):
        command = _COMMANDS[item.state]
        if item.known:
            continue
        # One place is kept, so that what was left out can be told.
        if written[command] >= SHOWN - (command == "notice"):
            left += 1
            continue
        written[command] += 1
        lines.append(_annotation(command, item, places))
    if left:
        told = f"{summary.count(left, 'more rule')} broken: see the report"
        lines.append(_command("notice", {"title": "wafermock"}, told))
    if run.ended_by in ("interrupted", "unreachable"):
        lines.append(_command("error", {"title": "wafermock"}, summary.ENDINGS[run.ended_by]))
    lines.append(line(summary.headline(run), 2000).lstrip(":"))
    return "".join(f"{text}\n" for text in lines)


def job_summary(run: Run) -> str:
    """Write what is appended to the file that GITHUB_STEP_SUMMARY names: Markdown."""
    return markdown.render(run, SUMMARY_LIMIT)


def _annotation(command: str, item: Judged, places: Places | None) -> str:
    pointer = item.findings[0].location if item.findings else item.rule.source
    keys = {"title": f"{line(item.rule.id)} ({item.rule.level})"}
    if places is not None and (number := places.line(pointer)):
        keys = {"file": places.name, "line": str(number), **keys}
    return _command(command, keys, "\n".join(_told(item)))


def _told(item: Judged) -> Iterator[str]:
    yield line(item.rule.requirement) or "broken"
    for finding in item.findings[:1]:
        times = summary.count(item.verdict.broken or finding.count, "time")
        yield f"{line(finding.id)} at {line(finding.where)} ({line(finding.kind)}), seen {times}"
        yield f"contract: {line(finding.location)}"
        yield f"expected: {block(finding.expected, 400)}"
        yield f"actual: {block(finding.actual, 400)}"


def _command(command: str, keys: dict[str, str], message: str) -> str:
    """A workflow command, escaped as the toolkit of GitHub Actions does."""
    told = ",".join(f"{key}={_key(value)}" for key, value in keys.items())
    return f"::{command} {told}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _key(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
