"""The model catalogue: which models there are and what each can do."""

from collections.abc import Iterator
from typing import Any

from .document import Document


class ModelCatalogue:
    """The models of `models.yaml`, by id, in the file's order."""

    def __init__(self, document: Document) -> None:
        self._entries: dict[str, dict[str, Any]] = document.root["models"]
        self._unknown: dict[str, Any] = document.root["unknown"]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __getitem__(self, name: str) -> dict[str, Any]:
        """Return what a model can do; a model that is not listed can do what any can."""
        return self._entries.get(name, self._unknown)

    def get(self, name: object) -> dict[str, Any] | None:
        """Return what a model of the catalogue can do, None for any other."""
        return self._entries.get(str(name))

    def listed(self) -> list[dict[str, Any]]:
        """List the models as `GET /v1/models` shows them."""
        return [self.shown(name) for name, entry in self._entries.items() if entry["listed"]]

    def shown(self, name: str) -> dict[str, Any]:
        """Return a model as `GET /v1/models/{model_id}` shows it."""
        entry = self[name]
        owner, created = entry["owned_by"], entry["created"]
        return {"id": name, "object": "model", "created": created, "owned_by": owner}
