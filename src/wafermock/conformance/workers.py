"""Workers: processes that each do a part of a run, started before anything else of it.

They are started before the event loop and before any thread. Where a process can be forked, a
worker has the judge and the contract from the start; elsewhere it imports and loads them while the
first process finds out what the server can do. Orders come to a worker through a pipe, and what it
tells goes back; when the pipe ends it ends too, so that none is left behind.
"""

import asyncio
import gc
import multiprocessing
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from wafermock.reports.run import Budget, Run
from wafermock.spec import Contract, load_contract

from .check import Known, Order, check
from .notebook import Progress
from .programme import plan_ahead
from .rules import all_rules

# What a contract is made of: the arguments of `load_contract`.
Recipe = tuple[str, tuple[str, ...], tuple[str, ...], bool]

# Only the first process listens to them; it tells the workers to stop.
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# How long is waited for the exit code of a worker whose pipe has ended, in seconds.
_EXITING = 10.0
# How often a worker tells how far it is, in seconds.
_TELLING = 0.1


@dataclass
class Worker:
    """One of the processes, and its pipe. In the end it has its `run`, or says why it is `lost`;
    `tokens` are what it has spent until now."""

    name: str
    process: BaseProcess
    line: Connection
    tokens: int = 0
    run: Run | None = None
    lost: str = ""

    def order(self, *what: Any) -> None:
        """Give an order. A worker that is gone does not hear it: listening to it tells."""
        with suppress(OSError):
            self.line.send(what)

    def hear(self) -> tuple[str, list[Any]]:
        """Wait for what it tells next: the name of a method of `Progress` and its arguments, or
        nothing to be shown. It was the last when the worker is `over`."""
        told = _heard(self.line)
        if told is None:
            self.lost = self._why()
            return "note", [self.lost]
        word, *arguments = told
        if word == "ended":
            (self.run,) = arguments
            return "", []
        if word == "advance":
            self.tokens = arguments[1]
        return word, arguments

    @property
    def over(self) -> bool:
        """Whether there is no more to be heard of it."""
        return self.run is not None or bool(self.lost)

    def end(self) -> None:
        """End the process, whatever it does. May be called twice."""
        if not self.line.closed:
            self.line.close()
            self.process.kill()
            # Not closed: a thread that waits for it in `_why` may have taken note of its end, so
            # that to this one it looks as if it were running still.
            self.process.join()

    def _why(self) -> str:
        """Say how it came to an end without a report."""
        self.process.join(_EXITING)
        code = self.process.exitcode
        if code is None:
            how = "answers no more"
        elif code < 0:
            how = f"was ended by {signal.Signals(-code).name}"
        else:
            how = f"ended with exit code {code}"
        return f"{self.name} {how}: its part of the run is not in this report; go on with --resume"


@dataclass(frozen=True)
class Workers:
    """The workers of a run, each with its share of it."""

    each: Sequence[Worker]

    def plan(self, parts: Sequence[Mapping[str, Any]]) -> None:
        """Let each plan ahead for its part: the fields of an `Order`, without a contract, and with
        rules by their ids."""
        for worker, part in zip(self.each, parts, strict=True):
            worker.order(part)

    def begin(self, known: Known, spend: Budget) -> None:
        """Let each send its part, and spend so much for it."""
        for worker in self.each:
            worker.order(known, spend)

    def stop(self) -> None:
        """Let each come to an end, and report what it saw."""
        for worker in self.each:
            worker.order()

    def hear(self, progress: Progress | None, spent: int = 0) -> None:
        """Listen to all until each is over. `spent` are the tokens that the run has cost before."""
        waiting = list(self.each)
        while waiting:
            ready = wait([worker.line for worker in waiting])
            for worker in [worker for worker in waiting if worker.line in ready]:
                word, arguments = worker.hear()
                if word == "advance":
                    arguments[1] = spent + sum(worker.tokens for worker in self.each)
                if progress and word:
                    getattr(progress, word)(*arguments)
            waiting = [worker for worker in waiting if not worker.over]

    def end(self) -> None:
        """End all of them. May be called twice."""
        for worker in self.each:
            worker.end()


