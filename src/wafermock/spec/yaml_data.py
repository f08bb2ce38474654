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


# How many values the aliases of a document may make of it. Nine lines can make a thousand million.
MOST_VALUES = 1_000_000


def read_yaml(text: str, path: Path) -> Any:
    """Return the data of a YAML text. Raises DocumentError with the line of a fault."""
    try:
        root = _data(text)
        refuse_what_json_cannot_hold(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = re.sub(r"\s+", " ", error.problem or str(error))
        message += next((hint for sign, hint in _MEANT.items() if sign in message), "")
        line = None if mark is None else mark.line + 1
        raise DocumentError(f"not YAML: {message}", file=path, line=line) from None
    except yaml.YAMLError as error:
        raise DocumentError(f"not YAML: {error}", file=path) from None
    except RecursionError:
        raise DocumentError("not data that JSON can hold: nested too deep", file=path) from None
    except (ValueError, TypeError) as error:
        raise DocumentError(f"not data that JSON can hold: {error}", file=path) from None
    return root


# What those mean who write what libyaml cannot read.
_MEANT = {
    "cannot start any token": "; indent with spaces, no tabs, and quote what begins with @ or `",
    "did not find expected": "; see whether the lines before are indented alike, and quote a text "
    "with `: ` or ` #` in it",
    "mapping values are not allowed": "; quote a text with `: ` in it",
}


def _data(text: str) -> Any:
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        if "*" in text:  # without aliases a document is no larger than its text
            _refuse_more_than(MOST_VALUES, node)
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _refuse_more_than(most: int, root: yaml.Node) -> None:
    """Refuse a document that says few things very often: it would fill the memory."""
    sizes: dict[int, int] = {}
    waiting = [(root, False)]
    while waiting:
        node, is_left = waiting.pop()
        if isinstance(node, yaml.MappingNode):
            inner = [part for pair in node.value for part in pair]
        else:
            inner = node.value if isinstance(node, yaml.SequenceNode) else []
        if is_left:
            sizes[id(node)] = 1 + sum(sizes[id(part)] for part in inner)
            if sizes[id(node)] > most:
                message = f"its aliases make more than {most} values of it"
                raise yaml.composer.ComposerError(None, None, message, node.start_mark)
        elif id(node) not in sizes:
            sizes[id(node)] = 0  # in an alias of itself, which is refused later
            waiting.append((node, True))
            waiting.extend((part, False) for part in inner)


class YamlLines:
    """Says on which line (from 1) a value of a YAML text stands; JSON is YAML but for tabs between
    its tokens."""

    def __init__(self, text: str) -> None:
        try:
            self._root = yaml.compose(text.replace("\t", " "), Loader=_BaseLoader)
        except (yaml.YAMLError, RecursionError):
            self._root = None
        self._members: dict[int, dict[str, tuple[int, yaml.Node]]] = {}

    def line_of(self, pointer: Pointer) -> int | None:
        """Return the line of the value at a pointer, or of its nearest ancestor; None where YAML
        cannot read the text. A member of a mapping stands where its name does."""
        if self._root is None:
            return None
        node = self._root
        line: int = node.start_mark.line
        for token in pointer:
            child = self._child(node, token)
            if child is None:
                break
            line, node = child
        return line + 1

    def _child(self, node: yaml.Node, token: str | int) -> tuple[int, yaml.Node] | None:
        if isinstance(node, yaml.MappingNode):
            return self._members_of(node).get(str(token))
        if isinstance(node, yaml.SequenceNode) and str(token).isdecimal():
            for item in node.value[int(token) : int(token) + 1]:
                return item.start_mark.line, item
        return None

    def _members_of(self, node: yaml.MappingNode) -> dict[str, tuple[int, yaml.Node]]:
        """Return the lines and values of a mapping's members; gone through once a mapping."""
        if id(node) not in self._members:
            members: dict[str, tuple[int, yaml.Node]] = {}
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode):
                    members.setdefault(key.value, (key.start_mark.line, value))
            self._members[id(node)] = members
        return self._members[id(node)]
