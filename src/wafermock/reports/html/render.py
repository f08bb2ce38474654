"""The page, made from a run: a pure function of it."""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from wafermock.reports import summary
from wafermock.reports.run import Run
from wafermock.reports.visible import cut

from . import plots, quantities, table, view
from .difference import marked
from .fitting import Fitted, Placed, fit, size
from .markup import block, line, plain, prose

if TYPE_CHECKING:
    from jinja2 import Environment

# The page is smaller than that, in bytes, whatever the run is.
LARGEST = 1_000_000
# What sections have at most, in bytes; findings have what is left.
_RULES, _TABLE, _COVERAGE, _FACTS = 300_000, 150_000, 80_000, 20_000
# What the page is smaller by than it could be: counts in it may grow by a digit.
_MARGIN = 5_000
# How many bytes of a body are shown: as many as there is room for.
_BODY = (4096, 1024, 200)

TIMINGS = {
    "first_byte": "Time to first byte",
    "between_chunks": "Time between chunks",
    "whole": "Time to the whole answer",
    "tokens_per_second": "Tokens a second",
}
SECTIONS = {
    "operation": "Operations",
    "property": "Properties",
    "enum value": "Enum values",
    "constraint": "Constraints",
    "error response": "Error responses",
    "stream shape": "Stream shapes",
}
SIGNS = {"PASS": "✓", "FAIL": "✗", "WARN": "!", "INFO": "i", "UNSUPPORTED": "–", "NOT RUN": "·"}


def render(run: Run) -> str:
    """Return a run as one HTML page of less than a million bytes, which needs no network.

    Everything is escaped, and what cannot be seen is shown as an escape. Long bodies are cut, and
    of many findings some have no details, or are only counted; the page says so each time. The
    result file has them whole.
    """
    pieces = _environment().get_template("pieces.html").module
    entries = view.entries(run)
    placed = [item for entry in entries for item in entry.findings]
    page = _frame(run, entries, placed, pieces)
    found = fit(
        placed,
        LARGEST - _MARGIN - size(page(None)),
        lambda item: _piece(pieces, "short", item),
        lambda item, limit: _piece(pieces, "whole", item, limit),
        _BODY,
    )
    if len(found) < len(placed):  # no link may lead to what is not there
        page = _frame(run, entries, [item for item in placed if item.anchor in found], pieces)
    return page(found)


def _frame(
    run: Run, entries: list[view.Entry], linked: Sequence[Placed], pieces: Any
) -> Callable[[Mapping[str, Fitted] | None], str]:
    """Return what makes the page from the findings that fit, or its frame from None; its table has
    links to those that are `linked`."""
    anchor_of = {item.finding.key: item.anchor for item in reversed(linked)}
    # Rules are dropped, if ever, by what they need without findings.
    kept = _within(entries, _RULES, lambda entry: _piece(pieces, "rule", entry, [], 0, 0))
    groups = view.groups(entries[: len(kept)])
    blocks = table.blocks(run, anchor_of)
    rows = _rows(blocks, pieces)
    sections = view.coverage(run.coverage)
    facts = {
        "run": run,
        "headline": view.headline(run, entries),
        "counts": list(summary.tally(run).items()),
        "first": view.first(entries),
        "groups": groups,
        "rules_left": len(entries) - len(kept),
        "blocks": list(zip(blocks, rows, strict=False)),
        "rows_left": sum(len(b.rows) for b in blocks) - sum(len(r) for r in rows),
        "capabilities": _within(
            run.capabilities, _FACTS, lambda item: _piece(pieces, "capability", item)
        ),
        "timings": list(run.timings.items())[:12],
        "sections": _sections(sections, pieces),
        "notes": _within(run.notes, _FACTS, lambda note: _piece(pieces, "note", note)),
        "settings": json.dumps(run.settings, indent=1, default=str) if run.settings else "",
        **_inline(),
    }
    template = _environment().get_template("page.html")

    def page(found: Mapping[str, Fitted] | None) -> str:
        def rule(entry: view.Entry) -> Markup:
            if found is None:  # the frame alone, with all that may be said of what is left out
                count = len(entry.findings)
                return _piece(pieces, "rule", entry, [], count, count)
            mine = [found[each.anchor] for each in entry.findings if each.anchor in found]
            short = sum(not fitted.whole for fitted in mine)
            left = len(entry.findings) - len(mine)
            return _piece(pieces, "rule", entry, [fitted.markup for fitted in mine], short, left)

        return template.render(facts, rule=rule)

    return page


def _within(items: Sequence[Any], room: int, make: Callable[[Any], Markup]) -> list[Markup]:
    """Return the markup of the first items that `room` bytes hold."""
    made = []
    for item in items:
        markup = make(item)
        room -= size(markup)
        if room < 0:
            break
        made.append(markup)
    return made


def _rows(blocks: Sequence[table.Block], pieces: Any) -> list[list[Markup]]:
    """Return the rows of the table that there is room for, by blocks."""
    room = _TABLE
    made = []
    for each in blocks:
        head = size(_piece(pieces, "columns", each))
        rows = _within(each.rows, room - head, lambda row: _piece(pieces, "row", row, each))  # noqa: B023
        room -= head + sum(map(size, rows))
        if rows:
            made.append(rows)
        if len(rows) < len(each.rows):
            break
    return made


def _sections(
    sections: Sequence[view.Section], pieces: Any
) -> list[tuple[view.Section, list[Markup], list[Markup]]]:
    """Return what is exercised and what not, each as far as there is room."""
    room = _COVERAGE // (2 * max(1, len(sections)))

    def made(items: Sequence[Any]) -> list[Markup]:
        return _within(items, room, lambda item: _piece(pieces, "exercised", item))

    return [(each, made(each.missing), made(each.exercised)) for each in sections]


def _piece(pieces: Any, name: str, *values: Any) -> Markup:
    return Markup(getattr(pieces, name)(*values))


# ---------------------------------------------------------------------- templates


@cache
def _environment() -> "Environment":
    """Return the templates. Whatever an expression gives is made visible and escaped, unless it is
    markup already: nothing can be forgotten."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    def finalize(value: Any) -> Any:
        return value if isinstance(value, Markup) else line(str(value))

    environment = Environment(
        loader=FunctionLoader(_asset),
        autoescape=True,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        block=block,
        cut=cut,
        number=quantities.number,
        plain=plain,
        prose=prose,
        seconds=quantities.seconds,
    )
    environment.globals.update(
        SIGNS=SIGNS,
        TIMINGS=TIMINGS,
        SECTIONS=SECTIONS,
        below=table.below,
        copyable=view.copyable,
        marked=marked,
        plots=plots,
        moment=summary.moment,
        plural=summary.count,
        shown_traffic=view.shown_traffic,
    )
    return environment


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _inline() -> dict[str, Markup]:
    """Return style and script, and the policy that allows these two by their hashes and nothing
    else: what an answer carries cannot run, load or send anything, even if it became markup."""
    style, script = _asset("style.css"), _asset("script.js")
    policy = [
        "default-src 'none'",
        f"script-src '{_hash(script)}'",
        f"style-src '{_hash(style)}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
    return {
        "style": Markup(style),
        "script": Markup(script),
        "policy": Markup("; ".join(policy)),
    }


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
