"""Keywords of OpenAPI 3.0 in a document that says it is of a later version."""

from collections.abc import Iterator
from typing import Any

from ..pointer import Pointer
from ..structure import walk_schemas
from .subject import Place, Rule, Subject, rule

RULES: dict[str, Rule] = {}

NORMALISED = "normalised when read"


def _schemas(subject: Subject) -> list[tuple[Pointer, dict[str, Any]]]:
    """List the schemas of a document that is not of version 3.0, where these words have gone."""
    found: list[tuple[Pointer, dict[str, Any]]] = []
    if subject.version >= (3, 1):
        walk_schemas(subject.root, lambda schema, at: found.append((at, schema)))
    return found


@rule(RULES, "nullable", remedy=NORMALISED)
def nullable(subject: Subject) -> Iterator[Place]:
    """`nullable` is a word of OpenAPI 3.0; validators of 3.1 ignore it and then reject null."""
    for at, schema in _schemas(subject):
        if "nullable" in schema:
            sentence = "`nullable` means nothing since OpenAPI 3.1: a validator will refuse null"
            yield (*at, "nullable"), sentence


@rule(RULES, "exclusive-bound", remedy=NORMALISED)
def exclusive_bound(subject: Subject) -> Iterator[Place]:
    """`exclusiveMinimum` and `exclusiveMaximum` are numbers since OpenAPI 3.1."""
    for at, schema in _schemas(subject):
        for keyword in ("exclusiveMinimum", "exclusiveMaximum"):
            if isinstance(schema.get(keyword), bool):
                yield (*at, keyword), f"`{keyword}` is a number since OpenAPI 3.1, not a boolean"


@rule(RULES, "schema-example")
def schema_example(subject: Subject) -> Iterator[Place]:
    """`example` in a schema is deprecated since OpenAPI 3.1: `examples`, a list, replaces it."""
    for at, schema in _schemas(subject):
        if "example" in schema:
            yield (*at, "example"), "`example` in a schema is `examples: [...]` since OpenAPI 3.1"
