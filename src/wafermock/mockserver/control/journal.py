"""The journal: the calls that came, what was answered, and why.

Keeping a call costs two microseconds: nothing is decoded, counted, joined or searched until someone
looks. It is bounded by entries and by bytes; the oldest go first, and what they
showed is not forgotten: metrics and the coverage of a session count them before they go.
"""

import fnmatch
import json
import threading
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from operator import attrgetter, itemgetter

from msgspec import Struct

from ..exchange import Answer, Request
from .entry import PLAIN, Entry, Why

MIB = 1024 * 1024

# What an entry holds beside its bodies, roughly.
_OVERHEAD = 1024
# One entry holds no more than this part of all: one upload shall not push out everything else.
_LARGEST_SHARE = 8
# A body from which so many bytes are kept when it is too large.
_SAMPLE = 4096


class Filter(Struct, frozen=True, dict=True):
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


class Span(Struct, frozen=True):
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


class Journal:
    """Keeps the last calls. Any thread may write and read.

    At most `entries` of them, holding at most `limit` bytes. `before_going` is called with the
    entries that make room for newer ones, from the thread that brought the newer one;
    `before_look` whenever someone looks, to bring what is not here yet.
    """

    def __init__(
        self,
        entries: int = 10_000,
        limit: int = 64 * MIB,
        before_going: Callable[[list[Entry]], None] = lambda entries: None,
        before_look: Callable[[], None] = lambda: None,
    ) -> None:
        if entries < 1 or limit < 1:
            raise ValueError("a journal keeps at least one entry and one byte")
        self.entries = entries
        self.limit = limit
        self.before_going = before_going
        self.before_look = before_look
        self._lock = threading.Lock()
        self._kept: deque[Entry] = deque()  # by their numbers
        self._last = Request("", "")
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
        entry = Entry(scope, time, request, answer, operation, why)
        self.add([entry])
        return entry

    def add(self, entries: Iterable[Entry]) -> None:
        """Keep calls, in their order. Many at once cost each less."""
        largest = self.limit // _LARGEST_SHARE
        going: list[Entry] = []
        with self._lock:
            for entry in entries:
                if entry.request == self._last:
                    entry.request = self._last  # to hold the same once is to hold it cheaply
                else:
                    self._last = entry.request
                entry.size = size = _size(entry.request, entry.answer)
                if size > largest:
                    entry.shorten(_SAMPLE)
                    entry.size = size = _size(entry.request, entry.answer)
                entry.number = self._number = self._number + 1
                entry.revision = self._revision = self._revision + 1
                entry.is_kept = True
                self._kept.append(entry)
                self._held += size
                if len(self._kept) > self.entries or self._held > self.limit:
                    going += self._make_room()
        if going:
            self.before_going(going)

    def finish(self, entry: Entry, duration: float, ending: str = "complete") -> bool:
        """Note how a call ended; say whether it is still kept. Only the first call counts."""
        with self._lock:
            if entry.ending is None:
                entry.duration, entry.ending = duration, ending
                if entry.is_kept:
                    entry.revision = self._revision = self._revision + 1
            return entry.is_kept

    def __getitem__(self, number: int) -> Entry:
        """Return the entry of a number. Raises KeyError: not there, or not any more."""
        self.before_look()
        with self._lock:
            place = bisect_left(self._kept, number, key=_NUMBER)
            if place == len(self._kept) or self._kept[place].number != number:
                raise KeyError(number)
            return self._kept[place]

    def __len__(self) -> int:
        self.before_look()
        with self._lock:
            return len(self._kept)

    @property
    def span(self) -> Span:
        self.before_look()
        with self._lock:
            first = self._kept[0].number if self._kept else self._number + 1
            kept, held = len(self._kept), self._held
            counts = self._gone, self._resets, self._revision
            return Span(first, self._number, kept, held, *counts)

    def find(self, wanted: Filter = Filter(), most: int | None = None) -> list[Entry]:
        """Return the entries a filter takes, in the order of `changes`."""
        return [entry for _, entry in self.changes(wanted, most)]

    def changes(
        self, wanted: Filter = Filter(), most: int | None = None
    ) -> list[tuple[int, Entry]]:
        """Return the entries a filter takes, each with its revision; the first `most`.

        They come in the order of their numbers; with `since` in that of their revisions, so that a
        reader who gets only some of them can go on after the revision of the last. A call may end
        while others are read: the revision is that from before.
        """
        found: list[tuple[int, Entry]] = []
        for revision, entry in self._candidates(wanted):
            if most is not None and len(found) >= most:
                break
            if wanted.takes(entry):
                found.append((revision, entry))
        return found

    def reset(self, scope: str | None = None) -> list[Entry]:
        """Forget the calls of a scope, or all; return them. Numbers go on."""
        self.before_look()
        with self._lock:
            going = [e for e in self._kept if scope is None or e.scope == scope]
            for entry in going:
                self._let_go(entry)
            self._kept = deque(e for e in self._kept if e.is_kept)
            self._resets += 1
            return going

    def _candidates(self, wanted: Filter) -> Sequence[tuple[int, Entry]]:
        self.before_look()
        with self._lock:  # for a moment: calls that come meanwhile wait for it
            kept, last = list(self._kept), self._revision
        after, since = wanted.after, wanted.since
        if since is None:
            return [(e.revision, e) for e in kept if e.number > after]
        # What changes from here on is to be read again, so it is given no later revision.
        later = [(min(e.revision, last), e) for e in kept if e.revision > since]
        return [pair for pair in sorted(later, key=_REVISION) if pair[1].number > after]

    def _make_room(self) -> list[Entry]:
        """Take out the oldest."""
        going = []
        while len(self._kept) > self.entries or (self._held > self.limit and len(self._kept) > 1):
            going.append(self._kept.popleft())
            self._let_go(going[-1])
        self._gone += len(going)
        return going

    def _let_go(self, entry: Entry) -> None:
        entry.is_kept = False
        self._held -= entry.size


_NUMBER = attrgetter("number")
_REVISION = itemgetter(0)


def _size(request: Request, answer: Answer) -> int:
    parts = answer.parts
    sent = len(parts[0]) if len(parts) == 1 else sum(map(len, parts))
    # A client may send 32 KiB of headers; the answer's are the server's own, and few.
    head = len(request.path) + len(request.query) + sum(map(len, request.headers.values()))
    said = sum(len(text) for _, lacks in answer.nearest for text in lacks)
    return _OVERHEAD + head + len(request.body) + sent + said
