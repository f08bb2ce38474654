"""YAML as OpenAPI means it: JSON's data, and the line of each part of it."""

import json
import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from .document import DocumentError, refuse_what_json_cannot_hold
from .pointer import Pointer

# libyaml reads a document eight times faster; PyYAML built without it still works.
_BaseLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_BaseLoader):  # type: ignore[misc]  # the base is chosen at run time
    """YAML as OpenAPI means it: JSON's data, so dates stay text and keys are strings."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        self._refuse_duplicates(node)
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        if any(type(key) is not str for key in mapping):  # `200:` under `responses`
            return {_json_key(key): value for key, value in mapping.items()}
        return mapping

    def _refuse_duplicates(self, node: yaml.MappingNode) -> None:
        """Refuse a key that stands twice; keys that a merge (`<<`) brought in stand elsewhere."""
        written = [key_node.value for key_node, _ in node.value if key_node.id == "scalar"]
        if len(set(written)) == len(written):
            return
        seen = set()
        for key_node, _ in node.value:
            mark = key_node.start_mark
            within = node.start_mark.index <= mark.index < node.end_mark.index
            if not within or key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = _json_key(self.construct_object(key_node, deep=True))
            if key in seen:
                message = f"the key {key!r} stands twice in this mapping"
                raise yaml.constructor.ConstructorError(None, None, message, mark)
            seen.add(key)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in _BaseLoader.yaml_implicit_resolvers.items()
}


def _json_key(key: object) -> str:
    return key if isinstance(key, str) else json.dumps(key, default=str)


def read_yaml(text: str, path: Path) -> Any:
    """Return the data of a YAML text. Raises DocumentError with the line of a fault."""
    try:
        root = yaml.load(text, Loader=_Loader)
        refuse_what_json_cannot_hold(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = re.sub(r"\s+", " ", error.problem or str(error))
        line = None if mark is None else mark.line + 1
        raise DocumentError(f"not YAML: {message}", file=path, line=line) from None
    except yaml.YAMLError as error:
        raise DocumentError(f"not YAML: {error}", file=path) from None
    except RecursionError:
        raise DocumentError("not data that JSON can hold: nested too deep", file=path) from None
    except (ValueError, TypeError) as error:
        raise DocumentError(f"not data that JSON can hold: {error}", file=path) from None
    return root


def lines(text: str) -> Any:
    """Return a text as YAML's nodes, which know their lines; None for what YAML cannot read.

    JSON is YAML but for tabs between its tokens.
    """
    try:
        return yaml.compose(text.replace("\t", " "), Loader=_BaseLoader)
    except (yaml.YAMLError, RecursionError):
        return None


def line_of(node: Any, pointer: Pointer) -> int | None:
    """Return the line (from 1) of the part at a pointer, or of its nearest ancestor."""
    if node is None:
        return None
    line: int = node.start_mark.line
    for token in pointer:
        child = _child(node, token)
        if child is None:
            break
        line, node = child
    return line + 1


def _child(node: yaml.Node, token: str | int) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(token):
                return key.start_mark.line, value
    elif isinstance(node, yaml.SequenceNode) and str(token).isdecimal():
        for item in node.value[int(token) : int(token) + 1]:
            return item.start_mark.line, item
    return None
