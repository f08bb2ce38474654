"""HEADERS: fields of HTTP itself that are missing, wrong, or there twice."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ...draws import Draws
from ..catalogue import Parameter, Shelf
from ..draft import Draft

Values = Mapping[str, Any]

FIELDS = Shelf("HEADERS")
DATE = "Every answer has a Date, in the form of HTTP (RFC 9110, section 5.6.7)."


@FIELDS.entry("There is no `Date`.", DATE)
def no_date(draft: Draft, values: Values, draws: Draws) -> Draft:
    return replace(draft, withheld=draft.withheld | {"date"})


@FIELDS.entry(
    "`Date` is in a form that HTTP does not have.",
    DATE,
    Parameter("value", "what it says", "2026-01-01T00:00:00Z", kind="text"),
)
def date_form(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft.with_header("date", values["value"])


@FIELDS.entry(
    "There is no `Content-Type`.", "An answer with a body has a Content-Type (RFC 9110, 8.3)."
)
def no_content_type(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft.with_header("content-type", None)


@FIELDS.entry(
    "`Content-Length` stands beside `Transfer-Encoding`.",
    "Content-Length stands once, and not beside Transfer-Encoding (RFC 9112, section 6.1).",
    on="streams",
)
def length_beside_chunks(draft: Draft, values: Values, draws: Draws) -> Draft:
    if not draft.streamed or draft.framing in ("length", "close"):
        return draft
    return replace(draft, more=(*draft.more, ("content-length", "7")))


@FIELDS.entry(
    "`x-request-id` stands twice, with two ids.",
    "A header with one value stands once (RFC 9110, section 5.3).",
)
def request_id_twice(draft: Draft, values: Values, draws: Draws) -> Draft:
    return replace(draft, headers=(*draft.headers, ("x-request-id", draws.uuid4())))


@FIELDS.entry(
    "A header stands in the answer that is for a proxy.",
    "No header of another hop stands in an answer (RFC 9110, section 7.6.1).",
)
def hop_header(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft.with_header("proxy-connection", "keep-alive")


@FIELDS.entry(
    "An answer to HEAD has a body, right behind its head.",
    "An answer to HEAD has no body (RFC 9110, section 9.3.2).",
    on="answers to HEAD",
)
def body_behind_head(draft: Draft, values: Values, draws: Draws) -> Draft:
    return replace(draft, bodied=True, joined=True) if draft.method == "HEAD" else draft
