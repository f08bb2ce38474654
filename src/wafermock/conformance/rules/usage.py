"""SEMANTICS of `usage` and `time_info`: numbers that must agree with each other."""

from collections.abc import Iterator

from ..rule import Bench, Found
from .answers import CHAT_REQUEST, CHAT_RESPONSE, OBSERVED, Answer, AnswerBook, When
from .asked import mapping, number

BOOK = AnswerBook("SEMANTICS")

USAGE = f"{CHAT_RESPONSE}/usage/properties"
TIMES = f"{CHAT_RESPONSE}/time_info/properties"
BILL = "It counts another sum than the bill, or holds a budget that it has spent."
COUNTED = "a completion with `usage`"

# The parts of the prompt and of the completion that `usage` may break down.
DETAILS = ("reasoning_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens")
COUNTS = (
    ("prompt_tokens",),
    ("completion_tokens",),
    ("total_tokens",),
    ("image_tokens",),
    ("prompt_tokens_details", "cached_tokens"),
    *(("completion_tokens_details", name) for name in DETAILS),
)


def has(*counts: tuple[str, ...]) -> When:
    """Say of an answer whether its usage tells all of some counts."""
    return lambda answer: all(answer.count(*path) is not None for path in counts)


@BOOK.answer_rule(
    "SEM-USAGE-THERE",
    "SHOULD",
    "A whole answer says what it cost in `usage`.",
    source=f"{CHAT_RESPONSE}/usage",
    guards="It adds up what answers cost, and counts nothing.",
    when=lambda answer: not answer.is_streamed,
)
def usage_there(answer: Answer, bench: Bench) -> Iterator[Found]:
    if not answer.usage:
        yield answer.breach(("usage",), "usage of the answer", "none")


@BOOK.answer_rule(
    "SEM-USAGE-SUM",
    "MUST",
    "total_tokens is prompt_tokens and completion_tokens together.",
    source=f"{USAGE}/total_tokens",
    guards=BILL,
    when=has(("prompt_tokens",), ("completion_tokens",), ("total_tokens",)),
    needs=COUNTED,
)
def usage_sum(answer: Answer, bench: Bench) -> Iterator[Found]:
    prompt, written = answer.count("prompt_tokens") or 0, answer.count("completion_tokens") or 0
    total = answer.count("total_tokens")
    if total != prompt + written:
        at = ("usage", "total_tokens")
        yield answer.breach(at, f"{prompt} + {written} = {prompt + written}", str(total))


@BOOK.answer_rule(
    "SEM-USAGE-NEGATIVE",
    "MUST",
    "No number of tokens is negative.",
    source=f"{USAGE}/completion_tokens",
    guards=BILL,
    when=lambda answer: answer.usage,
    needs=COUNTED,
)
def usage_negative(answer: Answer, bench: Bench) -> Iterator[Found]:
    for path in COUNTS:
        count = answer.count(*path)
        if count is not None and count < 0:
            yield answer.breach(("usage", *path), "0 or more", str(count))


@BOOK.answer_rule(
    "SEM-USAGE-DETAILS",
    "MUST",
    "No part of the completion has more tokens than the completion.",
    source=f"{USAGE}/completion_tokens_details",
    guards=BILL,
    when=lambda answer: (
        answer.count("completion_tokens") is not None
        and mapping(answer.usage.get("completion_tokens_details"))
    ),
    needs="a completion with `completion_tokens_details`",
)
def usage_details(answer: Answer, bench: Bench) -> Iterator[Found]:
    written = answer.count("completion_tokens") or 0
    for name in DETAILS:
        count = answer.count("completion_tokens_details", name)
        if count is not None and count > written:
            at = ("usage", "completion_tokens_details", name)
            yield answer.breach(at, f"at most completion_tokens, {written}", str(count))


@BOOK.answer_rule(
    "SEM-USAGE-DETAILS-SUM",
    "SHOULD",
    "The parts of the completion together have no more tokens than the completion.",
    source=OBSERVED,
    guards=BILL,
    when=lambda answer: (
        answer.count("completion_tokens") is not None
        and mapping(answer.usage.get("completion_tokens_details"))
    ),
    needs="a completion with `completion_tokens_details`",
)
def usage_details_sum(answer: Answer, bench: Bench) -> Iterator[Found]:
    written = answer.count("completion_tokens") or 0
    parts = [answer.count("completion_tokens_details", name) or 0 for name in DETAILS]
    # One that is too large alone is told by SEM-USAGE-DETAILS.
    if max(parts) <= written < sum(parts):
        at = ("usage", "completion_tokens_details")
        added = " + ".join(map(str, parts))
        yield answer.breach(at, f"at most completion_tokens, {written}", f"{added} = {sum(parts)}")


