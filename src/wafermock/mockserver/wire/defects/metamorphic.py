"""METAMORPHIC: requests that mean the same are answered differently; answers get mixed up."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ...draws import Draws
from ...event_stream import encode_json
from ...exchange import Answer, Request
from ..catalogue import Shelf
from ..draft import Draft, encoded
from ..requests import body_of, otherwise
from ..texts import reworded

Values = Mapping[str, Any]

METAMORPHIC = Shelf("METAMORPHIC")
JOINED = "A stream, joined, is the whole answer."
ABSENT = "null, the default and absence mean the same."
SPELLING = "White space and the order of keys mean nothing."
APART = "Calls at the same time do not mix."


@METAMORPHIC.entry(
    "A stream loses its last word: it is not the whole answer.", JOINED, on="streams"
)
def stream_text_differs(draft: Draft, values: Values, draws: Draws) -> Draft:
    return reworded(draft, lambda text: text[:-1]) if draft.streamed else draft


@METAMORPHIC.entry(
    "A stream says something else than the whole answer.", JOINED, on="streams", stage="request"
)
def stream_differs(request: Request, values: Values, position: int) -> Request:
    return _if(request, lambda body: body.get("stream") is True)


@METAMORPHIC.entry(
    "A null is not the same as nothing.", ABSENT, on="requests with null", stage="request"
)
def null_differs(request: Request, values: Values, position: int) -> Request:
    return _if(request, lambda body: None in body.values())


@METAMORPHIC.entry(
    "`n: 1` is not the same as nothing.", ABSENT, on="requests with n", stage="request"
)
def n_one_differs(request: Request, values: Values, position: int) -> Request:
    return _if(request, lambda body: body.get("n") == 1)


@METAMORPHIC.entry(
    "A default that is sent is not the same as nothing.",
    ABSENT,
    on="requests with temperature 1, top_p 1 or stream false",
    stage="request",
)
def default_differs(request: Request, values: Values, position: int) -> Request:
    def says_default(body: dict[str, Any]) -> bool:
        return body.get("temperature") == 1 or body.get("top_p") == 1 or body.get("stream") is False

    return _if(request, says_default)


@METAMORPHIC.entry(
    "More white space makes another request.", SPELLING, on="requests with space", stage="request"
)
def white_space_differs(request: Request, values: Values, position: int) -> Request:
    return _if(request, lambda body: len(encoded(body)) < len(request.body))


@METAMORPHIC.entry(
    "Keys in another order make another request.",
    SPELLING,
    on="requests that do not begin with the model",
    stage="request",
)
def key_order_differs(request: Request, values: Values, position: int) -> Request:
    return _if(request, lambda body: next(iter(body), "") != "model")


@METAMORPHIC.entry(
    "The same request is answered otherwise every time, seed or not.",
    "The same seed at temperature 0 gives the same answer.",
    on="completions",
    stage="request",
)
def unrepeatable(request: Request, values: Values, position: int) -> Request:
    return otherwise(request, f"number {position}")


@METAMORPHIC.entry(
    "A call gets the answer of the call before it, of those that this was chosen for too.",
    APART,
    on="completions",
    stage="service",
)
def mixed_up(answer: Answer, previous: Answer | None, left: bool) -> Answer:
    # The form is what was asked for, whoever asked.
    return previous if previous is not None and previous.streamed == answer.streamed else answer


@METAMORPHIC.entry(
    "A client that hangs up spoils the next call.",
    "A client that hangs up in a stream harms no other.",
    on="every answer",
    stage="service",
)
def hang_up_spoils(answer: Answer, previous: Answer | None, left: bool) -> Answer:
    if not left:
        return answer
    body = encode_json({"message": "worker lost", "type": "server_error", "param": "", "code": ""})
    headers = {**answer.headers, "content-type": "application/json"}
    return replace(answer, status=500, headers=headers, parts=(body,), streamed=False, offsets=None)


def _if(request: Request, condition: Any) -> Request:
    body = body_of(request)
    return otherwise(request) if body is not None and condition(body) else request
