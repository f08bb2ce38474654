"""An answer on its way to the wire, in the forms that a plan is made through.

First `events` (of a stream) or `body` (of anything else), then `writes`. Every step takes a draft
and returns another one, or the same where it finds nothing to change.
"""

import json
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from ..event_stream import encode_json
from ..exchange import Answer
from ..tokens import count_tokens

DONE = "[DONE]"

Framing = Literal["chunked", "length", "close"]
Ending = Literal["keep", "close", "cut", "reset"]

_LINE = re.compile("\r\n|\n|\r")


class Event(Struct, frozen=True, dict=True):
    """One event: the text of its data, other fields, and when it may go (seconds).

    `raw` is what goes as it is, because it is no event.
    """

    data: str
    offset: float = 0.0
    fields: tuple[tuple[str, str], ...] = ()
    raw: bytes | None = None

    @cached_property
    def value(self) -> Any:
        """The JSON value of the data. Not to be changed; None for what is no JSON."""
        return _json(self.data)

    @property
    def is_chunk(self) -> bool:
        """Whether the event is a chunk of a completion."""
        return isinstance(self.value, dict) and isinstance(self.value.get("choices"), list)

    def holding(self, value: Any) -> "Event":
        """Return the event with another JSON value."""
        return replace(self, data=encoded(value).decode())


class Write(Struct, frozen=True):
    """Bytes of a body that go together, and when they may go at the earliest (seconds)."""

    data: bytes
    offset: float = 0.0


class Style(Struct, frozen=True):
    """How events are written: what ends a line, and what stands behind `data:`."""

    end: str = "\n"
    space: str = " "


class Draft(Struct, frozen=True, dict=True):
    """See the module. `head_bytes`: how much of the head is sent (None: all of it);
    `length_error` is what the declared length is wrong by; `joined`: all goes in one write.

    `method` is that of the request; `bodied`: the body goes even where HTTP has none. `more` are
    headers that stand last, whatever the plan says of framing; of the names in `withheld` none is
    added where there is none.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    streamed: bool
    events: tuple[Event, ...] = ()
    body: bytes = b""
    writes: tuple[Write, ...] = ()
    style: Style = Style()
    start: float = 0.0
    end: float = 0.0
    version: str = "HTTP/1.1"
    framing: Framing | None = None
    ending: Ending = "keep"
    head_bytes: int | None = None
    length_error: int = 0
    joined: bool = False
    method: str = "POST"
    bodied: bool = False
    more: tuple[tuple[str, str], ...] = ()
    withheld: frozenset[str] = frozenset()

    # ------------------------------------------------------------------ headers

    def header(self, name: str) -> str | None:
        """Return a header by its name in lower case."""
        return next((value for key, value in self.headers if key.lower() == name), None)

    def with_header(self, name: str, value: str | None) -> "Draft":
        """Set a header; None takes it away."""
        kept = [(key, old) for key, old in self.headers if key.lower() != name]
        if value is not None:
            kept.append((name, value))
        return replace(self, headers=tuple(kept))

    # ------------------------------------------------------------------ JSON

    @cached_property
    def value(self) -> Any:
        """The JSON value of a whole answer. Not to be changed; None for what is none."""
        return None if self.streamed else _json(self.body)

    @property
    def chunks(self) -> list[int]:
        """The positions of those events that are chunks of a completion."""
        return [at for at, event in enumerate(self.events) if event.is_chunk]

    def edited(self, change: Callable[[Any], object]) -> "Draft":
        """Let `change` alter a copy of the whole answer's value, or of each chunk's."""
        if not self.streamed:
            if not isinstance(self.value, dict):
                return self
            value = _json(self.body)
            change(value)
            return self if _same(value, self.value) else self.with_value(value)
        return self.edited_at(self.chunks, change)

    def edited_at(self, places: list[int], change: Callable[[Any], object]) -> "Draft":
        """Let `change` alter copies of the values of some events."""
        events = list(self.events)
        for at in places:
            value = _json(events[at].data)
            change(value)
            if not _same(value, events[at].value):
                events[at] = events[at].holding(value)
        return self if events == list(self.events) else replace(self, events=tuple(events))

    def with_value(self, value: Any) -> "Draft":
        return replace(self, body=encoded(value))

    def with_events(self, events: list[Event]) -> "Draft":
        return replace(self, events=tuple(events))

    # ------------------------------------------------------------------ places

    def at_token(self, count: int) -> int:
        """Return how many events hold the first `count` tokens, the role before them included.

        Never more than those that hold all tokens: what finishes a stream is behind them.
        """
        held = [tokens_in(event.value) for event in self.events]
        seen = end = 0
        for at, number in enumerate(held):
            if number and seen >= count:
                return at
            seen += number
            end = at + 1 if number else end
        return end or min(1, len(self.events))


def drafted(answer: Answer, method: str = "POST") -> Draft:
    """Take an answer apart; `method` is that of the request."""
    offsets = answer.offsets or (0.0,) * len(answer.parts)
    headers = tuple(answer.headers.items())
    last = offsets[-1] if offsets else 0.0
    if not answer.streamed:
        body = answer.body
        return Draft(answer.status, headers, False, body=body, start=last, end=last, method=method)
    events = map(_event, answer.parts, offsets)
    return Draft(answer.status, headers, True, tuple(events), end=last, method=method)


def framed(event: Event, style: Style) -> bytes:
    """Write an event (WHATWG HTML, section 9.2)."""
    if event.raw is not None:
        return event.raw
    lines = [f"{name}:{style.space}{value}" for name, value in event.fields]
    lines += [f"data:{style.space}{line}" for line in _LINE.split(event.data)]
    return "".join(f"{line}{style.end}" for line in [*lines, ""]).encode("utf-8", "surrogatepass")


def choices_in(value: Any) -> list[dict[str, Any]]:
    """Return the choices of a chunk or a whole answer; none where it is neither.

    What a script may have written in their place is left out, here and below.
    """
    choices = value.get("choices") if isinstance(value, dict) else None
    choices = choices if isinstance(choices, list) else []
    return [c for c in choices if isinstance(c, dict) and _numbered(c)]


def message_in(choice: dict[str, Any]) -> dict[str, Any]:
    """Return where a choice holds its words: the delta, the message, or itself (completions)."""
    for name in ("delta", "message"):
        if isinstance(choice.get(name), dict):
            found: dict[str, Any] = choice[name]
            return found
    return choice


def calls_in(choice: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the tool calls of a choice that have a function."""
    calls = message_in(choice).get("tool_calls")
    calls = calls if isinstance(calls, list) else []
    return [call for call in calls if isinstance(call, dict) and _is_call(call)]


