"""One state machine over the chunks of a stream: what may follow what.

Each choice goes through the states of `TABLE`; beside it stand what a stream holds once (`id`,
`usage`, ...) and the tool calls, whose fragments must join. A fault is told, and read over: nobody
is helped by the second fault that follows from the first. Nothing here raises.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .assembly import calls_in, is_chunk, number_in, words_in
from .decoded import Unreadable, came_whole, read_json
from .exchange import Exchange
from .once import once

State = Literal["silent", "named", "nameless", "finished"]
Sign = Literal["role", "words", "finish"]

Kind = Literal[
    "no role first",
    "role again",
    "role changes",
    "finish again",
    "behind the finish",
    "no finish",
    "changes",  # of a key that is the same in all chunks: `Fault.key`
    "choice index",
    "no choice",
    "call without index",
    "call index",
    "call order",
    "call without id",
    "call id again",
    "call id changes",
    "call id shared",
    "call without name",
    "call name again",
    "call arguments",
    "no usage",
    "usage again",
    "usage early",
    "error",
    "behind the error",
]

# A choice begins silent. Its role names it; words (text, thoughts, tool calls) may follow, and the
# finish reason ends it. Read: in this state, at this sign, on to that state, and this is a fault.
TABLE: Mapping[tuple[State, Sign], tuple[State, Kind | None]] = {
    ("silent", "role"): ("named", None),
    ("silent", "words"): ("nameless", "no role first"),
    ("silent", "finish"): ("finished", "no role first"),
    ("named", "role"): ("named", "role again"),
    ("named", "words"): ("named", None),
    ("named", "finish"): ("finished", None),
    ("nameless", "role"): ("named", None),  # late, which was told
    ("nameless", "words"): ("nameless", None),
    ("nameless", "finish"): ("finished", None),
    ("finished", "role"): ("finished", "behind the finish"),
    ("finished", "words"): ("finished", "behind the finish"),
    ("finished", "finish"): ("finished", "finish again"),
}

# The same in every chunk.
CONSTANT = ("id", "created", "model", "system_fingerprint", "object")


@dataclass(frozen=True, slots=True)
class Fault:
    """What was out of order, in a chunk (numbered from 0), at a JSON pointer into it."""

    kind: Kind
    chunk: int
    pointer: str
    expected: str
    actual: str
    key: str = ""

    @property
    def where(self) -> str:
        return f"chunk {self.chunk}{', ' if self.pointer else ''}{self.pointer}"


@dataclass(frozen=True)
class Sequence:
    """What the chunks of a stream were, in order: `faults`, and what there was to judge."""

    faults: tuple[Fault, ...]
    chunks: int  # chunks of completions
    is_chat: bool  # whether any choice had a delta
    calls: int  # tool calls, in all choices
    errors: tuple[tuple[int, Any], ...]  # events that are errors, by the number of their chunk
    finishes: Mapping[int, Any]  # finish reasons, by choice

    def faulty(self, *kinds: Kind) -> list[Fault]:
        return [fault for fault in self.faults if fault.kind in kinds]


@once
def sequence(exchange: Exchange) -> Sequence:
    """Run the machine over the chunks of an exchange's answer."""
    return run(exchange.answer.chunks, ended=came_whole(exchange))


def run(chunks: Iterable[Any], *, ended: bool = True) -> Sequence:
    """Run the machine over decoded chunks. `ended`: the stream ended by itself, so that what is
    missing at its end is missing. Of each kind of fault one is told for a choice or a call."""
    machine = _Machine()
    for number, chunk in enumerate(chunks):
        machine.read(number, chunk)
    return machine.finished(ended)


def is_error(value: Any) -> bool:
    """Say whether the value of an event tells of an error: by its form, or by one like it."""
    if not isinstance(value, dict) or "choices" in value:
        return False
    return "error" in value or "status_code" in value or {"message", "type"} <= value.keys()


@dataclass
class _Call:
    """A tool call on its way. `begun` is the chunk of its first fragment."""

    begun: int
    id: Any = None
    named: bool = False
    arguments: list[str] = field(default_factory=list)


@dataclass
class _Choice:
    """A choice on its way. `calls` by their index, `ids` their indexes by id; `last` is the index
    of the last fragment, `following` that of the next new call."""

    state: State = "silent"
    role: Any = None
    reason: Any = None
    calls: dict[int, _Call] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)
    last: int = -1
    following: int = 0


