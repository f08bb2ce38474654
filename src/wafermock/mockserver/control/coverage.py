"""Coverage of a session: what no call has seen yet.

A list of points, each something that a client of the API has to live with: a finish reason, an
error, parallel tool calls, a stream that ends early. Operations, finish reasons, statuses and media
types come from the contract; what else there is to see stands here, once.
"""

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from msgspec import Struct

from wafermock.spec import Contract, Operation

from .entry import Entry
from .reading import Said, messages_of, part_kinds

# So many scopes are counted apart; the oldest are forgotten. A scope is the client's to name.
_MOST_SCOPES = 1000

# What ends a choice, for a document that does not list it.
_REASONS = ("stop", "length", "tool_calls", "content_filter")


class Point(Struct, frozen=True):
    """Something that a session may see. `id` is `group:name`, `what` completes "a call saw …"."""

    id: str
    what: str

    @property
    def group(self) -> str:
        return self.id.partition(":")[0]


class Covered(Struct, frozen=True):
    """How often a point was seen, and by which call last; None: by none that is kept."""

    point: Point
    calls: int
    example: int | None

    @property
    def sentence(self) -> str:
        """Say it to people."""
        if not self.calls:
            return f"no call saw {self.point.what}"
        return f"{self.calls} call{'s' * (self.calls != 1)} saw {self.point.what}"


# ---------------------------------------------------------------- what does not stand in a contract

_FIXED: tuple[tuple[str, str, Callable[[dict[str, Any], Said], bool]], ...] = (
    ("answer:tool call", "one tool call", lambda _, said: _most_calls(said) == 1),
    ("answer:parallel tool calls", "parallel tool calls", lambda _, said: _most_calls(said) > 1),
    ("answer:several choices", "several choices", lambda _, said: len(said.choices) > 1),
    (
        "answer:reasoning",
        "reasoning beside the content",
        lambda _, said: any(choice.reasoning for choice in said.choices),
    ),
    (
        "answer:no content",
        "an answer without content",
        lambda _, said: any(not choice.content for choice in said.choices),
    ),
    (
        "answer:beyond ASCII",
        "content beyond ASCII",
        lambda _, said: any(not choice.content.isascii() for choice in said.choices),
    ),
    (
        "answer:logprobs",
        "log probabilities",
        lambda _, said: any(choice.logprobs for choice in said.choices),
    ),
    (
        "request:several turns",
        "a conversation of several turns",
        lambda body, _: "assistant" in _roles(body),
    ),
    ("request:system message", "a system message", lambda body, _: "system" in _roles(body)),
    ("request:tool result", "the result of a tool", lambda body, _: "tool" in _roles(body)),
    (
        "request:image",
        "an image",
        lambda body, _: "image_url" in part_kinds(messages_of(body)),
    ),
    (
        "request:structured output",
        "a schema for the answer",
        lambda body, _: _format(body) == "json_schema",
    ),
    (
        "request:JSON mode",
        "response_format json_object",
        lambda body, _: _format(body) == "json_object",
    ),
)

_TRANSPORT = (
    Point("answer:stream", "a stream"),
    Point("answer:whole", "a whole answer"),
    Point("request:compressed body", "a compressed request body"),
    Point("request:MessagePack body", "a MessagePack request body"),
    Point("trouble:error in a stream", "an error inside a stream"),
    Point("trouble:stream cut short", "a stream that ended before its last event"),
    Point("trouble:page of a proxy", "an error that is no JSON"),
    Point("trouble:client gone", "a client that left before the end"),
    Point("trouble:failure", "a failure of the catalogue"),
    Point("trouble:delivery", "a delivery other than the usual"),
    Point("trouble:defect", "a defect of the catalogue"),
    Point("script:rule matched", "a rule that matched"),
    Point("script:no rule matched", "a miss of all rules"),
)


def points(contract: Contract) -> tuple[Point, ...]:
    """List what there is to see with a contract, in the order of a report."""
    listed = [Point(f"operation:{o.id}", o.name) for o in contract.operations]
    listed += [
        Point(f"finish:{reason}", f"finish_reason {reason}") for reason in _reasons(contract)
    ]
    listed += [Point(id, what) for id, what, _ in _FIXED]
    listed += _TRANSPORT
    statuses = sorted({entry.status for entry in contract.errors})
    listed += [Point(f"status:{status}", f"a {status}") for status in statuses]
    return tuple(dict.fromkeys(listed))


def _reasons(contract: Contract) -> list[str]:
    """Read the finish reasons off the schemas of the answers, wherever they stand."""
    found: dict[str, None] = {}
    for operation in contract.operations:
        for schema in _answers(operation):
            found.update(dict.fromkeys(_enum_of(schema, "finish_reason", contract.document)))
    return list(found) or list(_REASONS)


def _answers(operation: Operation) -> Iterator[Any]:
    if operation.success is not None:
        for media_type in operation.success.content.values():
            if media_type.schema is not None:
                yield media_type.schema.node


def _enum_of(node: Any, name: str, root: dict[str, Any]) -> Iterator[str]:
    """Yield the texts of the enums of all properties of a name, references followed once each."""
    seen: set[str] = set()
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(node)
        if not isinstance(node, dict):
            continue
        reference = node.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/") and reference not in seen:
            seen.add(reference)
            target: Any = root
            for key in reference[2:].split("/"):
                target = target.get(key.replace("~1", "/").replace("~0", "~"), {})
            waiting.append(target)
        wanted = node.get("properties", {})
        if isinstance(wanted, dict) and isinstance(wanted.get(name), dict):
            yield from (text for text in _enums(wanted[name]) if isinstance(text, str))
        waiting.extend(node.values())


