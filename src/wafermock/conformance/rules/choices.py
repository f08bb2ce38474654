"""SEMANTICS of choices: how many there are, what they say, and why they end."""

from collections.abc import Iterator

from ..rule import Bench, Found
from .answers import CHAT_CHOICE, CHAT_REQUEST, TEXT_REQUEST, Answer, AnswerBook, Choice
from .asked import whole_number
from .showing import shown

BOOK = AnswerBook("SEMANTICS")

FINISH = f"{CHAT_CHOICE}/finish_reason"


@BOOK.answer_rule(
    "SEM-CHOICES-COUNT",
    "MUST",
    "There are as many choices as `n` says, for each prompt.",
    source=f"{CHAT_REQUEST}/n",
    guards="It takes the third of three choices and finds two, or shows one and pays for three.",
)
def choices_count(answer: Answer, bench: Bench) -> Iterator[Found]:
    if len(answer.choices) != answer.asked.choices:
        wanted = f"{answer.asked.choices} choices"
        yield answer.breach(("choices",), wanted, str(len(answer.choices)), asked="n")


@BOOK.answer_rule(
    "SEM-CHOICES-INDEX",
    "MUST",
    "The choices are numbered from 0, each with another number.",
    source=f"{CHAT_CHOICE}/index",
    guards="It sorts what comes by its index, and writes one choice over another.",
    when=lambda answer: answer.choices,
)
def choices_index(answer: Answer, bench: Bench) -> Iterator[Found]:
    told = [whole_number(choice.node.get("index")) for choice in answer.choices]
    if None not in told and sorted(map(str, told)) != sorted(map(str, range(len(told)))):
        wanted = f"0 to {len(told) - 1}" if len(told) > 1 else "[0]"
        yield answer.breach((*answer.choices[0].at, "index"), wanted, shown(told))


@BOOK.answer_rule(
    "SEM-ROLE",
    "MUST",
    "The author of the message is the assistant.",
    source=f"{CHAT_CHOICE}/message/properties/role",
    guards="It puts the message into the history, and its next request is refused.",
    when=lambda answer: answer.is_chat and any("role" in c.words for c in answer.choices),
    needs="a chat completion",
)
def role(answer: Answer, bench: Bench) -> Iterator[Found]:
    for choice in answer.choices:
        came = choice.words.get("role", "assistant")
        if came != "assistant":
            yield answer.breach((*choice.words_at, "role"), "assistant", shown(came))
            return


# ---------------------------------------------------------------------- why a choice ends


@BOOK.answer_rule(
    "SEM-FINISH-THERE",
    "SHOULD",
    "Every choice of a whole completion says why it ended.",
    source="#/components/schemas/CompletionChoice/properties/finish_reason",
    guards="It goes on asking until there is a finish reason.",
    when=lambda answer: not answer.is_chat and not answer.is_streamed and answer.choices,
    needs="a whole completion of /v1/completions",
)
def finish_there(answer: Answer, bench: Bench) -> Iterator[Found]:
    for choice in answer.choices:
        if choice.node.get("finish_reason") is None:
            yield answer.breach((*choice.at, "finish_reason"), "a finish reason", "none")
            return


@BOOK.answer_rule(
    "SEM-FINISH-CALLS",
    "MUST",
    "The finish reason is `tool_calls` where tools are called, and only there.",
    source=FINISH,
    guards="It runs tools when the finish reason says so: it never calls them, or calls none.",
    when=lambda answer: any(c.calls or c.finish == "tool_calls" for c in answer.choices),
    needs="a chat completion that calls tools",
)
def finish_calls(answer: Answer, bench: Bench) -> Iterator[Found]:
    for choice in answer.choices:
        at = (*choice.at, "finish_reason")
        if choice.calls and choice.finish == "stop":
            # Some servers say `stop` where the request itself named the function.
            named = answer.asked.forced_function is not None
            yield answer.breach(
                at, "tool_calls: there are some", "stop", state="WARN" if named else None
            )
            return
        if choice.finish == "tool_calls" and not choice.calls:
            yield answer.breach(at, "stop or length: there are no calls", "tool_calls")
            return


@BOOK.answer_rule(
    "SEM-FINISH-LENGTH",
    "MUST",
    "The finish reason is `length` only where the length is used up.",
    source=FINISH,
    guards="It asks for the rest of an answer that is whole.",
    when=lambda answer: (
        answer.asked.bound is not None
        and answer.count("completion_tokens") is not None
        and any(choice.finish == "length" for choice in answer.choices)
    ),
    needs="a completion that is cut by max_completion_tokens (max_tokens)",
)
def finish_length(answer: Answer, bench: Bench) -> Iterator[Found]:
    cut = [choice for choice in answer.choices if choice.finish == "length"]
    written = answer.count("completion_tokens") or 0
    bound = answer.asked.bound or 0
    least = bound * len(cut)
    if 0 < written < least and not _fills_the_context(answer, bench):
        wanted = f"stop: {written} of {least} tokens are used"
        yield answer.breach((*cut[0].at, "finish_reason"), wanted, "length")


