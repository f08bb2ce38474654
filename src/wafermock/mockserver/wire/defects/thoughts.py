"""SEMANTICS: thoughts that are shown where they should not be, or counted otherwise."""

from collections.abc import Mapping
from typing import Any

from ...draws import Draws
from ..catalogue import Shelf
from ..draft import Draft, choices_in, message_in
from .usage import Change, of_completions

Values = Mapping[str, Any]

THOUGHTS = Shelf("SEMANTICS")
SHOWN = "Thoughts are shown as `reasoning_format` says, and counted."
ON_THOUGHTS = "chat completions with thoughts"


def _words(draft: Draft, change: Change) -> Draft:
    return draft.edited(lambda value: [change(message_in(choice)) for choice in choices_in(value)])


@THOUGHTS.entry("Thoughts are counted and not shown.", SHOWN, on=ON_THOUGHTS)
def thoughts_lost(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _words(draft, lambda words: words.pop("reasoning", None))


@THOUGHTS.entry("Thoughts are shown and not counted.", SHOWN, on=ON_THOUGHTS)
def thoughts_uncounted(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(usage: dict[str, Any]) -> None:
        if usage.get("completion_tokens_details", {}).get("reasoning_tokens"):
            usage["completion_tokens_details"]["reasoning_tokens"] = 0

    return of_completions(draft, "usage", change)


@THOUGHTS.entry(
    "Thoughts stand under `reasoning_content`.", "Thoughts stand under `reasoning`.", on=ON_THOUGHTS
)
def reasoning_content(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(words: dict[str, Any]) -> None:
        if "reasoning" in words:
            words["reasoning_content"] = words.pop("reasoning")

    return _words(draft, change)
