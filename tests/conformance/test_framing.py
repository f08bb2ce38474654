"""FRAMING: every rule is broken by its defects, and kept by every legal delivery."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.conformance.exchange import Arrival, Received
from wafermock.conformance.rules.framing import BOOK
from wafermock.mockserver.wire import DEFECTS, DELIVERIES

from .conftest import ASKED, PROFILES, STREAMS

STREAM = (("Content-Type", "text/event-stream; charset=utf-8"),)
CHUNK = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
DONE = b"data: [DONE]\n\n"

# What breaks, by defect. Where a defect costs clients more than one thing, several rules do.
DEFECTIVE: dict[str, set[str]] = {
    "stream_content_type": {"STREAM-MEDIA-TYPE"},
    "stream_charset": {"STREAM-CHARSET"},
    "invalid_utf8": {"STREAM-UTF8"},
    "unicode_line_ends": {
        "STREAM-LINE-ENDS", "STREAM-CLOSED", "STREAM-EVENTS", "STREAM-DONE", "STREAM-PARSERS",
    },
    "bom_inside": {"STREAM-BOM", "STREAM-BOM-INSIDE", "STREAM-DONE", "STREAM-PARSERS"},
    "no_last_blank_line": {"STREAM-CLOSED", "STREAM-PARSERS"},
    "no_blank_line": {"STREAM-BLANK-LINE", "STREAM-PARSERS"},
    "junk_between": {"STREAM-JUNK"},
    "bare_lines": {"STREAM-JUNK", "STREAM-JSON"},
    "json_lines": {"STREAM-JUNK", "STREAM-EVENTS"},
    "empty_event": {"STREAM-JSON"},
    "torn_json": {"STREAM-JSON"},
    "two_in_one": {"STREAM-JSON"},
    "done_twice": {"STREAM-DONE-ONCE"},
    "done_not_last": {"STREAM-DONE-LAST"},
    "done_misspelt": {"STREAM-DONE-SPELT"},
    "done_quoted": {"STREAM-DONE-SPELT"},
    "junk_after_done": {"STREAM-DONE-LAST"},
    "endless": {"STREAM-END"},
    "endless:seconds=5": {"STREAM-END"},
    "no_last_chunk": {"BODY-END"},
    "content_length": {"BODY-LENGTH"},
    "buffered": {"STREAM-PACE"},
    "stream_ignored": {"STREAM-ASKED"},
    "mixed_line_ends": {"STREAM-ONE-LINE-END"},
    "event_without_data": {"STREAM-DATA", "STREAM-NAMES"},
    "bad_retry": {"STREAM-FIELD-VALUES"},
    "named_events": {"STREAM-NAMES"},
}  # fmt: skip

# Legal, and yet worth a word: none of it is a FAIL.
TOLD: dict[str, dict[str, set[str]]] = {
    "bom": {"STREAM-BOM": {"WARN"}, "STREAM-PARSERS": {"WARN"}},
    "several_data_lines": {"STREAM-PARSERS": {"WARN"}},
    "event_message": {"STREAM-NAMES": {"WARN"}},
    "ids": {"STREAM-FIELDS": {"INFO"}},
    "retry": {"STREAM-FIELDS": {"INFO"}},
    "unknown_field": {"STREAM-FIELDS": {"INFO"}},
    "no_done": {"STREAM-DONE": {"WARN"}},
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("asked", ["chat stream", "tools stream", "two texts stream"])
@pytest.mark.parametrize(("defect", "rules"), DEFECTIVE.items())
def test_defect_breaks_its_rules(
    exchange: Any, broken: Any, defect: str, rules: set[str], asked: str, profile: str
) -> None:
    assert broken(BOOK, exchange(asked, defect=defect, profile=profile), profile).keys() == rules


@pytest.mark.parametrize("asked", ["chat", "text"])
def test_whole_answers(exchange: Any, broken: Any, asked: str) -> None:
    always = exchange(asked, defect="always_streams")
    assert broken(BOOK, always).keys() == {"STREAM-UNASKED"}
    for by in ("7", "-7"):
        wrong = exchange(asked, defect=f"content_length:by={by}")
        assert broken(BOOK, wrong) == {"BODY-LENGTH": {"FAIL"}}


def test_every_defect_of_the_group_is_here() -> None:
    names = {entry.name for entry in DEFECTS.groups["FRAMING"]}
    tried = {defect.partition(":")[0] for defect in DEFECTIVE}
    assert names == tried | {"always_streams"}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("asked", [*ASKED, *STREAMS])
def test_undisturbed_mock_keeps_all(exchange: Any, broken: Any, asked: str, profile: str) -> None:
    assert broken(BOOK, exchange(asked, profile=profile), profile) == {}


@pytest.mark.parametrize("asked", ["chat", *STREAMS])
@pytest.mark.parametrize("delivery", DELIVERIES)
def test_deliveries_are_legal(exchange: Any, broken: Any, asked: str, delivery: str) -> None:
    told = broken(BOOK, exchange(asked, delivery=delivery))
    assert told == (TOLD.get(delivery, {}) if asked.endswith("stream") else {})


# What no defect of the mock shows.
BODIES: list[tuple[bytes, set[str]]] = [
    (CHUNK + DONE, set()),
    (CHUNK.replace(b"\n", b"\r\n") + DONE, {"STREAM-ONE-LINE-END"}),
    (b"event: ping\n\n" + CHUNK + DONE, {"STREAM-DATA", "STREAM-NAMES"}),
    (b"retry: soon\n" + CHUNK + DONE, {"STREAM-FIELD-VALUES"}),
    (b"id: 1\0\n" + CHUNK + DONE, {"STREAM-FIELD-VALUES"}),
    (b"", {"STREAM-EVENTS", "STREAM-DONE"}),
    (DONE, {"STREAM-EVENTS"}),
    (CHUNK + DONE + b": bye\n\n", set()),
    (CHUNK + DONE + b"bye", {"STREAM-DONE-LAST", "STREAM-JUNK"}),
    (CHUNK + b"data: [DONE]\n", {"STREAM-CLOSED", "STREAM-PARSERS"}),
    (b'data: {"status_code":500,"error":{}}\n\n', set()),
    (CHUNK.replace(b'"x"', '"a\u2028data:b"'.encode()) + DONE, set()),
]


@pytest.mark.parametrize(("body", "rules"), BODIES)
def test_bodies(exchange: Any, broken: Any, body: bytes, rules: set[str]) -> None:
    received = Received(200, headers=STREAM, arrivals=(Arrival(0.1, body),))
    assert broken(BOOK, exchange("chat stream", received=received)).keys() == rules


@pytest.mark.parametrize("ended", ["cut", "timeout", "left", "overlong"])
def test_what_is_cut_off_is_not_missing(exchange: Any, broken: Any, ended: Any) -> None:
    """Only the end itself is told of, and not even that where the judge hung up."""
    received = Received(200, "", STREAM, (Arrival(0.1, CHUNK + b"data: {"),), ended)
    told = broken(BOOK, exchange("chat stream", received=received))
    assert told.keys() == ({"BODY-END"} if ended == "cut" else set())


@pytest.mark.parametrize("ended", ["cut", "timeout", "left", "overlong"])
def test_a_torn_line_is_no_junk(exchange: Any, broken: Any, ended: Any) -> None:
    """Wherever a stream ends that does not end by itself: in a name, in a character, in a value."""
    body = 'data: {"choices":[{"index":0,"delta":{"content":"漢🙂"}}]}\n\n: x\n'.encode()
    for size in range(len(body)):
        arrivals = (Arrival(0.0, CHUNK + body[:size]),)
        received = Received(200, headers=STREAM, arrivals=arrivals, ended=ended)
        told = broken(BOOK, exchange("chat stream", received=received)).keys()
        assert told == ({"BODY-END"} if ended == "cut" else set()), body[:size]


def test_time_of_the_prompt_is_no_buffering(exchange: Any, broken: Any) -> None:
    def told(time_info: bytes) -> set[str]:
        last = b'data: {"choices":[],"time_info":' + time_info + b"}\n\n"
        arrivals = (Arrival(1.0, CHUNK * 20 + last + DONE),)
        received = Received(200, headers=STREAM, arrivals=arrivals, seconds=1.0)
        return set(broken(BOOK, exchange("chat stream", received=received)))

    assert told(b'{"queue_time":0.1,"prompt_time":0.8}') == set()
    assert told(b'{"queue_time":0.1,"prompt_time":0.1}') == {"STREAM-PACE"}
    assert told(b"null") == told(b'{"queue_time":"long"}') == {"STREAM-PACE"}


def test_bodyless_answers_have_no_length(exchange: Any, broken: Any) -> None:
    received = Received(204, headers=(("Content-Length", "7"),))
    assert broken(BOOK, exchange("chat", received=received)) == {}


PIECES = st.sampled_from(
    [
        *(
            b"data:",
            b"data",
            b": ",
            b"\n",
            b"\r",
            b"\r\n\r\n",
            b"[DONE]",
            b"[done]",
            b"{",
            b"}",
            b'"',
        ),
        *(b",", b"[", b"NaN", b"retry:x", b"id:\0", b"\xff", b"\x1f\x8b\x08"),
        *(b'{"choices":[]}', b'{"choices":[{"index":0}]}', b'{"time_info":{"queue_time":1e999}}'),
        *(b'{"error":1}', b"\xef\xbb\xbf", b"\xe2\x80\xa8"),
    ]
)
HEADERS = st.lists(
    st.tuples(
        st.sampled_from(
            ["Content-Type", "Content-Encoding", "Content-Length", "Transfer-Encoding"]
        ),
        st.sampled_from(
            ["text/event-stream", "application/json", "gzip", "deflate", "7", "-1", "x;"]
        ),
    ),
    max_size=4,
)


@given(
    st.lists(PIECES | st.binary(max_size=8), max_size=30),
    HEADERS,
    st.sampled_from(["complete", "cut", "timeout", "left", "overlong"]),
    st.sampled_from(["chat", "chat stream", "text stream"]),
)
def test_nothing_raises(
    exchange: Any, broken: Any, body: list[bytes], headers: Any, ended: Any, asked: str
) -> None:
    arrivals = tuple(Arrival(at / 10, piece) for at, piece in enumerate(body))
    received = Received(200, "", tuple(headers), arrivals, ended)
    broken(BOOK, exchange(asked, received=received))
