"""Texts of strangers in Markdown: they stay texts. Nothing in them becomes markup, HTML, a link,
a mention or a reference to an issue, neither by CommonMark nor by what GitHub adds to it."""

import re
from collections.abc import Iterable

from .visible import block, line

# What CommonMark and GitHub make something of, anywhere; and what they do at the start of a line.
_MARKUP = re.compile(r"([\\`*_\[\]<>|~&$])")
_START = re.compile(r"^(?=[-+=]|\d+[.)])(\d*)(.)")
# Words that GitHub makes links, mentions or pictures of whether escaped or not: they are shown as
# code, which it leaves alone. So are words that hide what they are by entities or tags.
_ACTIVE = re.compile(r"[@#<>&]|://|www\.|:[\w+-]+:|\bgh-\d|[0-9a-f]{7}|\w+:\w", re.IGNORECASE)
_RUN = re.compile("`+")


def code(text: str, limit: int = 300, *, cell: bool = False) -> str:
    """Show a text as a code span, longer fenced than any back ticks in it.

    In a `cell` of a table GitHub needs pipes escaped even there.
    """
    shown = line(text, limit)
    if not shown.strip():
        return "(nothing)"
    ticks = "`" * (_longest(shown) + 1)
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    if cell:
        shown = shown.replace("|", "\\|")
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def prose(text: str, limit: int = 600, *, cell: bool = False) -> str:
    """Show a sentence of ours that may quote `code` in back ticks; all else in it is plain."""
    parts = line(text, limit).strip().split("`")
    if len(parts) % 2 == 0:  # a back tick without its fellow
        parts = ["`".join(parts)]
    return _START.sub(
        r"\1\\\2",
        "".join(
            code(part, limit, cell=cell) if number % 2 else _plain(part, cell)
            for number, part in enumerate(parts)
        ),
    )


def _plain(text: str, cell: bool) -> str:
    return "".join(
        code(word, len(word), cell=cell) if _ACTIVE.search(word) else _MARKUP.sub(r"\\\1", word)
        for word in re.split(r"( +)", text)
    )


def fence(text: str, info: str = "", limit: int = 2000) -> str:
    """Show a text on its own lines, in a fence that is longer than any in it."""
    shown = block(text, limit)
    ticks = "`" * max(3, _longest(shown) + 1)
    return f"{ticks}{info}\n{shown}\n{ticks}\n"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table; the cells are Markdown already, and hold no line feed and no free pipe."""
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def _longest(text: str) -> int:
    return max((len(run) for run in _RUN.findall(text)), default=0)


def size(text: str) -> int:
    """How long GitHub finds a text: in bytes, to be on the safe side."""
    return len(text.encode("utf-8", "surrogatepass"))