@contextmanager
def workers(count: int, contract: Contract, recipe: Recipe) -> Iterator[Workers]:
    """Start so many workers, which know the contract (`recipe` makes the same); leaving ends them.

    To be entered before any thread is started: a process with threads cannot be forked safely, and
    is started anew instead, which takes it half a second.
    """
    forks = sys.platform == "linux" and threading.active_count() == 1
    context = multiprocessing.get_context("fork") if forks else multiprocessing.get_context("spawn")
    profile, documents, overlays, corrected = recipe
    load: Callable[[], Contract] = (
        (lambda: contract)
        if forks
        else partial(load_contract, profile, documents, overlays, corrected=corrected)
    )
    started: list[Worker] = []
    try:
        with _signals_held():
            for number in range(1, count + 1):
                line, end = context.Pipe()
                lines = [*(worker.line for worker in started), line]
                given = (end, load, lines if forks else ())
                process = context.Process(target=_work, args=given, daemon=True)
                process.start()
                end.close()  # the worker's alone: when it is gone, the pipe ends
                started.append(Worker(f"process {number} of {count}", process, line))
        yield Workers(started)
    finally:
        Workers(started).end()


@contextmanager
def _signals_held() -> Iterator[None]:
    """Keep signals back while processes start, until each has said what it does with them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _heard(line: Connection) -> Any:
    """Wait for what comes through a pipe next; None: nothing more does."""
    try:
        return line.recv()
    except (EOFError, OSError):
        return None


# --------------------------------------------------------------------------------- in a worker


def _work(line: Connection, load: Callable[[], Contract], others: Sequence[Connection]) -> None:
    """Do what the first process orders, and tell it what comes of it. `others` are the ends of
    pipes that are the first process's: they end with it only if nobody else holds them."""
    gc.freeze()  # what it shares with the first process is not to be copied to be looked through
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    for other in others:
        other.close()
    contract = load()
    if (planning := _heard(line)) is None:
        return
    (part,) = planning
    order = _order(part, contract)
    plan_ahead(contract, order.model)
    if (beginning := _heard(line)) is None:
        return
    known, spend = beginning
    run = asyncio.run(_run(line, replace(order, spend=spend), known))
    with suppress(OSError):  # nobody listens any more
        line.send(("ended", run))


def _order(part: Mapping[str, Any], contract: Contract) -> Order:
    rules = tuple(rule for rule in all_rules() if rule.id in part["rules"])
    return Order(**{**part, "contract": contract, "rules": rules})


async def _run(line: Connection, order: Order, known: Known) -> Run:
    loop, interruption = asyncio.get_running_loop(), asyncio.Event()

    def listen() -> None:
        _heard(line)  # whatever it is, or the end of the pipe: to stop
        with suppress(RuntimeError):  # the run is over
            loop.call_soon_threadsafe(interruption.set)

    threading.Thread(target=listen, daemon=True).start()
    telling = _Telling(line, first=order.shard.index == 0)
    run = await check(order, telling, interruption, known)
    telling.advanced()
    return run


class _Telling:
    """Tells the first process how the part goes."""

    def __init__(self, line: Connection, *, first: bool) -> None:
        self._line = line
        self._first = first
        self._exchanges = 0  # that are still to be told
        self._tokens = 0
        self._later: asyncio.TimerHandle | None = None

    def start(self, url: str, budget: Budget, rules: int) -> None:
        """The first process has told long ago that the run begins."""

    def phase(self, name: str, total: int | None) -> None:
        # All parts have the same phases, at about the same time.
        if self._first:
            self._tell("phase", name, total)

    def advance(self, exchanges: int, tokens: int) -> None:
        # To tell each at once costs a tenth of a run, at both ends of the pipe.
        self._exchanges += exchanges
        self._tokens = tokens
        if self._later is None:
            self._later = asyncio.get_running_loop().call_later(_TELLING, self.advanced)

    def advanced(self) -> None:
        """Tell how far the part is, as far as it has not been told."""
        self._later = None
        self._tell("advance", self._exchanges, self._tokens)
        self._exchanges = 0

    def decided(self, rule: str, state: str) -> None:
        self._tell("decided", rule, state)

    def finding(self, rule: str, state: str, text: str, place: str) -> None:
        self._tell("finding", rule, state, text, place)

    def note(self, text: str) -> None:
        self._tell("note", text)

    def _tell(self, *what: Any) -> None:
        with suppress(OSError):  # nobody listens: the run is about to stop
            self._line.send(what)
