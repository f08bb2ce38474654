"""The examples campaign: what the document itself shows, asked of the subject's model."""

import json
import re
from collections.abc import Iterator
from typing import Any

from wafermock.spec import Contract, Operation
from wafermock.spec.pointer import Pointer, format_pointer

from ..generation.paths import path_values
from ..generation.scene import Scene, scenes
from ..generation.values import Unmakeable
from ..planned import Planned, Subject, plan
from .ordering import at_most, spread
from .telling import LeftOut, Tell, silent

CAMPAIGN = "examples"

# Bodies of the shell samples: curl's `-d '...'`.
_DATA = re.compile(r"(?:-d|--data)\s+'(\{.*?\})'\s*$", re.DOTALL | re.MULTILINE)


def examples(
    contract: Contract,
    subject: Subject,
    seed: int = 0,
    count: int | None = None,
    tell: Tell = silent,
) -> Iterator[Planned]:
    """Plan each example of a request body once, with the model of the subject in it, and each
    operation without a body. The seed changes nothing. `tell` hears what is left out."""
    planned = [*_bodies(contract, subject, tell), *_bodyless(contract, subject, tell)]
    return at_most(
        spread(planned, lambda p: p.operation.id if p.operation else ""),
        count,
    )


def _bodies(contract: Contract, subject: Subject, tell: Tell) -> Iterator[Planned]:
    for scene in scenes(contract, subject.model):
        try:
            values = scene.path_values
        except Unmakeable as reason:
            location = format_pointer(("paths", scene.operation.path, scene.operation.method))
            tell(LeftOut(location, "example", f"no request can be made: {reason}"))
            continue
        seen: list[Any] = []
        for at, value in (*_examples(scene), *_samples(scene)):
            location = format_pointer(at)
            if not isinstance(value, dict):
                tell(LeftOut(location, "example", "it is no object"))
                continue
            body = {**value, "model": subject.model} if "model" in scene.properties else value
            if body in seen:
                continue
            seen.append(body)
            if problem := scene.problem(body):
                tell(LeftOut(location, "example", problem))
                continue
            yield plan(
                scene.operation,
                body,
                subject,
                campaign=CAMPAIGN,
                kind="example",
                location=location,
                path_values=values,
                tokens=scene.tokens(body),
                needs=scene.needs(body),
            )


def _examples(scene: Scene) -> Iterator[tuple[Pointer, Any]]:
    """Yield the examples of the body's media types, and of its schema."""
    operation = scene.operation
    content = operation.request_body.content if operation.request_body else {}
    at: Pointer = ("paths", operation.path, operation.method, "requestBody", "content")
    for name, media_type in content.items():
        for example in media_type.examples.values():
            yield (*at, name, "examples", example.name), example.value
    where, node = scene.values.follow(scene.schema.pointer)
    for index, value in enumerate(node.get("examples", ())):
        yield (*where, "examples", index), value


def _samples(scene: Scene) -> Iterator[tuple[Pointer, Any]]:
    """Yield the bodies of the code samples that are written in shell."""
    operation = scene.operation
    at: Pointer = ("paths", operation.path, operation.method, "x-codeSamples")
    samples = operation.node.get("x-codeSamples")
    for index, sample in enumerate(samples if isinstance(samples, list) else ()):
        source = sample.get("source") if isinstance(sample, dict) else None
        for text in _DATA.findall(source) if isinstance(source, str) else ():
            try:
                yield (*at, index), json.loads(text)
            except ValueError:  # the shell's own words are in it
                continue


def _bodyless(contract: Contract, subject: Subject, tell: Tell) -> Iterator[Planned]:
    for operation in contract.operations:
        if operation.request_body is not None and operation.request_body.required:
            continue
        location = format_pointer(("paths", operation.path, operation.method))
        is_of_models = operation.answer in ("model", "model.list")
        try:
            values = path_values(contract, operation, subject.model)
            _needs_no_more(operation)
        except Unmakeable as reason:
            tell(LeftOut(location, "no body", f"no request can be made: {reason}"))
            continue
        yield plan(
            operation,
            None,
            subject,
            campaign=CAMPAIGN,
            kind="no body",
            location=location,
            path_values=values,
            needs=("models",) if is_of_models else (),
            facts={"optional": not is_of_models},
        )


def _needs_no_more(operation: Operation) -> None:
    """Raise Unmakeable for an operation that wants parameters beside those of its path."""
    for parameter in operation.parameters:
        if parameter.required and parameter.place != "path":
            raise Unmakeable(f"a value for the {parameter.place} parameter {parameter.name}")
