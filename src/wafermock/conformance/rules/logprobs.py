"""SEMANTICS of log probabilities: one for each token, and numbers that can be probabilities."""

import math
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from ..rule import Bench, Found
from .answers import CHAT_CHOICE, CHAT_REQUEST, OBSERVED, Answer, AnswerBook, Choice
from .showing import shown
from .token_reports import (
    UNTOLD,
    Report,
    alternatives_wanted,
    encoded,
    entries_of,
    has_reports,
    reports,
    wanted,
)

BOOK = AnswerBook("SEMANTICS")

NEEDS = "a completion with log probabilities"
PROBABILITY = "the definition of a probability (Kolmogorov's axioms)"
ENTRIES = f"{CHAT_CHOICE}/logprobs/properties/content"
TOKEN = "#/components/schemas/ChatTokenLogprob/properties"
WEIGHED = "It turns them into probabilities, and weighs answers by nonsense."

# Servers round, and compute with short floating point numbers.
_ROUNDING = 1e-4
# Probabilities that are rounded add up to a little more than 1.
_SUM = 1.01


# ---------------------------------------------------------------------- there, and for every token


@BOOK.answer_rule(
    "SEM-LOGPROBS-THERE",
    "MUST",
    "A request with `logprobs` gets log probabilities with every text.",
    source=f"{CHAT_REQUEST}/logprobs",
    guards="It computes how sure the model is, of nothing.",
    when=lambda answer: wanted(answer) and any(choice.text for choice in answer.choices),
    needs="a request with `logprobs`",
)
def logprobs_there(answer: Answer, bench: Bench) -> Iterator[Found]:
    told = {report.choice.place for report in reports(answer.exchange)}
    for choice in answer.choices:
        if choice.text and choice.place not in told:
            at = (*choice.at, "logprobs")
            yield answer.breach(at, "log probabilities", "none", asked="logprobs")
            return


@BOOK.answer_rule(
    "SEM-LOGPROBS-UNASKED",
    "SHOULD",
    "A request without `logprobs` gets none.",
    source=f"{CHAT_REQUEST}/logprobs",
    guards="It downloads many times what it reads.",
    when=lambda answer: not wanted(answer),
)
def logprobs_unasked(answer: Answer, bench: Bench) -> Iterator[Found]:
    for report in reports(answer.exchange):
        yield answer.breach(report.at, "none", f"{len(report.entries)}", asked="logprobs")
        return


@BOOK.answer_rule(
    "SEM-LOGPROBS-TOKENS",
    "MUST",
    "There is one log probability for each token: joined, the tokens are the text.",
    source=ENTRIES,
    guards="It marks unsure words in the text, and marks the wrong ones.",
    when=has_reports,
    needs=NEEDS,
)
def logprobs_tokens(answer: Answer, bench: Bench) -> Iterator[Found]:
    for report in reports(answer.exchange):
        choice = report.choice
        # `text_parsed` sets thoughts apart, and not their log probabilities.
        if report.key == "logprobs":
            texts = [choice.text, choice.reasoning + choice.text]
        else:
            texts = [choice.reasoning]
        # A token may have begun before a stop sequence that is cut off.
        cut = bool(answer.asked.stops) and any(map(report.begins_with, filter(None, texts)))
        if _has_text(choice, report) and not (cut or any(map(report.says, texts))):
            came = f"{len(report.entries)} tokens: {shown(report.tokens)}"
            yield answer.breach(report.at, f"the tokens of {shown(texts[0])}", came)
            return


def _has_text(choice: Choice, report: Report) -> bool:
    """Say whether there is a text to compare with: raw tokens and hidden thoughts are none."""
    return bool(choice.text if report.key == "logprobs" else choice.reasoning)


@BOOK.answer_rule(
    "SEM-LOGPROBS-BYTES",
    "MUST",
    "The `bytes` of a token are its text in UTF-8.",
    source=f"{TOKEN}/bytes",
    guards="It joins bytes to characters, and gets rubbish.",
    when=lambda answer: any(entry.chosen.is_told for entry in entries_of(answer)),
    needs="a chat completion with log probabilities that have `bytes`",
)
def logprobs_bytes(answer: Answer, bench: Bench) -> Iterator[Found]:
    for entry in entries_of(answer):
        for item in (entry.chosen, *entry.alternatives):
            # A token may be a part of a character: its text is then a stand-in.
            stands_in = "\ufffd" in item.token or item.token.startswith("bytes:")
            if item.is_told and not stands_in and item.octets != encoded(item.token):
                came = "no bytes" if item.octets is None else shown([*item.octets])
                yield answer.breach((*entry.at, "bytes"), f"{shown([*encoded(item.token)])}", came)
                return


# ---------------------------------------------------------------------- what they say


@BOOK.answer_rule(
    "SEM-LOGPROBS-NEGATIVE",
    "MUST",
    "No log probability is above 0.",
    source=PROBABILITY,
    guards=WEIGHED,
    when=has_reports,
    needs=NEEDS,
)
def logprobs_negative(answer: Answer, bench: Bench) -> Iterator[Found]:
    for entry in entries_of(answer):
        for item in (entry.chosen, *entry.alternatives):
            if item.logprob > _ROUNDING:
                yield answer.breach(
                    entry.at, "0 at most", f"{item.logprob:g} of {shown(item.token)}"
                )
                return


