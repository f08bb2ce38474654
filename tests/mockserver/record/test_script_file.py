"""The file: whole after every rule, in order, and what was in it stays."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wafermock.mockserver.record.script_file import ScriptFile
from wafermock.mockserver.script import Script
from wafermock.spec import DocumentError
from wafermock.spec.document import read_document


def rule(number: int, digest: int | None = None) -> dict[str, Any]:
    return {
        "name": f"#{number} rule",
        "match": {"recorded": f"{number if digest is None else digest:032x}"},
        "reply": {"status": 200, "parts": [{"at": 0.1, "text": f"answer {number}\n"}]},
    }


def numbers(path: Path) -> list[str]:
    return [r["name"].partition(" ")[0] for r in read_document(path).root["rules"]]


@settings(max_examples=25)
@given(st.permutations(range(6)), st.integers(0, 3), st.data())
def test_rules_stand_in_the_order_of_their_start(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], before: int, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("file") / "out.yaml"
    first = ScriptFile(path)
    digests = [data.draw(st.integers(0, 2)) for _ in range(12)]
    for number in range(before):
        first.add(number, rule(number, digests[number]))
    file = ScriptFile(path)
    done: list[int] = []
    for start in order:
        file.add(start, rule(before + start, digests[before + start]))
        done.append(before + start)
        want = [*range(before), *sorted(done)]
        rules = read_document(path).root["rules"]
        assert [r["name"] for r in rules] == [rule(n)["name"] for n in want]
        # Of the rules for one request the last one answers for ever, the others once.
        for place, r in enumerate(rules):
            later = [o["match"] for o in rules[place + 1 :]]
            assert ("times" in r) is (r["match"] in later)
            assert r["reply"] == rule(want[place])["reply"]
    assert not [p for p in path.parent.iterdir() if p != path]


def test_what_was_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    mine = "# my script\ndescription: mine\nrules:\n- name: one  # first\n  reply: {text: Hi}"
    path.write_text(mine)
    ScriptFile(path).add(1, rule(1))
    ScriptFile(path).add(1, rule(2))
    text = path.read_text()
    assert text.startswith(mine + "\n- name: ")
    assert numbers(path) == ["one", "#1", "#2"]
    Script.load(path)


def test_a_rule_that_lost_its_mark_is_overtaken_too(tmp_path: Path) -> None:
    path = tmp_path / "out.yaml"
    ScriptFile(path).add(1, rule(1, 7))
    path.write_text(path.read_text().replace("  # newest\n", ""))
    file = ScriptFile(path)
    file.add(1, rule(2, 7))
    file.add(2, rule(3, 7))
    assert [r.get("times") for r in read_document(path).root["rules"]] == [1, 1, None]


def test_numbers_go_on(tmp_path: Path) -> None:
    path = tmp_path / "out.yaml"
    ScriptFile(path).add(1, rule(17))
    assert ScriptFile(path).last_number == 17


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("rules: [{name: a, reply: {text: b}}]\n", "cannot be appended"),
        ('{"rules": []}', "cannot be appended"),
        ("rules:\n- name: a\n  reply: {text: b}\ndescription: last\n", "cannot be appended"),
        ("rules:\n  - name: a\n    reply: {text: b}\n", "cannot be appended"),
        ("rules:\n- name: a\n  reply:\n    text: |+\n      b\n...\n", "cannot be appended"),
        ("openapi: 3.1.0\n", "no list `rules`"),
        ("rules:\n", "no list `rules`"),
        ("- a\n", "a mapping is wanted"),
        ("rules: [\n", "not YAML"),
    ],
)
def test_files_that_cannot_be_added_to(tmp_path: Path, text: str, wrong: str) -> None:
    path = tmp_path / "out.yaml"
    path.write_text(text)
    with pytest.raises(DocumentError, match=wrong):
        ScriptFile(path)
    assert path.read_text() == text


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="cannot be written: No such file"):
        ScriptFile(tmp_path / "nowhere" / "out.yaml")
    with pytest.raises(DocumentError):
        ScriptFile(tmp_path)


def test_a_full_disk_leaves_the_file_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.yaml"
    file = ScriptFile(path)
    file.add(2, rule(2))
    before = path.read_bytes()

    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            file.add(1, rule(1))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    file.add(1, rule(1))
    assert numbers(path) == ["#1", "#2"]


def test_somebody_else_writes(tmp_path: Path) -> None:
    path = tmp_path / "out.yaml"
    file = ScriptFile(path)
    file.add(1, rule(1))
    with path.open("a") as other:
        other.write("# a note\n")
    with pytest.raises(OSError, match="somebody else"):
        file.add(2, rule(2))
    assert numbers(path) == ["#1"]
