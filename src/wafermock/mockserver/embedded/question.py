"""What `assert_called` asks of calls: the criteria of `on`, and some of the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .asking import CRITERIA, read_criteria, unknown, written
from .expectation import Expectation, plain

if TYPE_CHECKING:
    from wafermock.spec import Contract

    from .calls import Call

# Criteria that `on` does not have: attributes of a call.
_OF_CALLS = ("status", "rule", "path")


class Question:
    """Criteria of calls, read from keywords. `match` is what they ask of a request."""

    def __init__(self, criteria: dict[str, Any], contract: Contract) -> None:
        """Raises TypeError and ValueError as `read_criteria` does."""
        __tracebackhide__ = True
        asked = {name: value for name, value in criteria.items() if name not in _OF_CALLS}
        for name in asked:
            if name not in CRITERIA:
                raise TypeError(unknown("criterion", name, [*CRITERIA, *_OF_CALLS]))
        try:
            self.match = read_criteria(asked, contract)
        except (TypeError, ValueError) as error:
            raise plain(error) from None
        self._criteria = criteria
        self._wanted = {name: criteria[name] for name in _OF_CALLS if name in criteria}
        if isinstance(rule := criteria.get("rule"), Expectation):
            self._wanted["rule"] = rule.name

    def __str__(self) -> str:
        return f" with {written(self._criteria)}" if self._criteria else ""

    @property
    def is_of_requests(self) -> bool:
        """Whether it may be about a request that is no call, because it names where that goes."""
        return "operation" in self._criteria or "path" in self._criteria

    def fits(self, call: Call) -> bool:
        """Say whether a call meets all criteria."""
        return self.match.fits(call.subject) and all(
            getattr(call, name) == value for name, value in self._wanted.items()
        )
