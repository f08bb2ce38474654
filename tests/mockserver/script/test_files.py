"""Files of scripts: folders, changes, and a broken file that keeps the last good rules."""

import os
from pathlib import Path

import pytest

from wafermock.mockserver.script import Rule, Script, ScriptState, rules_of
from wafermock.spec import DocumentError
from wafermock.spec.document import parse_document

from . import asking

ONE = "rules: [{name: one, reply: {text: x}}]"
TWO = "rules: [{name: two, reply: {text: y}}]"


def names(script: Script) -> list[str]:
    return [rule.name for rule in script.rules]


def write(file: Path, text: str) -> None:
    """Write a file so that its time is another one, however coarse the file system's clock."""
    before = file.stat().st_mtime_ns if file.exists() else 0
    file.write_text(text, encoding="utf-8")
    os.utime(file, ns=(before + 1_000_000_000, before + 1_000_000_000))


def test_a_folder_stands_for_its_files_by_name(tmp_path: Path) -> None:
    write(tmp_path / "b.yaml", ONE)
    write(tmp_path / "a.json", '{"rules": [{"name": "two", "reply": {"text": "y"}}]}')
    write(tmp_path / "notes.txt", "no script")
    write(tmp_path / ".hidden.yaml", "no script")
    (tmp_path / "material").mkdir()
    write(tmp_path / "material" / "answer.json", "[]")
    assert names(Script.load(tmp_path, asking.contract())) == ["two", "one"]


def test_files_come_in_the_order_given_and_once(tmp_path: Path) -> None:
    a, b = tmp_path / "a.yaml", tmp_path / "b.yaml"
    write(a, ONE)
    write(b, TWO)
    assert names(Script.load([b, a, tmp_path], asking.contract())) == ["two", "one"]


