"""An operation shown to people, as plain text of a given width."""

import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from .contract import Contract
from .operation import MediaType, Operation, Parameter, Response
from .references import follow
from .wording import constraints, first_sentence, flat, type_name

_DEEPEST = 8
_INDENT = "  "


def show_contract(contract: Contract, width: int = 100) -> str:
    """List the operations of a contract: method, path and id, each with its summary."""
    rows = [(o.method.upper(), o.path, o.id) for o in contract.operations]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row, operation in zip(rows, contract.operations, strict=True):
        named = "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True))
        wide = len(named) + 2 + len(operation.summary) > width
        lines.append(named.rstrip() if wide else f"{named}  {operation.summary}".rstrip())
        if wide and operation.summary:
            lines.extend(_hanging(operation.summary, 6, width))
    return "\n".join(lines)


def show_operation(contract: Contract, operation: Operation, width: int = 100) -> str:
    """Show one operation: what it takes, what it answers, and who may call it."""
    rows = _Rows(contract.document)
    security = "\n".join(_hanging(_security(contract, operation), 0, width))
    parts = [_heading(operation, width), security]
    if operation.parameters:
        table = _table(list(_parameters(operation.parameters)), width, 2)
        parts.append(f"Parameters\n{table}")
    if operation.request_body:
        required = "required" if operation.request_body.required else "optional"
        title = f"Request body ({required})"
        parts.append(_content(rows, title, operation.request_body.content, width))
    parts += [_response(rows, response, width) for response in operation.responses.values()]
    return "\n\n".join(parts)


def _heading(operation: Operation, width: int) -> str:
    lines = [f"{operation.method.upper()} {operation.path}  ({operation.id})"]
    if operation.summary:
        lines.extend(_hanging(flat(operation.summary), 0, width))
    if text := flat(operation.node.get("description", "")):
        lines.append("")
        lines.extend(textwrap.wrap(text, max(width, 20)))
    return "\n".join(lines)


def _security(contract: Contract, operation: Operation) -> str:
    """Say which schemes let a call pass: all of one requirement, any of several."""
    if not operation.security:
        return "Security: none"
    schemes = contract.document.get("components", {}).get("securitySchemes", {})
    ways = [
        " and ".join(_scheme(name, schemes.get(name, {})) for name in requirement) or "none"
        for requirement in operation.security
    ]
    return f"Security: {' or '.join(ways)}"


def _scheme(name: str, scheme: dict[str, Any]) -> str:
    kind = {
        "http": f"Authorization: {str(scheme.get('scheme', '')).capitalize()}",
        "apiKey": f"{scheme.get('in')} {scheme.get('name')}",
    }.get(scheme.get("type", ""), scheme.get("type", "undefined"))
    return f"{name} ({kind})"


def _parameters(parameters: Iterable[Parameter]) -> Iterator["Row"]:
    for parameter in parameters:
        node = parameter.schema.node if parameter.schema else {}
        rules = [f"in {parameter.place}", *(["required"] if parameter.required else [])]
        rules += constraints(node) if isinstance(node, dict) else []
        yield Row(parameter.name, type_name(node), rules, flat(parameter.description))


def _response(rows: "_Rows", response: Response, width: int) -> str:
    title = f"Response {response.status}: {flat(response.description)}".rstrip(": ")
    lines = _hanging(title, 0, width)
    if response.headers:
        lines += _hanging(f"headers: {', '.join(response.headers)}", 2, width)
    if not response.content:
        lines.append(f"{_INDENT}no content")
    return _content(rows, "\n".join(lines), response.content, width)


def _content(rows: "_Rows", title: str, content: dict[str, MediaType], width: int) -> str:
    """Show media types; those with the same schema share a table."""
    alike: dict[str, list[MediaType]] = {}
    for media_type in content.values():
        schemas = (media_type.schema, media_type.item_schema)
        alike.setdefault(repr([s and s.node for s in schemas]), []).append(media_type)
    return "\n".join([title, *(_media_types(rows, group, width) for group in alike.values())])


