"""Regular expressions that cannot be slow: matched in time linear to the text.

Python's `re` backtracks: `(a+)+$` takes hours for forty letters, and a script's expressions meet
texts that strangers send. The engine here is that of Rust's `regex`, as jsonschema-rs brings it
along for the keyword `pattern`: a finite automaton, which is why look-around and back references
are not to be had. (RE2 would do too, but has no wheels for musl, where a mock often runs in a
container; jsonschema-rs has, and is needed anyway.)
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..instances.regex import Tree

# What reads expressions is imported with the first of them: most scripts have none.

# How long an expression may be, in characters, and how large its automaton, in bytes.
LONGEST_PATTERN = 2_000
LARGEST_AUTOMATON = 512 * 1024


class Pattern:
    """A regular expression, found anywhere in a text unless anchored.

    Raises ValueError with a sentence for one that cannot be used.
    """

    def __init__(self, source: str, *, fold: bool = False) -> None:
        self.source = source
        self._validator = _compiled(f"(?i){source}" if fold else source, source)

    def found_in(self, text: str) -> bool:
        """Say whether the expression is found in a text."""
        return bool(self._validator.is_valid(without_surrogates(text)))


@lru_cache(maxsize=1024)
def _compiled(pattern: str, source: str) -> Any:
    import jsonschema_rs

    from ..instances.charset import RegexSyntax
    from ..instances.regex import parse

    if len(source) > LONGEST_PATTERN:
        raise ValueError(f"longer than {LONGEST_PATTERN} characters")
    try:
        unsupported = _unsupported(parse(source))
    except RegexSyntax as error:
        raise ValueError(f"not a regular expression: {error}") from None
    except RecursionError:
        raise ValueError("not a regular expression that can be read: nested too deep") from None
    if unsupported:
        raise ValueError(f"{unsupported} cannot be matched in linear time; write it without")
    options = linear()
    schema = {"type": "string", "pattern": pattern}
    try:
        return jsonschema_rs.validator_for(schema, pattern_options=options)
    except ValueError:
        message = "not a regular expression, or one that repeats too much to be held in memory"
        raise ValueError(message) from None


def linear() -> Any:
    """Return the options that make jsonschema-rs match every `pattern` in linear time."""
    import jsonschema_rs

    return jsonschema_rs.RegexOptions(
        size_limit=LARGEST_AUTOMATON, dfa_size_limit=LARGEST_AUTOMATON
    )


def without_surrogates(text: str) -> str:
    """Return a text that UTF-8 can write: JSON may hold half a surrogate pair."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _unsupported(tree: "Tree") -> str:
    """Name the first part of an expression that no finite automaton has; empty without one."""
    from ..instances.regex import Back, Either, Group, Look, Repeat, Sequence

    waiting: list[Tree] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Look):
            return "look-ahead" if node.ahead else "look-behind"
        if isinstance(node, Back):
            return "a back reference"
        if isinstance(node, Repeat | Group):
            waiting.append(node.part)
        elif isinstance(node, Sequence):
            waiting.extend(reversed(node.parts))
        elif isinstance(node, Either):
            waiting.extend(reversed(node.branches))
    return ""
