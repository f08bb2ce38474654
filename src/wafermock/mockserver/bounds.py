"""What one request may cost. Beyond a bound it gets an error that names the bound.

The bounds keep every request under a second of one processor; what real applications send is far
below them.
"""

from typing import Any

from wafermock.spec.excerpt import has_more_values_than

from .generation import Generation
from .refusal import Refusal

# Choices of one answer, over all prompts (OpenAI's own limit of `n`).
MOST_CHOICES = 128
# Tokens written for one answer, over all choices.
MOST_TOKENS = 131_072
# Values in the body of a request, at every depth: the items of its arrays, and the members of its
# objects, each of which costs as much as four items.
MOST_VALUES = 410_000
MEMBER = 4
# Tokens read for one answer, over all prompts of a completion.
MOST_PROMPT_TOKENS = 262_144
# Log probabilities written for one answer: a token, its own and its alternatives' count alike.
MOST_LOGPROBS = 120_000
# Entries of `logit_bias`: half the vocabulary of a large model.
MOST_BIASES = 100_000
# Characters of a schema, written as JSON.
LONGEST_SCHEMA = 1_000_000
# Characters of schemas that are gone through for one answer: each choice goes through its own.
LONGEST_SCHEMAS = 20_000_000


def check_body(body: Any) -> None:
    """Raise Refusal for a body of so many values that to look at each would take too long."""
    if has_more_values_than(MOST_VALUES, body, member=MEMBER):
        name = "the number of values in the body"
        raise Refusal("bounds_exceeded", name=name, value="larger", limit=MOST_VALUES)


def check(generation: Generation, prompts: int = 1) -> None:
    """Raise Refusal when a request asks for more than the mock writes for one request."""
    choices = generation.choices * prompts
    bound("n" if prompts == 1 else "n, over all prompts,", choices, MOST_CHOICES)
    bound("best_of", generation.best_of * prompts, MOST_CHOICES)
    bound("min_tokens, over all choices,", generation.min_tokens * choices, MOST_TOKENS)
    bound("the number of entries of logit_bias", len(generation.bias), MOST_BIASES)


def check_written(tokens: int) -> None:
    """Raise Refusal when the choices of an answer are too long together."""
    bound("the number of tokens of all choices", tokens, MOST_TOKENS)


def check_logprobs(tokens: int, generation: Generation) -> None:
    """Raise Refusal when the log probabilities of an answer would be too many."""
    if generation.top_logprobs is not None:
        written = tokens * (2 + generation.top_logprobs)
        bound("the number of log probabilities", written, MOST_LOGPROBS)


def bound(name: str, value: int, limit: int) -> None:
    """Raise Refusal when a value is over its limit."""
    if value > limit:
        raise Refusal("bounds_exceeded", name=name, value=value, limit=limit)
