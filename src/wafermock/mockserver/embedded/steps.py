"""Steps: what an expectation answers, collected word by word, and made into a reply of a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from wafermock.spec import Contract

from ..exchange import Answer
from ..refusal import Refusal
from ..reply import Reply, ToolCall
from ..script.outcome import (
    SCRIPT_FAILED,
    Content,
    Outcome,
    Plain,
    Position,
    Prepared,
    Structured,
    failed,
)
from ..script.subject import Subject
from .request import ClientRequest

if TYPE_CHECKING:
    from ..wire.catalogue import Chosen

Kind = Literal["delivery", "failure", "defect"]

# What a function of the request may return.
Answering = Callable[[ClientRequest], "str | Reply | Mapping[str, Any]"]

# No SDK shall try again what a test's own function has spoilt.
_ONCE = {"x-should-retry": "false"}

# What `fails` takes for every error, beside the placeholders of its message.
_OF_EVERY_ERROR = ("rate", "retry_after", "should_retry")


class Pieced(Prepared, frozen=True):
    """Prepared words whose stream has exactly these pieces of text, one a chunk."""

    pieces: tuple[str, ...] = ()

    def outcome(self, subject: Subject, position: Position) -> Outcome:
        from .pieces import cut_anew

        made = super().outcome(subject, position)
        return replace(made, cut=partial(cut_anew, pieces=self.pieces))


class Computed(Prepared, frozen=True):
    """What a function of the request returns. `blamed` is told of what it raises instead."""

    function: Answering = lambda request: ""
    blamed: Callable[[BaseException], None] = lambda error: None

    def outcome(self, subject: Subject, position: Position) -> Outcome:
        try:
            returned = self.function(ClientRequest(subject))
            return self._made(returned, subject, position)
        # A test may call pytest.fail() in it, which is no Exception.
        except BaseException as error:
            self.blamed(error)
            reason = f"its function raised {type(error).__name__}: {error}"
            refusal = failed(position, reason)
            return replace(self.extras, refusal=Refusal(
                SCRIPT_FAILED, headers=dict(_ONCE), **refusal.values
            ))  # fmt: skip

    def _made(self, returned: Any, subject: Subject, position: Position) -> Outcome:
        if isinstance(returned, str):
            words = Prepared(Plain(returned), self.reasoning, self.tool_calls, extras=self.extras)
            return words.outcome(subject, position)
        if isinstance(returned, Reply):
            return replace(self.extras, reply=returned)
        if isinstance(returned, Mapping):
            return replace(self.extras, answer=whole({"body": dict(returned)}))
        if hasattr(returned, "__await__"):
            if hasattr(returned, "close"):
                returned.close()
            raise TypeError("a function that answers is no coroutine: write `def`, not `async def`")
        raise TypeError(
            "a function that answers returns a text, a Reply, or a mapping (the whole body), "
            f"not {returned!r}"
        )


class StepDraft(Struct):
    """One answer, as far as it has been said."""

    content: Content | None = None
    pieces: tuple[str, ...] | None = None
    function: Answering | None = None
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    answer: Answer | None = None
    error: Prepared | None = None
    choices: dict[Kind, tuple[Chosen, ...]] = {}
    times: int | None = None

    @property
    def said(self) -> bool:
        """Whether anything is answered yet."""
        words = self.content is not None or self.function is not None or self.reasoning
        return bool(words or self.tool_calls or self.answer or self.error or self.choices)

    def prepared(self, blamed: Callable[[BaseException], None]) -> Prepared:
        """Make the reply. `blamed` is told of what a function of the request raises."""
        extras = Outcome(
            delivery=self.choices.get("delivery", ()),
            failure=self.choices.get("failure", ()),
            defect=self.choices.get("defect", ()),
        )
        if self.error is not None:
            return replace(self.error, extras=extras)
        if self.answer is not None:
            return Prepared(answer=self.answer, extras=extras)
        words: dict[str, Any] = {
            "content": self.content,
            "reasoning": self.reasoning,
            "tool_calls": self.tool_calls,
            "extras": extras,
        }
        if self.function is not None:
            return Computed(**words, function=self.function, blamed=blamed)
        if self.pieces is not None:
            return Pieced(**words, pieces=self.pieces)
        return Prepared(**words)

    # ------------------------------------------------------------ what can be said

    def replies(self, text: str | Answering) -> None:
        self._only_words("replies")
        if callable(text):
            self.function = text
        elif isinstance(text, str):
            self.content = Plain(text)
        else:
            raise TypeError(f"replies() wants a text or a function of the request, not {text!r}")

    def streams(self, pieces: Sequence[str]) -> None:
        self._only_words("streams")
        if isinstance(pieces, str) or not all(isinstance(piece, str) for piece in pieces):
            raise TypeError(f"streams() wants a list of texts, not {pieces!r}")
        if not all(pieces):
            raise ValueError("streams(): an empty text makes no chunk")
        self.pieces = tuple(pieces)
        self.content = Plain("".join(pieces))

    def answers_json(self, value: Any, schema: Any) -> None:
        self._only_words("answers_json")
        if schema is not None:
            self.content = _structured(schema)
            return
        try:
            self.content = Plain(json.dumps(value, ensure_ascii=False))
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(f"answers_json({value!r}): this is no JSON: {error}") from None

    def reasons(self, text: str) -> None:
        if self.answer or self.error or self.reasoning:
            raise _said_already("reasons")
        if not isinstance(text, str):
            raise TypeError(f"reasons() wants a text, not {text!r}")
        self.reasoning = text

    def calls_tool(self, call: ToolCall) -> None:
        if self.answer or self.error:
            raise _said_already("calls_tool")
        self.tool_calls = (*self.tool_calls, call)

    def answers(self, body: Any, status: int, headers: Mapping[str, str] | None) -> None:
        if self.said:
            raise _said_already("answers")
        if isinstance(status, bool) or not (isinstance(status, int) and 200 <= status <= 599):
            raise ValueError(f"answers(): a status from 200 to 599 is wanted, not {status!r}")
        raw = body.decode() if isinstance(body, bytes) else body
        self.answer = whole({"body": raw, "status": status, "headers": dict(headers or {})})

    def fails(
        self, name: str | int, times: int | None, values: dict[str, Any], contract: Contract
    ) -> None:
        if self.error or self.choices.get("failure"):
            raise _said_already("fails")
        error, failure = read_failure(name, values, contract)
        if error is not None:
            if self.said:
                raise _said_already("fails")
            self.error = error
        if failure is not None:
            self.choices["failure"] = (failure,)
        if times is not None:
            self.happens(times)

    def chooses(self, kind: Kind, name: Any, values: dict[str, Any], contract: Contract) -> None:
        from ..script.catalogues import Catalogues

        given = {"name": name, **values} if values else name
        self.choices[kind] = (
            *self.choices.get(kind, ()),
            *Catalogues(contract).choose(kind, given),
        )

    def happens(self, times: int) -> None:
        if isinstance(times, bool) or not isinstance(times, int) or times < 1:
            raise ValueError(f"a whole number of times from 1 is wanted, not {times!r}")
        self.times = times

    def _only_words(self, verb: str) -> None:
        if self.content is not None or self.function is not None or self.answer or self.error:
            raise _said_already(verb)


def read_failure(
    name: str | int, values: dict[str, Any], contract: Contract
) -> tuple[Prepared | None, Chosen | None]:
    """Read a failure by its name in the catalogue (docs/failures.md), or an error by its status.

    Returns an error of the API, or a failure of the way. Raises ValueError for what there is not.
    """
    from ..script.catalogues import Catalogues
    from ..wire import failure_catalogue, refusal_of

    errors = contract.errors
    name = failure_name(name, contract)
    catalogue = failure_catalogue(errors)
    key = name.strip().partition(":")[0].replace("-", "_")
    if key not in errors:
        chosen = catalogue.choose(name, **values) if values else catalogue.parse(name)
        return None, chosen
    placeholders = {k: v for k, v in values.items() if k not in _OF_EVERY_ERROR}
    Catalogues(contract).check_error(key, placeholders)
    given = {k: v for k, v in values.items() if k in _OF_EVERY_ERROR}
    chosen = catalogue.choose(key, **given) if given else catalogue.parse(name)
    if chosen.rate < 1:
        if placeholders:
            raise ValueError(f"{key}: a `rate` does not go with values of its message")
        return None, chosen
    refusal = refusal_of(chosen)
    headers = dict(refusal.headers) if refusal else {}
    return Prepared(error=key, values=placeholders, headers=headers), None


def failure_name(name: str | int, contract: Contract) -> str:
    """Return the name of a failure; of an error that is given by its status, the first of them."""
    if isinstance(name, str):
        return name
    found = contract.errors.of_status(name)
    if not found:
        known = ", ".join(sorted({str(entry.status) for entry in contract.errors}))
        raise ValueError(f"there is no error with the status {name} (there are: {known})")
    return found[0].name


def whole(value: dict[str, Any]) -> Answer:
    """Make a whole answer of `body`, `status` and `headers`. Raises ValueError."""
    from ..script.whole import read_whole

    def fault(sentence: str, place: tuple[Any, ...]) -> None:
        raise ValueError(sentence)

    made = read_whole(value, Path(), fault)
    assert made is not None
    return made


def _structured(schema: Any) -> Structured:
    """Make an instance now: a schema without one is found out before a request comes."""
    if schema is True:
        return Structured()
    from ..draws import digest
    from ..instances import SchemaError, make_instance

    try:
        make_instance(schema, digest("script"))
    except SchemaError as error:
        raise ValueError(f"answers_json(schema=...): {error.pointer}: {error.reason}") from None
    return Structured(schema)


def _said_already(verb: str) -> ValueError:
    return ValueError(
        f"{verb}() does not go with what is said already; write `.then` before it, "
        "for the answer to the next request"
    )
