"""The catalogue of secrets, `secrets.yaml`: names that hold them, and forms that they have."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from wafermock.spec.document import read_document

# What stands in the place of a secret that has no form to keep.
REDACTED = "redacted"


@dataclass(frozen=True)
class Pattern:
    """A form that secrets have, and what stands in the place of one.

    The group `secret` of the expression is the part that must go; without it all of it is.
    """

    expression: re.Pattern[str]
    replacement: str = REDACTED

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where secrets of this form begin and end in a text."""
        group = "secret" if "secret" in self.expression.groupindex else 0
        for match in self.expression.finditer(text):
            start, end = match.span(group)
            if end > start:
                yield start, end


@dataclass(frozen=True)
class Catalogue:
    """Which names hold secrets in headers, parameters and members, and the forms of secrets."""

    headers: frozenset[str]
    parameters: frozenset[str]
    members: frozenset[str]
    patterns: tuple[Pattern, ...]

    def is_secret_header(self, name: str) -> bool:
        return _ends_in(name, self.headers)

    def is_secret_parameter(self, name: str) -> bool:
        return _ends_in(name, self.parameters)

    def is_secret_member(self, name: str) -> bool:
        return _ends_in(name, self.members)


@cache
def catalogue() -> Catalogue:
    """Read `secrets.yaml`, once."""
    root = read_document(Path(__file__).with_name("secrets.yaml")).root
    everywhere = frozenset(root["names"]["everywhere"])
    return Catalogue(
        headers=everywhere | frozenset(root["names"]["headers"]),
        parameters=everywhere | frozenset(root["names"]["parameters"]),
        members=everywhere,
        patterns=tuple(
            Pattern(re.compile(entry["expression"]), entry["replacement"])
            for entry in root["patterns"].values()
        ),
    )


_HUMP = re.compile("(?<=[a-z0-9])(?=[A-Z])")
_LONGEST = 3  # no name of the catalogue has more words


@cache
def _ends_in(name: str, known: frozenset[str]) -> bool:
    words = [word for word in re.split("[^A-Za-z0-9]+", _HUMP.sub("_", name)) if word]
    tails = ("_".join(words[-count:]).lower() for count in range(1, _LONGEST + 1))
    return any(tail in known for tail in tails)
