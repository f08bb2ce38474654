"""The service in time: limits, queue, clock and memory around a pure mock. Nothing waits."""

import gc
import json
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from wafermock.mockserver.clock import FROZEN_TIME, Clock
from wafermock.mockserver.exchange import Request
from wafermock.mockserver.limits import MOST_ACCOUNTS, Limiter, parse_limits
from wafermock.mockserver.mock import Mock, Settings
from wafermock.mockserver.pace import read_pace
from wafermock.mockserver.queueing import Queue
from wafermock.mockserver.service import MEMORY, Service, Turn
from wafermock.spec import load_contract

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
REMAINING = "x-ratelimit-remaining-"
HEADERS = {"authorization": "Bearer key", "content-type": "application/json"}

# A whole and a streamed answer each of both operations, all of one model.
PROMPT = {"model": "gpt-oss-120b", "prompt": "Hello!", "max_tokens": 40}
TALK = {
    "model": "gpt-oss-120b",
    "messages": [{"role": "user", "content": "Hello!"}],
    "max_completion_tokens": 40,
}
KINDS = [
    (path, {**body, "stream": stream})
    for path, body in ((TEXT, PROMPT), (CHAT, TALK))
    for stream in (False, True)
]

Make = Callable[..., Service]


@pytest.fixture
def make(make_mock: Callable[..., Mock]) -> Make:
    """`make("rpm=5", queue=2.0, clock=Clock("manual"), seed=1)`: a service of its own."""

    def make(
        *limits: str,
        queue: float | None = None,
        clock: Clock | None = None,
        retry_after: bool = False,
        profile: str = "documented",
        **settings: Any,
    ) -> Service:
        clock = clock or Clock()
        limiter = Limiter(parse_limits(limits), clock, retry_after=retry_after)
        return Service(make_mock(profile, **settings), clock, limiter, Queue(queue))

    return make


def request(path: str = TEXT, body: Any = PROMPT, **headers: str) -> Request:
    given = {name.replace("__", "-"): value for name, value in headers.items()}
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Request("POST", path, "", {**HEADERS, **given}, raw)


def value(turn: Turn) -> Any:
    """Return a whole answer, or the last chunk of a stream, which has usage and time_info."""
    answer = turn.answer
    raw = answer.parts[-2].removeprefix(b"data: ") if answer.streamed else answer.body
    return json.loads(raw)


def remaining(turn: Turn) -> dict[str, int]:
    headers = turn.answer.headers
    return {
        name.removeprefix(REMAINING): int(number)
        for name, number in headers.items()
        if name.startswith(REMAINING)
    }


# ---------------------------------------------------------------------- limits


@pytest.mark.parametrize("quota", load_contract().limits.quotas, ids=lambda quota: quota.name)
@pytest.mark.parametrize(("path", "body"), KINDS)
@pytest.mark.parametrize("profile", ["documented", "observed"])
def test_each_limit_refuses_with_its_own_error(
    make: Make, quota: Any, path: str, body: dict[str, Any], profile: str
) -> None:
    plain = make(profile=profile).begin(request(path, body)).answer
    assert plain.cost is not None
    amount = 3 * plain.cost.reserved if quota.counted == "tokens" else 3
    service = make(f"{quota.name}={amount}", profile=profile)
    entry = service.mock.contract.errors[quota.error]
    for left in (2, 1, 0):
        turn = service.begin(request(path, body))
        assert (turn.answer.status, turn.answer.parts) == (200, plain.parts)
        assert remaining(turn)[f"{quota.counted}-{quota.period}"] == left * amount // 3
    for _ in range(2):
        turn = service.begin(request(path, body))
        assert (turn.answer.status, turn.answer.cost, turn.admission) == (429, None, None)
        assert json.loads(turn.answer.body) == entry.answer(())
        assert remaining(turn)[f"{quota.counted}-{quota.period}"] == 0
        assert "retry-after" not in turn.answer.headers
        turn.end()  # gives nothing back that was not taken
    service.clock.advance(quota.seconds)
    assert service.begin(request(path, body)).answer.status == 200


