"""What of the findings a page of bounded size has room for.

A page has a line for as many findings as there is room for, and for some of them all that is known.
The rules take turns, the worst first, so that each shows its first finding before any its second.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from wafermock.reports.run import STATES, Finding

# So much of the room is for lines at most; the rest is for details.
_LINES = 0.8
# Less room than that (bytes) is not worth a try.
_SHORTEST_LINE, _SHORTEST_DETAILS = 200, 2000
# So many findings in a row that have no room: the next would have none either.
_MISSES = 8


@dataclass(frozen=True)
class Placed:
    """A finding and its place in the page."""

    anchor: str
    finding: Finding


@dataclass(frozen=True)
class Fitted:
    """The markup of a finding, and whether it has its details."""

    markup: Markup
    whole: bool = False


def size(markup: str) -> int:
    return len(markup.encode()) + 1  # the end of its line


def in_turns(findings: Sequence[Placed]) -> Iterator[Placed]:
    """Yield findings by turns of the rules; those that a baseline knows come last."""
    queues: dict[tuple[bool, int, str], list[Placed]] = {}
    for placed in findings:
        finding = placed.finding
        key = (bool(finding.known), STATES.index(finding.state), finding.rule)
        queues.setdefault(key, []).append(placed)
    for known in (False, True):
        mine = [queue for key, queue in sorted(queues.items()) if key[0] is known]
        for turn in range(max(map(len, mine), default=0)):
            yield from (queue[turn] for queue in mine if turn < len(queue))


def fit(
    findings: Sequence[Placed],
    room: int,
    line: Callable[[Placed], Markup],
    whole: Callable[[Placed, int], Markup],
    limits: Sequence[int],
) -> dict[str, Fitted]:
    """Return the findings that `room` bytes hold, by their anchors.

    `line` makes the markup of a finding without its details, `whole` with them; it shows at most so
    many bytes of each body. The `limits` for that are tried in turn.
    """
    made: dict[str, Fitted] = {}
    lined: list[Placed] = []
    left = int(room * _LINES)
    for placed in in_turns(findings):
        if left < _SHORTEST_LINE:
            break
        markup = line(placed)
        if (need := size(markup)) <= left:
            left -= need
            made[placed.anchor] = Fitted(markup)
            lined.append(placed)
    left += room - int(room * _LINES)
    # Rules that show no finding whole yet: what is left is divided among them.
    waiting = {placed.finding.rule for placed in lined}
    misses = 0
    for placed in lined:
        if left < _SHORTEST_DETAILS or misses == _MISSES:
            break
        fair = left // max(1, len(waiting))
        waiting.discard(placed.finding.rule)
        misses += 1
        for limit in limits:
            markup = whole(placed, limit)
            need = size(markup) - size(made[placed.anchor].markup)
            if need <= (left if limit == limits[-1] else min(left, fair)):
                left -= need
                made[placed.anchor] = Fitted(markup, True)
                misses = 0
                break
    return made
