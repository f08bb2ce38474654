"""The summary: what a session's verdicts come to, in a few lines.

Verdicts travel as text (with pytest-xdist from process to process), see `packed`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator

from .verdict import NAMES, Verdict

# So many tests are named for each fault.
_NAMED = 4


def packed(verdict: Verdict, test: str) -> str:
    """Write a verdict on a client, and the test that came to it, as a text."""
    faults = [[fault.name, fault.advice] for fault in verdict.faults]
    return json.dumps([test, verdict.trial, verdict.happened, faults], ensure_ascii=False)


def summary(texts: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a summary of packed verdicts; none without any."""
    read = [json.loads(text) for text in texts]
    if not read:
        return
    bad = [entry for entry in read if entry[3]]
    tried = "1 trial" if len(read) == 1 else f"{len(read)} trials"
    yield f"{tried} of clients: {len(read) - len(bad)} as they should be, {len(bad)} not"
    tests: dict[str, list[str]] = defaultdict(list)
    advice: dict[str, str] = {}
    for test, _trial, _happened, faults in read:
        for name, says in faults:
            if test not in tests[name]:
                tests[name].append(test)
            advice.setdefault(name, says)
    for name in (name for name in NAMES if name in tests):
        yield f"  {name} ({len(tests[name])}): {_some(tests[name])}"
        yield f"      {advice[name]}"
    idle = [test for test, trial, happened, _ in read if trial and not happened]
    if idle:
        why = "a failure of streams or of whole answers, and the other was asked for"
        yield f"  nothing happened in {len(idle)} ({why}): {_some(idle)}"


def unstreamed(tests: list[str]) -> str:
    """Say that tests tried deliveries of streams on whole answers, which come as always."""
    told = "1 test" if len(tests) == 1 else f"{len(tests)} tests"
    return f"no stream was asked for in {told} of a delivery of streams: {_some(tests)}"


def _some(tests: list[str]) -> str:
    more = len(tests) - _NAMED
    return ", ".join(tests[:_NAMED]) + (f" and {more} more" if more > 0 else "")
