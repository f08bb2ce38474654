"""Whole runs against the mock: every rule decided, the budget kept, parts that make one run."""

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from wafermock.conformance.beginning import CannotCheck
from wafermock.conformance.budgets import BUDGETS, budget
from wafermock.conformance.check import Order, check
from wafermock.conformance.endpoint import Endpoint
from wafermock.conformance.parts import resumable, resume
from wafermock.reports import result_file
from wafermock.reports.run import Run
from wafermock.spec import load_contract

from .timeless import timeless

KEY = "a-key-that-is-long-enough"
CONTRACT = load_contract()


@pytest.fixture(scope="module")
def url(serving: Any) -> Iterator[str]:
    """A mock that knows its models and its key, as services do."""
    with serving("--models", "strict", "--api-key", KEY) as served:
        yield served.url


def order(url: str, **changes: Any) -> Order:
    return Order(
        Endpoint.at(url),
        changes.pop("contract", CONTRACT),
        changes.pop("budget", BUDGETS["quick"]),
        api_key=KEY,
        **changes,
    )


def run(url: str, **changes: Any) -> Run:
    return asyncio.run(check(order(url, **changes)))


def states(run: Run, *wanted: str) -> dict[str, str]:
    return {v.rule: v.why for v in run.verdicts if v.state in wanted}


def test_quick_decides_every_rule(url: str) -> None:
    found = run(url)
    assert found.ended_by == "done"
    assert found.cost.requests <= 100
    assert found.cost.tokens <= 20_000
    assert states(found, "FAIL", "WARN", "NOT RUN") == {}
    # What the model, and a server of HTTP/1.1, cannot show.
    assert set(states(found, "UNSUPPORTED")) <= {
        "ENC-HTTP2",
        "SEM-REASONING-NONE",
        "SEM-USAGE-IMAGES",
        "SCHEMA-NO-BODY",
    }
    for verdict in found.verdicts:
        assert verdict.evidence or verdict.state == "UNSUPPORTED", verdict
    assert KEY.encode() not in result_file.write(found)
    assert result_file.read(result_file.write(found)) == found


def test_the_same_run_again(url: str) -> None:
    """The same seed asks the same in the same order; times apart all is the same."""
    first, second = run(url), run(url)
    assert timeless(first) == timeless(second)
    assert run(url, seed=7).cells != first.cells


def test_the_same_run_again_with_several_requests_on_their_way(serve: Callable[..., Any]) -> None:
    """Which answer comes first changes nothing: exchanges are called by their place in the plan."""
    mock = serve("--models", "strict", "--api-key", KEY, "--defect", "usage_sum")
    spend = budget("standard", requests=300, concurrency=4)
    first, second = run(mock.url, budget=spend), run(mock.url, budget=spend)
    assert first.findings
    assert timeless(first) == timeless(second)
    # One at a time is the same again.
    third = run(mock.url, budget=replace(spend, concurrency=1))
    assert timeless(replace(third, budget=spend)) == timeless(first)
    evidence = {id for verdict in first.verdicts for id in verdict.evidence}
    assert {"c1", "1"} <= evidence
    assert any(":" in id for id in evidence)  # a request of a probe, by its role


def test_what_breaks_is_found_and_made_small(serve: Callable[..., Any]) -> None:
    mock = serve("--models", "strict", "--api-key", KEY, "--defect", "usage_sum")
    found = run(mock.url, budget=budget("quick", requests=200))
    assert set(states(found, "FAIL")) == {"SEM-USAGE-SUM"}
    assert {finding.rule for finding in found.findings} == {"SEM-USAGE-SUM"}
    bodies = [finding.traffic[-1].request_body for finding in found.findings]
    assert any(len(body) < 120 for body in bodies), bodies
    first = found.findings[0]
    assert "= " in first.expected
    assert first.actual.isdecimal()
    assert KEY not in first.curl + first.python


