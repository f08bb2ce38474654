"""The command, as a process: it says what it does, and is killed."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from wafermock.mockserver.script import Script
from wafermock.record_command import record

from .conftest import NOBODY

PATIENCE = 30
COMMAND = [sys.executable, "-c", "from wafermock.record_command import record; record()"]


class Recorder:
    """`wafermock record` as a process of its own."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        url = self.process.stdout.readline().removeprefix("recording on http://").strip()
        # One connection: its next request is heard when the exchange before it is in the file.
        self.connection = HTTPConnection(url, timeout=PATIENCE)

    def chat(self, content: str, status: int = 200, **more: Any) -> bytes:
        body = {"model": "m", "messages": [{"role": "user", "content": content}], **more}
        headers = {"Authorization": "Bearer k", "Content-Type": "application/json"}
        self.connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        answer = self.connection.getresponse()
        assert answer.status == status
        return answer.read()

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Return the exit code, and what was said on standard error."""
        self.process.send_signal(number)
        self.connection.close()
        _, said = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, said


@pytest.fixture
def recorder() -> Iterator[Any]:
    made: list[Recorder] = []

    def start(*arguments: str) -> Recorder:
        made.append(Recorder(*arguments))
        return made[-1]

    yield start
    for each in made:
        each.process.kill()
        each.connection.close()
        each.process.communicate()


def test_it_records_and_adds(server: str, recorder: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.yaml"
    first = recorder("--upstream", server, "--out", str(out))
    answer = first.chat("one")
    code, said = first.stop(signal.SIGINT)
    assert (code, said) == (0, 'recorded #1 POST /v1/chat/completions: m, "one": 200\n')
    more = recorder("--upstream", server, "--out", str(out), "--only-missing")
    assert more.chat("one") == answer
    streamed = more.chat("two", stream=True)
    code, said = more.stop()
    assert (code, said) == (0, 'recorded #2 POST /v1/chat/completions: m, stream, "two": 200\n')
    alone = recorder("--upstream", NOBODY, "--out", str(tmp_path / "other.yaml"),
                     "--only-missing", "--script", str(out))  # fmt: skip
    assert alone.chat("one") == answer
    assert alone.chat("two", stream=True) == streamed
    assert alone.stop() == (0, "")


def test_it_tells_what_was_not_recorded(recorder: Any, tmp_path: Path) -> None:
    made = recorder("--upstream", "https://nowhere.invalid", "--out", str(tmp_path / "out.yaml"))
    assert b"nowhere.invalid cannot be reached" in made.chat("one", status=502)
    code, said = made.stop()
    assert code == 1
    assert said.startswith("not recorded: exchange 1: nowhere.invalid cannot be reached: ")


def test_it_is_killed(server: str, recorder: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.yaml"
    for number in range(3):
        made = recorder("--upstream", server, "--out", str(out))
        answers = [made.chat(f"{number}.{n}", stream=True) for n in range(5)]
        made.stop(signal.SIGKILL)
        rules = Script.load(out).rules
        # What the client has heard is there, but perhaps for the last of it.
        kept = [r.steps[0].reply.answer.body for r in rules if r.steps[0].reply.answer]
        assert [answer for answer in answers if answer in kept][:4] == answers[:4]


@pytest.mark.parametrize("at", range(3, 11))
def test_it_is_killed_while_it_writes(tmp_path: Path, at: int) -> None:
    """A kill at any moment: the process ends itself in the middle of its work on the file."""
    out = tmp_path / "out.yaml"
    code = f"""
import os, sys
from pathlib import Path
from wafermock.mockserver.record.script_file import ScriptFile
steps = 0
def step(event, arguments):
    global steps
    if event in ("open", "os.rename", "os.remove", "os.truncate"):
        steps += 1
        if steps == {at}:
            os.kill(os.getpid(), 9)
file = ScriptFile(Path({str(out)!r}))
rule = lambda n: {{"name": f"#{{n}} x", "match": {{"recorded": f"{{n % 2:032x}}"}},
                   "reply": {{"status": 200, "parts": [{{"at": 0, "text": "x" * 100_000}}]}}}}
file.add(5, rule(5))
sys.addaudithook(step)
for n in (6, 1, 7, 2):
    file.add(n, rule(n))
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=PATIENCE)
    assert done.returncode in (0, -signal.SIGKILL)
    names = [rule.name for rule in Script.load(out).rules]
    assert names in (
        ["#5 x"],
        ["#5 x", "#6 x"],
        ["#1 x", "#5 x", "#6 x"],
        ["#1 x", "#5 x", "#6 x", "#7 x"],
        ["#1 x", "#2 x", "#5 x", "#6 x", "#7 x"],
    )
    # The next recorder goes on with it.
    from wafermock.mockserver.record.script_file import ScriptFile

    ScriptFile(out)


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        (["--upstream", "nothing", "--out", "x.yaml"], "--upstream: 'nothing' is no URL"),
        (["--upstream", NOBODY, "--out", "no/where.yaml"], "no/where.yaml: cannot be written"),
        (["--upstream", NOBODY, "--out", "list.yaml"], "list.yaml:1: #: a mapping is wanted"),
        (["--upstream", NOBODY, "--out", "x.yaml", "--redact", "("], "--redact '(' is no regular"),
        (["--upstream", NOBODY, "--out", "x.yaml", "--redact", "a*"], "fits an empty text"),
        (["--upstream", NOBODY, "--out", "x.yaml", "--script", "y"], "--only-missing"),
        (
            ["--upstream", NOBODY, "--out", "x.yaml", "--only-missing", "--script", "y.yaml"],
            "y.yaml: No such file",
        ),
        (["--upstream", NOBODY], "Missing option '--out'"),
    ],
)
def test_wrong_usage(
    arguments: list[str], wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import click

    from wafermock.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.yaml").write_text("- a\n")
    group = type(main)("wafermock", commands=[record])
    assert isinstance(group, click.Group)
    result = CliRunner().invoke(group, ["record", *arguments])
    assert result.exit_code == 2
    assert wrong in result.output
    assert "Traceback" not in result.output
    assert os.listdir(tmp_path) == ["list.yaml"]


def test_a_port_that_is_taken(server: str, tmp_path: Path) -> None:
    port = server.rpartition(":")[2]
    result = CliRunner().invoke(
        record, ["--upstream", NOBODY, "--out", str(tmp_path / "x.yaml"), "--port", port]
    )
    assert result.exit_code == 2
    why = f"{os.strerror(errno.EADDRINUSE)}; --port 0 picks a free port"
    assert result.output == f"wafermock: cannot listen on 127.0.0.1:{port}: {why}\n"
