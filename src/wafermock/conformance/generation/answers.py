"""Whole answers of a chat, that obey the contract and agree with themselves."""

import math
from typing import Any

from wafermock.spec import Contract, Operation
from wafermock.spec.pointer import Pointer

from .likely import ARGUMENTS
from .scene import CHAT
from .source import Source
from .values import Unmakeable, Values

Json = dict[str, Any]

# In which share of answers something is there.
SEVERAL = 0.2
REASONING = 0.4
CALLS = 0.25
CUT = 0.2
LOGPROBS = 0.2
DETAILS = 0.6
MOST_TOKENS = 12


def chat_operation(contract: Contract) -> Operation:
    """Return the operation that completes chats. Raises LookupError where there is none."""
    for operation in contract.operations:
        if operation.answer == CHAT:
            return operation
    raise LookupError(f"the contract has no operation with `x-wafermock-answer: {CHAT}`")


def chat_answer(contract: Contract, source: Source) -> Json:
    """Make an answer. The simplest is one choice with a short text. Raises Unmakeable where the
    contract wants something of it that is not known here."""
    number = source.integer(2, 3) if source.chance(SEVERAL) else 1
    logprobs = source.chance(LOGPROBS)
    made = [_choice(source, index, logprobs=logprobs) for index in range(number)]
    answer: Json = {
        "id": f"chatcmpl-{_hexadecimal(source, 8)}",
        "choices": [choice for choice, _, _ in made],
        "created": source.integer(1_750_000_000, 1_900_000_000),
        "model": source.pick(list(contract.models)),
        "system_fingerprint": f"fp_{_hexadecimal(source, 20)}",
        "object": CHAT,
    }
    written, thought = sum(n for _, n, _ in made), sum(n for _, _, n in made)
    block = contract.models[answer["model"]]["cache_block"]
    answer["usage"] = _usage(source, written, thought, block)
    answer["time_info"] = _times(source, answer["created"])
    response = chat_operation(contract).success
    media_type = response.content.get("application/json") if response else None
    if media_type is None or media_type.schema is None:
        return answer
    if media_type.schema.is_valid(answer):
        return answer
    fitting: Json = fitted(Values(contract), media_type.schema.pointer, answer)
    if not media_type.schema.is_valid(fitting):
        raise Unmakeable(media_type.schema.violations(fitting)[0].message)
    return fitting


def _choice(source: Source, index: int, *, logprobs: bool) -> tuple[Json, int, int]:
    """Make a choice; return it, how many tokens it has, and how many of them are reasoning."""
    message: Json = {"role": "assistant"}
    choice: Json = {"finish_reason": "stop", "index": index, "message": message}
    thought: list[str] = []
    if source.chance(REASONING):
        thought = _tokens(source)
        message["reasoning"] = "".join(thought)
        if source.chance(CUT):  # cut off while it was still thinking
            return {**choice, "finish_reason": "length"}, len(thought), len(thought)
    if source.chance(CALLS):
        message["tool_calls"] = _calls(source, index)
        choice["finish_reason"] = "tool_calls"
        return choice, len(thought) + 8 * len(message["tool_calls"]), len(thought)
    said = _tokens(source)
    message["content"] = "".join(said)
    if logprobs:
        choice["logprobs"] = {"content": [_logprob(source, token) for token in said]}
    if source.chance(CUT):
        choice["finish_reason"] = "length"
    return choice, len(thought) + len(said), len(thought)


def _tokens(source: Source) -> list[str]:
    return [source.text(1, 6) for _ in range(source.integer(1, MOST_TOKENS))]


def _calls(source: Source, index: int) -> list[Json]:
    calls = []
    for number in range(source.integer(1, 3)):
        name = source.pick(list(ARGUMENTS))
        function = {"name": name, "arguments": ARGUMENTS[name]}
        id = f"{_hexadecimal(source, 7)}{index}{number}"
        calls.append({"id": id, "type": "function", "function": function})
    return calls


def _logprob(source: Source, token: str) -> Json:
    share = source.integer(1, 100) / 100
    own: Json = {
        "token": token,
        "logprob": round(math.log(share), 6) + 0.0,
        "bytes": list(token.encode()),
    }
    return {**own, "top_logprobs": [dict(own)] if source.chance(0.5) else []}


def _usage(source: Source, written: int, thought: int, block: int) -> Json:
    """Make a usage; what is cached of the prompt comes in blocks of so many tokens."""
    read = source.integer(1, 400)
    usage: Json = {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
    }
    if source.chance(DETAILS):
        cached = source.integer(0, read // block) * block
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
        usage["completion_tokens_details"] = {
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
            "reasoning_tokens": thought,
        }
    return usage


def _times(source: Source, created: int) -> Json:
    """Make times in seconds that add up, of thousandths: their sum is exact enough."""
    queue, prompt, completion = (source.integer(0, 500) for _ in range(3))
    return {
        "queue_time": queue / 1000,
        "prompt_time": prompt / 1000,
        "completion_time": completion / 1000,
        "total_time": (queue + prompt + completion) / 1000,
        "created": created,
    }


def _hexadecimal(source: Source, length: int) -> str:
    return f"{source.integer(0, 16**6 - 1):06x}".rjust(length, "0")[-length:]


def fitted(values: Values, at: Pointer, value: Any) -> Any:
    """Fit a value to the schema at a pointer: closed objects lose what they do not name, and what
    is required and missing is put there. Alternatives are taken in turn until one fits."""
    at, node = values.follow(at)
    if not isinstance(node, dict):
        return value
    for keyword in ("anyOf", "oneOf"):
        for index in range(len(node.get(keyword, ()))):
            fitting = fitted(values, (*at, keyword, index), value)
            if values.admits((*at, keyword, index), fitting):
                return fitting
    if isinstance(value, list) and isinstance(node.get("items"), dict):
        return [fitted(values, (*at, "items"), item) for item in value]
    if not isinstance(value, dict):
        return value
    properties = node.get("properties", {})
    closed = node.get("additionalProperties") is False
    fitting = {
        key: fitted(values, (*at, "properties", key), inner) if key in properties else inner
        for key, inner in value.items()
        if key in properties or not closed
    }
    for name in node.get("required", ()):
        if name not in fitting and name in properties:
            fitting[name] = values.least((*at, "properties", name), name)
    return fitting
