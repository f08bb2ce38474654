"""Rate limits: what headers tell of them are numbers that fit each other, and fall."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..error_bodies import shortened
from ..exchange import Exchange, Probe
from ..once import once
from ..rule import Bench, Breach, Found, RuleBook, Unsupported
from .header_fields import DECLARED, fields

BOOK = RuleBook("HEADERS")

_LIMIT = re.compile(r"x-ratelimit-(limit|remaining|reset)-((?:requests|tokens)-(minute|hour|day))")
_SECONDS = {"minute": 60.0, "hour": 3600.0, "day": 86400.0}
_NUMBER = re.compile(r"-?[0-9]{1,30}(?:\.[0-9]{1,30})?")


@dataclass(frozen=True)
class Figure:
    """One rate-limit header: what of a quota it tells. `number` is None where it is none."""

    name: str
    what: str
    quota: str
    text: str
    number: float | None


@once
def figures(exchange: Exchange) -> tuple[Figure, ...]:
    """Return the rate-limit headers of an answer that the contract has names for."""
    found = []
    for name, values in fields(exchange).items():
        if name.startswith("x-ratelimit-") and (match := _LIMIT.fullmatch(name)):
            number = float(values[0]) if _NUMBER.fullmatch(values[0]) else None
            found.append(Figure(name, match[1], match[2], values[0], number))
    return tuple(found)


def _quotas(exchange: Exchange) -> dict[str, dict[str, float]]:
    """Return, by quota, its figures that are numbers."""
    found: dict[str, dict[str, float]] = {}
    for figure in figures(exchange):
        if figure.number is not None:
            found.setdefault(figure.quota, {})[figure.what] = figure.number
    return found


def _has_limits(exchange: Exchange) -> bool:
    return bool(figures(exchange))


_WANTED = {"limit", "remaining"}
LIMITED = "an answer with x-ratelimit headers"


@BOOK.rule(
    "HDR-LIMIT-NUMBER",
    "MUST",
    "Rate-limit headers are numbers; counts are whole ones.",
    source=f"{DECLARED}/x-ratelimit-remaining-requests-day/schema and its like",
    guards="A client that paces itself by them fails to read them.",
    applies=_has_limits,
    needs=LIMITED,
)
def _limit_number(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    for figure in figures(exchange):
        is_whole = figure.number is not None and figure.number.is_integer()
        if figure.number is None or (figure.what != "reset" and not is_whole):
            wanted = "a number of seconds" if figure.what == "reset" else "a whole number"
            yield Breach(wanted, shortened(figure.text, 40), f"header {figure.name}")
            return


@BOOK.rule(
    "HDR-LIMIT-RESET",
    "MUST",
    "No rate-limit header is below 0: no limit is reset in the past.",
    source=f"{DECLARED}/x-ratelimit-reset-requests-day/schema/minimum and its like",
    guards="A client waits for a negative time: not at all, or it fails.",
    applies=_has_limits,
    needs=LIMITED,
)
def _limit_reset(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    for figure in figures(exchange):
        if figure.number is not None and figure.number < 0:
            yield Breach("0 or more", shortened(figure.text, 40), f"header {figure.name}")
            return


@BOOK.rule(
    "HDR-LIMIT-FITS",
    "MUST",
    "No more is left of a limit than the limit is.",
    source=f"{DECLARED}/x-ratelimit-remaining-requests-day (how many of them are left)",
    guards="A client that works out its share sends too much.",
    applies=_has_limits,
    needs=LIMITED,
)
def _limit_fits(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    for quota, told in _quotas(exchange).items():
        if told.keys() >= _WANTED and told["remaining"] > told["limit"]:
            name = f"header x-ratelimit-remaining-{quota}"
            yield Breach(f"at most {told['limit']:.0f}", f"{told['remaining']:.0f}", name)
            return


@BOOK.rule(
    "HDR-LIMIT-TOLD",
    "SHOULD",
    "What is left of a limit is told beside the limit.",
    source=f"{DECLARED}/x-ratelimit-limit-requests-day; observed traffic, 2026",
    guards="A client that works out its share has nothing to divide by.",
    applies=_has_limits,
    needs=LIMITED,
)
def _limit_told(exchange: Exchange, bench: Bench) -> Iterable[Found]:
    told = {(figure.what, figure.quota) for figure in figures(exchange)}
    for what, quota in sorted(told):
        if what == "remaining" and ("limit", quota) not in told:
            name = f"header x-ratelimit-limit-{quota}"
            yield Breach("the limit", "it is not there", name)
            return


@BOOK.probe_rule(
    "HDR-LIMIT-FALLS",
    "SHOULD",
    "What is left of a limit falls with the calls that are answered.",
    source=f"{DECLARED}/x-ratelimit-remaining-requests-day (how many of them are left)",
    guards="A client that paces itself by it runs into the limit at full speed.",
    probe="calls",
    needs="several calls one behind the other, answered with x-ratelimit headers",
)
def _limit_falls(probe: Probe, bench: Bench) -> Iterable[Found]:
    calls = [_quotas(e) for e in probe.exchanges.values() if e.accepted]
    quotas = [quota for quota in (calls[0] if calls else ()) if all(quota in c for c in calls)]
    told = [quota for quota in quotas if all(call[quota].keys() >= _WANTED for call in calls)]
    if len(calls) < 2 or not told:
        yield Unsupported("no limits are told")
        return
    for quota in told:
        limit = calls[0][quota]["limit"]
        left = [call[quota]["remaining"] for call in calls]
        if limit > 0 and all(count == limit for count in left):
            expected = f"less than {limit:.0f}, which is the limit"
        elif left[-1] > left[0] and not _may_rise(quota, calls[0][quota]):
            expected = f"not more than {left[0]:.0f}, which it was"
        else:
            continue
        name = f"header x-ratelimit-remaining-{quota}"
        yield Breach(expected, f"{left[-1]:.0f} after {len(left)} calls", name)
        return


def _may_rise(quota: str, told: Mapping[str, float]) -> bool:
    """Whether a count may have begun anew, or been filled up, within a few calls."""
    seconds = _SECONDS[quota.rpartition("-")[2]]
    return (
        seconds <= _SECONDS["minute"]
        or told.get("reset", seconds) < _SECONDS["minute"]
        or told["limit"] / seconds > 0.1
    )
