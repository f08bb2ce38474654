"""HEADERS: what stands beside the body, and does not fit."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ...draws import Draws
from ..catalogue import Parameter, Shelf
from ..draft import Draft

Values = Mapping[str, Any]

HEADERS = Shelf("HEADERS")
REQUEST_ID = "Every answer has an `x-request-id`, each its own."
LIMITS = "Rate-limit headers are numbers, fit each other, and fall from call to call."


@HEADERS.entry("There is no `x-request-id`.", REQUEST_ID)
def no_request_id(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft.with_header("x-request-id", None)


@HEADERS.entry("Every answer has the same `x-request-id`.", REQUEST_ID)
def same_request_id(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft.with_header("x-request-id", "00000000-0000-4000-8000-000000000000")


@HEADERS.entry(
    "`inference-id` is not the id of the body.", "inference-id is the body's id.", on="completions"
)
def inference_id(draft: Draft, values: Values, draws: Draws) -> Draft:
    if draft.header("inference-id") is None:
        return draft
    return draft.with_header("inference-id", f"chatcmpl-{draws.uuid4()}")


@HEADERS.entry("More is left of a limit than the limit is.", LIMITS)
def limit_exceeded(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _limits(draft, {"limit": "100", "remaining": "200", "reset": "1.5"})


@HEADERS.entry("What is left of a limit is no number.", LIMITS)
def limit_not_a_number(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _limits(draft, {"limit": "100", "remaining": "many", "reset": "soon"})


@HEADERS.entry("What is left of a limit does not fall: it is the limit, at every call.", LIMITS)
def limit_does_not_fall(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _limits(draft, {"limit": "100", "remaining": "100", "reset": "1.5"})


@HEADERS.entry("A limit is reset in the past.", LIMITS)
def limit_reset_negative(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _limits(draft, {"limit": "100", "remaining": "50", "reset": "-1"})


@HEADERS.entry("What is left of a limit is told, the limit is not.", LIMITS)
def limit_untold(draft: Draft, values: Values, draws: Draws) -> Draft:
    told = _limits(draft, {"remaining": "50"})
    kept = [p for p in told.headers if not p[0].lower().startswith("x-ratelimit-limit")]
    return replace(told, headers=tuple(kept))


def _limits(draft: Draft, figures: dict[str, str]) -> Draft:
    for unit in ("requests-day", "tokens-minute"):
        for name, value in figures.items():
            draft = draft.with_header(f"x-ratelimit-{name}-{unit}", value)
    return draft


@HEADERS.entry(
    "`Retry-After` is neither a number of seconds nor a date.",
    "Retry-After is seconds or a date (RFC 9110, section 10.2.3).",
)
def retry_after(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft.with_header("retry-after", "soon")


@HEADERS.entry(
    "Caches are allowed to keep an answer.", "No cache may keep an answer, or serve it to others."
)
def cacheable(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft.with_header("cache-control", "public, max-age=3600")


@HEADERS.entry(
    "Every page of the web may read answers, with the user's credentials.",
    "Access-Control-Allow-Origin: * goes with no credentials (Fetch, 3.3.3).",
)
def cors(draft: Draft, values: Values, draws: Draws) -> Draft:
    opened = draft.with_header("access-control-allow-origin", "*")
    return opened.with_header("access-control-allow-credentials", "true")


@HEADERS.entry(
    "A header that stands once stands twice.",
    "Content-Type stands once (RFC 9110, section 5.3).",
    Parameter("value", "the second one", "text/plain", kind="text"),
)
def content_type_twice(draft: Draft, values: Values, draws: Draws) -> Draft:
    return replace(draft, headers=(*draft.headers, ("content-type", values["value"])))