def _enums(node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        yield from node.get("enum", ())
        for keyword in ("anyOf", "oneOf"):
            for branch in node.get(keyword, ()):
                yield from _enums(branch)


# ---------------------------------------------------------------- what a call has seen


def seen_by(entry: Entry) -> frozenset[str]:
    """Return the ids of the points that a call has seen."""
    answer, request, why = entry.answer, entry.request, entry.why
    marks = _read_marks(
        request.body,
        request.headers.get("content-type", ""),
        request.headers.get("content-encoding", ""),
        answer.status,
        answer.streamed,
        answer.parts,
        _Undecoded(entry),
    )
    own = {
        f"operation:{entry.operation}": entry.operation is not None,
        "trouble:client gone": entry.ending == "client gone",
        "trouble:failure": why.failure is not None,
        "trouble:delivery": why.delivery is not None,
        "trouble:defect": why.defect is not None,
        "script:rule matched": why.rule is not None,
        "script:no rule matched": entry.missed,
    }
    return marks | {id for id, is_so in own.items() if is_so}


def _look(entry: Entry) -> tuple[Hashable, ...]:
    """Return what `seen_by` looks at: calls of the same look have seen the same. Cheap."""
    request = entry.request
    return (
        entry.scope,
        entry.operation,
        request.body,
        request.headers.get("content-type"),
        request.headers.get("content-encoding"),
        id(entry.answer),
        id(entry.why),
        entry.ending,
    )


class _Undecoded:
    """An entry as the memory below must see it: its bytes are the key already."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Undecoded)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=512)
def _read_marks(
    raw: bytes,
    content_type: str,
    content_encoding: str,
    status: int,
    streamed: bool,
    parts: tuple[bytes, ...],
    undecoded: _Undecoded,
) -> frozenset[str]:
    """Judge a request and its answer by their bytes; the same bytes are judged once."""
    said = undecoded.entry.said
    data = undecoded.entry.data
    body = data if isinstance(data, dict) else {}
    no_json = status >= 400 and isinstance(said.error, str)
    marks = {
        f"status:{status}": status >= 400,
        "answer:stream": streamed,
        "answer:whole": not streamed and bool(said.choices),
        "request:compressed body": content_encoding.strip().lower() not in ("", "identity"),
        "request:MessagePack body": "msgpack" in content_type.lower(),
        "trouble:error in a stream": streamed and said.error is not None,
        "trouble:stream cut short": streamed and said.error is None and not _is_finished(said),
        "trouble:page of a proxy": no_json,
    }
    marks |= {id: bool(said.choices) and sees(body, said) for id, _, sees in _FIXED}
    marks |= {f"finish:{c.finish_reason}": True for c in said.choices if c.finish_reason}
    return frozenset(id for id, is_so in marks.items() if is_so)


def _is_finished(said: Said) -> bool:
    return bool(said.choices) and all(choice.finish_reason for choice in said.choices)


def _most_calls(said: Said) -> int:
    return max((len(choice.tool_calls) for choice in said.choices), default=0)


def _roles(body: dict[str, Any]) -> set[Any]:
    return {role for m in messages_of(body) if isinstance(role := m.get("role"), str)}


def _format(body: dict[str, Any]) -> Any:
    wanted = body.get("response_format")
    return wanted.get("type") if isinstance(wanted, dict) else None


# ---------------------------------------------------------------- a session


class Coverage:
    """Counts what calls have seen, by scope. Any thread may ask.

    Calls that the journal still has are counted when someone asks; those that it gives up are
    counted before they go (`add`).
    """

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        self._gone: OrderedDict[str, Counter[str]] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, entries: Iterable[Entry]) -> None:
        """Count calls that will not be kept."""
        alike: dict[tuple[Hashable, ...], list[Entry]] = {}
        for entry in entries:
            alike.setdefault(_look(entry), []).append(entry)
        with self._lock:
            for same in alike.values():
                scope = same[0].scope
                counts = self._gone.setdefault(scope, Counter())
                for id in seen_by(same[0]):
                    counts[id] += len(same)
                self._gone.move_to_end(scope)
            while len(self._gone) > _MOST_SCOPES:
                self._gone.popitem(last=False)

    def reset(self, scope: str | None = None) -> None:
        """Forget the counts of a scope, or all."""
        with self._lock:
            if scope is None:
                self._gone.clear()
            else:
                self._gone.pop(scope, None)

    def report(self, kept: Iterable[Entry], scope: str | None = None) -> list[Covered]:
        """List every point, seen or not. `kept` are the entries of the journal."""
        counts: Counter[str] = Counter()
        with self._lock:
            for name, gone in self._gone.items():
                if scope in (None, name):
                    counts.update(gone)
        examples: dict[str, int] = {}
        for entry in kept:
            if scope in (None, entry.scope):
                seen = seen_by(entry)
                counts.update(seen)
                examples.update(dict.fromkeys(seen, entry.number))
        return [Covered(p, counts[p.id], examples.get(p.id)) for p in points(self._contract)]
