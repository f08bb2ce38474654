"""How values are shown in a report."""

import json
from typing import Any

# A value in a report is no longer than this, in characters.
_LONGEST = 200


def shown(value: Any) -> str:
    """Write a value as JSON, shortened."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=repr)
    except (ValueError, RecursionError):
        text = "a value nested too deeply"
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
