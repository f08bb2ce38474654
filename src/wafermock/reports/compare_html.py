"""A comparison of runs as one HTML page, which needs no network and runs no script."""

from pathlib import Path

from . import summary
from .compare import Comparison
from .visible import block, line

TEMPLATE = Path(__file__).with_name("compare.html.jinja")


def render(comparison: Comparison) -> str:
    """Write a comparison as an HTML page. Everything that is not ours is escaped."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"line": line, "block": block}
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        comparison=comparison,
        differing=[row for row in comparison.rows if row.differs],
        alike=[row for row in comparison.rows if not row.differs],
        signs={"better": "▲ better", "worse": "▼ worse", "other": "", "same": ""},
        shown=200,
        score=summary.score,
        verdict=summary.verdict,
        moment=summary.moment,
        count=summary.count,
    )
