"""The schema of scripts, and what is wrong with a file by it, in the words of scripts."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from wafermock.spec.document import Document, DocumentError, read_document
from wafermock.spec.pointer import copy_json
from wafermock.spec.violations import Violation, violations_in

from .names import unknown

_FILE = Path(__file__).with_name("script.schema.yaml")

_TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "nothing",
    "number": "a number",
    "object": "a mapping",
    "string": "a text",
}


@cache
def _schema() -> dict[str, Any]:
    return read_document(_FILE).root


def script_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of scripts, a copy that may be changed."""
    schema: dict[str, Any] = copy_json(_schema())
    return schema


@cache
def _validator() -> Any:
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(_schema())


def faults(document: Document) -> list[DocumentError]:
    """List what the schema says is wrong with a script, in the document's order."""
    found: dict[tuple[Any, ...], DocumentError] = {}
    for error in _validator().iter_errors(document.root):
        for violation in violations_in(error):
            at = violation.location
            if at not in found:
                found[at] = document.error(_sentence(violation), at)
    return sorted(found.values(), key=lambda error: error.line or 0)


def _sentence(violation: Violation) -> str:
    """Say what is wrong, and what was meant."""
    name = str(violation.location[-1]) if violation.location else ""
    keyword = violation.keyword
    if keyword == "additionalProperties":
        return _misplaced(name, violation.location[:-1])
    if keyword == "required":
        return f"{name!r} is missing"
    if keyword == "enum":
        values = [str(value) for value in violation.limit]
        return unknown("choice", str(violation.value), values)
    if keyword == "const":
        return "this can only be true"
    if keyword == "type":
        return _wrong_type(violation)
    if keyword == "minProperties":
        node = _at(violation.location)
        return f"something must stand here (there are: {', '.join(sorted(_keys(node)))})"
    if keyword == "minItems" or (keyword == "pattern" and not str(violation.value).strip()):
        return "something must stand here"
    if keyword == "pattern":
        return f"{violation.value!r} is not what {name!r} takes (which matches {violation.limit})"
    bounds = {"minimum": "at least", "maximum": "at most"}
    if keyword in bounds:
        return f"a number of {bounds[keyword]} {violation.limit} is wanted, not {violation.value}"
    return violation.message


def _misplaced(name: str, parent: tuple[str | int, ...]) -> str:
    known = _keys(_at(parent))
    sentence = unknown("key", name, known)
    schema = _schema()["$defs"]
    for place in ("match", "reply", "rule"):
        if name in schema[place]["properties"]:
            article = "of a rule" if place == "rule" else f"under `{place}`"
            return f"{name!r} does not stand here but {article}; {sentence}"
    return sentence


def _wrong_type(violation: Violation) -> str:
    limit = violation.limit
    types = limit if isinstance(limit, list) else [limit]
    wanted = " or ".join(_TYPES.get(str(t), str(t)) for t in types)
    value = violation.value
    kind = {bool: "true or false", str: "a text", list: "a list", dict: "a mapping"}.get(
        type(value), "nothing" if value is None else "a number"
    )
    quotes = ""
    if "string" in types and isinstance(value, bool | int | float):
        quotes = "; write it in quotes"
    return f"{wanted} is wanted here, not {kind}{quotes}"


def _at(location: tuple[str | int, ...]) -> list[dict[str, Any]]:
    """Find the schemas of the value at a location: all alternatives that lead there."""
    nodes = list(_alternatives(_schema()))
    for token in location:
        inner = []
        for node in nodes:
            if isinstance(token, int):
                inner.append(node.get("items"))
            else:
                inner.append(
                    node.get("properties", {}).get(token, node.get("additionalProperties"))
                )
        nodes = [a for node in inner if isinstance(node, dict) for a in _alternatives(node)]
    return nodes


def _alternatives(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "$ref" in node:
        yield from _alternatives(_schema()["$defs"][node["$ref"].rsplit("/", 1)[-1]])
    for branch in node.get("anyOf", ()):
        yield from _alternatives(branch)
    yield node


def _keys(nodes: list[dict[str, Any]]) -> set[str]:
    return {key for node in nodes for key in node.get("properties", ())}
