"""A script at work: how often each rule has answered, and the states of scenarios, by scope."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from wafermock.spec.errors import ErrorEntry

from ..refusal import Refusal
from .criteria import Difference
from .outcome import Outcome, Position
from .rule import START, Rule
from .script import Script
from .subject import Subject

# So many rules are listed as the nearest ones.
NEAREST = 3

# With `--strict-script`: no rule answers a request.
NO_RULE = ErrorEntry(
    name="no_rule",
    status=404,
    shape="flat",
    type="not_found_error",
    param="script",
    code="no_rule",
    message="No rule of the script answers this request. {nearest}",
    when="A server with --strict-script gets a request that no rule of its scripts matches.",
    source="wafermock",
    assumed=True,
)


@dataclass(frozen=True)
class Found:
    """The rule that answers a request, the position in it, and what is answered."""

    rule: Rule
    position: Position
    outcome: Outcome


@dataclass(frozen=True)
class Missed:
    """No rule answers a request. `nearest` has the rules that came nearest, the nearest first,
    each with the conditions that the request does not meet."""

    nearest: tuple[tuple[Rule, tuple[Difference, ...]], ...] = ()

    @property
    def refusal(self) -> Refusal:
        """The error of a server that answers by its script only."""
        return Refusal(NO_RULE, nearest=str(self) or "The script has no rules.")

    def __str__(self) -> str:
        return " ".join(
            f"{'Then' if at else 'Nearest'}: {rule.name!r} ({rule.place}): "
            f"{'; '.join(map(str, differences))}."
            for at, (rule, differences) in enumerate(self.nearest)
        )


class ScriptState:
    """Counts the answers of a script. Any thread may ask."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._lock = threading.Lock()
        self._seen: dict[tuple[str, bytes], int] = {}
        self._answered: dict[tuple[str, bytes], int] = {}
        self._scenarios: dict[tuple[str, str], str] = {}

    @property
    def script(self) -> Script:
        return self._script

    @script.setter
    def script(self, script: Script) -> None:
        """Go on with other rules. What was counted stays for rules that are as they were."""
        with self._lock:
            self._script = script

    def find(self, subject: Subject, among: Callable[[Rule], bool] | None = None) -> Found | Missed:
        """Find what answers a request: the first rule that matches and has a reply left.

        `among` looks at some rules only. Counts the answer. Never raises.
        """
        rules = self._script.rules
        if among is not None:
            rules = tuple(filter(among, rules))
        for rule in rules:
            if rule.match.fits(subject):
                position = self._take(rule, subject.scope)
                if position is not None:
                    reply = rule.steps[position.step].reply
                    return Found(rule, position, reply.outcome(subject, position))
        return Missed(tuple(self._nearest(rules, subject)))

    def _take(self, rule: Rule, scope: str) -> Position | None:
        """Count a request that a rule matches; return the position of its answer, if it has one."""
        key = (scope, rule.identity)
        with self._lock:
            if self._state_differs(rule, scope):
                return None
            seen = self._seen[key] = self._seen.get(key, 0) + 1
            if seen <= rule.after:
                return None
            hit = self._answered.get(key, 0) + 1
            step = rule.step(hit)
            if step is None:
                return None
            self._answered[key] = hit
            if rule.scenario and rule.scenario.goes_to is not None:
                self._scenarios[scope, rule.scenario.name] = rule.scenario.goes_to
        return Position(rule.name, step, hit)

    def _state_differs(self, rule: Rule, scope: str) -> bool:
        wanted = rule.scenario and rule.scenario.state
        return wanted is not None and wanted != self._state(rule, scope)

    def _state(self, rule: Rule, scope: str) -> str:
        name = rule.scenario.name if rule.scenario else ""
        return self._scenarios.get((scope, name), START)

    def _nearest(
        self, rules: tuple[Rule, ...], subject: Subject
    ) -> Iterator[tuple[Rule, tuple[Difference, ...]]]:
        """Yield the rules with the fewest conditions not met, in the script's order."""
        found = [
            (rule, (*rule.match.differences(subject), *self._counted(rule, subject.scope)))
            for rule in rules
        ]
        yield from sorted(found, key=lambda pair: (len(pair[1]), -len(pair[0].match.conditions)))[
            :NEAREST
        ]

    def _counted(self, rule: Rule, scope: str) -> Iterator[Difference]:
        """Yield why a rule has no answer for a request of a scope, whatever the request says."""
        key = (scope, rule.identity)
        with self._lock:
            seen, answered = self._seen.get(key, 0), self._answered.get(key, 0)
            differs, state = self._state_differs(rule, scope), self._state(rule, scope)
        if differs and rule.scenario:
            yield Difference(
                f"scenario {rule.scenario.name}", f"state {rule.scenario.state!r}", repr(state)
            )
        if seen <= rule.after and rule.after:
            yield Difference("after", f"{rule.after} requests before", f"{seen} of them so far")
        if rule.step(answered + 1) is None:
            most = answered if rule.times is None else rule.times
            yield Difference("times", f"{most} answers at most", f"{answered} given already")

    def answers(self, scope: str | None = None) -> dict[str, int]:
        """Return how often each rule has answered, by its name; in all scopes or in one."""
        with self._lock:
            counted = dict(self._answered)
        return {
            rule.name: sum(
                count
                for (where, identity), count in counted.items()
                if identity == rule.identity and scope in (None, where)
            )
            for rule in self._script.rules
        }

    def scenarios(self) -> dict[str, dict[str, str]]:
        """Return the states of scenarios that are not in their first one, by scope and name."""
        with self._lock:
            states = dict(self._scenarios)
        found: dict[str, dict[str, str]] = {}
        for (scope, name), state in states.items():
            found.setdefault(scope, {})[name] = state
        return found

    def unused(self) -> list[Rule]:
        """List the rules that have answered nothing, in the script's order."""
        answers = self.answers()
        return [rule for rule in self._script.rules if not answers[rule.name]]

    def reset(self, scope: str | None = None) -> None:
        """Forget what was counted, in all scopes or in one."""
        with self._lock:
            self._seen = _without(self._seen, scope)
            self._answered = _without(self._answered, scope)
            self._scenarios = _without(self._scenarios, scope)


Key = TypeVar("Key", tuple[str, bytes], tuple[str, str])
Value = TypeVar("Value")


def _without(counted: dict[Key, Value], scope: str | None) -> dict[Key, Value]:
    return {k: value for k, value in counted.items() if scope not in (None, k[0])}
