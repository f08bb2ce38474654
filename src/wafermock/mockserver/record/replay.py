"""Replaying: what the recorded rules of a script answer to a request.

They are asked before anything else is: a recorded request may be one that the contract does not
know, or refuses, and then the upstream's own answer is what was recorded.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from ..exchange import Answer, Request
from .recording import Piece, Unreadable, inflated

if TYPE_CHECKING:
    from ..call import Call
    from ..script import Found, Rule, Script

# What a recorded rule may ask of a request: all of it is known before the request is understood.
_ASKED = re.compile(r"recorded|scope|api_key|header\..*", re.DOTALL)


class Replay:
    """The recorded rules of a script at work. Any thread may ask."""

    def __init__(self, script: "Script") -> None:
        from ..script import ScriptState

        self.state = ScriptState(replace(script, rules=tuple(filter(is_recorded, script.rules))))

    def find(self, request: Request, scope: str = "") -> "Found | None":
        """Find the rule that was recorded for a request, and count its answer; None: there is none.

        `request` has the path without its scope. The answer comes in a form that the request takes.
        """
        from ..script import Missed, Subject

        if not self.state.script.rules:
            return None
        # A recorded rule does not look at the call: there may be none.
        found = self.state.find(Subject(request, cast("Call", None), scope))
        if isinstance(found, Missed):
            return None
        answer = found.outcome.answer
        if answer is None:
            return found
        return replace(found, outcome=replace(found.outcome, answer=acceptable(answer, request)))


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
