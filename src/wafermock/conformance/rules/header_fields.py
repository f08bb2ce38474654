"""The headers of an answer, as rules look at them."""

from collections.abc import Mapping, Sequence

from ..exchange import Exchange
from ..once import once

DECLARED = "#/components/headers"


@once
def fields(exchange: Exchange) -> Mapping[str, Sequence[str]]:
    """Return the headers of an answer: names in lower case, each with its values in order."""
    found: dict[str, list[str]] = {}
    assert exchange.received is not None
    for name, value in exchange.received.headers:
        found.setdefault(name.lower(), []).append(value.strip())
    return found
