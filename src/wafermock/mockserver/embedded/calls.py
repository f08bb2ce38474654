"""Calls: what came and what was answered, as tests ask about it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast, overload

from ..call import Call as Understood
from ..script import Subject
from .request import CalledTool, ClientRequest, Headers

if TYPE_CHECKING:
    from wafermock.spec import Contract

    from ..control.entry import Entry, Miss

# So much of what was asked and said is shown in a line, in characters.
_SHOWN = 60
_SHOWN_OF_ERRORS = 600


class Call(ClientRequest):
    """A request and its answer."""

    def __init__(self, entry: Entry, contract: Contract) -> None:
        super().__init__(_subject(entry, contract))
        self._entry = entry
        # From 1 among the calls of its space; None for what asks for nothing.
        self.number: int | None = None

    def __repr__(self) -> str:
        return f"<call {self.line}>"

    @property
    def subject(self) -> Subject:
        """The request as criteria look at it."""
        return self._subject

    @property
    def status(self) -> int:
        """The status of the answer."""
        return self._entry.answer.status

    @cached_property
    def answer_headers(self) -> Headers:
        """The headers of the answer."""
        return Headers(self._entry.answer.headers)

    @property
    def answer_raw(self) -> bytes:
        """The body of the answer; of a stream all its events."""
        return self._entry.answer.body

    @cached_property
    def answer(self) -> Any:
        """The data of an answer that is JSON; None for a stream, and for what is no JSON."""
        try:
            return None if self._entry.answer.streamed else json.loads(self.answer_raw)
        except (ValueError, RecursionError):
            return None

    @property
    def text(self) -> str:
        """What the answer says, a stream's joined; the message of an error, or what it lists as
        wrong with the request."""
        said = self._entry.said
        if said.choices:
            return said.choices[0].content
        error = said.error if isinstance(said.error, dict) else {}
        inner = error.get("error", error)
        message = inner.get("message") if isinstance(inner, dict) else inner
        return message if isinstance(message, str) else "; ".join(_faults(error.get("detail")))

    @property
    def reasoning(self) -> str:
        """What the answer thought."""
        said = self._entry.said
        return said.choices[0].reasoning if said.choices else ""

    @cached_property
    def tool_calls(self) -> tuple[CalledTool, ...]:
        """The functions that the answer calls."""
        said = self._entry.said
        calls = said.choices[0].tool_calls if said.choices else []
        return tuple(CalledTool.of(c["name"], c["arguments"], c["id"]) for c in calls)

    @property
    def finish_reason(self) -> str | None:
        said = self._entry.said
        return said.choices[0].finish_reason if said.choices else None

    @property
    def rule(self) -> str | None:
        """The name of the expectation, or of the script's rule, that answered; None: none did."""
        return self._entry.why.rule

    @property
    def nearest(self) -> tuple[Miss, ...]:
        """The rules that came nearest where none fitted, and what the call lacked for each; empty
        too where there were none."""
        return self._entry.why.nearest

    @property
    def failure(self) -> str | None:
        """The failure that happened to the answer, with what it took."""
        return self._entry.why.failure

    @property
    def ending(self) -> str | None:
        """How the delivery ended: `complete`, `client gone`, `dropped`; None: it has not yet."""
        return self._entry.ending

    @property
    def duration(self) -> float | None:
        """How long the delivery took, in seconds; None: it is not over."""
        return self._entry.duration

    @property
    def entry(self) -> Entry:
        """The call as the journal keeps it."""
        return self._entry

    @property
    def line(self) -> str:
        """The call in a line, keys masked."""
        entry = self._entry
        number = "-" if self.number is None else f"{self.number}."
        asked = [f"{number} {self.method} {entry.path}"]
        asked += [self.model] if self.model else []
        asked += ["stream"] if self.stream else []
        if self.tool_results:
            asked.append(f"(result: {_cut(entry.mask.text(self.tool_results[-1]))})")
        elif entry.asked:
            asked.append(_cut(entry.asked))
        return f"{' '.join(asked)} → {entry.mask.text(self._answered)}"

    @property
    def _answered(self) -> str:
        words = [str(self.status)]
        # Why it was refused is what a reader looks for: that is shown in full.
        most = _SHOWN if self.status < 400 else _SHOWN_OF_ERRORS
        words += [_cut(self.text, most)] if self.text else []
        if self.tool_calls:
            shown = ", ".join(_shown_call(call) for call in self.tool_calls)
            words.append(f"calls {shown}")
        if self.failure:
            words.append(f"[{self.failure}]")
        if self.ending not in ("complete", None):
            words.append(f"[{self.ending}]")
        if self.rule:
            words.append(f"by {self.rule}")
        elif self.status < 400 or self.nearest:  # else it was refused, whoever might have answered
            words.append("by no expectation")
        return " ".join(words)


class Calls(Sequence[Call]):
    """Calls in the order they came: a view that grows with what comes."""

    def __init__(self, read: Callable[[], list[Call]]) -> None:
        self._read = read

    @overload
    def __getitem__(self, index: int) -> Call: ...
    @overload
    def __getitem__(self, index: slice) -> list[Call]: ...
    def __getitem__(self, index: int | slice) -> Call | list[Call]:
        __tracebackhide__ = True
        calls = self._read()
        try:
            return calls[index]
        except IndexError:
            raise IndexError(f"there is no call {index}; {listed(calls)}") from None

    def __len__(self) -> int:
        return len(self._read())

    def __iter__(self) -> Iterator[Call]:
        return iter(self._read())

    def __repr__(self) -> str:
        return f"<{listed(self._read())}>"

    @property
    def last(self) -> Call:
        """The last call. Raises IndexError where there is none."""
        return self[-1]


def listed(calls: Sequence[Call]) -> str:
    """List calls, a line each."""
    if not calls:
        return "no calls"
    head = "1 call:" if len(calls) == 1 else f"{len(calls)} calls:"
    return "\n  ".join([head, *(call.line for call in calls)])


def _subject(entry: Entry, contract: Contract) -> Subject:
    """Return the request of an entry as criteria look at it, whatever became of it."""
    route = contract.route(entry.request.method, entry.request.path)
    data = entry.data
    body = data if isinstance(data, dict) else {} if data is None else {"": data}
    # A subject takes a call without an operation: what fits no path of the contract.
    operation = cast(Any, route.operation if route else None)
    return Subject(entry.request, Understood(operation, body, {}, 0, ""))


def _faults(detail: Any) -> Iterator[str]:
    """Yield what a 422 says of the request, a fault each: where, and what is wrong there."""
    for fault in detail if isinstance(detail, list) else [detail]:
        if isinstance(fault, str):
            yield fault
        elif isinstance(fault, Mapping):
            place = fault.get("loc")
            where = ".".join(map(str, place)) if isinstance(place, list) else ""
            yield ": ".join(filter(None, (where, str(fault.get("msg", "")))))


def _cut(text: str, most: int = _SHOWN) -> str:
    text = " ".join(text.split())
    return json.dumps(text if len(text) <= most else f"{text[:most]}…", ensure_ascii=False)


def _shown_call(call: CalledTool) -> str:
    if isinstance(call.arguments, dict):
        return f"{call.name}({', '.join(f'{k}={v!r}' for k, v in call.arguments.items())})"
    return f"{call.name}({call.arguments!r})"
