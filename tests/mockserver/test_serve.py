"""`wafermock serve` as a process: how it starts, how it ends, and what it says of wrong usage."""

import http.client
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner, Result

from wafermock.cli import main

PATIENCE = 30


def connect(url: str) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    assert parts.hostname is not None
    return http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)


def models(url: str) -> int:
    with closing(connect(url)) as connection:
        connection.request("GET", "/v1/models", headers={"Authorization": "Bearer key"})
        response = connection.getresponse()
        response.read()
        return response.status


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command that must end by itself."""
    command = [sys.executable, "-m", "wafermock.cli", "serve", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """`refused(*arguments)`: what the command says in this process, which must not serve."""

    async def served(*_: object) -> None:
        pytest.fail("it is served")

    monkeypatch.setattr("wafermock.mockserver.process.serve", served)

    def refused(*arguments: str) -> Result:
        result = CliRunner().invoke(main, ["serve", "--port", "0", *arguments])
        assert (result.exit_code, result.stdout) == (2, ""), result.stderr
        return result

    return refused


def test_it_answers_when_it_says_so(serve: Callable[..., Any]) -> None:
    assert models(serve().url) == 200


def test_port_0_picks_a_free_one_each_time(serve: Callable[..., Any]) -> None:
    one, other = serve(), serve()
    assert one.url != other.url
    assert models(one.url) == models(other.url) == 200


def test_a_port_of_choice(serve: Callable[..., Any]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    served = serve("--port", str(port))
    assert served.url == f"http://127.0.0.1:{port}"
    assert models(served.url) == 200


@pytest.mark.parametrize("host", ["::1", "localhost", "127.0.0.1", "0.0.0.0"])
def test_a_host_of_choice(serve: Callable[..., Any], host: str) -> None:
    served = serve("--host", host)
    shown = f"[{host}]" if ":" in host else host
    assert served.url.startswith(f"http://{shown}:")
    assert models(served.url) == 200


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it(serve: Callable[..., Any], number: signal.Signals) -> None:
    served = serve()
    with closing(connect(served.url)) as idle:  # a connection kept alive does not hold it up
        idle.request("GET", "/v1/models", headers={"Authorization": "Bearer key"})
        assert idle.getresponse().read()
        served.process.send_signal(number)
        assert served.process.wait(PATIENCE) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_streams_in_flight_are_finished(serve: Callable[..., Any], number: signal.Signals) -> None:
    """More than the socket's buffers hold is on its way when the signal comes."""
    served = serve()
    parts = urlsplit(served.url)
    body = {"model": "m", "prompt": "x", "stream": True, "n": 4, "min_tokens": 6000}
    raw = json.dumps(body).encode()
    with socket.socket() as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.settimeout(PATIENCE)
        wire.connect((parts.hostname, parts.port))
        wire.sendall(
            b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer key\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(raw), raw)
        )
        received = [wire.recv(100)]
        served.process.send_signal(number)
        while part := wire.recv(65536):
            received.append(part)
    whole = b"".join(received)
    assert whole.startswith(b"HTTP/1.1 200 OK\r\n")
    assert len(whole) > 1_000_000
    assert whole.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
    assert served.process.wait(PATIENCE) == 0


def test_a_port_in_use(serve: Callable[..., Any]) -> None:
    port = urlsplit(serve().url).port
    done = run("--port", str(port))
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert str(port) in line
    assert "in use" in line
    assert "--port 0" in line


def test_a_host_that_is_not_ours() -> None:
    done = run("--port", "0", "--host", "192.0.2.1")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "192.0.2.1" in line


@pytest.mark.parametrize(
    "arguments",
    [
        ["--port", "65536"],
        ["--port", "-1"],
        ["--port", "http"],
        ["--validate", "sometimes"],
        ["--max-body", "0"],
        ["--max-body", "10MB"],
        ["--seed", "x"],
        ["--profile", "imagined"],
        ["--spec", "no-such-file.yaml"],
        ["--overlay", "no-such-file.yaml"],
        ["--no-such-option"],
        ["surplus"],
    ],
)
def test_wrong_usage(refused: Callable[..., Result], arguments: list[str]) -> None:
    assert arguments[-1] in refused(*arguments).stderr


def test_wrong_usage_ends_the_process() -> None:
    done = run("--port", "0", "--validate", "sometimes")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert "sometimes" in done.stderr


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.yaml", "a: [", "a.yaml:"),
        ("a.yaml", "- 1", "a.yaml:1"),
        ("a.json", '{"a":', "a.json:1"),
        ("a.yaml", "openapi: 3.1.0\npaths: {}", "no operations"),
        (
            "a.yaml",
            "openapi: 3.1.0\npaths:\n  /a:\n    get:\n      responses:\n        '200':\n"
            "          description: x\n          content:\n            application/json:\n"
            "              schema:\n                $ref: '#/components/schemas/Gone'",
            "Gone",
        ),
        (
            "a.yaml",
            "openapi: 3.1.0\npaths:\n  /a:\n    get:\n      x-wafermock-answer: nonsense\n"
            "      responses: {'200': {description: x}}",
            "nonsense",
        ),
    ],
)
def test_a_document_that_cannot_be_used(
    refused: Callable[..., Result], tmp_path: Path, name: str, text: str, said: str
) -> None:
    (tmp_path / name).write_text(text)
    (line,) = refused("--spec", str(tmp_path / name)).stderr.splitlines()
    assert said in line


def test_another_seed(serve: Callable[..., Any]) -> None:
    def words(*arguments: str) -> bytes:
        with closing(connect(serve(*arguments).url)) as connection:
            body = json.dumps({"model": "m", "prompt": "xyzzy"})
            headers = {"Authorization": "Bearer key", "Content-Type": "application/json"}
            connection.request("POST", "/v1/completions", body, headers)
            return connection.getresponse().read()

    assert words() != words("--seed", "-5")


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    program = (
        "import sys, wafermock.cli, wafermock.mockserver.server;"
        "print([m for m in ('faker', 'hypothesis', 'jinja2', 'schemathesis', 'pytest')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
