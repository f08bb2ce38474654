"""The anatomy of an OpenAPI document: which nodes are schemas, references, operations.

Everything that walks a document (normalising, linting, bundling) walks it with these functions,
so that a property called `nullable` or an example that looks like a schema is never mistaken.
"""

from collections.abc import Callable, Iterator
from typing import Any

from .pointer import Pointer

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")

# JSON Schema 2020-12 (core sections 10 and 11, validation section 8): keywords that hold schemas.
IN_PLACE = frozenset(
    {
        "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if",
        "items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
    }
)  # fmt: skip
IN_LIST = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
IN_MAP = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})

# Beside one of these `properties` does not name all that an object may have. (What the object
# itself says of others is `additionalProperties` and `unevaluatedProperties`.)
NAMING_MORE = ("allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas")

Visit = Callable[[dict[str, Any], Pointer], None]


def subschemas(schema: dict[str, Any]) -> Iterator[tuple[Pointer, Any]]:
    """Yield the schemas directly inside a schema, with their pointer from it."""
    for keyword, value in schema.items():
        if keyword in IN_PLACE and isinstance(value, dict | bool):
            yield (keyword,), value
        elif keyword in IN_LIST and isinstance(value, list):
            for index, item in enumerate(value):
                yield (keyword, index), item
        elif keyword in IN_MAP and isinstance(value, dict):
            for name, item in value.items():
                yield (keyword, name), item


def walk_schema(schema: Any, at: Pointer, visit: Visit) -> None:
    """Visit a schema and all schemas inside it, outermost first."""
    if not isinstance(schema, dict):
        return
    visit(schema, at)
    for inner, item in list(subschemas(schema)):
        walk_schema(item, at + inner, visit)


def walk_schemas(document: dict[str, Any], visit: Visit) -> None:
    """Visit every Schema Object of an OpenAPI document, outermost first."""
    for at, holder in holders(document):
        for keyword in schemas_of(holder):
            walk_schema(holder[keyword], (*at, keyword), visit)
    for name, schema in _map(_map(document.get("components")).get("schemas")).items():
        walk_schema(schema, ("components", "schemas", name), visit)


def holders(document: dict[str, Any]) -> Iterator[tuple[Pointer, dict[str, Any]]]:
    """Yield every object that holds a schema: parameters, headers and media types."""
    for at, item in path_items(document):
        yield from _parameters(item.get("parameters"), (*at, "parameters"))
        for method in METHODS:
            if isinstance(item.get(method), dict):
                yield from _in_operation(item[method], (*at, method))
    components = _map(document.get("components"))
    for kind, inside in _COMPONENTS.items():
        for name, component in _map(components.get(kind)).items():
            yield from inside(component, ("components", kind, name))


def schemas_of(holder: dict[str, Any]) -> list[str]:
    """List the keywords under which a parameter, header or media type holds a schema."""
    return [k for k in ("schema", "itemSchema") if isinstance(holder.get(k), dict | bool)]


def operations(document: dict[str, Any]) -> Iterator[tuple[Pointer, dict[str, Any]]]:
    """Yield every Operation Object of the document's paths, with its pointer."""
    for path, item in _map(document.get("paths")).items():
        for method in METHODS:
            if isinstance(_map(item).get(method), dict):
                yield ("paths", path, method), item[method]


def path_items(document: dict[str, Any]) -> Iterator[tuple[Pointer, dict[str, Any]]]:
    """Yield every Path Item Object: of paths, webhooks, components and callbacks."""
    components = _map(document.get("components"))
    yield from _path_items(document.get("paths"), ("paths",))
    yield from _path_items(document.get("webhooks"), ("webhooks",))
    yield from _path_items(components.get("pathItems"), ("components", "pathItems"))
    yield from _callbacks(components.get("callbacks"), ("components", "callbacks"))


def _path_items(items: Any, at: Pointer) -> Iterator[tuple[Pointer, dict[str, Any]]]:
    for name, item in _map(items).items():
        if isinstance(item, dict):
            yield (*at, name), item
            for method in METHODS:
                inside = _map(_map(item.get(method)).get("callbacks"))
                yield from _callbacks(inside, (*at, name, method, "callbacks"))


def _callbacks(callbacks: Any, at: Pointer) -> Iterator[tuple[Pointer, dict[str, Any]]]:
    for name, callback in _map(callbacks).items():
        yield from _path_items(callback, (*at, name))


# Maps whose keys are names that somebody chose, so that `default` or `x-id` may be one of them.
_NAMED = frozenset(
    {
        "$defs", "callbacks", "content", "definitions", "dependentSchemas", "encoding", "examples",
        "headers", "links", "mediaTypes", "parameters", "pathItems", "patternProperties", "paths",
        "properties", "requestBodies", "responses", "schemas", "securitySchemes", "webhooks",
    }
)  # fmt: skip
_DATA = frozenset({"const", "dataValue", "default", "enum", "example", "value"})


def references(
    node: Any, at: Pointer = (), *, named: bool = False
) -> Iterator[tuple[Pointer, dict[str, Any]]]:
    """Yield every object with a `$ref` text, wherever it stands except inside instances.

    `named` says that the node is a map of names: its keys are no keywords.
    """
    if isinstance(node, list):
        for index, value in enumerate(node):
            yield from references(value, (*at, index))
    if not isinstance(node, dict):
        return
    if isinstance(node.get("$ref"), str):
        yield at, node
    for key, value in node.items():
        if not holds_instance(key, value, named=named):
            yield from references(value, (*at, key), named=names_follow(key, named=named))


def names_follow(key: str, *, named: bool) -> bool:
    """Say whether the value under a key is a map of names, given whether the key is one."""
    return not named and key in _NAMED


def holds_instance(key: str, value: Any, *, named: bool) -> bool:
    """Say whether the value under a key is an instance, in which `$ref` is a plain word."""
    examples = key == "examples" and isinstance(value, list)
    return not named and (key in _DATA or key.startswith("x-") or examples)


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _in_operation(operation: dict[str, Any], at: Pointer) -> Iterator[tuple[Pointer, Any]]:
    yield from _parameters(operation.get("parameters"), (*at, "parameters"))
    yield from _content(operation.get("requestBody"), (*at, "requestBody"))
    for status, response in _map(operation.get("responses")).items():
        yield from _response(response, (*at, "responses", status))


def _parameters(parameters: Any, at: Pointer) -> Iterator[tuple[Pointer, Any]]:
    for index, parameter in enumerate(parameters if isinstance(parameters, list) else ()):
        yield from _holder(parameter, (*at, index))


def _response(response: Any, at: Pointer) -> Iterator[tuple[Pointer, Any]]:
    yield from _content(response, at)
    for name, header in _map(_map(response).get("headers")).items():
        yield from _holder(header, (*at, "headers", name))


def _content(owner: Any, at: Pointer) -> Iterator[tuple[Pointer, Any]]:
    for name, media_type in _map(_map(owner).get("content")).items():
        if isinstance(media_type, dict):
            yield (*at, "content", name), media_type


def _holder(holder: Any, at: Pointer) -> Iterator[tuple[Pointer, Any]]:
    if isinstance(holder, dict):
        yield at, holder
        yield from _content(holder, at)


_COMPONENTS = {
    "headers": _holder,
    "mediaTypes": lambda media_type, at: iter([(at, _map(media_type))]),
    "parameters": _holder,
    "requestBodies": _content,
    "responses": _response,
}
