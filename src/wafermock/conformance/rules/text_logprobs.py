"""SEMANTICS of the lists that a completion of plain text gives its log probabilities in."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..rule import Bench, Found
from .answers import Answer, AnswerBook, Choice
from .asked import mapping, whole_number
from .showing import shown
from .token_reports import alternatives_wanted, encoded

BOOK = AnswerBook("SEMANTICS")

Measure = Callable[[str], int]

# Nobody says what the offsets count: characters, bytes, or units of UTF-16.
_MEASURES: tuple[Measure, ...] = (
    len,
    lambda text: len(encoded(text)),
    lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2,
)

LISTS = ("tokens", "token_logprobs", "top_logprobs", "text_offset")
COMPLETION = "#/components/schemas/CompletionLogProbs/properties"


def _lists(choice: Choice) -> dict[str, Sequence[Any]]:
    told = mapping(choice.node.get("logprobs"))
    return {name: told[name] for name in LISTS if isinstance(told.get(name), list)}


def _has_lists(answer: Answer) -> bool:
    return not answer.is_chat and any(map(_lists, answer.choices))


@BOOK.answer_rule(
    "SEM-LOGPROBS-LENGTHS",
    "MUST",
    "The lists of a completion's log probabilities are equally long.",
    source=f"{COMPLETION}/token_logprobs",
    guards="It reads the lists side by side, and runs past the end of one.",
    when=_has_lists,
    needs="a completion of /v1/completions with `logprobs`",
)
def logprobs_lengths(answer: Answer, bench: Bench) -> Iterator[Found]:
    for choice in answer.choices:
        lengths = {name: len(values) for name, values in _lists(choice).items()}
        # Without alternatives asked for, a server may leave their list empty.
        if not alternatives_wanted(answer) and lengths.get("top_logprobs") == 0:
            del lengths["top_logprobs"]
        if len(set(lengths.values())) > 1:
            came = ", ".join(f"{name} {length}" for name, length in lengths.items())
            yield answer.breach((*choice.at, "logprobs"), "lists of the same length", came)
            return


@BOOK.answer_rule(
    "SEM-LOGPROBS-OFFSETS",
    "SHOULD",
    "text_offset says where each token begins in the text.",
    source=f"{COMPLETION}/text_offset",
    guards="It colours the text by its offsets, and colours other words.",
    when=lambda answer: (
        not answer.is_chat and any("text_offset" in _lists(c) for c in answer.choices)
    ),
    needs="a completion of /v1/completions with `logprobs`",
)
def logprobs_offsets(answer: Answer, bench: Bench) -> Iterator[Found]:
    for choice in answer.choices:
        lists = _lists(choice)
        offsets = [whole_number(value) for value in lists.get("text_offset", ())]
        tokens = [token for token in lists.get("tokens", ()) if isinstance(token, str)]
        if not offsets or None in offsets or len(tokens) != len(offsets):
            continue
        begins = {0}
        if not answer.asked["echo"]:
            # They may count on from the prompt, however long one of token numbers is in text.
            prompt = answer.prompt_of(choice)
            begins |= {offsets[0] or 0} if prompt is None else {m(prompt) for m in _MEASURES}
        if not any(_fits(offsets, tokens, begin, m) for m in _MEASURES for begin in begins):
            wanted_offsets = [*_offsets(tokens, 0, len)]
            at = (*choice.at, "logprobs", "text_offset")
            yield answer.breach(at, shown(wanted_offsets[:12]), shown(offsets[:12]))
            return


def _fits(
    offsets: Sequence[int | None], tokens: Sequence[str], begin: int, measure: Measure
) -> bool:
    return list(offsets) == [*_offsets(tokens, begin, measure)]


def _offsets(tokens: Sequence[str], begin: int, measure: Measure) -> Iterator[int]:
    for token in tokens:
        yield begin
        begin += measure(token)
