"""What acts on an answer beside its words: a delivery, a failure, defects, from wherever chosen.

A header of the request counts before a rule of the script, and that before the server's options.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from wafermock.spec.errors import ErrorCatalogue

from .refusal import Refusal
from .service import ACTING_HEADERS
from .wire import (
    DEFECTS,
    DELIVERIES,
    Catalogue,
    CatalogueError,
    Chosen,
    failure_catalogue,
    happening,
)


@dataclass(frozen=True)
class Acting:
    """What happens to one answer."""

    delivery: Chosen | None = None
    failure: Chosen | None = None
    defects: tuple[Chosen, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.delivery or self.failure or self.defects)

    def before(self, other: "Acting") -> "Acting":
        """Return what happens where this is chosen, and else the other."""
        return Acting(
            self.delivery or other.delivery,
            self.failure or other.failure,
            self.defects or other.defects,
        )


@dataclass(frozen=True)
class Choices:
    """What may happen to every answer, by its rate."""

    deliveries: tuple[Chosen, ...] = ()
    failures: tuple[Chosen, ...] = ()
    defects: tuple[Chosen, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.deliveries or self.failures or self.defects)

    def acting(self, identity: bytes, position: int) -> Acting:
        """Return what happens to a call; of several deliveries or failures the first.

        `position` counts calls, so that a rate comes out differently for the same call again.
        """
        deliveries = happening(self.deliveries, identity, position)
        failures = happening(self.failures, identity, position)
        return Acting(
            next(iter(deliveries), None),
            next(iter(failures), None),
            happening(self.defects, identity, position),
        )


def read_choices(errors: ErrorCatalogue, delivery: str, failure: str, defect: str) -> Choices:
    """Read texts like `stall:after=3,seconds=30; rate=…`. Raises CatalogueError (a ValueError)."""
    return Choices(
        _all(DELIVERIES, delivery), _all(failure_catalogue(errors), failure), _all(DEFECTS, defect)
    )


def _all(catalogue: Catalogue, text: str) -> tuple[Chosen, ...]:
    return catalogue.parse_all(text) if text else ()


def of_headers(headers: Mapping[str, str], errors: ErrorCatalogue) -> Choices:
    """Read what a request chose for its answer. Raises Refusal for what is in no catalogue."""
    texts = [headers.get(name, "") for name in ACTING_HEADERS]
    try:
        return read_choices(errors, *texts)
    except CatalogueError as error:
        raise Refusal("unknown_choice", reason=str(error)) from None
