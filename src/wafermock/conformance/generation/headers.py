"""Sides of the constraints on header parameters; the body of the request is the least."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from wafermock.spec.operation import Parameter

from .places import Place
from .scene import Scene
from .sides import LeftOut, Side, sides
from .values import Unmakeable

# The value of this one says how the body is coded: mutations of the body are about that.
_ABOUT_THE_BODY = {"content-encoding"}


@dataclass(frozen=True)
class HeaderSide:
    """A value of a header on one side of a constraint."""

    scene: Scene
    name: str
    side: Side


def header_sides(scene: Scene) -> Iterator[HeaderSide | LeftOut]:
    """Yield a value for each side of each constraint on the operation's headers."""
    for parameter in scene.operation.parameters:
        if parameter.place == "header" and parameter.name.lower() not in _ABOUT_THE_BODY:
            yield from _sides(scene, parameter)


def _sides(scene: Scene, parameter: Parameter) -> Iterator[HeaderSide | LeftOut]:
    if parameter.schema is None:
        return
    try:
        at, node = scene.values.follow(parameter.schema.pointer)
    except Unmakeable:
        return
    if not isinstance(node, dict):
        return
    for side in sides(scene, Place(at, node, parameter.name, lambda value: (value, ()))):
        if isinstance(side, LeftOut):
            yield side
        elif _is_field(side.value):
            readings = (side.value, _meant(side.value))
            if any(scene.values.admits(at, value) for value in readings) == side.valid:
                yield HeaderSide(scene, parameter.name, side)


def _is_field(value: object) -> bool:
    """Say whether a value can be sent as that of a header (RFC 9110, section 5.5)."""
    return (
        isinstance(value, str)
        and value.isascii()
        and value.isprintable()
        and value == value.strip()
        and bool(value)
    )


def _meant(text: str) -> object:
    """Read a text as the JSON it may be: a header that wants a number is written in digits."""
    try:
        return json.loads(text)
    except ValueError:
        return text
