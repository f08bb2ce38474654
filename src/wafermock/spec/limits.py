"""The limits of an account: the quotas there are, and the queue time a request puts up with."""

from functools import cache, cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct

from .document import Document, read_document


class Quota(Struct, frozen=True):
    """One quota: what it counts, in how many seconds, and the error it answers with.

    The headers that tell its limit, what remains of it, and when it is full again are named in
    lower case; `reset_header` is None where nothing tells that.
    """

    name: str
    counted: str
    period: str
    seconds: int
    error: str
    limit_header: str
    remaining_header: str
    reset_header: str | None

    def amount(self, tokens: int) -> int:
        """How much a request takes that reserves so many tokens."""
        return tokens if self.counted == "tokens" else 1


class QueueThreshold(Struct, frozen=True):
    """How a request says that it will not be queued for longer: in a header, in milliseconds from
    `least` to `most`, which counts for some service tiers only."""

    header: str
    tiers: frozenset[str]
    least: int
    most: int


class LimitCatalogue:
    """What `limits.yaml` says, read when it is asked for. Raises DocumentError then for an entry
    that cannot be read."""

    def __init__(self, document: Document) -> None:
        self._document = document

    @cached_property
    def quotas(self) -> tuple[Quota, ...]:
        """All quotas, in the order in which they are looked at."""
        return tuple(map(self._quota, range(len(self._document.root["quotas"]))))

    @property
    def unlimited(self) -> int:
        """What is shown as the limit of a quota that has none."""
        return int(self._document.root["unlimited"])

    @cached_property
    def queue(self) -> QueueThreshold:
        """How requests limit the time they are queued."""
        known = self._document.root["queue"]
        try:
            return QueueThreshold(**{**known, "tiers": frozenset(known["tiers"])})
        except (KeyError, TypeError) as error:
            raise self._document.error(f"not a threshold: {_wrong(error)}", ("queue",)) from None

    def _quota(self, index: int) -> Quota:
        known: dict[str, Any] = dict(self._document.root["quotas"][index])
        try:
            headers = {
                f"{kind}_header": template.format(**known)
                for kind, template in self._document.root["headers"].items()
            }
            if not known.pop("reset", False):
                headers["reset_header"] = None
            return Quota(**known, **headers)
        except (KeyError, TypeError) as error:
            message = f"not a quota: {_wrong(error)}"
            raise self._document.error(message, ("quotas", index)) from None


def _wrong(error: KeyError | TypeError) -> str:
    """Say what is wrong with an entry that something is not made of."""
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error)


@cache
def built_in() -> LimitCatalogue:
    """Return the built-in catalogue, for those who have no contract at hand."""
    return LimitCatalogue(read_document(Path(__file__).with_name("limits.yaml")))
