"""The journal: bounded, masked, ordered, and safe to use from many threads."""

import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.control.entry import Miss, Why
from wafermock.mockserver.control.journal import Filter, Journal
from wafermock.mockserver.exchange import Answer, Cost, Request

OK = Answer(200, {"content-type": "application/json"}, (b"{}",))


def request(text: str = "hi", model: str = "m", path: str = "/v1/chat/completions") -> Request:
    body = {"model": model, "messages": [{"role": "user", "content": text}]}
    return Request(
        "POST", path, "", {"content-type": "application/json"}, json.dumps(body).encode()
    )


def numbers(journal: Journal, **wanted: Any) -> list[int]:
    return [entry.number for entry in journal.find(Filter(**wanted))]


# ---------------------------------------------------------------- bounds


@given(
    st.lists(st.integers(0, 3000), max_size=40),
    st.integers(1, 12),
    st.integers(1024, 40_000),
)
def test_it_never_holds_more_than_it_may(sizes: list[int], entries: int, limit: int) -> None:
    gone: list[int] = []
    journal = Journal(entries, limit, lambda old: gone.extend(e.number for e in old))
    for size in sizes:
        journal.record(Request("POST", "/", "", {}, b"x" * size), OK)
    span = journal.span
    assert span.kept <= entries
    assert span.bytes <= limit or span.kept == 1
    assert span.bytes == sum(entry.size for entry in journal.find())
    assert [e.number for e in journal.find()] == list(range(span.first, span.last + 1))
    assert gone == list(range(1, span.first))  # the oldest go first, each is told once
    assert span.gone == len(gone)


def test_an_upload_does_not_push_out_everything_else() -> None:
    journal = Journal(limit=80_000)
    small = journal.record(request(), OK)
    large = journal.record(Request("POST", "/", "", {}, b"x" * 50_000), OK)
    assert journal[small.number] is small
    assert journal[large.number].request.body == b"x" * 4096
    assert large.omitted == 50_000 - 4096


def test_what_stands_in_a_head_takes_room_too() -> None:
    journal = Journal(limit=80_000)
    for _ in range(20):
        head = {"x-one": "x" * 8000, "x-two": "y" * 8000}
        journal.record(Request("GET", "/" + "p" * 4000, "q" * 4000, head), OK)
    assert journal.span.kept == 3  # each has 24,000 bytes, and what every entry has


def test_a_journal_needs_room() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Journal(entries=0)


# ---------------------------------------------------------------- finding


@pytest.fixture
def journal() -> Journal:
    journal = Journal()
    refused = Answer(429, {}, (b'{"message": "Slow down"}',))
    journal.record(request("One", "gpt-oss-120b"), OK, scope="a", operation="chat")
    journal.record(request("Two", "gemma-4-31b"), refused, why=Why(rule="limits"))
    near = (Miss("limits", ("the model is no gemma",)),)
    journal.record(request("Straße", "gpt-oss-120b", "/v1/completions"), OK, why=Why(nearest=near))
    stream = Answer(200, {}, (b"data: 1\n\n",), streamed=True)
    journal.record(request("Four", "gpt-oss-120b"), stream)
    return journal


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, [1, 2, 3, 4]),
        ({"scope": "a"}, [1]),
        ({"scope": ""}, [2, 3, 4]),
        ({"model": "gpt*"}, [1, 3, 4]),
        ({"model": "gpt"}, []),
        ({"path": "*/chat/*"}, [1, 2, 4]),
        ({"status": "429"}, [2]),
        ({"status": "4xx"}, [2]),
        ({"status": "2XX"}, [1, 3, 4]),
        ({"rule": "lim*"}, [2]),
        ({"operation": "chat"}, [1]),
        ({"stream": True}, [4]),
        ({"missed": True}, [3]),
        ({"text": "slow DOWN"}, [2]),
        ({"text": "STRASSE"}, [3]),
        ({"after": 2}, [3, 4]),
        ({"after": 2, "model": "gemma*"}, []),
    ],
)
def test_filters(journal: Journal, wanted: dict[str, Any], found: list[int]) -> None:
    assert numbers(journal, **wanted) == found


