"""A run as a badge: the JSON that an endpoint badge of shields.io is made from."""

import json
from typing import Any

from . import summary
from .run import Run

LABEL = "Cerebras API"


def badge(run: Run) -> dict[str, Any]:
    """The badge, see shields.io/badges/endpoint-badge: label, message and colour."""
    kept, decided = summary.score(run)
    if run.ended_by == "unreachable" or not decided:
        message, color = (
            ("unreachable" if run.ended_by == "unreachable" else "not judged"),
            "lightgrey",
        )
    elif run.ended_by == "interrupted":
        message, color = f"{kept} of {decided} rules (interrupted)", "lightgrey"
    else:
        message = f"{kept} of {decided} rules"
        color = {"FAIL": "red", "WARN": "yellow"}.get(run.state, "brightgreen")
    return {
        "schemaVersion": 1,
        "label": LABEL,
        "message": message,
        "color": color,
        "isError": run.state == "FAIL",
    }


def render(run: Run) -> str:
    """Write the badge as JSON."""
    return json.dumps(badge(run), indent=2) + "\n"