@BOOK.answer_rule(
    "SEM-USAGE-CACHED",
    "MUST",
    "No more tokens of the prompt are cached than the prompt has.",
    source=f"{USAGE}/prompt_tokens_details/properties/cached_tokens",
    guards="It subtracts what was cached, and computes a negative price.",
    when=has(("prompt_tokens",), ("prompt_tokens_details", "cached_tokens")),
    needs="a completion with `cached_tokens`",
)
def usage_cached(answer: Answer, bench: Bench) -> Iterator[Found]:
    prompt = answer.count("prompt_tokens") or 0
    cached = answer.count("prompt_tokens_details", "cached_tokens") or 0
    if cached > prompt:
        at = ("usage", "prompt_tokens_details", "cached_tokens")
        yield answer.breach(at, f"at most prompt_tokens, {prompt}", str(cached))


@BOOK.answer_rule(
    "SEM-USAGE-CACHED-BLOCKS",
    "SHOULD",
    "cached_tokens is a multiple of the model's block: prompts are cached in blocks.",
    source=OBSERVED,
    guards="It plans its prompts by blocks that are none.",
    when=has(("prompt_tokens_details", "cached_tokens")),
    needs="a completion with `cached_tokens`",
)
def usage_cached_blocks(answer: Answer, bench: Bench) -> Iterator[Found]:
    cached = answer.count("prompt_tokens_details", "cached_tokens") or 0
    block = bench.contract.models[str(answer.asked["model"])]["cache_block"]
    if cached % block:
        at = ("usage", "prompt_tokens_details", "cached_tokens")
        yield answer.breach(at, f"a multiple of {block}", str(cached))


@BOOK.answer_rule(
    "SEM-USAGE-IMAGES",
    "MUST",
    "No more tokens are of images than the prompt has.",
    source=f"{USAGE}/image_tokens",
    guards=BILL,
    when=has(("prompt_tokens",), ("image_tokens",)),
    needs="a completion with `image_tokens`",
)
def usage_images(answer: Answer, bench: Bench) -> Iterator[Found]:
    prompt, images = answer.count("prompt_tokens") or 0, answer.count("image_tokens") or 0
    if images > prompt:
        at = ("usage", "image_tokens")
        yield answer.breach(at, f"at most prompt_tokens, {prompt}", str(images))


def _has_words(answer: Answer) -> bool:
    """Say whether anything was generated: an echo of the prompt is not."""
    return any(
        answer.generated(c)
        or c.reasoning
        or c.calls
        or (c.words.get("tokens") and not answer.asked["echo"])
        for c in answer.choices
    )


@BOOK.answer_rule(
    "SEM-USAGE-ZERO",
    "MUST",
    "completion_tokens is not 0 when words came.",
    source=f"{USAGE}/completion_tokens",
    guards="It believes that an answer was free, or empty.",
    when=lambda answer: answer.count("completion_tokens") is not None and _has_words(answer),
    needs=COUNTED,
)
def usage_zero(answer: Answer, bench: Bench) -> Iterator[Found]:
    if answer.count("completion_tokens") == 0:
        yield answer.breach(("usage", "completion_tokens"), "what came, counted", "0")


@BOOK.answer_rule(
    "SEM-USAGE-PROMPT-ZERO",
    "MUST",
    "prompt_tokens is not 0 when there were messages.",
    source=f"{USAGE}/prompt_tokens",
    guards=BILL,
    when=lambda answer: (
        answer.is_chat and answer.asked["messages"] and answer.count("prompt_tokens") is not None
    ),
    needs="a chat completion with `usage`",
)
def usage_prompt_zero(answer: Answer, bench: Bench) -> Iterator[Found]:
    if answer.count("prompt_tokens") == 0:
        yield answer.breach(("usage", "prompt_tokens"), "the prompt, counted", "0")


# ---------------------------------------------------------------------- times

