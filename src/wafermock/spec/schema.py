"""Schemas compiled once, and the violations they find."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import jsonschema_rs

from .excerpt import Excerpt
from .pointer import Pointer, copy_json, resolve, uri_fragment
from .references import follow
from .structure import holders, schemas_of, walk_schemas

# An instance with more values than this is large; so many violations are listed at the most.
LARGE = 5_000
MOST_VIOLATIONS = 1_000

Location = tuple[str | int, ...]
Tags = tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Violation:
    """One way in which an instance breaks its schema.

    `location` leads into the instance; for a missing or an unexpected property it ends with that
    property's name. `tags` are the alternatives chosen on the way (a message's role, say), each
    with the depth in `location` behind which it belongs. `keyword` is the JSON Schema keyword
    that is broken, `limit` what the schema wants there, `value` what the instance has.
    """

    location: Location
    keyword: str
    limit: Any
    value: Any
    message: str
    tags: Tags = ()

    @property
    def tagged_location(self) -> Location:
        """The location with the chosen alternatives in it: `messages, 2, assistant, content`."""
        parts = list(self.location)
        for depth, tag in sorted(self.tags, reverse=True):
            parts.insert(depth, tag)
        return tuple(parts)


class SchemaSpace:
    """A normalised document seen as a space of schemas that refer to each other.

    `at(pointer)` gives the schema at a pointer. Each is compiled when first used, and once.
    """

    def __init__(self, root: dict[str, Any], validation_form: dict[str, Any] | None = None) -> None:
        self.root = root
        self._schemas: dict[Pointer, Schema] = {}
        self._validation_form = validation_form

    def at(self, pointer: Pointer) -> "Schema":
        if pointer not in self._schemas:
            self._schemas[pointer] = Schema(self, pointer)
        return self._schemas[pointer]

    @cached_property
    def validation_form(self) -> dict[str, Any]:
        """The document with each discriminated `oneOf` written so that errors name one branch.

        A validator that only sees `oneOf` answers "matches none of five"; told by the
        discriminator which of them was meant, it says what is wrong in that one.
        """
        if self._validation_form is not None:  # worked out before, see load.py
            return self._validation_form
        form: dict[str, Any] = copy_json(_with_schemas(self.root))
        walk_schemas(form, lambda schema, _: _for_validation(schema))
        return form

    def faults(self) -> list[tuple[Pointer, str]]:
        """List what is no schema (JSON Schema 2020-12): where it stands, and a sentence."""
        schemas = [(*at, key) for at, node in holders(self.root) for key in schemas_of(node)]
        names = self.root.get("components", {}).get("schemas", {})
        schemas += [("components", "schemas", name) for name in names]
        found = {at: sentence for s in schemas for at, sentence in self._misspelt(s)}
        return list(found.items()) or self._uncompilable(schemas)

    def disobedient(self, pairs: Sequence[tuple[Pointer, Any]]) -> set[int]:
        """Judge many instances, each by the schema at its pointer; return which do not obey.

        Compiling costs in proportion to the document: all are judged in one go.
        """
        references = [{"$ref": uri_fragment(pointer)} for pointer, _ in pairs]
        validator = compiled({**self.validation_form, "prefixItems": references or [True]})
        instances = [value for _, value in pairs]
        if validator.is_valid(instances):
            return set()
        return {int(e.instance_path[0]) for e in validator.iter_errors(instances)}

    def _misspelt(self, pointer: Pointer) -> list[tuple[Pointer, str]]:
        """Judge a schema by the meta-schema; return the first fault, if any."""
        node = resolve(self.root, pointer)
        try:
            jsonschema_rs.meta.validate(node if isinstance(node, bool) else {**_DIALECT, **node})
        except jsonschema_rs.ValidationError as error:
            return [((*pointer, *error.instance_path), error.message)]
        return []

    def _uncompilable(self, pointers: list[Pointer]) -> list[tuple[Pointer, str]]:
        """Compile some schemas together; return the first fault that comes up, if any.

        The fault says where it is, but for a reference: then the schemas are halved to find it.
        """
        references = [{"$ref": uri_fragment(pointer)} for pointer in pointers]
        try:
            compiled({**_with_schemas(self.root), "allOf": references or [True]})
        except jsonschema_rs.ValidationError as error:
            if error.instance_path or len(pointers) == 1:
                return [(tuple(error.instance_path) or pointers[0], error.message)]
            half = len(pointers) // 2
            return self._uncompilable(pointers[:half]) or self._uncompilable(pointers[half:])
        return []


_DIALECT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}


class Schema:
    """One schema of a document: it validates, and shows its node to those who generate."""

    def __init__(self, space: SchemaSpace, pointer: Pointer) -> None:
        self.space = space
        self.pointer = pointer

    @property
    def node(self) -> Any:
        """The schema as it stands in the normalised document."""
        return resolve(self.space.root, self.pointer)

    @cached_property
    def properties(self) -> dict[str, Any]:
        """The properties of an object schema, references followed; empty where there are none."""
        properties: dict[str, Any] = _unwrapped(self.space.root, self.node).get("properties", {})
        return properties

    @cached_property
    def is_closed(self) -> bool:
        """Whether an object schema refuses properties that it does not name."""
        return _unwrapped(self.space.root, self.node).get("additionalProperties") is False

    @property
    def standalone(self) -> dict[str, Any]:
        """The schema as one document of its own, its references resolvable inside it."""
        node = self.node if isinstance(self.node, dict) else {"allOf": [self.node]}
        return {**_with_schemas(self.space.root), **node}

    @cached_property
    def _validator(self) -> jsonschema_rs.Draft202012Validator:
        form = self.space.validation_form
        return compiled({"$ref": uri_fragment(self.pointer), **form})

    @cached_property
    def partial(self) -> "Schema":
        """The same schema, but with no property required at its root."""
        return _Partial(self.space, self.pointer)

    def is_valid(self, instance: Any) -> bool:
        """Say whether an instance of JSON data obeys the schema."""
        return self._validator.is_valid(instance)

    def violations(self, instance: Any) -> list[Violation]:
        """List every way in which an instance breaks the schema, in the instance's order.

        Finding them all costs far more than finding one: of an instance with thousands of values
        only the first violation is listed, and never more than a thousand.
        """
        if self._validator.is_valid(instance):
            return []
        found: dict[tuple[Location, str], Violation] = {}
        for violation in islice(self._raw_violations(instance), MOST_VIOLATIONS):
            if (violation.location, violation.keyword) not in found:
                tags = _tags(self.space.root, self.node, instance, violation.location)
                found[violation.location, violation.keyword] = replace(violation, tags=tags)
        order = _Order(instance)
        return sorted(found.values(), key=lambda violation: order.key(violation.location))

    def _raw_violations(self, instance: Any) -> Iterator[Violation]:
        if _has_more_values_than(LARGE, instance):
            excerpt = Excerpt(instance, self._validator.is_valid)
            try:
                self._validator.validate(excerpt.value)
            except jsonschema_rs.ValidationError as first:
                for violation in _violations(first):
                    yield replace(violation, location=excerpt.original(violation.location))
        else:
            for error in self._validator.iter_errors(instance):
                yield from _violations(error)


def compiled(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    """Compile a schema, never asking the network or another file for a part of it.

    Raises jsonschema_rs.ValidationError when it is no schema.
    """
    return jsonschema_rs.Draft202012Validator(schema, retriever=_refuse)


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is not part of the document")


def _with_schemas(root: dict[str, Any]) -> dict[str, Any]:
    """The parts of a document that a `$ref` in a schema may lead into."""
    return {k: v for k, v in root.items() if k in _PARTS or k.startswith("x-")}


_PARTS = {"$defs", "components", "definitions", "paths", "webhooks"}


class _Partial(Schema):
    @cached_property
    def _validator(self) -> jsonschema_rs.Draft202012Validator:
        form = self.space.validation_form
        node = follow(form, resolve(form, self.pointer))
        root = {keyword: value for keyword, value in node.items() if keyword != "required"}
        return jsonschema_rs.Draft202012Validator({**root, **form})


def _has_more_values_than(limit: int, instance: Any) -> bool:
    waiting = [instance]
    while waiting:
        node = waiting.pop()
        inner: Collection[Any] = ()
        if isinstance(node, dict):
            inner = node.values()
        elif isinstance(node, list):
            inner = node
        limit -= len(inner)
        if limit < 0:
            return True
        waiting.extend(inner)
    return False


def _for_validation(schema: dict[str, Any]) -> None:
    """Write a schema, in place, so that the validator's errors say where and what."""
    if schema.get("additionalProperties") is False and "patternProperties" not in schema:
        schema.setdefault("properties", {})  # else the unexpected properties are not named
    _by_discriminator(schema)


