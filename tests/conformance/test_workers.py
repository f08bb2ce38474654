"""Runs that several processes share: what they send, what they tell, and how they end."""

import asyncio
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.conformance.beginning import CannotCheck
from wafermock.conformance.budgets import budget
from wafermock.conformance.campaigns import Generated, generated
from wafermock.conformance.check import Order, check
from wafermock.conformance.endpoint import Endpoint
from wafermock.conformance.parts import check_in_parts, resume
from wafermock.conformance.planned import Subject
from wafermock.conformance.runner import Shard
from wafermock.conformance.workers import Recipe, Worker, Workers, workers
from wafermock.reports.progress import Progress
from wafermock.reports.run import Budget, Run
from wafermock.spec import load_contract

from .timeless import timeless

KEY = "a-key-that-is-long-enough"
CONTRACT = load_contract()
RECIPE: Recipe = ("documented", (), (), True)
PATIENCE = 60


@pytest.fixture(scope="module")
def url(serving: Any) -> Iterator[str]:
    with serving("--models", "strict", "--api-key", KEY) as served:
        yield served.url


def order(url: str, **changes: Any) -> Order:
    spend = changes.pop("budget", budget("standard", requests=400))
    return Order(Endpoint.at(url), CONTRACT, spend, api_key=KEY, **changes)


