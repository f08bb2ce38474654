"""Names of places in the page, for links: the ids of rules and findings where HTML and URLs take
them as they are, else their numbers."""

import re
from collections.abc import Iterable

_SAFE = re.compile(r"[A-Za-z0-9_-]{1,100}")


def anchors(prefix: str, names: Iterable[str]) -> list[str]:
    """Return an id for each name, another one for each: `rule-STREAM-DONE`, or `rule.7`."""
    taken: set[str] = set()
    made = []
    for index, name in enumerate(names):
        anchor = f"{prefix}-{name}"
        if not _SAFE.fullmatch(name) or anchor in taken:
            anchor = f"{prefix}.{index}"
        taken.add(anchor)
        made.append(anchor)
    return made
