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


PYTHON = blocks("python")
TESTS = [code for code in PYTHON if "def test_" in code]

# Who is tested by the tests of the README.
AGENT = """
import json
import httpx

class my_agent:
    def __init__(self, base_url, api_key):
        headers = {"Authorization": f"Bearer {api_key}"}
        self.client = httpx.Client(base_url=base_url, headers=headers)

    def say(self, messages):
        tool = {"type": "function", "function": {"name": "get_weather", "parameters": {}}}
        body = {"model": "gpt-oss-120b", "messages": messages, "tools": [tool]}
        answer = self.client.post("/v1/chat/completions", json=body).raise_for_status()
        return answer.json()["choices"][0]["message"]

    def ask(self, question):
        messages = [{"role": "user", "content": question}]
        while calls := (message := self.say(messages)).get("tool_calls"):
            messages.append(message)
            for call in calls:
                result = {"role": "tool", "tool_call_id": call["id"], "content": "22 degrees"}
                messages.append(result)
        return message["content"]
"""


@pytest.mark.parametrize("code", [code for code in PYTHON if code not in TESTS])
def test_python(code: str, server: str) -> None:
    code = code.replace("http://127.0.0.1:4010", server)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    (expected,) = re.findall(r"^ *print\(.*?\)  # (.*)$", code, re.MULTILINE)
    assert done.stdout.strip() == expected


@pytest.mark.parametrize("code", TESTS)
def test_tests(code: str, tmp_path: Path) -> None:
    (tmp_path / "test_readme.py").write_text(code + AGENT)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


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
