"""`$ref`: following it inside a document, and bringing other files in."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from .document import Document, DocumentError, read_document
from .pointer import Pointer, copy_json, parse_pointer, resolve, uri_fragment
from .structure import holds_instance, names_follow, references, walk_schemas


def follow(root: dict[str, Any], node: Any) -> Any:
    """Return what a node stands for: itself, or the end of its chain of local `$ref`s.

    Raises LookupError when a reference leads nowhere or in a circle.
    """
    seen = set()
    while isinstance(node, dict) and isinstance(node.get("$ref"), str):
        target = node["$ref"]
        if target in seen or not target.startswith("#"):
            raise LookupError(target)
        seen.add(target)
        node = resolve(root, parse_pointer(target))
    return node


def unresolved(root: dict[str, Any]) -> list[tuple[Pointer, str]]:
    """List the references that lead nowhere inside a document: where each stands, and its text.

    A discriminator's mapping refers as well, by a pointer or by the name of a schema.
    """
    found = [(at, node["$ref"]) for at, node in references(root) if not _leads(root, node["$ref"])]
    schemas = root.get("components", {}).get("schemas", {})

    def visit(schema: dict[str, Any], at: Pointer) -> None:
        for value, target in mapping_of(schema).items():
            if target not in schemas and not _leads(root, target):
                found.append(((*at, "discriminator", "mapping", value), target))

    walk_schemas(root, visit)
    return found


def _leads(root: dict[str, Any], target: str) -> bool:
    try:
        follow(root, {"$ref": target})
    except (LookupError, ValueError):
        return False
    return True


def mapping_of(schema: dict[str, Any]) -> dict[str, str]:
    """Return the mapping of a schema's discriminator, empty where there is none."""
    discriminator = schema.get("discriminator")
    mapping = discriminator.get("mapping") if isinstance(discriminator, dict) else None
    return mapping if isinstance(mapping, dict) else {}


def point(root: dict[str, Any]) -> None:
    """Make every reference that names a schema by `$id` or `$anchor` a pointer, in place.

    The names go: nothing refers by them any more, and an `$id` would be another base for the
    pointers beneath it (JSON Schema 2020-12, section 8.2.1).
    """
    names: dict[str, Pointer] = {}
    named: list[dict[str, Any]] = []

    def visit(schema: dict[str, Any], at: Pointer) -> None:
        if isinstance(schema.get("$id"), str):
            names.setdefault(schema["$id"], at)
            named.append(schema)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(schema.get(keyword), str):
                names.setdefault("#" + schema[keyword], at)
                named.append(schema)

    walk_schemas(root, visit)
    for _, node in references(root) if names else ():
        base, _, fragment = node["$ref"].partition("#")
        if node["$ref"] in names:
            node["$ref"] = uri_fragment(names[node["$ref"]])
        elif base in names and fragment.startswith("/"):
            node["$ref"] = uri_fragment((*names[base], *parse_pointer(fragment)))
        elif base in names and f"#{fragment}" in names:
            node["$ref"] = uri_fragment(names[f"#{fragment}"])
    for schema in named:
        for keyword in ("$id", "$anchor", "$dynamicAnchor"):
            schema.pop(keyword, None)


def unread(document: Document) -> list[DocumentError]:
    """List the references to other files that cannot be followed, each as an error."""
    found = []
    for at, node in references(document.root):
        if not node["$ref"].startswith("#"):
            inliner = _Inliner({document.path.resolve(): document})
            try:
                inliner.inline({"$ref": node["$ref"]}, document, at)
            except DocumentError as error:
                found.append(error)
    return found


def leads_to_files(root: dict[str, Any]) -> bool:
    """Say whether a document has references to anything but itself."""
    return any(not node["$ref"].startswith("#") for _, node in references(root))


def inline_files(document: Document) -> dict[str, Any]:
    """Return the document's root with every `$ref` to another file replaced by what it names.

    Only files beside the document are read, never the network.
    Raises DocumentError: a file or pointer that is not there, a circle through files, a URL.
    """
    root: dict[str, Any] = _Inliner({document.path.resolve(): document}).inline(
        document.root, document, ()
    )
    return root


def place_path_items(root: dict[str, Any]) -> None:
    """Put the Path Item Objects that `paths` only refers to where they are used, in place."""
    paths = root.get("paths")
    if not isinstance(paths, dict):
        return
    for path, item in paths.items():
        if isinstance(item, dict) and "$ref" in item:
            with suppress(LookupError, ValueError):  # else it stays, and `unresolved` tells of it
                own = {key: value for key, value in item.items() if key != "$ref"}
                found = copy_json(follow(root, item))
                paths[path] = {**found, **own} if isinstance(found, dict) else found


class _Inliner:
    def __init__(self, documents: dict[Path, Document]) -> None:
        self.documents = documents
        self.home, document = next(iter(documents.items()))
        self.ids = set(_ids(document.root))
        self.open: list[tuple[Path, str]] = []

    def inline(self, node: Any, document: Document, at: Pointer, *, named: bool = False) -> Any:
        if isinstance(node, list):
            return [self.inline(v, document, (*at, i)) for i, v in enumerate(node)]
        if not isinstance(node, dict):
            return node
        result = {
            key: value
            if holds_instance(key, value, named=named)
            else self.inline(value, document, (*at, key), named=names_follow(key, named=named))
            for key, value in node.items()
        }
        target = node.get("$ref")
        if not isinstance(target, str) or self._is_local(target, document):
            return result
        del result["$ref"]
        return _beside(self._fetch(target, document, at), result, at)

    def _is_local(self, target: str, document: Document) -> bool:
        """A local reference of the first file stays; one of a file brought in must come along."""
        if document.path.resolve() != self.home:
            return False
        return target.startswith("#") or target.partition("#")[0] in self.ids

    def _fetch(self, target: str, document: Document, at: Pointer) -> Any:
        name, _, fragment = target.partition("#")
        if "://" in name:
            raise document.error(f"$ref {target}: references to the network are not read", at)
        path = document.path.resolve()
        if name:
            path = (document.path.parent / unquote(name)).resolve()
        if path == self.home:
            return {"$ref": f"#{fragment}"}
        step = (path, fragment)
        if step in self.open:
            raise document.error(f"$ref {target} leads in a circle through other files", at)
        try:
            if path not in self.documents:
                self.documents[path] = read_document(path)
            pointer = parse_pointer(fragment)
            value = resolve(self.documents[path].root, pointer)
        except (LookupError, ValueError):
            raise document.error(f"$ref {target} leads nowhere", at) from None
        except DocumentError as error:
            raise document.error(f"$ref {target}: {error}", at) from None
        self.open.append(step)
        result = self.inline(value, self.documents[path], pointer)
        self.open.pop()
        return result


def _beside(value: Any, siblings: dict[str, Any], at: Pointer) -> Any:
    """Join what a reference brought in with the keys that stand beside it."""
    texts = siblings.keys() <= {"summary", "description"}
    if isinstance(value, dict) and (texts or at[:-1] in (("paths",), ("webhooks",))):
        return {**value, **siblings}
    return {"allOf": [value], **siblings}  # only a schema may have more beside its `$ref`


def _ids(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$id"), str):
            yield node["$id"]
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from _ids(item)
