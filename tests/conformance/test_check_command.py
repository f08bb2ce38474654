"""The judge on the command line: what it says, what it writes, and how it ends."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from wafermock.cli import main

KEY = "a-key-that-is-long-enough"
PATIENCE = 60


@pytest.fixture(scope="module")
def url(serving: Any) -> Iterator[str]:
    with serving("--models", "strict", "--api-key", KEY) as served:
        yield served.url


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def wafermock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """`wafermock(*arguments)` runs the command in a folder of its own, in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KEY", KEY)
    monkeypatch.delenv("COLUMNS", raising=False)  # pytest-xdist sets it, and lines would fold

    def run(*arguments: str) -> Done:
        result = CliRunner().invoke(main, list(arguments))
        assert result.exception is None or isinstance(result.exception, SystemExit), result
        return Done(result.exit_code, result.stdout, result.stderr)

    return run


def test_a_server_that_conforms(url: str, wafermock: Any, tmp_path: Path) -> None:
    done = wafermock("check", url, "--api-key-env", "KEY", "--report", "html=run.html")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "CONFORMS" in done.stdout
    assert "0 of 100 requests" in done.stderr
    assert "Traceback" not in done.stderr
    run = json.loads((tmp_path / "wafermock-run.json").read_text())
    assert run["budget"]["name"] == "quick"
    assert (tmp_path / "run.html").read_text().lower().startswith("<!doctype html>")
    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes(), file


def test_a_mock_that_takes_all_is_told_how_to_say_so(
    serve: Callable[..., Any], wafermock: Any, tmp_path: Path
) -> None:
    """As a mock does that nobody has told of keys and models."""
    mock = serve()
    done = wafermock("check", mock.url)
    assert done.returncode == 1
    said = " ".join(done.stdout.split())
    assert "401 or 403; of a mock that is meant to take it, say so: --any-key" in said
    assert "404; of a mock that is meant to take it, say so: --any-model" in said
    for what in ("key", "model"):
        assert f"the server takes any {what}: if it is a mock that is meant to" in said
    done = wafermock("check", mock.url, "--any-key", "--any-model")
    assert done.returncode == 0, done.stdout
    assert "is meant to" not in done.stdout


def test_findings_are_known_replayed_and_known_again(
    serve: Callable[..., Any], wafermock: Any, tmp_path: Path
) -> None:
    """A finding ends with 1; it shows again by `replay`; a baseline makes it known."""
    mock = serve("--models", "strict", "--api-key", KEY, "--defect", "usage_sum")
    arguments = ("--api-key-env", "KEY")
    done = wafermock("check", mock.url, *arguments, "--quiet")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.count("\n") == 1
    assert "DOES NOT CONFORM" in done.stdout
    again = wafermock("replay", "wafermock-run.json", "--finding", "F1", *arguments)
    assert again.returncode == 1
    assert re.match(r"F1 SEM-USAGE-SUM: still: expected \d.*; actual \d+\n", again.stdout)
    wafermock("report", "baseline", "wafermock-run.json", "-o", "known.yaml", "--reason", "known")
    done = wafermock("check", mock.url, *arguments, "--expect", "known.yaml", "-q")
    assert (done.returncode, "known" in done.stdout) == (0, True)
    with (tmp_path / "known.yaml").open("a", encoding="utf-8") as known:
        known.write("- {rule: SEM-NOPE, reason: a rule of long ago}\n")
    done = wafermock("check", mock.url, *arguments, "--expect", "known.yaml", "-q")
    assert done.stdout.count("\n") == 1
    assert "the entry for SEM-NOPE names no rule" in done.stderr


@pytest.mark.parametrize("processes", ["1", "2"])
def test_the_last_line_of_the_progress_has_the_numbers_of_the_report(
    serve: Callable[..., Any], wafermock: Any, processes: str
) -> None:
    mock = serve("--api-key", KEY, "--defect", "missing_key")
    done = wafermock("check", mock.url, "--api-key-env", "KEY", "-n", processes)
    last = done.stderr.splitlines()[-1]
    kept, judged, found = re.findall(r"\d+", done.stdout.splitlines()[2])
    requests, tokens = re.findall(r"([\d,]+) (?:request|token)", done.stdout.splitlines()[3])
    assert kept != judged
    expected = f"{requests} requests, {tokens} tokens, {judged} of 215 rules judged, {found} find"
    assert last.startswith(expected)


