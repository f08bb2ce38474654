"""Examples and defaults, judged by the schemas they stand with."""

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..contract import event_data
from ..media_type import essence
from ..pointer import Pointer
from ..schema import Schema
from ..structure import holders, schemas_of, walk_schemas
from ..violations import Violation
from .subject import Place, Rule, Subject, rule

RULES: dict[str, Rule] = {}

# `{BASE64_IMAGE}`, `${API_KEY}`, `{{API_KEY}}`, `<API_KEY>`: something that was to be filled in.
_PLACEHOLDER = re.compile(r"\{[A-Z][A-Z0-9_]{2,}\}|<[A-Z][A-Z0-9]*_[A-Z0-9_]+>")


class _Instance(Struct, frozen=True):
    """An example or a default: where it stands, and the schema of it or of its items."""

    at: Pointer
    label: str
    value: Any
    schema: Pointer | None
    items: Pointer | None = None


class _Trial(Struct, frozen=True):
    """A value to be judged: an instance, an item in it, or the JSON in the item's `data`."""

    instance: _Instance
    location: Pointer
    schema: Schema
    value: Any


@rule(RULES, "example-breaks-schema")
def example_breaks_schema(subject: Subject) -> Iterator[Place]:
    """An example or a default does not obey the schema it stands with."""
    if subject.invalid:
        return  # told by its own rule; nothing can be judged by what is no schema
    trials = [trial for instance in _instances(subject) for trial in _trials(subject, instance)]
    lost = subject.schemas.disobedient([(t.schema.pointer, t.value) for t in trials])
    broken: dict[Pointer, tuple[_Instance, list[Violation]]] = {}
    for trial in (trials[index] for index in sorted(lost)):
        _, violations = broken.setdefault(trial.instance.at, (trial.instance, []))
        violations.extend(_violations(trial))
    for at, (instance, violations) in broken.items():
        if violations:
            yield at, _sentence(instance, violations)


def _sentence(instance: _Instance, violations: list[Violation]) -> str:
    first, *others = violations
    where = "/".join(map(str, first.location))
    place = f" at {where}" if where else ""
    more = f" (and {len(others)} more)" if others else ""
    return f"{instance.label} breaks its own schema{place}: {_short(first.message)}{more}"


@rule(RULES, "example-placeholder")
def example_placeholder(subject: Subject) -> Iterator[Place]:
    """An example holds a placeholder that somebody was to replace by a value."""
    for instance in _instances(subject):
        for location, text in _texts(instance.value, ()):
            if match := _PLACEHOLDER.search(text):
                sentence = f"{instance.label} holds the placeholder {match[0]}"
                yield (*instance.at, *location), sentence


def _violations(trial: _Trial) -> Iterator[Violation]:
    """Find what is wrong with a value, but for its placeholders: another rule tells of them."""
    for violation in trial.schema.violations(trial.value):
        if not (isinstance(violation.value, str) and _PLACEHOLDER.search(violation.value)):
            yield replace(violation, location=(*trial.location, *violation.location))


def _trials(subject: Subject, instance: _Instance) -> Iterator[_Trial]:
    if instance.schema and (schema := subject.schema(instance.schema)):
        yield _Trial(instance, (), schema, instance.value)
    items = subject.schema(instance.items) if instance.items else None
    if items is None or not isinstance(instance.value, list):
        return
    data = event_data(items.space.root, items.pointer)
    for index, item in enumerate(instance.value):
        yield _Trial(instance, (index,), items, item)
        if data is not None and (value := _json_object(item)) is not None:
            yield _Trial(instance, (index, "data"), items.space.at(data), value)


def _json_object(event: Any) -> dict[str, Any] | None:
    """Return the JSON object in an event's `data`.

    None for another text (`[DONE]`, say): whether it may stand here the item schema tells.
    """
    text = event.get("data") if isinstance(event, dict) else None
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _instances(subject: Subject) -> Iterator[_Instance]:
    for at, holder in holders(subject.root):
        schema = (*at, "schema") if "schema" in schemas_of(holder) else None
        items = (*at, "itemSchema") if "itemSchema" in schemas_of(holder) else None
        for where, label, value in _examples(subject, holder, at):
            if not (isinstance(value, str) and (items or not _is_json(at))):
                yield _Instance(where, label, value, schema, items)
    inside: list[_Instance] = []

    def visit(schema: dict[str, Any], at: Pointer) -> None:
        for keyword in ("example", "default"):
            if keyword in schema:
                label = f"the {keyword}"
                inside.append(_Instance((*at, keyword), label, schema[keyword], at))
        examples = schema.get("examples")
        for index, value in enumerate(examples if isinstance(examples, list) else ()):
            label = f"example {index + 1}"
            inside.append(_Instance((*at, "examples", index), label, value, at))

    walk_schemas(subject.root, visit)
    yield from inside


def _examples(
    subject: Subject, holder: dict[str, Any], at: Pointer
) -> Iterator[tuple[Pointer, str, Any]]:
    """Yield the examples of a parameter, header or media type: where, its name, its value."""
    if "example" in holder:
        yield (*at, "example"), "the example", holder["example"]
    for name, example in holder.get("examples", {}).items():
        node = subject.follow(example)
        for key in ("value", "dataValue"):
            if key in node:
                inside = () if "$ref" in example else (key,)
                yield (*at, "examples", name, *inside), f"the example `{name}`", node[key]


def _is_json(at: Pointer) -> bool:
    """Say whether a text that stands as an example is JSON's data, and not a page or a table."""
    if len(at) < 2 or at[-2] != "content":
        return True
    name = essence(str(at[-1]))
    return name == "application/json" or name.endswith("+json")


def _texts(value: Any, at: Pointer) -> Iterator[tuple[Pointer, str]]:
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(inner, (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, (*at, index))


def _short(message: str, most: int = 160) -> str:
    return message if len(message) <= most else f"{message[:most]}…"
