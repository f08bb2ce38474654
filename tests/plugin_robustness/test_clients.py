"""Verdicts on real clients: both SDKs as they are and without retries, and one with every fault."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from cerebras.cloud.sdk import Cerebras
from openai import OpenAI

from wafermock import MockServer, Space
from wafermock.mockserver.robustness import (
    Trial,
    Verdict,
    delivery_trials,
    failure_trial,
    failure_trials,
    watch,
)
from wafermock.spec import load_contract

MODEL = "gpt-oss-120b"
# A client's time limit where one is tried, and else: nothing is slow, but the machine may be.
LIMIT, NO_LIMIT = 0.1, 30.0
SAID = "Grüße, 世界 🌍!"

Client = Callable[[str], str]


def by_sdk(sdk: type[Any], *, retries: int, stream: bool, limit: float = NO_LIMIT) -> Client:
    """Make a client of an SDK as its documents show it, which looks for a finish reason."""

    def ask(url: str) -> str:
        client = sdk(base_url=url, api_key="test", max_retries=retries, timeout=limit)
        with client:
            made = client.chat.completions.create(
                model=MODEL, messages=[{"role": "user", "content": "hi"}], stream=stream
            )
            words, finished = "", False
            for chunk in made if stream else [made]:
                choice = chunk.choices[0]
                words += (choice.delta if stream else choice.message).content or ""
                finished = finished or choice.finish_reason is not None
            if not finished:
                raise RuntimeError("the answer was cut")
            return words

    return ask


PLAIN = httpx.Client(
    timeout=None, trust_env=False, verify=False, headers={"authorization": "Bearer test"}
)


def naive(url: str) -> str:
    """Ask at once again whatever happens, for ever in time, and take what comes for an answer."""
    body = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}], "stream": True}
    for _ in range(8):
        words = ""
        try:
            answer = PLAIN.post(f"{url}/v1/chat/completions", json=body)
        except httpx.HTTPError:
            continue
        if answer.status_code != 200:
            continue
        for line in answer.text.splitlines():
            if line.startswith("data: {"):
                try:
                    choices = json.loads(line[6:]).get("choices") or [{}]
                except ValueError:
                    continue
                words += choices[0].get("delta", {}).get("content") or ""
        return words
    return ""


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer() as server, PLAIN:
        yield server


@pytest.fixture
def space(server: MockServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Space]:
    """A space that replies; while an SDK waits before it asks again, the space's clock runs."""
    with server.space() as space:
        space.on().replies(SAID)
        monkeypatch.setattr("time.sleep", space.clock.advance)
        yield space


def tried(space: Space, text: str, client: Client, patience: float = NO_LIMIT) -> Verdict:
    with watch(space, failure_trial(text, space.contract), patience=patience) as seen:
        seen.returned = client(space.url)
    return seen.verdict


SDKS = pytest.mark.parametrize("sdk", [OpenAI, Cerebras], ids=["openai", "cerebras"])

# What an SDK is to do: what is told at once, what is told once a stream is cut.
TOLD = (
    "wrong_api_key", "model_not_found", "validation_error", "payment_required",
    "html_page:status=403", "unfinished:after=1", "reset:after=1", "close:after=1",
    "error_event:after=1", "half_json:after=1", "empty_stream",
)  # fmt: skip
RETRIED = ("service_unavailable", "request_quota_exceeded", "reset_before_headers", "html_page")


@SDKS
@pytest.mark.parametrize("text", TOLD)
def test_sdks_tell_what_cannot_be_helped(space: Space, sdk: Any, text: str) -> None:
    found = tried(space, text, by_sdk(sdk, retries=2, stream=True))
    assert found.happened
    assert found.outcome is not None
    assert found.outcome.raised
    found.assert_ok(allow=["gave_up"] if text == "empty_stream" else [])


