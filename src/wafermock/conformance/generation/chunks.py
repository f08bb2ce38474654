"""Streams of a chat's answer: chunks that join to it, cut in any way that is legal."""

import json
from collections.abc import Iterator
from typing import Any

from wafermock.spec import Contract
from wafermock.spec.operation import SEQUENTIAL

from .answers import chat_operation, fitted
from .source import Source
from .values import Unmakeable, Values

Json = dict[str, Any]

CHUNK = "chat.completion.chunk"
# Pieces of one token, and how many tokens a piece may have beyond it.
MOST_TOGETHER = 3
# Chunks whose choices carry their turn with another's are rarer.
TOGETHER = 0.1


def chat_chunks(contract: Contract, answer: Json, source: Source) -> list[Json]:
    """Cut a whole answer into chunks. Joined they are the answer again.

    The simplest cut has a piece a token, choice by choice. Raises Unmakeable where the contract
    wants something of a chunk that is not known here.
    """
    head = {key: answer[key] for key in ("id", "created", "model", "system_fingerprint")}
    queues = [list(_of_choice(choice, source)) for choice in answer["choices"]]
    chunks: list[Json] = []
    while any(queues):
        waiting = [queue for queue in queues if queue]
        queue = source.pick(waiting)
        choices = [queue.pop(0)]
        if len(waiting) > 1 and source.chance(TOGETHER):
            other = next(each for each in waiting if each is not queue)
            choices.append(other.pop(0))
            choices.sort(key=lambda choice: choice["index"])
        chunks.append({**head, "choices": choices, "object": CHUNK})
    last = {key: answer[key] for key in ("usage", "time_info") if answer.get(key)}
    chunks[-1].update(last)
    return [_checked(contract, chunk) for chunk in chunks]


def as_event_stream(chunks: list[Json]) -> bytes:
    """Write chunks as a body of `text/event-stream`, with `[DONE]` at its end."""
    data = [json.dumps(chunk, ensure_ascii=False, separators=(",", ":")) for chunk in chunks]
    return "".join(f"data: {datum}\n\n" for datum in [*data, "[DONE]"]).encode()


def _of_choice(choice: Json, source: Source) -> Iterator[Json]:
    index, message = choice["index"], choice["message"]
    yield {"delta": {"role": message["role"]}, "index": index}
    if message.get("reasoning"):
        for piece in _pieces(message["reasoning"], source):
            yield {"delta": {"reasoning": piece}, "index": index}
    if message.get("content"):
        yield from _content(choice, source)
    for position, call in enumerate(message.get("tool_calls") or ()):
        for fragment in _fragments(call, position, source):
            yield {"delta": {"tool_calls": [fragment]}, "index": index}
    yield {"delta": {}, "finish_reason": choice["finish_reason"], "index": index}


def _content(choice: Json, source: Source) -> Iterator[Json]:
    """Cut the text; between tokens, where their probabilities are told."""
    index, text = choice["index"], choice["message"]["content"]
    told = (choice.get("logprobs") or {}).get("content")
    if not told:
        for piece in _pieces(text, source):
            yield {"delta": {"content": piece}, "index": index}
        return
    while told:
        count = source.integer(1, min(MOST_TOGETHER, len(told)))
        now, told = told[:count], told[count:]
        piece = "".join(token["token"] for token in now)
        yield {"delta": {"content": piece}, "index": index, "logprobs": {"content": now}}


def _pieces(text: str, source: Source) -> Iterator[str]:
    while text:
        length = source.integer(1, min(len(text), 2 * MOST_TOGETHER))
        yield text[:length]
        text = text[length:]


def _fragments(call: Json, position: int, source: Source) -> Iterator[Json]:
    """Tell a call: at once, or its name first and then its arguments in pieces."""
    function = call["function"]
    if not source.chance(0.5):
        yield {**call, "index": position}
        return
    first = {"name": function["name"], "arguments": ""}
    yield {"function": first, "type": "function", "id": call["id"], "index": position}
    for piece in _pieces(function["arguments"], source):
        yield {"function": {"arguments": piece}, "type": "function", "index": position}


def _checked(contract: Contract, chunk: Json) -> Json:
    success = chat_operation(contract).success
    media_type = success.content.get(SEQUENTIAL) if success else None
    if media_type is None or media_type.item_schema is None:
        return chunk
    if media_type.item_schema.is_valid(chunk):
        return chunk
    fitting: Json = fitted(Values(contract), media_type.item_schema.pointer, chunk)
    if not media_type.item_schema.is_valid(fitting):
        raise Unmakeable(media_type.item_schema.violations(fitting)[0].message)
    return fitting