@BOOK.answer_rule(
    "SEM-LOGPROBS-SUM",
    "MUST",
    "The probabilities of the alternatives of a token add up to 1 at most.",
    source=PROBABILITY,
    guards=WEIGHED,
    when=lambda answer: any(entry.alternatives for entry in entries_of(answer)),
    needs="a completion with alternatives (`top_logprobs`)",
)
def logprobs_sum(answer: Answer, bench: Bench) -> Iterator[Found]:
    for entry in entries_of(answer):
        logprobs = [item.logprob for item in entry.alternatives]
        if logprobs and max(logprobs) <= _ROUNDING and sum(map(math.exp, logprobs)) > _SUM:
            total = sum(map(math.exp, logprobs))
            yield answer.breach((*entry.at, "top_logprobs"), "1 at most", f"{total:.3f}")
            return


@BOOK.answer_rule(
    "SEM-LOGPROBS-COUNT",
    "MUST",
    "There are no more alternatives than the request asks for.",
    source=f"{CHAT_REQUEST}/top_logprobs",
    guards="It keeps a table of so many columns.",
    when=lambda answer: wanted(answer) and has_reports(answer),
    needs=NEEDS,
)
def logprobs_count(answer: Answer, bench: Bench) -> Iterator[Found]:
    asked = alternatives_wanted(answer)
    # The completions document: the sampled token too is told, "up to logprobs+1 elements".
    most = asked if answer.is_chat else asked + 1
    name = "top_logprobs" if answer.is_chat else "logprobs"
    for entry in entries_of(answer):
        if len(entry.alternatives) > most:
            came = str(len(entry.alternatives))
            yield answer.breach(entry.at, f"{most} at most", came, asked=name)
            return


@BOOK.answer_rule(
    "SEM-LOGPROBS-FEW",
    "SHOULD",
    "There are as many alternatives as the request asks for.",
    source=f"{CHAT_REQUEST}/top_logprobs",
    guards="It takes the second best token of every place.",
    when=lambda answer: alternatives_wanted(answer) > 0 and has_reports(answer),
    needs="a completion with alternatives (`top_logprobs`)",
)
def logprobs_few(answer: Answer, bench: Bench) -> Iterator[Found]:
    asked = alternatives_wanted(answer)
    name = "top_logprobs" if answer.is_chat else "logprobs"
    for entry in entries_of(answer):
        if len(entry.alternatives) < asked:
            came = str(len(entry.alternatives))
            yield answer.breach(entry.at, f"{asked} alternatives", came, asked=name)
            return


@BOOK.answer_rule(
    "SEM-LOGPROBS-ORDER",
    "SHOULD",
    "The alternatives of a token come in order, the likeliest first.",
    source=OBSERVED,
    guards="It takes the first one for the best one.",
    when=lambda answer: any(len(e.alternatives) > 1 for e in entries_of(answer)) and answer.is_chat,
    needs="a chat completion with two alternatives or more",
)
def logprobs_order(answer: Answer, bench: Bench) -> Iterator[Found]:
    for entry in entries_of(answer):
        logprobs = [item.logprob for item in entry.alternatives]
        if any(b > a + _ROUNDING for a, b in pairwise(logprobs)):
            came = shown(logprobs)
            yield answer.breach((*entry.at, "top_logprobs"), "falling", came)
            return


@BOOK.answer_rule(
    "SEM-LOGPROBS-DISTINCT",
    "SHOULD",
    "No token stands twice among the alternatives of a token.",
    source=f"{TOKEN}/top_logprobs",
    guards="It adds up what is the same, or keeps the smaller of two values.",
    when=lambda answer: any(len(entry.alternatives) > 1 for entry in entries_of(answer)),
    needs="a completion with two alternatives or more",
)
def logprobs_distinct(answer: Answer, bench: Bench) -> Iterator[Found]:
    for entry in entries_of(answer):
        # Two parts of characters may have one stand-in for their text; what has no text is a mark
        # of the model's own (as the end of a turn), and there are several.
        names = Counter((item.token, item.octets) for item in entry.alternatives if item.token)
        if names and names.most_common(1)[0][1] > 1:
            ((twice, _), count) = names.most_common(1)[0]
            at = (*entry.at, "top_logprobs")
            yield answer.breach(at, "each once", f"{shown(twice)} {count} times")
            return


@BOOK.answer_rule(
    "SEM-LOGPROBS-CHOSEN",
    "MUST",
    "A chosen token that is as likely as the alternatives listed is one of them, with the same "
    "log probability.",
    source=f"{CHAT_REQUEST}/top_logprobs",
    guards="It looks the chosen token up among the likeliest.",
    when=lambda answer: any(entry.alternatives for entry in entries_of(answer)),
    needs="a completion with alternatives (`top_logprobs`)",
)
def logprobs_chosen(answer: Answer, bench: Bench) -> Iterator[Found]:
    for entry in entries_of(answer):
        if not entry.alternatives or not UNTOLD < entry.chosen.logprob <= _ROUNDING:
            continue
        chosen = entry.chosen
        same = [item.logprob for item in entry.alternatives if item.token == chosen.token]
        close = any(abs(value - chosen.logprob) <= 0.01 for value in same)
        rare = chosen.logprob < min(item.logprob for item in entry.alternatives) + _ROUNDING
        # Others may have the same text: parts of characters a stand-in, marks of the model none.
        is_one = bool(chosen.token) and "\ufffd" not in chosen.token
        if not close and ((same and is_one) or not rare):
            listed = ", ".join(f"{i.token!r} {i.logprob:g}" for i in entry.alternatives[:5])
            expected = f"{chosen.token!r} {chosen.logprob:g} among them"
            yield answer.breach(
                (*entry.at, "top_logprobs"), shown(expected)[1:-1], shown(listed)[1:-1]
            )
            return
