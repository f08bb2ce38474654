"""A schema in a few words: its type, its constraints, the first sentence of its description."""

import json
import re
from typing import Any


def type_name(schema: Any) -> str:
    """Name what a schema wants: `array of string`, `UserMessage or null`, a component's name."""
    if schema is False:
        return "nothing"
    if not isinstance(schema, dict):
        return "any"
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1].replace("~1", "/").replace("~0", "~")
    types = schema.get("type")
    names = types if isinstance(types, list) else [types] if types else []
    for keyword in ("oneOf", "anyOf"):
        if keyword in schema:
            names = [type_name(branch) for branch in schema[keyword]]
    if not names and len(schema.get("allOf", ())) == 1:
        names = [type_name(schema["allOf"][0])]
    if not names:
        names = [_implied(schema)]
    named = [_array(schema) if name == "array" else name for name in names]
    return " or ".join(dict.fromkeys(named))


def _array(schema: dict[str, Any]) -> str:
    items = schema.get("items")
    if not isinstance(items, dict) or not items:
        return "array"
    name = type_name(items)
    return f"array of ({name})" if " or " in name else f"array of {name}"


def _implied(schema: dict[str, Any]) -> str:
    if "properties" in schema or "allOf" in schema:
        return "object"
    if "const" in schema:
        return json.dumps(schema["const"], ensure_ascii=False)
    return "any"


def constraints(schema: dict[str, Any]) -> list[str]:
    """Put what a schema asks beyond its type into words, its default last."""
    node = _only_alternative(schema)
    told = [words.format(node[key]) for key, words in _WORDS.items() if _told(node, key)]
    if "enum" in node:
        values = [value for value in node["enum"] if value is not None]
        told.append(f"one of {', '.join(map(_shown, values))}")
    if "const" in node:
        told.append(f"always {_shown(node['const'])}")
    if node.get("additionalProperties") is False:
        told.append("no other keys")
    if schema.get("deprecated"):
        told.append("deprecated")
    if "default" in schema:
        told.append(f"default {_shown(schema['default'])}")
    return told


_WORDS = {
    "minimum": ">= {}",
    "exclusiveMinimum": "> {}",
    "maximum": "<= {}",
    "exclusiveMaximum": "< {}",
    "multipleOf": "a multiple of {}",
    "minLength": "characters >= {}",
    "maxLength": "characters <= {}",
    "minItems": "items >= {}",
    "maxItems": "items <= {}",
    "minProperties": "keys >= {}",
    "maxProperties": "keys <= {}",
    "format": "format {}",
    "pattern": "matches {}",
}


def _told(node: dict[str, Any], key: str) -> bool:
    return key in node and not isinstance(node[key], bool)


def _only_alternative(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with what its only alternative beside null says."""
    branches = [
        branch
        for keyword in ("oneOf", "anyOf")
        for branch in schema.get(keyword, ())
        if not (isinstance(branch, dict) and branch.get("type") == "null")
    ]
    if len(branches) == 1 and isinstance(branches[0], dict) and "$ref" not in branches[0]:
        return {**branches[0], **schema}
    return schema


def _shown(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def flat(text: Any) -> str:
    """Return Markdown as one line of plain text: links as their words, white space as blanks."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", str(text))
    text = re.sub(r"\*\*([^*]+)\*\*", r"\1", text)
    return " ".join(text.split())


def first_sentence(text: Any) -> str:
    """Return the first sentence of a description, or its first paragraph if that is shorter."""
    paragraph = flat(str(text).strip().split("\n\n")[0])
    match = re.match(r".*?(?<!\be\.g)(?<!\bi\.e)[.!?](?=\s+[A-Z`\"'(]|$)", paragraph)
    return match[0] if match else paragraph
