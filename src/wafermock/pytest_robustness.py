"""Trials of the client under test, in pytest: every delivery, every failure, and the verdicts.

PYTEST_DONT_REWRITE: there is nothing to be rewritten here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from wafermock import Space
    from wafermock.mockserver.robustness import Trial, Watch

_MARKER = (
    "wafermock_patience(seconds): how long the client of this test may wait for an answer "
    "(default: 1), in trials of failures."
)
_DELIVERY, _FAILURE = "wafermock_delivery", "wafermock_failure"
_PROPERTY, _UNSTREAMED = "wafermock_verdict", "wafermock_unstreamed"
# What judges is imported by the first test that wants it: nobody is judged before.
_JUDGE = "wafermock.mockserver.robustness"


class FailureTrial:
    """The failure that a test tries on its client. `trial` says what it is."""

    def __init__(self, space: Space, trial: Trial, patience: float) -> None:
        self._space = space
        self.trial = trial
        self.patience = patience

    def __str__(self) -> str:
        return str(self.trial)

    @property
    def name(self) -> str:
        return self.trial.name

    @property
    def on(self) -> str:
        """Which answers it shows on: `every answer`, `streams`, `whole answers`."""
        return self.trial.on

    def watch(self, *, tries: int = 6) -> Watch:
        """Let it happen to the calls in this `with` block, and watch what the client does."""
        from wafermock.mockserver.robustness import watch

        return watch(self._space, self.trial, patience=self.patience, tries=tries)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that wants one of the fixtures for the whole catalogue, unless it chooses."""
    for fixture in (_DELIVERY, _FAILURE):
        if fixture in metafunc.fixturenames and not _is_chosen(metafunc.definition, fixture):
            trials = _trials(fixture, _patience(metafunc.definition))
            metafunc.parametrize(fixture, trials, indirect=True)


def _is_chosen(definition: pytest.Item, fixture: str) -> bool:
    """Say whether a test is parametrised by its own `pytest.mark.parametrize`.

    Where that would give the test a name in place of the fixture, collecting fails.
    """
    for marker in definition.iter_markers("parametrize"):
        names = marker.args[0] if marker.args else marker.kwargs.get("argnames", ())
        listed = names.split(",") if isinstance(names, str) else names
        if fixture in (name.strip() for name in listed):
            indirect = marker.kwargs.get("indirect", marker.args[2:3] == (True,))
            if indirect is True or (indirect and fixture in indirect):
                return True
            pytest.fail(f"{definition.nodeid}: {_by_name(fixture)}", pytrace=False)
    return False


def _by_name(fixture: str) -> str:
    return (
        f'{fixture} is chosen by its name: @pytest.mark.parametrize("{fixture}", ["..."], '
        "indirect=True)"
    )


def _trials(fixture: str, patience: float) -> list[str]:
    from wafermock.mockserver.robustness import delivery_trials, failure_trials
    from wafermock.spec import load_contract

    if fixture == _DELIVERY:
        return [str(trial) for trial in delivery_trials()]
    return [str(trial) for trial in failure_trials(load_contract(), patience)]


def _patience(item: pytest.Item) -> float:
    from wafermock.mockserver.robustness.trials import PATIENCE

    marker = item.get_closest_marker("wafermock_patience")
    if marker is None:
        return PATIENCE
    seconds: Any = marker.args[0] if len(marker.args) == 1 else None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        wrong = "@pytest.mark.wafermock_patience(seconds) wants a number above 0"
        pytest.fail(f"{item.nodeid}: {wrong}", pytrace=False)
    return float(seconds)


@pytest.fixture
def wafermock_delivery(request: pytest.FixtureRequest, wafermock: Space) -> Trial:
    """Every legal way to put the test's answers on the wire, one after the other."""
    from wafermock.mockserver.robustness import delivery_trial

    trial = _read(request, delivery_trial)
    wafermock.every_answer(delivery=str(trial.chosen))
    return trial


@pytest.fixture
def wafermock_failure(request: pytest.FixtureRequest, wafermock: Space) -> FailureTrial:
    """Every failure that a real service has, one after the other: `with wafermock_failure.watch()
    as client:` lets it happen, `client.verdict` says how the client stood it."""
    from wafermock.mockserver.robustness import failure_trial

    trial = _read(request, lambda text: failure_trial(text, wafermock.contract))
    return FailureTrial(wafermock, trial, _patience(request.node))


def _read(request: pytest.FixtureRequest, read: Callable[[str], Trial]) -> Trial:
    """Read the trial that a test is run for. What is wrong with it is told without a traceback."""
    given = getattr(request, "param", None)
    wrong = _by_name(str(request.fixturename))
    if isinstance(given, str):
        try:
            return read(given)
        except ValueError as error:
            wrong = str(error)
    pytest.fail(wrong, pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the verdicts of a test into its report, which also travels between processes."""
    report = yield
    space = getattr(item, "funcargs", {}).get("wafermock")
    if space is not None and call.when == "call" and _JUDGE in sys.modules:
        from wafermock.mockserver.embedded.space import Space
        from wafermock.mockserver.robustness import verdicts
        from wafermock.mockserver.robustness.summary import packed

        # A project may have a fixture of its own by this name.
        if isinstance(space, Space):
            found = verdicts(space)
            report.user_properties += [(_PROPERTY, packed(each, item.name)) for each in found]
            if _is_unstreamed(getattr(item, "funcargs", {}).get(_DELIVERY), space):
                report.user_properties.append((_UNSTREAMED, item.name))
    return report


def _is_unstreamed(trial: Trial | None, space: Space) -> bool:
    """Say whether a delivery shows on streams alone, and the client has asked for none."""
    calls = space.calls
    return trial is not None and "stream" in trial.on and not any(call.stream for call in calls)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what the verdicts of the session come to."""
    reports = [report for listed in terminalreporter.stats.values() for report in listed]
    found: dict[str, list[str]] = {_PROPERTY: [], _UNSTREAMED: []}
    for report in reports:
        if getattr(report, "when", "") == "call":
            for name, value in report.user_properties:
                if name in found:
                    found[name].append(value)
    if not any(found.values()):
        return
    from wafermock.mockserver.robustness.summary import summary, unstreamed

    terminalreporter.section("wafermock: the clients under test")
    for line in summary(found[_PROPERTY]):
        terminalreporter.write_line(line)
    if found[_UNSTREAMED]:
        terminalreporter.write_line(unstreamed(found[_UNSTREAMED]))
