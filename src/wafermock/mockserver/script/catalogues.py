"""The names that a script may use: operations, errors, failures, deliveries, defects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wafermock.spec import Contract

from .conditions import Globs
from .names import unknown

if TYPE_CHECKING:
    from ..wire.catalogue import Catalogue, Chosen

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


class Catalogues:
    """What the contract and the wire know by name."""

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        self._known: dict[str, Catalogue] = {}

    def check_operations(self, wanted: str | list[str]) -> None:
        """Raise ValueError for an operation that the contract does not have."""
        known = [n for o in self._contract.operations for n in (o.id, o.path)]
        for name in Globs.read(wanted).names:
            if not any(map(Globs((name,)).fits, known)):
                raise ValueError(unknown("operation", name, known))

    def check_error(self, name: str, values: Mapping[str, Any]) -> None:
        """Raise ValueError for an unknown error, or one that has no such placeholder."""
        errors = self._contract.errors
        if name not in errors:
            raise ValueError(unknown("error", name, [entry.name for entry in errors]))
        placeholders = _PLACEHOLDER.findall(errors[name].message)
        for value in values:
            if value not in placeholders:
                raise ValueError(f"{name}: {unknown('placeholder', value, placeholders)}")

    def choose(self, kind: str, given: Any) -> tuple[Chosen, ...]:
        """Choose a `failure`, a `delivery` or a `defect`: by name (`stall:after=3`), or as a
        mapping of its name and what it takes. Raises ValueError for what there is not."""
        if kind not in self._known:
            self._known[kind] = self._of(kind)
        catalogue = self._known[kind]
        if isinstance(given, str):
            return catalogue.parse_all(given)
        if isinstance(given, list):
            return tuple(chosen for item in given for chosen in self.choose(kind, item))
        return (catalogue.choose(given["name"], **{k: given[k] for k in given if k != "name"}),)

    def _of(self, kind: str) -> Catalogue:
        # Imported where a script chooses of them: most scripts do not.
        if kind == "failure":
            from ..wire.failures import failure_catalogue

            return failure_catalogue(self._contract.errors)
        if kind == "delivery":
            from ..wire.deliveries import DELIVERIES

            return DELIVERIES
        from ..wire.defects import DEFECTS

        return DEFECTS
