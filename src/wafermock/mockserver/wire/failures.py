"""Failures: what a real service, or the network before it, does to a client now and then."""

import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from wafermock.spec.errors import ErrorCatalogue, ErrorEntry

from ..draws import Draws
from ..event_stream import encode_json
from ..refusal import Refusal
from .catalogue import Catalogue, Chosen, Entry, Parameter, Shelf
from .draft import Draft, Event, Write

Values = Mapping[str, Any]

RETRY = "Try again, after a pause that grows, a few times at most."
STARTED = (
    "Keep or drop what came, and say that the answer is not whole; "
    "ask again only if what came has had no effect yet."
)

SLOW = Shelf("SLOW")
BROKEN = Shelf("BROKEN CONNECTIONS")
CUT = Shelf("ANSWERS CUT SHORT")
PROXY = Shelf("PROXIES")


def _seconds(default: float, says: str) -> Parameter:
    return Parameter("seconds", says, default, kind="seconds")


def _after(default: int, says: str) -> Parameter:
    return Parameter("after", says, default)


TOKENS = _after(3, "how many tokens come before it")

# ---------------------------------------------------------------------- time


@SLOW.entry(
    "Nothing comes for a while, not even the head; then all as usual.",
    "Have a time-out for the first byte, longer than a queue may be; do not ask twice meanwhile.",
    _seconds(10.0, "how much later everything comes"),
)
def slow_first_byte(draft: Draft, values: Values, draws: Draws) -> Draft:
    return replace(_later(draft, 0, values["seconds"]), start=draft.start + values["seconds"])


