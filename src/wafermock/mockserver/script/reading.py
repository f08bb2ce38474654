"""From the data of a script to its rules; what is wrong is told, with its place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wafermock.spec.document import Document, DocumentError
from wafermock.spec.pointer import Pointer, parse_pointer

from ..draws import digest
from .budget import TemplateError
from .catalogues import Catalogues
from .matching import Match, read_match
from .outcome import VARIABLES, Content, Outcome, Plain, Prepared, Structured, Templated, tool_call
from .rule import Rule, Scenario, Step
from .schema import faults as schema_faults
from .whole import read_headers, read_whole

if TYPE_CHECKING:
    from ..pace import Pace
    from ..wire.catalogue import Chosen

Fault = Callable[[str, Pointer], None]

# The ways to say what is answered; of each set a reply takes one at most.
_TEXTS = ("text", "json", "template")
_WHOLES = ("body", "file", "parts")


def read_rules(
    document: Document, catalogues: Catalogues
) -> tuple[list[Rule], list[Path], list[DocumentError]]:
    """Read the rules of a file, the files that they take answers from, and all that is wrong.

    A file that breaks the schema has no rules; those of its rules that do not are looked into all
    the same, so that what is wrong with them is told at once.
    """
    wrong = schema_faults(document)
    broken = {fault.pointer[1] for fault in wrong if fault.pointer and len(fault.pointer) > 1}
    found: list[DocumentError] = []

    def fault(sentence: str, place: Pointer) -> None:
        found.append(document.error(sentence, place))

    reader = _Reader(document, catalogues, fault)
    listed = document.root.get("rules")
    rules = [
        reader.rule(at, value)
        for at, value in enumerate(listed if isinstance(listed, list) else ())
        if at not in broken
    ]
    if wrong:
        return [], [], sorted([*wrong, *found], key=lambda error: error.line or 0)
    return rules, reader.files, found


class _Reader:
    def __init__(self, document: Document, catalogues: Catalogues, fault: Fault) -> None:
        self._document = document
        self._catalogues = catalogues
        self._fault = fault
        self.files: list[Path] = []

    def rule(self, at: int, value: Mapping[str, Any]) -> Rule:
        place: Pointer = ("rules", at)
        name = value.get("name", f"{self._document.path.name}#{at + 1}")
        return Rule(
            name=name,
            match=self._match(value.get("match", {}), (*place, "match")),
            steps=self._steps(value, place),
            then=value.get("then", "repeat"),
            times=_whole(value.get("times")),
            after=int(value.get("after", 0)),
            scenario=_scenario(value.get("scenario")),
            file=str(self._document.path),
            line=self._document.line_of(place) or 0,
            # Written by Python's own writer: a rule may be megabytes long.
            identity=digest(name, json.dumps(value, sort_keys=True)),
        )

    def _match(self, value: Mapping[str, Any], place: Pointer) -> Match:
        if "operation" in value:
            try:
                self._catalogues.check_operations(value["operation"])
            except ValueError as error:
                self._fault(str(error), (*place, "operation"))
        return read_match(value, self._below(place))

    def _below(self, place: Pointer) -> Fault:
        return lambda sentence, below: self._fault(sentence, (*place, *below))

    def _steps(self, value: Mapping[str, Any], place: Pointer) -> tuple[Step, ...]:
        if ("reply" in value) == ("sequence" in value):
            both = "`reply` and `sequence` exclude each other"
            neither = "a rule needs a `reply`, or a `sequence` of them"
            self._fault(both if "reply" in value else neither, place)
            return ()
        if "then" in value and "sequence" not in value:
            self._fault("`then` says what follows a `sequence`", (*place, "then"))
        if "reply" in value:
            return (Step(self._reply(value["reply"], (*place, "reply"))),)
        return tuple(
            Step(self._reply(item, (*place, "sequence", at)), int(item.get("times", 1)))
            for at, item in enumerate(value["sequence"])
        )

    def _reply(self, value: Mapping[str, Any], place: Pointer) -> Prepared:
        self._check_together(value, place)
        if "file" in value:
            self.files.append(self._document.path.parent / value["file"])
        error = value.get("error")
        error = {"name": error} if isinstance(error, str) else error or {}
        values = error.get("values", {})
        if error:
            try:
                self._catalogues.check_error(error["name"], values)
            except ValueError as wrong:
                self._fault(str(wrong), (*place, "error"))
        return Prepared(
            content=self._content(value, place),
            reasoning=value.get("reasoning", ""),
            tool_calls=tuple(map(tool_call, value.get("tool_calls", ()))),
            answer=read_whole(value, self._document.path.parent, self._below(place)),
            error=error.get("name"),
            values=values,
            headers=read_headers(error.get("headers", {}), self._below((*place, "error"))),
            extras=self._extras(value, place),
            arguments=self._arguments(value.get("tool_calls", ()), (*place, "tool_calls")),
        )

    def _arguments(self, calls: Sequence[Mapping[str, Any]], place: Pointer) -> dict[int, Content]:
        """Read the arguments that are made of the request."""
        found = {}
        for at, call in enumerate(calls):
            if "template" not in call:
                continue
            if "arguments" in call:
                both = "`arguments` and `template` cannot both be sent"
                self._fault(both, (*place, at, "template"))
            elif content := self._template(call["template"], (*place, at, "template")):
                found[at] = content
        return found

    def _check_together(self, value: Mapping[str, Any], place: Pointer) -> None:
        """Tell what cannot be said in one reply."""
        words = [k for k in (*_TEXTS, "reasoning", "tool_calls") if k in value]
        kinds = [k for k in ("canned", "error", *_WHOLES) if k in value] + words[:1]
        texts = [k for k in _TEXTS if k in value]
        for named in (kinds, texts):
            if len(named) > 1:
                listed = " and ".join(f"`{k}`" for k in named)
                self._fault(f"{listed} cannot both be answered", (*place, named[1]))
                return
        whole = any(k in value for k in _WHOLES)
        for key in ("status", "headers"):
            if key in value and not whole:
                needs = "`body`, `file` or `parts`"
                hint = "; headers of an error stand in it" if key in value.get("error", ()) else ""
                self._fault(f"`{key}` goes with {needs}{hint}", (*place, key))
        if "pace" in value and (whole or "error" in value):
            what = "`pace` is for words; a whole answer has `parts` with times, or a `failure`"
            self._fault(what, (*place, "pace"))

    def _content(self, value: Mapping[str, Any], place: Pointer) -> Content | None:
        if "text" in value:
            return Plain(value["text"])
        if "template" in value:
            return self._template(value["template"], (*place, "template"))
        if "json" not in value:
            return None
        schema = value["json"]
        if schema is True:
            return Structured()
        self._check_schema(schema, (*place, "json"))
        return Structured(schema)

    def _template(self, source: str, place: Pointer) -> Content | None:
        from .template import Template

        try:
            return Templated(Template(source, VARIABLES))
        except TemplateError as error:
            where = f"line {error.line} of the template: " if error.line else ""
            self._fault(where + error.message, place)
            return None

    def _check_schema(self, schema: Any, place: Pointer) -> None:
        """Make an instance now: a schema without one is found out before a request comes."""
        from ..instances import SchemaError, make_instance

        try:
            make_instance(schema, digest("script"))
        except SchemaError as error:
            self._fault(error.reason, (*place, *parse_pointer(error.pointer)))

    def _extras(self, value: Mapping[str, Any], place: Pointer) -> Outcome:
        chosen: dict[str, tuple[Chosen, ...]] = {}
        for kind in ("delivery", "failure", "defect"):
            if kind in value:
                try:
                    chosen[kind] = self._catalogues.choose(kind, value[kind])
                except ValueError as error:
                    self._fault(str(error), (*place, kind))
        return Outcome(
            pace=self._pace(value.get("pace"), (*place, "pace")),
            delivery=chosen.get("delivery", ()),
            failure=chosen.get("failure", ()),
            defect=chosen.get("defect", ()),
        )

    def _pace(self, value: Mapping[str, Any] | None, place: Pointer) -> Pace | None:
        from ..pace import read_pace

        if value is None:
            return None
        texts = {k: _text(value[k]) for k in ("ttft", "tokens_per_second", "jitter") if k in value}
        try:
            return read_pace(**texts, model_speed=value.get("model_speed", False))
        except ValueError as error:
            # The sentence names an option of the command line; here it is a key.
            sentence = re.sub(r"--[a-z-]+", lambda m: m[0][2:].replace("-", "_"), str(error))
            self._fault(sentence, place)
            return None


def _scenario(value: Mapping[str, str] | None) -> Scenario | None:
    return (
        None if value is None else Scenario(value["name"], value.get("state"), value.get("goes_to"))
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)  # 2.0 is a whole number of JSON Schema


def _text(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.9f}".rstrip("0").rstrip(".")
