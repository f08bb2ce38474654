"""What an operation should declare: an id, its path parameters, its stream, its errors."""

import re
from collections.abc import Iterator
from typing import Any

from ..media_type import essence
from ..operation import IGNORED_HEADERS, SEQUENTIAL
from ..pointer import Pointer
from ..structure import holders, operations
from .subject import Place, Rule, Subject, rule

RULES: dict[str, Rule] = {}

# Media types that OpenAPI 3.2 calls sequential (Media Type Object, "Sequential Media Types").
_SEQUENCES = {
    SEQUENTIAL, "application/jsonl", "application/json-seq", "application/x-ndjson",
    "multipart/mixed",
}  # fmt: skip


@rule(RULES, "operation-id-missing")
def operation_id_missing(subject: Subject) -> Iterator[Place]:
    """An operation has no `operationId`: tools must invent a name for it."""
    for at, operation in operations(subject.root):
        if not operation.get("operationId"):
            yield at, f"{_name(at)} has no `operationId`"


@rule(RULES, "operation-id-duplicate")
def operation_id_duplicate(subject: Subject) -> Iterator[Place]:
    """Two operations have the same `operationId`, in one document or in two that are united."""
    taken = dict(subject.taken)
    for at, operation in operations(subject.root):
        id = operation.get("operationId")
        if id in taken:
            yield (*at, "operationId"), f"the operationId {id} is that of {taken[id]} too"
        elif id:
            taken[id] = _name(at)


@rule(RULES, "path-parameter-undeclared")
def path_parameter_undeclared(subject: Subject) -> Iterator[Place]:
    """A path has `{name}` and an operation on it declares no such parameter."""
    for at, _ in operations(subject.root):
        declared = {p["name"] for _, p in _parameters(subject, at) if p["in"] == "path"}
        for name in _template_names(at):
            if name not in declared:
                yield at, f"{_name(at)} declares no path parameter `{name}`"


@rule(RULES, "path-parameter-unused")
def path_parameter_unused(subject: Subject) -> Iterator[Place]:
    """An operation declares a path parameter that is not in its path."""
    told: set[Pointer] = set()
    for at, _ in operations(subject.root):
        for where, parameter in _parameters(subject, at):
            name = parameter["name"]
            unused = parameter["in"] == "path" and name not in _template_names(at)
            if unused and where not in told:
                told.add(where)
                yield where, f"the path {at[1]} has no `{{{name}}}` for this path parameter"


@rule(RULES, "header-ignored")
def header_ignored(subject: Subject) -> Iterator[Place]:
    """A header that OpenAPI says shall be ignored: the document's other parts declare it."""
    for at, holder in holders(subject.root):
        response_header = len(at) > 1 and at[-2] == "headers"
        name = str(at[-1] if response_header else holder.get("name"))
        ignored = {"content-type"} if response_header else IGNORED_HEADERS
        if (response_header or holder.get("in") == "header") and name.lower() in ignored:
            said = _SAID[name.lower()]
            yield at, f"a header {name} declared here is ignored (OpenAPI 3.x, {said})"


_SAID = {
    "accept": "Parameter Object: the responses' `content` says it",
    "content-type": "Parameter and Response Object: `content` says it",
    "authorization": "Parameter Object: `security` says it",
}


@rule(RULES, "stream-undeclared")
def stream_undeclared(subject: Subject) -> Iterator[Place]:
    """An operation takes `stream: true` and declares no event stream, or not what is in one."""
    for at, operation in operations(subject.root):
        sequences = []
        for status, where, response in _responses(subject, operation, at):
            for name, media_type in response.get("content", {}).items():
                if status.startswith("2") and essence(name) in _SEQUENCES:
                    sequences.append(name)
                    if not {"itemSchema", "schema"} & subject.follow(media_type).keys():
                        place = (*where, "content", name)
                        yield place, f"`{name}` has no `itemSchema`: what it holds is not said"
        if not sequences and _can_stream(subject, operation):
            sentence = f"{_name(at)} takes `stream` and declares no `{SEQUENTIAL}` answer"
            yield _success_content(subject, operation, at), sentence


