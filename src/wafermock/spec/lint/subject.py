"""A document under examination, and what a rule is that examines it."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from msgspec import Struct

from ..document import Document, DocumentError
from ..normalise import normalise
from ..pointer import Pointer, copy_json, resolve
from ..references import follow, inline_files, place_path_items, point, unread
from ..schema import Schema, SchemaSpace

Place = tuple[Pointer, str]
Check = Callable[["Subject"], Iterator[Place]]


class Subject(Struct, frozen=True, dict=True):
    """A document as given: other files brought in, path items in their places, not normalised.

    `unread` are references to other files that cannot be followed. `taken` names, for each
    operation id of the documents before this one, where it stands.
    """

    root: dict[str, Any]
    unread: tuple[Place, ...] = ()
    taken: dict[str, str] = {}

    @property
    def version(self) -> tuple[int, int]:
        """The version of OpenAPI that the document says it is written in, as (3, 1)."""
        major, minor, *_ = (str(self.root["openapi"]) + ".0").split(".")
        return int(major), int(minor) if minor.isdecimal() else 0

    def follow(self, node: Any) -> dict[str, Any]:
        """Return the object a node stands for; empty where a reference leads nowhere."""
        try:
            found = follow(self.root, node)
        except (LookupError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    @cached_property
    def schemas(self) -> SchemaSpace:
        """The document's schemas as a contract reads them: normalised."""
        root = copy_json(self.root)
        normalise(root)
        return SchemaSpace(root)

    @cached_property
    def invalid(self) -> list[Place]:
        """What is no schema, after normalising."""
        return self.schemas.faults()

    def schema(self, pointer: Pointer) -> Schema | None:
        """Return the normalised schema that stood at a pointer before; None if it was moved.

        A schema is moved when a null is put beside it, or when a discriminator chooses it.
        """
        node: Any = self.schemas.root
        found: Pointer = ()
        for token in pointer:
            if isinstance(node, dict) and token not in node and "anyOf" in node:
                found, node = (*found, "anyOf", 0), node["anyOf"][0]  # a null stands beside it now
            try:
                found, node = (*found, token), node[token]
                resolve(self.schemas.validation_form, found)
            except (LookupError, TypeError):
                return None
        return self.schemas.at(found)


def subject_of(document: Document, taken: dict[str, str]) -> Subject:
    """Prepare a document for the rules."""
    lost = tuple((error.pointer or (), error.message) for error in unread(document))
    try:
        root = inline_files(document)
    except DocumentError:
        root = copy_json(document.root)
    place_path_items(root)
    point(root)
    return Subject(root, lost, taken)


class Rule(Struct, frozen=True):
    """A rule: its id, how it is checked, and what happens to its findings when there is no overlay.

    The check yields, for each fault, the pointer and a sentence.
    """

    id: str
    check: Check
    remedy: str | None = None

    @property
    def description(self) -> str:
        return " ".join((self.check.__doc__ or "").split())


def rule(rules: dict[str, Rule], id: str, *, remedy: str | None = None) -> Callable[[Check], Check]:
    """Register a check under an id."""

    def register(check: Check) -> Check:
        rules[id] = Rule(id, check, remedy)
        return check

    return register
