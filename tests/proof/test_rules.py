"""Every rule is broken by the real mock, over a socket, as badly as its level says.

`make prove` asks much more, and writes the table that is read here.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from wafermock.conformance.rules import all_rules

from .judging import Choice, own_state
from .pages import DOCS, pages
from .serving import mocks
from .table import Mocks, broken_by, choices, proofs, read

ANEW = "make prove ARGS=--write"

TABLE = read()
PROOFS = proofs(TABLE)


def shares() -> dict[Choice, list[str]]:
    """Return what breaks rules, each with those that it is to break."""
    found: dict[Choice, list[str]] = {}
    for rule, known in PROOFS.items():
        for choice in known[:1]:
            found.setdefault(choice, []).append(rule)
    return found


SHARES = shares()


@pytest.fixture(scope="module")
def served(serving: Any) -> Iterator[Mocks]:
    with mocks(serving) as made:
        yield made


def test_every_rule_is_broken_by_something() -> None:
    alive = [rule for rule, known in PROOFS.items() if not known]
    assert alive == [], f"nothing breaks these rules: add a defect to the mock, and {ANEW}"


def test_the_table_is_of_these_defects_and_rules() -> None:
    assert list(TABLE) == list(choices()), ANEW
    assert {rule for row in TABLE.values() for rule in row} == {rule.id for rule in all_rules()}


@pytest.mark.parametrize("choice", SHARES, ids=lambda choice: "-".join(choice))
def test_a_rule_sees_its_fault(choice: Choice, served: Mocks) -> None:
    """At the request that showed it. Where a request is no longer sent: `make prove`."""
    wanted = {rule: TABLE[choice][rule] for rule in SHARES[choice]}
    broken = broken_by(served, choice, dict.fromkeys(at for _, at in wanted.values()))
    for rule, (state, where) in wanted.items():
        assert state == own_state(rule)
        assert broken.get(where, {}).get(rule) == state, f"{rule} at {where}"


@pytest.mark.parametrize("name", ["proof.md", "rules.md"])
def test_the_pages_are_current(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == pages()[name], ANEW
