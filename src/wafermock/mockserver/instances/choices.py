"""The keywords that leave a choice, put to the search as questions."""

from __future__ import annotations

from collections.abc import Callable

from .assertions import at, read_needs
from .dialects import JSON, escape
from .document import Node
from .goal import Entry, Question, Shape
from .negation import negations, opposite

_Settled = dict[tuple[Node, str], int]
_Holders = tuple[Node, ...]


def _ask(shape: Shape, question: Question, settled: _Settled) -> int | None:
    """Which option was taken; where none was, the question is put to the search."""
    option = settled.get((question.node, question.part))
    if option is None:
        (shape.questions if question.moot is None else shape.conditions).append(question)
    return option


def _always(options: list[list[Entry]]) -> Callable[[], list[list[Entry]]]:
    return lambda: options


def _any_of(
    shape: Shape, node: Node, holders: _Holders, settled: _Settled, below: list[Entry]
) -> None:
    children = node.children("anyOf")
    if len(children) == 1:
        below.append(Entry(children[0], holders))
        return
    options = [[Entry(child, holders)] for child in children]
    _ask(shape, Question(node, "anyOf", lambda: options), settled)


def _one_of(
    shape: Shape, node: Node, holders: _Holders, settled: _Settled, below: list[Entry]
) -> None:
    children = node.children("oneOf")
    options = [[Entry(child, holders)] for child in children]
    if len(children) == 1:
        below.extend(options[0])
        return
    taken = _ask(shape, Question(node, "oneOf", lambda: options), settled)
    if taken is not None:
        for index, child in enumerate(children):
            if index != taken:
                _reject(shape, node, f"oneOf/{index}", child, settled, below)


def _reject(
    shape: Shape, node: Node, part: str, child: Node, settled: _Settled, below: list[Entry]
) -> None:
    """Asks for a value that does not meet the child: at once where there is one way only."""
    if _simple(child):
        below.extend(Entry(way) for way in negations(child))
        return
    question = Question(
        node, part, lambda: [[Entry(way)] for way in negations(child)], opposite(child)
    )
    _ask(shape, question, settled)


def _simple(child: Node) -> bool:
    return len(child.keywords) == 1 and (
        next(iter(child.keywords)) in ("type", "const", "enum", "not", "anyOf", "pattern")
        or len(child.keywords.get("required", ())) == 1
    )


def _not(
    shape: Shape, node: Node, holders: _Holders, settled: _Settled, below: list[Entry]
) -> None:
    child = node.child("not")
    if isinstance(child.schema, Node):
        child = child.schema
    if not child.keywords and child.target() is None and child.schema is not False:
        shape.only((), at(node, "not"), "everything meets the schema that is ruled out here")
        return
    ways = negations(child)
    if len(ways) == 1:
        below.append(Entry(ways[0]))
    elif ways or child.keywords:
        _reject(shape, node, "not", child, settled, below)


def _if(shape: Shape, node: Node, holders: _Holders, settled: _Settled, below: list[Entry]) -> None:
    if "then" not in node.keywords and "else" not in node.keywords:
        return
    condition = node.child("if")
    met = [Entry(condition, holders)]
    if "then" in node.keywords:
        met.append(Entry(node.child("then"), holders))
    if "else" not in node.keywords:
        implied = node.memo.get("implied")
        if implied is None:
            implied = node.memo["implied"] = node.made(
                {"anyOf": [opposite(condition), node.child("then")]}
            )
        question = Question(
            node, "then", lambda: [met, *([Entry(way)] for way in negations(condition))], implied
        )
        _ask(shape, question, settled)
        return
    otherwise = [Entry(node.child("else"), holders)]
    taken = _ask(shape, Question(node, "if", lambda: [met, otherwise]), settled)
    if taken == 1:
        _reject(shape, node, "else", condition, settled, below)


def _dependents(
    shape: Shape, node: Node, holders: _Holders, settled: _Settled, below: list[Entry]
) -> None:
    keyword = "dependentSchemas" if "dependentSchemas" in node.keywords else "dependencies"
    dependents: dict[str, JSON] = node.keywords[keyword]
    for name, needed in dependents.items():
        if isinstance(needed, list):
            read_needs(shape, node, {name: needed})
            continue
        child = node.child(keyword, name)
        if name in shape.required:
            below.append(Entry(child, holders))
            continue
        key = f"{keyword}/{escape(name)}"
        made = node.memo.get(key)
        if made is None:
            absent = node.made({"properties": {name: False}})
            present = node.made({"required": [name]})
            made = node.memo[key] = (absent, present, node.made({"anyOf": [absent, child]}))
        absent, present, moot = made
        options = [[Entry(present), Entry(child, holders)], [Entry(absent)]]
        _ask(shape, Question(node, key, _always(options), moot), settled)


CHOICES: dict[str, Callable[[Shape, Node, _Holders, _Settled, list[Entry]], None]] = {
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "dependentSchemas": _dependents,
    "dependencies": _dependents,
}
