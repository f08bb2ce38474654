"""What a test is told: which calls came, which rule was nearest, and what it lacked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..script.matching import Match
from .calls import Call, listed

# So many calls are shown in a message; the section of a failed test has them all.
SHOWN = 20

_ADVICE = (
    "Say with on(...) what such a call gets. Where any answer will do, allow it:",
    "wafermock.allow_unmatched() in the test, or @pytest.mark.wafermock(unmatched=False) on it.",
)


def unmatched_message(calls: Sequence[Call], places: Mapping[str, str], *, asked_for: bool) -> str:
    """Say which calls fitted no expectation, and what they lacked for the nearest ones. `places`
    are those of the rules, by name. `asked_for`: the test itself asks for the check; else it says
    how to allow such calls."""
    count = "1 call fits" if len(calls) == 1 else f"{len(calls)} calls fit"
    lines = [f"{count} no expectation, and got an answer that the test has not asked for:"]
    for call in calls:
        lines.append(f"  {call.line}")
        lines += [f"    {line}" for line in nearest_lines(call, places)]
    if not asked_for:
        lines += _ADVICE
    return "\n".join(lines)


def nearest_lines(call: Call, places: Mapping[str, str], most: int = 2) -> Iterator[str]:
    """Yield the rules that came nearest, each with the fields that differ."""
    for missed in call.nearest[:most]:
        place = f" ({places[missed.rule]})" if missed.rule in places else ""
        yield f"nearest: {missed.rule}{place}"
        yield from (f"  {difference}" for difference in missed.differences)


def called_message(
    wanted: str, calls: Sequence[Call], fitting: Sequence[Call], asked: Match
) -> str:
    """Say that the calls are not those that were wanted: what there was, and what was nearest."""
    lines = [f"{wanted}, but {_count(len(fitting))}.", *_shown(calls)]
    others = [call for call in calls if call not in fitting]
    if not fitting and others and asked.conditions:
        nearest = min(others, key=lambda call: len(asked.differences(call.subject)))
        lines.append(f"nearest: call {nearest.number}")
        lines += [f"  {line}" for line in asked.differences(nearest.subject)]
    elif fitting and len(fitting) < len(calls):
        lines.append(f"fitting: {', '.join(str(call.number) for call in fitting)}")
    return "\n".join(lines)


def section(calls: Sequence[Call], places: Mapping[str, str]) -> str:
    """Show all calls of a space, for the report of a failed test. `places` are as above."""
    lines: list[str] = []
    for call in calls:
        lines.append(call.line)
        lines += [f"  {line}" for line in nearest_lines(call, places)]
    return "\n".join(lines)


def _shown(calls: Sequence[Call]) -> list[str]:
    if not calls:
        return []
    left = len(calls) - SHOWN
    more = [f"  and {left} more"] if left > 0 else []
    return [listed(calls[:SHOWN]), *more]


def _count(number: int) -> str:
    return {0: "there was none", 1: "there was 1"}.get(number, f"there were {number}")
