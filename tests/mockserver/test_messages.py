"""Every message of the catalogue is filled in completely wherever the mock says it."""

import ast
import string
from pathlib import Path
from typing import Any

import pytest

import wafermock.mockserver
from wafermock.spec import load_contract

ERRORS = load_contract().errors
SOURCES = sorted(Path(wafermock.mockserver.__path__[0]).rglob("*.py"))


def placeholders(message: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(message) if name}


@pytest.mark.parametrize("entry", list(ERRORS), ids=lambda entry: entry.name)
def test_every_placeholder_has_an_example(entry: Any) -> None:
    assert placeholders(entry.message) <= set(entry.example)
    assert entry.sentence({})


def refusals() -> list[Any]:
    """Find every `Refusal("name", key=...)` that is written in the room's code."""
    found = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", "") == "Refusal"
                and node.args
                and isinstance(node.args[0], ast.Constant)
            ):
                given = {keyword.arg for keyword in node.keywords}
                where = f"{path.name}:{node.lineno}"
                found.append(pytest.param(node.args[0].value, given, id=where))
    return found


@pytest.mark.parametrize(("name", "given"), refusals())
def test_every_refusal_fills_its_message(name: str, given: set[str | None]) -> None:
    assert None in given or placeholders(ERRORS[name].message) <= given
