"""The simulated queue: who it turns away, and what time it tells."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.queueing import Queue, parse_queue_time
from wafermock.mockserver.refusal import Refusal
from wafermock.spec import load_contract
from wafermock.spec.limits import QueueThreshold

KNOWN = load_contract().limits.queue
HEADER, LEAST, MOST, TIERS = KNOWN.header, KNOWN.least, KNOWN.most, sorted(KNOWN.tiers)


def _refused(queue: Queue, tier: Any, threshold: str | None) -> bool:
    headers = {} if threshold is None else {HEADER: threshold}
    try:
        told = queue.admit({"service_tier": tier}, headers)
    except Refusal as error:
        refusal = error
    else:
        assert told == queue.seconds
        return False
    assert refusal.error == "queue_exceeded"
    return True


@given(st.integers(0, 30_000_000), st.integers(LEAST, MOST), st.sampled_from(TIERS))
def test_the_threshold_is_exceeded_by_more_than_itself(
    microseconds: int, threshold: int, tier: str
) -> None:
    queue = Queue(microseconds / 1_000_000)
    assert _refused(queue, tier, str(threshold)) is (microseconds > threshold * 1000)


@pytest.mark.parametrize("tier", ["priority", "default", None, "", ["flex"], 1])
def test_other_tiers_wait(tier: Any) -> None:
    assert not _refused(Queue(60), tier, "50")


def test_a_request_that_says_no_tier_waits() -> None:
    assert Queue(60).admit({}, {HEADER: "50"}) == 60


def test_without_a_threshold_nobody_is_turned_away() -> None:
    assert not _refused(Queue(3600), "flex", None)


@pytest.mark.parametrize(
    "threshold", ["", "49", "20001", "0", "-50", "50.0", "fifty", "50, 60", "9" * 5000, "٥٠"]
)
def test_a_threshold_the_contract_refuses_is_none(threshold: str) -> None:
    assert not _refused(Queue(3600), "flex", threshold)


def test_nothing_simulated_is_below_any_threshold() -> None:
    queue = Queue()
    assert queue.seconds is None
    assert not _refused(queue, "flex", "50")


def test_the_time_can_be_set_while_serving() -> None:
    queue = Queue()
    queue.seconds = 0.3
    assert queue.admit({"service_tier": "auto"}, {HEADER: "300"}) == 0.3
    queue.seconds = 0.300001
    assert _refused(queue, "auto", "300")
    queue.seconds = None
    assert not _refused(queue, "auto", "300")


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "300ms"])
def test_what_is_no_time_is_refused(seconds: Any) -> None:
    queue = Queue(1)
    with pytest.raises(ValueError, match="a queue time is a number of seconds from 0"):
        queue.seconds = seconds
    assert queue.seconds == 1


def test_the_option_is_a_duration() -> None:
    assert parse_queue_time("300ms") == 0.3
    with pytest.raises(ValueError, match="--queue-time: '5 days': there is no unit 'days'"):
        parse_queue_time("5 days")


def test_the_header_tiers_and_range_are_data() -> None:
    queue = Queue(0.2, QueueThreshold("patience", frozenset({"hasty"}), 100, 150))
    assert queue.admit({"service_tier": "flex"}, {"queue_threshold": "150"}) == 0.2
    assert queue.admit({"service_tier": "hasty"}, {"queue_threshold": "150"}) == 0.2
    assert queue.admit({"service_tier": "hasty"}, {"patience": "151"}) == 0.2
    with pytest.raises(Refusal):
        queue.admit({"service_tier": "hasty"}, {"patience": "150"})


def test_the_error_is_the_catalogues() -> None:
    entry = load_contract("observed").errors["queue_exceeded"]
    assert (entry.status, entry.code, entry.param) == (429, "queue_exceeded", "queue")


def test_the_header_its_tiers_and_range_are_the_documents() -> None:
    for operation in load_contract("documented").operations:
        for parameter in operation.parameters:
            if parameter.name == HEADER:
                assert parameter.schema is not None
                valid = [n for n in range(MOST + 100) if parameter.schema.is_valid(str(n))]
                assert valid == list(range(LEAST, MOST + 1))
                schema = operation.request_schema
                assert schema is not None
                assert set(TIERS) < set(schema.properties["service_tier"]["enum"])
                return
    pytest.fail(f"no operation has a header {HEADER}")
