"""Starting the two servers that are compared, and asking them."""

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PATH = "/v1/chat/completions"
HEADERS = {"authorization": "Bearer benchmark", "content-type": "application/json"}

WAFERMOCK = (sys.executable, "-m", "wafermock.cli", "serve", "--port", "0")


def bare(folder: Path) -> tuple[str, ...]:
    """The command of the bare server with the answers in a folder."""
    return (sys.executable, str(HERE / "bare.py"), str(folder))


@contextmanager
def running(command: tuple[str, ...]) -> Iterator[int]:
    """Run a server; yield its port as soon as it says that it listens."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("listening on "):
            process.kill()
            sys.exit(f"{' '.join(command)} did not start")
        try:
            yield int(line.rpartition(":")[2])
        finally:
            process.terminate()


def request(content: str = "Hello!", *, stream: bool = False) -> dict[str, Any]:
    """A chat request; the default is the document's own example."""
    body = {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": content}]}
    return {**body, "stream": True} if stream else body


def ask(port: int, body: dict[str, Any]) -> bytes:
    """Ask once; return the body of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    try:
        connection.request("POST", PATH, json.dumps(body), HEADERS)
        response = connection.getresponse()
        answer = response.read()
    finally:
        connection.close()
    if response.status != 200:
        sys.exit(f"status {response.status}: {answer[:500].decode(errors='replace')}")
    return answer


def record_answers(folder: Path) -> None:
    """Put the mock's own answers into a folder: the bare server sends the same bytes."""
    with running(WAFERMOCK) as port:
        (folder / "whole").write_bytes(ask(port, request()))
        (folder / "stream").write_bytes(ask(port, request(stream=True)))
