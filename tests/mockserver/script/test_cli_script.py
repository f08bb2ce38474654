"""The commands `wafermock script schema` and `wafermock script check`."""

import json
from pathlib import Path

import jsonschema_rs
import pytest
from click.testing import CliRunner, Result

from wafermock.mockserver.script import Script, rules_of
from wafermock.script_commands import script
from wafermock.spec import DocumentError, load_contract
from wafermock.spec.document import read_document


def run(*arguments: str) -> Result:
    return CliRunner().invoke(script, arguments)


def test_schema_prints_json() -> None:
    result = run("schema")
    assert result.exit_code == 0
    schema = json.loads(result.stdout)
    jsonschema_rs.meta.validate(schema)
    validator = jsonschema_rs.validator_for(schema)
    assert validator.is_valid({"rules": [{"reply": {"text": "x"}}]})
    assert not validator.is_valid({"rules": [{"reply": {"txt": "x"}}]})


def test_check_says_what_is_wrong_and_ends_with_1(tmp_path: Path) -> None:
    good, bad = tmp_path / "a.yaml", tmp_path / "b.yaml"
    good.write_text("rules: [{reply: {text: x}}]")
    bad.write_text("rules:\n  - {nmae: x}\n")
    result = run("check", str(good), str(bad))
    assert result.exit_code == 1
    assert result.stdout.startswith(
        f"{bad}:2: #/rules/0/nmae: there is no key 'nmae'; did you mean"
    )
    assert result.stdout.count("\n") == 1


def test_check_of_a_folder_counts_the_rules(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("rules: [{reply: {text: x}}, {reply: {text: y}}]")
    result = run("check", str(tmp_path))
    assert (result.exit_code, result.stdout) == (0, "nothing is wrong: 2 rules\n")


def test_check_knows_the_profile_and_other_documents(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("rules: [{match: {operation: ping}, reply: {text: x}}]")
    assert "there is no operation 'ping'" in run("check", str(file)).stdout
    document = tmp_path / "api.json"
    operation = {"operationId": "ping", "responses": {"200": {"description": "pong"}}}
    info = {"title": "t", "version": "1"}
    document.write_text(
        json.dumps({"openapi": "3.1.0", "info": info, "paths": {"/ping": {"get": operation}}})
    )
    result = run("check", str(file), "--spec", str(document), "--bare")
    assert (result.exit_code, result.stdout) == (0, "nothing is wrong: 1 rule\n")


def test_check_of_nothing_is_wrong(tmp_path: Path) -> None:
    result = run("check", str(tmp_path))
    assert result.exit_code == 1
    assert "no rules in these files" in result.stderr


def test_check_of_a_file_that_cannot_be_read_ends_with_2(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("rules: [{nmae: x}]")
    result = run("check", str(tmp_path / "missing.yaml"), str(bad))
    assert result.exit_code == 2
    assert result.stderr == f"wafermock: {tmp_path}/missing.yaml: No such file or directory\n"
    assert result.stdout.startswith(f"{bad}:1: #/rules/0/nmae: ")


def test_all_that_is_wrong_is_told_at_once_or_counted(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(
        "rules:\n"
        "  - {nmae: x, reply: {text: a}}\n"  # breaks the schema; the others do not
        "  - {match: {last: {regex: '('}}, reply: {text: a}}\n"
        "  - {reply: {template: '{{ nope'}}\n"
    )
    shown = run("check", str(bad)).stdout.splitlines()
    assert [line.split(" ")[0] for line in shown] == [f"{bad}:{n}:" for n in (2, 3, 4)]
    with pytest.raises(DocumentError) as caught:
        Script.load(bad)
    first = str(caught.value)
    assert first.startswith(f"{bad}:2: #/rules/0/nmae: ")
    assert first.endswith("(2 more are wrong: `wafermock script check` lists them)")
    script = tmp_path / "good.yaml"
    script.write_text("rules: []")
    loaded = Script.load(script)
    script.write_text(bad.read_text())
    assert "(2 more are wrong: " in str(loaded.reload().problem)
    with pytest.raises(DocumentError, match=r"\(2 more are wrong\)$"):
        rules_of(read_document(bad), load_contract())
