"""SEMANTICS: alternatives to a token that are none, and lists that do not match."""

from collections.abc import Callable, Mapping
from typing import Any

from ...draws import Draws
from ..catalogue import Shelf
from ..draft import Draft, choices_in

Values = Mapping[str, Any]
Change = Callable[[dict[str, Any]], object]

PROBABILITIES = Shelf("SEMANTICS")
ALTERNATIVES = "The alternatives of a token are as many as asked for, and can be probabilities."
ON_LOGPROBS = "answers with logprobs"


def _entries(draft: Draft, change: Change) -> Draft:
    """Change each token of chat's log probabilities that has two alternatives or more."""

    def change_all(value: dict[str, Any]) -> None:
        for choice in choices_in(value):
            report = choice.get("logprobs")
            content = report.get("content") if isinstance(report, dict) else None
            for entry in content if isinstance(content, list) else ():
                if len(entry.get("top_logprobs") or ()) > 1:
                    change(entry)

    return draft.edited(change_all)


@PROBABILITIES.entry(
    "The probabilities of the alternatives add up to more than 1.", ALTERNATIVES, on=ON_LOGPROBS
)
def alternatives_sum(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(entry: dict[str, Any]) -> None:
        entry["logprob"] = -0.1
        for alternative in entry["top_logprobs"]:
            alternative["logprob"] = -0.1

    return _entries(draft, change)


@PROBABILITIES.entry("An alternative is named twice.", ALTERNATIVES, on=ON_LOGPROBS)
def alternatives_twice(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(entry: dict[str, Any]) -> None:
        *rest, _ = entry["top_logprobs"]
        entry["top_logprobs"] = [*rest, rest[-1]] if rest[-1]["logprob"] < -0.7 else [rest[0]] * 2

    return _entries(draft, change)


@PROBABILITIES.entry(
    "The chosen token is not among the likeliest, though it is one.", ALTERNATIVES, on=ON_LOGPROBS
)
def chosen_missing(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(entry: dict[str, Any]) -> None:
        entry["top_logprobs"][0] = {"token": "¤", "logprob": entry["top_logprobs"][0]["logprob"]}

    return _entries(draft, change)


@PROBABILITIES.entry(
    "The lists of a completion's log probabilities are not equally long.",
    "The lists of a completion's log probabilities are equally long.",
    on="completions with logprobs",
)
def logprob_lists(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(value: dict[str, Any]) -> None:
        for choice in choices_in(value):
            report = choice.get("logprobs")
            if isinstance(report, dict) and report.get("token_logprobs"):
                report["token_logprobs"].pop()

    return draft.edited(change)
