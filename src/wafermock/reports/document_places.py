"""Where in a file a JSON pointer leads: the lines of an OpenAPI document in YAML or JSON."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from .visible import line


class UnreadableDocument(ValueError):
    """A document that is no YAML; the message tells file, line and what is wrong."""


@dataclass(frozen=True)
class Places:
    """The places of one document. `name` is how reports call the file."""

    name: str
    root: Any = None

    def line(self, pointer: str) -> int:
        """The line that a pointer leads to, from 1; 0 where it leads nowhere.

        Where the last steps are not in the document (an overlay has added them, say), the line is
        that of the nearest thing above.
        """
        path, _, _ = pointer.partition(" ")
        if not path.startswith("#/") or self.root is None:
            return 0
        node, number = self.root, 0
        for step in path[2:].split("/"):
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            inner = _inside(node, key)
            if inner is None:
                break
            node, number = inner
        return number


def places(text: str, name: str) -> Places:
    """Read where everything stands in a document. Raises UnreadableDocument."""
    return Places(name, compose(text, name))


def compose(source: str | bytes, name: str) -> Any:
    """The root node of a YAML document, None of an empty one. Raises UnreadableDocument."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same, and ten times as fast
    try:
        return yaml.compose(source, Loader=loader)
    except yaml.MarkedYAMLError as error:
        at = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UnreadableDocument(
            f"{name}{at}: this is no YAML: {line(str(error.problem))}"
        ) from None
    except (yaml.YAMLError, RecursionError, UnicodeError) as error:
        told = line(str(error).split("\n")[0]) or "it is nested too deeply"
        raise UnreadableDocument(f"{name}: this is no YAML: {told}") from None


def _inside(node: Any, key: str) -> tuple[Any, int] | None:
    """The node below a key or an index, and the line of it."""
    import yaml

    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            if name.value == key:
                return value, name.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode) and key.isascii() and key.isdigit():
        for value in node.value[int(key[:9]) :][:1]:
            return value, value.start_mark.line + 1
    return None