def _fills_the_context(answer: Answer, bench: Bench) -> bool:
    """Say whether prompt and answer may have met the end of the model's context."""
    context = bench.contract.models[str(answer.asked["model"])].get("context")
    sizes = [size for size in (context or {}).values() if isinstance(size, int)]
    total = answer.count("total_tokens")
    return total is None or (bool(sizes) and total >= min(sizes))


@BOOK.answer_rule(
    "SEM-FINISH-CUT",
    "SHOULD",
    "The finish reason of what is cut by max_completion_tokens (max_tokens) is `length`.",
    source=FINISH,
    guards="It takes half an answer for a whole one.",
    when=lambda answer: (
        bool(answer.asked.bound)
        and len(answer.choices) == 1
        and not answer.asked.stops
        and not answer.asked.least_name  # what must go on ends anywhere
        and answer.count("completion_tokens") == answer.asked.bound
    ),
    needs="a completion that is cut by max_completion_tokens (max_tokens)",
)
def finish_cut(answer: Answer, bench: Bench) -> Iterator[Found]:
    choice = answer.choices[0]
    if choice.finish == "stop" and _looks_cut(choice):
        wanted = f"length: all {answer.asked.bound} tokens are used, and no sentence ends"
        yield answer.breach((*choice.at, "finish_reason"), wanted, "stop")


# What a text ends with that is said to its end.
_ENDS = ".!?…。！？)]}\"'”’»`*_~|:;-\n"


def _looks_cut(choice: Choice) -> bool:
    """Say whether a text ends within a sentence: one may also end with its last token allowed."""
    text = choice.text.rstrip(" ")
    return bool(text) and text[-1] not in _ENDS and " " in text.strip()


# ---------------------------------------------------------------------- what is said


@BOOK.answer_rule(
    "SEM-STOP",
    "MUST",
    "No `stop` sequence is in the text that is returned.",
    source=f"{CHAT_REQUEST}/stop",
    guards="It reads on behind the mark where the answer had to end.",
    when=lambda answer: answer.asked.stops and any(answer.generated(c) for c in answer.choices),
    needs="a completion with `stop`",
)
def stop(answer: Answer, bench: Bench) -> Iterator[Found]:
    for choice in answer.choices:
        text = answer.generated(choice)
        for sequence in answer.asked.stops:
            if sequence in text:
                wanted = f"no {shown(sequence)} in the text"
                found = text[: text.index(sequence) + len(sequence)][-80:]
                yield answer.breach(choice.text_at, wanted, shown(found), asked="stop")
                return


@BOOK.answer_rule(
    "SEM-ECHO",
    "MUST",
    "With `echo` the text begins with the prompt.",
    source=f"{TEXT_REQUEST}/echo",
    guards="It cuts the prompt off the text, and cuts off the answer.",
    when=lambda answer: (
        answer.asked["echo"] is True
        and not answer.is_chat
        and not answer.asked["return_raw_tokens"]
        and any(answer.prompt_of(choice) for choice in answer.choices)
    ),
    needs="a completion with `echo`",
)
def echo(answer: Answer, bench: Bench) -> Iterator[Found]:
    for choice in answer.choices:
        prompt = answer.prompt_of(choice)
        if prompt is not None and not choice.text.startswith(prompt):
            wanted, came = shown(prompt), shown(choice.text[: len(prompt)])
            yield answer.breach(choice.text_at, f"{wanted} first", came, asked="echo")
            return


@BOOK.answer_rule(
    "SEM-RAW-TOKENS",
    "MUST",
    "With `return_raw_tokens` there are tokens in place of the text.",
    source=f"{TEXT_REQUEST}/return_raw_tokens",
    guards="It hands a text to what computes with numbers.",
    when=lambda answer: (
        answer.asked["return_raw_tokens"] is True
        and not answer.is_chat
        and answer.count("completion_tokens")
    ),
    needs="a completion with `return_raw_tokens`",
)
def raw_tokens(answer: Answer, bench: Bench) -> Iterator[Found]:
    for choice in answer.choices:
        if choice.text or not isinstance(choice.node.get("tokens"), list):
            came = "a text" if choice.text else "no tokens"
            yield answer.breach((*choice.at, "tokens"), "tokens", came, asked="return_raw_tokens")
            return
