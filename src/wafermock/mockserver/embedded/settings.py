"""How a space behaves: the options of `wafermock serve`, as keywords."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import asdict, replace

from wafermock.spec import Contract, load_contract
from wafermock.spec.load import DEFAULT_PROFILE

from ..mock import MIB, Settings, Validation
from .asking import unknown

if TYPE_CHECKING:
    from ..clock import Kind
    from ..pace import Pace

_CHOICES: dict[str, tuple[str, ...]] = {
    "validate": ("strict", "warn", "off"),
    "models": ("any", "strict"),
    "cache": ("pure", "seen"),
    "clock": ("frozen", "real", "manual"),
}
_LISTS = ("script", "limits", "spec", "overlay")


class SpaceSettings(Struct, frozen=True, kw_only=True):
    """How a space behaves. Made by `read_settings`.

    `strict`: a request that no expectation fits gets an error, where else it gets an answer of the
    mock's own. `unmatched`: such requests fail the test. The others are options of `wafermock
    serve`: times are `200ms` or a number of seconds, `limits` is `rpm=5,tpm=30k`; `spec` and
    `overlay` are files of a contract of one's own, which `bare` leaves without built-in overlays.
    """

    seed: int = 0
    profile: str = DEFAULT_PROFILE
    validate: Validation = "strict"
    models: Literal["any", "strict"] = "any"
    api_key: str | None = None
    max_body: int = 10 * MIB
    cache: Literal["pure", "seen"] = "pure"
    script: tuple[Path | str, ...] = ()
    strict: bool = False
    unmatched: bool = True
    clock: Kind = "frozen"
    limits: tuple[str, ...] = ()
    retry_after: bool = False
    queue_time: str | float | None = None
    ttft: str | float | None = None
    tokens_per_second: str | float | None = None
    jitter: str | float | None = None
    model_speed: bool = False
    delivery: str = ""
    failure: str = ""
    defect: str = ""
    spec: tuple[Path | str, ...] = ()
    overlay: tuple[Path | str, ...] = ()
    bare: bool = False

    def contract(self) -> Contract:
        """Load the contract, once for all spaces that have the same. Raises ValueError for a
        profile that there is not, DocumentError for a file that cannot be used."""
        return _contract(self.profile, self.spec, self.overlay, self.bare)

    def of_mock(self, pace: Pace | None) -> Settings:
        """Return the part of it that a mock has."""
        return Settings(
            seed=self.seed,
            validate=self.validate,
            models=self.models,
            api_key=self.api_key,
            max_body=self.max_body,
            cache=self.cache,
            pace=pace,
            strict_script=self.strict,
        )


def read_settings(given: dict[str, Any], base: SpaceSettings = SpaceSettings()) -> SpaceSettings:
    """Put keywords in place of what a base has.

    Raises TypeError for a setting that there is not, ValueError for a value that it does not take.
    """
    __tracebackhide__ = True
    known = asdict(SpaceSettings())
    read: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise TypeError(unknown("setting", name, known))
        if name in _CHOICES and value not in _CHOICES[name]:
            raise ValueError(f"{name}={value!r}: there are {', '.join(_CHOICES[name])}")
        default = known[name]
        if isinstance(default, bool | int) and type(value) is not type(default):
            kind = "True or False" if isinstance(default, bool) else "a whole number"
            raise TypeError(f"{name}={value!r}: {kind} is wanted")
        read[name] = _listed(value) if name in _LISTS else value
    return replace(base, **read)


def _listed(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    one = isinstance(value, str | Path) or not isinstance(value, Sequence)
    return (value,) if one else tuple(value)


@lru_cache(maxsize=32)
def _contract(
    profile: str, spec: tuple[Path | str, ...], overlay: tuple[Path | str, ...], bare: bool
) -> Contract:
    return load_contract(profile, spec, overlay, corrected=not bare)
