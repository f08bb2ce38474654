"""What the README and docs/serve.md show is run: their Python, their curl, options, links."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from wafermock.cli import ELSEWHERE, main

ROOT = Path(__file__).parents[1]
README, SERVE, PLUGIN = (
    (ROOT / name).read_text("utf-8") for name in ("README.md", "docs/serve.md", "docs/plugin.md")
)


def blocks(language: str, *pages: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", "\n".join(pages), re.DOTALL)


PYTHON = blocks("python", README, SERVE)
TESTS = [code for code in PYTHON if "def test_" in code]
# The first example of docs/plugin.md is of an agent; this one stands for it.
(WEATHER,) = (b for b in blocks("python", PLUGIN) if "def test_agent_looks_up_the_weather" in b)
AGENT = """
import json
import httpx

class Agent:
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


@pytest.mark.parametrize("code", [*TESTS, WEATHER])
def test_tests(code: str, tmp_path: Path) -> None:
    (tmp_path / "test_readme.py").write_text(code)
    (tmp_path / "my_app.py").write_text(AGENT)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_the_first_curl(server: str) -> None:
    (command, *others) = blocks("sh", README)
    assert not any("curl" in other for other in others)
    done = curled(command, server)
    assert done["choices"][0]["message"]["content"] == "Hello! How can I assist you today?"


def test_the_curl_that_prefers_an_error(server: str) -> None:
    (shown,) = [block for block in blocks("console", SERVE) if "curl" in block]
    command, _, answer = shown.partition("\n{")
    body = curled(command.removeprefix("$ "), server)
    assert body["message"] == json.loads(re.match(r'"message":("[^"]*")', answer)[1])  # type: ignore[index]


def curled(command: str, server: str) -> Any:
    command = command.replace("localhost:4010", server)
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_judge(server: str, tmp_path: Path) -> None:
    (line,) = [block for block in blocks("sh", README) if block.startswith("wafermock check")]
    command = line.replace("http://127.0.0.1:4010", server).split()
    done = subprocess.run(
        [sys.executable, "-m", "wafermock.cli", *command[1:]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "run.html").exists()


@pytest.mark.parametrize("line", re.findall(r"^\$ wafermock (spec .*?)(?:  +#.*)?$", SERVE, re.M))
def test_commands(line: str) -> None:
    result = CliRunner().invoke(main, line.split())
    assert result.exit_code in (0, 1), result.output  # lint finds what it is known to find
    assert result.output


def test_every_option_is_in_the_table() -> None:
    table = SERVE[SERVE.index("## Options") :]
    named = set(re.findall(r"`(--[a-z-]+)", table[: table.index("##", 5)]))
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
    for name, anchor in re.findall(r"\]\(([^):#]*)#([^)]+)\)", text):
        page = (file.parent / name).read_text("utf-8") if name else text
        heads = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
        assert anchor in [re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in heads]


def test_every_page_is_in_the_index() -> None:
    index = README[README.index("## Documentation") :]
    linked = re.findall(r"^- \[[^]]*\]\(docs/(.*?)\): ", index, re.MULTILINE)
    assert sorted(linked) == sorted(page.name for page in ROOT.glob("docs/*.md"))


def test_every_command_is_named() -> None:
    line = README[README.index("`wafermock --help` lists") :].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", line)) == {*ELSEWHERE, *main.commands}


def test_all_three_products_are_near_the_top() -> None:
    assert README[: README.index("\n## Commands")].count("\n") < 100
    assert README.count("\n") < 150


def test_the_two_commands() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for command in re.findall(r"`make (\w+)", README + SERVE):
        assert re.search(rf"^{command}:", makefile, re.MULTILINE), command
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
