"""Composers: how operations are answered that the mock knows more of than their schemas.

An operation names its composer with `x-wafermock-answer` (a fact of an overlay).
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from wafermock.spec import Contract

from . import chat
from .call import Call
from .canned import Canned
from .chat_json import ChatWriter
from .completion import Completion
from .event_stream import CONTENT_TYPE, encode_json, frame
from .exchange import Answer, Cost
from .generation import asked_tokens, of_chat, of_completion
from .limits import reservation
from .prefer import Preferences, unknown_example
from .reasoning import reasoning_format
from .refusal import Refusal
from .reply import Reply

if TYPE_CHECKING:
    from .prompt_cache import PromptCache
    from .text_completion_json import TextWriter

JSON = "application/json"


class Materials(Struct, frozen=True):
    """What a composer works with beside the call."""

    contract: Contract
    canned: Canned
    preferences: Preferences
    scripted: Reply | None
    only_known_models: bool
    cache: "PromptCache | None"

    @property
    def given_reply(self) -> Reply | None:
        """The reply of a script, else of the example that the client asked for.

        Raises Refusal when there is no such example.
        """
        if self.scripted is not None:
            return replace(self.scripted, verbatim=True)
        name = self.preferences.example
        if name is None:
            return None
        if name not in self.canned.replies:
            raise unknown_example(name, self.canned.replies)
        return self.canned.replies[name]


def _chat(call: Call, materials: Materials) -> Answer:
    models = materials.contract.models
    reply = materials.given_reply
    completion = chat.compose(call, models, materials.canned, reply, materials.cache)
    model = models[completion.model]
    writer = ChatWriter(
        completion,
        call.identity,
        tool_style=model["tool_style"],
        reasoning_format=reasoning_format(call.body, model),
        top_logprobs=of_chat(call.body, model).top_logprobs,
        service_tier=call.meaning.get("service_tier"),
    )
    return _written(call, completion, writer, model)


def _text(call: Call, materials: Materials) -> Answer:
    # Imported here: a server is asked for chat first, and shall not wait for what it does not need.
    from . import text_completion
    from .text_completion_json import TextWriter

    models = materials.contract.models
    reply = materials.given_reply
    completion = text_completion.compose(call, models, materials.canned, reply, materials.cache)
    model = models[completion.model]
    writer = TextWriter(
        completion,
        call.identity,
        raw_tokens=call.body.get("return_raw_tokens") is True,
        top_logprobs=of_completion(call.body, model).top_logprobs,
    )
    return _written(call, completion, writer, model)


def _written(
    call: Call,
    completion: Completion,
    writer: "ChatWriter | TextWriter",
    model: dict[str, Any],
) -> Answer:
    """Write a completion whole or as a stream, at its pace, and say what it costs."""
    usage = completion.usage
    cost = Cost(
        model=completion.model,
        reserved=reservation(
            usage.prompt_tokens, asked_tokens(call.body), model, len(completion.choices)
        ),
        used=usage.total_tokens,
        service_tier=call.body.get("service_tier"),
    )
    headers = {"inference-id": completion.id}
    if call.body.get("stream") is True:
        chunks, counts = _apart(writer.chunks())
        offsets = _offsets(completion, [*counts, 0])
        headers["content-type"] = CONTENT_TYPE
        return Answer(200, headers, frame(chunks), True, offsets, cost)
    offsets = _offsets(completion, [usage.completion_tokens])
    headers["content-type"] = JSON
    return Answer(200, headers, (encode_json(writer.whole()),), False, offsets, cost)


def _offsets(completion: Completion, counts: list[int]) -> tuple[float, ...] | None:
    return completion.schedule.offsets(counts) if completion.schedule else None


def _apart(pairs: Iterable[tuple[Any, int]]) -> tuple[list[Any], list[int]]:
    chunks, counts = [], []
    for chunk, count in pairs:
        chunks.append(chunk)
        counts.append(count)
    return chunks, counts


def _model_list(call: Call, materials: Materials) -> Answer:
    if materials.preferences.example is not None:
        return _example(call, materials)
    listed = {"object": "list", "data": materials.contract.models.listed()}
    return Answer(200, {"content-type": JSON}, (encode_json(listed),))


def _model(call: Call, materials: Materials) -> Answer:
    if materials.preferences.example is not None:
        return _example(call, materials)
    models = materials.contract.models
    name = next(iter(call.path_values.values()), "")
    if name not in models and materials.only_known_models:
        raise Refusal("model_not_found", model=name)
    return Answer(200, {"content-type": JSON}, (encode_json(models.shown(name)),))


def _example(call: Call, materials: Materials) -> Answer:
    from . import generic

    response = call.operation.success
    assert response is not None  # an operation with a composer declares what it answers
    return generic.answer(call.operation, response, call.identity, materials.preferences)


COMPOSERS: dict[str, Callable[[Call, Materials], Answer]] = {
    "chat.completion": _chat,
    "text_completion": _text,
    "model.list": _model_list,
    "model": _model,
}
