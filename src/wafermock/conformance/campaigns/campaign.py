"""The campaigns by their names."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from wafermock.spec import Contract

from ..planned import Planned, Subject
from .boundaries import boundaries
from .examples import examples
from .generated import generated
from .invalid import invalid
from .mutations import mutations
from .telling import Tell, silent


class Campaign(Protocol):
    """Plans at most `count` requests (None: all; some campaigns have no end)."""

    def __call__(
        self,
        contract: Contract,
        subject: Subject,
        seed: int = 0,
        count: int | None = None,
        tell: Tell = silent,
    ) -> Iterator[Planned]: ...


CAMPAIGNS: Mapping[str, Campaign] = {
    "examples": examples,
    "boundaries": boundaries,
    "generated": generated,
    "invalid": invalid,
    "mutations": mutations,
}
