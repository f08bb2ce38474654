"""Kept contracts: found when nothing has changed, made anew when anything has, never in the way."""

import shutil
from pathlib import Path

import pytest

from wafermock.spec import DocumentError, kept, load, load_contract

CHAT = load.HERE / "openapi" / "chat-completions.yaml"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("WAFERMOCK_CACHE", str(folder))
    return folder


def entries(cache: Path) -> set[str]:
    return {path.name for path in cache.iterdir()} if cache.exists() else set()


@pytest.mark.parametrize("profile", ["documented", "observed"])
def test_a_kept_contract_is_the_contract(cache: Path, profile: str) -> None:
    made = load_contract(profile)
    (name,) = entries(cache)
    found = load_contract(profile)
    assert entries(cache) == {name}
    assert found.document == made.document
    assert list(found.document["paths"]) == list(made.document["paths"])
    assert found.fingerprint == made.fingerprint
    assert [entry.answer() for entry in found.errors] == [entry.answer() for entry in made.errors]
    assert list(found.models) == list(made.models)
    assert found.requirements.requirements == made.requirements.requirements


def test_a_hit_reads_no_document(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_contract()
    monkeypatch.setattr(load, "_make_contract", None)
    assert load_contract().operation("createChatCompletion").streams


def test_a_changed_document_is_read_again(cache: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    shutil.copy(CHAT, mine)
    before = load_contract(documents=[mine])
    mine.write_text(mine.read_text().replace("maximum: 2\n", "maximum: 3\n"))
    after = load_contract(documents=[mine])
    assert before.fingerprint != after.fingerprint
    assert len(entries(cache)) == 2


def test_options_are_part_of_the_name(cache: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    shutil.copy(CHAT, mine)
    assert load_contract(documents=[mine]).operation("createChatCompletion").streams
    bare = load_contract(documents=[mine], corrected=False)
    assert not bare.operation("createChatCompletion").streams


def test_a_document_that_brings_files_in_is_not_kept(cache: Path, tmp_path: Path) -> None:
    main = tmp_path / "main.yaml"
    part = tmp_path / "part.yaml"
    main.write_text(
        "openapi: 3.1.0\ninfo: {title: t, version: '1'}\n"
        "paths: {/a: {get: {responses: {'200': {$ref: 'part.yaml#/ok'}}}}}\n"
    )
    part.write_text("ok: {description: one}\n")
    assert load_contract(documents=[main]).operations[0].responses["200"].description == "one"
    part.write_text("ok: {description: two}\n")
    assert load_contract(documents=[main]).operations[0].responses["200"].description == "two"
    assert entries(cache) == set()


@pytest.mark.parametrize("content", ["", "{", "[]", "null"])
def test_a_broken_entry_is_made_again(cache: Path, content: str) -> None:
    made = load_contract()
    (name,) = entries(cache)
    (cache / name).write_text(content)
    assert load_contract().fingerprint == made.fingerprint


def test_a_folder_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WAFERMOCK_CACHE", str(tmp_path / "file" / "cache"))
    assert load_contract().operations


def test_nothing_is_kept_where_nothing_shall_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAFERMOCK_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert load_contract().operations
    assert kept.folder() is None
    assert not list(tmp_path.iterdir())


def test_errors_are_told_each_time(cache: Path, tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(DocumentError, match="No such file"):
            load_contract(documents=[tmp_path / "missing.yaml"])


def test_only_the_newest_are_kept(cache: Path, tmp_path: Path) -> None:
    for number in range(40):
        kept.keep(f"{number:02}", {"n": number})
    assert len(entries(cache)) == 32
