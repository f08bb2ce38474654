"""Older dialects of schemas, written the 2020-12 way, once and for everyone.

The documents say `nullable: true` (OpenAPI 3.0) in a 3.1 document, where it means nothing.
Validators, generators and the mock all read the document after this, so they agree.
"""

from typing import Any

from .alternatives import NULL
from .pointer import Pointer, parse_pointer, resolve
from .structure import walk_schemas


def normalise(root: dict[str, Any]) -> None:
    """Make the schemas of an OpenAPI document say everything in 2020-12 terms, in place.

    `nullable: true` becomes a null that validators see: in `type`, in a sibling `enum`, as a
    branch of a sibling `oneOf` or `anyOf`. Boolean `exclusiveMinimum`/`exclusiveMaximum`
    (OpenAPI 3.0) become numbers.
    """
    nullable: list[dict[str, Any]] = []

    def visit(schema: dict[str, Any], at: Pointer) -> None:
        _number_exclusive_bounds(schema)
        if schema.get("nullable") is True:
            nullable.append(schema)

    walk_schemas(root, visit)
    for schema in reversed(nullable):  # the inner ones first: they decide what an outer one needs
        _admit_null(schema, root)
    walk_schemas(root, lambda schema, at: _drop_nullable(schema))


def _number_exclusive_bounds(schema: dict[str, Any]) -> None:
    for exclusive, inclusive in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        flag = schema.get(exclusive)
        if isinstance(flag, bool):
            del schema[exclusive]
            if flag and inclusive in schema:
                schema[exclusive] = schema.pop(inclusive)


def _drop_nullable(schema: dict[str, Any]) -> None:
    if isinstance(schema.get("nullable"), bool):
        del schema["nullable"]


def _admit_null(schema: dict[str, Any], root: dict[str, Any]) -> None:
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        schema["type"] = types if "null" in types else [*types, "null"]
    if "const" in schema and schema["const"] is not None:
        constant = schema.pop("const")
        if "enum" not in schema or constant in schema["enum"]:
            schema["enum"] = [constant]
        else:
            schema["enum"] = []  # const and enum that exclude each other: only null is left
    if "enum" in schema and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    if "anyOf" in schema and NULL not in schema["anyOf"]:
        schema["anyOf"] = [*schema["anyOf"], dict(NULL)]
    if "oneOf" in schema and not any(_admits_null(root, b) for b in schema["oneOf"]):
        schema["oneOf"] = [*schema["oneOf"], dict(NULL)]
    _wrap(schema, root)


def _wrap(schema: dict[str, Any], root: dict[str, Any]) -> None:
    """Put the keywords that have no place for a null of their own beside one, in an `anyOf`."""
    keywords: list[str] = [k for k in ("$ref", "allOf", "not", "if") if k in schema]
    if sum(_admits_null(root, branch) for branch in schema.get("oneOf", ())) > 1:
        keywords.append("oneOf")  # null fits two branches, and that is one too many
        keywords.extend(k for k in ("discriminator",) if k in schema)
    if not keywords:
        return
    keywords.extend(k for k in ("then", "else") if "if" in keywords and k in schema)
    wrapped = {"anyOf": [{k: schema.pop(k) for k in keywords}, dict(NULL)]}
    if "anyOf" in schema:
        schema["allOf"] = [wrapped]
    else:
        schema.update(wrapped)


def _admits_null(root: dict[str, Any], schema: Any, depth: int = 0) -> bool:
    """Say whether null obeys a schema; what leads in a circle does not."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return schema is True
    if schema.get("nullable") is True:
        return True

    def admits(branch: Any) -> bool:
        return _admits_null(root, branch, depth + 1)

    types = schema.get("type", "null")
    return (
        "null" in (types if isinstance(types, list) else [types])
        and ("enum" not in schema or None in schema["enum"])
        and ("const" not in schema or schema["const"] is None)
        and ("$ref" not in schema or admits(_target(root, schema)))
        and ("anyOf" not in schema or any(map(admits, schema["anyOf"])))
        and ("oneOf" not in schema or sum(map(admits, schema["oneOf"])) == 1)
        and all(map(admits, schema.get("allOf", ())))
        and ("not" not in schema or not admits(schema["not"]))
        and ("if" not in schema or admits(schema.get(_then(admits(schema["if"])), True)))
    )


_DEEPEST = 16


def _then(fulfilled: bool) -> str:
    return "then" if fulfilled else "else"


def _target(root: dict[str, Any], schema: dict[str, Any]) -> Any:
    try:
        return resolve(root, parse_pointer(schema["$ref"]))
    except (LookupError, ValueError):
        return False
