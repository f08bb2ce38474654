"""From chunks to the whole answer, so that a rule can judge streamed and whole answers alike.

What cannot be joined (values of the wrong type, chunks that are none) is left out: other rules tell
of it. Nothing here raises, whatever the chunks are.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from .exchange import Exchange
from .once import once

Json = dict[str, Any]

# Texts that come in pieces, and lists that do.
_TEXTS = frozenset({"content", "reasoning", "text", "refusal", "reasoning_content"})
_LISTS = frozenset({"tokens"})
_LOGPROBS = frozenset({"logprobs", "reasoning_logprobs"})


@once
def whole(exchange: Exchange) -> Any:
    """Return the answer of an exchange as one JSON value: what came, or the chunks assembled.

    None where there is neither. Shared by all rules: not to be changed.
    """
    if exchange.received is None:
        return None
    answer = exchange.answer
    return assemble(answer.chunks) if answer.is_stream else answer.data


def assemble(chunks: Iterable[Any]) -> Json | None:
    """Join chunks to the answer they would have been without `stream: true`.

    Each choice of a chat stream gets a `message`, joined of its deltas; the choices come in the
    order of their indexes. Logarithms of probabilities and token numbers are joined, of `usage`
    and whatever else comes several times the last is kept, of `id`, `created`, `model`,
    `system_fingerprint` and `object` the first (`object` keeps the chunks' name). Events of errors
    are left out. None where no chunk has `choices`.
    """
    answer: Json = {}
    choices: dict[int, Json] = {}
    seen = False
    for chunk in chunks:
        if not is_chunk(chunk):
            continue
        seen = True
        for key, value in chunk.items():
            if key == "choices":
                answer.setdefault(key, [])
            elif value is not None and (key not in _FIRST or answer.get(key) is None):
                answer[key] = value
            else:
                answer.setdefault(key, value)
        for position, choice in enumerate(chunk["choices"]):
            if isinstance(choice, dict):
                index = number_in(choice, position)
                _add_choice(choices.setdefault(index, {"index": index}), choice)
    if not seen:
        return None
    answer["choices"] = [_finished(choices[index]) for index in sorted(choices)]
    return answer


_FIRST = frozenset({"id", "created", "model", "system_fingerprint", "object"})


def is_chunk(value: Any) -> bool:
    """Say whether a value is a chunk of a completion, by its having `choices`."""
    return isinstance(value, dict) and isinstance(value.get("choices"), list)


def choices_in(value: Any) -> list[Json]:
    """Return the choices of an answer or a chunk that are objects."""
    choices = value.get("choices") if isinstance(value, dict) else None
    return [c for c in choices if isinstance(c, dict)] if isinstance(choices, list) else []


def words_in(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return where a choice holds its words: its message, its delta, or itself (completions)."""
    for key in ("message", "delta"):
        found = choice.get(key)
        if isinstance(found, dict):
            return found
    return choice


def calls_in(choice: Mapping[str, Any]) -> list[Json]:
    """Return the tool calls of a choice, or the fragments of them, that are objects."""
    calls = words_in(choice).get("tool_calls")
    return [c for c in calls if isinstance(c, dict)] if isinstance(calls, list) else []


def number_in(item: Mapping[str, Any], otherwise: int) -> int:
    """Return the `index` of a choice or a tool call, if it is a whole number."""
    index = item.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else otherwise


# ---------------------------------------------------------------------- choices


def _add_choice(known: Json, choice: Json) -> None:
    """Add a choice of a chunk to what is known of it."""
    for key, value in choice.items():
        if key == "delta":
            if isinstance(value, dict):
                _add_delta(known.setdefault("message", {}), value)
        elif key in _LOGPROBS and isinstance(value, dict):
            _add_logprobs(known, key, value)
        elif key not in ("index", "message"):  # a message in a chunk is none of the API's
            _add(known, key, value)


def _add_delta(message: Json, delta: Json) -> None:
    for key, value in delta.items():
        if key == "role":
            if message.get(key) is None:
                message[key] = value
        elif key == "tool_calls":
            _add_calls(message, value)
        else:
            _add(message, key, value)


def _add(known: Json, key: str, value: Any) -> None:
    """Add a piece of a text or a list; of anything else the last that is not null is kept."""
    pieces = known.get(key)
    if key in _TEXTS and isinstance(value, str):
        # A list while it grows: thousands of pieces are joined once, in the end.
        if isinstance(pieces, _Pieces):
            pieces.append(value)
        else:
            known[key] = _Pieces([value])
    elif key in _LISTS and isinstance(value, list):
        if isinstance(pieces, list):
            pieces += value
        else:
            known[key] = [*value]  # the chunk's own stays as it is
    elif value is not None and not isinstance(pieces, _Pieces):
        known[key] = value
    else:
        known.setdefault(key, value)


class _Pieces(list[str]):
    """Pieces of a text, in the order in which they came."""


def _add_logprobs(known: Json, key: str, logprobs: Json) -> None:
    """Join lists by their name: `content` in chat, `tokens`, `token_logprobs`... in completions."""
    joined = known.get(key)
    if not isinstance(joined, dict):
        joined = known[key] = {}
    for name, values in logprobs.items():
        if isinstance(values, list):
            before = joined.get(name)
            if isinstance(before, list):
                before += values
            else:
                joined[name] = [*values]
        elif joined.get(name) is None:
            joined[name] = values


# ---------------------------------------------------------------------- tool calls


class _Calls(list[Json]):
    """Tool calls of a choice, in the order in which they began."""

    def __init__(self) -> None:
        super().__init__()
        self._by_index: dict[int, Json] = {}

    def add(self, fragment: Json) -> None:
        """Add a fragment to the call that it belongs to.

        That is the call of its index; without an index the last call, unless it brings another id.
        Of ids and names the first one is kept: they come once.
        """
        call = self._call_of(fragment)
        for key, value in fragment.items():
            if key == "function" and isinstance(value, dict):
                if not isinstance(call.get(key), dict):
                    call[key] = {}
                _add_function(call[key], value)
            elif call.get(key) is None:
                call[key] = value

    def _call_of(self, fragment: Json) -> Json:
        index = number_in(fragment, -1)
        if index in self._by_index:
            return self._by_index[index]
        if index < 0 and self and fragment.get("id") in (None, self[-1].get("id")):
            return self[-1]
        call: Json = {}
        self.append(call)
        if index >= 0:
            self._by_index[index] = call
        return call


def _add_calls(message: Json, fragments: Any) -> None:
    if not isinstance(fragments, list):
        message.setdefault("tool_calls", None)
        return
    calls = message.get("tool_calls")
    if not isinstance(calls, _Calls):
        calls = message["tool_calls"] = _Calls()
    for fragment in fragments:
        if isinstance(fragment, dict):
            calls.add(fragment)


def _add_function(known: Json, function: Json) -> None:
    for key, value in function.items():
        if key == "arguments" and isinstance(value, str):
            pieces = known.get(key)
            if isinstance(pieces, _Pieces):
                pieces.append(value)
            else:
                known[key] = _Pieces([value])
        elif known.get(key) is None:
            known[key] = value


# ---------------------------------------------------------------------- the end


def _finished(value: Any) -> Any:
    """Join pieces wherever they are."""
    if isinstance(value, _Pieces):
        return "".join(value)
    if isinstance(value, dict):
        return {key: _finished(item) for key, item in value.items()}
    if isinstance(value, _Calls):
        return [_finished(item) for item in value]
    return value
