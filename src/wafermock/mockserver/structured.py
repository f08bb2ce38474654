"""Structured outputs: JSON made for a schema that came with the request."""

import json
from collections import OrderedDict
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

from . import bounds
from .draws import digest
from .refusal import Refusal

if TYPE_CHECKING:
    from .instances import InstanceMaker

# A client sends the same schema again and again; the last ones stay compiled.
_KEPT = 64
_compiled: OrderedDict[bytes, "Compiled"] = OrderedDict()
_lock = Lock()

# What `json_object` answers: any object will do, so a plain one that reads well.
_PLAIN_OBJECT = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "summary": {"type": "string"}},
    "required": ["title", "summary"],
}


def wanted_schema(body: dict[str, Any]) -> Any:
    """Return the schema that the content must obey; None where it may be any text."""
    response_format = body.get("response_format") or {}
    if response_format.get("type") == "json_object":
        return _PLAIN_OBJECT
    if response_format.get("type") == "json_schema":
        schema = response_format["json_schema"].get("schema")
        return _PLAIN_OBJECT if schema is None else schema
    return None


class Compiled:
    """A schema that a client sent, made ready: what makes its instances, and what judges them.

    `length` is that of the schema as JSON, in characters.
    """

    def __init__(self, schema: Any, length: int) -> None:
        self._schema = schema
        self.length = length

    def maker(self, share: int) -> "InstanceMaker":
        """Return what makes the instances, each with one of so many shares of the work."""
        if share not in self._makers:
            from .instances import Bounds, InstanceMaker

            steps = max(Bounds().steps // share, 1)
            self._makers[share] = InstanceMaker(self._schema, bounds=Bounds(steps=steps))
        return self._makers[share]

    @cached_property
    def _makers(self) -> "dict[int, InstanceMaker]":
        return {}

    @cached_property
    def _validator(self) -> Any:
        import jsonschema_rs

        try:
            return jsonschema_rs.validator_for(self._schema, offline=True)
        except ValueError:
            return None

    def accepts(self, value: Any) -> bool:
        """Say whether the schema accepts a value; what is no schema accepts none."""
        try:
            return self._validator is not None and bool(self._validator.is_valid(value))
        except ValueError:  # a pattern that the engine gives up on
            return False


def compiled(schema: Any) -> Compiled:
    """Return a schema made ready, once for the schemas used last. Raises Refusal for a huge one."""
    text = json.dumps(schema)
    bounds.bound("the length of the schema in characters", len(text), bounds.LONGEST_SCHEMA)
    # The order of keys counts here: instances follow the order of `properties`.
    key = digest(text.encode())
    with _lock:
        if key in _compiled:
            _compiled.move_to_end(key)
            return _compiled[key]
        made = _compiled[key] = Compiled(schema, len(text))
        while len(_compiled) > _KEPT:
            _compiled.popitem(last=False)
    return made


class Instances:
    """Makes the instances of one schema that one answer needs, in bounded time altogether.

    `where` names the schema in errors. The first instance may cost as much as the bounds of
    instances allow, all others together as much again; where one of them would cost more, the
    first is used once more.
    """

    def __init__(self, schema: Any, wanted: int = 1, where: str = "") -> None:
        self._ready = compiled(schema)
        read = self._ready.length * wanted
        bounds.bound("n times the length of the schema", read, bounds.LONGEST_SCHEMAS)
        self._share = max(1, wanted - 1)
        self._where = where
        self._first: list[Any] = []
        self._spent = False

    def make(self, voice: bytes) -> Any:
        """Make an instance. Raises Refusal when there can be none."""
        if not self._first:
            self._first.append(self._full(voice))
            return self._first[0]
        from .instances import SchemaError

        if not self._spent:
            try:
                return self._ready.maker(self._share).make(voice)
            except SchemaError:
                self._spent = True
        return self._first[0]

    def text(self, voice: bytes) -> str:
        """Make an instance, written as JSON. Raises Refusal when there can be none."""
        return json.dumps(self.make(voice), ensure_ascii=False)

    def accepts(self, value: Any) -> bool:
        """Say whether the schema accepts a value."""
        return self._ready.accepts(value)

    def _full(self, voice: bytes) -> Any:
        from .instances import SchemaError, TooLarge

        try:
            return self._ready.maker(1).make(voice)
        except TooLarge as error:
            what = "the work for an instance" if error.keyword == "work" else error.keyword
            name = f"{what} at {self._place(error.pointer)}"
            raise Refusal("bounds_exceeded", name=name, value="larger", limit=error.bound) from None
        except SchemaError as error:
            place = self._place(error.pointer)
            raise Refusal("unsatisfiable_schema", pointer=place, reason=error.reason) from None

    def _place(self, pointer: str) -> str:
        return f"{self._where}{pointer}" or "/"
