"""The last word on every instance: the jsonschema-rs validator of the whole schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .charset import RegexSyntax
from .dialects import JSON, METASCHEMA, escape, metaschema_documents
from .document import leads_out
from .errors import InvalidSchema, Reason
from .regex import parse, weight
from .regex_text import pattern_options

_ABSENT = re.compile(r"Resource '([^']*)' is not present")


_TURNING = frozenset({"not", "oneOf", "if", "maxContains", "dependencies"})
_DRAFTS = {4: "Draft4", 6: "Draft6", 7: "Draft7", 2019: "Draft201909", 2020: "Draft202012"}


class Validation:
    """A compiled schema. Formats are asserted where an instance with them can be had.

    `resources` are documents that references may lead to, by URI; `draft` is what they are written
    in unless they say so. Raises `InvalidSchema`.
    """

    def __init__(self, schema: JSON, resources: Mapping[str, JSON], draft: int) -> None:
        self._schema = schema
        self._resources = dict(resources)
        self._draft = draft
        self._strict = self._build(formats=True)
        words = {name for name, _ in members([schema, *resources.values()])}
        # Where formats are an assertion, `not` and `oneOf` may turn on them.
        turned = "format" in words and not words.isdisjoint(_TURNING)
        self._plain: Any = self._build(formats=False) if turned else None

    def fault(self, value: JSON) -> Reason | None:
        """What is wrong with an instance; None where nothing is, formats apart."""
        try:
            plain = self._plain or self._strict
            if plain.is_valid(value):
                return None
            if self._plain is None:
                plain = self._plain = self._build(formats=False)
                if plain.is_valid(value):
                    return None
            error = next(iter(plain.iter_errors(value)))
        except ValueError as failed:  # a pattern that the engine gives up on
            return Reason("", f"the validator gives up: {str(failed).splitlines()[0]}")
        pointer = "".join("/" + escape(str(token)) for token in error.schema_path)
        return Reason(pointer, f"no instance was found that meets this: {error.message}"[:400])

    def formatted(self, value: JSON) -> bool:
        """Whether a valid instance is valid with formats asserted, too."""
        try:
            return bool(self._strict.is_valid(value))
        except ValueError:
            return False

    def _build(self, *, formats: bool) -> Any:
        import jsonschema_rs

        while True:
            options: dict[str, Any] = {"offline": True}
            try:
                if self._resources:
                    draft = getattr(jsonschema_rs, _DRAFTS[self._draft])
                    registry = jsonschema_rs.Registry(list(self._resources.items()), draft=draft)
                    options = {"registry": registry}
                return jsonschema_rs.validator_for(
                    self._schema,
                    validate_formats=formats,
                    pattern_options=pattern_options(),  # type: ignore[arg-type]
                    **options,
                )
            except ValueError as error:
                # The validator knows the metaschemas of the schema's own draft, not the others.
                missing = METASCHEMA.search(str(error))
                known = missing and missing.group() in self._resources
                if missing is None or known or not _ABSENT.search(str(error)):
                    raise _invalid(error) from error
                self._resources.update(metaschema_documents(missing.group()))


def _invalid(error: ValueError) -> InvalidSchema:
    message = (getattr(error, "message", None) or str(error)).splitlines()[0]
    absent = _ABSENT.search(message)
    if absent:
        return InvalidSchema("", leads_out(absent.group(1)))
    path = getattr(error, "instance_path", [])
    pointer = "".join("/" + escape(str(token)) for token in path)
    return InvalidSchema(pointer, message[:400])


def members(values: list[JSON]) -> Iterator[tuple[str, JSON]]:
    """Every member within the values, name and value."""
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield from value.items()
            waiting.extend(v for v in value.values() if isinstance(v, dict | list))
        elif isinstance(value, list):
            waiting.extend(v for v in value if isinstance(v, dict | list))


def patterns_weight(values: list[JSON]) -> int:
    """How large all the patterns within the schemas are, to be compiled; see `regex.weight`."""
    found: set[str] = set()
    for name, value in members(values):
        if name == "pattern" and isinstance(value, str):
            found.add(value)
        elif name == "patternProperties" and isinstance(value, dict):
            found.update(value)
    return sum(_weight(pattern) for pattern in found)


def _weight(pattern: str) -> int:
    try:
        return weight(parse(pattern))
    except RegexSyntax:
        return len(pattern)
