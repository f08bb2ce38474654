"""Schemas that a request itself brings: of tools' parameters and of structured outputs."""

import json
from functools import lru_cache
from typing import Any

import jsonschema_rs

from wafermock.spec.pointer import parse_pointer, resolve

# A run asks with the same schemas again and again; so many stay compiled.
_KEPT = 64

# Deeper than this the order of keys is not looked at; schemas that refer to themselves end here.
_DEEPEST = 32


def disobedience(schema: Any, value: Any) -> str:
    """Say how a value breaks a schema; empty where it obeys, and where nobody can tell.

    Formats are annotations (JSON Schema 2020-12, validation, section 7.2.1): they are not checked.
    """
    try:
        validator = _compiled(json.dumps(schema))
        if validator is None or validator.is_valid(value):
            return ""
        error = next(iter(validator.iter_errors(value)))
    except (ValueError, RecursionError, StopIteration):
        return ""
    pointer = "".join(f"/{token}" for token in error.instance_path)
    return f"{pointer or '/'}: {error.message[:200]}"


@lru_cache(maxsize=_KEPT)
def _compiled(text: str) -> Any:
    try:
        return jsonschema_rs.validator_for(
            json.loads(text), validate_formats=False, retriever=_refuse
        )
    except ValueError:  # no schema, or one with a pattern that nobody can compile
        return None


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is not asked for")


def disorder(schema: Any, value: Any) -> tuple[list[str], list[str]] | None:
    """Find an object whose keys are not in the order of its schema's `properties`.

    Returns the keys as they should come and as they came; None where all is in order. Keys that
    the schema does not name may stand anywhere.
    """
    return _disorder(schema, schema, value, 0)


def _disorder(root: Any, schema: Any, value: Any, depth: int) -> tuple[list[str], list[str]] | None:
    if depth > _DEEPEST or not isinstance(schema, dict):
        return None
    if isinstance(schema.get("$ref"), str):
        return _disorder(root, _target(root, schema["$ref"]), value, depth + 1)
    inner: list[tuple[Any, Any]] = []
    properties = schema.get("properties")
    if isinstance(value, dict) and isinstance(properties, dict):
        came = [key for key in value if key in properties]
        wanted = [key for key in properties if key in value]
        if came != wanted:
            return wanted, came
        inner = [(properties[key], value[key]) for key in came]
    elif isinstance(value, list):
        inner = [(schema.get("items"), item) for item in value]
    for part, item in inner:
        found = _disorder(root, part, item, depth + 1)
        if found is not None:
            return found
    return None


def _target(root: Any, reference: str) -> Any:
    try:
        return resolve(root, parse_pointer(reference)) if reference.startswith("#") else None
    except (LookupError, ValueError):
        return None
