"""Chat completions: from a call to the tokens of each choice."""

from functools import cached_property
from typing import Any

from msgspec.structs import replace

from wafermock.spec.models import ModelCatalogue

from . import bounds
from .call import Call
from .canned import Canned, text_of
from .completion import Choice, Completion, Usage, make_choice
from .composing import complete
from .draws import Draws
from .generation import of_chat
from .prediction import compare, follow_prediction
from .prompt import chat_prompt, check_context, check_length
from .prompt_cache import PromptCache
from .prose import sentences
from .reasoning import effort, reasoning_format, tagged, thought
from .reply import Reply
from .structured import Instances, wanted_schema
from .tokens import tokenise
from .tools import Caller, tool_results


def compose(
    call: Call,
    models: ModelCatalogue,
    canned: Canned,
    reply: Reply | None,
    cache: PromptCache | None = None,
) -> Completion:
    """Make the completion for a chat call. A `reply` given is said; else one is found or made.

    With a `cache`, `cached_tokens` are what it has really read; without, a figure that depends on
    the request alone. Raises Refusal when the request asks for what cannot be given.
    """
    body = call.body
    name = body.get("model") or next(iter(models))
    model = models[name]
    generation = of_chat(body, model)
    bounds.check(generation)
    context = model["context"]["paid"]
    prompt = chat_prompt(body, model, call.lenient)
    prompt_tokens = prompt.count
    check_context(prompt_tokens, generation.max_tokens, context)
    room = context - prompt_tokens
    speaker = _Speaker(call, canned, generation.choices, context)
    raw = reasoning_format(body, model) == "raw"
    choices: list[Choice] = []
    written = 0
    for index in range(generation.choices):
        draws = Draws("choice", call.voice, index)
        said = reply if reply and index == 0 else speaker.reply(index, draws)
        said = _with_thought(call, model, said, index)
        choice = make_choice(
            index, said, generation, room, draws, free=speaker.schema is None, raw=raw
        )
        choices.append(choice)
        written += choice.token_count
        bounds.check_written(written)
    bounds.check_logprobs(written, generation)
    usage = Usage(
        prompt_tokens=prompt_tokens,
        completion_tokens=0,
        cached_tokens=prompt.cached_tokens
        if cache is None
        else cache.read(prompt.tokens, name, body.get("prompt_cache_key"), prompt.block),
        # A model that is not known shows them only when it was sent some.
        image_tokens=prompt.images if prompt.images or name in models else None,
    )
    if body.get("prediction"):
        limit = room if generation.max_tokens is None else min(room, generation.max_tokens)
        usage = _compare_prediction(speaker.predicted, usage, choices[0], limit)
    return complete(call, name, choices, usage, models)


class _Speaker:
    """Finds what to say: calls, JSON, an example's words, a tool's result, or invented text."""

    def __init__(self, call: Call, canned: Canned, choices: int, context: int) -> None:
        body = call.body
        self._caller = Caller(body, choices)
        self.schema = wanted_schema(body)
        self._instances = None if self.schema is None else Instances(self.schema, choices)
        self.predicted = text_of((body.get("prediction") or {}).get("content"))
        check_length(len(self.predicted), context)
        self._canned = canned
        self._body = body
        self._results = tool_results(body)

    @cached_property
    def _found(self) -> Reply | None:
        # Looked for where it is wanted: a reply that is given is no example's.
        return self._canned.reply_to(self._body)

    def reply(self, index: int, draws: Draws) -> Reply:
        """Return the words of one choice. Raises Refusal where a schema leaves none."""
        voice = draws.bytes()
        found = self._found if index == 0 else None
        if self._caller:
            if found and self._caller.would_make(found):
                return found
            return Reply(tool_calls=self._caller.calls(voice))
        if self._instances is not None:
            return Reply(content=self._instances.text(voice))
        if found and not found.tool_calls:
            return found
        invented = sentences(draws, 16 + draws.below(48))
        content = f"{self._results}\n\n{invented}" if self._results else invented
        # A prediction of what would be said anyway comes true; any other is followed.
        predicted = self.predicted
        if predicted and not (content.startswith(predicted) or predicted.startswith(content)):
            content = follow_prediction(predicted, voice)
        return Reply(content=content)


def _with_thought(call: Call, model: dict[str, Any], reply: Reply, index: int) -> Reply:
    """Let the model think before it speaks, as long as the effort says."""
    wanted = effort(call.body, model)
    if reply.verbatim and not reply.reasoning:
        return reply
    if wanted == "none" and not reply.verbatim:
        return replace(reply, reasoning="")
    reasoning = reply.reasoning or thought(wanted, Draws("thought", call.voice, index))
    if reasoning_format(call.body, model) == "raw":
        reasoning = tagged(reasoning, model)
    return replace(reply, reasoning=reasoning)


def _compare_prediction(predicted: str, usage: Usage, choice: Choice, limit: int) -> Usage:
    """Count the predicted tokens that came true, and those that were written in vain.

    What is rejected counts as written, within the limit of the request.
    """
    accepted, rejected = compare(tokenise(predicted), tokenise("".join(choice.content)))
    rejected = min(rejected, limit - choice.token_count)
    return replace(
        usage,
        completion_tokens=rejected,
        accepted_prediction_tokens=min(accepted, len(choice.content)),
        rejected_prediction_tokens=rejected,
    )
