"""OpenAPI Overlays (1.0 and 1.1): documents that correct and complete another document."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from .document import Document, DocumentError, read_document
from .pointer import Pointer, copy_json

if TYPE_CHECKING:
    import jsonpath_rfc9535

# Our own extension: the overlay is applied when one of these JSONPaths finds something.
APPLIES_TO = "x-wafermock-applies-to"

_DEEDS = ("update", "remove", "copy")


class Action(Struct, frozen=True):
    """One step of an overlay: what it targets and what it does there."""

    overlay: Document
    index: int
    target: str
    body: dict[str, Any]

    @property
    def pointer(self) -> Pointer:
        return ("actions", self.index)

    @property
    def newer(self) -> bool:
        """Whether the overlay is of version 1.1, which says more about arrays and primitives."""
        return str(self.overlay.root["overlay"]).startswith("1.1")

    @property
    def description(self) -> str:
        return " ".join(str(self.body.get("description", "")).split())

    def error(self, message: str) -> DocumentError:
        named = f"action {self.index + 1}, target {self.target}: {message}"
        return self.overlay.error(named, self.pointer)


class Overlay(Struct, frozen=True):
    """An overlay as read from its file."""

    document: Document
    actions: tuple[Action, ...]
    applies_to: tuple[str, ...]

    def applies(self, root: dict[str, Any]) -> bool:
        """Say whether this overlay is meant for a document."""
        return not self.applies_to or any(find(path, root) for path in self.applies_to)


def read_overlay(path: Path | str) -> Overlay:
    """Read an overlay file. Raises DocumentError when it is not one."""
    document = read_document(path)
    root = document.root
    if not str(root.get("overlay", "")).startswith(("1.0", "1.1")):
        message = "not an overlay: a key `overlay: 1.0.0` (or 1.1.0) is wanted at the root"
        raise document.error(message, ())
    actions = root.get("actions")
    if not isinstance(actions, list) or not actions:
        raise document.error("an overlay needs a list of `actions`", ())
    return Overlay(
        document=document,
        actions=tuple(_read_action(document, index, body) for index, body in enumerate(actions)),
        applies_to=_read_applies_to(document),
    )


def _read_applies_to(document: Document) -> tuple[str, ...]:
    paths = document.root.get(APPLIES_TO, [])
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise document.error("a list of JSONPaths is wanted here", (APPLIES_TO,))
    for index, path in enumerate(paths):
        try:
            find(path, {})
        except ValueError as error:
            raise document.error(f"not a JSONPath: {error}", (APPLIES_TO, index)) from None
    return tuple(paths)


def _read_action(document: Document, index: int, body: Any) -> Action:
    at = ("actions", index)
    if not isinstance(body, dict) or not isinstance(body.get("target"), str):
        raise document.error("an action is a mapping with a `target` (a JSONPath)", at)
    keys = {key for key in body if not key.startswith("x-")}
    if unknown := keys - {"target", "description", *_DEEDS}:
        raise document.error(f"an action has no key {', '.join(sorted(unknown))}", at)
    if not keys & set(_DEEDS):
        raise document.error("an action needs `update`, `remove` or `copy`", at)
    if {"update", "copy"} <= keys:
        raise document.error("an action has either `update` or `copy`", at)
    action = Action(document, index, body["target"], body)
    find(action.target, {}, action)
    if "copy" in keys:
        if not isinstance(body["copy"], str):
            raise action.error("`copy` is a JSONPath")
        find(body["copy"], {}, action)
    if "remove" in keys and not isinstance(body["remove"], bool):
        raise action.error("`remove` is true or false")
    return action


def find(path: str, root: Any, action: Action | None = None) -> list[Pointer]:
    """Return the pointers that a JSONPath (RFC 9535) finds, in the document's order.

    Raises DocumentError (with an action) or ValueError when the path cannot be read.
    """
    import jsonpath_rfc9535

    try:
        return [node.location for node in _compiled(path).find(root)]
    except jsonpath_rfc9535.JSONPathError as error:
        if action is None:
            raise ValueError(f"{path}: {error}") from None
        raise action.error(f"not a JSONPath: {error}") from None


@lru_cache(maxsize=512)
def _compiled(path: str) -> "jsonpath_rfc9535.JSONPathQuery":
    import jsonpath_rfc9535

    return jsonpath_rfc9535.compile(path)


def apply_overlay(root: dict[str, Any], overlay: Overlay) -> None:
    """Carry out every action of an overlay on a document, in order and in place.

    Raises DocumentError, naming the action, when an action matches nothing: an overlay that has
    lost its target is out of date.
    """
    for action in overlay.actions:
        found = find(action.target, root, action)
        if not found:
            raise action.error("matches nothing in the document")
        if action.body.get("remove"):
            _remove(root, found, action)
        elif "copy" in action.body or "update" in action.body:
            value = _copied(root, action) if "copy" in action.body else action.body["update"]
            for pointer in found:
                _update(root, pointer, copy_json(value), action)


def _copied(root: dict[str, Any], action: Action) -> Any:
    sources = find(action.body["copy"], root, action)
    if len(sources) != 1:
        raise action.error(f"`copy` must match one node, it matches {len(sources)}")
    return _at(root, sources[0])


def _at(root: Any, pointer: Pointer) -> Any:
    for token in pointer:
        root = root[token]
    return root


def _remove(root: dict[str, Any], found: list[Pointer], action: Action) -> None:
    if () in found:
        raise action.error("the whole document cannot be removed")
    for pointer in sorted(found, key=_by_index, reverse=True):  # list indexes from the end
        del _at(root, pointer[:-1])[pointer[-1]]


def _by_index(pointer: Pointer) -> tuple[tuple[int, str], ...]:
    return tuple((t, "") if isinstance(t, int) else (0, t) for t in pointer)


def _update(root: dict[str, Any], pointer: Pointer, value: Any, action: Action) -> None:
    """Update one node: Overlay 1.0 and 1.1, sections 4.4.3 (Action Object)."""
    node = _at(root, pointer)
    if isinstance(node, list):
        concatenated = action.newer and isinstance(value, list)
        node.extend(value if concatenated else [value])
    elif isinstance(node, dict):
        if not isinstance(value, dict):
            raise action.error("an object is updated with an object")
        _merge(node, value)
    elif not action.newer:
        raise action.error("selects a primitive; only an overlay 1.1.0 can replace one")
    elif isinstance(value, dict | list):
        raise action.error("a primitive is updated with a primitive")
    else:
        _at(root, pointer[:-1])[pointer[-1]] = value


def _merge(into: dict[str, Any], update: dict[str, Any]) -> None:
    """Merge recursively: objects into objects, arrays appended to arrays, the rest replaced."""
    for key, value in update.items():
        present = into.get(key)
        if isinstance(present, dict) and isinstance(value, dict):
            _merge(present, value)
        elif isinstance(present, list) and isinstance(value, list):
            present.extend(value)
        else:
            into[key] = value
