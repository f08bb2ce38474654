"""docs/fidelity.md: every test it names exists, and every parameter has a row."""

import re
from pathlib import Path

import pytest

from .asking import contract

HERE = Path(__file__).parent
TABLE = HERE.parents[2] / "docs" / "fidelity.md"
ROW = re.compile(r"^\| (?P<rule>.+?) \| (?P<what>.+?) \| `(?P<file>\w+\.py)::(?P<test>\w+)` \|$")
SECTIONS = {
    "createChatCompletion": "Chat completions",
    "completions_v1_completions_post": "Completions",
}


def rows() -> dict[str, list[re.Match[str]]]:
    """The rows of each section. A line of a table that is no row is a mistake."""
    found: dict[str, list[re.Match[str]]] = {}
    section = ""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif line.startswith("|") and not line.startswith(("|---", "| parameter |", "| rule |")):
            match = ROW.match(line)
            assert match, line
            found.setdefault(section, []).append(match)
    return found


def test_every_test_in_the_table_exists() -> None:
    named = [(row["file"], row["test"]) for section in rows().values() for row in section]
    assert len(named) > 60
    for file, test in named:
        assert f"def {test}(" in (HERE / file).read_text(encoding="utf-8"), f"{file}::{test}"


@pytest.mark.parametrize("operation", SECTIONS)
def test_every_parameter_has_a_row(operation: str) -> None:
    schema = contract("observed").operation(operation).request_schema
    assert schema is not None
    sections = rows()
    told = {
        row["rule"].strip("`")
        for section in ("Both operations", SECTIONS[operation])
        for row in sections[section]
    }
    assert set(schema.properties) <= told


def test_no_row_is_about_a_parameter_that_is_not_there() -> None:
    sections = rows()
    for operation, section in SECTIONS.items():
        schema = contract().operation(operation).request_schema
        assert schema is not None
        rules = {
            row["rule"].strip("`") for row in (*sections[section], *sections["Both operations"])
        }
        assert {r for r in rules if "." not in r and "(" not in r} <= set(schema.properties)