class _Machine:
    def __init__(self) -> None:
        self._faults: dict[tuple[Any, ...], Fault] = {}
        self._choices: dict[int, _Choice] = {}
        self._constant: dict[str, Any] = {}
        self._errors: list[tuple[int, Any]] = []
        self._ids: dict[str, tuple[int, int]] = {}  # of calls: whose they are
        self._usage: list[int] = []
        self._count = 0
        self._last = 0
        self._is_chat = False

    def _fault(self, of: Any, fault: Fault) -> None:
        """Keep the first fault of a kind, a key and a thing: a choice or a call."""
        self._faults.setdefault((fault.kind, fault.key, of), fault)

    def read(self, number: int, chunk: Any) -> None:
        if self._errors:
            expected = "nothing but [DONE] behind an error"
            self._fault(0, Fault("behind the error", number, "", expected, _kind_of(chunk)))
        if is_error(chunk):
            self._errors.append((number, chunk))
        if not is_chunk(chunk):
            return
        self._count += 1
        self._last = number
        self._compare(number, chunk)
        if chunk.get("usage") is not None:
            self._usage.append(number)
        if not chunk["choices"]:
            self._fault(0, Fault("no choice", number, "/choices", "a choice", "none"))
        for position, choice in enumerate(chunk["choices"]):
            if isinstance(choice, dict):
                self._choice(number, position, choice)

    def _compare(self, number: int, chunk: Mapping[str, Any]) -> None:
        for key in CONSTANT:
            value = chunk.get(key)
            if not isinstance(value, str | int | float):
                continue  # whether it must be there, and what it is, the schema says
            first = self._constant.setdefault(key, value)
            if first != value and (first == first or value == value):  # NaN is not even itself
                fault = Fault("changes", number, f"/{key}", _shown(first), _shown(value), key)
                self._fault(0, fault)

    # ------------------------------------------------------------------ choices

    def _choice(self, number: int, position: int, choice: Mapping[str, Any]) -> None:
        index = choice.get("index")
        if not isinstance(index, int):
            return  # nobody can say which choice it is: the schema tells of it
        known = self._choices.get(index)
        if known is None:
            known = self._choices[index] = _Choice()
        at = f"/choices/{position}"
        if isinstance(choice.get("delta"), dict):
            self._is_chat = True
        elif known.state == "silent":
            known.state = "named"  # completions have no roles
        words = words_in(choice)
        inside = f"{at}/delta" if words is not choice else at
        if words is not choice and words.get("role") is not None:
            self._role(number, f"{inside}/role", index, known, words["role"])
        self._calls(number, inside, index, known, choice)
        if spoken := _spoken(words):
            self._sign(number, f"{inside}/{spoken}", index, known, "words", spoken)
        reason = choice.get("finish_reason")
        if reason is not None:
            self._sign(number, f"{at}/finish_reason", index, known, "finish", _shown(reason))
            known.reason = reason

    def _sign(
        self, number: int, at: str, index: int, known: _Choice, sign: Sign, shown: str
    ) -> None:
        known.state, fault = TABLE[known.state, sign]
        if fault is not None:
            self._fault(index, Fault(fault, number, at, _EXPECTED[fault], shown))

    def _role(self, number: int, at: str, index: int, known: _Choice, role: Any) -> None:
        if known.role is not None and known.role != role:
            expected = f"the role {_shown(known.role)}"
            self._fault(index, Fault("role changes", number, at, expected, _shown(role)))
        else:
            self._sign(number, at, index, known, "role", _shown(role))
            known.role = role

    # ------------------------------------------------------------------ tool calls

    def _calls(
        self, number: int, at: str, choice: int, known: _Choice, piece: Mapping[str, Any]
    ) -> None:
        for position, fragment in enumerate(calls_in(piece)):
            here = f"{at}/tool_calls/{position}"
            index = number_in(fragment, -1)
            if index < 0:
                expected, shown = "an index from 0 on", _shown(fragment.get("index"))
                fault = Fault("call without index", number, f"{here}/index", expected, shown)
                self._fault(choice, fault)
                # Clients that go on put it to the call of its place, or begin one at a new id.
                index = _guessed(known, fragment, position)
            else:
                self._order(number, f"{here}/index", choice, known, index)
            known.last, known.following = index, max(known.following, index + 1)
            if isinstance(fragment.get("id"), str):
                known.ids.setdefault(fragment["id"], index)
            if index in known.calls:
                self._again(number, here, (choice, index), known.calls[index], fragment)
            else:
                known.calls[index] = self._begun(number, here, (choice, index), fragment)
            arguments = _of_function(fragment, "arguments")
            if isinstance(arguments, str) and arguments:
                known.calls[index].arguments.append(arguments)

    def _order(self, number: int, at: str, choice: int, known: _Choice, index: int) -> None:
        if index > known.following:
            fault = Fault("call index", number, at, f"at most {known.following}", str(index))
            self._fault(choice, fault)
        elif index < known.last:
            fault = Fault("call order", number, at, f"call {known.last} or a new one", str(index))
            self._fault(choice, fault)

    def _begun(
        self, number: int, at: str, of: tuple[int, int], fragment: Mapping[str, Any]
    ) -> _Call:
        """Take the first fragment of a call, which has its id and its name."""
        id, name = fragment.get("id"), _of_function(fragment, "name")
        if not (isinstance(id, str) and id):
            fault = Fault("call without id", number, f"{at}/id", "an id", _shown(id))
            self._fault(of, fault)
        elif self._ids.setdefault(id, of) != of:
            other = f"call {self._ids[id][1]} of choice {self._ids[id][0]} has {_shown(id)}, too"
            self._fault(of, Fault("call id shared", number, f"{at}/id", "an id of its own", other))
        if not (isinstance(name, str) and name):
            where = f"{at}/function/name"
            self._fault(of, Fault("call without name", number, where, "a name", _shown(name)))
        return _Call(number, id, bool(name))

    def _again(
        self, number: int, at: str, of: tuple[int, int], call: _Call, fragment: Mapping[str, Any]
    ) -> None:
        """Take a later fragment, which brings arguments alone."""
        id, name = fragment.get("id"), _of_function(fragment, "name")
        if id and call.id and id != call.id:
            shown = (_shown(call.id), _shown(id))
            self._fault(of, Fault("call id changes", number, f"{at}/id", *shown))
        elif id and call.id:
            self._fault(of, Fault("call id again", number, f"{at}/id", "no id", _shown(id)))
        if name and call.named:
            where = f"{at}/function/name"
            self._fault(of, Fault("call name again", number, where, "no name", _shown(name)))

    # ------------------------------------------------------------------ the end

    def finished(self, ended: bool) -> Sequence:
        if ended and not self._errors:
            self._missing()
        if len(self._usage) > 1:
            chunk = self._usage[1]
            times = f"in {len(self._usage)} chunks"
            self._fault(0, Fault("usage again", chunk, "/usage", "in one chunk", times))
        elif ended and self._usage and self._usage[0] != self._last:
            last = f"in the last chunk, {self._last}"
            shown = f"in chunk {self._usage[0]}"
            self._fault(0, Fault("usage early", self._usage[0], "/usage", last, shown))
        reasons = {index: known.reason for index, known in self._choices.items()}
        calls = sum(len(known.calls) for known in self._choices.values())
        faults = tuple(self._faults.values())
        return Sequence(faults, self._count, self._is_chat, calls, tuple(self._errors), reasons)

    def _missing(self) -> None:
        for index, known in self._choices.items():
            if known.state != "finished":
                expected = f"a finish reason for choice {index}"
                fault = Fault("no finish", self._last, "/choices", expected, "none")
                self._fault(index, fault)
            elif known.reason != "length":  # which may cut arguments anywhere
                self._join(index, known)
        indexes = sorted(self._choices)
        if indexes and indexes != list(range(len(indexes))):
            expected = f"choices 0 to {len(indexes) - 1}"
            shown = ", ".join(map(str, indexes[:10]))
            self._fault(0, Fault("choice index", self._last, "/choices", expected, shown))
        if self._count and not self._usage:
            self._fault(0, Fault("no usage", self._last, "/usage", "usage", "none in any chunk"))

    def _join(self, choice: int, known: _Choice) -> None:
        """Join the fragments of arguments; what comes in one piece, other rules judge."""
        for index, call in known.calls.items():
            joined = "".join(call.arguments)
            value = read_json(joined, lambda kind, sentence: None)
            if len(call.arguments) > 1 and isinstance(value, Unreadable):
                expected = f"{len(call.arguments)} fragments that join to JSON"
                shown = f"{value.why}: {_shown(joined)}"
                fault = Fault("call arguments", call.begun, "", expected, shown)
                self._fault((choice, index), fault)


_EXPECTED: Mapping[Kind, str] = {
    "no role first": "the role first",
    "role again": "no role any more",
    "behind the finish": "nothing behind the finish reason",
    "finish again": "no second finish reason",
}


def _spoken(words: Mapping[str, Any]) -> str:
    """Return the key of the first words in a piece; an empty text is none."""
    for key in ("content", "reasoning", "text", "tokens", "refusal", "tool_calls"):
        if words.get(key):
            return key
    return ""


def _of_function(fragment: Mapping[str, Any], key: str) -> Any:
    function = fragment.get("function")
    return function.get(key) if isinstance(function, dict) else None


def _guessed(known: _Choice, fragment: Mapping[str, Any], position: int) -> int:
    id = fragment.get("id")
    if isinstance(id, str):
        return known.ids.get(id, known.following)
    return max(known.last, 0) if known.calls else position


def _kind_of(value: Any) -> str:
    return "an error" if is_error(value) else "a chunk" if is_chunk(value) else _shown(value)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
