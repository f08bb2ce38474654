"""The document of the control interface: which operation a request is, and what of it is wrong."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from msgspec import Struct

from wafermock.spec.document import read_document
from wafermock.spec.media_type import essence
from wafermock.spec.pointer import format_pointer
from wafermock.spec.schema import Schema, SchemaSpace
from wafermock.spec.structure import operations

from .paths import PREFIX


class Problem(Exception):
    """Why a request cannot be done: a status, a sentence, and what of the request is at fault.

    `allow` are the methods that would do.
    """

    def __init__(
        self, status: int, message: str, at: tuple[str, ...] = (), allow: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.at = at
        self.allow = allow


class Wanted(Struct, frozen=True):
    """A request understood: the operation's id, and what it was asked with."""

    operation: str
    values: Mapping[str, str]
    body: Any


class Routes:
    """Reads requests by the document, openapi.yaml beside this module."""

    def __init__(self) -> None:
        self.document: dict[str, Any] = read_document(Path(__file__).with_name("openapi.yaml")).root
        self._space = SchemaSpace(self.document)

    @cached_property
    def _operations(self) -> dict[tuple[str, str], tuple[tuple[str | int, ...], dict[str, Any]]]:
        return {(str(at[1]), str(at[2])): (at, node) for at, node in operations(self.document)}

    @property
    def ids(self) -> list[str]:
        """The ids of all operations."""
        return [node["operationId"] for _, node in self._operations.values()]

    def find(self, method: str, path: str) -> tuple[tuple[str, str], dict[str, str]]:
        """Find an operation by method and path, the prefix taken off; return key and path values.

        Raises Problem: no such path, or not by this method.
        """
        method = "get" if method == "HEAD" else method.lower()
        methods = []
        for template in self.document["paths"]:
            values = _path_values(template, path)
            if values is None:
                continue
            if (template, method) in self._operations:
                return (template, method), values
            methods += [m.upper() for t, m in self._operations if t == template]
        if methods:
            message = f"{path} cannot be asked by {method.upper()}, but by {', '.join(methods)}"
            raise Problem(405, message, allow=tuple(methods))
        message = f"there is no {PREFIX}{path}; {PREFIX}/openapi.json lists what there is"
        raise Problem(404, message)

    def read(
        self, key: tuple[str, str], path_values: dict[str, str], query: str,
        content_type: str | None, body: bytes,
    ) -> Wanted:  # fmt: skip
        """Read a request for an operation. Raises Problem with all that is wrong."""
        at, node = self._operations[key]
        item = self.document["paths"][key[0]]
        given = parse_qsl(query, keep_blank_values=True)
        values = {**path_values, **dict(given)}
        known = set()
        for owner, where in ((item, at[:-1]), (node, at)):
            for index, parameter in enumerate(owner.get("parameters", ())):
                place = (*where, "parameters", index)
                if "$ref" in parameter:
                    place = tuple(parameter["$ref"].removeprefix("#/").split("/"))
                    parameter = self.document["components"]["parameters"][place[-1]]
                known.add(parameter["name"])
                self._check_parameter(parameter, place, values)
        unknown = [name for name, _ in given if name not in known]
        if unknown:
            has = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
            message = f"there is no parameter {unknown[0]!r} here; {has}"
            raise Problem(422, message, (f"query {unknown[0]}",))
        return Wanted(node["operationId"], values, self._body(at, node, content_type, body))

    def _check_parameter(
        self, parameter: Mapping[str, Any], at: tuple[str | int, ...], values: Mapping[str, str]
    ) -> None:
        name = parameter["name"]
        if name in values:
            schema = self._space.at((*at, "schema"))
            if not schema.is_valid(values[name]):
                says = schema.violations(values[name])[0].message
                raise Problem(422, f"{name}: {says}", (f"{parameter['in']} {name}",))

    def _body(
        self,
        at: tuple[str | int, ...],
        node: Mapping[str, Any],
        content_type: str | None,
        raw: bytes,
    ) -> Any:
        wanted = node.get("requestBody")
        if wanted is None:
            return None
        place = (*at, "requestBody")
        if "$ref" in wanted:
            place = tuple(wanted["$ref"].removeprefix("#/").split("/"))
            wanted = self.document["components"]["requestBodies"][place[-1]]
        if not raw.strip():
            if wanted["required"]:
                raise Problem(422, f"a body is missing; it is {' or '.join(wanted['content'])}")
            return {}
        name = essence(content_type)
        if name in ("text/yaml", "application/x-yaml", "text/x-yaml"):
            name = "application/yaml"
        if name not in wanted["content"]:
            # A form of another site can send text/plain, never these (Fetch, section 2.2.2).
            takes = " or ".join(wanted["content"])
            raise Problem(415, f"the content type of the body must be {takes}, not {name!r}")
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise Problem(400, f"the body is not UTF-8: byte {error.start}") from None
        if "application/yaml" in wanted["content"]:
            return text  # JSON is YAML
        return self._data(text, self._space.at((*place, "content", name, "schema")))

    def _data(self, text: str, schema: Schema) -> Any:
        import json

        try:
            data = json.loads(text)
        except ValueError as error:
            raise Problem(400, f"the body is not JSON: {error}") from None
        except RecursionError:
            raise Problem(400, "the body is nested too deep") from None
        violations = schema.violations(data)
        if violations:
            places = tuple(format_pointer(v.location)[1:] or "/" for v in violations)
            lines = [f"{at}: {v.message}" for at, v in zip(places, violations, strict=True)]
            raise Problem(422, "; ".join(lines), places)
        return data

    def answer_schema(self, operation: str, status: int, content_type: str) -> Schema | None:
        """Return the schema that an answer obeys; None where the document has none for it.

        Raises KeyError: the document does not declare such an answer.
        """
        at, node = next(v for v in self._operations.values() if v[1]["operationId"] == operation)
        responses = node["responses"]
        key = str(status) if str(status) in responses else "default"
        place: tuple[str | int, ...] = (*at, "responses", key)
        response = responses[key]
        if "$ref" in response:
            place = tuple(response["$ref"].removeprefix("#/").split("/"))
            response = self.document["components"]["responses"][place[-1]]
        name = essence(content_type)
        if "schema" not in response["content"][name]:
            return None
        return self._space.at((*place, "content", name, "schema"))


def _path_values(template: str, path: str) -> dict[str, str] | None:
    wanted, given = template.split("/"), path.split("/")
    if len(wanted) != len(given):
        return None
    values = {}
    for name, part in zip(wanted, given, strict=True):
        if name.startswith("{") and part:
            values[name[1:-1]] = part
        elif name != part:
            return None
    return values
