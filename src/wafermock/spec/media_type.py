"""Media types as headers and documents write them (RFC 9110, section 8.3.1): type and subtype,
then parameters behind semicolons, whose values are tokens or stand in quotes."""

import re
from functools import lru_cache

_PARAMETER = re.compile(
    r"""[ \t]* ;  [ \t]*
        (?: ([^;="\s]+) [ \t]* = [ \t]* (?: "((?:\\.|[^"\\])*)" | ([^;]*) ) | [^;]* )""",
    re.VERBOSE | re.DOTALL,
)


@lru_cache(maxsize=256)
def essence(content_type: str | None) -> str:
    """Return type and subtype in lower case, without parameters; "" where nothing is named.

    `Application/JSON; charset=utf-8` is `application/json`.
    """
    return (content_type or "").partition(";")[0].strip().lower()


@lru_cache(maxsize=256)
def parameters(content_type: str | None) -> tuple[tuple[str, str], ...]:
    """Return the parameters, each with its name in lower case and its value without quotes.

    What is no parameter is passed over. Spaces round the equals sign are not in the grammar, but
    clients write them.
    """
    _, semicolon, behind = (content_type or "").partition(";")
    found = []
    for match in _PARAMETER.finditer(semicolon + behind):
        name, quoted, token = match.groups()
        if name is not None:
            value = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else token.strip()
            found.append((name.lower(), value))
    return tuple(found)


def charset(content_type: str | None) -> str | None:
    """Return the charset in lower case; None where none is named. The first of several counts."""
    return next((v.lower() for name, v in parameters(content_type) if name == "charset"), None)


def is_utf8(content_type: str | None) -> bool:
    """Say whether a text of this type is UTF-8: as JSON always is (RFC 8259, section 8.1), and as
    everything is taken for that names no charset. `utf8` is what some clients call it."""
    return charset(content_type) in (None, "utf-8", "utf8")
