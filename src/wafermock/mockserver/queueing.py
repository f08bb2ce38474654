"""A simulated queue: how long requests wait at the moment, and who would rather not.

With some service tiers a request is rejected beforehand if the rolling average queue time exceeds
a threshold that it names in a header (`queue` in `limits.yaml`).
"""

from collections.abc import Mapping
from typing import Any

from wafermock.spec.limits import QueueThreshold, built_in

from .clock import SECOND, nanoseconds, parse_duration
from .refusal import Refusal


class Queue:
    """The queue of a server. `seconds` is its rolling average queue time, and may be set.

    None: nothing is simulated. Then a queue time is under a millisecond, below any threshold.
    `threshold` is how requests name theirs (default: as the built-in catalogue says).
    """

    def __init__(
        self, seconds: float | None = None, threshold: QueueThreshold | None = None
    ) -> None:
        self._time: int | None = None
        self._threshold = threshold
        self.seconds = seconds

    @property
    def threshold(self) -> QueueThreshold:
        """How requests name their threshold."""
        return self._threshold or built_in().queue

    @property
    def seconds(self) -> float | None:
        """The rolling average queue time, which is also every answer's `queue_time`."""
        return None if self._time is None else self._time / SECOND

    @seconds.setter
    def seconds(self, value: float | None) -> None:
        number = isinstance(value, int | float) and 0 <= value < float("inf")  # NaN is none
        if value is not None and not number:
            raise ValueError(f"a queue time is a number of seconds from 0, not {value!r}")
        self._time = None if value is None else nanoseconds(value)

    def admit(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> float | None:
        """Take a request in and return the queue time to report, in seconds.

        `headers` have lower-case names. Raises Refusal where the queue is longer than the request
        wants it. A threshold that the contract does not allow is ignored: to refuse it is the
        contract's business.
        """
        if self._time is not None:
            threshold = self.threshold
            tier = body.get("service_tier")
            asked = isinstance(tier, str) and tier in threshold.tiers
            limit = _read(headers.get(threshold.header), threshold) if asked else None
            if limit is not None and self._time > limit:
                raise Refusal("queue_exceeded")
        return self.seconds


def _read(header: str | None, threshold: QueueThreshold) -> int | None:
    """Read a header in milliseconds, return nanoseconds; None for what is no threshold."""
    text = (header or "").strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(threshold.most))):
        return None
    return int(text) * SECOND // 1000 if threshold.least <= int(text) <= threshold.most else None


def parse_queue_time(text: str) -> float:
    """Read the value of `--queue-time`, a duration; return seconds. Raises ValueError."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise ValueError(f"--queue-time: {error}") from None