def _is_call(call: dict[str, Any]) -> bool:
    function = call.get("function")
    said = function.get("arguments", "") if isinstance(function, dict) else None
    return isinstance(said, str) and _numbered(call)


def _numbered(item: dict[str, Any]) -> bool:
    return isinstance(item.get("index", 0), int)


def tokens_in(value: Any) -> int:
    """Count the tokens that a chunk brings: thoughts, words, arguments, or their numbers."""
    count = 0
    for choice in choices_in(value):
        message = message_in(choice)
        texts = [message.get(name) for name in ("reasoning", "content", "text")]
        texts += [call["function"].get("arguments") for call in calls_in(choice)]
        count += sum(count_tokens(text) for text in texts if isinstance(text, str))
        numbers = message.get("tokens")
        count += len(numbers) if isinstance(numbers, list) else 0
    return count


def _event(part: bytes, offset: float) -> Event:
    """Read one part of a stream; what is not one event stays as it is."""
    try:
        text = part.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return Event("", offset, raw=part)
    lines = text.split("\n")
    data: list[str] = []
    fields: list[tuple[str, str]] = []
    if lines[-2:] != ["", ""] or "\r" in text:
        return Event("", offset, raw=part)
    for line in lines[:-2]:
        name, colon, value = line.partition(":")
        if not (name and colon):
            return Event("", offset, raw=part)
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
        else:
            fields.append((name, value))
    if not data:
        return Event("", offset, raw=part)
    event = Event("\n".join(data), offset, tuple(fields))
    # An event that is spelt otherwise (a recorded one, say) is left as it is.
    return event if framed(event, Style()) == part else Event("", offset, raw=part)


def encoded(value: Any) -> bytes:
    """Write JSON as the API does; half a surrogate pair, which UTF-8 has no bytes for, escaped."""
    try:
        return encode_json(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def _json(text: str | bytes) -> Any:
    try:  # bytes are UTF-8 here; left alone, the parser would guess
        return json.loads(text if isinstance(text, str) else text.decode())
    except ValueError:
        return None


def _same(one: Any, other: Any) -> bool:
    """Equal in value, order of keys and type: 1 is not 1.0 here, nor True."""
    return encoded(one) == encoded(other)
