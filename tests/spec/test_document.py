"""Reading a file: what JSON can hold comes in, and for anything else one line says where."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.spec.document import Document, DocumentError, parse_document, read_document
from wafermock.spec.yaml_data import YamlLines


def write(folder: Path, text: str | bytes, name: str = "api.yaml") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(path: Path) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        read_document(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(path))
    return caught.value


def test_data_is_that_of_json(tmp_path: Path) -> None:
    text = (
        "\ufeffdate: 2020-01-01\ntime: 2020-01-01T10:00:00Z\n"
        "responses: {200: a, 2.5: b, true: c, null: d}\n"
    )
    root = read_document(write(tmp_path, text)).root
    assert root == {
        "date": "2020-01-01",
        "time": "2020-01-01T10:00:00Z",
        "responses": {"200": "a", "2.5": "b", "true": "c", "null": "d"},
    }


def test_merge_keys_and_aliases(tmp_path: Path) -> None:
    text = "a: &a {x: 1, y: 1}\nb: &b\n  <<: *a\n  x: 2\nc:\n  <<: *b\n  x: 3\nd: *a\n"
    root = read_document(write(tmp_path, text)).root
    assert root["b"] == {"x": 2, "y": 1}
    assert root["c"] == {"x": 3, "y": 1}
    assert root["d"] == root["a"]


@pytest.mark.parametrize("name", ["api.json", "api.yaml"])
def test_json(tmp_path: Path, name: str) -> None:
    document = read_document(write(tmp_path, '{\n\t"a": [\n\t\t{"b/c": "\\ud83d\\ude00"}]}', name))
    assert document.root == {"a": [{"b/c": "😀"}]}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: [1, 2\nc: 3\n", 3, "not YAML"),
        ("a: 1\nb: {x: 1, x: 2}\n", 2, "'x' stands twice"),
        ("a: 1\nresponses:\n  200: a\n  '200': b\n", 4, "'200' stands twice"),
        ("a: 1\n<<: {b: 1}\nb: 2\na: 3\n", 4, "'a' stands twice"),
        ("a: !unknown 1\n", 1, "!unknown"),
        ("a: *nowhere\n", 1, "nowhere"),
        ("? [a, b]\n: 1\n", 1, "unhashable"),
        ("- a\n", 1, "a mapping is wanted"),
        ("", 1, "a mapping is wanted"),
        ("a: &a [*a]\n", None, "Circular"),
        ("a: .nan\n", None, "JSON"),
        ("a: !!binary aGk=\n", None, "JSON"),
        ("a: !!set {x}\n", None, "JSON"),
        ("a: " + "[" * 5000 + "]" * 5000, None, "nest"),
        ("a: 1\n--- \nb: 2\n", None, "not YAML"),
    ],
)
def test_bad_yaml(tmp_path: Path, text: str, line: int | None, words: str) -> None:
    error = refusal(write(tmp_path, text))
    assert words in str(error)
    if line is not None:
        assert error.line == line
        assert f"api.yaml:{line}: " in str(error)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('{\n"a": 1,\n}', 3, "not JSON"),
        ('{"a": 1, "b": 2, "a": 3}', None, "'a' stands twice"),
        ('{"a": NaN}', None, "JSON"),
        ('{"a": "\\ud800"}', None, "surrogates"),
        ('{"a": ' + "1" * 5000 + "}", None, "digits"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", None, "too deep"),
        ("[]", 1, "a mapping is wanted"),
        ("", 1, "not JSON"),
    ],
)
def test_bad_json(tmp_path: Path, text: str, line: int | None, words: str) -> None:
    error = refusal(write(tmp_path, text, "api.json"))
    assert words in str(error)
    assert error.line == line


def test_what_cannot_be_read(tmp_path: Path) -> None:
    assert "No such file" in str(refusal(tmp_path / "missing.yaml"))
    assert "directory" in str(refusal(tmp_path))
    assert "not UTF-8 text (byte 3)" in str(refusal(write(tmp_path, b"a: \xff")))


DOCUMENT = """\
openapi: 3.1.0
paths:
  /a/{b}:
    get:
      parameters:
        - name: x
          in: query
        - {name: y,
           in: query}
      responses:
        200: {description: Fine}
