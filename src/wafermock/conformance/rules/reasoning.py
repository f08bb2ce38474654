"""SEMANTICS of reasoning: where thoughts are shown, and that they are counted."""

from collections.abc import Iterator

from ..rule import Bench, Found
from .answers import CHAT_CHOICE, CHAT_REQUEST, OBSERVED, Answer, AnswerBook, Choice
from .showing import shown

BOOK = AnswerBook("SEMANTICS")

FORMAT = f"{CHAT_REQUEST}/reasoning_format"


def _thinking(answer: Answer) -> Choice | None:
    """Return a choice that shows its thoughts apart from its words."""
    return next((choice for choice in answer.choices if choice.reasoning), None)


def _asks(answer: Answer, format: str) -> bool:
    return answer.is_chat and answer.asked["reasoning_format"] == format


def _shows_none(answer: Answer, parameter: str) -> Iterator[Found]:
    choice = _thinking(answer)
    if choice is not None:
        at = (*choice.words_at, "reasoning")
        yield answer.breach(at, "no `reasoning`", shown(choice.reasoning), asked=parameter)


@BOOK.answer_rule(
    "SEM-REASONING-HIDDEN",
    "MUST",
    "With `reasoning_format: hidden` no thoughts are shown.",
    source=FORMAT,
    guards="It shows its users what it meant to keep from them.",
    when=lambda answer: _asks(answer, "hidden"),
    needs="a chat request with `reasoning_format: hidden`",
)
def reasoning_hidden(answer: Answer, bench: Bench) -> Iterator[Found]:
    yield from _shows_none(answer, "reasoning_format")


@BOOK.answer_rule(
    "SEM-REASONING-RAW",
    "MUST",
    "With `reasoning_format: raw` thoughts stand in the text, and not in a key of their own.",
    source=FORMAT,
    guards="It parses the thoughts out of the text, and finds none.",
    when=lambda answer: _asks(answer, "raw"),
    needs="a chat request with `reasoning_format: raw`",
)
def reasoning_raw(answer: Answer, bench: Bench) -> Iterator[Found]:
    yield from _shows_none(answer, "reasoning_format")


@BOOK.answer_rule(
    "SEM-REASONING-PARSED",
    "MUST",
    "With `reasoning_format: parsed` or `text_parsed` thoughts that are counted stand in "
    "`reasoning`.",
    source=FORMAT,
    guards="It shows thoughts folded in, and shows them as the answer.",
    when=lambda answer: (
        (_asks(answer, "parsed") or _asks(answer, "text_parsed"))
        and answer.count("completion_tokens_details", "reasoning_tokens")
    ),
    needs="a chat request with `reasoning_format: parsed` to a model that reasons",
)
def reasoning_parsed(answer: Answer, bench: Bench) -> Iterator[Found]:
    if answer.choices and _thinking(answer) is None:
        count = answer.count("completion_tokens_details", "reasoning_tokens")
        at = (*answer.choices[0].words_at, "reasoning")
        expected = f"{count} tokens of `reasoning`"
        yield answer.breach(at, expected, "none", asked="reasoning_format")


@BOOK.answer_rule(
    "SEM-REASONING-NONE",
    "MUST",
    "With `reasoning_effort: none` there are no thoughts.",
    source=f"{CHAT_REQUEST}/reasoning_effort",
    guards="It waits and pays for thoughts that it has switched off.",
    when=lambda answer: answer.is_chat and answer.asked["reasoning_effort"] == "none",
    needs="a chat request with `reasoning_effort: none`",
)
def reasoning_none(answer: Answer, bench: Bench) -> Iterator[Found]:
    yield from _shows_none(answer, "reasoning_effort")
    count = answer.count("completion_tokens_details", "reasoning_tokens") or 0
    # More than the whole completion is told by SEM-USAGE-DETAILS.
    if 0 < count <= (answer.count("completion_tokens") or 0) and _thinking(answer) is None:
        at = ("usage", "completion_tokens_details", "reasoning_tokens")
        yield answer.breach(at, "0", str(count), asked="reasoning_effort")


@BOOK.answer_rule(
    "SEM-REASONING-COUNTED",
    "SHOULD",
    "Thoughts that are shown are counted in reasoning_tokens.",
    source=OBSERVED,
    guards="It tells its user that nothing was spent on thinking.",
    when=lambda answer: (
        _thinking(answer) is not None
        and answer.count("completion_tokens_details", "reasoning_tokens") is not None
    ),
    needs="a chat completion with `reasoning`",
)
def reasoning_counted(answer: Answer, bench: Bench) -> Iterator[Found]:
    if not answer.count("completion_tokens_details", "reasoning_tokens"):
        at = ("usage", "completion_tokens_details", "reasoning_tokens")
        yield answer.breach(at, "the thoughts, counted", "0")


@BOOK.answer_rule(
    "SEM-REASONING-NAME",
    "SHOULD",
    "Thoughts stand under `reasoning`, not under `reasoning_content`.",
    source=f"{CHAT_CHOICE}/message/properties/reasoning",
    guards="It sends the message back in its history, where `reasoning_content` is refused.",
    when=lambda answer: answer.is_chat,
    needs="a chat completion",
)
def reasoning_name(answer: Answer, bench: Bench) -> Iterator[Found]:
    for choice in answer.choices:
        if choice.words.get("reasoning_content"):
            at = (*choice.words_at, "reasoning_content")
            yield answer.breach(at, "`reasoning`", "`reasoning_content`")
            return
