"""A space: one test's share of a server. It has rules, calls, a clock and limits of its own."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never

from msgspec.structs import replace

from wafermock.spec import Contract, DocumentError

from ..clock import Clock
from ..script import Rule, Script
from .asking import public_names, read_criteria, shortened, unknown, unnamed, written
from .bench import VERSION, Bench, asks, make_bench
from .calls import Call, Calls
from .expectation import Expectation, plain
from .place import calling_place
from .question import Question
from .settings import SpaceSettings

if TYPE_CHECKING:
    from types import TracebackType

    from ..robustness import Verdict, Watch
    from .held import HeldStream


class Space:
    """What is answered to whoever calls its `url`, and what was asked there.

    Made by `MockServer.space`; a `MockServer` is one too. Any thread may use it.
    """

    def __init__(self, name: str, settings: SpaceSettings, address: Callable[[], str]) -> None:
        __tracebackhide__ = True
        self.name = name
        self.settings = settings
        self._address = address
        self._bench = make_bench(settings.contract(), settings)
        self._lock = threading.RLock()
        self._expectations: list[Expectation] = []
        self._scripts: list[Rule] = []
        self._calls: dict[int, Call] = {}
        self._problems: list[BaseException] = []
        self._names: dict[str, int] = {}
        self._asked = 0
        self._on_close: list[Callable[[], None]] = []
        for script in settings.script:
            self.load_script(script)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name or '/'}: {len(self.calls)} calls>"

    if not TYPE_CHECKING:  # who checks types is told of a wrong name by the type checker

        def __getattr__(self, name: str) -> Any:
            __tracebackhide__ = True
            raise AttributeError(unknown("attribute", name, public_names(type(self))))

    # ------------------------------------------------------------ where it is

    @property
    def url(self) -> str:
        """The base URL for a client, without a slash at its end. Clients that add `/v1/...`
        (cerebras_cloud_sdk, plain HTTP) and clients that want `/v1` in it (openai) both work."""
        __tracebackhide__ = True
        prefix = f"/t/{self.name}" if self.name else ""
        return f"{self._address()}{prefix}"

    @property
    def openai_url(self) -> str:
        """The base URL with `/v1`, as clients of the OpenAI kind are usually given it."""
        __tracebackhide__ = True
        return f"{self.url}{VERSION}"

    # ------------------------------------------------------------ what is answered

    def on(self, *unnamed_: Never, name: str | None = None, **criteria: Any) -> Expectation:
        """Begin an expectation: what is answered to requests that meet all criteria.

        The first expectation that fits and has an answer left gives it. One that takes every
        request for ever is asked last, wherever it stands. Raises TypeError for a criterion that
        there is not, ValueError for a value that cannot be used.
        """
        __tracebackhide__ = True
        if unnamed_:
            raise unnamed("on()", "on(last_user=contains('weather'))")
        try:
            match = read_criteria(criteria, self.contract)
        except (TypeError, ValueError) as error:
            raise plain(error) from None
        with self._lock:
            number = len(self._expectations) + 1
            named = self._unique(name or shortened(f"on({written(criteria)})"))
            expectation = Expectation(self, match, named, calling_place(), number)
            self._expectations.append(expectation)
        return expectation

    def load_script(self, script: Path | str) -> None:
        """Take the rules of a script (docs/scripts.md): a file, a folder, or a script's text.
        They are asked behind the expectations. Raises DocumentError, which says where."""
        __tracebackhide__ = True
        from .scripts import read_script

        try:
            rules = read_script(script, self.contract)
        except DocumentError as error:
            raise error.with_traceback(None) from None
        with self._lock:
            self._scripts += rules
            self._rebuild()

    def hold_next(self, patience: float = 10.0) -> HeldStream:
        """Hold the next stream, whatever answers it; return the levers to move it."""
        return self._held(None, "the next stream", patience)

    def fail_next(self, name: str | int, /, times: int = 1, **values: Any) -> None:
        """Let the next calls fail, whatever would have answered them; see `Expectation.fails`."""
        __tracebackhide__ = True
        from ..control.armed import Arming
        from ..wire import failure_catalogue
        from .steps import failure_name

        catalogue = failure_catalogue(self.contract.errors)
        try:
            key = failure_name(name, self.contract)
            chosen = catalogue.choose(key, **values) if values else catalogue.parse(key)
            self._bench.control.armed.arm(Arming("failure", str(chosen), chosen, times))
        except (TypeError, ValueError) as error:
            raise plain(error) from None

    def every_answer(self, *, delivery: str = "", failure: str = "", defect: str = "") -> None:
        """Let something happen to every answer from now on, as `docs/deliveries.md`,
        `failures.md` and `defects.md` list it: `failure="stall:after=3"`; nothing: no more.

        Raises ValueError for what there is not.
        """
        __tracebackhide__ = True
        from ..acting import read_choices

        try:
            choices = read_choices(self.contract.errors, delivery, failure, defect)
        except ValueError as error:
            raise plain(error) from None
        self._bench.service.choices = choices or None

    @property
    def clock(self) -> Clock:
        """Its clock: it stands still, `clock.advance(60)` lets a minute pass."""
        return self._bench.service.clock

    # ------------------------------------------------------------ what happened

    @property
    def calls(self) -> Calls:
        """The calls that came: what asks for something. How SDKs warm a connection, and lists of
        models, are in `requests`."""
        return Calls(self._asking)

    @property
    def requests(self) -> Calls:
        """Every request that came."""
        return Calls(self._all)

    @property
    def unmatched(self) -> list[Call]:
        """The calls that no expectation fitted, though there were some."""
        return [call for call in self._asking() if call.nearest]

    def assert_called(self, times: int | None = None, **criteria: Any) -> None:
        """Fail unless calls came that meet the criteria: at least one, or exactly `times`.

        The criteria are those of `on`, and `status`, `rule` and `path`.
        """
        __tracebackhide__ = True
        question = Question(criteria, self.contract)
        calls, fitting = self._about(question)
        if len(fitting) == times or (times is None and fitting):
            return
        from .report import called_message

        many = "a call" if times is None else "1 call" if times == 1 else f"{times} calls"
        wanted = f"expected {many}{question}"
        raise AssertionError(called_message(wanted, calls, fitting, question.match))

    def assert_not_called(self, **criteria: Any) -> None:
        """Fail if a call came that meets the criteria."""
        __tracebackhide__ = True
        question = Question(criteria, self.contract)
        calls, fitting = self._about(question)
        if fitting:
            from .report import called_message

            wanted = f"expected no call{question}"
            raise AssertionError(called_message(wanted, calls, fitting, question.match))

    def watch(self, *, patience: float | None = None, tries: int = 6) -> Watch:
        """Watch the client in a `with` block, to judge it by what it did and how that ended.

        `patience` is how long an answer may take, in seconds; `tries` how often may be tried.
        """
        from ..robustness import watch

        return watch(self, patience=patience, tries=tries)

    def verdict(self) -> Verdict:
        """Say what the client did wrong: what the last `watch` came to, else its calls alone."""
        from ..robustness import verdict

        return verdict(self)

    def assert_no_unmatched(self) -> None:
        """Fail if a call came that no expectation fitted, though there were some."""
        __tracebackhide__ = True
        self._fail_for_unmatched(asked_for=True)

    def assert_all_used(self) -> None:
        """Fail if an expectation has answered nothing."""
        __tracebackhide__ = True
        answers = self._bench.state.answers()
        unused = [e for e in self._expectations if not answers.get(e.name)]
        if unused:
            shown = "".join(f"\n  {e.name} ({e.place})" for e in unused)
            raise AssertionError(f"these have answered nothing:{shown}\n{self.calls!r}")

    def allow_unmatched(self) -> None:
        """Let `verify` pass though calls came that no expectation fitted."""
        self.settings = replace(self.settings, unmatched=False)

    def verify(self) -> None:
        """Fail for what went wrong while answering: a function that raised, a held stream that
        was forgotten, an expectation without an answer, calls that no expectation fitted (unless
        that is allowed)."""
        __tracebackhide__ = True
        with self._lock:
            problems, self._problems = self._problems, []
        if problems:
            raise problems[0]
        for expectation in self._expectations:
            if expectation.is_unfinished:
                where = f"{expectation.name} ({expectation.place})"
                raise AssertionError(f"{where} does not say what is answered, as .replies() does")
        if self.settings.unmatched:
            self._fail_for_unmatched(asked_for=False)

    @property
    def report(self) -> str:
        """All calls in lines, and what those lacked that no expectation fitted."""
        from .report import section

        return section(self._all(), self._places)

    @property
    def problems_shown(self) -> str:
        """What went wrong while answering and was not raised by `verify`, with its traceback."""
        from traceback import format_exception

        with self._lock:
            return "\n".join("".join(format_exception(problem)) for problem in self._problems)

    def reset(self) -> None:
        """Begin anew: no expectations, no calls, the clock as it was. Scripts of the settings
        stay."""
        with self._lock:
            self._expectations.clear()
            self._scripts.clear()
            self._names.clear()
            self._calls.clear()
            self._asked = 0
            self._problems.clear()
            self._bench.control.awaited.clear()
            self._bench.control.reset()
            self._bench.state.reset()
            self._rebuild()
        for script in self.settings.script:
            self.load_script(script)

    def close(self) -> None:
        """Drop held streams, and answer nobody any more. What was asked can still be looked at."""
        self._bench.control.close()
        for closed in self._on_close:
            closed()

    def __enter__(self) -> Space:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # ------------------------------------------------------------ for its parts

    @property
    def contract(self) -> Contract:
        """The contract that it answers by."""
        return self._bench.contract

    @property
    def bench(self) -> Bench:
        """What it is made of: a service, and the control of it."""
        return self._bench

    def changed(self, expectation: Expectation) -> None:
        """Take in what an expectation says now."""
        with self._lock:
            self._rebuild()

    def blame(self, expectation: Expectation, error: BaseException) -> None:
        """Keep what a function of the test has raised while it answered."""
        error.add_note(f"raised while answering for {expectation.name} ({expectation.place})")
        self._keep(error)

    def hold(self, expectation: Expectation, patience: float) -> HeldStream:
        """Hold the next stream that an expectation answers."""
        return self._held(expectation.name, f"the stream of {expectation.name}", patience)

    def on_close(self, closed: Callable[[], None]) -> None:
        """Be told when it closes."""
        self._on_close.append(closed)

    def answered_at(self, address: Callable[[], str]) -> None:
        """Send clients to another address: who listens there answers them."""
        self._address = address

    def _held(self, rule: str | None, expected: str, patience: float) -> HeldStream:
        from .held import HeldStream

        stream = HeldStream(expected, patience, lambda why: self._keep(TimeoutError(why)))
        self._bench.control.awaited.setdefault(rule, deque()).append(stream)
        return stream

    def _keep(self, problem: BaseException) -> None:
        with self._lock:
            self._problems.append(problem)

    def _rebuild(self) -> None:
        ordered = sorted(self._expectations, key=lambda e: e.is_default)
        defaults = [e for e in ordered if e.is_default]
        rules = [
            *(e.rule() for e in ordered if not e.is_default),
            *self._scripts,
            *(e.rule() for e in defaults),
        ]
        said = tuple(rule for rule in rules if rule is not None)
        self._bench.state.script = Script(said, contract=self.contract)

    def _unique(self, name: str) -> str:
        self._names[name] = count = self._names.get(name, 0) + 1
        return name if count == 1 else f"{name} #{count}"

    @property
    def _places(self) -> dict[str, str]:
        return {rule.name: str(rule.place) for rule in self._bench.state.script.rules}

    def _all(self) -> list[Call]:
        found = []
        with self._lock:
            for entry in self._bench.control.journal.find():
                call = self._calls.get(entry.number)
                if call is None:
                    call = Call(entry, self.contract)
                    if asks(call.subject):
                        self._asked += 1
                        call.number = self._asked
                    self._calls[entry.number] = call
                found.append(call)
        return found

    def _asking(self) -> list[Call]:
        return [call for call in self._all() if call.number is not None]

    def _about(self, question: Question) -> tuple[list[Call], list[Call]]:
        """Return the calls that a question may be about, and those of them that fit it."""
        calls = self._all() if question.is_of_requests else self._asking()
        return calls, [call for call in calls if question.fits(call)]

    def _fail_for_unmatched(self, *, asked_for: bool) -> None:
        __tracebackhide__ = True
        if unmatched := self.unmatched:
            from .report import unmatched_message

            raise AssertionError(unmatched_message(unmatched, self._places, asked_for=asked_for))
