"""The journal: the calls that came, what was answered, and why.

Keeping a call costs microseconds: nothing is decoded, joined or searched until someone looks. It
is bounded by entries and by bytes; the oldest go first, and what they showed is not forgotten: the
coverage of a session counts them before they go.
"""

import fnmatch
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..exchange import Answer, Request
from .entry import PLAIN, Entry, Why

MIB = 1024 * 1024

# What an entry holds beside its bodies, roughly.
_OVERHEAD = 1024
# One entry holds no more than this part of all: one upload shall not push out everything else.
_LARGEST_SHARE = 8
# A body from which so many bytes are kept when it is too large.
_SAMPLE = 4096


@dataclass(frozen=True)
class Filter:
    """Which entries are wanted; None: any. `model`, `path` and `rule` may be globs.

    `status` is exact, `429`, or a class, `4xx`. `text` is looked for in both bodies, in either
    case. `after` is a number, `since` a revision: what is new or has changed from then on.
    """

    scope: str | None = None
    model: str | None = None
    path: str | None = None
    operation: str | None = None
    status: str | None = None
    rule: str | None = None
    stream: bool | None = None
    missed: bool | None = None
    text: str | None = None
    after: int = 0
    since: int | None = None

    def takes(self, entry: Entry) -> bool:
        """Say whether an entry is wanted; `after` and `since` apart."""
        return all(test(entry) for test in self._tests)

    @cached_property
    def _tests(self) -> list[Callable[[Entry], bool]]:
        tests: list[Callable[[Entry], bool]] = []
        for name, wanted in (
            ("scope", self.scope),
            ("operation", self.operation),
            ("stream", self.stream),
            ("missed", self.missed),
        ):
            if wanted is not None:
                tests.append(lambda e, name=name, wanted=wanted: getattr(e, name) == wanted)  # type: ignore[misc]
        if (path := self.path) is not None:
            tests.append(lambda e: fnmatch.fnmatchcase(e.path, path))
        if (status := self.status) is not None:
            tests.append(lambda e: _status_fits(e.answer.status, status))
        if (rule := self.rule) is not None:
            tests.append(lambda e: fnmatch.fnmatchcase(e.why.rule or "", rule))
        if (model := self.model) is not None:
            tests.append(lambda e: fnmatch.fnmatchcase(e.model or "", model))
        if self.text:
            needle = self.text.casefold()
            tests.append(lambda e: _holds(e, needle))
        return tests


def _status_fits(status: int, wanted: str) -> bool:
    wanted = wanted.lower()
    return str(status) == wanted or (wanted.endswith("xx") and wanted[:-2] == str(status)[:-2])


def _holds(entry: Entry, needle: str) -> bool:
    """Look for a text where it is readable, not where it is masked."""
    return any(needle in text.casefold() for text in _texts(entry))


def _texts(entry: Entry) -> Iterator[str]:
    """Yield what can be read in a call, what costs least first."""
    yield entry.path
    yield entry.why.rule or ""
    yield entry.request_body.decode("utf-8", "replace")
    yield entry.mask.bytes(entry.answer.body).decode("utf-8", "replace")
    request, answer = entry.request, entry.answer
    packed = "content-encoding" in request.headers or b"\\" in request.body
    if packed or "msgpack" in request.headers.get("content-type", ""):
        yield entry.mask.text(json.dumps(entry.data, ensure_ascii=False))
    if answer.streamed or any(b"\\" in part for part in answer.parts):
        said = entry.said.choices
        yield entry.mask.text("\n".join(choice.content + choice.reasoning for choice in said))


@dataclass(frozen=True)
class Span:
    """Which numbers are kept, and how the journal has changed.

    A reader that has seen `resets` change starts anew; `revision` is what to ask `since` next.
    """

    first: int
    last: int
    kept: int
    bytes: int
    gone: int
    resets: int
    revision: int


