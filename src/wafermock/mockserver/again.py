"""Answering again: what a rule of a script does to the request that it has just answered.

A rule is found once a request is read and found good. Where the rule then chooses a defect that
acts before the answer, the same rule answers once more, to the request as that defect has it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from .exchange import Answer, Moment, Request
from .mock import Mock
from .script import Found, Missed, Position, Rule, ScriptState, Subject
from .wire import Chosen, rewritten

if TYPE_CHECKING:
    from .script import Script

_STAGES = ("request", "settings")


def before_the_answer(answer: Answer) -> tuple[Chosen, ...]:
    """Return the defects that the rule of an answer chose and that should have acted before it."""
    defects = answer.acting.defects if answer.acting else ()
    return tuple(choice for choice in defects if choice.entry.stage in _STAGES)


def settings_of(defects: tuple[Chosen, ...], request: Request) -> dict[str, Any]:
    """Return in what the mock differs that has such defects, for a request as it came."""
    changed: dict[str, Any] = {}
    for choice in defects:
        entry = choice.entry
        if entry.settings and (
            entry.stage == "settings" or entry.effect(request, choice.values, 0) != request
        ):
            changed.update(entry.settings)
    return changed


def answered_again(
    mock: Mock, answer: Answer, request: Request, moment: Moment, scope: str
) -> Answer:
    """Return what the rule of an answer has for the request as its defects change it.

    Raises Refusal where a defect refuses what it should not.
    """
    defects = before_the_answer(answer)
    state = mock.script
    rule = next((r for r in state.script.rules if r.name == answer.rule), None) if state else None
    if state is None or rule is None:
        return answer
    hit = max(state.hits(rule, scope), 1)
    same = _SameRule(state.script, rule, hit)
    other = mock.changed(same, **settings_of(defects, request))
    again = other.answer(rewritten(request, defects, hit), moment, scope)
    return replace(again, acting=answer.acting, rule=answer.rule)


class _SameRule(ScriptState):
    """Has one answer of one rule for everything, and counts nothing."""

    def __init__(self, script: "Script", rule: Rule, hit: int) -> None:
        super().__init__(script)
        self._rule = rule
        self._position = Position(rule.name, rule.step(hit) or 0, hit)

    def find(self, subject: Subject, among: Callable[[Rule], bool] | None = None) -> Found | Missed:
        if among is not None and not among(self._rule):
            return Missed()
        reply = self._rule.steps[self._position.step].reply
        return Found(self._rule, self._position, reply.outcome(subject, self._position))
