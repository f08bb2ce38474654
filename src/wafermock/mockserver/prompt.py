"""The prompt in tokens: what a conversation costs, and how much of it a cache may have seen."""

from typing import Any

from msgspec import Struct

from .canned import text_of
from .draws import canonical
from .images import image_tokens
from .refusal import Refusal
from .tokens import tokenise

# What a turn costs beside its words: role and separators.
_TOKENS_A_MESSAGE = 4

# The longest token has so many characters: a space and ten letters.
_LONGEST_TOKEN = 11


class ChatPrompt(Struct, frozen=True):
    """A conversation in tokens, message by message; the tools are a part of the first.

    The tokens of an image stand in the tokens of its message, each as the image's data URI.
    `images` counts them; it is None where the model takes none. `block` is how many tokens a cached
    prefix grows by.
    """

    messages: tuple[tuple[str, ...], ...]
    roles: tuple[str, ...]
    images: int | None
    block: int

    @property
    def count(self) -> int:
        """How many tokens there are in all."""
        return sum(map(len, self.messages))

    @property
    def tokens(self) -> list[str]:
        """All tokens in their order."""
        return [token for message in self.messages for token in message]

    @property
    def cached_tokens(self) -> int:
        """How many tokens count as sent before, in whole blocks.

        A conversation with an answer in it was sent once before, up to that answer.
        """
        answers = [at for at, role in enumerate(self.roles) if role == "assistant"]
        before = sum(map(len, self.messages[: answers[-1]])) if answers else 0
        return before // self.block * self.block


def chat_prompt(body: dict[str, Any], model: dict[str, Any], lenient: bool) -> ChatPrompt:
    """Read the prompt of a chat completion request for a model of `models.yaml`.

    Thoughts of earlier turns count only where `clear_thinking` is false. Raises Refusal when the
    texts alone are longer than the context can be, without counting them, and for an image that
    cannot be read, unless `lenient`.
    """
    messages = body.get("messages") or []
    keep_thoughts = body.get("clear_thinking") is False
    texts = [_text(message, keep_thoughts) for message in messages]
    if body.get("tools") and texts:
        texts[0] += canonical(body["tools"])
    check_length(sum(map(len, texts)), model["context"]["paid"])
    vision = model["vision"]
    written = []
    images = 0
    for message, text in zip(messages, texts, strict=True):
        tokens = [f"<{message['role']}>"] * _TOKENS_A_MESSAGE + tokenise(text)
        for url, count in image_tokens(message, vision, lenient) if vision else ():
            tokens += [url] * count
            images += count
        written.append(tuple(tokens))
    roles = tuple(message["role"] for message in messages)
    return ChatPrompt(tuple(written), roles, images if vision else None, model["cache_block"])


def _text(message: dict[str, Any], keep_thoughts: bool) -> str:
    parts = [text_of(message.get("content")), message.get("name") or ""]
    if keep_thoughts:
        parts.append(message.get("reasoning") or "")
    if message.get("tool_calls"):
        parts.append(canonical(message["tool_calls"]))
    return "\n".join(filter(None, parts))


def check_length(characters: int, context: int) -> None:
    """Raise Refusal for texts that cannot fit into the context, before counting their tokens.

    The length in the error is then the least number of tokens they can have.
    """
    least = characters // _LONGEST_TOKEN
    if least > context:
        raise Refusal("context_length_exceeded", length=least, limit=context)


def check_context(prompt_tokens: int, max_tokens: int | None, context: int) -> None:
    """Raise Refusal when the prompt, or it and the answer asked for, exceed the context."""
    length = prompt_tokens + (max_tokens or 0)
    if length > context:
        raise Refusal("context_length_exceeded", length=length, limit=context)
