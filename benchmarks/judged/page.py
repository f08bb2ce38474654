"""The table of what each server came to, in the page of the docs."""

from collections import Counter
from pathlib import Path

from wafermock.reports import summary
from wafermock.reports.run import Run, State

BEGIN, END = "<!-- begin table -->\n", "<!-- end table -->\n"
SHOWN: tuple[State, ...] = ("PASS", "FAIL", "WARN", "UNSUPPORTED", "NOT RUN")


def update(page: Path, runs: dict[str, Run]) -> None:
    """Write the tables of all runs into a page, between its two marks."""
    before, begin, rest = page.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} has no place for the table: {BEGIN.strip()} and {END.strip()}")
    page.write_text("".join((before, BEGIN, tables(list(runs.values())), END, after)), "utf-8")


def tables(runs: list[Run]) -> str:
    """Return two tables in Markdown: servers and what they came to, servers and groups."""
    groups = list(dict.fromkeys(rule.group for run in runs for rule in run.rules))
    lines = ["", *_row("server", "version", "date", "requests", *SHOWN, head=True)]
    for run in runs:
        told, counted = run.settings["judged"], summary.tally(run)
        counts = (str(counted[state]) for state in SHOWN)
        lines += _row(told["name"], told["version"], told["date"], str(run.cost.requests), *counts)
    lines += ["", "Rules kept of rules judged, in each group:", ""]
    lines += _row("server", *groups, head=True)
    for run in runs:
        lines += _row(run.settings["judged"]["name"], *(_share(run, group) for group in groups))
    return "\n".join([*lines, "", ""])


def _row(*cells: str, head: bool = False) -> list[str]:
    return [f"| {' | '.join(cells)} |", *(["|" + "---|" * len(cells)] if head else ())]


def _share(run: Run, group: str) -> str:
    counted = Counter(item.state for item in summary.judged(run) if item.rule.group == group)
    decided = counted["PASS"] + counted["FAIL"] + counted["WARN"]
    return f"{counted['PASS']} of {decided}" if decided else "–"
