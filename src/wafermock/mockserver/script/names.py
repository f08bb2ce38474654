"""Names that are not known, and the ones that were meant."""

from collections.abc import Iterable

# So many names are listed at most.
_LISTED = 40


def meant(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most like another; empty where none is."""
    from difflib import get_close_matches

    by_lower = {k.lower(): k for k in known}
    close = get_close_matches(name.lower(), list(by_lower), 1, 0.6)
    return by_lower[close[0]] if close else ""


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Say that a name is not known, which one was meant perhaps, and which there are."""
    names = sorted(known)
    close = meant(name, names)
    hint = f"; did you mean {close!r}?" if close else ""
    listed = ", ".join(names[:_LISTED]) + (", …" if len(names) > _LISTED else "")
    return f"there is no {what} {name!r}{hint} (there are: {listed or 'none'})"