@rule(RULES, "error-undeclared")
def error_undeclared(subject: Subject) -> Iterator[Place]:
    """An operation declares no response for an error: no 4xx, no 5xx, no `default`."""
    for at, operation in operations(subject.root):
        statuses = [status for status, _, _ in _responses(subject, operation, at)]
        if not any(_is_error(status) for status in statuses):
            yield _responses_at(operation, at), f"{_name(at)} declares no error response"


@rule(RULES, "error-without-shape")
def error_without_shape(subject: Subject) -> Iterator[Place]:
    """A response for an error has no content, or content without a schema."""
    for at, operation in operations(subject.root):
        for status, where, response in _responses(subject, operation, at):
            if at[-1] == "head" or not _is_error(status) or status == "default":
                continue
            content = response.get("content") or {}
            if not any("schema" in subject.follow(media_type) for media_type in content.values()):
                yield where, f"{_name(at)} does not say what its {status} looks like"


def _name(at: Pointer) -> str:
    _, path, method = at
    return f"{str(method).upper()} {path}"


def _is_error(status: str) -> bool:
    return status == "default" or status[:1] in ("4", "5")


def _template_names(at: Pointer) -> set[str]:
    return set(re.findall(r"\{([^}]*)\}", str(at[1])))


def _parameters(subject: Subject, at: Pointer) -> Iterator[tuple[Pointer, dict[str, Any]]]:
    """Yield the parameters of an operation, its path's first: where each is named, and itself."""
    item = subject.root["paths"][at[1]]
    for owner, where in ((item, at[:-1]), (item[at[2]], at)):
        for index, parameter in enumerate(owner.get("parameters", ())):
            node = subject.follow(parameter)
            if {"name", "in"} <= node.keys():
                yield (*where, "parameters", index), node


def _responses_at(operation: dict[str, Any], at: Pointer) -> Pointer:
    return (*at, "responses") if "responses" in operation else at


def _responses(
    subject: Subject, operation: dict[str, Any], at: Pointer
) -> Iterator[tuple[str, Pointer, dict[str, Any]]]:
    for status, response in operation.get("responses", {}).items():
        if not status.startswith("x-"):
            yield status, (*at, "responses", status), subject.follow(response)


def _success_content(subject: Subject, operation: dict[str, Any], at: Pointer) -> Pointer:
    """Point to where a stream would be declared."""
    for status, where, response in _responses(subject, operation, at):
        if status.startswith("2"):
            return (*where, "content") if "content" in response else where
    return _responses_at(operation, at)


def _can_stream(subject: Subject, operation: dict[str, Any]) -> bool:
    content = subject.follow(operation.get("requestBody", {})).get("content", {})
    for media_type in content.values():
        schema = subject.follow(subject.follow(media_type).get("schema", {}))
        if any(_is_boolean(subject, p) for p in _properties(subject, schema, "stream")):
            return True
    return False


def _properties(
    subject: Subject, schema: dict[str, Any], name: str, depth: int = 0
) -> Iterator[Any]:
    """Yield what a schema, or an alternative or a part of it, says about a property."""
    if name in schema.get("properties", {}):
        yield schema["properties"][name]
    for keyword in ("allOf", "anyOf", "oneOf"):
        for branch in schema.get(keyword, ()) if depth < 8 else ():
            yield from _properties(subject, subject.follow(branch), name, depth + 1)


def _is_boolean(subject: Subject, schema: Any, depth: int = 0) -> bool:
    node = subject.follow(schema)
    if node.get("type") == "boolean" or "boolean" in (node.get("type") or ()):
        return True
    branches = [b for k in ("allOf", "anyOf", "oneOf") for b in node.get(k, ()) if depth < 8]
    return any(_is_boolean(subject, branch, depth + 1) for branch in branches)
