"""Saying no: any stage of the pipeline may end it with an error of the catalogue."""

from collections.abc import Sequence
from typing import Any

from wafermock.spec.errors import ErrorEntry
from wafermock.spec.faults import Fault


class Refusal(Exception):
    """The request is answered with an error.

    `error` is an entry of the error catalogue, by name or itself; `values` fill its message's
    placeholders, `faults` are the schema faults it lists, `headers` go with the answer.
    """

    def __init__(
        self,
        error: str | ErrorEntry,
        /,
        *,
        faults: Sequence[Fault] = (),
        headers: dict[str, str] | None = None,
        **values: Any,
    ) -> None:
        super().__init__(error)
        self.error = error
        self.faults = faults
        self.headers = headers or {}
        self.values = values