@SDKS
@pytest.mark.parametrize("text", RETRIED)
def test_sdks_try_again(space: Space, sdk: Any, text: str) -> None:
    found = tried(space, text, by_sdk(sdk, retries=2, stream=False))
    assert (len(found.tries), found.outcome and found.outcome.raised) == (2, "")
    found.assert_ok()


@SDKS
@pytest.mark.parametrize("text", RETRIED)
def test_without_retries_they_give_up(space: Space, sdk: Any, text: str) -> None:
    found = tried(space, text, by_sdk(sdk, retries=0, stream=False))
    assert found.names == ("gave_up",)


@SDKS
def test_sdks_wait_longer_each_time(space: Space, sdk: Any) -> None:
    found = tried(space, "service_unavailable for ever", by_sdk(sdk, retries=3, stream=False))
    assert len(found.tries) == 4
    found.assert_ok()


@SDKS
def test_sdks_heed_retry_after(space: Space, sdk: Any) -> None:
    text = "request_quota_exceeded:retry_after=1"
    found = tried(space, text, by_sdk(sdk, retries=1, stream=False))
    assert [each.retry_after for each in found.tries] == [1.0, None]
    found.assert_ok()


@SDKS
@pytest.mark.parametrize("name", ["slow_first_byte", "slow_first_event", "stall"])
def test_sdks_have_a_limit(space: Space, sdk: Any, name: str) -> None:
    client = by_sdk(sdk, retries=0, stream=True, limit=LIMIT)
    found = tried(space, f"{name}:seconds=20", client, patience=10)
    assert found.outcome is not None
    assert "imeout" in found.outcome.raised
    found.assert_ok()


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("wrong_api_key", ("retried_in_vain",)),
        ("wrong_api_key for ever", ("retried_in_vain", "retry_storm", "took_error_for_answer")),
        ("service_unavailable for ever", ("retry_storm", "took_error_for_answer")),
        ("request_quota_exceeded:retry_after=1", ("ignored_retry_after",)),
        ("unfinished:after=1", ("took_cut_for_whole",)),
        ("error_event:after=1", ("took_cut_for_whole",)),
        ("half_json:after=1", ("took_cut_for_whole",)),
        ("empty_stream", ("took_cut_for_whole",)),
        ("error_as_200", ("took_error_for_answer",)),
        ("slow_first_byte:seconds=0.2", ("no_time_limit",)),
        ("slow_first_event:seconds=0.2", ("no_time_limit",)),
        ("stall:after=1,seconds=0.2", ("no_time_limit",)),
        ("crawl:seconds=0.03", ("no_time_limit",)),
        ("reset_before_headers for ever", ("retry_storm", "took_cut_for_whole")),
        ("no_body", ()),  # it shows on no stream
    ],
)
def test_the_naive_client_has_every_fault(space: Space, text: str, faults: tuple[str, ...]) -> None:
    patience = LIMIT if "seconds" in text else NO_LIMIT
    assert tried(space, text, naive, patience).names == faults


def test_what_an_answer_says_of_retries_comes_first(space: Space) -> None:
    text = "request_quota_exceeded:should_retry=false"
    assert tried(space, text, naive).names == ("retried_in_vain",)
    assert tried(space, "wrong_api_key:should_retry=true", naive).ok


@pytest.mark.parametrize(("status", "faults"), [(418, ("retried_in_vain",)), (599, ())])
def test_statuses_of_no_catalogue_are_judged_by_their_class(
    server: MockServer, status: int, faults: tuple[str, ...]
) -> None:
    with server.space() as space:
        space.on().answers({"no": "code"}, status=status).times(1).then.replies(SAID)
        with watch(space, patience=NO_LIMIT) as seen:
            seen.returned = naive(space.url)
    assert (seen.returned, seen.verdict.names) == (SAID, faults)


