"""Rules between parameters: which of them a request breaks, and how the API says so."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct

from .checks import CHECKS
from .document import Document
from .errors import Body, ErrorCatalogue, ErrorEntry
from .pointer import Pointer
from .predicates import PREDICATES, Subject, holds, needs


class Requirement(Struct, frozen=True, dict=True):
    """One rule. It is broken when all its predicates hold.

    `operations` are operation ids; `patches` are the version patches it holds for (None: all).
    When a `final` one is broken, those after it are not looked at. `source` says where the rule
    is known from.
    """

    id: str
    operations: frozenset[str]
    patches: frozenset[int] | None
    predicates: tuple[Mapping[str, Any], ...]
    error: ErrorEntry
    source: str
    final: bool = False

    def applies(self, operation_id: str, patch: int) -> bool:
        """Say whether the rule holds for an operation and a version patch."""
        return operation_id in self.operations and (self.patches is None or patch in self.patches)

    @cached_property
    def needs(self) -> frozenset[str]:
        """The properties without which the rule cannot be broken. Most requests lack them, and
        need not be looked at any closer."""
        return frozenset(name for predicate in self.predicates for name in needs(predicate))


class Unmet(Struct, frozen=True):
    """A requirement that a request breaks, with what was found: values for the message."""

    requirement: Requirement
    values: Mapping[str, Any]

    @property
    def error(self) -> ErrorEntry:
        """The error to answer with."""
        return self.requirement.error

    def answer(self) -> Body:
        """Make the error's body."""
        return self.error.answer((), **self.values)

    @property
    def line(self) -> str:
        """What is wrong, in one line."""
        return f"{self.error.param or 'body'}: {self.error.sentence(self.values)}"


class RequirementCatalogue:
    """The requirements of `requirements.yaml`, in the file's order."""

    def __init__(self, document: Document, errors: ErrorCatalogue) -> None:
        self._document = document
        self._errors = errors

    @property
    def default_patch(self) -> int:
        """The version patch that holds when a request names none."""
        return int(self._document.root["default_patch"])

    @cached_property
    def requirements(self) -> tuple[Requirement, ...]:
        """All requirements. Raises DocumentError for an entry that cannot be read."""
        return tuple(map(self._read, range(len(self._document.root["requirements"]))))

    def unmet(
        self,
        body: Any,
        operation_id: str,
        model: Mapping[str, Any] | None = None,
        patch: int | None = None,
    ) -> list[Unmet]:
        """List the requirements that a body breaks, in the file's order.

        `body` is JSON data, valid or not. `model` is the entry of `models.yaml` for the body's
        model; for None, what depends on the model is not asked. `patch` is the request's
        X-Cerebras-Version-Patch.
        """
        patch = self.default_patch if patch is None else patch
        subject = Subject(body, model)
        present = frozenset(body) if isinstance(body, dict) else frozenset()
        name = body.get("model") if isinstance(body, dict) else None
        unmet = []
        for requirement in self.requirements:
            if not (requirement.needs <= present and requirement.applies(operation_id, patch)):
                continue
            found = _found(requirement, subject)
            if found is not None:
                unmet.append(Unmet(requirement, {"model": name, **found}))
                if requirement.final:
                    break
        return unmet

    def _read(self, index: int) -> Requirement:
        at: Pointer = ("requirements", index)
        entry = self._document.root["requirements"][index]
        for key in ("given", "when"):
            for number, predicate in enumerate(entry.get(key, ())):
                self._check_predicate(predicate, (*at, key, number))
        patches = entry.get("patches")
        return Requirement(
            id=entry["id"],
            operations=frozenset(entry["operations"]),
            patches=None if patches is None else frozenset(patches),
            predicates=(*entry.get("given", ()), *entry["when"]),
            error=self._error(entry, (*at, "error")),
            source=entry["source"],
            final=entry.get("final", False),
        )

    def _check_predicate(self, predicate: Mapping[str, Any], at: Pointer) -> None:
        if "check" in predicate:
            if predicate["check"] not in CHECKS:
                raise self._document.error(f"there is no check {predicate['check']}", at)
        elif len(predicate) != 1 or next(iter(predicate)) not in PREDICATES:
            known = ", ".join(PREDICATES)
            raise self._document.error(f"a predicate is one of {known}, or a check", at)

    def _error(self, entry: Mapping[str, Any], at: Pointer) -> ErrorEntry:
        error = entry["error"]
        if "name" in error:
            if error["name"] not in self._errors:
                raise self._document.error(f"errors.yaml has no entry {error['name']}", at)
            return self._errors[error["name"]]
        known = {**self._document.root["defaults"], "source": entry["source"], **error}
        try:
            return ErrorEntry(name=entry["id"], **known)
        except TypeError as fault:
            raise self._document.error(f"not an error: {fault}", at) from None


def _found(requirement: Requirement, subject: Subject) -> Mapping[str, object] | None:
    """Return what all the predicates found, None when one of them does not hold."""
    values: dict[str, object] = {}
    for predicate in requirement.predicates:
        found = holds(predicate, subject)
        if found is None:
            return None
        values.update(found)
    return values
