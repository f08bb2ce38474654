"""Requests that mean the same, and requests that come together."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from wafermock.spec import Contract, Operation

from ..planned import Planned, PlannedProbe, Subject, plan, pointer
from .asking import (
    CHAT,
    QUICK,
    SOME,
    STANDARD,
    WHOLE,
    Asking,
    Weighted,
    answer_of,
    cost,
    defaults,
    needs,
    nullable,
    properties,
)

CAMPAIGN = "metamorphic"

TOGETHER = 8

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Say what the weather is like in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}


def metamorphic_probes(contract: Contract, subject: Subject, seed: int = 0) -> Iterator[Weighted]:
    """Plan the probes that a rule of METAMORPHIC compares."""
    asking = Asking(contract, subject, seed)
    for operation in asking.completing:
        weight = QUICK if operation is asking.main else STANDARD
        same = _Same(asking, operation)
        if operation.streams:
            yield Weighted(weight, same.streamed())
        yield Weighted(weight, same.absent())
        yield Weighted(weight, same.spelling())
        yield Weighted(weight, same.together())
        if operation.streams:
            yield Weighted(weight, same.hang_up())
        if operation.streams and answer_of(operation) == CHAT:
            yield Weighted(weight, same.streamed_calls())


def repeat_probe(contract: Contract, subject: Subject, seed: int = 0) -> PlannedProbe | None:
    """Plan the same request twice: whether a server is deterministic shows in it, so it comes
    before all that is compared. None where the contract completes nothing."""
    asking = Asking(contract, subject, seed)
    return _Same(asking, asking.main).repeat() if asking.main else None


class _Same:
    def __init__(self, asking: Asking, operation: Operation) -> None:
        self.asking = asking
        self.operation = operation

    def repeat(self) -> PlannedProbe:
        asked = self.asking.body(self.operation, tokens=SOME)
        roles = {"first": self._plan("first", asked), "second": self._plan("second", asked)}
        return self._probe("repeat", roles)

    def streamed(self) -> PlannedProbe:
        asked = self.asking.body(self.operation, tokens=SOME)
        return self._streamed("streamed", asked, "streams")

    def streamed_calls(self) -> PlannedProbe:
        words = "What is the weather in Zürich?"
        asked = self.asking.body(self.operation, words, WHOLE, tools=[TOOL], tool_choice="required")
        return self._streamed("streamed calls", asked, "streams", "tools")

    def _streamed(self, name: str, asked: dict[str, Any], *need: str) -> PlannedProbe:
        roles = {
            "whole": self._plan("whole", asked),
            "streamed": self._plan("streamed", {**asked, "stream": True}),
        }
        return self._probe(name, roles, *need)

    def absent(self) -> PlannedProbe:
        """What may be null, has a default, or is `n`; sampled by the seed alone, since a
        temperature that is said is none by default."""
        base = self.asking.body(self.operation, sampled={"seed": self.asking.number})
        known = properties(self.operation)
        free = [name for name in known if name not in base and name not in _ONE_OF_TWO]
        nulls = dict.fromkeys(name for name in nullable(self.operation) if name in free)
        said = {k: v for k, v in defaults(self.operation).items() if k in free and k != "n"}
        if "stream" in free:
            said["stream"] = False
        roles = {
            "absent": self._plan("absent", base),
            "null": self._plan("null", {**base, **nulls}),
            "default": self._plan("default", {**base, **said}),
        }
        if "n" in known:
            roles["n"] = self._plan("n: 1", {**base, "n": 1})
        return self._probe("absent", roles)

    def spelling(self) -> PlannedProbe:
        asked = self.asking.body(self.operation)
        turned = _turned(asked)
        wide = f"\n {json.dumps(asked, ensure_ascii=False, indent=3)}\r\n\t"
        roles = {
            "plain": self._plan("plain", asked),
            "spaces": self._plan("spaces", asked, wide),
            "keys": self._plan("keys", turned),
            "escapes": self._plan("escapes", asked, _escaped(asked)),
        }
        return self._probe("spelling", roles)

    def together(self) -> PlannedProbe:
        """Requests with a word each that no other has, every prompt longer than the one before: an
        answer shows whose it is by the word, if the server does as it is asked, and by its count
        of tokens in any case."""
        roles = {}
        for number in range(1, TOGETHER + 1):
            marker = self.asking.word(f"marker {number}")
            words = f"Say the word {marker}, and nothing else." + " Only that." * 2 * number
            asked = self.asking.body(self.operation, words)
            role = f"call {number}"
            roles[role] = self._plan(role, asked, facts={"marker": marker})
        return replace(self._probe("together", roles), together=True)

    def hang_up(self) -> PlannedProbe:
        asked = self.asking.body(self.operation, "Count from one to twenty.")
        long = self.asking.body(self.operation, "Tell a tale of a river.", SOME, stream=True)
        leave = self._plan("leave", long)
        leave = replace(leave, sent=replace(leave.sent, leave_after=1))
        roles = {
            "before": self._plan("before", asked),
            "leave": leave,
            "after": self._plan("after", asked),
        }
        return self._probe("hang up", roles, "streams")

    def _probe(self, name: str, roles: dict[str, Planned], *need: str) -> PlannedProbe:
        return PlannedProbe(name, roles, needs=(*needs(self.operation), *need))

    def _plan(
        self,
        kind: str,
        asked: dict[str, Any],
        text: str | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> Planned:
        return plan(
            self.operation,
            asked,
            self.asking.subject,
            campaign=CAMPAIGN,
            kind=kind,
            location=pointer(self.operation),
            body=None if text is None else text.encode(),
            tokens=cost(asked),
            facts=facts,
        )


# One of two names for the same thing: null or not, some servers want one of them alone.
_ONE_OF_TWO = ("max_tokens", "max_completion_tokens", "disable_reasoning")


def _turned(value: Any) -> Any:
    """Turn the order of keys around."""
    if isinstance(value, dict):
        return {key: _turned(value[key]) for key in reversed(value)}
    return [_turned(item) for item in value] if isinstance(value, list) else value


def _escaped(value: Any) -> str:
    """Write JSON with escapes for all that is not ASCII, and for a slash and a letter that is."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace(" rivers ", " \\u0072ivers ")
