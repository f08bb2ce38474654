"""All rules, group by group, in the order in which they are read."""

from functools import cache

from ..rule import Rule
from . import encoding, errors, framing, headers, metamorphic, schema, semantics, sequence

BOOKS = (schema, framing, sequence, semantics, errors, encoding, metamorphic, headers)


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return every rule. Raises ValueError where two have the same id."""
    rules = tuple(rule for module in BOOKS for rule in module.BOOK)
    ids = [rule.id for rule in rules]
    twice = sorted({id for id in ids if ids.count(id) > 1})
    if twice:
        raise ValueError(f"two rules have the id {', '.join(twice)}")
    return rules
