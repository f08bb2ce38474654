"""OpenAPI Overlays 1.0 and 1.1: what an action does, and what one that cannot do it says."""

from pathlib import Path
from typing import Any

import pytest

from wafermock.spec.document import DocumentError
from wafermock.spec.overlay import apply_overlay, find, read_overlay

from .documents import write

INFO = {"title": "T", "version": "1"}


def overlay(folder: Path, *actions: dict[str, Any], version: str = "1.0.0", **more: Any) -> Path:
    root = {"overlay": version, "info": INFO, "actions": list(actions), **more}
    return write(folder, "overlay.yaml", root)


def applied(
    folder: Path, root: dict[str, Any], *actions: dict[str, Any], version: str = "1.0.0"
) -> dict[str, Any]:
    apply_overlay(root, read_overlay(overlay(folder, *actions, version=version)))
    return root


@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
def test_objects_are_merged_recursively(tmp_path: Path, version: str) -> None:
    root = {"a": {"b": {"c": 1, "d": 2}, "list": [1], "e": {"f": 1}}}
    update = {"b": {"d": 3, "g": 4}, "list": [2, 3], "e": None, "new": {"x": []}}
    assert applied(tmp_path, root, {"target": "$.a", "update": update}, version=version) == {
        "a": {"b": {"c": 1, "d": 3, "g": 4}, "list": [1, 2, 3], "e": None, "new": {"x": []}}
    }


@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
def test_every_match_is_updated_on_its_own(tmp_path: Path, version: str) -> None:
    root: dict[str, Any] = {"paths": {"/a": {"get": {}}, "/b": {"get": {}, "post": {}}}}
    action = {"target": "$.paths.*.get", "update": {"tags": []}}
    applied(tmp_path, root, action, version=version)
    root["paths"]["/a"]["get"]["tags"].append("x")
    assert root["paths"]["/b"] == {"get": {"tags": []}, "post": {}}


def test_an_entry_is_appended_to_an_array(tmp_path: Path) -> None:
    action = {"target": "$.tags", "update": {"name": "b"}}
    root = applied(tmp_path, {"tags": [{"name": "a"}]}, action)
    assert root == {"tags": [{"name": "a"}, {"name": "b"}]}


def test_an_array_is_an_entry_in_1_0_and_concatenated_in_1_1(tmp_path: Path) -> None:
    action = {"target": "$.a", "update": [2, 3]}
    assert applied(tmp_path, {"a": [1]}, action, version="1.0.0") == {"a": [1, [2, 3]]}
    assert applied(tmp_path, {"a": [1]}, action, version="1.1.0") == {"a": [1, 2, 3]}


def test_a_primitive_is_replaced_in_1_1_only(tmp_path: Path) -> None:
    action = {"target": "$.info.title", "update": "New"}
    root = {"info": {"title": "Old"}}
    assert applied(tmp_path, root, action, version="1.1.0") == {"info": {"title": "New"}}
    with pytest.raises(DocumentError, match=r"action 1, target \$\.info\.title: selects a prim"):
        applied(tmp_path, root, action, version="1.0.0")
    action = {"target": "$.info.title", "update": {"a": 1}}
    with pytest.raises(DocumentError, match="a primitive is updated with a primitive"):
        applied(tmp_path, root, action, version="1.1.0")


def test_an_object_is_updated_with_an_object(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="an object is updated with an object"):
        applied(tmp_path, {"a": {}}, {"target": "$.a", "update": [1]})


def test_remove_from_objects_and_arrays(tmp_path: Path) -> None:
    root = {"a": [{"x": n} for n in range(12)], "b": {"c": 1, "d": 2}, "e": [[1, 2], [3]]}
    actions = [
        {"target": "$.a[?@.x != 3 && @.x != 11]", "remove": True},
        {"target": "$.b.c", "remove": True},
        {"target": "$.e[*][0]", "remove": True},
    ]
    assert applied(tmp_path, root, *actions) == {
        "a": [{"x": 3}, {"x": 11}], "b": {"d": 2}, "e": [[2], []],
    }  # fmt: skip


def test_nested_matches_are_removed(tmp_path: Path) -> None:
    root = {"a": {"x": {"x": {"x": 1}}, "y": {"x": [1]}}}
    assert applied(tmp_path, root, {"target": "$..x", "remove": True}) == {"a": {"y": {}}}


def test_remove_goes_before_update_and_false_does_not_remove(tmp_path: Path) -> None:
    both = {"target": "$.a", "update": {"b": 1}, "remove": True}
    assert applied(tmp_path, {"a": {}, "c": 1}, both) == {"c": 1}
    kept = {"target": "$.a", "update": {"b": 1}, "remove": False}
    assert applied(tmp_path, {"a": {}}, kept) == {"a": {"b": 1}}


def test_the_document_itself_cannot_be_removed(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="the whole document cannot be removed"):
        applied(tmp_path, {"a": 1}, {"target": "$", "remove": True})


def test_actions_see_what_those_before_did(tmp_path: Path) -> None:
    actions = [
        {"target": "$.a", "remove": True},
        {"target": "$", "update": {"a": {"new": True}}},
        {"target": "$.a", "update": {"b": 1}},
    ]
    assert applied(tmp_path, {"a": {"old": 1}}, *actions) == {"a": {"new": True, "b": 1}}


