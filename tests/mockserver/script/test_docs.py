"""docs/scripts.md: its tables are the schema's, and its examples are scripts."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from wafermock.mockserver.script import problems
from wafermock.mockserver.script.filters import FILTERS, TESTS
from wafermock.mockserver.script.outcome import VARIABLES
from wafermock.mockserver.script.schema import script_schema

from . import asking

PAGE = Path(__file__).parents[3] / "docs" / "scripts.md"
SCHEMA = script_schema()
DEFINITIONS = [
    "rule", "match", "textObject", "messageObject", "resultObject", "countObject", "scenario",
    "reply", "step", "toolCall", "errorObject", "part", "pace",
]  # fmt: skip


def table(name: str) -> str:
    """Write the keys of a definition of the schema as a table of the page."""
    rows = ["| key | what it is | takes |", "|---|---|---|"]
    for key, node in SCHEMA["$defs"][name]["properties"].items():
        if name == "step" and key in SCHEMA["$defs"]["reply"]["properties"]:
            continue  # told once
        if name == "messageObject" and key in SCHEMA["$defs"]["textObject"]["properties"]:
            continue
        if name == "resultObject" and key in SCHEMA["$defs"]["textObject"]["properties"]:
            continue
        told = node.get("description") or _definition(node).get("description", "")
        said = re.sub(r"\s+", " ", told).replace("|", "\\|")
        rows.append(f"| `{key}` | {said} | {' or '.join(dict.fromkeys(_takes(node)))} |")
    return "\n".join(rows)


def _definition(node: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = (
        SCHEMA["$defs"][node["$ref"].rsplit("/", 1)[-1]] if "$ref" in node else {}
    )
    return found


def _takes(node: dict[str, Any]) -> list[str]:
    """Name the types that a key takes."""
    if "$ref" in node:
        return _takes(_definition(node))
    if "anyOf" in node:
        return [name for branch in node["anyOf"] for name in _takes(branch)]
    if "enum" in node:
        return [f"`{value}`" for value in node["enum"]]
    if "const" in node:
        return ["`true`"]
    words = {"object": "mapping", "array": "list", "string": "text", "boolean": "true or false"}
    types = node.get("type", "anything")
    return [words.get(t, t) for t in ([types] if isinstance(types, str) else types)]


@pytest.mark.parametrize("name", DEFINITIONS)
def test_the_page_has_every_key_as_the_schema_has_it(name: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    match = re.search(rf"<!-- keys of {name} -->\n(.*?)\n<!-- end -->", page, re.DOTALL)
    assert match, f"the page lacks a table of {name}"
    assert match[1] == table(name)


def test_no_definition_is_left_out() -> None:
    with_keys = {name for name, node in SCHEMA["$defs"].items() if "properties" in node}
    assert with_keys == {*DEFINITIONS, "named"}


def test_the_page_names_all_that_a_template_has() -> None:
    page = PAGE.read_text(encoding="utf-8")
    templates = page.partition("## Templates")[2].partition("\n## ")[0]
    missing = [name for name in (*VARIABLES, *FILTERS, *TESTS) if f"`{name}`" not in templates]
    assert missing == []


def blocks() -> list[str]:
    return re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("block", blocks(), ids=lambda block: block[:30])
def test_the_examples_of_the_page_are_scripts(block: str, tmp_path: Path) -> None:
    value = yaml.safe_load(block)
    assert isinstance(value, dict)
    assert "rules" in value
    file = tmp_path / "script.yaml"
    file.write_text(block, encoding="utf-8")
    _, wrong = problems([file], asking.contract())
    assert list(map(str, wrong)) == []
