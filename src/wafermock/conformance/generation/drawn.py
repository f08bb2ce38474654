"""A source of choices that Hypothesis makes, records and shrinks."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .source import Source
from .values import Unmakeable

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")


class Drawn:
    """Choices drawn from Hypothesis. `draw` is what `st.composite` gives."""

    def __init__(self, draw: Callable[..., Any]) -> None:
        from hypothesis import strategies

        self._draw = draw
        self._st = strategies

    def integer(self, low: int, high: int) -> int:
        # As a distance from `low`: Hypothesis takes zero for the simplest of whole numbers.
        return low + int(self._draw(self._st.integers(0, high - low)))

    def number(self, low: float, high: float) -> float:
        return float(self._draw(self._st.floats(low, high, allow_subnormal=False)))

    def chance(self, share: float) -> bool:
        # Hypothesis leans towards the simple: what is rare by its share would hardly ever come.
        if not 0 < share < 1:
            return share >= 1
        last = max(2, min(4, round(1 / share))) - 1
        return bool(self._draw(self._st.integers(0, last)) == last)

    def pick(self, items: Sequence[T]) -> T:
        return items[self.integer(0, len(items) - 1)] if len(items) > 1 else items[0]

    def sentence(self) -> str:
        return self.text(1, 40)

    def text(self, low: int = 0, high: int = 12) -> str:
        letters = self._st.characters(codec="utf-8")
        return str(self._draw(self._st.text(letters, min_size=low, max_size=high)))


def drawn(make: Callable[[Source], T | None]) -> "SearchStrategy[T]":
    """Make a strategy of a generator; what that cannot make (None, Unmakeable) is not shown.

    Raises ImportError where Hypothesis is not installed.
    """
    try:
        from hypothesis import reject
        from hypothesis import strategies as st
    except ImportError:
        raise ImportError("this needs Hypothesis: pip install 'wafermock[conformance]'") from None

    @st.composite
    def made(draw: st.DrawFn) -> T:
        try:
            value = make(Drawn(draw))
        except Unmakeable:
            reject()
        if value is None:
            reject()
        return value

    return made()