def test_a_reader_sees_new_calls_and_those_that_have_ended(journal: Journal) -> None:
    assert numbers(journal, since=0) == [1, 2, 3, 4]
    seen = journal.span.revision
    journal.finish(journal[2], 0.5)
    journal.record(request(), OK)
    assert numbers(journal, since=seen) == [2, 5]
    assert numbers(journal, since=journal.span.revision) == []


@given(st.data())
def test_reading_in_pages_misses_nothing(data: st.DataObject) -> None:
    """However often, and however little at a time, a reader asks: in the end it knows all."""
    journal = Journal(entries=8)
    known: dict[int, str | None] = {}
    since = 0
    for act in data.draw(st.lists(st.sampled_from(["record", "finish", "read"]), max_size=40)):
        open_calls = [e for e in journal.find() if e.ending is None]
        if act == "record":
            journal.record(request(), OK)
        elif act == "finish" and open_calls:
            journal.finish(data.draw(st.sampled_from(open_calls)), 1.0)
        elif act == "read":
            for entry in journal.find(Filter(since=since), data.draw(st.integers(1, 3))):
                known[entry.number] = entry.ending
                since = entry.revision
    for entry in journal.find(Filter(since=since)):
        known[entry.number] = entry.ending
    kept = {e.number: e.ending for e in journal.find()}
    assert {n: known[n] for n in kept} == kept


def test_the_first_end_counts() -> None:
    journal = Journal()
    entry = journal.record(request(), OK)
    assert (entry.duration, entry.ending) == (None, None)
    journal.finish(entry, 0.5)
    journal.finish(entry, 9.0, "dropped")
    assert (entry.duration, entry.ending) == (0.5, "complete")


def test_a_reset_forgets_a_scope_or_all_and_numbers_go_on(journal: Journal) -> None:
    assert len(journal.reset("a")) == 1
    assert numbers(journal) == [2, 3, 4]
    assert len(journal.reset()) == 3
    assert (len(journal), journal.span.resets) == (0, 2)
    gone = journal.record(request(), OK)
    assert gone.number == 5
    with pytest.raises(KeyError):
        journal[1]


def test_a_call_may_end_after_it_was_forgotten() -> None:
    journal = Journal()
    entry = journal.record(request(), OK)
    journal.reset()
    journal.finish(entry, 1.0)
    assert numbers(journal, since=0) == []


def test_many_threads() -> None:
    journal = Journal(entries=50)

    def work(_: int) -> None:
        for _ in range(100):
            entry = journal.record(request(), OK)
            journal.find(Filter(since=max(0, entry.revision - 5)))
            journal.finish(entry, 0.0)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    span = journal.span
    assert (span.last, span.kept, span.gone) == (800, 50, 750)
    assert all(e.ending == "complete" for e in journal.find())


# ---------------------------------------------------------------- what an entry tells


def test_a_body_is_read_whatever_it_is_packed_in() -> None:
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Grüße"}]}
    headers = {"content-type": "application/vnd.msgpack", "content-encoding": "gzip"}
    raw = gzip.compress(ormsgpack.packb(body))
    entry = Journal().record(Request("POST", "/", "", headers, raw), OK)
    assert entry.data == body
    assert (entry.model, entry.stream, entry.asked) == ("m", True, "Grüße")
    assert Filter(text="grüsse").takes(entry)


@pytest.mark.parametrize(
    ("content_type", "raw"),
    [
        ("application/json", b"{"),
        ("application/json", b"[" * 5000),
        ("application/json", b"[1]"),
        ("application/json; charset=latin-1", b"{}"),
        ("application/vnd.msgpack", b"\xc1"),
        ("image/png", b"\x89PNG"),
        ("", b""),
    ],
)
def test_what_cannot_be_read_is_not_there(content_type: str, raw: bytes) -> None:
    entry = Journal().record(Request("POST", "/", "", {"content-type": content_type}, raw), OK)
    assert (entry.model, entry.stream, entry.asked) == (None, False, "")


def test_the_model_of_the_cost_is_believed() -> None:
    answer = Answer(200, {}, (b"{}",), cost=Cost("real", 1, 1))
    assert Journal().record(request(model="asked"), answer).model == "real"
