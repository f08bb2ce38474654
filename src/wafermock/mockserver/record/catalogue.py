"""The catalogue of secrets, `secrets.yaml`: names that hold them, and forms that they have."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path

from msgspec import Struct

from wafermock.spec.document import read_document

# What stands in the place of a secret that has no form to keep.
REDACTED = "redacted"


class Pattern(Struct, frozen=True):
    """A form that secrets have, and what stands in the place of one.

    The group `secret` of the expression is the part that must go; without it all of it is.
    `is_credential`: it opens doors. In a text that has none of `signs` it does not stand.
    """

    expression: re.Pattern[str]
    replacement: str = REDACTED
    is_credential: bool = False
    signs: tuple[str, ...] = ()

    def may_stand_in(self, lowered: str) -> bool:
        """Say whether a text, in lower case, is worth to be searched: to look for a few words is
        ten times as fast as to match. A pattern without `signs` may stand in any."""
        return not self.signs or any(sign in lowered for sign in self.signs)

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where secrets of this form begin and end in a text."""
        group = "secret" if "secret" in self.expression.groupindex else 0
        for match in self.expression.finditer(text):
            start, end = match.span(group)
            if end > start:
                yield start, end


class Names(Struct, frozen=True):
    """Which names hold secrets in headers, parameters and members."""

    headers: frozenset[str]
    parameters: frozenset[str]
    members: frozenset[str]

    def is_header(self, name: str) -> bool:
        return _ends_in(name, self.headers)

    def is_parameter(self, name: str) -> bool:
        return _ends_in(name, self.parameters)

    def is_member(self, name: str) -> bool:
        return _ends_in(name, self.members)


class Catalogue(Struct, frozen=True):
    """The catalogue. `credentials` open doors; `names` and `patterns` are of all secrets."""

    credentials: Names
    names: Names
    patterns: tuple[Pattern, ...]

    def is_secret_header(self, name: str) -> bool:
        return self.names.is_header(name)

    def is_secret_parameter(self, name: str) -> bool:
        return self.names.is_parameter(name)

    def is_secret_member(self, name: str) -> bool:
        return self.names.is_member(name)


@cache
def catalogue() -> Catalogue:
    """Read `secrets.yaml`, once."""
    root = read_document(Path(__file__).with_name("secrets.yaml")).root
    kinds = root["names"]
    return Catalogue(
        credentials=_names(kinds["credentials"]),
        names=_names(*kinds.values()),
        patterns=tuple(
            Pattern(
                re.compile(entry["expression"]),
                entry["replacement"],
                entry["kind"] == "credentials",
                tuple(entry["signs"]),
            )
            for entry in root["patterns"].values()
        ),
    )


def _names(*kinds: dict[str, list[str]]) -> Names:
    def gathered(*places: str) -> frozenset[str]:
        return frozenset(name for kind in kinds for place in places for name in kind[place])

    everywhere = gathered("everywhere")
    return Names(everywhere | gathered("headers"), everywhere | gathered("parameters"), everywhere)


_HUMP = re.compile("(?<=[a-z0-9])(?=[A-Z])")
_LONGEST = 3  # no name of the catalogue has more words


@lru_cache(4096)  # clients choose names
def _ends_in(name: str, known: frozenset[str]) -> bool:
    words = [word for word in re.split("[^A-Za-z0-9]+", _HUMP.sub("_", name)) if word]
    tails = ("_".join(words[-count:]).lower() for count in range(1, _LONGEST + 1))
    return any(tail in known for tail in tails)
