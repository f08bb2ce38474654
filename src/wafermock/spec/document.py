"""Reading a YAML or JSON document, and saying where in it something stands."""

import json
import re
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from .pointer import Pointer, format_pointer

if TYPE_CHECKING:
    from .json_lines import JsonLines
    from .yaml_data import YamlLines


class DocumentError(Exception):
    """A document that cannot be used: which file, where in it, and what is wrong.

    `str()` gives the one line a user sees: `FILE:LINE: POINTER: sentence`.
    """

    def __init__(
        self,
        message: str,
        *,
        file: Path | str,
        line: int | None = None,
        pointer: Pointer | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = str(file)
        self.line = line
        self.pointer = pointer

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        if self.pointer is not None:
            where = f"{where}: {format_pointer(self.pointer)}"
        return f"{where}: {' '.join(self.message.split())}"


class Document(Struct, frozen=True, dict=True):
    """One file: its root value, and the text it came from (None: read it when it is asked for)."""

    path: Path
    text: str | None
    root: dict[str, Any]

    @cached_property
    def _lines(self) -> "JsonLines | YamlLines":
        text = self.path.read_text(encoding="utf-8-sig") if self.text is None else self.text
        if is_json(text):
            from .json_lines import JsonLines

            return JsonLines(text)
        from .yaml_data import YamlLines

        return YamlLines(text)

    def line_of(self, pointer: Pointer) -> int | None:
        """Return the line (from 1) of the value at a pointer, or of its nearest ancestor."""
        return self._lines.line_of(pointer)

    def error(self, message: str, pointer: Pointer) -> DocumentError:
        """Make the error that points into this document."""
        line = self.line_of(pointer)
        return DocumentError(message, file=self.path, line=line, pointer=pointer)


class UnreadFile(DocumentError):
    """A file that is not there, or that the system does not let us read."""


def read_document(path: Path | str) -> Document:
    """Read a YAML or JSON file whose root is a mapping.

    Raises DocumentError: no such file (UnreadFile), not UTF-8, and all that `parse_document`
    raises.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(f"not UTF-8 text (byte {error.start})", file=path) from None
    except OSError as error:
        raise UnreadFile(error.strerror or "cannot be read", file=path) from None
    return parse_document(text, path)


def parse_document(text: str, path: Path) -> Document:
    """Read a YAML or JSON text whose root is a mapping; `path` is what messages call it.

    Raises DocumentError: a fault of syntax (with its line), a key that stands twice, an alias that
    contains itself, a root that is no mapping.
    """
    root = _data(text, path)
    if not isinstance(root, dict):
        raise DocumentError("a mapping is wanted here", file=path, line=1, pointer=())
    return Document(path, text, root)


def _data(text: str, path: Path) -> Any:
    """Return a text's data: of JSON as JSON, since libyaml refuses some of it (tabs, surrogate
    pairs) and takes ten times as long."""
    if path.suffix == ".json":
        return _read_json(text, path)
    if _may_be_json(text):
        try:
            return _read_json(text, path)
        except _NotJson:
            pass  # YAML's own way to write `{`
    return _read_yaml(text, path)


def _may_be_json(text: str) -> bool:
    return re.match(r"[ \t\r\n]*\{", text) is not None


def is_json(text: str) -> bool:
    """Say whether a text is an object of JSON, which is read as such whatever it is called."""
    if not _may_be_json(text):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _read_yaml(text: str, path: Path) -> Any:
    # A contract that was kept is read without YAML, whose import costs as much as reading it.
    from .yaml_data import read_yaml

    return read_yaml(text, path)


class _NotJson(DocumentError):
    """A text that is not JSON, or not as Python's reader can read it."""


def _read_json(text: str, path: Path) -> Any:
    try:
        root = json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        at = error.pos
        if error.msg.startswith("Illegal trailing comma"):  # Python 3.13 points at the comma
            at += len(text[at:]) - len(text[at:].lstrip(", \t\r\n"))
        line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        message = f"not JSON: {error.msg} (column {column})"
        raise _NotJson(message, file=path, line=line) from None
    except RecursionError:
        raise _NotJson("not JSON that can be read: nested too deep", file=path) from None
    except _Twice as error:
        raise DocumentError(f"not JSON that can be read: {error}", file=path) from None
    except ValueError as error:
        raise _NotJson(f"not JSON that can be read: {error}", file=path) from None
    try:
        refuse_what_json_cannot_hold(root)
    except ValueError as error:
        raise DocumentError(f"not JSON that can be read: {error}", file=path) from None
    except RecursionError:
        raise DocumentError("not JSON that can be read: nested too deep", file=path) from None
    return root


class _Twice(ValueError):
    """A key that stands twice in an object."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise _Twice(f"the key {twice!r} stands twice in an object")
    return mapping


def refuse_what_json_cannot_hold(root: Any) -> None:
    """Raise ValueError or TypeError: a circle, a set, binary data, NaN, half a surrogate pair."""
    json.dumps(root, allow_nan=False, ensure_ascii=False).encode()