def test_a_refused_request_is_admitted_after_the_time_it_is_told(make: Make) -> None:
    service = make("rpm=2,tpd=1M", retry_after=True)
    for _ in range(2):
        service.begin(request())
    refused = service.begin(request()).answer
    assert refused.headers["retry-after"] == "30"
    assert refused.headers["retry-after-ms"] == "30000"
    service.clock.advance(29.999)
    assert service.begin(request()).answer.status == 429
    service.clock.advance(0.001)
    assert service.begin(request()).answer.status == 200
    assert service.begin(request()).answer.status == 429


def test_accounts_and_models_have_limits_of_their_own(make: Make) -> None:
    service = make("rpm=1", "zai-glm-4.7:rpm=2")
    other = {**PROMPT, "model": "zai-glm-4.7"}
    statuses = [
        service.begin(request(body=body, authorization=f"Bearer {key}")).answer.status
        for key in ("a", "b")
        for body in (PROMPT, PROMPT, other, other, other)
    ]
    assert statuses == [200, 429, 200, 200, 429] * 2


def test_both_operations_and_spellings_count_together(make: Make) -> None:
    service = make("rpm=3")
    lower = request(authorization="bearer key")
    for sent in (request(), request(CHAT, TALK), lower):
        assert service.begin(sent).answer.status == 200
    assert service.begin(request()).answer.status == 429


@pytest.mark.parametrize(("path", "body"), KINDS)
def test_what_is_reserved_and_not_used_comes_back(
    make: Make, path: str, body: dict[str, Any]
) -> None:
    """Reserved is the prompt and all that may come; used is what the answer itself tells."""
    body = {**body, "max_completion_tokens" if path == CHAT else "max_tokens": 5000}
    service = make("tpm=100000")
    turn = service.begin(request(path, body))
    usage = value(turn)["usage"]
    cost = turn.answer.cost
    assert cost is not None
    assert cost.reserved == usage["prompt_tokens"] + 5000
    assert remaining(turn)["tokens-minute"] == 100_000 - cost.reserved
    turn.end()
    turn.end()
    shown = service.limiter.headers("key", "gpt-oss-120b")
    assert shown[REMAINING + "tokens-minute"] == str(100_000 - usage["total_tokens"])


def test_without_a_bound_the_default_of_the_model_is_reserved(make: Make) -> None:
    body = {name: item for name, item in TALK.items() if name != "max_completion_tokens"}
    turn = make("tpm=100000").begin(request(CHAT, body))
    assert turn.answer.cost is not None
    assert turn.answer.cost.reserved == value(turn)["usage"]["prompt_tokens"] + 16_384


def test_while_a_stream_is_open_its_reservation_stands(make: Make) -> None:
    body = {**TALK, "stream": True, "max_completion_tokens": 5000}
    probe = make().begin(request(CHAT, body)).answer.cost
    assert probe is not None
    service = make(f"tpd={probe.reserved + probe.used}")
    stream = service.begin(request(CHAT, body))
    assert stream.answer.status == 200
    assert service.begin(request(CHAT, body)).answer.status == 429
    stream.end()
    assert service.begin(request(CHAT, body)).answer.status == 200


def test_accounts_are_bounded_and_the_busy_ones_stay() -> None:
    """Another key with each request shall not fill the memory, though no bucket is full again."""
    limiter = Limiter(parse_limits(["rpm=20"]), Clock())
    for number in range(2 * MOST_ACCOUNTS):
        if number % 2000 == 0:
            limiter.admit("busy", "m", 1)
        limiter.admit(str(number), "m", 1)
    assert len(limiter._accounts) <= MOST_ACCOUNTS
    shown = limiter.admit("busy", "m", 1).headers
    assert shown[REMAINING + "requests-minute"] == str(20 - 17 - 1)


# ---------------------------------------------------------------------- headers


WANTED = {
    f"x-ratelimit-{kind}-{counted}-{period}"
    for kind in ("limit", "remaining")
    for counted in ("requests", "tokens")
    for period in ("minute", "hour", "day")
} | {"x-ratelimit-reset-requests-day", "x-ratelimit-reset-tokens-minute"}

