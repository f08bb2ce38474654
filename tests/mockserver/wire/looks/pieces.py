"""Defects of lines, fields and fragments: what a parser of a stream stumbles over."""

from typing import Any

from .case import Case, Look


def ids(seen: Any) -> list[Any]:
    return [call.get("id") for call in seen.calls]


def indexes(seen: Any) -> list[int]:
    return [call["index"] for call in seen.calls]


LOOKS: list[tuple[str, str, Look]] = [
    ("chat stream", "mixed_line_ends", lambda s, p:
        0 < s.body.count(b"\r\n") < s.body.count(b"\n") and s.values == p.values),
    ("chat stream", "event_without_data", lambda s, p:
        s.body.count(b"event: ping\n\n") == 1 and s.values == p.values),
    ("chat stream", "bad_retry", lambda s, p:
        b"retry: soon\nid: 1\0\n" in s.body and s.values == p.values),
    ("chat stream", "named_events", lambda s, p:
        {event["event"] for event in s.events} == {"completion"} and s.values == p.values),
    ("chat stream", "named_events:name=x", lambda s, p: s.events[0]["event"] == "x"),
    ("chat stream", "changing_key:key=object", lambda s, p:
        len({c["object"] for c in s.completions}) == 2),
    ("tools stream", "no_call_name", lambda s, p:
        s.arguments == p.arguments and not any("name" in c["function"] for c in s.calls)),
    ("tools stream", "call_id_repeated", lambda s, p:
        len(set(ids(s))) == 1 < len(ids(s)) and s.arguments == p.arguments),
    ("tools whole stream", "call_id_repeated", lambda s, p:
        len(set(ids(s))) == 1 < len(ids(s)) and s.arguments == p.arguments),
    ("tools stream", "call_id_shared", lambda s, p:
        s.arguments == 2 * p.arguments and len({id for id in ids(s) if id}) == 1),
    ("tools stream", "calls_interleaved", lambda s, p:
        s.arguments == 2 * p.arguments and indexes(s)[:4] == [0, 1, 0, 1]
        and len({id for id in ids(s) if id}) == 2),
]  # fmt: skip

PIECES = [Case("defect", text, asked, look) for asked, text, look in LOOKS]
