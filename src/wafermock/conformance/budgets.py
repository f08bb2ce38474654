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
    known = BUDGETS[name]
    return replace(
        known,
        requests=known.requests if requests is None else requests,
        tokens=known.tokens if tokens is None else tokens,
        seconds=known.seconds if seconds is None else seconds,
        rate=known.rate if rate is None else rate,
        concurrency=known.concurrency if concurrency is None else concurrency,
    )
