"""Budgets: what a run may cost, by name."""

from dataclasses import replace

from wafermock.reports.run import Budget

BUDGETS = {
    "quick": Budget("quick", requests=100, tokens=20_000, seconds=600),
    "standard": Budget("standard", requests=2_000, tokens=400_000, seconds=3_600, concurrency=4),
    "deep": Budget("deep", requests=20_000, tokens=4_000_000, seconds=None, concurrency=8),
}


def budget(
    name: str,
    *,
    requests: int | None = None,
    tokens: int | None = None,
    seconds: float | None = None,
    rate: float | None = None,
    concurrency: int | None = None,
) -> Budget:
    """Return a budget by its name, with what is given in place of its own. Raises KeyError."""
    given = {
        "requests": requests,
        "tokens": tokens,
        "seconds": seconds,
        "rate": rate,
        "concurrency": concurrency,
    }
    changes = {key: value for key, value in given.items() if value is not None}
    return replace(BUDGETS[name], **changes)  # type: ignore[arg-type]
