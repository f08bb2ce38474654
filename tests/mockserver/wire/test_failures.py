"""Failures, beyond how each looks in the bytes of a socket: test_every_entry.py."""

import json
from contextlib import closing
from typing import Any

import pytest

from wafermock.mockserver.wire import Catalogue, refusal_of
from wafermock.mockserver.wire.draft import tokens_in

from .seen import Seen


def test_an_error_says_nothing_of_retrying_unasked(failures: Catalogue) -> None:
    refusal = refusal_of(failures.parse("server_error"))
    assert refusal is not None
    assert refusal.headers == {}
    assert refusal_of(failures.parse("stall")) is None


def test_a_wait_ends_when_the_client_leaves(stage: Any, planned: Any) -> None:
    """No clock moves here: what ends the wait is the client."""
    made = planned("chat stream", failure="stall:after=1,seconds=1h")
    with closing(stage.connect()) as connection:
        connection.sendall(stage.ask(made))
        assert stage.clock.until_waiting()
        assert b"data: " in connection.recv(65536)
    assert stage.over.acquire(timeout=10)
    assert stage.outcomes[-1] == "CancelledError"
    assert stage.clock.waiting == 0


def test_an_error_event_is_the_documented_one(seen: Any, contract: Any) -> None:
    got = seen("chat stream", failure="error_event")
    schema = contract("observed").document["components"]["schemas"]["ErrorChunkResponse"]
    assert set(schema["required"]) == {"status_code", "error"}
    assert json.dumps(got.values[-1]) == (
        '{"status_code": 500, "error": {"message": "Encountered a server error, please try again.",'
        ' "type": "server_error", "param": "", "code": "", "id": ""}}'
    )


@pytest.mark.parametrize("failure", ["close", "reset", "unfinished", "stall", "error_event"])
@pytest.mark.parametrize("answer", ["chat stream", "text stream", "tools stream"])
@pytest.mark.parametrize("count", [0, 1, 2, 5, 9])
def test_a_stream_breaks_behind_as_many_tokens_as_asked_for(
    failure: str, answer: str, count: int, seen: Any
) -> None:
    """Between two events: behind the one that holds the last of so many tokens."""
    got = seen(answer, failure=f"{failure}:after={count}")
    if failure == "stall":
        got = Seen([(0.0, got.at(29.0))])
    held = [tokens_in(chunk) for chunk in got.completions]
    whole = [tokens_in(chunk) for chunk in seen(answer).completions]
    assert held == whole[: len(held)]
    assert sum(held) >= count
    last = max((at for at, tokens in enumerate(held) if tokens), default=0)
    assert sum(held[:last]) < count or count == sum(held) == 0
