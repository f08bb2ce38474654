"""FRAMING: lines and fields that parsers of event streams read, and careless clients do not."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ...draws import Draws
from ..catalogue import Parameter, Shelf
from ..draft import Draft

Values = Mapping[str, Any]

LINES = Shelf("FRAMING")


@LINES.entry(
    "Every other event has lines that end with CR and LF, the rest with LF alone.",
    "All lines of a stream end alike.",
    on="streams",
    phase="framed",
)
def mixed_line_ends(draft: Draft, values: Values, draws: Draws) -> Draft:
    if not draft.streamed:
        return draft
    writes = list(draft.writes)
    for at in range(0, len(writes), 2):
        ends = writes[at].data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        writes[at] = replace(writes[at], data=ends)
    return replace(draft, writes=tuple(writes))


@LINES.entry(
    "Behind the first event comes one that has a name and no data.",
    "Every event has data.",
    on="streams",
    phase="framed",
)
def event_without_data(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _behind_first(draft, "event: ping\n\n")


@LINES.entry(
    "`retry` is no number, and `id` holds U+0000: parsers leave both out.",
    "`retry` is digits, `id` is without U+0000 (WHATWG HTML, section 9.2.6).",
    on="streams",
)
def bad_retry(draft: Draft, values: Values, draws: Draws) -> Draft:
    if not draft.events:
        return draft
    first, *rest = draft.events
    fields = (*first.fields, ("retry", "soon"), ("id", "1\0"))
    return draft.with_events([replace(first, fields=fields), *rest])


@LINES.entry(
    "Events have a name, one that is none of the SDKs' own.",
    "Events have no names.",
    Parameter("name", "the name", "completion", kind="text"),
    on="streams",
)
def named_events(draft: Draft, values: Values, draws: Draws) -> Draft:
    name = ("event", values["name"])
    return draft.with_events([replace(e, fields=(*e.fields, name)) for e in draft.events])


def _behind_first(draft: Draft, text: str) -> Draft:
    if not (draft.streamed and draft.writes):
        return draft
    first, *rest = draft.writes
    return replace(draft, writes=(replace(first, data=first.data + text.encode()), *rest))
