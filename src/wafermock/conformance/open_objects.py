"""A contract with its open objects closed: what breaks only that is a key nobody declared."""

from typing import Any
from weakref import WeakKeyDictionary

from wafermock.spec import Schema
from wafermock.spec.pointer import Pointer, copy_json, parse_pointer
from wafermock.spec.schema import SchemaSpace
from wafermock.spec.structure import NAMING_MORE, walk_schemas

_closed: "WeakKeyDictionary[SchemaSpace, SchemaSpace]" = WeakKeyDictionary()

# An object with one of these is not closed: others may name properties, or it says so itself.
_KEPT = ("$ref", *NAMING_MORE, "additionalProperties", "unevaluatedProperties")


def closed(schema: Schema) -> Schema:
    """Return a schema as it were if every object that names properties allowed no others.

    It is made once for each contract.
    """
    if schema.space not in _closed:
        _closed[schema.space] = SchemaSpace(_with_closed_objects(schema.space.root))
    return _closed[schema.space].at(schema.pointer)


def _with_closed_objects(root: dict[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = copy_json(root)
    parts = _parts(document)

    def close(schema: dict[str, Any], at: Pointer) -> None:
        whole = at not in parts and not any(keyword in at for keyword in ("allOf", "if", "not"))
        names = isinstance(schema.get("properties"), dict)
        if names and whole and not any(keyword in schema for keyword in _KEPT):
            schema["additionalProperties"] = False

    walk_schemas(document, close)
    return document


def _parts(document: dict[str, Any]) -> set[Pointer]:
    """Find the schemas that others are made of, by `allOf` or beside their own keywords."""
    parts: set[Pointer] = set()

    def visit(schema: dict[str, Any], at: Pointer) -> None:
        members = schema.get("allOf")
        for member in members if isinstance(members, list) else ():
            _add(document, parts, member)
        if len(schema) > 1 and "properties" in schema:
            _add(document, parts, schema)

    walk_schemas(document, visit)
    return parts


def _add(document: dict[str, Any], parts: set[Pointer], node: Any) -> None:
    reference = node.get("$ref") if isinstance(node, dict) else None
    if isinstance(reference, str) and reference.startswith("#/"):
        parts.add(parse_pointer(reference))