ANSWERS: list[tuple[int, Request]] = [
    *((200, request(path, body)) for path, body in KINDS),
    (200, replace(request(body=b""), method="GET", path="/v1/models")),
    (200, replace(request(body=b""), method="GET", path="/v1/tcp_warming")),
    (400, request(prefer="example=none-such")),
    (401, request(authorization="")),
    (404, request("/nowhere")),
    (405, replace(request(), method="PUT")),
    (415, request(content__type="text/plain")),
    (422, request(body=b"{")),
    (422, request(CHAT, {"model": "m"})),
    (429, request(prefer="code=429")),
    (500, request(prefer="code=500")),
]


@pytest.mark.parametrize(("status", "sent"), ANSWERS)
@pytest.mark.parametrize("limits", [(), ("rpm=5,tpm=100k",), ("gpt-oss-120b:rpd=1",)])
def test_every_answer_tells_the_limits(
    make: Make, limits: tuple[str, ...], status: int, sent: Request
) -> None:
    turn = make(*limits).begin(sent)
    assert turn.answer.status == status
    assert set(turn.answer.headers) >= WANTED
    assert turn.answer.headers["content-type"]
    assert turn.answer.headers["x-request-id"]


def test_a_refusal_and_what_is_no_http_tell_the_limits_too(make: Make) -> None:
    service = make("rpm=1,tpm=100k")
    service.begin(request())
    refused = service.begin(request()).answer
    assert refused.status == 429
    assert set(refused.headers) >= WANTED | {"x-request-id", "content-type"}
    assert refused.headers[REMAINING + "requests-minute"] == "0"
    assert set(service.protocol_error(400, "broken").headers) >= WANTED


def test_what_costs_nothing_takes_nothing(make: Make) -> None:
    service = make("rpm=1,tpm=100")
    for status, sent in ANSWERS:
        if sent.path != CHAT and status != 200:
            assert service.begin(sent).answer.status == status
    assert service.begin(replace(ANSWERS[4][1])).answer.status == 200
    assert service.begin(request(body={**PROMPT, "prompt": "a"})).answer.status == 200


# ---------------------------------------------------------------------- queue


