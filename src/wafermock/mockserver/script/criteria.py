"""The conditions on a request, each of which says in what a request differs from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from .conditions import Count, Globs, Text
from .names import unknown
from .patterns import linear, without_surrogates
from .subject import Message, Subject

# How much of a value a difference shows, in characters.
SHOWN = 200


class Difference(Struct, frozen=True):
    """One condition that a request does not meet: which, what it wants, what the request has.

    `field` is the condition's place below `match`, as `last` or `header.x-test`.
    """

    field: str
    expected: str
    actual: str

    def __str__(self) -> str:
        return f"{self.field}: expected {_cut(self.expected)}, got {_cut(self.actual)}"


class Condition:
    """One condition of a rule. `field` is its place below `match`."""

    field: str

    def difference(self, subject: Subject) -> Difference | None:
        """Return what is wrong with a request, None where it meets the condition. Never raises."""
        raise NotImplementedError


class Names(Struct, Condition, frozen=True):
    """Some name of the request must fit a glob."""

    field: str
    wanted: Globs
    names: Callable[[Subject], Sequence[str]]

    def difference(self, subject: Subject) -> Difference | None:
        names = self.names(subject)
        if any(map(self.wanted.fits, names)):
            return None
        return Difference(self.field, str(self.wanted), _shown(" or ".join(names)))


class Stream(Struct, Condition, frozen=True):
    """The answer must be wanted as a stream, or whole."""

    wanted: bool
    field: str = "stream"

    def difference(self, subject: Subject) -> Difference | None:
        if subject.stream is self.wanted:
            return None
        return Difference(self.field, json.dumps(self.wanted), json.dumps(subject.stream))


class Turn(Struct, Condition, frozen=True):
    """It must be a certain turn of the conversation."""

    wanted: Count
    field: str = "turn"

    def difference(self, subject: Subject) -> Difference | None:
        if self.wanted.fits(subject.turn):
            return None
        return Difference(self.field, str(self.wanted), str(subject.turn))


class Said(Struct, frozen=True):
    """A condition on one message; None stands for every role."""

    text: Text
    role: str | None = None

    def fits(self, message: Message) -> bool:
        return self.role in (None, message.role) and self.text.fits(message.text)

    def __str__(self) -> str:
        whose = f"the {self.role}'s text" if self.role else "a text that"
        return f"{whose} {self.text}"


class Last(Struct, Condition, frozen=True):
    """The last message, or the last of a role, must say something."""

    wanted: Said
    field: str = "last"

    def difference(self, subject: Subject) -> Difference | None:
        message = subject.last(self.wanted.role)
        if message is not None and self.wanted.fits(message):
            return None
        whose = f" of the {self.wanted.role}" if self.wanted.role else ""
        actual = f"no message{whose}" if message is None else _quoted(message.text)
        return Difference(self.field, str(self.wanted), actual)


class Some(Struct, Condition, frozen=True):
    """Some message must say something."""

    field: str
    wanted: Said

    def difference(self, subject: Subject) -> Difference | None:
        if any(map(self.wanted.fits, subject.messages)):
            return None
        roles = ", ".join(message.role or "?" for message in subject.messages[:20])
        count = len(subject.messages)
        actual = f"none of {count} messages ({roles})" if count else "no message"
        return Difference(self.field, str(self.wanted), _cut(actual))


class Result(Struct, Condition, frozen=True):
    """A tool must have answered last."""

    text: Text
    name: Globs | None = None
    field: str = "tool_result"

    def difference(self, subject: Subject) -> Difference | None:
        results = subject.results
        for result in results:
            if (self.name is None or self.name.fits(result.function)) and self.text.fits(
                result.text
            ):
                return None
        wanted = f"a result of {self.name}" if self.name else "a result"
        if not results:
            last = subject.last()
            said = f"a message of the {last.role or '?'}" if last else "no message"
            return Difference(self.field, f"{wanted} that {self.text}", f"{said} at the end")
        actual = "; ".join(f"{r.function or '?'}: {_quoted(r.text)}" for r in results[:5])
        return Difference(self.field, f"{wanted} that {self.text}", _cut(actual))


class Key(Struct, Condition, frozen=True):
    """The API key must be a certain one. No message shows the key that came."""

    wanted: Text
    field: str = "api_key"

    def difference(self, subject: Subject) -> Difference | None:
        if self.wanted.fits(subject.api_key):
            return None
        actual = f"another key of {len(subject.api_key)} characters"
        return Difference(self.field, "the key of the rule", actual if subject.api_key else "none")


class Header(Struct, Condition, frozen=True):
    """A header must be there, be absent, or say something."""

    name: str
    wanted: Text | bool

    @property
    def field(self) -> str:  # type: ignore[override]
        return f"header.{self.name}"

    def difference(self, subject: Subject) -> Difference | None:
        value = subject.request.headers.get(self.name)
        if isinstance(self.wanted, bool):
            if (value is not None) is self.wanted:
                return None
        elif value is not None and self.wanted.fits(value):
            return None
        if isinstance(self.wanted, bool):
            expected = "to be there" if self.wanted else "not to be there"
        else:
            expected = str(self.wanted)
        if value is None:
            return Difference(self.field, expected, "no such header")
        actual = _quoted(value) if self.name in subject.headers else "another secret"
        return Difference(self.field, expected, actual)


class Recorded(Struct, Condition, frozen=True):
    """The request must be one that was recorded."""

    digest: str
    field: str = "recorded"

    def difference(self, subject: Subject) -> Difference | None:
        if subject.recorded == self.digest:
            return None
        return Difference(self.field, self.digest, subject.recorded)


_TRUE: Any = object()


class Expression(Condition):
    """A JMESPath expression over the body must give a value, or anything that counts as true.

    Raises ValueError for what is no expression, or calls a function that there is not.
    """

    def __init__(self, source: str, wanted: Any = _TRUE) -> None:
        import jmespath
        from jmespath.exceptions import JMESPathError

        self.field = f"jmespath {source}"
        self._wanted = wanted
        try:
            self._compiled = jmespath.compile(source)
        except JMESPathError as error:
            reason = " ".join(str(error).split()) or "it is empty"
            raise ValueError(f"not JMESPath: {reason}") from None
        except RecursionError:
            raise ValueError("not JMESPath that can be read: nested too deep") from None
        _check_functions(self._compiled.parsed)

    def difference(self, subject: Subject) -> Difference | None:
        from jmespath.exceptions import JMESPathError

        expected = "something true" if self._wanted is _TRUE else _shown_json(self._wanted)
        try:
            actual = self._compiled.search(subject.body)
            fits = _is_true(actual) if self._wanted is _TRUE else _same(actual, self._wanted)
        # A function of JMESPath may get what its type cannot do: such a body is just another one.
        except (JMESPathError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            return Difference(self.field, expected, _cut(f"an error: {error}"))
        except RecursionError:
            return Difference(self.field, expected, "an error: the body is nested too deep")
        return None if fits else Difference(self.field, expected, _shown_json(actual))


def _check_functions(tree: Any) -> None:
    """Raise ValueError for a call that fails on every body: jmespath looks at names late."""
    from jmespath.functions import Functions

    known = Functions.FUNCTION_TABLE
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, dict):  # an index, the ends of a slice
            continue
        waiting.extend(reversed(node["children"]))
        if node["type"] != "function_expression":
            continue
        name, given = node["value"], len(node["children"])
        if name not in known:
            raise ValueError(unknown("function", name, known))
        takes = known[name]["signature"]
        open_ended = bool(takes) and takes[-1].get("variadic", False)
        if given < len(takes) or (given > len(takes) and not open_ended):
            least = "at least " if open_ended else ""
            raise ValueError(f"{name}() takes {least}{len(takes)} arguments, not {given}")


def _is_true(value: Any) -> bool:
    """Say whether a value counts as true in JMESPath: 0 does, an empty text does not."""
    return bool(value) or (isinstance(value, int | float) and not isinstance(value, bool))


def _same(one: Any, other: Any) -> bool:
    """Compare JSON values: `true` is not 1, but 1.0 is 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