@dataclass
class Journal:
    """Keeps the last calls. Any thread may write and read.

    At most `entries` of them, holding at most `limit` bytes. `before_going` is called with an
    entry that makes room for newer ones, from the thread that brought the newer one.
    """

    entries: int = 10_000
    limit: int = 64 * MIB
    before_going: Callable[[Entry], None] = field(default=lambda entry: None)

    def __post_init__(self) -> None:
        if self.entries < 1 or self.limit < 1:
            raise ValueError("a journal keeps at least one entry and one byte")
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, Entry] = OrderedDict()
        self._changed: OrderedDict[int, Entry] = OrderedDict()  # by revision, so in its order
        self._held = self._number = self._revision = self._gone = self._resets = 0

    def record(
        self,
        request: Request,
        answer: Answer,
        *,
        scope: str = "",
        time: float = 0.0,
        operation: str | None = None,
        why: Why = PLAIN,
    ) -> Entry:
        """Keep a call that is now being answered; `finish` it when it is over."""
        size = _size(request, answer)
        omitted = 0
        if size > self.limit // _LARGEST_SHARE:
            request, answer, omitted = _shortened(request, answer)
            size = _size(request, answer)
        with self._lock:
            self._number += 1
            entry = Entry(self._number, scope, time, request, answer, operation, why, omitted)
            entry.size = size
            self._kept[entry.number] = entry
            self._held += entry.size
            self._touch(entry)
            going = self._make_room()
        for old in going:
            self.before_going(old)
        return entry

    def finish(self, entry: Entry, duration: float, ending: str = "complete") -> None:
        """Note how a call ended. Only the first call counts."""
        with self._lock:
            if entry.ending is None:
                entry.duration, entry.ending = duration, ending
                if entry.number in self._kept:
                    self._touch(entry)

    def __getitem__(self, number: int) -> Entry:
        """Return the entry of a number. Raises KeyError: not there, or not any more."""
        with self._lock:
            return self._kept[number]

    def __len__(self) -> int:
        with self._lock:
            return len(self._kept)

    @property
    def span(self) -> Span:
        with self._lock:
            first = next(iter(self._kept), self._number + 1)
            kept, held = len(self._kept), self._held
            counts = self._gone, self._resets, self._revision
            return Span(first, self._number, kept, held, *counts)

    def find(self, wanted: Filter = Filter(), most: int | None = None) -> list[Entry]:
        """Return the entries a filter takes, in the order of their numbers; the first `most`.

        With `since` they come in the order of their changes instead, so that a reader who gets
        only some of them can go on after the revision of the last.
        """
        found: list[Entry] = []
        for entry in self._candidates(wanted):
            if most is not None and len(found) >= most:
                break
            if wanted.takes(entry):
                found.append(entry)
        return found

    def reset(self, scope: str | None = None) -> int:
        """Forget the calls of a scope, or all; return how many. Numbers go on."""
        with self._lock:
            going = [e for e in self._kept.values() if scope is None or e.scope == scope]
            for entry in going:
                self._drop(entry)
            self._resets += 1
            return len(going)

    def _candidates(self, wanted: Filter) -> Sequence[Entry]:
        with self._lock:
            if wanted.since is not None:
                later = _until(reversed(self._changed.values()), wanted.since)
                return [e for e in reversed(later) if e.number > wanted.after]
            if wanted.after:
                first = next(iter(self._kept), self._number + 1)
                numbers = range(max(first, wanted.after + 1), self._number + 1)
                return [e for n in numbers if (e := self._kept.get(n))]
            return list(self._kept.values())

    def _touch(self, entry: Entry) -> None:
        self._changed.pop(entry.revision, None)
        self._revision += 1
        entry.revision = self._revision
        self._changed[entry.revision] = entry

    def _make_room(self) -> list[Entry]:
        going = []
        while len(self._kept) > self.entries or (self._held > self.limit and len(self._kept) > 1):
            oldest = next(iter(self._kept.values()))
            self._drop(oldest)
            self._gone += 1
            going.append(oldest)
        return going

    def _drop(self, entry: Entry) -> None:
        del self._kept[entry.number]
        self._changed.pop(entry.revision, None)
        self._held -= entry.size


def _size(request: Request, answer: Answer) -> int:
    return _OVERHEAD + len(request.body) + sum(map(len, answer.parts))


def _shortened(request: Request, answer: Answer) -> tuple[Request, Answer, int]:
    """Leave out all but a beginning of what is too large; return how many bytes are left out."""
    body, sent = request.body[:_SAMPLE], answer.body
    omitted = len(request.body) - len(body) + len(sent) - len(sent[:_SAMPLE])
    offsets = answer.offsets and answer.offsets[-1:]
    shorter = replace(answer, parts=(sent[:_SAMPLE],), offsets=offsets)
    return replace(request, body=body), shorter, omitted


def _until(newest_first: Iterator[Entry], revision: int) -> list[Entry]:
    found = []
    for entry in newest_first:
        if entry.revision <= revision:
            break
        found.append(entry)
    return found
