"""Whether a document has the shape of OpenAPI 3.x, as far as it must to be read."""

from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

from .document import read_document
from .pointer import Pointer

_KINDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "a text",
    "boolean": "true or false",
    "integer": "a whole number",
}
_HINTS = {
    ("openapi",): "not an OpenAPI 3 document: a key like `openapi: 3.1.0` is wanted at the root",
    ("paths",): "a path begins with `/`",
    ("responses",): "a response stands under a status (`200`, `4XX`) or `default`",
}


def misshapen(root: dict[str, Any]) -> tuple[Pointer, str] | None:
    """Return the first place where a document has not the shape it must have, and a sentence."""
    if _validator().is_valid(root):
        return None
    error = min(_validator().iter_errors(root), key=lambda e: [str(t) for t in e.instance_path])
    pointer = tuple(error.instance_path)
    if not isinstance(root.get("openapi"), str) or pointer == ("openapi",):
        return (), _HINTS[("openapi",)]
    if error.kind.name == "propertyNames":
        return pointer, _HINTS[(str(pointer[-1]),)]
    return pointer, _sentence(error)


def _sentence(error: jsonschema_rs.ValidationError) -> str:
    kind: Any = error.kind
    if kind.name == "type":
        types = kind.as_dict()["types"]
        names = types if isinstance(types, list) else [types]
        return f"{' or '.join(_KINDS[name] for name in names)} is wanted here"
    if kind.name == "required":
        return f"`{kind.property}` is missing"
    if kind.name == "enum":
        return f"one of {', '.join(map(str, kind.options))} is wanted here"
    return str(error.message)


@cache
def _validator() -> jsonschema_rs.Draft202012Validator:
    shape = read_document(Path(__file__).with_name("shape.yaml"))
    return jsonschema_rs.Draft202012Validator(shape.root)
