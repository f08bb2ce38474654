"""Coverage: which things of the contract a run has exercised, and which not.

Operations, properties, enum values and constraints of requests, the responses that are declared,
and the shapes of a stream. What there is to exercise comes from the contract, but for the shapes.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from wafermock.reports.run import Exercised
from wafermock.spec import Contract, Operation
from wafermock.spec.pointer import Pointer, parse_pointer, resolve, uri_fragment

from .exchange import Exchange

# JSON Schema 2020-12, validation section 6: what bounds a value.
CONSTRAINTS = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
    "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems",
    "minProperties", "maxProperties",
)  # fmt: skip

SHAPES = (
    "role", "content", "reasoning", "text", "whole tool call", "tool call in fragments",
    "several tool calls", "several choices", "logprobs", "finish reason", "usage",
    "error event", "[DONE]",
)  # fmt: skip

_DEPTH = 32

Key = tuple[str, str, str]


class Coverage:
    """Counts what exchanges exercise."""

    def __init__(self, contract: Contract) -> None:
        self._root = contract.document
        self._followed: dict[Pointer, tuple[Pointer, Any]] = {}
        self._counts: Counter[Key] = Counter(dict.fromkeys(self._all(contract), 0))
        self._seen_at = {key[1]: key for key in self._counts if key[0] == "constraint"}

    def add(self, exchange: Exchange) -> None:
        """Take note of an exchange that has an answer."""
        operation, received = exchange.operation, exchange.received
        if operation is None or received is None:
            return
        at = _at(operation)
        self._count("operation", at)
        purpose = exchange.purpose
        if key := self._seen_at.get(purpose.location):
            self._counts[key] += 1
        if purpose.meant == "valid" and operation.request_schema is not None:
            for section, pointer in self._used(operation.request_schema.pointer, exchange.asked, 0):
                self._count(section, pointer)
        response = operation.response(received.status)
        if response is not None and not exchange.accepted:
            self._count("error response", (*at, "responses", response.status))
        if exchange.answer.is_stream:
            for shape in set(_shapes(exchange)):
                self._counts["stream shape", "", shape] += 1

    def exercised(self) -> tuple[Exercised, ...]:
        return tuple(Exercised(*key, count=count) for key, count in self._counts.items())

    def _count(self, section: str, pointer: Pointer) -> None:
        for key in self._by_place.get((section, pointer), ()):
            self._counts[key] += 1

    def _all(self, contract: Contract) -> Iterator[Key]:
        """Yield what there is to exercise."""
        self._by_place: dict[tuple[str, Pointer], list[Key]] = {}
        for operation in contract.operations:
            yield self._known("operation", _at(operation), operation.name)
            for status in operation.responses:
                if not status.startswith("2"):
                    where = (*_at(operation), "responses", status)
                    yield self._known("error response", where, f"{status} of {operation.name}")
        seen: set[Pointer] = set()
        for operation in contract.operations:
            if operation.request_schema is not None:
                yield from self._declared(operation.request_schema.pointer, "", seen, 0)
        for shape in SHAPES:
            yield ("stream shape", "", shape)

    def _known(self, section: str, pointer: Pointer, name: str) -> Key:
        key = (section, uri_fragment(pointer), name)
        self._by_place.setdefault((section, pointer), []).append(key)
        return key

    def _declared(self, at: Pointer, name: str, seen: set[Pointer], depth: int) -> Iterator[Key]:
        """Yield the properties, enum values and constraints inside a request's schema."""
        at, node = self._follow(at)
        if at in seen or not isinstance(node, dict) or depth > _DEPTH:
            return
        seen.add(at)
        for index, value in enumerate(node.get("enum", ())):
            if value is not None:
                yield self._known("enum value", (*at, "enum", str(index)), f"{name} = {value}")
        for keyword in CONSTRAINTS:
            if keyword in node:
                title = f"{name}: {keyword} {node[keyword]}"
                yield self._known("constraint", (*at, keyword), title)
        for key in node.get("properties", {}):
            inner = f"{name}.{key}" if name else key
            yield self._known("property", (*at, "properties", key), inner)
            yield from self._declared((*at, "properties", key), inner, seen, depth + 1)
        for keyword in ("anyOf", "oneOf", "allOf"):
            for index, _ in enumerate(node.get(keyword, ())):
                yield from self._declared((*at, keyword, str(index)), name, seen, depth + 1)
        if isinstance(node.get("items"), dict):
            yield from self._declared((*at, "items"), f"{name}[]", seen, depth + 1)

    def _used(self, at: Pointer, value: Any, depth: int) -> Iterator[tuple[str, Pointer]]:
        """Yield what a value exercises of a schema; of alternatives those that its type fits."""
        at, node = self._follow(at)
        if not isinstance(node, dict) or depth > _DEPTH:
            return
        for index, allowed in enumerate(node.get("enum", ())):
            if allowed == value and isinstance(allowed, bool) == isinstance(value, bool):
                yield "enum value", (*at, "enum", str(index))
        if isinstance(value, dict):
            for key in value.keys() & node.get("properties", {}).keys():
                yield "property", (*at, "properties", key)
                yield from self._used((*at, "properties", key), value[key], depth + 1)
        if isinstance(value, list) and isinstance(node.get("items"), dict):
            for item in value[:_DEPTH]:
                yield from self._used((*at, "items"), item, depth + 1)
        for keyword in ("anyOf", "oneOf", "allOf"):
            for index, _ in enumerate(node.get(keyword, ())):
                inner = (*at, keyword, str(index))
                if keyword == "allOf" or self._fits(inner, value):
                    yield from self._used(inner, value, depth + 1)

    def _fits(self, at: Pointer, value: Any) -> bool:
        """Say whether a value may be meant by an alternative: by its type, and by constants."""
        _, node = self._follow(at)
        if not isinstance(node, dict):
            return bool(node)
        types = node.get("type")
        wanted = [types] if isinstance(types, str) else types or []
        if wanted and not any(_is(value, name) for name in wanted):
            return False
        if isinstance(value, dict):
            for key, inner in node.get("properties", {}).items():
                allowed = inner.get("enum", [inner["const"]] if "const" in inner else None)
                if key in value and allowed is not None and value[key] not in allowed:
                    return False
        return True

    def _follow(self, at: Pointer) -> tuple[Pointer, Any]:
        """Follow references; return where a schema really stands, and its node."""
        found = self._followed.get(at)
        if found is None:
            found = self._followed[at] = self._lead(at)
        return found

    def _lead(self, at: Pointer) -> tuple[Pointer, Any]:
        node = resolve(self._root, at)
        for _ in range(_DEPTH):
            if not (isinstance(node, dict) and isinstance(node.get("$ref"), str)):
                break
            at = parse_pointer(node["$ref"])
            node = resolve(self._root, at)
        return at, node


