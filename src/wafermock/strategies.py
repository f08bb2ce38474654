"""Hypothesis strategies for property tests of what reads or writes the API's messages.

All are driven by a contract: `wafermock.spec.load_contract()` where none is given, or one of your
own documents. What they make is valid, and shrinks: the smallest chat request is one user message
with a text of one character.

Hypothesis is imported when a strategy is made; `pip install 'wafermock[conformance]'` brings it.
"""

from typing import TYPE_CHECKING, Any, Literal, overload

from wafermock.spec import Contract, load_contract

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["chat_answers", "chat_requests", "chunk_streams", "completion_requests"]

Json = dict[str, Any]


def chat_requests(
    contract: Contract | None = None, *, model: str | None = None
) -> "SearchStrategy[Json]":
    """Bodies of `POST /v1/chat/completions`: all parameters, tools, structured outputs, streams.

    With `model` all ask for it, else each for one that the contract lists. They also keep the
    rules between parameters. Raises LookupError where the contract has no such operation.
    """
    return _requests("chat.completion", contract, model)


def completion_requests(
    contract: Contract | None = None, *, model: str | None = None
) -> "SearchStrategy[Json]":
    """Bodies of `POST /v1/completions`; see `chat_requests`."""
    return _requests("text_completion", contract, model)


def chat_answers(contract: Contract | None = None) -> "SearchStrategy[Json]":
    """Whole answers to chats, with texts, reasoning, calls of tools, and log probabilities.

    They agree with themselves: usage and times add up, finish reasons fit.
    """
    from wafermock.conformance.generation.answers import chat_answer
    from wafermock.conformance.generation.drawn import drawn

    used = _contract(contract)
    return drawn(lambda source: chat_answer(used, source))


@overload
def chunk_streams(
    contract: Contract | None = None, *, as_bytes: Literal[False] = False
) -> "SearchStrategy[list[Json]]": ...


@overload
def chunk_streams(
    contract: Contract | None = None, *, as_bytes: Literal[True]
) -> "SearchStrategy[bytes]": ...


def chunk_streams(
    contract: Contract | None = None, *, as_bytes: bool = False
) -> "SearchStrategy[list[Json]] | SearchStrategy[bytes]":
    """Streams of chunks that join to a valid answer, cut in every legal way.

    With `as_bytes` they are bodies of `text/event-stream`, with `[DONE]` at the end.
    """
    from wafermock.conformance.generation.answers import chat_answer
    from wafermock.conformance.generation.chunks import as_event_stream, chat_chunks
    from wafermock.conformance.generation.drawn import drawn

    used = _contract(contract)
    chunks = drawn(lambda source: chat_chunks(used, chat_answer(used, source), source))
    return chunks.map(as_event_stream) if as_bytes else chunks


def _contract(given: Contract | None) -> Contract:
    if given is None:
        return load_contract()
    if not isinstance(given, Contract):
        raise TypeError(f"a contract is what wafermock.spec.load_contract() gives, not {given!r}")
    return given


def _requests(answer: str, contract: Contract | None, model: str | None) -> "SearchStrategy[Json]":
    from wafermock.conformance.generation.drawn import drawn
    from wafermock.conformance.generation.likely_requests import likely_request
    from wafermock.conformance.generation.scene import Scene

    used = _contract(contract)
    operation = next((each for each in used.operations if each.answer == answer), None)
    if operation is None or operation.request_schema is None:
        raise LookupError(f"the contract has no operation with `x-wafermock-answer: {answer}`")
    names = [model] if model is not None else [each["id"] for each in used.models.listed()]
    scenes = [Scene(used, operation, name) for name in names]
    return drawn(lambda source: likely_request(source.pick(scenes), source))
