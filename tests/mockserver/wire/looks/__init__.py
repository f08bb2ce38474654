"""What every entry of the three catalogues looks like in the bytes of a socket."""

from .before import BEFORE
from .case import Case, Look, looks
from .defects import DEFECTS
from .deliveries import DELIVERIES
from .failures import ERRORS, FAILURES
from .heads import HEADS
from .ignored import IGNORED
from .numbers import NUMBERS
from .pieces import PIECES

CASES: list[Case] = [
    *ERRORS, *FAILURES, *DELIVERIES, *DEFECTS, *BEFORE, *PIECES, *NUMBERS, *IGNORED, *HEADS,
]  # fmt: skip

__all__ = ["CASES", "Case", "Look", "looks"]
