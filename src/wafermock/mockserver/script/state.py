"""A script at work: how often each rule has answered, and the states of scenarios, by scope."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from operator import itemgetter

from msgspec import Struct, field

from ..refusal import Refusal
from .criteria import Difference
from .outcome import Outcome, Position
from .rule import START, Rule
from .script import Script
from .subject import Subject

# So many rules are listed as the nearest ones.
NEAREST = 3
# Of so many scopes it is known what they counted; the one that was asked for longest ago goes
# first. A scope is the client's to name, and could be another one with every request.
MOST_SCOPES = 10_000


class Found(Struct, frozen=True):
    """The rule that answers a request, the position in it, and what is answered."""

    rule: Rule
    position: Position
    outcome: Outcome


class Missed(Struct, frozen=True):
    """No rule answers a request. `nearest` has the rules that came nearest, the nearest first,
    each with the conditions that the request does not meet."""

    nearest: tuple[tuple[Rule, tuple[Difference, ...]], ...] = ()

    @property
    def refusal(self) -> Refusal:
        """The error of a server that answers by its script only."""
        return Refusal("no_rule", nearest=str(self) or "The script has no rules.")

    def __str__(self) -> str:
        return " ".join(
            f"{'Then' if at else 'Nearest'}: {rule.name!r} ({rule.place}): "
            f"{'; '.join(map(str, differences))}."
            for at, (rule, differences) in enumerate(self.nearest)
        )


class _Scope(Struct, frozen=True):
    """What was counted in one scope: by the identity of rules, how many requests each has let
    pass or answered (of rules with `after`), and how many it has answered; by the names of
    scenarios, their states."""

    seen: Counter[bytes] = field(default_factory=Counter)
    answered: Counter[bytes] = field(default_factory=Counter)
    scenarios: dict[str, str] = {}

    def state(self, rule: Rule) -> str:
        """Return the state of the rule's scenario."""
        return self.scenarios.get(rule.scenario.name, START) if rule.scenario else START

    def differs(self, rule: Rule) -> bool:
        """Say whether the rule waits for another state of its scenario."""
        wanted = rule.scenario and rule.scenario.state
        return wanted is not None and wanted != self.state(rule)


class ScriptState:
    """Counts the answers of a script. Any thread may ask."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._lock = threading.Lock()
        self._scopes: OrderedDict[str, _Scope] = OrderedDict()
        self._forgotten: Counter[bytes] = Counter()  # the answers of scopes that had to go

    @property
    def script(self) -> Script:
        """The rules, and where they are from."""
        return self._script

    @script.setter
    def script(self, script: Script) -> None:
        """Go on with other rules. What was counted stays for rules that are as they were."""
        with self._lock:
            self._script = script

    def put(self, rules: tuple[Rule, ...], *, instead: bool = False) -> None:
        """Go on with more rules, which are tried first, or with these instead of all others.

        Raises DocumentError for one that is called as another is; nothing has changed then.
        """
        with self._lock:
            self._script = self._script.with_rules(rules, instead=instead)

    def read_again(self) -> Script | None:
        """Take changed files in; return the script then, which says what is wrong with them.

        None: nothing has changed. Another script that is put in while the files are read stays:
        what has changed of its files is read for it.
        """
        while (before := self._script).changed():
            script = before.reload()
            with self._lock:
                if self._script is before:
                    self._script = script
                    return script
        return None

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
        identity = rule.identity
        with self._lock:
            counted = self._used(scope)
            if counted.differs(rule):
                return None
            if rule.after:
                counted.seen[identity] += 1
                if counted.seen[identity] <= rule.after:
                    return None
            hit = counted.answered[identity] + 1
            step = rule.step(hit)
            if step is None:
                return None
            counted.answered[identity] = hit
            if rule.scenario and rule.scenario.goes_to is not None:
                counted.scenarios[rule.scenario.name] = rule.scenario.goes_to
        return Position(rule.name, step, hit)

    def _used(self, scope: str) -> _Scope:
        """Return what is counted in a scope, to count on; the scope is the last to be forgotten."""
        found = self._scopes.get(scope)
        if found is None:
            found = self._scopes[scope] = _Scope()
            if len(self._scopes) > MOST_SCOPES:
                _, gone = self._scopes.popitem(last=False)
                self._forgotten += gone.answered
        self._scopes.move_to_end(scope)
        return found

    def _nearest(
        self, rules: tuple[Rule, ...], subject: Subject
    ) -> Iterator[tuple[Rule, tuple[Difference, ...]]]:
        """Yield the rules with the fewest conditions not met, in the script's order.

        A rule that is met, and has no answer now, is nearer than any that is not.
        """
        found = []
        for rule in rules:
            unmet = tuple(rule.match.differences(subject))
            counted = tuple(self._counted(rule, subject.scope))
            distance = (len(unmet), len(counted), -len(rule.match.conditions))
            found.append((distance, rule, (*unmet, *counted)))
        found.sort(key=itemgetter(0))
        yield from ((rule, differences) for _, rule, differences in found[:NEAREST])

    def _counted(self, rule: Rule, scope: str) -> Iterator[Difference]:
        """Yield why a rule has no answer for a request of a scope, whatever the request says."""
        with self._lock:
            counted = self._scopes.get(scope, _Scope())
            seen, answered = counted.seen[rule.identity], counted.answered[rule.identity]
            differs, state = counted.differs(rule), counted.state(rule)
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
        answered: Counter[bytes] = Counter()
        with self._lock:
            if scope is not None:
                answered.update(self._scopes.get(scope, _Scope()).answered)
            else:
                answered.update(self._forgotten)
                for counted in self._scopes.values():
                    answered.update(counted.answered)
        return {rule.name: answered[rule.identity] for rule in self._script.rules}

    def hits(self, rule: Rule, scope: str) -> int:
        """Return how often a rule has answered in a scope."""
        with self._lock:
            return self._scopes.get(scope, _Scope()).answered[rule.identity]

    def scenarios(self) -> dict[str, dict[str, str]]:
        """Return the states of scenarios that an answer has moved, by scope and name."""
        with self._lock:
            return {name: dict(c.scenarios) for name, c in self._scopes.items() if c.scenarios}

    def unused(self) -> list[Rule]:
        """List the rules that have answered nothing, in the script's order."""
        answers = self.answers()
        return [rule for rule in self._script.rules if not answers[rule.name]]

    def reset(self, scope: str | None = None) -> None:
        """Forget what was counted, in all scopes or in one."""
        with self._lock:
            if scope is None:
                self._scopes.clear()
                self._forgotten.clear()
            else:
                self._scopes.pop(scope, None)
