"""Plans, without a socket."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wafermock.mockserver.draws import Draws
from wafermock.mockserver.event_stream import frame_events
from wafermock.mockserver.exchange import Answer
from wafermock.mockserver.wire import DEFECTS, DELIVERIES, Plan, failure_catalogue, plan
from wafermock.spec import load_contract

from_draws = Draws("test")
STREAM = {"content-type": "text/event-stream; charset=utf-8", "x-request-id": "r"}
JSON = {"content-type": "application/json", "inference-id": "a"}
CHUNK = {"id": "a", "choices": [{"index": 0, "delta": {"content": "é b"}}], "object": "c"}
FINISH = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": {}}
# Answers that scripts may give: whole, broken, empty, odd.
ODD: list[Answer] = [
    Answer(200, STREAM, frame_events([CHUNK, FINISH, {"data": "[DONE]"}]), True),
    Answer(200, STREAM, frame_events([CHUNK, FINISH]), True, offsets=(0.5, 1.5)),
    Answer(200, STREAM, frame_events([{"event": "ping", "id": "3", "data": "a\nb"}]), True),
    Answer(200, STREAM, (b"no event at all", b"data: {\r\n\r\n", b"\xff\n\n", b": c\n\n"), True),
    Answer(200, STREAM, (), True),
    Answer(200, STREAM, frame_events([{"choices": 3}, {"choices": [4]}, {"choices": None}]), True),
    Answer(200, STREAM, frame_events([{"choices": [{"delta": {"tool_calls": [
        {"function": None}, 3, {"function": {"arguments": 3}, "index": "x"}]}}]}]), True),
    Answer(200, JSON, (b'{"choices":[],"usage":3,"time_info":null,"created":null}',)),
    Answer(200, JSON, (b'{"choices":[{"logprobs":{"content":[]},"message":null}]}',)),
    Answer(200, JSON, (b"[1]",)),
    Answer(200, JSON, (rb'{"choices":[{"message":{"content":"\ud83d"}}],"object":"\ud83d"}',)),
    Answer(200, STREAM, frame_events([{"data": r'{"choices":[],"id":"\ud83d"}'}]), True),
    Answer(200, JSON, (b"",)),
    Answer(200, {}, ()),
    Answer(204, {}, ()),
    Answer(400, JSON, (b'{"message":"m","type":"t","param":"","code":""}',)),
    Answer(422, JSON, (b'{"detail":[{"msg":"m","loc":[],"type":"t"}]}',)),
    Answer(422, JSON, (b'{"detail":["odd", 3]}',)),
    Answer(502, {"content-type": "text/html"}, ("<p>ä</p>".encode("latin-1"),)),
]  # fmt: skip
FAILURES = failure_catalogue(load_contract("observed").errors)
ACTING = [e.name for e in FAILURES.values() if e.stage == "answer"]


def joined(made: Plan) -> bytes:
    return b"".join(write.data for write in made.writes)


@pytest.mark.parametrize("answer", ODD)
@pytest.mark.parametrize("version", [(1, 1), (1, 0)])
def test_nothing_chosen_nothing_changed(answer: Answer, version: tuple[int, int]) -> None:
    made = plan(answer, http_version=version, draws=from_draws)
    assert joined(made) == answer.body
    assert made.status == answer.status
    kept = [pair for pair in made.headers if pair[0].islower()]
    assert kept == list(answer.headers.items())
    assert (made.applied, made.idle, made.version) == ((), (), "HTTP/1.1")


@pytest.mark.parametrize("name", ["chat", "chat stream", "tools stream", "json stream", "error"])
def test_a_real_answer_keeps_its_bytes(name: str, planned: Any, answers: Any) -> None:
    assert joined(planned(name)) == answers(name).body


def told(made: Plan) -> dict[str, str]:
    """The headers that a plan is the author of."""
    return {name: value for name, value in made.headers if not name.islower()}


def test_framing_and_connection(planned: Any) -> None:
    def of(answer: str, **more: Any) -> tuple[dict[str, str], str, str]:
        made = planned(answer, keep_alive=True, **more)
        return told(made), made.framing, made.ending

    assert of("chat stream") == ({"Transfer-Encoding": "chunked"}, "chunked", "keep")
    headers, framing, ending = of("chat")
    assert (list(headers), framing, ending) == (["Content-Length"], "length", "keep")
    assert of("chat stream", http_version=(1, 0)) == ({"Connection": "close"}, "close", "close")
    headers, framing, ending = of("chat", http_version=(1, 0))
    assert (headers["Connection"], framing, ending) == ("keep-alive", "length", "keep")
    assert of("chat", delivery="http_1_0")[1:] == ("close", "close")
    assert of("chat", failure="reset_in_body")[2] == "reset"
    assert told(planned("chat stream"))["Connection"] == "close"


def test_head_and_204_have_no_body(planned: Any, answers: Any) -> None:
    made = planned("chat", method="HEAD")
    assert made.writes == ()
    assert told(made)["Content-Length"] == str(len(answers("chat").body))
    assert len(list(planned("chat stream", method="HEAD").wire())) == 1
    assert told(planned(Answer(204, {}, ()), keep_alive=True)) == {}


def test_headers_hold_no_line_ends() -> None:
    answer = Answer(200, {"x-a": "1\r\nset-cookie: b\n\0"}, (b"",))
    (head,) = plan(answer, draws=from_draws).wire("OK")
    assert head.data.startswith(b"HTTP/1.1 200 OK\r\nx-a: 1  set-cookie: b  \r\nContent-Length: 0")


def test_headers_of_the_server_do_not_stand_twice() -> None:
    answer = Answer(200, {"server": "mine"}, (b"",))
    more = (("Server", "w"), ("Date", "d"))
    (head,) = plan(answer, draws=from_draws).wire("OK", more)
    assert head.data.lower().count(b"server: ") == 1
    assert b"\r\nDate: d\r\n" in head.data


def test_what_acts_elsewhere_is_not_named(planned: Any) -> None:
    made = planned("chat", failure="server_error", defects=("n_ignored", "invalid_accepted"))
    assert made == planned("chat")
    made = planned("chat", failure="stall", defects=("same_id",))
    assert (made.applied, made.idle) == (("same_id",), ("stall",))


def test_breaks_are_counted_in_tokens(planned: Any, answers: Any) -> None:
    """With one event more for every token or so, and never more than all of them."""
    sizes = [
        len(planned("chat stream", failure=f"unfinished:after={n}", delivery="one_write_an_event")
            .writes)
        for n in (0, 1, 2, 4, 8, 16, 32, 1000)
    ]  # fmt: skip
    assert sizes[0] == 1
    assert sizes == sorted(sizes)
    assert sizes[-1] == len(answers("chat stream").parts) - 2  # without finish and [DONE]


DRAWN = st.tuples(
    st.sampled_from([None, *DELIVERIES]),
    st.sampled_from([None, *ACTING]),
    st.lists(st.sampled_from(list(DEFECTS)), max_size=3),
    st.sampled_from([(1, 0), (1, 1)]),
    st.sampled_from(["GET", "HEAD", "POST"]),
)


def check(answer: Answer, drawn: Any) -> None:
    delivery, failure, defects, version, method = drawn

    def make() -> Plan:
        return plan(
            answer,
            http_version=version,
            method=method,
            delivery=delivery and DELIVERIES.parse(delivery),
            failure=failure and FAILURES.parse(failure),
            defects=[DEFECTS.parse(name) for name in defects],
            draws=Draws("a"),
        )

    made = make()
    assert made == make()
    writes = list(made.wire("OK"))
    times = [write.offset for write in writes]
    assert times == sorted(times)
    assert not times or made.end >= times[-1]
    assert all(write.data for write in writes)
    if made.framing == "close":
        assert made.ending != "keep"


@given(st.sampled_from(ODD), DRAWN)
@settings(max_examples=200)
def test_any_choice_for_odd_answers(answer: Answer, drawn: Any) -> None:
    check(answer, drawn)


REAL = ("chat", "chat stream", "text stream", "two stream", "tools", "tools stream",
        "tools whole stream", "json stream", "logprobs stream", "error")  # fmt: skip


@given(name=st.sampled_from(REAL), drawn=DRAWN)
@settings(max_examples=100)
def test_any_choice_for_real_answers(name: str, drawn: Any, answers: Any) -> None:
    check(answers(name), drawn)


@pytest.mark.parametrize("entry", [*DELIVERIES, *ACTING, *DEFECTS])
def test_every_entry_for_odd_answers(entry: str) -> None:
    delivery = entry if entry in DELIVERIES else None
    failure = entry if entry in ACTING else None
    defects = [entry] if entry in DEFECTS else []
    for answer in ODD:
        check(answer, (delivery, failure, defects, (1, 1), "POST"))