_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str, "boolean": bool, "array": list, "object": dict, "null": type(None),
    "integer": int, "number": (int, float),
}  # fmt: skip


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool) and name != "boolean":
        return False
    return isinstance(value, _TYPES.get(name, object))


def _at(operation: Operation) -> Pointer:
    return ("paths", operation.path, operation.method)


def _shapes(exchange: Exchange) -> Iterator[str]:
    """Yield the shapes that a stream has."""
    answer = exchange.answer
    if any(getattr(event, "data", None) == "[DONE]" for event in answer.stream.events):
        yield "[DONE]"
    for chunk in answer.chunks:
        if not isinstance(chunk, dict):
            continue
        if "error" in chunk:
            yield "error event"
        if chunk.get("usage"):
            yield "usage"
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                yield from _choice_shapes(choice)


def _choice_shapes(choice: dict[str, Any]) -> Iterator[str]:
    delta = choice.get("delta")
    for part in ("role", "content", "reasoning"):
        if isinstance(delta, dict) and delta.get(part):
            yield part
    for part, shape in (
        ("text", "text"), ("finish_reason", "finish reason"), ("logprobs", "logprobs"),
    ):  # fmt: skip
        if choice.get(part):
            yield shape
    if choice.get("index") not in (0, None):
        yield "several choices"
    calls = delta.get("tool_calls") if isinstance(delta, dict) else None
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            continue
        whole = function.get("name") and function.get("arguments")
        yield "whole tool call" if whole else "tool call in fragments"
        if call.get("index") not in (0, None):
            yield "several tool calls"
