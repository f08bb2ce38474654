"""Several documents, one contract: paths and components united."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from .document import Document, DocumentError
from .pointer import Pointer, copy_json, format_pointer
from .references import inline_files, place_path_items
from .shape import misshapen
from .structure import operations, references


class Merged(Struct, frozen=True):
    """The united document, and which file each part of it came from."""

    root: dict[str, Any]
    origins: dict[Pointer, tuple[Document, Pointer]]

    def error(self, message: str, pointer: Pointer) -> DocumentError:
        """Make an error that points into the file a part came from."""
        # The root came from the first document, so that one of the ancestors is always known.
        depth = next(d for d in range(len(pointer), -1, -1) if pointer[:d] in self.origins)
        document, start = self.origins[pointer[:depth]]
        return document.error(message, start + pointer[depth:])


def merge(documents: Sequence[Document]) -> Merged:
    """Unite documents: the first gives `openapi`, `info` and `servers`, each its paths and parts.

    A component that two documents define differently keeps its name in the first and gets a
    number in the other (`Usage_2`), with the references to it.
    Raises DocumentError when a document is not OpenAPI 3.x or two declare the same operation.
    """
    result: dict[str, Any] = {}
    origins: dict[Pointer, tuple[Document, Pointer]] = {}
    for document in documents:
        _check(document)
        root = inline_files(document)
        place_path_items(root)
        renamed = _renamed(result, root)
        if renamed:
            root = _rename(root, renamed)
        if not result:
            origins[()] = (document, ())
        elif root.get("security") != result.get("security"):
            _secure(root)
        _unite(result, root, document, origins, renamed)
    return Merged(result, origins)


def _check(document: Document) -> None:
    if fault := misshapen(document.root):
        pointer, sentence = fault
        raise document.error(sentence, pointer)


def _secure(root: dict[str, Any]) -> None:
    """Write a document's own security on each of its operations, in place.

    At the root of the united document stands the first one's, which would hold for these too.
    """
    security = root.pop("security", [])
    for _, operation in operations(root):
        operation.setdefault("security", security)


def _renamed(result: dict[str, Any], root: dict[str, Any]) -> dict[tuple[str, str], str]:
    taken = result.get("components", {})
    renamed = {}
    for kind, parts in root.get("components", {}).items():
        for name, part in parts.items() if isinstance(parts, dict) else ():
            if taken.get(kind, {}).get(name, part) != part:
                number = 2
                while f"{name}_{number}" in taken[kind] or f"{name}_{number}" in parts:
                    number += 1
                renamed[kind, name] = f"{name}_{number}"
    return renamed


def _rename(root: dict[str, Any], renamed: dict[tuple[str, str], str]) -> dict[str, Any]:
    old_to_new = {
        format_pointer(("components", kind, old)): format_pointer(("components", kind, new))
        for (kind, old), new in renamed.items()
    }

    def changed(target: str) -> str:
        for old, new in old_to_new.items():
            if target == old or target.startswith(old + "/"):
                return new + target[len(old) :]
        return target

    root = copy_json(root)
    for _, node in references(root):
        node["$ref"] = changed(node["$ref"])
    _rename_mappings(root, changed)
    for (kind, old), new in renamed.items():
        root["components"][kind][new] = root["components"][kind].pop(old)
    return root


def _rename_mappings(node: Any, changed: Any) -> None:
    """Discriminator mappings name components too."""
    if isinstance(node, dict):
        discriminator = node.get("discriminator")
        if isinstance(discriminator, dict) and isinstance(discriminator.get("mapping"), dict):
            mapping = discriminator["mapping"]
            mapping.update({key: changed(value) for key, value in mapping.items()})
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            _rename_mappings(item, changed)


def _unite(
    result: dict[str, Any],
    root: dict[str, Any],
    document: Document,
    origins: dict[Pointer, tuple[Document, Pointer]],
    renamed: dict[tuple[str, str], str],
) -> None:
    for key, value in root.items():
        if key == "paths":
            _unite_paths(result.setdefault("paths", {}), value, document, origins)
        elif key == "components":
            originals = {(kind, new): old for (kind, old), new in renamed.items()}
            for kind, parts in value.items():
                into = result.setdefault("components", {}).setdefault(kind, {})
                for name, part in parts.items() if isinstance(parts, dict) else ():
                    into.setdefault(name, part)
                    at: Pointer = ("components", kind, originals.get((kind, name)) or name)
                    origins.setdefault(("components", kind, name), (document, at))
        elif key == "tags":
            known = {tag["name"] for tag in result.setdefault("tags", [])}
            result["tags"].extend(tag for tag in value if tag["name"] not in known)
        else:
            result.setdefault(key, value)


def _unite_paths(
    into: dict[str, Any],
    paths: dict[str, Any],
    document: Document,
    origins: dict[Pointer, tuple[Document, Pointer]],
) -> None:
    for path, item in paths.items():
        if path in into and into[path] != item:
            both = {key for key in into[path] if into[path][key] != item.get(key, into[path][key])}
            if both:
                message = f"{', '.join(sorted(both))} of this path stands in another document too"
                raise document.error(message, ("paths", path))
            into[path] = {**into[path], **item}
        else:
            into.setdefault(path, item)
        for method in item if isinstance(item, dict) else ():
            origins.setdefault(("paths", path, method), (document, ("paths", path, method)))
