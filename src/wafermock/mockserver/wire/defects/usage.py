"""SEMANTICS: numbers of tokens, times and ids that cannot be."""

from collections.abc import Callable, Mapping
from typing import Any

from ...draws import Draws
from ..catalogue import Shelf
from ..draft import Draft

Values = Mapping[str, Any]
Change = Callable[[dict[str, Any]], object]

USAGE = Shelf("SEMANTICS")
COUNTED = "`usage` counts what went in and what came out."


def of_completions(draft: Draft, key: str, change: Change) -> Draft:
    """Change the object under a key of a whole completion, or of each chunk that has it."""

    def change_all(value: dict[str, Any]) -> None:
        if "choices" in value and isinstance(value.get(key), dict):
            change(value[key])

    return draft.edited(change_all)


@USAGE.entry("A whole answer has no `usage`.", COUNTED, on="whole completions")
def usage_missing(draft: Draft, values: Values, draws: Draws) -> Draft:
    if draft.streamed:
        return draft
    return draft.edited(lambda value: "choices" in value and value.pop("usage", None))


@USAGE.entry("The number of cached tokens is negative.", COUNTED, on="completions")
def usage_negative(draft: Draft, values: Values, draws: Draws) -> Draft:
    return of_completions(
        draft, "usage", lambda usage: usage.update(prompt_tokens_details={"cached_tokens": -128})
    )


@USAGE.entry(
    "The parts of the completion are, together, more than all of it.", COUNTED, on="completions"
)
def usage_parts(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(usage: dict[str, Any]) -> None:
        written = usage.get("completion_tokens", 0)
        names = ("reasoning_tokens", "accepted_prediction_tokens")
        usage["completion_tokens_details"] = dict.fromkeys(names, written)

    return of_completions(draft, "usage", change)


@USAGE.entry("More tokens are of images than the prompt has.", COUNTED, on="completions")
def images_over_prompt(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(usage: dict[str, Any]) -> None:
        usage["image_tokens"] = usage.get("prompt_tokens", 0) + 1

    return of_completions(draft, "usage", change)


@USAGE.entry("The prompt is not counted.", COUNTED, on="chat completions")
def prompt_zero(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(usage: dict[str, Any]) -> None:
        usage.update(prompt_tokens=0, total_tokens=usage.get("completion_tokens", 0))
        usage.pop("image_tokens", None)
        usage["prompt_tokens_details"] = {"cached_tokens": 0}

    return of_completions(draft, "usage", change)


@USAGE.entry("The time in the queue is negative.", "No time is negative.", on="completions")
def time_negative(draft: Draft, values: Values, draws: Draws) -> Draft:
    return of_completions(draft, "time_info", lambda times: times.update(queue_time=-0.5))


@USAGE.entry(
    "`time_info.created` is the time since the server was started.",
    "time_info.created is a Unix time in seconds.",
    on="completions",
)
def time_created(draft: Draft, values: Values, draws: Draws) -> Draft:
    return of_completions(draft, "time_info", lambda times: times.update(created=1.5))


@USAGE.entry("The id has another prefix.", "Ids begin with `chatcmpl-`.", on="chat completions")
def id_prefix(draft: Draft, values: Values, draws: Draws) -> Draft:
    def change(value: dict[str, Any]) -> None:
        if "choices" in value and isinstance(value.get("id"), str):
            value["id"] = value["id"].removeprefix("chatcmpl-")

    return draft.edited(change)
