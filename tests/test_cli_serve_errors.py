"""`wafermock serve` with documents that cannot be used: one line, exit code 2, no traceback."""

import errno
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from wafermock.cli import main
from wafermock.contract_options import cannot_listen

PATHS = {"/a": {"get": {"operationId": "a", "responses": {"200": {"description": "Fine"}}}}}
FINE = {"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": PATHS}
LOST = {"schemas": {"A": {"$ref": "#/components/schemas/Gone"}}}
OVERLAY = {"overlay": "1.0.0", "info": {"title": "T", "version": "1"}}


def overlay(*actions: Any, **change: Any) -> dict[str, Any]:
    return {**OVERLAY, "actions": list(actions), **change}


def serve(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["serve", "--port", "0", *map(str, arguments)])


def refused(*arguments: object) -> str:
    result = serve(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.stderr
    assert result.stderr.startswith("wafermock: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("wafermock: ").strip()


@pytest.fixture(autouse=True)
def _nothing_is_served(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """What is not refused would serve for ever."""

    async def served(*_: object) -> None:
        pytest.fail("it is served")

    if "taken" not in request.node.name:
        monkeypatch.setattr("wafermock.mockserver.process.serve", served)


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str, Any], Path]:
    def make(name: str, content: Any) -> Path:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
        return path

    return make


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("api.yaml", "openapi: 3.1.0\npaths: {/a: [\n", ":3: not YAML: "),
        ("api.yaml", "openapi: 3.1.0\nopenapi: 3.1.0\n", ":2: not YAML: the key 'openapi' stands"),
        ("api.json", '{"openapi": "3.1.0",}', ":1: not JSON: "),
        ("api.yaml", b"\xff\xfe\x00", ": not UTF-8 text (byte 0)"),
        ("api.yaml", "just text", ":1: #: a mapping is wanted here"),
        ("api.yaml", "swagger: '2.0'\n", ":1: #: not an OpenAPI 3 document"),
        (
            "api.json",
            {**FINE, "components": LOST},
            ":21: #/components/schemas/A: $ref #/components/schemas/Gone leads nowhere",
        ),
        ("api.json", {**FINE, "paths": {}}, ":7: #/paths: no operations"),
        (
            "api.json",
            {**FINE, "components": {"schemas": {"A": {"type": "strin"}}}},
            ":22: #/components/schemas/A/type: not a schema: ",
        ),
    ],
)
def test_documents(file: Callable[[str, Any], Path], name: str, content: Any, words: str) -> None:
    path = file(name, content)
    assert refused("--spec", path).startswith(f"{path}{words}")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("actions: {", ":2: not YAML: "),
        ({"actions": []}, ":1: #: not an overlay"),
        (overlay(), ":1: #: an overlay needs a list of `actions`"),
        (
            overlay({"target": "$.gone", "remove": True}),
            ":8: #/actions/0: action 1, target $.gone: matches nothing in the document",
        ),
        (
            overlay({"target": "$[", "remove": True}),
            ":8: #/actions/0: action 1, target $[: not a JSONPath: ",
        ),
        (
            overlay({"target": "$.info", "update": {}}, {"target": "$", "update": []}),
            ":12: #/actions/1: action 2, target $: an object is updated with an object",
        ),
    ],
)
def test_overlays(file: Callable[[str, Any], Path], content: Any, words: str) -> None:
    path = file("overlay.yaml", content)
    message = refused("--spec", file("api.yaml", FINE), "--overlay", path)
    assert message.startswith(f"{path}{words}")


def test_files_that_are_not_there(tmp_path: Path, file: Callable[[str, Any], Path]) -> None:
    gone = tmp_path / "gone.yaml"
    assert refused("--spec", gone) == f"{gone}: No such file or directory"
    assert refused("--overlay", gone) == f"{gone}: No such file or directory"
    assert refused("--spec", tmp_path) == f"{tmp_path}: Is a directory"
    schema = {"schemas": {"A": {"$ref": "gone.yaml#/A"}}}
    api = file("api.yaml", {**FINE, "components": schema})
    message = refused("--spec", api)
    assert message.startswith(f"{api}:")
    assert f"#/components/schemas/A: $ref gone.yaml#/A: {gone}: No such file" in message


def test_a_composed_answer_that_does_not_exist(file: Callable[[str, Any], Path]) -> None:
    paths = {"/a": {"get": {**PATHS["/a"]["get"], "x-wafermock-answer": "poem"}}}
    message = refused("--spec", file("api.yaml", {**FINE, "paths": paths}))
    assert message.startswith("GET /a: x-wafermock-answer is 'poem', it can be ")


def test_the_same_operation_in_two_documents(file: Callable[[str, Any], Path]) -> None:
    other = {"/a": {"get": {"operationId": "b", "responses": {}}}}
    one, two = file("one.yaml", FINE), file("two.yaml", {**FINE, "paths": other})
    message = refused("--spec", one, "--spec", two)
    assert message.startswith(f"{two}:8: #/paths/~1a: get of this path stands in another document")


def test_an_unknown_profile() -> None:
    assert refused("--profile", "x") == "--profile x: there are documented and observed"


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        message = refused("--port", port)
    why = f"{os.strerror(errno.EADDRINUSE)}; --port 0 picks a free port"
    assert message == f"cannot listen on 127.0.0.1:{port}: {why}"


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address"),
        socket.gaierror(socket.EAI_NONAME, "Name or service not known"),
    ],
    ids=["of another machine", "of nobody"],
)
def test_a_host_that_is_not_this_machine(error: OSError) -> None:
    message = cannot_listen("203.0.113.7", 4010, error)
    assert message.startswith("cannot listen on 203.0.113.7:4010: ")
    assert message.endswith(
        "; --host is an address of this machine, as 127.0.0.1, or 0.0.0.0 for all it has"
    )


@pytest.mark.parametrize("option", ["--watch", "--strict-script"])
def test_options_of_a_script_that_is_not_there(option: str) -> None:
    expected = f"{option} is about a script and there is none; give --script too"
    assert refused(option) == expected


def test_wrong_usage() -> None:
    for arguments in (["--nope"], ["--port", "99999"], ["--validate", "maybe"], ["--seed", "x"]):
        result = serve(*arguments)
        assert result.exit_code == 2
        assert "Traceback" not in result.stderr
        assert "Usage: " in result.stderr


def test_a_limit_of_a_model_that_is_not_there() -> None:
    arguments = ["serve", "--port", "0", "--models", "strict", "--limits", "gpt-oss-12b:rpm=1"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    (line,) = result.output.splitlines()
    assert "gpt-oss-12b" in line
    assert "gpt-oss-120b" in line