def test_copy(tmp_path: Path) -> None:
    root: dict[str, Any] = {"a": {"x": {"y": 1}}, "b": {"c": 2}, "d": {}}
    action = {"target": "$['b','d']", "copy": "$.a"}
    applied(tmp_path, root, action, version="1.1.0")
    assert root == {"a": {"x": {"y": 1}}, "b": {"c": 2, "x": {"y": 1}}, "d": {"x": {"y": 1}}}
    root["a"]["x"]["y"] = 2
    assert root["d"] == {"x": {"y": 1}}


@pytest.mark.parametrize(("source", "count"), [("$.nope", 0), ("$.a.*", 2)])
def test_copy_needs_one_source(tmp_path: Path, source: str, count: int) -> None:
    root = {"a": {"x": 1, "y": 2}, "b": {}}
    with pytest.raises(DocumentError, match=f"must match one node, it matches {count}"):
        applied(tmp_path, root, {"target": "$.b", "copy": source}, version="1.1.0")


def test_an_action_that_matches_nothing_is_named(tmp_path: Path) -> None:
    actions = [{"target": "$.a", "update": {}}, {"target": "$.gone", "remove": True}]
    with pytest.raises(DocumentError) as caught:
        applied(tmp_path, {"a": {}}, *actions)
    message = str(caught.value)
    assert message.endswith("action 2, target $.gone: matches nothing in the document")
    assert f"{tmp_path / 'overlay.yaml'}:" in message
    assert ": #/actions/1: " in message
    assert caught.value.line is not None


def test_extensions_are_let_pass(tmp_path: Path) -> None:
    action = {"target": "$.a", "update": {"b": 1}, "x-note": "why", "description": " two\n words "}
    read = read_overlay(overlay(tmp_path, action, **{"x-more": 1}))
    assert read.actions[0].description == "two words"


@pytest.mark.parametrize(
    ("applies", "root", "expected"),
    [
        ([], {}, True),
        (["$.paths['/a']"], {"paths": {"/a": {}}}, True),
        (["$.paths['/a']"], {"paths": {"/b": {}}}, False),
        (["$.paths['/a']", "$.paths['/b']"], {"paths": {"/b": {}}}, True),
    ],
)
def test_applies_to(tmp_path: Path, applies: list[str], root: Any, expected: bool) -> None:
    action = {"target": "$", "update": {}}
    read = read_overlay(overlay(tmp_path, action, **{"x-wafermock-applies-to": applies}))
    assert read.applies(root) is expected


GOOD = {"target": "$", "update": {}}


@pytest.mark.parametrize(
    ("change", "pointer", "words"),
    [
        ({"overlay": "2.0.0"}, "#", "`overlay: 1.0.0`"),
        ({"overlay": None}, "#", "`overlay: 1.0.0`"),
        ({"actions": []}, "#", "a list of `actions`"),
        ({"actions": {"target": "$"}}, "#", "a list of `actions`"),
        ({"actions": ["$"]}, "#/actions/0", "a mapping with a `target`"),
        ({"actions": [{"update": {}}]}, "#/actions/0", "a mapping with a `target`"),
        ({"actions": [GOOD, {"target": "$.a"}]}, "#/actions/1", "needs `update`, `remove`"),
        ({"actions": [{**GOOD, "updates": 1}]}, "#/actions/0", "has no key updates"),
        ({"actions": [{**GOOD, "copy": "$.a"}]}, "#/actions/0", "either `update` or `copy`"),
        ({"actions": [{"target": "$.a", "copy": 1}]}, "#/actions/0", "`copy` is a JSONPath"),
        ({"actions": [{"target": "$.a", "copy": "a"}]}, "#/actions/0", "not a JSONPath"),
        ({"actions": [{"target": "$.a[", "update": 1}]}, "#/actions/0", "not a JSONPath"),
        ({"actions": [{"target": "a.b", "update": 1}]}, "#/actions/0", "not a JSONPath"),
        ({"actions": [{"target": "$", "remove": "yes"}]}, "#/actions/0", "true or false"),
        ({"x-wafermock-applies-to": "$.a"}, "#/x-wafermock-applies-to", "a list of JSONPaths"),
        ({"x-wafermock-applies-to": ["$["]}, "#/x-wafermock-applies-to/0", "not a JSONPath"),
    ],
)
def test_what_is_no_overlay(tmp_path: Path, change: Any, pointer: str, words: str) -> None:
    root = {"overlay": "1.0.0", "info": INFO, "actions": [GOOD], **change}
    with pytest.raises(DocumentError) as caught:
        read_overlay(write(tmp_path, "overlay.yaml", root))
    assert f": {pointer}: " in str(caught.value)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_find_keeps_the_documents_order() -> None:
    root = {"b": [{"x": 1}, {"x": 2}], "a": {"x": 3}}
    assert find("$.b[*].x", root) == [("b", 0, "x"), ("b", 1, "x")]
    assert sorted(find("$..x", root), key=str) == [("a", "x"), ("b", 0, "x"), ("b", 1, "x")]
    with pytest.raises(ValueError, match="a b"):
        find("a b", root)
