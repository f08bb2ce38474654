"""Replaying: what the recorded rules of a script answer to a request.

They are asked before anything else is: a recorded request may be one that the contract does not
know, or refuses, and then the upstream's own answer is what was recorded.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..exchange import Answer, Request

if TYPE_CHECKING:
    from ..script import Rule

# What a recorded rule may ask of a request: all of it is known before the request is understood.
_ASKED = re.compile(r"recorded|scope|api_key|header\..*", re.DOTALL)


def is_recorded(rule: "Rule") -> bool:
    """Say whether a rule was recorded, and can be asked before a request is understood."""
    fields = rule.match.fields
    return "recorded" in fields and all(_ASKED.fullmatch(field) for field in fields)


def acceptable(answer: Answer, request: Request) -> Answer:
    """Return an answer in a content coding that a request takes.

    It was recorded in one that the client took then; another client may take none.
    """
    coding = answer.headers.get("content-encoding", "").strip().lower()
    if not coding or _takes(request.headers, coding):
        return answer
    from .recording import Piece, Unreadable, inflated

    offsets = answer.offsets or (0.0,) * len(answer.parts)
    pieces = map(Piece, offsets, answer.parts)
    try:
        read = list(inflated(pieces, coding, whole=False))
    except Unreadable:
        return answer
    headers = {name: v for name, v in answer.headers.items() if name != "content-encoding"}
    return replace(answer, headers=headers, parts=tuple(piece.data for piece in read))


def _takes(headers: Mapping[str, str], coding: str) -> bool:
    """Say whether a request takes a coding (RFC 9110, section 12.5.3)."""
    accepted: dict[str, bool] = {}
    for item in headers.get("accept-encoding", "").lower().split(","):
        name, _, weight = item.partition(";")
        accepted[name.strip()] = re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", weight) is None
    return accepted.get(coding, accepted.get("*", False))
