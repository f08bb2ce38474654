"""A comparison of runs as Markdown."""

from collections.abc import Iterable

from . import summary
from .compare import Compared, Comparison, Row
from .markdown import LIMIT
from .markdown_text import code, prose, size, table
from .run import Finding

_SHOWN = 50


def render(comparison: Comparison, limit: int = LIMIT) -> str:
    """Write a comparison as Markdown of at most `limit` bytes."""
    parts = [
        "# Wafermock: comparison\n\n",
        _runs(comparison),
        *(f"\n**{prose(text, 2000)}**\n" for text in comparison.unlike),
    ]
    first = code(comparison.runs[0].name)
    for one in comparison.runs[1:]:
        parts.append(f"\n## {code(one.name)} beside {first}\n\n")
        parts += _changes(one)
    differing = [row for row in comparison.rows if row.differs]
    alike = len(comparison.rows) - len(differing)
    if differing:
        parts.append("\n## Rules that differ\n\n")
        parts += _matrix(comparison, differing).splitlines(keepends=True)
    parts.append(f"\n{summary.count(alike, 'rule')} came out the same in every run.\n")
    return _bounded(parts, limit)


def _bounded(parts: list[str], limit: int) -> str:
    """Join as many parts as there is room for, and say how many are missing."""
    telling = 120
    left = limit - telling
    for number, part in enumerate(parts):
        left -= size(part)
        if left < 0:
            told = summary.count(len(parts) - number, "part")
            return "".join(parts[:number]) + f"\nLeft out: {told}; the HTML has them all.\n"
    return "".join(parts)


def _runs(comparison: Comparison) -> str:
    rows = []
    for one in comparison.runs:
        kept, decided = summary.score(one.run)
        rows.append(
            [
                code(one.name, cell=True),
                code(one.run.endpoint.url, cell=True),
                code(one.run.endpoint.model, cell=True),
                summary.moment(one.run) or "?",
                summary.verdict(one.run).lower(),
                f"{kept} of {decided}",
                f"{len(one.run.findings):,}",
            ]
        )
    heads = ["run", "endpoint", "model", "began", "verdict", "rules kept", "findings"]
    return table(heads, rows)


def _changes(one: Compared) -> Iterable[str]:
    found = False
    for title, rules in (("Worse", one.worse), ("Better", one.better)):
        if rules:
            found = True
            yield f"- {title}: {', '.join(code(rule) for rule in rules)}\n"
    for title, findings in (("New", one.new), ("Gone", one.gone)):
        if findings:
            found = True
            yield f"- {title}: {summary.count(len(findings), 'finding')}\n"
        yield from (_finding(finding) for finding in findings[:_SHOWN])
        if len(findings) > _SHOWN:
            yield f"  - and {len(findings) - _SHOWN} more\n"
    if not found:
        yield "Nothing is better, worse, new or gone.\n"


def _finding(finding: Finding) -> str:
    return (
        f"  - {finding.state} {code(finding.rule)} {code(finding.location, 160)}, "
        f"{code(finding.kind, 80)}: {code(finding.actual, 120)}\n"
    )


def _matrix(comparison: Comparison, rows: list[Row]) -> str:
    heads = ["rule", *(code(one.name, 60, cell=True) for one in comparison.runs)]
    signs = {"better": " ▲", "worse": " ▼", "other": "", "same": ""}
    return table(
        heads,
        (
            [
                code(row.rule.id, cell=True),
                *(
                    f"{state or '(no such rule)'}{signs[change]}"
                    for state, change in zip(row.states, row.changes, strict=True)
                ),
            ]
            for row in rows
        ),
    )