PARTS = ("queue_time", "prompt_time", "completion_time")

# Servers round each time for itself: so much of a second, and of the sum, is nobody's fault.
_ROUNDING, _SHARE = 0.001, 0.01


def _times(answer: Answer) -> dict[str, float]:
    times = mapping(answer.value.get("time_info"))
    known = {name: number(times.get(name)) for name in (*PARTS, "total_time")}
    return {name: value for name, value in known.items() if value is not None}


@BOOK.answer_rule(
    "SEM-TIME-SUM",
    "MUST",
    "total_time is not less than queue, prompt and completion time together.",
    source=f"{TIMES}/total_time",
    guards="It computes a network time below zero, or draws shares above the whole.",
    when=lambda answer: "total_time" in _times(answer),
    needs="a completion with `time_info`",
)
def time_sum(answer: Answer, bench: Bench) -> Iterator[Found]:
    times = _times(answer)
    total, parts = times["total_time"], sum(times.get(name, 0.0) for name in PARTS)
    if parts > total + _ROUNDING + _SHARE * abs(total):
        at = ("time_info", "total_time")
        yield answer.breach(at, f"at least {parts:g} s", f"{total:g} s")


@BOOK.answer_rule(
    "SEM-TIME-NEGATIVE",
    "MUST",
    "No time that something took is negative.",
    source="#/components/schemas/TimeInfo/properties/total_time",
    guards="It divides tokens by a time, and shows a speed below zero.",
    when=_times,
    needs="a completion with `time_info`",
)
def time_negative(answer: Answer, bench: Bench) -> Iterator[Found]:
    for name, value in _times(answer).items():
        if value < 0:
            yield answer.breach(("time_info", name), "0 or more", f"{value:g} s")


# ---------------------------------------------------------------------- against the request


@BOOK.answer_rule(
    "SEM-LENGTH-BOUND",
    "MUST",
    "No more tokens are generated than max_completion_tokens (max_tokens) allows, each choice "
    "counted for itself.",
    source=f"{CHAT_REQUEST}/max_completion_tokens",
    guards="It pays for more than it allowed, or overflows the place it kept for the answer.",
    when=lambda answer: (
        answer.asked.bound is not None and answer.count("completion_tokens") is not None
    ),
    needs="a completion with a bound on its length, and `usage`",
)
def length_bound(answer: Answer, bench: Bench) -> Iterator[Found]:
    asked, bound = answer.asked, answer.asked.bound or 0
    written = answer.count("completion_tokens") or 0
    # With best_of, what was generated and not returned may be counted as well.
    made = len(asked.prompts) * max(asked.samples, _candidates(answer))
    if written > bound * made:
        at = ("usage", "completion_tokens")
        wanted = f"at most {bound * made}" + (f" ({made} choices of {bound})" if made > 1 else "")
        yield answer.breach(at, wanted, str(written), asked=asked.bound_name)


def _candidates(answer: Answer) -> int:
    best_of = number(answer.asked["best_of"])
    return int(best_of) if best_of is not None and best_of >= 1 else 1


@BOOK.answer_rule(
    "SEM-LENGTH-LEAST",
    "MUST",
    "No fewer tokens are generated than min_completion_tokens (min_tokens) says.",
    source="#/components/schemas/CompletionRequest/properties/min_tokens",
    guards="It asked for a long answer, and works with a short one.",
    when=lambda answer: _least(answer) > 0 and answer.count("completion_tokens") is not None,
    needs="a completion with min_tokens, and `usage`",
)
def length_least(answer: Answer, bench: Bench) -> Iterator[Found]:
    least = _least(answer) * len(answer.choices)
    written = answer.count("completion_tokens") or 0
    if 0 < written < least:  # none at all is told by SEM-USAGE-ZERO
        at = ("usage", "completion_tokens")
        name = answer.asked.least_name
        yield answer.breach(at, f"at least {least}", str(written), asked=name)


def _least(answer: Answer) -> int:
    """Return how many tokens each choice must have; 0 where something else may end it before."""
    asked = answer.asked
    least = number(asked[asked.least_name]) if asked.least_name else None
    others = asked.stops or asked["tools"] or asked["logit_bias"] or asked.format != "text"
    if least is None or others or (asked.bound is not None and asked.bound < least):
        return 0
    return int(least)
