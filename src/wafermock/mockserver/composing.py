"""What both kinds of completion share on the way from a call to a Completion."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from wafermock.spec.models import ModelCatalogue

from .call import Call
from .completion import Choice, Completion, TimeInfo, Usage
from .draws import Draws, digest, uuid4


def complete(
    call: Call,
    model: str,
    choices: Iterable[Choice],
    usage: Usage,
    models: ModelCatalogue,
) -> Completion:
    """Put an answer together: who made it, what it holds, what it took.

    `usage` brings what is known of the prompt and the prediction; the choices are added to it.
    """
    made = tuple(choices)
    written = sum(choice.token_count for choice in made)
    usage = replace(
        usage,
        completion_tokens=usage.completion_tokens + written,
        reasoning_tokens=sum(len(choice.reasoning) for choice in made),
    )
    speed = models[model]["speed"]
    schedule = None
    if call.pace:
        prompt, written = usage.prompt_tokens, usage.completion_tokens
        queue_time = call.moment.queue_time
        schedule = call.pace.schedule(call.identity, speed, prompt, written, queue_time)
    return Completion(
        id="chatcmpl-" + uuid4(digest("id", call.identity)),
        created=int(call.moment.time),
        model=model,
        system_fingerprint=_fingerprint(model, call.fingerprint),
        choices=made,
        usage=usage,
        time_info=schedule.time_info(call.moment.time)
        if schedule
        else _time_info(usage, speed, call),
        schedule=schedule,
    )


@lru_cache(maxsize=256)
def _fingerprint(model: str, contract: str) -> str:
    return "fp_" + digest("fingerprint", model, contract).hex()[:20]


def _time_info(usage: Usage, speed: dict[str, Any], call: Call) -> TimeInfo:
    """Say how long an unpaced answer would have taken at the model's own speed."""
    draws = Draws("time", call.identity)
    queue = call.moment.queue_time
    queue = round(draws.between(0.0001, 0.001), 9) if queue is None else queue
    prompt = round(usage.prompt_tokens / speed["prompt"], 9)
    completion = round(usage.completion_tokens / speed["completion"], 9)
    total = round(queue + prompt + completion + draws.between(0.0005, 0.002), 9)
    return TimeInfo(queue, prompt, completion, total, round(call.moment.time + total, 6))


def head(completion: Completion, choices: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    """Write what every answer and every chunk begins with, in the API's order."""
    return {
        "id": completion.id,
        "choices": choices,
        "created": completion.created,
        "model": completion.model,
        "system_fingerprint": completion.system_fingerprint,
        "object": kind,
    }


def usage_json(usage: Usage) -> dict[str, Any]:
    """Write usage as both operations do."""
    written: dict[str, Any] = {
        "total_tokens": usage.total_tokens,
        "completion_tokens": usage.completion_tokens,
        "completion_tokens_details": {
            "accepted_prediction_tokens": usage.accepted_prediction_tokens,
            "rejected_prediction_tokens": usage.rejected_prediction_tokens,
            "reasoning_tokens": usage.reasoning_tokens,
        },
        "prompt_tokens": usage.prompt_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }
    if usage.image_tokens is not None:
        written["image_tokens"] = usage.image_tokens
    return written


def time_info_json(time_info: TimeInfo) -> dict[str, Any]:
    """Write times as both operations do, in seconds."""
    return {
        "queue_time": time_info.queue_time,
        "prompt_time": time_info.prompt_time,
        "completion_time": time_info.completion_time,
        "total_time": time_info.total_time,
        "created": time_info.created,
    }
