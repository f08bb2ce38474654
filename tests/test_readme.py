"""What the README shows is run: its Python, its curl, its options, its links."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from wafermock.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("code", blocks("python"))
def test_python(code: str, server: str) -> None:
    code = code.replace("http://127.0.0.1:4010", server)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    (expected,) = re.findall(r"^print\(.*?\)  # (.*)$", code, re.MULTILINE)
    assert done.stdout.strip() == expected


def test_curl(server: str) -> None:
    (shown,) = [block for block in blocks("console") if "curl" in block]
    command, _, answer = shown.partition("\n{")
    command = command.removeprefix("$ ").replace("localhost:4010", server)
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    body = json.loads(done.stdout)
    assert body["message"] == json.loads(re.match(r'"message":("[^"]*")', answer)[1])  # type: ignore[index]


@pytest.mark.parametrize("line", re.findall(r"^\$ wafermock (spec .*?)(?:  +#.*)?$", README, re.M))
def test_commands(line: str) -> None:
    result = CliRunner().invoke(main, line.split())
    assert result.exit_code in (0, 1), result.output  # lint finds what it is known to find
    assert result.output


def test_every_option_is_in_the_table() -> None:
    table = README[README.index("### Options of `wafermock serve`") :]
    named = set(re.findall(r"`(--[a-z-]+)", table[: table.index("###", 5)]))
    options = {o for p in main.commands["serve"].params for o in p.opts if o.startswith("--")}
    assert named == options


@pytest.mark.parametrize(
    "file", sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/*.md")), ids=str
)
def test_links_and_files(file: Path) -> None:
    text = file.read_text("utf-8")
    named: list[Any] = re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", text)
    assert [name for name in named if not (file.parent / name).exists()] == []
    paths = re.findall(r"`((?:src|tests|docs|examples|benchmarks)/[\w./-]+)`", text)
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_two_commands() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for command in re.findall(r"`make (\w+)`", README):
        assert re.search(rf"^{command}:", makefile, re.MULTILINE), command
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
