"""What a campaign leaves out, and how it tells."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class LeftOut:
    """Something that no request is planned for. `location` points into the contract, `kind` is
    what the request would have been, `why` a sentence."""

    location: str
    kind: str
    why: str


Tell = Callable[[LeftOut], None]


def silent(left_out: LeftOut) -> None:
    """Tell nobody."""


# What a refusal of a request that breaks a schema, or is no JSON, may be: 400 by RFC 9110
# (15.5.1), 422 by 15.5.21 and the documents.
REFUSED = (400, 422)
