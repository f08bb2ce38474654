"""What a rule asks of a request, from keywords: `last_user=contains("weather")`.

The conditions are those of scripts, and matched by them; this module only reads keywords. Two
differ from a script's: `last_user` wants the user to have the last word, so that a rule for a
question does not answer the tool's result that comes after it, and `where` is a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from wafermock.spec import Contract

from ..script.conditions import Text
from ..script.criteria import Condition, Difference, Expression, Last, Said, Some
from ..script.matching import Match, read_match
from ..script.subject import Subject
from .matchers import Matcher, NumberMatcher
from .request import ClientRequest


def read_criteria(given: Mapping[str, Any], contract: Contract) -> Match:
    """Read keywords. Raises TypeError for one that there is not, or for a value of a type that it
    does not take; ValueError for a value that cannot be used. Each message says what there is."""
    conditions: list[Condition] = []
    for name, value in given.items():
        if name not in CRITERIA:
            raise TypeError(unknown("criterion", name, CRITERIA))
        try:
            conditions += CRITERIA[name](value, contract)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}={value!r}: {error}") from None
    return Match(conditions)


def written(given: Mapping[str, Any]) -> str:
    """Write keywords as they stand in the call: `last_user=contains('x'), model='y'`."""
    return ", ".join(f"{name}={_shown(value)}" for name, value in given.items())


def shortened(text: str, most: int = 120) -> str:
    """Cut a text that is to be read in a line."""
    return text if len(text) <= most else f"{text[:most]}…)"


def unnamed(call: str, example: str) -> TypeError:
    """Say that a value wants a name before it."""
    return TypeError(f"{call} takes what it is given by name: {example}")


def unknown(noun: str, name: str, known: Iterable[str]) -> str:
    """Say that a name is not known, which one may be meant, and which there are."""
    import difflib

    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    meant = f", did you mean {close[0]!r}?" if close else ""
    return f"there is no {noun} {name!r}{meant} (there are: {', '.join(names)})"


def public_names(kind: type) -> list[str]:
    """List what a class has for its users."""
    return [name for name in dir(kind) if not name.startswith("_")]


class LastUser(Condition):
    """The user has the last word, and says something."""

    field = "last_user"

    def __init__(self, text: Text) -> None:
        self._said = Last(Said(text, "user"), self.field)

    def difference(self, subject: Subject) -> Difference | None:
        results = subject.results
        if results:
            names = ", ".join(result.function or "?" for result in results)
            expected = str(self._said.wanted)
            return Difference(self.field, expected, f"a tool's result after it ({names})")
        return self._said.difference(subject)


class System(Condition):
    """A message of the system, or of the developer, says something."""

    field = "system"

    def __init__(self, text: Text) -> None:
        self._ways = [Some(self.field, Said(text, role)) for role in ("system", "developer")]

    def difference(self, subject: Subject) -> Difference | None:
        found = [way.difference(subject) for way in self._ways]
        return found[0] if all(found) else None


class Where(Condition):
    """A function of the request returns something true."""

    field = "where"

    def __init__(self, function: Callable[[ClientRequest], object]) -> None:
        self._function = function

    def difference(self, subject: Subject) -> Difference | None:
        expected = f"{_shown(self._function)} to be true"
        try:
            answered = self._function(ClientRequest(subject))
        except Exception as error:
            return Difference(self.field, expected, f"{type(error).__name__}: {error}")
        return None if answered else Difference(self.field, expected, repr(answered))


class BodyText(Condition):
    """What an expression finds in the body is a text of some kind."""

    def __init__(self, source: str, matcher: Matcher) -> None:
        import jmespath

        self.field = Expression(source).field  # which says what is wrong with an expression
        self._compiled = jmespath.compile(source)
        self._text = Text.read(matcher.condition)
        self._matcher = matcher

    def difference(self, subject: Subject) -> Difference | None:
        from jmespath.exceptions import JMESPathError

        try:
            found = self._compiled.search(subject.body)
        except (JMESPathError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            return Difference(self.field, repr(self._matcher), f"an error: {error}"[:200])
        if isinstance(found, str) and self._text.fits(found):
            return None
        if found is not None and not self._matcher.condition:  # anything
            return None
        return Difference(self.field, repr(self._matcher), repr(found)[:200])


# ---------------------------------------------------------------------- reading values


def _condition(value: Any) -> str | dict[str, Any]:
    """Return a condition on a text in the words of scripts."""
    if isinstance(value, Matcher):
        return dict(value.condition)
    if isinstance(value, str):
        return value
    what = "a text, contains(...), matches(...), equals(...) or anything"
    raise TypeError(f"{what} is wanted")


def _text(value: Any) -> Text:
    return Text.read(_condition(value))


def _of_script(match: Mapping[str, Any]) -> list[Condition]:
    def fault(sentence: str, place: tuple[Any, ...]) -> None:
        raise ValueError(sentence)

    return list(read_match(match, fault).conditions)


def _said(role: str | None) -> Callable[[Any, Contract], list[Condition]]:
    def read(value: Any, contract: Contract) -> list[Condition]:
        return [Some("any_user" if role else "any_message", Said(_text(value), role))]

    return read


def _names(key: str) -> Callable[[Any, Contract], list[Condition]]:
    def read(value: Any, contract: Contract) -> list[Condition]:
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list | tuple) or not all(isinstance(n, str) for n in names):
            raise TypeError("a name is wanted (`*` stands for any characters), or a list of them")
        if not names:
            raise ValueError("at least one name is wanted")
        if key == "operation":
            from ..script.catalogues import Catalogues

            Catalogues(contract).check_operations(list(names))
        return _of_script({key: list(names)})

    return read


def _results(value: Any, contract: Contract) -> list[Condition]:
    named = value.items() if isinstance(value, Mapping) else [(None, value)]
    found: list[Condition] = []
    for name, text in named:
        condition = _condition(text)
        asked = {"equals": condition} if isinstance(condition, str) else condition
        found += _of_script({"tool_result": {**asked, **({"name": name} if name else {})}})
    return found


def _stream(value: Any, contract: Contract) -> list[Condition]:
    if not isinstance(value, bool):
        raise TypeError("True or False is wanted")
    return _of_script({"stream": value})


def _turn(value: Any, contract: Contract) -> list[Condition]:
    if isinstance(value, NumberMatcher):
        return _of_script({"turn": dict(value.condition)})
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("a whole number, at_least(...) or at_most(...) is wanted")
    if value < 1:
        raise ValueError("turns are counted from 1")
    return _of_script({"turn": value})


def _header(value: Any, contract: Contract) -> list[Condition]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise TypeError('a mapping is wanted, as {"x-test": contains("a")}')
    return _of_script(
        {"header": {k: v if isinstance(v, bool) else _condition(v) for k, v in value.items()}}
    )


def _body(value: Any, contract: Contract) -> list[Condition]:
    if isinstance(value, str | list | tuple):
        sources = [value] if isinstance(value, str) else list(value)
        return [Expression(_path(source)) for source in sources]
    if not isinstance(value, Mapping):
        raise TypeError('JMESPath is wanted, as "tools[0]" or {"temperature": 0}')
    return list(_expressions(value))


def _expressions(value: Mapping[str, Any]) -> Iterator[Condition]:
    for source, wanted in value.items():
        if isinstance(wanted, Matcher):
            yield BodyText(_path(source), wanted)
        else:
            yield Expression(_path(source), wanted)


def _path(source: Any) -> str:
    if not isinstance(source, str):
        raise TypeError("JMESPath (jmespath.org) is a text")
    if source.startswith("$"):
        meant = source.lstrip("$").lstrip(".")
        raise ValueError(f"paths are JMESPath here (jmespath.org): write {meant!r}")
    return source


def _schema(value: Any, contract: Contract) -> list[Condition]:
    if not isinstance(value, Mapping | bool):
        raise TypeError("a JSON Schema is wanted")
    return _of_script({"schema": value})


def _where(value: Any, contract: Contract) -> list[Condition]:
    if not callable(value):
        raise TypeError("a function of the request is wanted")
    return [Where(value)]


CRITERIA: dict[str, Callable[[Any, Contract], list[Condition]]] = {
    "last_user": lambda value, _: [LastUser(_text(value))],
    "any_user": _said("user"),
    "any_message": _said(None),
    "system": lambda value, _: [System(_text(value))],
    "tool_result": _results,
    "tool_called": _names("tool_called"),
    "tool_offered": _names("tool_offered"),
    "model": _names("model"),
    "operation": _names("operation"),
    "stream": _stream,
    "turn": _turn,
    "header": _header,
    "api_key": lambda value, _: _of_script({"api_key": _condition(value)}),
    "body": _body,
    "schema": _schema,
    "where": _where,
}


def _shown(value: Any) -> str:
    name = getattr(value, "__name__", None)
    return name if callable(value) and isinstance(name, str) else repr(value)
