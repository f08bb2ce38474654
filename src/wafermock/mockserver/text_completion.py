"""Completions of plain text: from a call to the tokens of each choice, one choice a prompt."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from wafermock.spec.models import ModelCatalogue

from . import bounds
from .call import Call
from .canned import Canned
from .completion import Choice, Completion, Usage, make_choice
from .composing import complete
from .draws import Draws
from .generation import of_completion
from .prompt import check_context, check_length
from .prompt_cache import PromptCache
from .prose import sentences
from .reply import Reply
from .tokens import token_text, tokenise


class Prompt(Struct, frozen=True):
    """A prompt in tokens, and their numbers where it came in numbers."""

    tokens: tuple[str, ...]
    numbers: tuple[int, ...] | None = None


def compose(
    call: Call,
    models: ModelCatalogue,
    canned: Canned,
    reply: Reply | None,
    cache: PromptCache | None = None,
) -> Completion:
    """Make the completion for a call. A `reply` given is said; else one is found or made.

    `cached_tokens` are what a `cache` has really read, without one 0: a prompt does not tell what
    was sent before it. Raises Refusal when the request asks for what cannot be given.
    """
    body = call.body
    name = body.get("model") or next(iter(models))
    context = models[name]["context"]["paid"]
    generation = of_completion(body, models[name])
    sent = _separate(body.get("prompt", ""))
    bounds.check(generation, len(sent))
    asked = list(_read(sent, generation.max_tokens, context))
    choices: list[Choice] = []
    written = 0
    for number, prompt in enumerate(asked):
        for sample in range(generation.choices):
            index = number * generation.choices + sample
            draws = Draws("choice", call.voice, index)
            said = (reply or canned.reply_to(body)) if index == 0 else None
            said = said or Reply(content=" " + sentences(draws, 16 + draws.below(48)))
            choice = make_choice(index, said, generation, context - len(prompt.tokens), draws)
            written += choice.token_count
            if body.get("echo"):
                choice = replace(choice, echo=prompt.tokens, echo_numbers=prompt.numbers)
                written += len(prompt.tokens)
            choices.append(choice)
            bounds.check_written(written)
    bounds.check_logprobs(written, generation)
    key, block = body.get("prompt_cache_key"), models[name]["cache_block"]
    usage = Usage(
        prompt_tokens=sum(len(prompt.tokens) for prompt in asked),
        completion_tokens=0,
        cached_tokens=sum(cache.read(prompt.tokens, name, key, block) for prompt in asked)
        if cache
        else 0,
    )
    return complete(call, name, choices, usage, models)


def _separate(prompt: Any) -> list[Any]:
    """Return each prompt, of a string, strings, tokens, or arrays of tokens."""
    if isinstance(prompt, list) and prompt and isinstance(prompt[0], str | list):
        return prompt
    return [prompt]


def _read(sent: list[Any], max_tokens: int | None, context: int) -> Iterator[Prompt]:
    """Read the tokens of each prompt. Raises Refusal for one that is too long, or too much."""
    total = 0
    for prompt in sent:
        if isinstance(prompt, str):
            check_length(len(prompt), context)
            read = Prompt(tuple(tokenise(prompt)))
            length = len(read.tokens)
        else:
            length = len(prompt)
        check_context(length, max_tokens, context)
        total += length
        bounds.bound("the number of tokens of all prompts", total, bounds.MOST_PROMPT_TOKENS)
        if not isinstance(prompt, str):
            numbers = tuple(map(int, prompt))  # JSON has one kind of number: 5.0 is the token 5
            read = Prompt(tuple(map(token_text, numbers)), numbers)
        yield read
