"""A user's own expressions, with a bound on their time.

Python's `re` backtracks, and nothing in the same process can stop it: `(a+)+$` takes hours for
forty letters. So they are searched for in a process of its own, which is killed when it takes too
long.
"""

import contextlib
import json
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence

from msgspec import field

from .catalogue import Pattern
from .recording import Unreadable

# How long one expression may search one text, in seconds.
PATIENCE = 5.0

# Reads a line, [number of the expression, text]; writes the places, [[start, end], ...].
_PROGRAM = """
import json, re, sys
expressions = [re.compile(source, flags) for source, flags in json.loads(sys.argv[1])]
for line in sys.stdin:
    number, text = json.loads(line)
    expression = expressions[number]
    group = "secret" if "secret" in expression.groupindex else 0
    places = [match.span(group) for match in expression.finditer(text)]
    print(json.dumps(places), flush=True)
"""


class TooSlow(Unreadable):
    """An expression took too long, so that nobody knows what it would have found."""


class Searcher:
    """Searches texts for expressions in another process. Any thread may ask, one at a time."""

    def __init__(self, expressions: Sequence[re.Pattern[str]], patience: float = PATIENCE) -> None:
        self.expressions = expressions
        self._patience = patience
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def places(self, number: int, text: str) -> list[tuple[int, int]]:
        """Return where an expression is found in a text. Raises TooSlow."""
        with self._lock:
            process = self._running()
            assert process.stdin is not None
            try:
                process.stdin.write(json.dumps([number, text]) + "\n")
                process.stdin.flush()
                line = self._lines.get(timeout=self._patience)
            except (queue.Empty, OSError):
                line = ""
            if not line:
                self._end()
                source = self.expressions[number].pattern
                raise TooSlow(f"--redact {source!r} took more than {self._patience:g} s for it")
            return [(start, end) for start, end in json.loads(line)]

    def close(self) -> None:
        """End the process; the next search starts another."""
        with self._lock:
            self._end()

    def _running(self) -> "subprocess.Popen[str]":
        if self._process is None:
            sources = json.dumps([(e.pattern, e.flags) for e in self.expressions])
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _PROGRAM, sources],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the recorder, which may not be done yet
                encoding="ascii",
            )
            self._lines = queue.SimpleQueue()
            reader = threading.Thread(
                target=_read, args=(self._process, self._lines), name="redaction", daemon=True
            )
            reader.start()
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            process.kill()
            process.wait()
            with contextlib.suppress(OSError):  # what it did not read
                process.stdin.close()


def _read(process: "subprocess.Popen[str]", lines: "queue.SimpleQueue[str]") -> None:
    """Hand on what the process writes; an empty text at its end."""
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            lines.put(line)
    lines.put("")


class Bounded(Pattern, frozen=True):
    """One of the expressions of a searcher, as the redactor has it."""

    number: int = 0
    searcher: Searcher = field(default_factory=lambda: Searcher(()))

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        found = self.searcher.places(self.number, text)
        return (place for place in found if place[1] > place[0])


def bounded(searcher: Searcher) -> list[Pattern]:
    """Make patterns of a searcher's expressions."""
    return [
        Bounded(expression, number=number, searcher=searcher)
        for number, expression in enumerate(searcher.expressions)
    ]