@pytest.mark.parametrize(
    ("tier", "threshold", "seconds", "status"),
    [
        ("flex", "500", 0.6, 429),
        ("auto", "500", 0.6, 429),
        ("flex", "600", 0.6, 200),
        ("default", "500", 0.6, 200),
        (None, "500", 0.6, 200),
        ("flex", None, 0.6, 200),
        ("flex", "50", None, 200),
        ("auto", "20000", 20.000000001, 429),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("limits", [(), ("rpm=1,tpm=100k",)])
def test_queue_threshold(
    make: Make,
    limits: tuple[str, ...],
    tier: str | None,
    threshold: str | None,
    seconds: float | None,
    status: int,
    stream: bool,
) -> None:
    service = make(*limits, queue=seconds)
    body = {**TALK, "stream": stream} | ({"service_tier": tier} if tier else {})
    sent = request(CHAT, body, **({"queue_threshold": threshold} if threshold else {}))
    turn = service.begin(sent)
    assert turn.answer.status == status
    if status == 429:
        entry = service.mock.contract.errors["queue_exceeded"]
        assert json.loads(turn.answer.body) == entry.answer(())
        # It was not taken in, so nothing was taken from the limits.
        assert service.begin(request(CHAT, TALK)).answer.status == 200
    elif seconds is not None:
        assert value(turn)["time_info"]["queue_time"] == seconds


def test_a_threshold_that_the_document_does_not_know_is_no_secret_to_the_memory(
    tmp_path: Path,
) -> None:
    """The queue obeys the header all the same."""
    overlay = {
        "overlay": "1.0.0",
        "info": {"title": "No header", "version": "1"},
        "actions": [{"target": "$..parameters[?@.name=='queue_threshold']", "remove": True}],
    }
    (tmp_path / "overlay.yaml").write_text(json.dumps(overlay))
    contract = load_contract(overlays=[tmp_path / "overlay.yaml"])
    service = Service(Mock(contract), queue=Queue(1.0))
    body = {**TALK, "service_tier": "flex"}
    for _ in range(2):
        statuses = [
            service.begin(request(CHAT, body, **headers)).answer.status
            for headers in ({}, {"queue_threshold": "100"}, {"queue_threshold": "2000"})
        ]
        assert statuses == [200, 429, 200]


# ---------------------------------------------------------------------- clock and memory


@pytest.mark.parametrize(("path", "body"), KINDS)
def test_times_move_with_the_clock_and_nothing_else_does(
    make: Make, path: str, body: dict[str, Any]
) -> None:
    service = make()
    first = value(service.begin(request(path, body)))
    assert first["created"] == FROZEN_TIME
    service.clock.advance(61.5)
    second = value(service.begin(request(path, body)))
    assert second["created"] == FROZEN_TIME + 61
    moved = second["time_info"].pop("created") - first["time_info"].pop("created")
    assert moved == pytest.approx(61.5, abs=2e-6)
    del first["created"], second["created"]
    assert second == first
    service.clock.set(FROZEN_TIME)
    assert value(service.begin(request(path, body)))["created"] == FROZEN_TIME


def test_the_same_request_at_the_same_time_is_answered_from_memory(make: Make) -> None:
    service = make()
    turn = service.begin(request())
    assert service.begin(request()) is turn
    service.queue.seconds = 0.25
    queued = service.begin(request())
    assert value(queued)["time_info"]["queue_time"] == 0.25
    service.queue.seconds = None
    service.clock.advance(1)
    assert service.begin(request()) is not turn
    service.clock.set(FROZEN_TIME)
    assert service.begin(request()) is turn


def test_what_is_remembered_is_told_of_in_its_own_scope(make: Make) -> None:
    service = make()
    turns = [service.begin(request(f"{prefix}{TEXT}")) for prefix in ("", "/t/a", "/t/b", "/t/a")]
    assert [turn.scope for turn in turns] == ["", "a", "b", "a"]
    assert len({id(turn.answer) for turn in turns}) == 1


@pytest.mark.parametrize("name", ["authorization", "accept", "prefer", "content__type"])
def test_memory_minds_every_header_that_is_heard(make: Make, name: str) -> None:
    service = make()
    turn = service.begin(request())
    assert service.begin(request(**{name: "application/x, other"})) is not turn
    assert service.begin(request(user__agent="other")) is turn


def test_memory_never_hides_a_limit(make: Make) -> None:
    service = make("gpt-oss-120b:rpm=1")
    other = request(body={**PROMPT, "model": "other"})
    statuses = [service.begin(sent).answer.status for sent in (request(), request(), other, other)]
    assert statuses == [200, 429, 200, 200]


def test_nothing_is_remembered_of_a_time_that_does_not_come_back(make: Make) -> None:
    service = make(clock=Clock("real"))
    for _ in range(3):
        service.begin(request())
    assert len(service._memory._kept) == 0


ODD = st.sampled_from(["", "x", "é", "🙂", "q" * 5000, "漢" * 3000, "🙂" + "y" * 8000])


@settings(max_examples=20, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(ODD, ODD, ODD, st.booleans()), min_size=1, max_size=30))
def test_memory_counts_what_it_holds(
    make: Make, sent: Iterable[tuple[str, str, str, bool]]
) -> None:
    """Keys count too: their fields can be larger than any body. (Bodies are dear to trace.)"""
    service = make()
    service.begin(request("/v1/models"))
    tracemalloc.start()
    try:
        for number, (path, field, query, repeated) in enumerate(sent):
            serial = "" if repeated else str(number)
            headers = {**HEADERS, "accept": "".join(field), "cookie": f"{serial}{field}"}
            service.begin(Request("GET", f"/v1/models/{path}", f"{query}{serial}", headers))
        gc.collect()
        traced, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert traced <= 1.2 * service._memory._held + 50_000


def test_memory_is_bounded(make: Make) -> None:
    """Many requests, small and large: the oldest are forgotten, the last one is there."""
    service = make()
    for number in range(20_000):
        key = f"Bearer {number}{'x' * (number % 7 * 1000)}"
        sent = Request("GET", "/v1/models", "", {"authorization": key})
        turn = service.begin(sent)
    memory = service._memory
    assert memory._held <= MEMORY
    assert memory._held == sum(size for _, size in memory._kept.values())
    assert 1000 < len(memory._kept) < 20_000
    assert service.begin(sent) is turn


# ---------------------------------------------------------------------- pace


PACE = read_pace("200ms", "2000", "10%")


@pytest.mark.parametrize(("path", "body"), KINDS)
@pytest.mark.parametrize("queue", [None, 0.5])
def test_time_info_agrees_with_the_schedule(
    make: Make, path: str, body: dict[str, Any], queue: float | None
) -> None:
    service = make(queue=queue, pace=PACE)
    turn = service.begin(request(path, body))
    told = value(turn)
    times, offsets = told["time_info"], turn.answer.offsets
    assert offsets is not None
    assert len(offsets) == len(turn.answer.parts)
    assert list(offsets) == sorted(offsets)
    assert times["queue_time"] == (queue or 0.0)
    assert 0.18 <= times["prompt_time"] <= 0.22
    tokens = told["usage"]["completion_tokens"]
    assert 0.9 * tokens / 2000 <= times["completion_time"] <= 1.1 * tokens / 2000
    assert times["total_time"] == pytest.approx(
        times["queue_time"] + times["prompt_time"] + times["completion_time"], abs=1e-9
    )
    assert offsets[-1] == times["total_time"]
    assert times["created"] == pytest.approx(FROZEN_TIME + times["total_time"], abs=1e-6)
    if turn.answer.streamed:
        first = times["queue_time"] + times["prompt_time"]
        assert offsets[0] == pytest.approx(first, abs=1e-9)
    else:
        assert len(offsets) == 1


@pytest.mark.parametrize(("path", "body"), KINDS)
def test_pace_changes_times_alone(make: Make, path: str, body: dict[str, Any]) -> None:
    paced, plain = (value(make(pace=pace).begin(request(path, body))) for pace in (PACE, None))
    assert paced.pop("time_info") != plain.pop("time_info")
    assert paced == plain


# ---------------------------------------------------------------------- cache


def test_cached_tokens_are_those_that_were_really_sent(make: Make) -> None:
    service = make(cache="seen")
    words = " ".join(f"word{number}" for number in range(400))
    body = {**TALK, "messages": [{"role": "user", "content": words}]}

    def cached(body: dict[str, Any]) -> int:
        usage = value(service.begin(request(CHAT, body)))["usage"]
        known = usage["prompt_tokens_details"]["cached_tokens"]
        assert known % 128 == 0
        assert known <= usage["prompt_tokens"]
        return int(known)

    assert cached(body) == 0
    again = cached(body)
    assert again >= 128  # the same bytes once more: an answer from memory would say 0
    assert cached({**body, "stream": True}) == again
    assert cached({**body, "prompt_cache_key": "mine"}) == 0
    longer = [*body["messages"], {"role": "assistant", "content": "Yes."}]
    assert cached({**body, "messages": [*longer, {"role": "user", "content": "Go on."}]}) >= again
    assert cached({**body, "messages": [{"role": "user", "content": f"Other {words}"}]}) == 0


@pytest.mark.parametrize("validate", ["strict", "warn", "off"])
def test_a_model_is_there_if_its_chats_are_answered(validate: Any) -> None:
    """`--models` says which models there are, for chats and for the list's single model alike."""
    body = b'{"model": "my-model", "messages": [{"role": "user", "content": "Hi"}]}'
    sent = {"authorization": "Bearer key", "content-type": "application/json"}
    chat = Request("POST", "/v1/chat/completions", "", sent, body)
    model = Request("GET", "/v1/models/my-model", "", sent, b"")
    contract = load_contract()
    schema = contract.operation("retrieveModel").responses["200"].content["application/json"].schema
    assert schema is not None
    for models, status in (("any", 200), ("strict", 404)):
        mock = Mock(contract, Settings(validate=validate, models=models))
        answers = [mock.answer(chat), mock.answer(model)]
        assert [answer.status for answer in answers] == [status, status]
        if status == 200:
            shown = json.loads(answers[1].body)
            assert schema.is_valid(shown)
            assert shown["id"] == "my-model"
        listed = mock.answer(replace(model, path="/v1/models")).body
        assert b"my-model" not in listed


def test_a_mock_alone_tells_a_slip_in_prefer() -> None:
    sent = {"authorization": "Bearer key", "prefer": "code=abc"}
    answer = Mock(load_contract()).answer(Request("GET", "/v1/models", "", sent, b""))
    assert answer.status == 400
    assert b"a status from 100 to 599" in answer.body
