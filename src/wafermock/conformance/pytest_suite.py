"""The judge as pytest items: `pytest --pyargs wafermock.conformance --endpoint URL`.

Each planned request, and each probe, is an item, so that `-k`, `-x`, `--lf` and `-n` do what they
always do. What all of them came to is one run, told at the end and written to a file.
"""

import asyncio
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from wafermock.reports import result_file, text
from wafermock.reports.run import Capability, Run
from wafermock.reports.visible import line
from wafermock.spec import load_contract

from .beginning import CannotCheck
from .budgets import BUDGETS
from .check import Course, Order, named
from .client import Client
from .endpoint import Endpoint, EndpointError, key_of
from .exchange import Exchange
from .joining import join
from .placed import Placed
from .planned import Subject
from .probes import capability_requests, supported, unable
from .programme import programme
from .runner import Item, Phase, needs
from .spending import Spending
from .tally import Shown


def add_options(parser: pytest.Parser) -> None:
    """Add the options of the suite."""
    group = parser.getgroup("wafermock conformance")
    group.addoption("--endpoint", metavar="URL", help="the endpoint that is judged")
    group.addoption("--model", metavar="NAME", default="", help="the model that is asked")
    group.addoption("--api-key-env", metavar="NAME", help="the variable that holds the API key")
    group.addoption("--profile", default="documented", help="the profile of the contract")
    group.addoption("--budget", choices=[*BUDGETS], default="quick", help="how much is sent")
    group.addoption("--campaign-seed", type=int, default=0, help="another seed, other requests")
    group.addoption("--any-key", action="store_true", help="the endpoint takes any key")
    group.addoption("--any-model", action="store_true", help="the endpoint takes any model")
    group.addoption("--run-file", metavar="FILE", help="where the run is written to")


class Suite:
    """The plugin that runs the items of one session, or of one worker of it."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.order = _order(config)
        self.runs: list[Run] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._course: Course | None = None
        self._began = 0.0
        self._refused = ""

    # ------------------------------------------------------------------------ what is collected

    @cached_property
    def items(self) -> dict[str, Item]:
        """What is planned, by a name for each: the same ones in every worker.

        Tests have the names alone: what they have is shown, in reports of other plugins too.
        """
        return dict(self._planned())

    def _planned(self) -> Iterator[tuple[str, Item]]:
        order = self.order
        subject = Subject(order.model, order.api_key)
        # Items are planned for all capabilities there are, and skipped where the server lacks one.
        asked = capability_requests(order.contract, subject, order.seed)
        everything = supported(Capability(planned.purpose.kind, "PASS") for planned in asked)
        before = 0
        for phase in programme(
            order.contract, subject, order.seed, order.budget, supported=everything
        ):
            for number, item in enumerate(Placed(phase.items, before), start=1):
                yield f"{phase.name}-{number}-{_title(item)}", item
            before += len(phase.items)

    # ----------------------------------------------------------------------------- what is run

    def run(self, name: str) -> list[tuple[str, Shown]]:
        """Send an item, and judge it; return what is broken, each with its text. Skips where the
        server cannot be asked for it."""
        course, item = self.course, self.items[name]
        lacking = needs(item) & set(unable(course.capabilities))
        if lacking:
            why = "; ".join(f"{n}: {unable(course.capabilities)[n]}" for n in sorted(lacking))
            pytest.skip(line(course.masking.text(why)))
        watcher = _Watcher(course)
        assert self._loop is not None
        self._loop.run_until_complete(course.send(Phase(name, [item]), watcher))
        return [(self._told(shown), shown) for shown in watcher.broken]

    def _told(self, shown: Shown) -> str:
        """Say what is broken: no secret is in it, and nothing that acts on a terminal."""
        breach, mask = shown.breach, self.course.masking.text
        where = f" at {line(mask(breach.where))}" if breach.where else ""
        return (
            f"{shown.state} {shown.rule}{where}\n"
            f"  expected: {line(mask(breach.expected))}\n  came: {line(mask(breach.actual))}"
        )

    @property
    def course(self) -> Course:
        """The course of this session, its server's capabilities found out."""
        if self._refused:
            pytest.fail(self._refused, pytrace=False)
        if self._course is None:
            self._loop = self._loop or asyncio.new_event_loop()
            try:
                self._course = self._loop.run_until_complete(self._begin())
            except CannotCheck as error:
                if not hasattr(self.config, "workerinput"):
                    pytest.exit(str(error), returncode=3)
                # A worker that ends takes everything with it: it fails its items.
                self._refused = str(error)
                pytest.fail(self._refused, pytrace=False)
        return self._course

    async def _begin(self) -> Course:
        self._began = time.time()
        order = self.order
        client = Client(order.endpoint)
        spending = Spending(replace(order.budget, requests=None, tokens=None, seconds=None))
        course = Course(order, Subject(order.model, order.api_key), client, spending, None)
        await course.find_out()
        return course

    # ------------------------------------------------------------------------- what it comes to

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._course is not None and self._loop is not None:
            self.runs.append(self._course.result(self._began, "done"))
            self._loop.run_until_complete(self._course.client.close())
            self._loop.close()
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            output["wafermock_runs"] = [result_file.write(run).decode() for run in self.runs]

    def pytest_testnodedown(self, node: Any) -> None:
        for data in getattr(node, "workeroutput", {}).get("wafermock_runs", ()):
            self.runs.append(result_file.read(data.encode()))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.runs or hasattr(self.config, "workeroutput"):
            return
        run = join(self.runs)
        file = self.config.getoption("--run-file") or ""
        if file:
            try:
                Path(file).write_bytes(result_file.write(run))
            except OSError as error:
                terminalreporter.write_line(f"--run-file {file}: {error.strerror}", red=True)
        terminalreporter.section("conformance")
        width, color = text.look(sys.stdout, os.environ)
        terminalreporter.write(text.render(run, width, color, result=file))


class _Watcher:
    def __init__(self, course: Course) -> None:
        self.broken: list[Shown] = []
        self._course = course

    def phase(self, name: str, total: int | None) -> None:
        """Nobody is told of phases: items have names."""

    def judged(self, exchanges: Sequence[Exchange], broken: Sequence[Shown]) -> None:
        self.broken += broken
        self._course.notebook.judged(exchanges, broken)


def _title(item: Item) -> str:
    purpose = getattr(item, "purpose", None)
    return purpose.kind if purpose else getattr(item, "name", "")


def _order(config: pytest.Config) -> Order:
    url = config.getoption("--endpoint")
    if not url:
        raise pytest.UsageError("say which endpoint to judge: --endpoint http://127.0.0.1:4010")
    try:
        endpoint = Endpoint.at(url)
        key = key_of(endpoint, config.getoption("--api-key-env"), os.environ)
    except EndpointError as error:
        raise pytest.UsageError(str(error)) from None
    try:
        contract = load_contract(config.getoption("--profile"))
    except ValueError as error:
        raise pytest.UsageError(f"--profile: {error}") from None
    flags = {"any_key": "--any-key", "any_model": "--any-model"}
    order = Order(
        endpoint,
        contract,
        BUDGETS[config.getoption("--budget")],
        config.getoption("--model"),
        key,
        seed=config.getoption("--campaign-seed"),
        facts={fact: True for fact, option in flags.items() if config.getoption(option)},
    )
    try:
        return asyncio.run(named(order))
    except CannotCheck as error:
        pytest.exit(str(error), returncode=3)
