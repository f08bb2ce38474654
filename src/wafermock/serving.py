"""A service from the options of the command line, which are texts."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .mockserver.clock import Clock
from .mockserver.limits import Limiter, parse_limits
from .mockserver.mock import Mock, Settings, Validation
from .mockserver.pace import read_pace
from .mockserver.queueing import Queue, parse_queue_time
from .mockserver.service import Service
from .spec import Contract

if TYPE_CHECKING:
    from .mockserver.acting import Choices
    from .mockserver.control.bench import Catalogues, Scripts
    from .mockserver.control.control import Control
    from .mockserver.script import ScriptState


def service(
    contract: Contract,
    *,
    seed: int = 0,
    validate: Validation = "strict",
    models: Literal["any", "strict"] = "any",
    api_key: str | None = None,
    max_body: int,
    cache: Literal["pure", "seen"] = "pure",
    script: Sequence[Path] = (),
    strict_script: bool = False,
    watch: Callable[[str], None] | None = None,
    delivery: str = "",
    failure: str = "",
    defect: str = "",
    clock: Literal["frozen", "real"] = "frozen",
    limits: Sequence[str] = (),
    retry_after: bool = False,
    queue_time: str | None = None,
    ttft: str | None = None,
    tokens_per_second: str | None = None,
    jitter: str | None = None,
    model_speed: bool = False,
) -> Service:
    """Make a service. Raises ValueError with a sentence that names the option at fault, and
    DocumentError for a script that cannot be used."""
    for option, given in (("--watch", watch), ("--strict-script", strict_script)):
        if given and not script:
            raise ValueError(f"{option} is about a script and there is none; give --script too")
    pace = read_pace(ttft, tokens_per_second, jitter, model_speed)
    settings = Settings(seed, validate, models, api_key, max_body, cache, pace, strict_script)
    time = Clock(clock)
    parsed = parse_limits(limits, contract.limits)
    for name in parsed.models:
        if models == "strict" and name not in contract.models:
            known = ", ".join(contract.models)
            raise ValueError(
                f"--limits {name}: no such model, and --models is strict; there are {known}"
            )
    return Service(
        Mock(contract, settings, _script_state(script, contract) if script else None),
        time,
        Limiter(parsed, time, retry_after=retry_after),
        Queue(None if queue_time is None else parse_queue_time(queue_time), contract.limits.queue),
        watch,
        _choices(contract, delivery, failure, defect) if delivery or failure or defect else None,
    )


def _choices(contract: Contract, delivery: str, failure: str, defect: str) -> "Choices":
    from .mockserver.acting import read_choices

    return read_choices(contract.errors, delivery, failure, defect)


def _script_state(paths: Sequence[Path], contract: Contract) -> "ScriptState":
    # Imported where there is a script: most servers start without one.
    from .mockserver.script import Script, ScriptState

    return ScriptState(Script.load(paths, contract))


def control(made: Service, *, anywhere: bool = False) -> "Control":
    """Make the control of a service: its journal, its levers and the interface to them."""
    from .mockserver.control.control import Control

    def scripts() -> "Scripts":
        from .mockserver.control.scripts import LoadedScripts

        return LoadedScripts(made.mock)

    def catalogues() -> "Catalogues":
        from .mockserver.wire import DEFECTS, DELIVERIES, failure_catalogue

        failures = failure_catalogue(made.mock.contract.errors)
        return {"failure": failures, "delivery": DELIVERIES, "defect": DEFECTS}

    return Control(made, scripts=scripts, catalogues=catalogues, anywhere=anywhere)