class Watching(Progress):
    """Looks on, and does something when a part begins with its programme."""

    def __init__(self, act: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        self.act = act
        self.notes: list[str] = []
        self.costs: list[int] = []

    def phase(self, name: str, total: int | None) -> None:
        super().phase(name, total)
        if name == "probes":
            self.act()

    def advance(self, exchanges: int, tokens: int) -> None:
        super().advance(exchanges, tokens)
        self.costs.append(tokens)

    def note(self, text: str) -> None:
        self.notes.append(text)


@contextmanager
def started(count: int) -> Iterator[Workers]:
    """Start workers; none is left when they are left."""
    with workers(count, CONTRACT, RECIPE) as them:
        yield them
    assert not multiprocessing.active_children()


def run_in_parts(order: Order, count: int, watching: Watching | None = None) -> Run:
    with started(count) as them:
        return asyncio.run(check_in_parts(order, them, watching))


# ------------------------------------------------------------------------------ what is sent


@given(st.integers(1, 9), st.integers(0, 10_000))
def test_every_item_is_one_parts_and_of_so_many_in_a_row_each_has_one(of: int, turn: int) -> None:
    shards = [Shard(index, of) for index in range(of)]
    taken = [
        [shard.index for shard in shards if shard.takes(position)]
        for position in range(turn * of, turn * of + of)
    ]
    assert sorted(taken) == [[index] for index in range(of)]


def test_what_comes_at_regular_intervals_is_shared_too() -> None:
    """Else one part has all the requests that cost most, and the others wait for it."""
    for of in (2, 3, 4):
        for interval in range(2, 9):
            shares = Counter(
                index
                for position in range(0, 720 * interval, interval)
                for index in range(of)
                if Shard(index, of).takes(position)
            )
            assert max(shares.values()) <= 1.25 * min(shares.values()), (of, interval)
            assert len(shares) == of


def test_generated_requests_are_made_by_number() -> None:
    """Each is the same whether all are made, or it alone."""
    subject = Subject("gpt-oss-120b", KEY)
    made = list(generated(CONTRACT, subject, 3, 12))
    by_number = Generated(CONTRACT, subject, 3, 12)
    assert len(by_number) == len(made) == 12
    assert [by_number[number] for number in (11, 4, -12)] == [made[11], made[4], made[0]]
    assert by_number[2:5] == made[2:5]
    with pytest.raises(IndexError):
        by_number[12]


@pytest.mark.parametrize(("name", "count"), [("quick", 2), ("standard", 2), ("standard", 3)])
def test_parts_give_what_one_process_gives(url: str, name: str, count: int) -> None:
    """The same requests, and of all that is told the same but for numbers and times.

    Of a small budget the parts need shares that are not the same.
    """

    def told(run: Run) -> Any:
        verdicts = [(v.rule, v.state, v.kept, v.broken, v.why) for v in run.verdicts]
        return verdicts, run.cells, run.coverage, run.capabilities, run.notes, run.findings

    bounds = budget(name, requests=400) if name == "standard" else budget(name)
    whole = asyncio.run(check(order(url, budget=bounds)))
    parts = run_in_parts(order(url, budget=bounds), count)
    assert whole.ended_by == parts.ended_by == "done"
    assert told(parts) == told(whole)
    assert replace(parts.cost, seconds=0.0) == replace(whole.cost, seconds=0.0)


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked there")
def test_a_process_is_forked_only_where_it_has_no_threads() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    with workers(1, CONTRACT, RECIPE) as forked:
        thread.start()
        try:
            with workers(1, CONTRACT, RECIPE) as spawned:
                kinds = [type(each.process).__name__ for each in (*forked.each, *spawned.each)]
        finally:
            done.set()
            thread.join()
    assert kinds == ["ForkProcess", "SpawnProcess"]


def test_parts_give_the_same_again(serve: Callable[..., Any]) -> None:
    """What is found, by which exchanges, and what they are called, is the same but for times."""
    mock = serve("--models", "strict", "--api-key", KEY, "--defect", "usage_sum")
    first, second = (run_in_parts(order(mock.url), 2) for _ in range(2))
    assert first.findings
    assert timeless(first) == timeless(second)


def test_where_a_process_cannot_be_forked(url: str) -> None:
    """A process with threads starts others anew: they find the contract, and ask as much."""
    done, small = threading.Event(), order(url, budget=budget("quick"))
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        run = run_in_parts(small, 2)
    finally:
        done.set()
        thread.join()
    assert run.ended_by == "done"
    assert run.cost.requests == asyncio.run(check(small)).cost.requests


def test_rules_that_are_ordered_are_those_that_judge(url: str) -> None:
    some = order(url, budget=budget("quick"))
    some = replace(some, rules=some.rules[:20])
    run = run_in_parts(some, 2)
    assert [verdict.rule for verdict in run.verdicts] == [rule.id for rule in some.rules]


# ------------------------------------------------------------------------------ what is told


def test_the_display_adds_up_what_parts_tell(url: str) -> None:
    watching = Watching()
    # Both parts come to their ends: what one leaves to the other is shown to nobody.
    run = run_in_parts(order(url, budget=budget("standard", requests=300)), 2, watching)
    assert watching.requests == run.cost.requests
    assert watching.costs == sorted(watching.costs)  # that of one part alone would jump
    assert watching.costs[-1] == run.cost.tokens
    assert watching.name == "generated"
    assert watching.notes == []


# ------------------------------------------------------------------------------ how they end


def test_a_worker_that_dies_is_told_and_the_rest_is_reported(url: str) -> None:
    """In the middle of a run: what the others saw is not lost, and --resume goes on."""
    whole = asyncio.run(check(order(url)))
    with started(2) as them:

        def kill() -> None:
            pid = them.each[1].process.pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)

        watching = Watching(kill)
        run = asyncio.run(check_in_parts(order(url), them, watching))
    assert run.ended_by == "interrupted"
    assert 0 < run.cost.requests < whole.cost.requests
    note = (
        "process 2 of 2 was ended by SIGKILL: its part of the run is not in this report; "
        "go on with --resume"
    )
    assert watching.notes == [note]
    assert run.notes[-1] == note
    # All is sent again, since nobody knows how far that part was; the budget was for once.
    assert run.settings["position"] == 0
    after = asyncio.run(resume(order(url), run))
    assert after.ended_by == "budget"
    after = asyncio.run(resume(order(url), after))
    assert after.ended_by == "done"
    assert {v.rule: v.state for v in after.verdicts} == {v.rule: v.state for v in whole.verdicts}
    assert {c.kind for c in after.cells} == {c.kind for c in whole.cells}


