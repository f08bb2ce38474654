"""The error catalogue: what the API answers when it does not answer the request."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct

from .document import Document
from .faults import Fault

Body = dict[str, Any] | str


class ErrorEntry(Struct, frozen=True):
    """One error of the catalogue, as a profile has it.

    `shape` is `flat` (`message, type, param, code`), `fastapi` (`detail`) or `html`. `assumed`
    marks a body nobody has recorded yet. `retried` says whether the official SDKs try again.
    `example` holds values for the placeholders of the message, for showing the error.
    """

    name: str
    status: int
    shape: str
    message: str
    type: str = ""
    param: str = ""
    code: str = ""
    when: str = ""
    source: str = ""
    assumed: bool = False
    retried: bool = False
    headers: Mapping[str, str] = {}
    body: str = ""
    example: Mapping[str, object] = {}

    @property
    def media_type(self) -> str:
        """The media type of the answer."""
        return "text/html" if self.shape == "html" else "application/json"

    def answer(self, faults: Iterable[Fault] = (), **values: object) -> Body:
        """Make the body: `values` fill the message's placeholders, `faults` are schema faults.

        What has no value shows the entry's example.
        """
        listed = list(faults)
        if self.shape == "html":
            return self.body
        if self.shape == "fastapi":
            return {"detail": [f.detail for f in listed] or [self._detail(values)]}
        message = "\n".join(f.line for f in listed) or self.sentence(values)
        flat = {"message": message, "type": self.type, "param": self.param, "code": self.code}
        return {**flat, "id": ""}

    def sentence(self, values: Mapping[str, object]) -> str:
        """Fill the message's placeholders."""
        return self.message.format_map({**self.example, **values})

    def _detail(self, values: Mapping[str, object]) -> dict[str, Any]:
        detail = {
            "type": self.type,
            "loc": values.get("loc", ["body"]),
            "msg": self.sentence(values),
        }
        # FastAPI tells the parser's own sentence beside its general one.
        return {**detail, "ctx": {"error": values["reason"]}} if "reason" in values else detail


class ErrorCatalogue:
    """All errors, as one profile has them. `catalogue[name]` gives an entry."""

    def __init__(self, document: Document, profile: str) -> None:
        self._document = document
        self._profile = profile

    @cached_property
    def _entries(self) -> dict[str, ErrorEntry]:
        return {name: self._entry(name, self._profile) for name in self._document.root["errors"]}

    def _entry(self, name: str, profile: str) -> ErrorEntry:
        body = self._document.root["errors"][name]
        known = {**body, **body.get("profiles", {}).get(profile, {})}
        known.pop("profiles", None)
        try:
            return ErrorEntry(name=name, **known)
        except TypeError as error:
            raise self._document.error(f"not an error: {error}", ("errors", name)) from None

    def __getitem__(self, name: str) -> ErrorEntry:
        return self._entries[name]

    def __iter__(self) -> Iterator[ErrorEntry]:
        return iter(self._entries.values())

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def of_status(self, status: int) -> list[ErrorEntry]:
        """List the entries of one status, in the catalogue's order."""
        return [entry for entry in self if entry.status == status]

    def instead_of(self, status: int) -> tuple[int, ...]:
        """Return the statuses that stand in for one that an operation does not declare."""
        return tuple(self._document.root["instead"].get(str(status), ()))

    def forms(self, entry: ErrorEntry) -> list[ErrorEntry]:
        """List an error in every shape that is known of it: its own first, then as other profiles
        have it; a flat one that no profile has as `fastapi` can be told so as well."""
        found = {entry.shape: entry}
        if entry.name in self:
            for profile in ("", *self._document.root["errors"][entry.name].get("profiles", ())):
                other = self._entry(entry.name, profile)
                found.setdefault(other.shape, other)
        if "flat" in found:
            told = ErrorEntry(
                entry.name, entry.status, "fastapi", entry.message, entry.type,
                example=entry.example,
            )  # fmt: skip
            found.setdefault("fastapi", told)
        return [*found.values()]
