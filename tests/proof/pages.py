"""The pages of the docs that the table makes: docs/proof.md and docs/rules.md."""

from collections.abc import Sequence
from pathlib import Path

from wafermock.conformance.rules import all_rules
from wafermock.conformance.rules_page import rules_page

from .judging import Choice
from .table import Table, proofs, read
from .undisturbed import TOLD

DOCS = Path(__file__).parents[2] / "docs"
# So many are named beside the first.
MOST = 6

_PROOF = """# Proof

A judge that says FAIL must be right, and so must one that says PASS. So the judge is judged by the
mock, over real sockets:

- **Every rule sees its fault.** For each of the {rules} rules there is a defect of the mock
  ([defects.md](defects.md)) that breaks it, as badly as the rule's level says: MUST fails, SHOULD
  warns, MAY informs. Where a legal delivery ([deliveries.md](deliveries.md)) is what a rule is
  about, the delivery stands for the defect. A rule that nothing breaks fails the tests, and a
  defect that no rule sees fails `make prove`. `http2_differs` acts behind a proxy that speaks
  HTTP/2, which the mock does not; `hang_up_spoils` on a mock with a pace, so that a client can
  leave in the midst of a stream.
- **No rule sees a fault where there is none.** The mock that keeps the contract is asked 20,000
  times in each of the profiles `documented` and `observed`, by the probes and campaigns of a real
  run, in every delivery by turns. No rule may FAIL or WARN, but for what stands below.

`make prove` does all of it: {choices} defects and deliveries against every probe, then the 40,000
requests. It takes about {minutes} minutes on two cores. `make test` does a share: the first thing
that breaks each rule, at the request that showed it, and some hundred requests undisturbed.
`make prove ARGS=--write` writes this page, and [rules.md](rules.md), anew.

## Legal, and worth a word

| delivery | what warns |
| --- | --- |
{told}

## Rules, and what breaks them

Shown is what breaks a rule with its own state: first what shows it best, then others, {most} at the
most.

| rule | level | broken by | and by |
| --- | --- | --- | --- |
{table}
"""
MINUTES = 9


def pages(table: Table | None = None) -> dict[str, str]:
    """Return each page by its file name. Without a table, by the one that is kept."""
    table = read() if table is None else table
    proved = proofs(table)
    rows = []
    for rule in all_rules():
        first, *more = proved[rule.id] or [("defect", "")]
        others = ", ".join(map(_named, more[:MOST])) + (", ..." if len(more) > MOST else "")
        rows.append(f"| {rule.id} | {rule.described.level} | {_named(first)} | {others} |")
    told = [f"| `{name}` | {', '.join(sorted(rules))} |" for name, rules in TOLD.items()]
    proof = _PROOF.format(
        rules=len(all_rules()),
        choices=len(table),
        minutes=MINUTES,
        most=MOST,
        told="\n".join(told),
        table="\n".join(rows),
    )
    names = {rule: _texts(choices[: MOST + 1]) for rule, choices in proved.items()}
    return {"proof.md": proof, "rules.md": rules_page(names)}


def _texts(choices: Sequence[Choice]) -> list[str]:
    return [text if noun == "defect" else f"{noun} {text}" for noun, text in choices]


def _named(choice: Choice) -> str:
    noun, text = choice
    return f"`{text}`" if noun == "defect" else f"{noun} `{text}`"


def write(table: Table) -> None:
    """Write the pages into the docs."""
    for name, text in pages(table).items():
        (DOCS / name).write_text(text, encoding="utf-8")
