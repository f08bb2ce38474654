"""A service from the options of the command line, which are texts."""

from collections.abc import Sequence
from typing import Literal

from .mockserver.clock import Clock
from .mockserver.limits import Limiter, parse_limits
from .mockserver.mock import Mock, Settings, Validation
from .mockserver.pace import read_pace
from .mockserver.queueing import Queue, parse_queue_time
from .mockserver.service import Service
from .spec import Contract


def service(
    contract: Contract,
    *,
    seed: int = 0,
    validate: Validation = "strict",
    models: Literal["any", "strict"] = "any",
    api_key: str | None = None,
    max_body: int,
    cache: Literal["pure", "seen"] = "pure",
    clock: Literal["frozen", "real"] = "frozen",
    limits: Sequence[str] = (),
    retry_after: bool = False,
    queue_time: str | None = None,
    ttft: str | None = None,
    tokens_per_second: str | None = None,
    jitter: str | None = None,
    model_speed: bool = False,
) -> Service:
    """Make a service. Raises ValueError with a sentence that names the option at fault."""
    pace = read_pace(ttft, tokens_per_second, jitter, model_speed)
    settings = Settings(seed, validate, models, api_key, max_body, cache, pace)
    time = Clock(clock)
    return Service(
        Mock(contract, settings),
        time,
        Limiter(parse_limits(limits), time, retry_after=retry_after),
        Queue(None if queue_time is None else parse_queue_time(queue_time)),
    )
