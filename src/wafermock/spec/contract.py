"""The contract: what the completed document says, in the words the other rooms use."""

import hashlib
import json
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from .errors import ErrorCatalogue
from .limits import LimitCatalogue
from .models import ModelCatalogue
from .operation import (
    IGNORED_HEADERS,
    Example,
    Header,
    MediaType,
    Operation,
    Parameter,
    RequestBody,
    Response,
)
from .pointer import Pointer, parse_pointer, resolve
from .requirements import RequirementCatalogue
from .schema import Schema, SchemaSpace
from .structure import operations


class Route(Struct, frozen=True):
    """An operation found for a method and path, with the values of its path parameters."""

    operation: Operation
    path_values: dict[str, str]


class Contract:
    """The completed, normalised document, and all that is asked of it.

    `document` is one OpenAPI 3.2 document; `fingerprint` names its content (hexadecimal).
    """

    def __init__(
        self,
        document: dict[str, Any],
        profile: str,
        errors: ErrorCatalogue,
        models: ModelCatalogue,
        requirements: RequirementCatalogue,
        limits: LimitCatalogue,
        validation_form: dict[str, Any] | None = None,
    ) -> None:
        self.document = document
        self.profile = profile
        self.errors = errors
        self.models = models
        self.requirements = requirements
        self.limits = limits
        self.schemas = SchemaSpace(document, validation_form)

    @cached_property
    def fingerprint(self) -> str:
        text = json.dumps([self.document, self.profile], sort_keys=True, separators=(",", ":"))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    @cached_property
    def operations(self) -> tuple[Operation, ...]:
        return tuple(self.read_operation(at) for at, _ in operations(self.document))

    def operation(self, id: str) -> Operation:
        """Return an operation by its id. Raises KeyError."""
        return self._by_id[id]

    def route(self, method: str, path: str) -> Route | None:
        """Find the operation for a method and a request path (percent-encoded, no query)."""
        for route in self._routes(path):
            if route.operation.method == method.lower():
                return route
        return None

    def methods(self, path: str) -> list[str]:
        """List the methods, in capitals, that the contract has for a request path."""
        return sorted({route.operation.method.upper() for route in self._routes(path)})

    def schema(self, name: str) -> Schema:
        """Return a component schema by its name. Raises KeyError."""
        if name not in self.document.get("components", {}).get("schemas", {}):
            raise KeyError(name)
        return self.schemas.at(("components", "schemas", name))

    @cached_property
    def _by_id(self) -> dict[str, Operation]:
        return {operation.id: operation for operation in self.operations}

    @cached_property
    def _fixed(self) -> dict[str, list[Operation]]:
        table: dict[str, list[Operation]] = {}
        for operation in self.operations:
            if "{" not in operation.path:
                for base in ("", *self._bases):
                    table.setdefault(base + operation.path, []).append(operation)
        return table

    @cached_property
    def _templated(self) -> list[tuple[re.Pattern[str], Operation]]:
        bases = "|".join(map(re.escape, self._bases))
        return [
            (re.compile(f"(?:{bases})?{_template(operation.path)}"), operation)
            for operation in self.operations
            if "{" in operation.path
        ]

    @cached_property
    def _bases(self) -> list[str]:
        """The paths of the servers: a document may say `/v1` there and not in its paths."""
        paths = [urlsplit(str(s.get("url", ""))).path for s in self.document.get("servers", [])]
        return sorted({p.rstrip("/") for p in paths if p.rstrip("/") and "{" not in p})

    def _routes(self, path: str) -> list[Route]:
        if path in self._fixed:
            return [Route(operation, {}) for operation in self._fixed[path]]
        found = []
        for pattern, operation in self._templated:
            if match := pattern.fullmatch(path):
                names = re.findall(r"\{([^}]*)\}", operation.path)
                values = dict(zip(names, map(unquote, match.groups()), strict=True))
                found.append(Route(operation, values))
        return found

    def read_operation(self, at: Pointer) -> Operation:
        """Read the operation at a pointer; LookupError, TypeError or the like if it is none."""
        _, path, method = at
        item = self.document["paths"][path]
        node = item[method]
        parameters = {
            (p.name, p.place): p
            for owner, where in ((item, at[:-1]), (node, at))
            for p in self._parameters(owner.get("parameters", ()), (*where, "parameters"))
        }
        body, body_at = self._follow(node.get("requestBody"), (*at, "requestBody"))
        return Operation(
            id=node.get("operationId") or f"{method} {path}",
            method=str(method),
            path=str(path),
            summary=node.get("summary", ""),
            parameters=tuple(parameters.values()),
            request_body=body
            and RequestBody(bool(body.get("required")), self._content(body, body_at)),
            responses={
                str(status): self._response(str(status), response, (*at, "responses", status))
                for status, response in node.get("responses", {}).items()
                if not str(status).startswith("x-")
            },
            security=tuple(node.get("security", self.document.get("security", ()))),
            answer=node.get("x-wafermock-answer"),
            node=node,
        )

    def _parameters(self, parameters: Sequence[Any], at: Pointer) -> list[Parameter]:
        found = []
        for index, parameter in enumerate(parameters):
            node, where = self._follow(parameter, (*at, index))
            if node["in"] == "header" and node["name"].lower() in IGNORED_HEADERS:
                continue
            schema = self.schemas.at((*where, "schema")) if "schema" in node else None
            required = bool(node.get("required")) or node["in"] == "path"
            text = node.get("description", "")
            found.append(Parameter(node["name"], node["in"], required, schema, text))
        return found

    def _response(self, status: str, response: Any, at: Pointer) -> Response:
        node, where = self._follow(response, at)
        headers = {}
        for name, header in node.get("headers", {}).items():
            inner, place = self._follow(header, (*where, "headers", name))
            schema = self.schemas.at((*place, "schema")) if "schema" in inner else None
            required = bool(inner.get("required"))
            headers[name.lower()] = Header(name.lower(), schema, required, inner.get("example"))
        return Response(status, node.get("description", ""), self._content(node, where), headers)

    def _content(self, owner: dict[str, Any], at: Pointer) -> dict[str, MediaType]:
        content = {}
        for name, media_type in owner.get("content", {}).items():
            node, where = self._follow(media_type, (*at, "content", name))
            content[name.lower()] = MediaType(
                name=name.lower(),
                schema=self.schemas.at((*where, "schema")) if "schema" in node else None,
                item_schema=self._item_schema(node, (*where, "itemSchema")),
                examples=self._examples(node),
            )
        return content

    def _item_schema(self, media_type: dict[str, Any], at: Pointer) -> Schema | None:
        if "itemSchema" not in media_type:
            return None
        _, where = self._follow(media_type["itemSchema"], at)
        return self.schemas.at(event_data(self.document, where) or where)

    def _examples(self, media_type: dict[str, Any]) -> dict[str, Example]:
        examples = {}
        if "example" in media_type:
            examples["default"] = Example("default", media_type["example"])
        for name, example in media_type.get("examples", {}).items():
            node, _ = self._follow(example, ())
            for key in ("value", "dataValue"):
                if key in node:
                    examples[name] = Example(name, node[key], node.get("summary", ""))
        return examples

    def _follow(self, node: Any, at: Pointer) -> tuple[Any, Pointer]:
        """Follow a chain of references; return the node and where it really stands."""
        seen = set()
        while isinstance(node, dict) and isinstance(node.get("$ref"), str):
            at = parse_pointer(node["$ref"])
            if at in seen:
                raise LookupError(node["$ref"])
            seen.add(at)
            node = resolve(self.document, at)
        return node, at


def event_data(root: dict[str, Any], at: Pointer) -> Pointer | None:
    """Point to the schema of the JSON in an event's `data`, given where the item schema stands.

    None when the items are no events with JSON in them (OpenAPI 3.2, "Special Considerations for
    Server-Sent Events").
    """
    node = resolve(root, at)
    data = node.get("properties", {}).get("data") if isinstance(node, dict) else None
    if not isinstance(data, dict):
        return None
    where = (*at, "properties", "data")
    for keyword in ("oneOf", "anyOf"):
        for index, branch in enumerate(data.get(keyword, ())):
            if isinstance(branch, dict) and "contentSchema" in branch:
                return (*where, keyword, index, "contentSchema")
    return (*where, "contentSchema") if "contentSchema" in data else None


def _template(path: str) -> str:
    parts = re.split(r"\{[^}]*\}", path)
    return "([^/]+)".join(map(re.escape, parts))
