"""Expectations: `mock.on(...)`, then what is answered. Each is a rule of the space's script."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Never, Protocol

from wafermock.spec import Contract

from ..draws import digest
from ..reply import ToolCall
from ..script.matching import Match
from ..script.rule import Rule, Step
from .asking import public_names, unknown, unnamed
from .steps import Answering, Kind, StepDraft

if TYPE_CHECKING:
    from .held import HeldStream


class Owner(Protocol):
    """Who an expectation belongs to: a space."""

    @property
    def contract(self) -> Contract: ...
    def changed(self, expectation: Expectation) -> None: ...
    def blame(self, expectation: Expectation, error: BaseException) -> None: ...
    def hold(self, expectation: Expectation, patience: float) -> HeldStream: ...


class Expectation:
    """What is answered to requests that meet some criteria.

    Every method returns the expectation, so that they can be written in a row. What is said
    without `then` between is one answer: `reasons("…").replies("…")`. The last answer is given
    again and again, unless `times` says how often.
    """

    def __init__(
        self, owner: Owner, match: Match, name: str, place: tuple[str, int], number: int
    ) -> None:
        self._owner = owner
        self._match = match
        self._place = place
        self._identity = digest("expectation", number)
        self._steps = [StepDraft()]
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name} at {self.place}>"

    if not TYPE_CHECKING:  # who checks types is told of a wrong name by the type checker

        def __getattr__(self, name: str) -> Any:
            __tracebackhide__ = True
            raise AttributeError(unknown("attribute", name, public_names(type(self))))

    @property
    def place(self) -> str:
        """Where it is written, FILE:LINE."""
        return f"{self._place[0]}:{self._place[1]}"

    @property
    def is_default(self) -> bool:
        """Whether it takes every request for ever, and is therefore asked last."""
        return not self._match.conditions and self._steps[-1].times is None

    @property
    def is_unfinished(self) -> bool:
        """Whether it does not say what is answered, or ends in `then`."""
        return not self._steps[-1].said

    def replies(self, text: str | Answering) -> Expectation:
        """Answer with a text; or with what a function of the request returns: a text, a `Reply`,
        or a mapping, which is the whole body. The function is no coroutine; what it raises fails
        the test."""
        __tracebackhide__ = True
        return self._say(lambda step: step.replies(text))

    def streams(self, pieces: Sequence[str]) -> Expectation:
        """Answer with a text whose stream has exactly these pieces, one a chunk. A request that
        wants no stream gets them joined."""
        __tracebackhide__ = True
        return self._say(lambda step: step.streams(pieces))

    def reasons(self, text: str) -> Expectation:
        """Think this before the answer."""
        __tracebackhide__ = True
        return self._say(lambda step: step.reasons(text))

    def calls_tool(self, name: str, /, *unnamed_: Never, **arguments: Any) -> Expectation:
        """Call a function. Called several times, they are calls of one answer."""
        __tracebackhide__ = True
        if unnamed_:
            raise unnamed("calls_tool()", f"calls_tool({name!r}, city='Oslo')")
        return self._say(lambda step: step.calls_tool(tool_call(name, arguments)))

    def calls_tools(
        self,
        calls: Sequence[str | ToolCall | tuple[str, Any] | Mapping[str, Any]] | Mapping[str, Any],
    ) -> Expectation:
        """Call several functions in one answer: names, pairs of a name and its arguments, mappings
        of `name` and `arguments`; or one mapping of names to arguments. Arguments that are a text
        are sent as they are, whether JSON or not."""
        __tracebackhide__ = True

        def say(step: StepDraft) -> None:
            listed = calls.items() if isinstance(calls, Mapping) else calls
            if not isinstance(listed, Iterable) or isinstance(listed, str | bytes):
                raise TypeError(f"calls_tools() wants a list of calls, not {calls!r}")
            made = list(map(_read_call, listed))
            if not made:
                raise ValueError("calls_tools() wants at least one call")
            for call in made:
                step.calls_tool(call)

        return self._say(say)

    def answers_json(self, value: Any = None, *, schema: Any = None) -> Expectation:
        """Answer with JSON as the text: a value; or an instance of a JSON Schema that the mock
        makes (`schema=True`: of the schema that the request came with)."""
        __tracebackhide__ = True
        return self._say(lambda step: step.answers_json(value, schema))

    def answers(
        self, body: Any, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> Expectation:
        """Answer with a whole body: a text or bytes as they are, anything else as JSON."""
        __tracebackhide__ = True
        return self._say(lambda step: step.answers(body, status, headers))

    def fails(self, name: str | int, /, times: int | None = None, **values: Any) -> Expectation:
        """Fail as real services do: a name of docs/failures.md with what it takes, `fails("stall",
        after=3)`, or a status. Behind words it is what happens to these words on their way."""
        __tracebackhide__ = True
        contract = self._owner.contract
        return self._say(lambda step: step.fails(name, times, values, contract))

    def delivered(self, name: str, /, **values: Any) -> Expectation:
        """Put the answer on the wire in one of the ways of docs/deliveries.md."""
        __tracebackhide__ = True
        return self._choose("delivery", name, values)

    def breaks(self, name: str, /, **values: Any) -> Expectation:
        """Let the answer break a rule of the API: a defect of docs/defects.md."""
        __tracebackhide__ = True
        return self._choose("defect", name, values)

    def times(self, number: int) -> Expectation:
        """Give this answer to so many requests; then the next one of this expectation has its
        turn, and behind the last one the expectations after this."""
        __tracebackhide__ = True
        if not self._steps[-1].said:
            raise ValueError("times() stands behind what is answered")
        return self._do(self._steps[-1], lambda step: step.happens(number))

    @property
    def then(self) -> Expectation:
        """What is said from here on is the answer to the next request that fits."""
        __tracebackhide__ = True
        if not self._steps[-1].said:
            raise ValueError("`then` stands behind what is answered")
        self._steps.append(StepDraft())
        return self

    def held(self, patience: float = 10.0) -> HeldStream:
        """Hold the next stream that this answers; return the levers to move it. A stream that
        nobody moves for `patience` seconds (real ones) is dropped, and the test told so."""
        __tracebackhide__ = True
        if not self._steps[-1].said:
            raise ValueError("held() stands behind what is answered")
        if self._steps[-1].choices or self._steps[-1].error:
            raise ValueError(
                "held() moves a stream that nothing else happens to: no failure, "
                "no delivery and no defect"
            )
        return self._owner.hold(self, patience)

    def _choose(self, kind: Kind, name: str, values: dict[str, Any]) -> Expectation:
        __tracebackhide__ = True
        contract = self._owner.contract
        return self._say(lambda step: step.chooses(kind, name, values, contract))

    def _say(self, say: Callable[[StepDraft], None]) -> Expectation:
        __tracebackhide__ = True
        step = self._steps[-1]
        if step.times is not None:  # it is said how often: this is about what follows
            step = StepDraft()
        return self._do(step, say)

    def _do(self, step: StepDraft, say: Callable[[StepDraft], None]) -> Expectation:
        __tracebackhide__ = True
        try:
            say(step)
        except (TypeError, ValueError) as error:
            raise plain(error) from None
        if step is not self._steps[-1]:
            self._steps.append(step)
        self._owner.changed(self)
        return self

    def rule(self) -> Rule | None:
        """Return the rule that it comes to; None while nothing is answered."""
        drafts = [step for step in self._steps if step.said]
        if not drafts:
            return None
        steps = [Step(d.prepared(self._blamed), d.times or 1) for d in drafts]
        return Rule(
            name=self.name,
            match=self._match,
            steps=tuple(steps),
            then="repeat" if drafts[-1].times is None else "stop",
            times=None,
            after=0,
            scenario=None,
            file=self._place[0],
            line=self._place[1],
            identity=self._identity,
        )

    def _blamed(self, error: BaseException) -> None:
        self._owner.blame(self, error)


def plain(error: TypeError | ValueError) -> TypeError | ValueError:
    """Return the same error without the way it came: a reader of a test wants the sentence."""
    return (TypeError if isinstance(error, TypeError) else ValueError)(str(error))


def tool_call(name: str, arguments: Any) -> ToolCall:
    """Make a call of a function; arguments that are a text are sent as they are.

    Raises TypeError for arguments that are no JSON, and for a name that is none.
    """
    if not isinstance(name, str) or not name.strip():
        raise TypeError(f"the name of a function is wanted, not {name!r}")
    if isinstance(arguments, str):
        return ToolCall(name, arguments)
    try:
        return ToolCall(name, json.dumps(arguments, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{name}: these arguments are no JSON: {error}") from None


def _read_call(given: Any) -> ToolCall:
    if isinstance(given, ToolCall):
        return given
    if isinstance(given, str):
        return tool_call(given, {})
    if isinstance(given, tuple | list) and len(given) == 2:
        return tool_call(given[0], given[1])
    if isinstance(given, Mapping) and "name" in given:
        return tool_call(given["name"], given.get("arguments", {}))
    what = 'a name, ("name", {arguments}), {"name": ..., "arguments": ...} or a ToolCall'
    raise TypeError(f"calls_tools() wants a list with each {what}, not {given!r}")