@SLOW.entry(
    "The head comes at once, the first event after a while.",
    "Have a time-out for the first event beside the one for the head.",
    _seconds(10.0, "how much later the first event comes"),
    on="streams",
)
def slow_first_event(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _later(draft, 0, values["seconds"]) if draft.streamed else draft


@SLOW.entry(
    "The stream pauses once between two events, then goes on.",
    "Have a time-out between events (an idle time-out), not only one for the whole answer.",
    TOKENS,
    _seconds(30.0, "how long the pause is"),
    on="streams",
)
def stall(draft: Draft, values: Values, draws: Draws) -> Draft:
    if not draft.streamed:
        return draft
    return _later(draft, draft.at_token(values["after"]), values["seconds"])


@SLOW.entry(
    "Every event comes later than the one before it by a pause: a stream that crawls.",
    "Have a time-out for the whole answer too: no pause is long enough for an idle time-out.",
    _seconds(1.0, "the pause before each event"),
    on="streams",
)
def crawl(draft: Draft, values: Values, draws: Draws) -> Draft:
    pause = values["seconds"]
    events = [
        replace(event, offset=event.offset + number * pause)
        for number, event in enumerate(draft.events, start=1)
    ]
    return replace(draft.with_events(events), end=draft.end + len(events) * pause)


def _later(draft: Draft, first: int, seconds: float) -> Draft:
    """Put off the events from a place on, and the end."""
    events = [
        replace(event, offset=event.offset + seconds) if at >= first else event
        for at, event in enumerate(draft.events)
    ]
    start = draft.start if draft.streamed else draft.start + seconds
    return replace(draft.with_events(events), start=start, end=draft.end + seconds)


# ---------------------------------------------------------------------- the connection


@BROKEN.entry("The connection is reset (TCP RST) before a byte of the answer.", RETRY)
def reset_before_headers(draft: Draft, values: Values, draws: Draws) -> Draft:
    return replace(draft, writes=(), ending="reset", head_bytes=0, end=draft.start)


@BROKEN.entry(
    "The connection is reset inside the head.",
    RETRY,
    _after(20, "how many bytes of the head come"),
)
def reset_in_headers(draft: Draft, values: Values, draws: Draws) -> Draft:
    return replace(draft, writes=(), ending="reset", head_bytes=values["after"], end=draft.start)


@BROKEN.entry(
    "The connection is reset inside the body.",
    STARTED,
    _after(40, "how many bytes of the body come; the last one never does"),
    phase="sent",
)
def reset_in_body(draft: Draft, values: Values, draws: Draws) -> Draft:
    return replace(_until(draft, values["after"]), ending="reset")


@BROKEN.entry(
    "The connection is reset in the stream, between two events.", STARTED, TOKENS, on="streams"
)
def reset(draft: Draft, values: Values, draws: Draws) -> Draft:
    return (
        replace(_first_events(draft, values["after"]), ending="reset") if draft.streamed else draft
    )


@BROKEN.entry("The connection is closed in order (TCP FIN) before a byte of the answer.", RETRY)
def close_before_headers(draft: Draft, values: Values, draws: Draws) -> Draft:
    return replace(draft, writes=(), ending="cut", head_bytes=0, end=draft.start)


@BROKEN.entry(
    "The connection is closed in order inside the body: HTTP tells that more was to come.",
    STARTED,
    _after(40, "how many bytes of the body come; the last one never does"),
    phase="sent",
)
def close_in_body(draft: Draft, values: Values, draws: Draws) -> Draft:
    return replace(_until(draft, values["after"]), ending="cut")


@BROKEN.entry(
    "The connection is closed in order in the stream, between two events, without finishing the "
    "body of HTTP.",
    STARTED,
    TOKENS,
    on="streams",
)
def close(draft: Draft, values: Values, draws: Draws) -> Draft:
    return replace(_first_events(draft, values["after"]), ending="cut") if draft.streamed else draft


def _first_events(draft: Draft, tokens: int) -> Draft:
    kept = draft.events[: draft.at_token(tokens)]
    end = kept[-1].offset if kept else draft.start
    return replace(draft, events=kept, end=end)


def _until(draft: Draft, size: int) -> Draft:
    """Keep so many bytes of the body, but not all of it."""
    total = sum(len(write.data) for write in draft.writes)
    left, kept = min(size, max(total - 1, 0)), []
    for write in draft.writes:
        if left <= 0:
            break
        kept.append(replace(write, data=write.data[:left]))
        left -= len(write.data)
    # What is missing at the end is missing in the declared length as well: say the whole length.
    lost = total - sum(len(write.data) for write in kept)
    end = kept[-1].offset if kept else draft.start
    return replace(draft, writes=tuple(kept), end=end, length_error=draft.length_error + lost)


# ---------------------------------------------------------------------- what is not whole


@CUT.entry(
    "The stream ends in all order of HTTP, but early: no finish reason, no `[DONE]`.",
    "Take an answer without a finish reason for one that was cut.",
    TOKENS,
    on="streams",
)
def unfinished(draft: Draft, values: Values, draws: Draws) -> Draft:
    return _first_events(draft, values["after"]) if draft.streamed else draft


@CUT.entry(
    "The stream is empty: a head, and no event.",
    RETRY,
    Parameter("done", "whether there is a `[DONE]`", "no", kind="choice", choices=("no", "yes")),
    on="streams",
)
def empty_stream(draft: Draft, values: Values, draws: Draws) -> Draft:
    if not draft.streamed:
        return draft
    return draft.with_events([Event("[DONE]", draft.start)] if values["done"] == "yes" else [])


@CUT.entry("The body is empty.", RETRY, on="whole answers")
def no_body(draft: Draft, values: Values, draws: Draws) -> Draft:
    return draft if draft.streamed else replace(draft, body=b"")


@CUT.entry(
    "The JSON ends in the middle, though HTTP is in order; in a stream, that of the event behind "
    "some tokens, and the stream with it.",
    STARTED,
    TOKENS,
)
def half_json(draft: Draft, values: Values, draws: Draws) -> Draft:
    if not draft.streamed:
        return replace(draft, body=draft.body[: len(draft.body) // 2])
    at = draft.at_token(values["after"])
    if at >= len(draft.events):
        return draft
    half = replace(draft.events[at], data=draft.events[at].data[: len(draft.events[at].data) // 2])
    return draft.with_events([*draft.events[:at], half])


@CUT.entry(
    "The body is said to be gzip and ends before its end, though HTTP is in order.",
    STARTED + " Bytes of a checksum are missing: what came cannot be trusted.",
    Parameter("percent", "how much of the compressed body comes", 50, most=99),
    phase="sent",
)
def truncated_gzip(draft: Draft, values: Values, draws: Draws) -> Draft:
    writer = zlib.compressobj(0, wbits=31)  # stored, so that every build of zlib writes the same
    packed = []
    for write in draft.writes:
        data = writer.compress(write.data) + writer.flush(zlib.Z_SYNC_FLUSH)
        packed.append(Write(data, write.offset))
    packed.append(Write(writer.flush(), draft.end))
    size = sum(len(write.data) for write in packed) * values["percent"] // 100
    kept = _until(replace(draft, writes=tuple(packed)), size)
    return replace(kept, length_error=draft.length_error).with_header("content-encoding", "gzip")


# ---------------------------------------------------------------------- what a proxy says

_PAGES = {
    "403": "Forbidden",
    "500": "Internal Server Error",
    "502": "Bad Gateway",
    "503": "Service Temporarily Unavailable",
    "504": "Gateway Time-out",
}


@PROXY.entry(
    "A proxy before the service answers with a page of HTML.",
    "Read the status first, and the body as JSON only where it says that it is JSON. "
    "Try 502, 503 and 504 again, 403 never.",
    Parameter("status", "the status", "502", kind="choice", choices=tuple(_PAGES)),
)
def html_page(draft: Draft, values: Values, draws: Draws) -> Draft:
    title = f"{values['status']} {_PAGES[values['status']]}"
    page = (
        f"<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n"
        f"<center><h1>{title}</h1></center>\r\n<hr><center>proxy</center>\r\n</body>\r\n</html>\r\n"
    )
    return _instead(draft, int(values["status"]), "text/html", page.encode())


def _instead(draft: Draft, status: int, media_type: str, body: bytes) -> Draft:
    start = min(draft.start, draft.end)
    answer = Draft(status, draft.headers, False, body=body, start=start, end=start)
    return answer.with_header("inference-id", None).with_header("content-type", media_type)


# ---------------------------------------------------------------------- errors of the catalogue


@lru_cache(maxsize=8)  # asked for with every request that chooses a failure
def failure_catalogue(errors: ErrorCatalogue) -> Catalogue:
    """Make the catalogue of failures; every error of the error catalogue is one of them."""
    inside = Shelf("ERRORS INSIDE")
    names = tuple(entry.name for entry in errors if entry.shape == "flat")
    which = Parameter(
        "error",
        "the error, by its name in the catalogue",
        "server_error",
        kind="choice",
        choices=names,
    )

    @inside.entry(
        "The stream turns into an error: one event of ErrorChunkResponse behind some tokens, then "
        "the end.",
        "Look for `error` in every event. " + STARTED,
        TOKENS,
        which,
        on="streams",
    )
    def error_event(draft: Draft, values: Values, draws: Draws) -> Draft:
        if not draft.streamed:
            return draft
        cut = _first_events(draft, values["after"])
        error = errors[values["error"]]
        value = {"status_code": error.status, "error": _in_chunk(error)}
        event = Event("", cut.end).holding(value)
        return cut.with_events([*cut.events, event])

    @inside.entry(
        "The body is that of an error, the status is 200.",
        "Look for `choices`, and take an answer without them for an error.",
        which,
    )
    def error_as_200(draft: Draft, values: Values, draws: Draws) -> Draft:
        body = errors[values["error"]].answer()
        return _instead(draft, 200, "application/json", encode_json(body))

    shelves = (SLOW, BROKEN, CUT, PROXY, inside)
    known = [entry for shelf in shelves for entry in shelf.entries]
    return Catalogue("failure", "failures", [*map(_entry_of, errors), *known])


def _in_chunk(error: ErrorEntry) -> dict[str, Any]:
    body = error.answer()
    assert isinstance(body, dict)  # a flat one
    return {name: body.get(name, "") for name in ("message", "type", "param", "code", "id")}


def _entry_of(error: ErrorEntry) -> Entry:
    """Make an error of the catalogue a failure."""

    def refusal(values: Values) -> Refusal:
        headers = {}
        if values["retry_after"] is not None:
            headers["Retry-After"] = str(values["retry_after"])
        if values["should_retry"] is not None:
            headers["x-should-retry"] = values["should_retry"]
        return Refusal(error, headers=headers)

    return Entry(
        name=error.name,
        group="ERRORS",
        says=f"{error.status}: {error.when}",
        advice=RETRY if error.retried else "Do not try again: tell what the message says.",
        on="every answer",
        effect=refusal,
        parameters=(
            Parameter("retry_after", "seconds, for the header Retry-After; none by default", None),
            Parameter(
                "should_retry",
                "for the header x-should-retry; none by default",
                None,
                kind="choice",
                choices=("true", "false"),
            ),
        ),
        stage="refusal",
    )


def refusal_of(chosen: Chosen) -> Refusal | None:
    """Return the error that a failure answers with, for `Mock.refuse`; None: it has no such."""
    if chosen.entry.stage != "refusal":
        return None
    refusal: Refusal = chosen.entry.effect(chosen.values)
    return refusal
