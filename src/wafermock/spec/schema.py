"""The schemas of a document, compiled once each."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import jsonschema_rs
from msgspec.structs import replace

from .alternatives import discriminate, unwrapped
from .excerpt import Excerpt, is_large
from .pointer import Pointer, copy_json, resolve, uri_fragment
from .references import follow
from .structure import holders, schemas_of, walk_schemas
from .violations import Location, Violation, in_order, tags_on, violations_in

# What the document is called among validators.
_DOCUMENT = "urn:wafermock:document"

# So many violations are listed at the most.
MOST_VIOLATIONS = 1_000


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
        """The document with its schemas written so that a validator's errors say what is wrong."""
        if self._validation_form is not None:  # worked out before, see load.py
            return self._validation_form
        form: dict[str, Any] = copy_json(_with_schemas(self.root))
        walk_schemas(form, lambda schema, _: _for_validation(schema))
        return form

    def validator(self, pointer: Pointer) -> jsonschema_rs.Draft202012Validator:
        """Compile the schema at a pointer. Raises jsonschema_rs.ValidationError when it is none."""
        schema = {"$ref": _DOCUMENT + uri_fragment(pointer)}
        return jsonschema_rs.Draft202012Validator(schema, registry=self._registry)

    @cached_property
    def _registry(self) -> jsonschema_rs.Registry:
        """The document, read once for all its schemas: to read it costs as much as to compile."""
        return jsonschema_rs.Registry([(_DOCUMENT, self.validation_form)], retriever=_refuse)

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
        properties: dict[str, Any] = unwrapped(self.space.root, self.node).get("properties", {})
        return properties

    @cached_property
    def is_closed(self) -> bool:
        """Whether an object schema refuses properties that it does not name."""
        return unwrapped(self.space.root, self.node).get("additionalProperties") is False

    @property
    def standalone(self) -> dict[str, Any]:
        """The schema as one document of its own, its references resolvable inside it."""
        node = self.node if isinstance(self.node, dict) else {"allOf": [self.node]}
        return {**_with_schemas(self.space.root), **node}

    @cached_property
    def _validator(self) -> jsonschema_rs.Draft202012Validator:
        return self.space.validator(self.pointer)

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
                tags = tags_on(self.space.root, self.node, instance, violation.location)
                found[violation.location, violation.keyword] = replace(violation, tags=tags)
        return in_order(found.values(), instance)

    def _raw_violations(self, instance: Any) -> Iterator[Violation]:
        if is_large(instance):
            excerpt = Excerpt(instance, self._validator.is_valid)
            try:
                self._validator.validate(excerpt.value)
            except jsonschema_rs.ValidationError as first:
                for violation in violations_in(first):
                    yield replace(violation, location=excerpt.original(violation.location))
        else:
            for error in self._validator.iter_errors(instance):
                yield from violations_in(error)


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
        return compiled({**root, **form})


def _for_validation(schema: dict[str, Any]) -> None:
    """Write a schema, in place, so that the validator's errors say where and what."""
    if schema.get("additionalProperties") is False and "patternProperties" not in schema:
        schema.setdefault("properties", {})  # else the unexpected properties are not named
    discriminate(schema)