def test_a_limit_that_is_not_kept_shows_in_the_shortest_answer(
    serve: Callable[..., Any], tmp_path: Path
) -> None:
    """Whoever reads `max_tokens` alone answers as asked for as long as the answer is short."""
    choice = {"index": 0, "message": {"role": "assistant", "content": "A river is water."}}
    answer = {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-oss-120b",
        "system_fingerprint": "fp_1", "choices": [{**choice, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10},
    }  # fmt: skip
    script = tmp_path / "short.json"
    match = {"operation": "createChatCompletion", "stream": False}
    script.write_text(json.dumps({"rules": [{"match": match, "reply": {"body": answer}}]}))
    mock = serve("--models", "strict", "--api-key", KEY, "--script", str(script))
    assert "SEM-LENGTH-BOUND" in states(run(mock.url), "FAIL")


def test_a_budget_is_kept(url: str) -> None:
    found = run(url, budget=budget("quick", requests=30))
    assert (found.ended_by, found.cost.requests <= 30) == ("budget", True)
    found = run(url, budget=budget("quick", tokens=800))
    assert found.cost.tokens <= 800
    assert states(found, "NOT RUN")


def test_an_interrupted_run_tells_what_it_saw(url: str) -> None:
    async def go() -> Run:
        interruption = asyncio.Event()
        interruption.set()
        return await check(order(url), None, interruption)

    found = asyncio.run(go())
    assert found.ended_by == "interrupted"
    assert found.cost.requests < 100


def test_going_on_gives_what_one_run_gives(url: str) -> None:
    whole = run(url)
    # Interrupted by a budget that is too small for the programme.
    before = asyncio.run(check(order(url, spend=budget("quick", requests=50))))
    assert before.ended_by == "budget"
    assert resumable(before, order(url)) == ""
    assert "come to its end" in resumable(whole, order(url))
    assert "another" in resumable(before, order(url, contract=load_contract("observed")))
    assert "against" in resumable(before, order("http://127.0.0.1:9"))
    after = asyncio.run(resume(order(url), before))
    assert after.ended_by == "done"
    assert [(v.rule, v.state) for v in after.verdicts] == [
        (v.rule, v.state) for v in whole.verdicts
    ]
    assert after.cells == whole.cells
    assert after.cost.requests == whole.cost.requests


def test_nobody_there() -> None:
    with pytest.raises(CannotCheck, match="nobody listens"):
        run("http://127.0.0.1:9")


def test_a_server_without_models(serve: Callable[..., Any], tmp_path: Any) -> None:
    """A server that lists no models must be told which one to ask."""
    overlay = tmp_path / "no-models.yaml"
    overlay.write_text(
        "overlay: 1.0.0\ninfo: {title: No models, version: '1'}\n"
        "actions:\n  - target: $.paths['/v1/models']\n    remove: true\n"
    )
    mock = serve("--overlay", str(overlay), "--api-key", KEY)
    with pytest.raises(CannotCheck, match="--model"):
        run(mock.url)
    assert run(mock.url, model="gpt-oss-120b").ended_by == "done"


def test_a_server_that_refuses_all(url: str) -> None:
    """A wrong key, model or path is the user's fault, and not told as a hundred of the server's."""
    stranger = replace(order(url), api_key="another-key")
    with pytest.raises(CannotCheck, match=r"answered with 401\): is the key right"):
        asyncio.run(check(stranger))
    with pytest.raises(CannotCheck, match="401: Wrong API Key: is the key right"):
        asyncio.run(check(replace(stranger, model="gpt-oss-120b")))
    with pytest.raises(CannotCheck, match="--model nobody"):
        run(url, model="nobody")
    with pytest.raises(CannotCheck, match=r"completions: is the key .* the path of the URL"):
        asyncio.run(check(replace(order(f"{url}/else"), model="gpt-oss-120b")))


def test_a_list_of_models_that_breaks_off_is_asked_for_again() -> None:
    """One connection that breaks is no reason not to begin."""
    raw = [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n"]

    async def go() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(raw.pop(0))
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(CannotCheck, match="answered with 200, and no list of models"):
                await check(order(f"http://127.0.0.1:{port}"))

    asyncio.run(go())


def test_a_server_that_goes_away(serve: Callable[..., Any]) -> None:
    """A run whose server stops answering ends, and says so."""
    mock = serve("--models", "strict", "--api-key", KEY, "--failure", "reset_before_headers")
    found = run(mock.url, model="gpt-oss-120b")
    assert found.ended_by == "unreachable"