class Obeys(Condition):
    """The body must obey a JSON Schema. Raises ValueError for what is none."""

    field = "schema"

    def __init__(self, schema: Any) -> None:
        import jsonschema_rs

        try:
            self._validator = jsonschema_rs.Draft202012Validator(
                schema, retriever=_refuse, pattern_options=linear()
            )
        except ValueError as error:
            reason = str(error).partition("\n")[0]
            raise ValueError(f"not a JSON Schema (2020-12): {reason}") from None

    def difference(self, subject: Subject) -> Difference | None:
        body = subject.body
        try:
            if self._validator.is_valid(body):
                return None
            actual = next(self._reasons(body), "it does not")
        except (ValueError, OverflowError, RecursionError):  # what the validator cannot read
            actual = "a body that the validator cannot read"
        return Difference(self.field, "a body that obeys the schema", _cut(actual))

    def _reasons(self, body: Any) -> Iterator[str]:
        from wafermock.spec.pointer import format_pointer

        for error in self._validator.iter_errors(body):
            yield f"{format_pointer(error.instance_path)}: {error.message}"


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is not part of the schema")


def _quoted(text: str) -> str:
    return repr(_cut(without_surrogates(text)))


def _shown(text: str) -> str:
    return _quoted(text) if text else "none"


def _shown_json(value: Any) -> str:
    try:
        return _cut(json.dumps(value, ensure_ascii=False))
    except (ValueError, TypeError, RecursionError):
        return f"a value of the type {type(value).__name__}"


def _cut(text: str) -> str:
    text = without_surrogates(text)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
