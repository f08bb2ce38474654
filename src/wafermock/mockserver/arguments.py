"""Arguments that read as if the model had listened: what the user named stands in them."""

import re
from collections.abc import Callable, Iterator
from typing import Any

Accepts = Callable[[Any], bool]

# Properties that hold what was asked for, word by word.
_WHOLE = {"query", "question", "text", "prompt", "message", "input", "search", "content", "request"}
# Properties that hold the name of a place, a person or a thing.
_NAMED = {
    "address", "city", "company", "country", "customer", "destination", "location", "name",
    "organization", "origin", "owner", "person", "place", "recipient", "region", "state", "title",
    "town",
}  # fmt: skip
# A schema that says more about its strings than this asks for something else.
_PLAIN = {
    "type", "description", "title", "examples", "default", "minLength", "maxLength", "nullable",
    "$comment",
}  # fmt: skip
# How many values are looked for, and how many arguments are filled in, at most.
_MOST_VALUES = 1000
_MOST_FILLED = 32

_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_SENTENCE_END = re.compile(r"(?:^|[.!?:]|\n)[\s\"'“(]*$")


def natural_arguments(invented: Any, schema: Any, message: str, accepts: Accepts) -> Any:
    """Put what the user said into invented arguments, and return them.

    A value of an enum that the message mentions is chosen. A string named like a query holds the
    whole message; one named like a place or a person holds the next name in the message. What
    `accepts` does not take stays as it was invented.
    """
    if not isinstance(invented, dict) or not isinstance(schema, dict) or not message.strip():
        return invented
    names = proper_names(message)
    filled = 0
    for properties, owner in list(_objects(invented, schema)):
        for name, wanted in properties.items():
            said = _said(owner, name, wanted, message, names) if filled < _MOST_FILLED else None
            if said is not None:
                filled += 1
                _put(owner, name, said, lambda: accepts(invented))
        ordered = {key: owner[key] for key in (*properties, *owner) if key in owner}
        owner.clear()
        owner.update(ordered)
    return invented


def _objects(value: dict[str, Any], schema: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield the properties of an object's schema and the object, then those inside it."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return
    yield properties, value
    for name, inner in properties.items():
        if isinstance(inner, dict) and isinstance(value.get(name), dict):
            yield from _objects(value[name], inner)


def _said(
    owner: dict[str, Any], name: str, wanted: Any, message: str, names: Iterator[str]
) -> str | None:
    """Return what the message says of a property, None where nothing."""
    if not isinstance(wanted, dict):
        return None
    if "enum" in wanted:
        return _mentioned(wanted["enum"], message)
    if name not in owner or wanted.get("type") != "string" or not _PLAIN.issuperset(wanted):
        return None
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_")
    if not _WHOLE.isdisjoint(words):
        return message.strip()
    return next(names, None) if not _NAMED.isdisjoint(words) else None


def _put(owner: dict[str, Any], name: str, said: str, accepted: Callable[[], bool]) -> None:
    """Put a value into an object, unless it is then no longer accepted."""
    known = name in owner
    before = owner.get(name)
    owner[name] = said
    if not accepted():
        owner[name] = before
        if not known:
            del owner[name]


def _mentioned(values: Any, message: str) -> str | None:
    """Return the value that the message mentions first, the longest of those."""
    text = f" {_spoken(message)} "
    found = []
    for value in values[:_MOST_VALUES] if isinstance(values, list) else ():
        spoken = _spoken(value) if isinstance(value, str) else ""
        at = text.find(f" {spoken} ") if spoken else -1
        if at >= 0:
            found.append((at, -len(spoken), value))
    return min(found)[2] if found else None


def _spoken(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()


def proper_names(text: str) -> Iterator[str]:
    """Yield the runs of capitalised words: `New York`, `Boston, MA`.

    The first word of a sentence is capital anyway, so a run does not begin with it.
    """
    run = ""
    end = 0
    for match in _WORD.finditer(text):
        word = match.group()
        between = text[end : match.start()]
        end = match.end()
        capital = word[0].isupper() and not re.match(r"I\b", word)
        state = between == ", " and len(word) == 2 and word.isupper()
        if run and capital and (between == " " or state):
            run += between + word
            continue
        if run:
            yield run.removesuffix("'s").removesuffix("’s")
        before = text[max(0, match.start() - 8) : match.start()]
        run = word if capital and not _SENTENCE_END.search(before) else ""
    if run:
        yield run.removesuffix("'s").removesuffix("’s")
