"""A schema made fit for the validator: a known `$schema`, references that are URIs."""

from __future__ import annotations

import math
import re
from urllib.parse import quote

from .dialects import DATA, DIALECTS, JSON, MANY, NAMED, ONE, escape
from .errors import InvalidSchema, TooLarge

_URI_SAFE = "!#$%&'()*+,/:;=?@~-._"
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


def normalised(schema: JSON, depth_bound: int) -> JSON:
    """A copy of a schema that the validator takes: known `$schema`, references that are URIs.

    Schemas in the wild write `#/definitions/Map<string>` and `https` in draft-07's name; both are
    understood by most validators and refused by strict ones. Raises `InvalidSchema` for what is
    not JSON and `TooLarge` for text nested beyond `depth_bound` levels.
    """
    if not isinstance(schema, dict | bool):
        raise InvalidSchema("", "a schema is an object or a boolean")
    return _copy(schema, "schema", "", depth_bound, depth_bound)


def _copy(value: JSON, kind: str, pointer: str, depth: int, bound: int) -> JSON:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return _text(value, pointer)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidSchema(pointer, f"{value} is not a JSON number")
        return value
    if depth <= 0:
        raise TooLarge(
            pointer, f"the schema is nested more than {bound} levels deep", "depth", bound
        )
    if isinstance(value, list | tuple):
        below = "schema" if kind == "list" else "data" if kind == "data" else "unknown"
        return [
            _copy(item, below, f"{pointer}/{index}", depth - 1, bound)
            for index, item in enumerate(value)
        ]
    if isinstance(value, dict):
        copied = {}
        for name, item in value.items():
            if not isinstance(name, str):
                raise InvalidSchema(pointer, f"the member name {name!r} is not a string")
            at = f"{pointer}/{escape(name)}"
            copied[_text(name, at)] = _copy(item, _kind(kind, name, item), at, depth - 1, bound)
        return _mended(copied) if kind in ("schema", "unknown") else copied
    raise InvalidSchema(pointer, f"a {type(value).__name__} is not JSON")


def _kind(kind: str, name: str, item: JSON) -> str:
    """What stands below a member: a schema, a list or map of them, data, or who knows."""
    if kind in ("data", "map"):
        return "data" if kind == "data" else "schema"
    if name in DATA:
        return "data"
    if name in NAMED:
        return "map"
    if name in MANY and isinstance(item, list):
        return "list"
    return "schema" if name in ONE else "unknown"


def _mended(schema: dict[str, JSON]) -> dict[str, JSON]:
    name = schema.get("$schema")
    if isinstance(name, str):
        known = DIALECTS.get(name.rstrip("#").partition("://")[2])
        if known:
            schema["$schema"] = known[1]
        else:
            del schema["$schema"]
    reference = schema.get("$ref")
    if isinstance(reference, str):
        address, hash_, fragment = _STRAY_PERCENT.sub("%25", reference).partition("#")
        schema["$ref"] = (
            quote(address, safe=_URI_SAFE)
            + hash_
            + quote(fragment, safe=_URI_SAFE.replace("#", ""))
        )
    return schema


def _text(value: str, pointer: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidSchema(pointer, "a lone surrogate is not Unicode text") from error
    return value