"""


@pytest.mark.parametrize(
    ("pointer", "line"),
    [
        ((), 1),
        (("paths",), 2),
        (("paths", "/a/{b}", "get"), 4),
        (("paths", "/a/{b}", "get", "parameters", 1), 8),
        (("paths", "/a/{b}", "get", "parameters", "1", "in"), 9),
        (("paths", "/a/{b}", "get", "responses", "200", "description"), 11),
        (("paths", "/a/{b}", "get", "responses", "404"), 10),
        (("paths", "/a/{b}", "get", "parameters", 7, "name"), 5),
    ],
)
def test_lines(tmp_path: Path, pointer: tuple[str | int, ...], line: int) -> None:
    document = read_document(write(tmp_path, DOCUMENT))
    assert document.line_of(pointer) == line
    error = document.error("it is\n wrong", pointer)
    assert str(error).startswith(f"{document.path}:{line}: #")
    assert str(error).endswith(": it is wrong")


def test_pointer_in_a_message_is_escaped(tmp_path: Path) -> None:
    document = read_document(write(tmp_path, "a/b: {~: [0]}\n"))
    assert str(document.error("no", ("a/b", "~", 0))).endswith(":1: #/a~1b/~0/0: no")


def test_lines_of_json_with_tabs(tmp_path: Path) -> None:
    text = json.dumps({"a": {"b": [1, 2]}}, indent="\t")
    document = read_document(write(tmp_path, text, "api.json"))
    assert document.line_of(("a", "b", 1)) == 5


def test_no_text_no_line() -> None:
    assert Document(Path("made up"), "", {"a": 1}).line_of(("a",)) is None


def test_few_lines_that_say_a_thousand_million_values(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    merges = ["a0: &a0 {a: 1, b: 2, c: 3, d: 4}"]
    merges += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 9)]
    for text in (lines, merges):
        error = refusal(write(tmp_path, "\n".join(text)))
        assert "more than 1000000 values" in str(error)


KEYS = st.text("ab~/: \n\t\u00e9", max_size=3)
TREES = st.dictionaries(
    KEYS,
    st.recursive(
        st.none() | st.booleans() | st.integers() | KEYS,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    ),
    max_size=4,
)


def pointers(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the pointers of all values, and some that lead nowhere."""
    yield at
    if isinstance(value, dict | list):
        for token, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from pointers(part, (*at, token))
    yield from ((*at, "not there"), (*at, 99), (*at, "0"))


@given(TREES, st.sampled_from([None, 1, "  "]))
def test_json_has_the_lines_that_yaml_has(root: dict[str, Any], indent: int | str | None) -> None:
    text = "\n" + json.dumps(root, indent=indent)
    document, lines = parse_document(text, Path("a.json")), YamlLines(text)
    for pointer in pointers(root):
        assert document.line_of(pointer) == lines.line_of(pointer)


@given(TREES, st.sampled_from(["\n", "\r\n", "\r"]))
def test_any_line_end_ends_a_line_of_json(root: dict[str, Any], end: str) -> None:
    text = json.dumps(root, indent=1)
    plain = parse_document(text, Path("a.json"))
    other = parse_document(text.replace("\n", end), Path("a.json"))
    for pointer in pointers(root):
        assert other.line_of(pointer) == plain.line_of(pointer)


@given(TREES, st.sampled_from([" ", "\n", "\t", "\r\n", "\n\n "]))
def test_lines_of_json_with_space_everywhere(root: dict[str, Any], space: str) -> None:
    text = json.dumps(root, separators=(f"{space},{space}", f"{space}:{space}"))
    document = parse_document(space + text, Path("a.json"))
    for pointer in pointers(root):
        line = document.line_of(pointer)
        assert line is not None
        assert 1 <= line <= (space + text).count("\n") + 1


def test_json_in_a_file_of_yaml_that_is_not_json_after_all(tmp_path: Path) -> None:
    document = read_document(write(tmp_path, "{a: 1,\n b: [2]}"))
    assert document.root == {"a": 1, "b": [2]}
    assert document.line_of(("b", 0)) == 2


def test_a_key_that_stands_twice_among_very_many_is_found_in_linear_time(tmp_path: Path) -> None:
    # Counting each name anew would take minutes here.
    names = ", ".join(f'"{number}": 0' for number in range(100_000))
    text = '{"paths": {' + names + ', "99999": 0}}'
    assert "the key '99999' stands twice" in str(refusal(write(tmp_path, text)))
