"""Violations put into the API's words: one detail as FastAPI writes it, one line of a message."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from .document import read_document
from .violations import Violation


class Fault(Struct, frozen=True):
    """A violation in both forms that the API's errors have.

    `detail` is an entry of HTTPValidationError (`type, loc, msg, input`); `line` is one line of a
    flat error's message.
    """

    detail: dict[str, Any]
    line: str


def faults(violations: Iterable[Violation], place: str = "body") -> list[Fault]:
    """Put violations into words. `place` is where the instance stood: body, query, header, path."""
    return [_fault(violation, place) for violation in violations]


def _fault(violation: Violation, place: str) -> Fault:
    words = _words()
    entry, *others = _entries(violation, words["fastapi"])
    value = violation.value
    msg = " or ".join([entry["msg"], *(o["msg"].removeprefix("Input should be ") for o in others)])
    msg = msg.format(
        limit=_shown(violation.limit),
        choices=_choices(violation),
        actual=len(value) if isinstance(value, str | list | dict) else "",
        message=violation.message,
    )
    location = violation.tagged_location
    detail = {"type": entry["type"], "loc": [place, *location], "msg": msg}
    if violation.keyword != "required":
        detail["input"] = value
    template = words["flat"].get(violation.keyword) or words["flat"]["other"]
    return Fault(detail, template.format(loc=_dotted(location, place), msg=msg))


def _entries(violation: Violation, words: dict[str, Any]) -> list[dict[str, str]]:
    """Find the words for a violation: one entry, or one for each type that is wanted."""
    if violation.keyword != "type":
        return [words.get(violation.keyword) or words["other"]]
    limit = violation.limit if isinstance(violation.limit, list) else [violation.limit]
    wanted = [name for name in limit if name != "null"] or ["null"]
    return [words[f"type/{name}"] for name in wanted]


def _dotted(location: tuple[str | int, ...], place: str) -> str:
    """Write a place as servers have written it: `body.store`, but `messages.2.assistant.name`."""
    parts = location if len(location) > 1 else (place, *location)
    return ".".join(map(str, parts))


def _choices(violation: Violation) -> str:
    limit = violation.limit if violation.keyword == "enum" else [violation.limit]
    shown = [repr(item) for item in limit or [] if item is not None]
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _shown(limit: Any) -> str:
    if isinstance(limit, float) and limit.is_integer():
        return str(int(limit))
    return str(limit)


@cache
def _words() -> dict[str, dict[str, Any]]:
    return read_document(Path(__file__).with_name("faults.yaml")).root
