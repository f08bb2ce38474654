"""What a call leaves behind for the next one of its scope, where calls are made to mix."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from .exchange import Answer

if TYPE_CHECKING:
    from .wire import Chosen

# So many scopes are remembered; the oldest go first.
MOST_SCOPES = 1000


class Between:
    """The answer before, and whether a client has hung up, each by scope.

    An answer is remembered only where a defect is chosen that may want it, so that nothing is kept
    of other calls.
    """

    def __init__(self) -> None:
        self._answers: dict[str, Answer] = {}
        self._left: dict[str, bool] = {}

    def forget(self, scope: str | None = None) -> None:
        """Forget what the calls of a scope left behind; None: those of all."""
        for kept in (self._answers, self._left):
            for name in list(kept) if scope is None else [scope]:
                kept.pop(name, None)

    def left(self, scope: str) -> None:
        """Note that a client hung up in a stream."""
        _put(self._left, scope, True)

    def dealt(
        self, answer: Answer, scope: str, defects: Sequence["Chosen"], *, remembered: bool
    ) -> Answer:
        """Return the answer that a call gets instead of its own, if defects will have it so.

        Only entries of the stage `service` count. `remembered`: the call after this one may get
        this one's answer. What a call costs, and which rule it is answered by, stays its own.
        """
        between = [choice for choice in defects if choice.entry.stage == "service"]
        # Others, a list of models say, are asked for between completions: they mix with none.
        is_completion = answer.status < 400 and (answer.cost or answer.rule) is not None
        previous = self._answers.get(scope) if is_completion else None
        dealt = answer
        for choice in between:
            left = choice.name == "hang_up_spoils" and self._left.pop(scope, False)
            dealt = choice.entry.effect(dealt, previous, left)
        if is_completion and (between or remembered):
            _put(self._answers, scope, answer)
        if dealt is answer:
            return answer
        return replace(
            dealt,
            cost=answer.cost,
            acting=answer.acting,
            rule=answer.rule,
            nearest=answer.nearest,
        )


def _put(kept: dict[str, Any], scope: str, value: Any) -> None:
    """Keep a value as the youngest."""
    kept.pop(scope, None)
    kept[scope] = value
    if len(kept) > MOST_SCOPES:
        del kept[next(iter(kept))]
