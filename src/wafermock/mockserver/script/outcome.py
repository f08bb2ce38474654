"""What a rule says is to be answered, and how a reply of a script comes to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from ..draws import Draws, digest
from ..exchange import Answer
from ..refusal import Refusal
from ..reply import Reply, ToolCall
from .budget import TemplateError
from .patterns import without_surrogates
from .subject import Subject

if TYPE_CHECKING:
    from ..pace import Pace
    from ..wire.catalogue import Chosen
    from .template import Template

# The error of a rule that matched, where what it says cannot be done for the request.
SCRIPT_FAILED = "script_failed"


class Position(Struct, frozen=True):
    """Where in a script an answer stands: the rule, the step of its sequence (from 0), and the
    number of the answer among those of the rule in its scope (from 1)."""

    rule: str
    step: int = 0
    hit: int = 1


class Outcome(Struct, frozen=True):
    """What is answered.

    At most one of `reply` (words, to be made into an answer), `answer` (the whole answer) and
    `refusal` (an error) is given; without any of them the words are those that the mock has
    without a script. `pace` is None where the server's holds. The others are choices of the
    catalogues of the wire, in the order that they were given in. `cut` makes the answer of `reply`
    anew, in other parts.
    """

    reply: Reply | None = None
    answer: Answer | None = None
    refusal: Refusal | None = None
    pace: Pace | None = None
    delivery: tuple[Chosen, ...] = ()
    failure: tuple[Chosen, ...] = ()
    defect: tuple[Chosen, ...] = ()
    cut: Callable[[Answer], Answer] | None = None

    def acting(
        self, identity: bytes, hit: int
    ) -> tuple[Chosen | None, Chosen | None, tuple[Chosen, ...]]:
        """Return the delivery, the failure and the defects that happen to a call, by their rates.

        Of several deliveries and failures it is the first that happens; `hit` is the position's.
        """
        from ..wire.catalogue import happening

        deliveries, failures = (happening(c, identity, hit) for c in (self.delivery, self.failure))
        return (
            next(iter(deliveries), None),
            next(iter(failures), None),
            happening(self.defect, identity, hit),
        )


class Content(Protocol):
    """What a reply is made of. Raises Refusal where it cannot be made for a request."""

    def said(self, subject: Subject, position: Position) -> str: ...


class Plain(Struct, frozen=True):
    """A text that is there as it is."""

    text: str

    def said(self, subject: Subject, position: Position) -> str:
        return self.text


class Structured(Struct, frozen=True):
    """JSON for a schema; None: for the one that the request came with."""

    schema: Any = None

    def said(self, subject: Subject, position: Position) -> str:
        from ..structured import Instances

        schema = _wanted(subject.body) if self.schema is None else self.schema
        if schema is None:
            raise failed(position, "it answers the request's schema, and the request has none")
        return Instances(schema).text(_voice(subject, position))


class Templated(Struct, frozen=True):
    """A text made of the request."""

    template: Template

    def said(self, subject: Subject, position: Position) -> str:
        from ..prose import words

        draws = Draws("script words", _voice(subject, position))
        try:
            text = self.template.render(
                variables(subject, position), lambda count: words(draws, count)
            )
        except TemplateError as error:
            where = f"line {error.line} of the template: " if error.line else "the template: "
            raise failed(position, where + error.message) from None
        return without_surrogates(text)


class Prepared(Struct, frozen=True, dict=True):
    """A reply of a script, read and checked; what it comes to depends on the request.

    `arguments` are those of calls that are made of the request, by the places of the calls.
    """

    content: Content | None = None
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    answer: Answer | None = None
    error: str | None = None
    values: Mapping[str, Any] = {}
    headers: Mapping[str, str] = {}
    extras: Outcome = Outcome()
    arguments: Mapping[int, Content] = {}

    def outcome(self, subject: Subject, position: Position) -> Outcome:
        """Return what is answered: a function of the request, the script and the position.

        Never raises: what cannot be made is a refusal, which says why.
        """
        if self.error is not None:
            refusal = Refusal(self.error, headers=dict(self.headers), **self.values)
            return replace(self.extras, refusal=refusal)
        if self.answer is not None:
            return replace(self.extras, answer=self.answer)
        if self.content is None and not self.reasoning and not self.tool_calls:
            return self.extras
        if isinstance(self.content, Plain | None) and not self.arguments:
            return self._plain
        try:
            text = self.content.said(subject, position) if self.content else ""
            calls = list(self.tool_calls)
            for at, arguments in self.arguments.items():
                calls[at] = replace(calls[at], arguments=arguments.said(subject, position))
        except Refusal as refusal:
            return replace(self.extras, refusal=refusal)
        return replace(self.extras, reply=Reply(text, self.reasoning, tuple(calls)))

    @cached_property
    def _plain(self) -> Outcome:
        """What is answered to every request alike."""
        text = self.content.text if isinstance(self.content, Plain) else ""
        return replace(self.extras, reply=Reply(text, self.reasoning, self.tool_calls))


# What a template may name, beside the functions.
VARIABLES = (
    "body", "headers", "hit", "last_user", "messages", "model", "operation", "results", "scope",
    "stream", "tools_called", "tools_offered", "turn",
)  # fmt: skip


def variables(subject: Subject, position: Position) -> dict[str, Any]:
    """Return what a template sees of a request: JSON data, and no secrets of its headers."""

    def shown(messages: Sequence[Any]) -> list[dict[str, str]]:
        return [{"role": m.role, "text": m.text, "function": m.function} for m in messages]

    return {
        "body": subject.body,
        "headers": subject.headers,
        "hit": position.hit,
        "last_user": subject.last_user,
        "messages": shown(subject.messages),
        "model": subject.model,
        "operation": subject.operation[0],
        "results": shown(subject.results),
        "scope": subject.scope,
        "stream": subject.stream,
        "tools_called": list(subject.tools_called),
        "tools_offered": list(subject.tools_offered),
        "turn": subject.turn,
    }


def failed(position: Position, reason: str) -> Refusal:
    """Make the refusal for a rule that cannot answer a request."""
    return Refusal(SCRIPT_FAILED, rule=position.rule, reason=without_surrogates(reason))


def tool_call(value: Mapping[str, Any]) -> ToolCall:
    """Read a call of a function; its arguments are a mapping, or the text that is sent."""
    arguments = value.get("arguments", {})
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(value["name"], arguments)


def _voice(subject: Subject, position: Position) -> bytes:
    """Decide the words: the same for the same request at the same step of the same rule."""
    return digest("script", subject.voice, position.rule, position.step)


def _wanted(body: Mapping[str, Any]) -> Any:
    from ..structured import wanted_schema

    try:
        return wanted_schema(dict(body))
    except (AttributeError, LookupError, TypeError):  # a body that nobody validated
        return None