def _by_discriminator(schema: dict[str, Any]) -> None:
    discriminator = schema.get("discriminator")
    keyword = next((k for k in ("oneOf", "anyOf") if k in schema), None)
    if not isinstance(discriminator, dict) or keyword is None:
        return
    name = discriminator.get("propertyName")
    branches = _discriminated(schema[keyword], discriminator.get("mapping") or {})
    if not isinstance(name, str) or not branches:
        return
    null = [{"type": "null"}] if {"type": "null"} in schema[keyword] else []
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
    del schema[keyword]
    schema.setdefault("allOf", []).append({"anyOf": [chosen, *null]} if null else chosen)


def _discriminated(branches: list[Any], mapping: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Pair each value of the discriminating property with its branch (OpenAPI 3.1, 4.8.25)."""
    references = [b["$ref"] for b in branches if isinstance(b, dict) and "$ref" in b]
    others = [b for b in branches if b != {"type": "null"}]
    if len(references) != len(others):
        return {}  # a branch without a name cannot be chosen by one
    pairs = {}
    for value, target in mapping.items():
        pairs[value] = target if target.startswith("#") else f"#/components/schemas/{target}"
    for target in references:
        if target not in pairs.values():
            pairs[target.rsplit("/", 1)[-1]] = target
    return {value: {"$ref": target} for value, target in pairs.items()}


def _violations(error: jsonschema_rs.ValidationError) -> Iterable[Violation]:
    kind = error.kind
    context = getattr(kind, "context", None)
    if context and kind.name in ("anyOf", "oneOf"):
        branch = _closest(context, len(error.instance_path))
        if branch is not None:
            for inner in branch:
                yield from _violations(inner)
            return
        types = _wanted_types(context, len(error.instance_path))
        if types:
            message = f"{error.instance!r} is not of types {', '.join(types)}"
            yield Violation(tuple(error.instance_path), "type", types, error.instance, message)
            return
    location = tuple(error.instance_path)
    for name in _property_names(kind):
        value = error.instance.get(name) if isinstance(error.instance, dict) else None
        yield Violation((*location, name), kind.name, None, value, error.message)
    if not _property_names(kind):
        limit = None if kind.name == "propertyNames" else kind.value
        yield Violation(location, kind.name, limit, error.instance, error.message)


def _property_names(kind: Any) -> list[str]:
    """Name the properties that are missing or unexpected."""
    if kind.name == "required":
        return [kind.property]
    if kind.name in ("additionalProperties", "unevaluatedProperties"):
        return list(kind.unexpected)
    return []


def _closest(context: list[list[Any]], depth: int) -> list[Any] | None:
    """Choose the alternative an instance came nearest to.

    That is, null apart: one whose constants fit (`type: text` beside `type: image_url`), then the
    one broken deepest inside, then the one broken least. When every alternative fails at its very
    root with another type, none is nearer.
    """
    branches = [b for b in context if not _only_null(b, depth)]
    if len(branches) == 1:
        return branches[0]
    deeper = [b for b in branches if not any(_wrong_root(e, depth) for e in b)]
    if not deeper:
        return None
    return max(
        deeper,
        key=lambda branch: (
            not any(_wrong_constant(e, depth) for e in branch),
            min(len(e.instance_path) for e in branch),
            -len(branch),
        ),
    )


def _wanted_types(context: list[list[Any]], depth: int) -> list[str]:
    """List the types that alternatives want, when in each the type alone is wrong."""
    types: list[str] = []
    for branch in context:
        if any(e.kind.name != "type" or len(e.instance_path) != depth for e in branch):
            return []
        types.extend(name for e in branch for name in _types(e) if name not in types)
    return types


def _only_null(branch: list[Any], depth: int) -> bool:
    return all(
        e.kind.name == "type" and len(e.instance_path) == depth and _types(e) == ["null"]
        for e in branch
    )


def _wrong_root(error: Any, depth: int) -> bool:
    return error.kind.name in ("type", "const", "enum") and len(error.instance_path) == depth


def _wrong_constant(error: Any, depth: int) -> bool:
    return error.kind.name in ("const", "enum") and len(error.instance_path) == depth + 1


def _types(error: Any) -> list[str]:
    types = error.kind.as_dict().get("types", [])
    return list(types) if isinstance(types, list) else [types]


def _tags(root: dict[str, Any], node: Any, instance: Any, location: Location) -> Tags:
    """Find the discriminated alternatives an instance takes on the way to a location."""
    tags = []
    for depth, token in enumerate(location):
        node = _unwrapped(root, node)
        if isinstance(node.get("discriminator"), dict) and isinstance(instance, dict):
            value = instance.get(node["discriminator"].get("propertyName"))
            keyword = "oneOf" if "oneOf" in node else "anyOf"
            mapping = node["discriminator"].get("mapping") or {}
            branch = _discriminated(node.get(keyword, []), mapping).get(str(value))
            if branch is not None:
                tags.append((depth, str(value)))
                node = _unwrapped(root, branch)
        if isinstance(token, int):
            node = node.get("items")
            known = isinstance(instance, list) and token < len(instance)
            instance = instance[token] if known else None
        else:
            node = node.get("properties", {}).get(token)
            instance = instance.get(token) if isinstance(instance, dict) else None
    return tuple(tags)


def _unwrapped(root: dict[str, Any], node: Any) -> dict[str, Any]:
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
    return [branch for branch in branches if branch != {"type": "null"}]


class _Order:
    """Sorts locations as their places follow each other in an instance."""

    def __init__(self, instance: Any) -> None:
        self._instance = instance
        self._positions: dict[int, dict[str, int]] = {}

    def key(self, location: Location) -> tuple[tuple[int, str], ...]:
        """Return the positions on the way to a location; what is missing comes last."""
        key = []
        node = self._instance
        for token in location:
            if isinstance(node, dict):
                positions = self._positions_in(node)
                key.append((positions.get(str(token), len(positions)), str(token)))
                node = node.get(token)
            else:
                key.append((token if isinstance(token, int) else 0, ""))
                known = isinstance(node, list) and isinstance(token, int) and token < len(node)
                node = node[token] if known else None
        return tuple(key)

    def _positions_in(self, node: dict[str, Any]) -> dict[str, int]:
        if id(node) not in self._positions:
            self._positions[id(node)] = {name: at for at, name in enumerate(node)}
        return self._positions[id(node)]
