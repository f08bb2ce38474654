"""Exchanges with the mock, disturbed or not, without a socket; and what rules say of them."""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import pytest

from wafermock.conformance.exchange import Arrival, Exchange, Purpose, Received, Sent
from wafermock.conformance.rule import Bench, Breach, Rule
from wafermock.mockserver.draws import Draws
from wafermock.mockserver.exchange import Request
from wafermock.mockserver.mock import Mock, Settings
from wafermock.mockserver.wire import DEFECTS, DELIVERIES, Plan, failure_catalogue, plan
from wafermock.mockserver.wire.requests import rewritten
from wafermock.spec import Contract, load_contract

PROFILES = ("documented", "observed")

# How long the client of these tests waits for the next byte, in seconds.
PATIENCE = 30.0

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "unit": {"type": "string"}},
            "required": ["city", "unit"],
            "additionalProperties": False,
        },
    },
}
WORDS = {
    "model": "gpt-oss-120b",
    "messages": [{"role": "user", "content": "Say something long about rivers, 漢字 and 🙂."}],
    "max_completion_tokens": 60,
    "reasoning_effort": "low",
}
ECHO = {
    "model": "gpt-oss-120b",
    "prompt": "Zeig mir 漢字, é und 🙂!",
    "echo": True,
    "max_tokens": 20,
}
CALL = {**WORDS, "tools": [TOOL], "tool_choice": "required", "max_completion_tokens": 200}
WHOLE_CALL = {**CALL, "model": "zai-glm-4.7", "reasoning_effort": None}
# By a name for each: where it is asked, and what. With ` stream` behind the name it is streamed.
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": (CHAT, WORDS),
    "two": (CHAT, {**WORDS, "n": 2}),
    "logprobs": (CHAT, {**WORDS, "logprobs": True, "top_logprobs": 2}),
    "tools": (CHAT, CALL),
    "whole tools": (CHAT, WHOLE_CALL),
    "text": (TEXT, ECHO),
    "two texts": (TEXT, {**ECHO, "n": 2, "logprobs": 1}),
}
STREAMS = [f"{name} stream" for name in ASKED]

Make = Callable[..., Exchange]
Broken = Callable[..., dict[str, set[str]]]


@cache
def _contract(profile: str) -> Contract:
    return load_contract(profile)


@cache
def _mock(profile: str) -> Mock:
    return Mock(_contract(profile), Settings())


@pytest.fixture(scope="session")
def contract() -> Callable[[str], Contract]:
    """`contract("observed")`: the contract of a profile, loaded once."""
    return _contract


@pytest.fixture(scope="session")
def bench() -> Callable[[str], Bench]:
    """`bench("observed")`: what judges see beside the exchange."""
    return lambda profile="observed": Bench(_contract(profile), {"deterministic": True})


@pytest.fixture(scope="session")
def exchange() -> Make:
    """`exchange("chat stream", defect="done_twice")`: what a judge would see of the mock."""
    return _exchange


@pytest.fixture(scope="session")
def broken() -> Broken:
    """`broken(BOOK, exchange)`: the ids of the rules that are broken, with their states."""
    return _broken


def _exchange(
    asked: str | tuple[str, Any],
    *,
    profile: str = "observed",
    defect: str | None = None,
    delivery: str | None = None,
    failure: str | None = None,
    received: Received | None = None,
) -> Exchange:
    """Make an exchange. `asked` is a name of ASKED, or a path and a body; `received` stands in for
    the answer of the mock."""
    path, body = asked if isinstance(asked, tuple) else _asked(asked)
    contract = _contract(profile)
    headers = {"authorization": "Bearer key", "content-type": "application/json"}
    request = Request("POST", path, "", headers, json.dumps(body).encode())
    if received is None:
        defects = [DEFECTS.parse(defect)] if defect else []
        answer = _mock(profile).answer(rewritten(request, defects))
        failures = failure_catalogue(contract.errors)
        planned = plan(
            answer,
            keep_alive=False,
            defects=defects,
            delivery=DELIVERIES.parse(delivery) if delivery else None,
            failure=failures.parse(failure) if failure else None,
            draws=Draws("test"),
        )
        received = as_received(planned)
    route = contract.route("POST", path)
    return Exchange(
        "1",
        Purpose("test", "test", "#"),
        Sent("POST", path, tuple(headers.items()), request.body),
        route.operation if route else None,
        body,
        received,
    )


def _asked(name: str) -> tuple[str, Any]:
    path, body = ASKED[name.removesuffix(" stream")]
    return path, ({**body, "stream": True} if name.endswith(" stream") else body)


def as_received(planned: Plan) -> Received:
    """See a plan as a client does, which takes HTTP's framing away and keeps what was wrong."""
    arrivals = [
        Arrival(planned.end if planned.joined else write.offset, write.data)
        for write in planned.writes
    ]
    ended, fault, seconds = "complete", "", planned.end
    size = sum(len(arrival.data) for arrival in arrivals)
    told = [int(value) for name, value in planned.headers if name.lower() == "content-length"]
    length = told[0] if planned.framing == "length" and told else size
    unfinished = planned.ending == "cut" and planned.framing == "chunked"
    last = arrivals[-1].at if arrivals else planned.start
    if planned.end - last > PATIENCE:
        ended, seconds = "timeout", last + PATIENCE
    elif planned.ending == "reset" or unfinished or size < length:
        ended = "cut"
    elif size > length:
        fault = f"{size - length} bytes behind the body"
        arrivals = _first(arrivals, length)
    return Received(
        planned.status,
        "",
        planned.headers,
        tuple(arrivals),
        ended,  # type: ignore[arg-type]
        planned.version.removeprefix("HTTP/"),
        planned.start,
        seconds,
        framing_fault=fault,
    )


def _first(arrivals: Sequence[Arrival], size: int) -> list[Arrival]:
    kept = []
    for arrival in arrivals:
        kept.append(Arrival(arrival.at, arrival.data[:size]))
        size = max(size - len(arrival.data), 0)
    return kept


def _broken(rules: Iterable[Rule], exchange: Exchange, profile: str = "observed") -> dict[str, set]:
    """Judge an exchange; rules that are kept are left out."""
    bench = Bench(_contract(profile), {"deterministic": True})
    found: dict[str, set[str]] = {}
    for rule in rules:
        if rule.probe or exchange.received is None or not rule.applies(exchange):
            continue
        for breach in rule.judge(exchange, bench):
            state = (breach.state if isinstance(breach, Breach) else None) or rule.state
            found.setdefault(rule.id, set()).add(state)
    return found
