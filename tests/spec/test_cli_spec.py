"""The commands `wafermock spec lint`, `bundle` and `show`: output, exit codes, bad input."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from wafermock.cli import main
from wafermock.spec import load_contract
from wafermock.spec.bundle import bundle, to_json, to_yaml
from wafermock.spec.document import read_document

from .documents import PETS, minimal, with_schema, write

CONTENT = {"application/json": {"schema": {"type": "object"}}}
FAULTLESS = minimal(paths={"/a": {"get": {"operationId": "a", "responses": {
    "200": {"description": "Fine"}, "default": {"description": "Not", "content": CONTENT},
}}}})  # fmt: skip


def run(*arguments: Any, code: int = 0) -> Result:
    result = CliRunner(catch_exceptions=False).invoke(main, ["spec", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def refused(*arguments: Any) -> str:
    """Run what must be refused; return the one line that says why."""
    result = run(*arguments, code=2)
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("wafermock: ")
    return result.stderr


# ------------------------------------------------------------------------------------ lint


@pytest.mark.parametrize("profile", ["documented", "observed"])
def test_lint_without_files(profile: str) -> None:
    text = run("lint", "--profile", profile, code=1).stdout
    chat, completions, contract = text.split("\n\n")
    assert chat.splitlines()[0].endswith("chat-completions.yaml, as given: 32 findings")
    assert completions.splitlines()[0].endswith("completions.yaml, as given: 2 findings")
    assert contract == f"the completed contract, profile {profile}: nothing found\n"
    line = completions.splitlines()[2]
    at = "#/paths/~1v1~1completions/post/security/0/HTTPBearer"
    assert line.startswith(f"openapi/completions.yaml:73: {at}: the security scheme HTTPBearer")
    assert " [security-undefined] -> overlays/completions.yaml, action 1: " in line


def test_lint_as_json() -> None:
    found = json.loads(run("lint", "--format", "json", code=1).stdout)
    assert len(found) == 34
    assert {tuple(entry) for entry in found} == {
        ("file", "line", "pointer", "rule", "sentence", "remedy")
    }
    (entry,) = [e for e in found if e["rule"] == "security-undefined"]
    assert entry["pointer"] == "#/paths/~1v1~1completions/post/security/0/HTTPBearer"
    assert entry["line"] == 73


def test_lint_of_files(tmp_path: Path) -> None:
    fine = write(tmp_path, "fine.yaml", FAULTLESS)
    assert run("lint", fine).stdout == f"{fine}: nothing found\n"
    assert json.loads(run("lint", fine, "--format", "json").stdout) == []
    wrong = write(tmp_path, "wrong.json", {**FAULTLESS, "security": [{"lost": []}]})
    text = run("lint", fine, wrong, code=1).stdout
    assert f"{fine}: 1 finding" not in text
    assert f"{wrong}: 2 findings" in text  # the operation id stands in both
    assert "nothing; add an overlay action" in text


def test_lint_of_what_cannot_be_used(tmp_path: Path) -> None:
    assert "gone.yaml: No such file" in refused("lint", tmp_path / "gone.yaml")
    bad = write(tmp_path, "bad.yaml", "openapi: [")
    assert f"{bad}:2: not YAML" in refused("lint", bad)
    assert "--profile x: there are documented and observed" in refused("lint", "--profile", "x")


def test_lint_tells_of_lost_references(tmp_path: Path) -> None:
    path = write(tmp_path, "api.yaml", with_schema({"$ref": "gone.yaml"}))
    assert "[reference-unresolved]" in run("lint", path, code=1).stdout


# ---------------------------------------------------------------------------------- bundle


@pytest.mark.parametrize("profile", ["documented", "observed"])
def test_bundle(profile: str) -> None:
    expected = bundle(load_contract(profile))
    assert run("bundle", "--profile", profile).stdout == to_yaml(expected)
    assert run("bundle", "--profile", profile, "--format", "json").stdout == to_json(expected)


def test_bundle_into_a_file(tmp_path: Path) -> None:
    path = tmp_path / "bundle.yaml"
    assert run("bundle", "-o", path).stdout == ""
    assert run("bundle", "--bare", "--spec", path).stdout == path.read_text("utf-8")
    assert "\r" not in path.read_bytes().decode()


def test_bundle_of_other_documents(tmp_path: Path) -> None:
    overlay = {"overlay": "1.0.0", "info": {"title": "T", "version": "1"},
               "actions": [{"target": "$.info", "update": {"title": "Cats"}}]}  # fmt: skip
    first, second = write(tmp_path, "pets.yaml", PETS), write(tmp_path, "a.json", FAULTLESS)
    over = write(tmp_path, "overlay.yaml", overlay)
    out = tmp_path / "out.yaml"
    run("bundle", "--spec", first, "--spec", second, "--overlay", over, "--output", out)
    root = read_document(out).root
    assert root["openapi"] == "3.2.0"
    assert root["info"]["title"] == "Cats"
    assert {"/pets", "/a"} <= root["paths"].keys()


def test_bundle_of_what_cannot_be_used(tmp_path: Path) -> None:
    path = write(tmp_path, "api.yaml", with_schema({"$ref": "#/components/schemas/Gone"}))
    message = refused("bundle", "--spec", path)
    assert f"{path}:" in message
    assert "#/components/schemas/Subject: $ref #/components/schemas/Gone leads nowhere" in message
    assert "No such file or directory" in refused("bundle", "-o", tmp_path / "gone" / "out.yaml")


# ------------------------------------------------------------------------------------ show


def test_show_lists_operations() -> None:
    # A summary goes to the next line where the terminal is narrow.
    lines = [line for line in run("show").stdout.splitlines() if not line.startswith(" ")]
    assert len(lines) == len(load_contract().operations)
    assert any(line.startswith("POST  /v1/chat/completions") for line in lines)


@pytest.mark.parametrize("name", ["/v1/models", "listModels", "GET /v1/models"])
def test_show_an_operation(name: str) -> None:
    text = run("show", name).stdout
    assert text.startswith("GET /v1/models  (listModels)\nList models\n")


def test_show_every_method_of_a_path(tmp_path: Path) -> None:
    text = run("show", "/pets", "--spec", write(tmp_path, "pets.yaml", PETS)).stdout
    assert "GET /pets  (listPets)" in text
    assert "POST /pets  (createPet)" in text


def test_show_is_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, run("show", "/v1/models").stdout.splitlines())) <= 60


def test_show_an_unknown_one() -> None:
    message = refused("show", "/v1/nope")
    assert "no operation '/v1/nope'; there are POST /v1/chat/completions (" in message
    assert "GET /v1/models (listModels)" in message