def test_changes_are_seen(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    write(file, ONE)
    script = Script.load([tmp_path], asking.contract())
    assert not script.changed()
    write(file, TWO)
    assert script.changed()
    script = script.reload()
    assert (names(script), script.problem, script.changed()) == (["two"], None, False)
    write(tmp_path / "b.yaml", ONE)
    assert script.changed()
    script = script.reload()
    assert names(script) == ["two", "one"]
    file.unlink()
    assert script.changed()
    assert names(script.reload()) == ["one"]


def test_a_broken_file_keeps_the_last_good_rules_until_it_is_mended(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    write(file, ONE)
    script = Script.load(file, asking.contract())
    write(file, "rules:\n  - {nmae: x}")
    script = script.reload()
    assert names(script) == ["one"]
    assert str(script.problem).startswith(f"{file}:2: #/rules/0/nmae: there is no key 'nmae'")
    assert not script.changed()  # it is told once, not at every look
    file.unlink()
    assert script.changed()
    script = script.reload()
    assert names(script) == ["one"]
    assert "No such file" in str(script.problem)
    write(file, TWO)
    assert script.changed()
    script = script.reload()
    assert (names(script), script.problem) == (["two"], None)


def test_files_of_answers_are_watched_and_sent_as_they_are(tmp_path: Path) -> None:
    raw = b'{"a":\t1}\r\n'
    (tmp_path / "answer.json").write_bytes(raw)
    text = "rules: [{reply: {file: answer.json, status: 201, headers: {X-A: b}}}]"
    script = asking.script(tmp_path, text)
    answer = script.rules[0].steps[0].reply.answer
    assert answer is not None
    assert (answer.status, answer.body, answer.streamed) == (201, raw, False)
    assert answer.headers == {"x-a": "b", "content-type": "application/json"}
    assert not script.changed()
    write(tmp_path / "answer.json", "{}")
    assert script.changed()
    answer = script.reload().rules[0].steps[0].reply.answer
    assert answer is not None
    assert answer.body == b"{}"


def test_a_stream_is_taken_apart_where_its_events_end(tmp_path: Path) -> None:
    raw = b"data: {}\n\ndata: 1\r\n\r\n: comment\n\ndata: [DONE]"
    (tmp_path / "answer.sse").write_bytes(raw)
    script = asking.script(tmp_path, "rules: [{reply: {file: answer.sse}}]")
    answer = script.rules[0].steps[0].reply.answer
    assert answer is not None
    assert answer.streamed
    assert answer.parts == (b"data: {}\n\n", b"data: 1\r\n\r\n", b": comment\n\n", b"data: [DONE]")
    assert answer.body == raw


def test_parts_are_sent_as_they_are_at_their_times(tmp_path: Path) -> None:
    text = """
rules:
  - reply:
      headers: {content-type: text/event-stream}
      parts: [{text: "data: ü\\n\\n", at: 0.5}, {base64: /w==}, {text: "", at: 2}]
"""
    answer = asking.script(tmp_path, text).rules[0].steps[0].reply.answer
    assert answer is not None
    assert answer.parts == ("data: ü\n\n".encode(), b"\xff", b"")
    assert answer.offsets == (0.5, 0.5, 2.0)
    assert answer.streamed


def test_the_content_type_of_a_body_is_guessed(tmp_path: Path) -> None:
    for body, kind in [
        ("{a: [1, ü]}", "application/json"),
        ("'[1]'", "application/json"),
        ("'<p>'", "text/html; charset=utf-8"),
        ("hello", "text/plain; charset=utf-8"),
        ('"data: 1\\n\\n"', "text/event-stream; charset=utf-8"),
        ("''", "text/plain; charset=utf-8"),
    ]:
        script = asking.script(tmp_path, f"rules: [{{reply: {{body: {body}}}}}]")
        answer = script.rules[0].steps[0].reply.answer
        assert answer is not None
        assert answer.headers["content-type"] == kind


def given(text: str, name: str = "loaded.yaml") -> tuple[Rule, ...]:
    return rules_of(parse_document(text, Path(name)), asking.contract())


THREE = "rules: [{name: three, reply: {text: z}}]"


def test_given_rules_come_first_and_stay_when_files_are_read_again(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    write(file, ONE)
    state = ScriptState(Script.load(file, asking.contract()))
    state.put(given(TWO))
    assert names(state.script) == ["two", "one"]
    assert [rule.place for rule in state.script.rules] == ["loaded.yaml:1", f"{file}:1"]
    assert state.read_again() is None
    write(file, THREE)
    assert state.read_again() is state.script
    assert names(state.script) == ["two", "three"]
    write(file, "rules: [")
    again = state.read_again()
    assert again is not None
    assert again.problem is not None
    assert names(state.script) == ["two", "three"]
    assert state.read_again() is None  # it is told once


def test_rules_in_place_of_all_others_end_the_files(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    write(file, ONE)
    state = ScriptState(Script.load(file, asking.contract()))
    state.put(given(TWO), instead=True)
    write(file, THREE)
    assert state.read_again() is None
    assert names(state.script) == ["two"]


def test_a_given_rule_of_a_name_that_is_taken_changes_nothing(tmp_path: Path) -> None:
    state = ScriptState(asking.script(tmp_path, ONE))
    with pytest.raises(DocumentError, match=r"loaded.yaml:1: the rule 'one' stands at .*script"):
        state.put(given(ONE))
    with pytest.raises(DocumentError, match=r"'one' stands at loaded.yaml:1 already"):
        given("rules: [{name: one, reply: {text: x}}, {name: one, reply: {text: y}}]")
    assert names(state.script) == ["one"]


def test_a_file_that_takes_the_name_of_a_given_rule_is_told(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    write(file, ONE)
    state = ScriptState(Script.load(file, asking.contract()))
    state.put(given(TWO))
    write(file, TWO)
    again = state.read_again()
    assert again is not None
    assert str(again.problem).startswith(f"{file}:1: the rule 'two' stands at loaded.yaml:1")
    assert names(state.script) == ["two", "one"]


def test_what_is_put_in_while_files_are_read_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script is loaded over the network while `--watch` reads a changed file."""
    file = tmp_path / "a.yaml"
    write(file, ONE)
    state = ScriptState(Script.load(file, asking.contract()))
    write(file, THREE)
    reload, loads = Script.reload, [given(TWO)]

    def reload_meanwhile(script: Script) -> Script:
        read = reload(script)
        while loads:
            state.put(loads.pop())
        return read

    monkeypatch.setattr(Script, "reload", reload_meanwhile)
    assert state.read_again() is state.script
    assert names(state.script) == ["two", "three"]
    assert state.read_again() is None
