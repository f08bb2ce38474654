"""Alternatives of a schema (`oneOf`, `anyOf`): which of them is meant."""

from typing import Any

from .references import follow, mapping_of

# The alternative that admits null, as `normalise` writes it.
NULL = {"type": "null"}


def discriminated(schema: dict[str, Any]) -> tuple[str, dict[str, dict[str, Any]]]:
    """Return the discriminating property, and the branch that each of its values chooses.

    No branches where nothing discriminates (OpenAPI 3.1, "Discriminator Object").
    """
    discriminator = schema.get("discriminator")
    name = discriminator.get("propertyName") if isinstance(discriminator, dict) else None
    if not isinstance(name, str):
        return "", {}
    every = schema["oneOf"] if "oneOf" in schema else schema.get("anyOf", [])
    branches = [branch for branch in every if branch != NULL]
    references = [b["$ref"] for b in branches if isinstance(b, dict) and "$ref" in b]
    if len(references) != len(branches):
        return "", {}  # a branch without a name cannot be chosen by one
    pairs = {}
    for value, target in mapping_of(schema).items():
        pairs[value] = target if target.startswith("#") else f"#/components/schemas/{target}"
    for target in references:
        if target not in pairs.values():
            pairs[target.rsplit("/", 1)[-1]] = target
    return name, {value: {"$ref": target} for value, target in pairs.items()}


def discriminate(schema: dict[str, Any]) -> None:
    """Write what a discriminator chooses as conditions, in place.

    A validator that only sees `oneOf` answers "matches none of five"; told by the discriminator
    which of them was meant, it says what is wrong in that one.
    """
    name, branches = discriminated(schema)
    keyword = next((k for k in ("oneOf", "anyOf") if k in schema), None)
    if not branches or keyword is None:
        return
    chosen = {
        "type": "object",
        "required": [name],
        "properties": {name: {"enum": sorted(branches)}},
        "allOf": [
            {
                "if": {"properties": {name: {"const": value}}, "required": [name]},
                "then": branch,
            }
            for value, branch in branches.items()
        ],
    }
    admits_null = NULL in schema.pop(keyword)
    condition = {"anyOf": [chosen, dict(NULL)]} if admits_null else chosen
    schema.setdefault("allOf", []).append(condition)


def unwrapped(root: dict[str, Any], node: Any) -> dict[str, Any]:
    """Follow references, and step into the only alternative that is not null."""
    for _ in range(32):  # deeper chains than this are circles
        if not isinstance(node, dict):
            return {}
        if "$ref" in node:
            try:
                node = follow(root, node)
            except (LookupError, ValueError):
                return {}
        elif "discriminator" not in node and len(others := _not_null(node)) == 1:
            node = others[0]
        else:
            return node
    return {}


def _not_null(node: dict[str, Any]) -> list[Any]:
    branches = node.get("anyOf") or node.get("oneOf") or []
    return [branch for branch in branches if branch != NULL]
