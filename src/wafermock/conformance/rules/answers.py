"""The answers of completions as the rules about their sense read them: whole and streamed alike."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from wafermock.reports.run import Level, State
from wafermock.spec import Schema

from ..assembly import calls_in, choices_in, number_in, whole, words_in
from ..bodies import json_media
from ..decoded import Unreadable
from ..exchange import Exchange
from ..once import once
from ..rule import Bench, Breach, Found, RuleBook
from .asked import Asked, mapping, whole_number
from .declared import Token, declared_at, in_answer

# What the contract says such an operation is answered with (`x-wafermock-answer`).
CHAT, TEXT = "chat.completion", "text_completion"

CHAT_RESPONSE = "#/components/schemas/ChatCompletionResponse/properties"
CHAT_CHOICE = f"{CHAT_RESPONSE}/choices/items/properties"
CHAT_REQUEST = "#/components/schemas/ChatCompletionRequest/properties"
TEXT_REQUEST = "#/components/schemas/CompletionRequest/properties"
OBSERVED = "observed traffic, 2026"


@dataclass(frozen=True)
class Call:
    """A tool call: what it says of itself, if that is a text, and where it stands."""

    id: str | None
    name: str | None
    arguments: str | None
    at: tuple[Token, ...]


@dataclass(frozen=True)
class Choice:
    """A choice: its words and what belongs to them, each where it is of its type.

    `node` is all of it. `place` is its place in the list of choices.
    """

    node: Mapping[str, Any]
    place: int

    @property
    def at(self) -> tuple[Token, ...]:
        return ("choices", self.place)

    @cached_property
    def index(self) -> int:
        return number_in(self.node, self.place)

    @property
    def words(self) -> Mapping[str, Any]:
        return words_in(self.node)

    @property
    def words_at(self) -> tuple[Token, ...]:
        return (*self.at, "message") if "message" in self.node else self.at

    @property
    def text_at(self) -> tuple[Token, ...]:
        return (*self.words_at, "content" if "message" in self.node else "text")

    @property
    def finish(self) -> str | None:
        return _text(self.node.get("finish_reason"))

    @property
    def text(self) -> str:
        """What is said: `content` in chat, `text` in completions."""
        return _text(self.words.get("content")) or _text(self.words.get("text")) or ""

    @property
    def reasoning(self) -> str:
        return _text(self.words.get("reasoning")) or ""

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        made = []
        for place, call in enumerate(calls_in(self.node)):
            function = mapping(call.get("function"))
            made.append(
                Call(
                    id=_text(call.get("id")),
                    name=_text(function.get("name")),
                    arguments=_text(function.get("arguments")),
                    at=(*self.words_at, "tool_calls", place),
                )
            )
        return tuple(made)


@dataclass(frozen=True)
class Answer:
    """A complete answer of a completion to a valid request. `value` is all of it as one value."""

    exchange: Exchange
    value: Mapping[str, Any]
    is_chat: bool

    @cached_property
    def asked(self) -> Asked:
        return Asked(mapping(self.exchange.asked))

    @property
    def is_streamed(self) -> bool:
        return self.exchange.answer.is_stream

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        return tuple(Choice(node, place) for place, node in enumerate(choices_in(self.value)))

    def prompt_of(self, choice: Choice) -> str | None:
        """Return the prompt that a choice goes on with, if it is a text."""
        prompts = self.asked.prompts
        if len(prompts) > 1 and not self._is_numbered:
            return None  # nobody can tell which
        prompt = prompts[choice.index // self.asked.samples] if len(prompts) > 1 else prompts[0]
        return prompt if isinstance(prompt, str) else None

    @cached_property
    def _is_numbered(self) -> bool:
        told = sorted(choice.index for choice in self.choices)
        return told == list(range(self.asked.choices))

    def generated(self, choice: Choice) -> str:
        """Return the text without the prompt that is echoed; empty where nobody can tell."""
        if not self.asked["echo"]:
            return choice.text
        prompt = self.prompt_of(choice)
        known = prompt is not None and choice.text.startswith(prompt)
        return choice.text.removeprefix(prompt or "") if known else ""

    @cached_property
    def usage(self) -> Mapping[str, Any]:
        return mapping(self.value.get("usage"))

    def count(self, *path: str) -> int | None:
        """Return a number of tokens in `usage`, None where it is not told."""
        node: Any = self.usage
        for key in path:
            node = mapping(node).get(key)
        return whole_number(node)

    def breach(
        self,
        at: Sequence[Token],
        expected: str,
        actual: str,
        *,
        asked: str = "",
        state: State | None = None,
    ) -> Breach:
        """Tell of a breach at a place of the answer. `asked` names the parameter of the request
        that is not obeyed: the breach is then located there in the contract."""
        where = in_answer(at)
        operation = self.exchange.operation
        schema: Schema | None = self._schema
        if asked and operation is not None:
            schema, at = operation.request_schema, (asked,)
        return Breach(
            expected=expected,
            actual=actual,
            where=f"assembled, {where}" if self.is_streamed else where,
            location=declared_at(schema, at) if schema is not None else "",
            state=state,
        )

    @property
    def _schema(self) -> Schema | None:
        success = self.exchange.operation.success if self.exchange.operation else None
        media = json_media(success, "application/json") if success else None
        return media.schema if media else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


@once
def answer_of(exchange: Exchange) -> Answer | None:
    """Return the answer to be judged by its sense.

    None for what is no completion, is refused, broke off, ended in an error or has chunks that
    nobody can read, and for requests that are invalid on purpose: what a server makes of those is
    nobody's promise.
    """
    operation, received = exchange.operation, exchange.received
    if operation is None or operation.answer not in (CHAT, TEXT) or received is None:
        return None
    if exchange.meant != "valid" or not exchange.accepted or received.ended != "complete":
        return None
    if any(isinstance(c, Unreadable) or _is_error(c) for c in exchange.answer.chunks):
        return None
    value = whole(exchange)
    if not (isinstance(value, dict) and isinstance(value.get("choices"), list)):
        return None
    return Answer(exchange, value, operation.answer == CHAT)


def _is_error(chunk: Any) -> bool:
    """Say whether a chunk is an error, of whatever shape."""
    return isinstance(chunk, dict) and "choices" not in chunk and not chunk.keys() <= _APART


# What a chunk without choices may bring all the same.
_APART = {"id", "created", "model", "system_fingerprint", "object", "usage", "time_info"}

When = Callable[[Answer], object]
JudgeAnswer = Callable[[Answer, Bench], Iterable[Found]]


class AnswerBook(RuleBook):
    """Rules about the sense of answers, in the order in which they are written down."""

    def answer_rule(
        self,
        id: str,
        level: Level,
        requirement: str,
        *,
        source: str,
        guards: str,
        when: When = lambda answer: True,
        needs: str = "a completion",
    ) -> Callable[[JudgeAnswer], JudgeAnswer]:
        """Put a function there as the judge of the answers that `when` picks."""

        def applies(exchange: Exchange) -> bool:
            answer = answer_of(exchange)
            return answer is not None and bool(when(answer))

        def put(judge: JudgeAnswer) -> JudgeAnswer:
            @self.rule(
                id,
                level,
                requirement,
                source=source,
                guards=guards,
                applies=applies,
                needs=needs,
            )
            def judge_exchange(exchange: Exchange, bench: Bench) -> Iterator[Found]:
                answer = answer_of(exchange)
                if answer is not None:
                    yield from judge(answer, bench)

            return judge

        return put