def test_all_workers_die_before_they_begin(url: str) -> None:
    with started(2) as them:
        for worker in them.each:
            worker.process.kill()
        run = asyncio.run(check_in_parts(order(url), them))
    assert run.ended_by == "interrupted"
    assert [note.partition(":")[0] for note in run.notes[-2:]] == [
        "process 1 of 2 was ended by SIGKILL",
        "process 2 of 2 was ended by SIGKILL",
    ]
    assert run.settings["position"] == 0
    assert 0 < run.cost.requests < 30  # what was found out first


def test_a_worker_that_ends_without_a_word() -> None:
    line, end = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=end.close)
    process.start()
    end.close()
    worker = Worker("process 1 of 1", process, line)
    Workers([worker]).hear(None)
    worker.end()
    worker.end()
    assert worker.lost.startswith("process 1 of 1 ended with exit code 0: ")


def test_workers_stop_when_the_first_process_is_asked_to(url: str) -> None:
    """The signal need not reach them: they are told, and report what they saw."""

    async def go(them: Workers) -> tuple[Run, Watching]:
        loop, interruption = asyncio.get_running_loop(), asyncio.Event()
        watching = Watching(lambda: loop.call_soon_threadsafe(interruption.set))
        slow = replace(order(url), budget=budget("standard", rate=50.0))
        return await check_in_parts(slow, them, watching, interruption), watching

    with started(2) as them:
        run, watching = asyncio.run(go(them))
        assert all(worker.run for worker in them.each)
    assert run.ended_by == "interrupted"
    assert run.cost.requests < 400
    assert watching.notes == []
    after = asyncio.run(resume(order(url, budget=run.budget), stopped_early(run)))
    assert after.ended_by == "budget"


def stopped_early(run: Run) -> Run:
    """The same run with hardly anything left of its budget."""
    left = Budget("standard", requests=run.cost.requests + 5, concurrency=4)
    return replace(run, budget=left)


def test_a_run_that_cannot_begin_leaves_no_worker() -> None:
    with pytest.raises(CannotCheck, match="nobody listens"):
        run_in_parts(order("http://127.0.0.1:9"), 2)


def test_what_goes_wrong_in_the_first_process_ends_the_workers(url: str) -> None:
    """Nothing hangs: not even the thread that listens."""

    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_in_parts(order(url), 2, Watching(fail))


def test_cancelled(url: str) -> None:
    """As by a second Ctrl-C: no part is waited for."""

    async def go(them: Workers) -> None:
        loop = asyncio.get_running_loop()
        task: asyncio.Task[Run]
        watching = Watching(lambda: loop.call_soon_threadsafe(task.cancel))
        slow = replace(order(url), budget=budget("standard", rate=5.0))
        task = asyncio.create_task(check_in_parts(slow, them, watching))
        with pytest.raises(asyncio.CancelledError):
            await task

    with started(2) as them:
        asyncio.run(go(them))


def test_a_worker_is_ended_while_a_thread_waits_for_it() -> None:
    """One thread alone takes note of the end; the other shall not stumble over that."""
    with started(1) as them, ThreadPoolExecutor() as threads:
        (worker,) = them.each
        told = [threads.submit(worker._why) for _ in range(3)]
        worker.end()
        assert all(waited.result().startswith(worker.name) for waited in told)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("everybody", [False, True])
def test_a_signal_ends_all_processes(
    url: str, tmp_path: Path, number: signal.Signals, everybody: bool
) -> None:
    """Sent to the first process, or to all as a terminal does: one report, no traceback, and
    nobody left, as the end of their standard error tells."""
    command = (
        sys.executable, "-W", "error::DeprecationWarning:multiprocessing",
        "-m", "wafermock.cli", "check", url, "--api-key-env", "KEY",
        "-n", "2", "--budget", "standard", "--rate", "50",
    )  # fmt: skip
    with subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, "KEY": KEY}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("probes"):
                break
        (os.killpg if everybody else os.kill)(process.pid, number)
        out, err = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in err
    if number == signal.SIGKILL:
        assert process.returncode == -number
        return
    assert process.returncode == 130
    assert "interrupted" in out
    run = json.loads((tmp_path / "wafermock-run.json").read_text())
    assert run["ended_by"] == "interrupted"
    assert not [note for note in run["notes"] if note.startswith("process ")]
    assert KEY not in json.dumps(run)
