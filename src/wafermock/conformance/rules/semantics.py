"""SEMANTICS: answers in the right shape must also make sense, and do what was asked for."""

from ..rule import RuleBook
from . import (
    choices,
    identity,
    logprobs,
    reasoning,
    structured,
    text_logprobs,
    tools,
    usage,
)

BOOK = RuleBook("SEMANTICS")

for part in (usage, choices, logprobs, text_logprobs, tools, structured, reasoning, identity):
    BOOK.rules += part.BOOK.rules