def _media_types(rows: "_Rows", group: list[MediaType], width: int) -> str:
    schema = group[0].item_schema or group[0].schema
    lines = _hanging(", ".join(m.name for m in group), 2, width)
    if names := list(dict.fromkeys(name for m in group for name in m.examples)):
        lines.extend(_hanging(f"examples: {', '.join(names)}", 4, width))
    node = schema.node if schema else {}
    what = "the data of each event: " if group[0].item_schema else ""
    above = " (see above)" if rows.shown(node) else ""
    lines.extend(_hanging(f"{what}{type_name(node)}{above}", 4, width))
    if table := _table(list(rows.of(node, 0)), width, 6):
        lines.append(table)
    return "\n".join(lines)


class Row(Struct, frozen=True):
    """One property or parameter in a table."""

    name: str
    type: str
    rules: list[str]
    text: str


class _Rows(Struct):
    """Walks a schema into rows; a named schema is opened where it first comes up."""

    root: dict[str, Any]
    opened: set[str] = set()

    def of(self, schema: Any, depth: int) -> Iterator[Row]:
        """Yield the rows of a schema's properties, or of those inside its items or alternatives."""
        node = self._open(schema)
        if node is None or depth > _DEEPEST:
            return
        for part in node.get("allOf", ()):
            yield from self.of(part, depth)
        required = node.get("required", ())
        for name, inner in node.get("properties", {}).items():
            yield from self._property(name, inner, name in required, depth)
        if isinstance(node.get("additionalProperties"), dict) and node["additionalProperties"]:
            yield from self._property("<key>", node["additionalProperties"], False, depth)
        if isinstance(node.get("items"), dict):
            yield from self.of(node["items"], depth)
        branches = [b for k in ("oneOf", "anyOf") for b in node.get(k, ()) if not _is_null(b)]
        for branch in branches:
            rows = list(self.of(branch, depth if len(branches) == 1 else depth + 1))
            if rows and len(branches) > 1:
                yield Row(f"{_INDENT * depth}- {type_name(branch)}", "", [], "")
            yield from rows

    def _property(self, name: str, schema: Any, required: bool, depth: int) -> Iterator[Row]:
        node = schema if isinstance(schema, dict) else {}
        rules = [*(["required"] if required else []), *constraints(node)]
        text = first_sentence(node.get("description") or self._described(node))
        yield Row(f"{_INDENT * depth}{name}", type_name(schema), rules, text)
        yield from self.of(schema, depth + 1)

    def _described(self, node: dict[str, Any]) -> str:
        found = follow(self.root, node)
        return str(found.get("description", "")) if isinstance(found, dict) else ""

    def shown(self, schema: Any) -> bool:
        """Say whether a schema has a name and is shown already."""
        return isinstance(schema, dict) and schema.get("$ref") in self.opened

    def _open(self, schema: Any) -> dict[str, Any] | None:
        """Follow a reference, unless the schema it names is shown already."""
        if isinstance(schema, dict) and "$ref" in schema:
            if self.shown(schema):
                return None
            self.opened.add(schema["$ref"])
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            found = follow(self.root, schema)
            schema = {**found, **beside} if isinstance(found, dict) else beside
        return schema if isinstance(schema, dict) else None


def _is_null(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"


def _table(rows: list[Row], width: int, indent: int) -> str:
    """Set rows in two columns: the names; types, rules and texts, wrapped into what is left."""
    longest = max((len(row.name) for row in rows if row.type), default=0)
    names = min(longest, max(width // 3, 12))
    left = max(width - indent - names - 2, 24)
    lines: list[str] = []
    for row in rows:
        told = textwrap.wrap(", ".join([row.type, *row.rules]), left) if row.type else []
        told += textwrap.wrap(row.text, left)
        if not told or len(row.name) > names:
            lines.append(row.name)
        else:
            lines.append(f"{row.name:{names}}  {told.pop(0)}")
        lines += [f"{'':{names}}  {line}" for line in told]
    return textwrap.indent("\n".join(lines), " " * indent)


def _hanging(text: str, indent: int, width: int) -> list[str]:
    first = " " * indent
    return textwrap.wrap(
        text, max(width, 24), initial_indent=first, subsequent_indent=first + _INDENT,
        break_on_hyphens=False,
    )  # fmt: skip
