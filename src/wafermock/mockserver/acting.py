"""What acts on an answer beside its words: a delivery, a failure, defects, from wherever chosen.

What is armed counts before a header of the request, that before a rule of the script, and that
before the server's options. What acts before the answer is made (an error, another request,
another mock) is chosen without the script: its rules are looked for later.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from wafermock.spec.errors import ErrorCatalogue

from .exchange import Request
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
    refusal_of,
    rewritten,
)

if TYPE_CHECKING:
    from .control.armed import Arming


class Acting(Struct, frozen=True):
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


NOTHING = Acting()


class Early(Struct, frozen=True):
    """What was settled by the head of a request, before its body was read.

    `defects` are those that happen; `arming` is what was used up for the call, if anything.
    """

    defects: tuple[Chosen, ...] = ()
    arming: "Arming | None" = None

    @property
    def says_continue(self) -> bool:
        """Whether a client that waits for leave to send its body is given it."""
        return not any(choice.entry.stage == "connection" for choice in self.defects)

    @property
    def max_body(self) -> int | None:
        """The bound on the body, in bytes; None: as the server has it."""
        bounds = [choice.entry.settings.get("max_body") for choice in self.defects]
        return max((bound for bound in bounds if bound is not None), default=None)


def is_early(choice: Chosen) -> bool:
    """Say whether a defect acts before the body of a request is read."""
    return choice.entry.stage == "connection" or "max_body" in choice.entry.settings


class Choices(Struct, frozen=True):
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


class CallChoices(Struct, frozen=True):
    """What is chosen for one call, before its answer is made.

    `first` counts before what a script says, `last` behind it. `refusal` is an error that is
    armed, `early` what was settled before the body was read. `position` counts calls.
    `remembered`: a defect is chosen, if not for this call then by its rate for another one, that
    wants to know the call's answer.
    """

    first: Acting = NOTHING
    last: Acting = NOTHING
    refusal: Refusal | None = None
    early: Early | None = None
    position: int = 0
    remembered: bool = False

    def acting(self, scripted: Acting | None = None) -> Acting:
        """Return what happens to the call, a rule of the script having said so much."""
        acting = self.first.before(scripted or NOTHING).before(self.last)
        settled = self.early.defects if self.early else ()
        defects = tuple(choice for choice in acting.defects if not self._is_settled(choice))
        return replace(acting, defects=(*defects, *settled))

    def _is_settled(self, choice: Chosen) -> bool:
        """Say whether it was decided on before, or is too late to happen."""
        return is_early(choice) if self.early else choice.entry.stage == "connection"

    def changed(self, request: Request) -> Request:
        """Return the request as it is understood. Raises Refusal: an error is chosen instead."""
        acting = self.acting()
        refusal = self.refusal or (acting.failure and refusal_of(acting.failure))
        if refusal:
            raise refusal
        return rewritten(request, acting.defects, self.position)


def armed_acting(arming: "Arming") -> Acting:
    """Return what is armed as it acts on an answer; an error of the catalogue acts on none."""
    return Acting(
        arming.chosen if arming.kind == "delivery" else None,
        arming.chosen if arming.kind == "failure" else None,
        (arming.chosen,) if arming.kind == "defect" else (),
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