def test_a_finding_that_is_gone(url: str, serve: Callable[..., Any], wafermock: Any) -> None:
    mock = serve("--models", "strict", "--api-key", KEY, "--defect", "usage_sum")
    done = wafermock(
        "check", mock.url, "--api-key-env", "KEY", "--report", "html=seen.html", "--out", "r.json"
    )
    command = re.search(r"wafermock replay r.json --finding F\d+ --api-key-env KEY\n", done.stdout)
    assert command, done.stdout
    assert "in a browser: seen.html" in done.stdout
    assert "RUN.json" not in done.stdout
    again = wafermock("replay", "r.json", "--url", url, "--api-key-env", "KEY")
    assert (again.returncode, "still" in again.stdout) == (0, False)


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        (
            ("--api-key", KEY, "--defect", "usage_sum"), (),
            "401 this time, 200 before: is the key right (--api-key-env)?",
        ),
        (
            ("--failure", "service_unavailable"), ("--api-key-env", "KEY"),
            "503 this time, 200 before",
        ),
    ],
)  # fmt: skip
def test_a_finding_that_was_not_looked_at_is_not_called_gone(
    arguments: tuple[str, ...], options: tuple[str, ...], sentence: str,
    serve: Callable[..., Any], wafermock: Any,
) -> None:  # fmt: skip
    mock = serve("--models", "strict", "--api-key", KEY, "--defect", "usage_sum")
    wafermock("check", mock.url, "--api-key-env", "KEY", "--quiet")
    again = wafermock(
        "replay", "wafermock-run.json", "--finding", "F1", "--url", serve(*arguments).url, *options
    )
    assert again.stdout == f"F1 SEM-USAGE-SUM: not judged: {sentence}\n"
    assert again.returncode == 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("ftp://host",), "neither http:// nor https://"),
        (("http://u:p@host",), "--api-key-env"),
        (("http://h", "--api-key-env", "NOPE"), "no such variable"),
        (("http://h", "--header", "X"), "NAME=ENV"),
        (("http://h", "--header", "X=NOPE"), "no variable NOPE, or it is empty"),
        (("http://h", "--report", "pdf=x"), "the formats are html"),
        (("http://h", "--time", "soon"), "--time"),
        (("http://h", "--expect", "nowhere.yaml"), "No such file"),
        (("http://h", "--resume"), "run without --resume first"),
        (("http://h", "--profile", "nope"), "there are documented and observed"),
        (("http://h", "--spec", "nope.yaml"), "nope.yaml"),
        (("http://h", "--out", "nowhere/run.json"), "--out"),
        (("http://h", "--out", "."), "this is a folder"),
        (("http://h", "--report", "html=nowhere/run.html"), "--report html"),
        (("http://h", "--ca-file", "x"), "no certificates to be checked"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], sentence: str, wafermock: Any) -> None:
    done = wafermock("check", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_nobody_there(wafermock: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = wafermock("check", f"http://127.0.0.1:{port}")
    assert done.returncode == 3
    assert "nobody listens" in done.stderr


def test_an_interrupted_run_leaves_a_result(url: str, wafermock: Any, tmp_path: Path) -> None:
    """Ctrl-C ends a run with 130 and the report of what it saw; --resume goes on."""
    command = [sys.executable, "-m", "wafermock.cli", "check", url, "--api-key-env", "KEY"]
    with subprocess.Popen(
        [*command, "--max-requests", "99", "--rate", "30"],
        cwd=tmp_path, env={**os.environ, "KEY": KEY}, stderr=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("probes"):
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, "Traceback" in err) == (130, False)
    assert "interrupted" in out
    run = json.loads((tmp_path / "wafermock-run.json").read_text())
    assert run["ended_by"] == "interrupted"
    for more, sentence in (
        (("--max-requests", "50"), "its budget was another one"),
        (("--seed", "1"), "its seed was 0"),
        (("--model", "nobody"), "it asked the model gpt-oss-120b"),
    ):
        refused = wafermock("check", url, "--resume", *more)
        assert (refused.returncode, sentence in refused.stderr) == (2, True), refused.stderr
    done = subprocess.run(
        [*command, "--resume", "-q"],
        cwd=tmp_path, env={**os.environ, "KEY": KEY}, capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_rules(wafermock: Any) -> None:
    listed = wafermock("rules").stdout.splitlines()
    assert len(listed) > 200
    assert any(line.startswith("STREAM-DONE ") for line in listed)
    shown = wafermock("rules", "stream-done").stdout
    assert "Source: " in shown
    assert "Guards: " in shown
    assert "no rule NOPE, see `wafermock rules`" in wafermock("rules", "NOPE").stderr
    assert "did you mean STREAM-DONE" in wafermock("rules", "STREAM-DON").stderr
    assert "there are SCHEMA, FRAMING" in wafermock("rules", "--group", "x").stderr


def test_as_pytest_items(url: str, tmp_path: Path) -> None:
    """`pytest --pyargs wafermock.conformance`: items, -k, a run file, a worker's part joined."""
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "xdist",
        "-p", "wafermock.pytest_plugin", "--pyargs", "wafermock.conformance",
        "--endpoint", url, "--api-key-env", "KEY",
    ]  # fmt: skip
    # Plugins of others that happen to be installed take longer to load than all of this.
    environ = {**os.environ, "KEY": KEY, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [*command, "-n", "2", "--run-file", "run.json", "--junitxml", "junit.xml", "-k", "probes"],
        cwd=tmp_path, env=environ, capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "CONFORMS" in done.stdout
    run = json.loads((tmp_path / "run.json").read_text())
    assert run["cost"]["requests"] > 60
    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes(), file
    # Other plugins write down what tests are given.
    shown = subprocess.run(
        [*command, "--setup-show", "-k", "probes-1"],
        cwd=tmp_path, env=environ, capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert "probes-1" in shown.stdout
    assert KEY not in shown.stdout
    refused = subprocess.run(
        [*command, "-n", "2", "-k", "probes-1-"],
        cwd=tmp_path, env={**environ, "KEY": "another-key"}, capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert refused.returncode == 3
    assert "is the key right" in refused.stdout + refused.stderr
    without = subprocess.run(
        command[: command.index("--endpoint")],
        cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert without.returncode == 4
    assert "--endpoint http://127.0.0.1:4010" in without.stderr + without.stdout