def test_a_stream_that_a_test_drops_is_cut(server: MockServer) -> None:
    with server.space() as space:
        held = space.on().replies(SAID).times(1).held()
        space.on().replies("again")
        held.emit(2)
        held.drop()
        with watch(space, patience=NO_LIMIT) as seen:
            seen.returned = naive(space.url)
    assert seen.verdict.tries[0].trouble == "the stream was dropped"
    assert (seen.returned, seen.verdict.names) == ("again", ())


def test_an_agent_may_try_another_model(space: Space) -> None:
    space.on(model="zai-glm-4.7").replies("I can.")
    with watch(space, failure_trial("service_unavailable", space.contract)) as seen:
        with httpx.Client(trust_env=False, headers={"authorization": "Bearer t"}) as client:
            for model in (MODEL, "zai-glm-4.7"):
                body = {"model": model, "messages": [{"role": "user", "content": "hi"}]}
                answer = client.post(f"{space.url}/v1/chat/completions", json=body)
        seen.returned = answer.json()["choices"][0]["message"]["content"]
    assert seen.returned == "I can."
    seen.verdict.assert_ok()


async def test_a_coroutine_is_watched_as_well(space: Space) -> None:
    body = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}]}
    async with httpx.AsyncClient(trust_env=False, verify=False) as client:
        with watch(space, failure_trial("bad_gateway", space.contract)) as seen:
            answer = await client.post(f"{space.url}/v1/chat/completions", json=body)
            seen.returned = answer.raise_for_status()
    assert isinstance(seen.raised, httpx.HTTPStatusError)
    assert seen.verdict.names == ("gave_up",)


def test_a_watch_keeps_what_is_raised_and_lets_assertions_go(space: Space) -> None:
    with watch(space) as seen:
        raise LookupError("no")
    assert isinstance(seen.raised, LookupError)
    assert seen.verdict.outcome is not None
    assert seen.verdict.outcome.raised == "LookupError: no"
    with pytest.raises(AssertionError), watch(space):
        raise AssertionError
    unused = watch(space)
    with pytest.raises(RuntimeError, match="behind the `with` block"):
        unused.verdict  # noqa: B018


def test_a_failure_that_was_not_used_up_is_over_with_the_watch(space: Space) -> None:
    with watch(space, failure_trial("server_error", space.contract)):
        pass
    assert naive(space.url) == SAID


# ---------------------------------------------------------------------- the whole catalogue


def test_the_catalogue_is_whole() -> None:
    contract = load_contract()
    names = {trial.name for trial in failure_trials(contract)}
    own = {e.name for e in contract.errors if "the mock server's own" in e.source}
    assert {e.name for e in contract.errors} - own <= names
    assert not names & own
    assert {"stall", "crawl", "reset_in_body", "unfinished", "html_page", "error_event"} <= names
    texts = [str(trial) for trial in failure_trials(contract)]
    assert len(set(texts)) == len(texts)
    for text in texts:  # each can be read again, as pytest's parameters are
        assert str(failure_trial(text, contract)) == text


def test_every_failure_happens_and_only_four_wait(space: Space) -> None:
    """The whole catalogue is tried in seconds: only what is slow on purpose takes time."""
    slow = {"slow_first_byte", "slow_first_event", "stall", "crawl"}
    trials = failure_trials(space.contract)
    assert {t.name for t in trials if "seconds" in t.chosen.values} == slow
    for trial in trials:
        if trial.name in slow:
            continue
        with watch(space, trial, patience=NO_LIMIT) as seen:
            seen.returned = naive(space.url)
        assert seen.verdict.tries, trial
        assert seen.verdict.happened is ("whole" not in trial.on), trial


# What a client reads that splits a stream into lines by hand: how the writes are cut.
CUTS = [trial for trial in delivery_trials() if trial.chosen.entry.group in ("WRITES", "HTTP")]


@pytest.mark.parametrize("trial", CUTS, ids=str)
def test_how_writes_are_cut_is_nothing_to_an_http_library(space: Space, trial: Trial) -> None:
    space.every_answer(delivery=str(trial.chosen))
    assert naive(space.url) == SAID
