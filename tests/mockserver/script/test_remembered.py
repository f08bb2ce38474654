"""What a script's answers remember changes nothing: the same calls, with and without a memory."""

import gc
import json
import tracemalloc
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.clock import Clock
from wafermock.mockserver.exchange import Request
from wafermock.mockserver.limits import Limiter, parse_limits
from wafermock.mockserver.memory import Memory
from wafermock.mockserver.mock import Mock
from wafermock.mockserver.queueing import Queue
from wafermock.mockserver.script import Script, ScriptState, rules_of
from wafermock.mockserver.service import Service, Turn
from wafermock.spec.document import parse_document

from .asking import contract

SCRIPT = """
rules:
  - match: {header: {x-team: blue}, last: {contains: a}}
    reply: {text: Blue.}
  - match: {last: {contains: template}}
    reply: {template: "{{ hit }} {{ scope }} {{ headers['x-team'] }} {{ stream }}"}
  - match: {last: {contains: sequence}}
    sequence:
      - {text: one}
      - {error: request_quota_exceeded}
      - {text: two, pace: {ttft: 1s}}
      - {text: three, times: 2}
  - match: {last: {contains: busy}}
    times: 2
    reply: {text: Busy., delivery: one_write}
  - match: {last: {contains: fails}}
    reply: {text: Words., failure: "reset:rate=0.5"}
  - match: {last: {contains: tool}}
    after: 1
    reply: {tool_calls: [{name: f, arguments: {a: 1}}]}
"""
JSON = {"content-type": "application/json", "authorization": "Bearer k"}
WORDS = ("a", "template", "sequence", "busy", "fails", "tool", "nothing")


def body(text: str, **more: Any) -> bytes:
    messages = [{"role": "user", "content": text}]
    return json.dumps({"model": "gpt-oss-120b", "messages": messages, **more}).encode()


@st.composite
def calls(draw: st.DrawFn) -> Request:
    """A call out of a few, so that most come again."""
    headers = dict(JSON)
    headers |= draw(st.sampled_from(({}, {"x-team": "blue"}, {"x-team": "red"})))
    headers |= draw(st.sampled_from(({}, {}, {"prefer": "dynamic=true"}, {"queue_threshold": "9"})))
    more = draw(st.sampled_from(({}, {"stream": True}, {"service_tier": "flex"}, {"model": 7})))
    scope = draw(st.sampled_from(("", "", "/t/one")))
    sent = body(draw(st.sampled_from(WORDS)), **more)
    return Request("POST", f"{scope}/v1/chat/completions", "", headers, sent)


@cache
def script() -> Script:
    rules = rules_of(parse_document(SCRIPT, Path("script.yaml")), contract())
    return Script(contract=contract()).with_rules(rules)


def service(limits: str, queue: float | None) -> Service:
    clock = Clock()
    limiter = Limiter(parse_limits([limits] if limits else [], contract().limits), clock)
    return Service(Mock(contract(), script=ScriptState(script())), clock, limiter, Queue(queue))


def turns(service: Service, requests: list[Request], *, remembers: bool) -> Iterator[Turn]:
    for number, request in enumerate(requests):
        if not remembers:
            service.mock = service.mock.changed(service.mock.script)
            service._turns = Memory(1)
        if number % 5 == 4:
            service.clock.advance(1)
        turn = service.begin(request)
        turn.end()
        yield turn


@given(
    st.lists(calls(), min_size=2, max_size=12),
    st.sampled_from(("", "", "rpm=4")),
    st.sampled_from((None, 2.0)),
)
def test_a_memory_changes_nothing(
    requests: list[Request], limits: str, queue: float | None
) -> None:
    remembering, forgetting = (
        [
            (turn.answer, turn.acting, turn.scope)
            for turn in turns(service(limits, queue), requests, remembers=remembers)
        ]
        for remembers in (True, False)
    )
    assert remembering == forgetting


def test_what_comes_again_is_remembered() -> None:
    served = service("", None)
    headers = {**JSON, "x-team": "blue"}
    request = Request("POST", "/v1/chat/completions", "", headers, body("a"))
    first, second = served.begin(request), served.begin(request)
    assert first is second


LONG = """
rules:
  - match: {last: {contains: hit}}
    reply: {template: "{{ hit }}{% for i in range(2000) %}a long word {% endfor %}"}
  - match: {last: {equals: "LETTERS"}}
    reply: {text: Never.}
""".replace("LETTERS", "x" * 20_000)


@pytest.mark.parametrize("text", ["hit", "miss"])
def test_what_is_remembered_is_counted(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long reply cut to one token, and of what a long rule lacks, much more is known than
    sent."""
    monkeypatch.setattr("wafermock.mockserver.mock.MEMORY", 2**18)
    monkeypatch.setattr("wafermock.mockserver.service.MEMORY", 2**20)
    rules = rules_of(parse_document(LONG, Path("script.yaml")), contract())
    script = ScriptState(Script(contract=contract()).with_rules(rules))
    served = Service(Mock(contract(), script=script))
    request = Request("POST", "/v1/chat/completions", "", JSON, body(text, max_completion_tokens=1))
    served.begin(request)
    tracemalloc.start()
    try:
        for _ in range(200):
            served.begin(request)
        gc.collect()
        traced, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert traced < 2**20
