"""Live mode: tests written for the mock, answered by a real service.

The relay stands where the mock stands. It passes calls on with the real key, keeps them in the
journal of the test's space, judges each by the contract, and compares it with what the test has
scripted: by shape, as a service chooses its own words.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from yarl import URL

from .answers_read import data_of
from .conformance.decoded import decode
from .conformance.exchange import Arrival, Received, Sent
from .conforming import exchange_of, judged, shown_breach, without_key
from .live_shape import shape_differences
from .mockserver.embedded.bench import spelt
from .mockserver.embedded.serving import ServerThread
from .mockserver.exchange import Answer, Request
from .mockserver.record.passing import Exchange
from .mockserver.record.proxy import RecordingProxy
from .mockserver.record.recorder import Recorder
from .mockserver.record.recording import Ending, Recording
from .mockserver.record.script_file import ScriptFile
from .mockserver.record.upstream import Address, read_address
from .mockserver.scope import split_scope

if TYPE_CHECKING:
    from .mockserver.embedded.space import Space

_ENDED = {Ending.WHOLE: "complete", Ending.SILENT: "timeout"}


class _Cassette:
    """A cassette that is recorded anew beside the one that is there, and takes its place at last: a
    run that came to nothing leaves the old one as it is.

    Raises DocumentError where it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._new = path.with_name(f".{path.name}.new")
        self._new.unlink(missing_ok=True)  # of a run that was killed
        self.recorder = Recorder(ScriptFile(self._new))

    def close(self, *, is_good: bool) -> str:
        """Come to an end; say why the new cassette does not take its place, where it does not."""
        self.recorder.close()
        try:
            if not is_good and self.path.exists():
                self._new.unlink()
                return f"{self.path} stays as it was: not everything was answered"
            self._new.replace(self.path)
        except FileNotFoundError:  # nothing was asked
            return ""
        except OSError as error:
            return f"{self.path}: {error.strerror or error}"
        return ""


class LiveSpace:
    """A space whose calls go to the real service. `problems` are what was wrong, in sentences."""

    def __init__(self, space: Space, key: str, service: str, cassette: _Cassette | None) -> None:
        self.space = space
        self.problems: list[str] = []
        self.lost: list[str] = []
        self.cassette = cassette
        self.recorder = cassette.recorder if cassette else None
        # Whether each exchange that came to something had an answer.
        self.is_answered = True
        self._service = service
        self._key = key
        self._started = 0

    def start(self) -> int:
        """Return the place of an exchange among those of the space."""
        if self.recorder is not None:
            return self.recorder.start()
        self._started += 1
        return self._started

    def take(self, asked: Request, recording: Recording) -> None:
        """Keep an exchange in the journal, judge it, and compare it with what is scripted.

        `asked` is the request as the client sent it, with its own key.
        """
        received = _received(recording)
        space = self.space
        service, control = space.bench.service, space.bench.control
        turn = service.begin(asked)
        scripted = turn.answer
        answer = _answer(recording, received)
        # The mock's answer is not sent, but the rule that it is by is the one that fits.
        answer = replace(answer, rule=scripted.rule, nearest=scripted.nearest)
        seen = control.note(asked, replace(turn, answer=answer, acting=None))
        seen.end(recording.ended_at, "complete" if received.ended == "complete" else "dropped")
        turn.end()
        number = next((c.number for c in space.calls if c.entry is seen.entry), None)
        if number is None:  # it asks for nothing
            return
        where = f"call {number} ({asked.method} {asked.path})"
        if recording.status is None:
            self.is_answered = False
            how = recording.ending.value
            self._tell(f"{where}: {self._service} has not answered ({how}): does it run there?")
            return
        headers = tuple(recording.request.headers.items())
        sent = Sent(asked.method, asked.path, headers, asked.body)
        exchange = exchange_of(sent, received, data_of(sent), space.contract)
        for shown in judged(exchange, space.contract):
            if shown.state == "FAIL":
                self._tell(f"{where}: {shown_breach(shown)}")
        untouched = not (turn.acting and turn.acting.failure)
        if seen.entry.why.rule is not None and untouched:
            for difference in shape_differences(scripted, answer):
                self._tell(f"{where}, scripted by {seen.entry.why.rule}: {difference}")

    def left(self, asked: Request) -> None:
        """Keep in the journal that a client has left before it had an answer."""
        control = self.space.bench.control
        turn = self.space.bench.service.begin(asked)
        # Nobody was told a status; nginx logs this one for it.
        seen = control.note(asked, replace(turn, answer=Answer(499, {}, ()), acting=None))
        seen.end(0.0, "client gone")
        turn.end()

    def pass_over(self, asked: Request | None, reason: str) -> None:
        """Take note of an exchange that came to nothing; without `asked`, by the service's fault
        or its address's."""
        self.lost.append(reason)
        if asked is None:
            self._tell(f"{self.space.url}: {reason}")
        else:
            self.left(asked)

    def _tell(self, problem: str) -> None:
        self.problems.append(without_key(problem, self._key))


@dataclass
class _Under:
    """One exchange that is under way: whose it is, and what the client sent itself."""

    live: LiveSpace
    key: str | None
    request: Request | None = None
    taken: bool = False

    def asked(self, request: Request) -> Request:
        """Return a request with the key that the client has sent, not the real one."""
        headers = {n: v for n, v in request.headers.items() if n != "authorization"}
        if self.key is not None:
            headers["authorization"] = self.key
        return replace(request, headers=headers)

    def take(self, recording: Recording) -> None:
        if not self.taken:
            self.taken = True
            self.live.take(self.asked(recording.request), recording)


_UNDER: ContextVar[_Under] = ContextVar("wafermock_live")


class _EachItsOwn:
    """Gives what passes to the space that it is of, and to the space's recorder, if it has one."""

    def start(self) -> int:
        return _UNDER.get().live.start()

    def learn(self, request: Request) -> None:
        under = _UNDER.get()
        under.request = request
        if under.live.recorder is not None:
            under.live.recorder.learn(request)

    def hear(self, exchange: Exchange, at: float, *, is_over: bool) -> None:
        """Take an exchange before the client has all of it: its test looks at the calls then."""
        if is_over or _is_whole(exchange):
            _UNDER.get().take(exchange.recording(Ending.WHOLE, at))

    async def keep(self, start: int, recording: Recording) -> None:
        under = _UNDER.get()
        under.take(recording)
        if under.live.recorder is not None:
            await under.live.recorder.keep(start, recording)

    def pass_over(self, start: int, reason: str) -> None:
        under = _UNDER.get()
        if not under.taken:
            under.taken = True
            under.live.pass_over(under.request and under.asked(under.request), reason)
        if under.live.recorder is not None:
            under.live.recorder.pass_over(start, reason)


class _Relay(RecordingProxy):
    """Passes on the calls of all spaces, each with the real key."""

    def __init__(self, address: Address, key: str) -> None:
        super().__init__(address, _EachItsOwn())
        self.spaces: dict[str, LiveSpace] = {}
        self._key = key

    async def handle(self, request: Any) -> Any:
        name, _ = split_scope(request.raw_path.partition("?")[0])
        live = self.spaces.get(name)
        if live is None:
            raise ConnectionResetError("the space is closed")
        path, mark, query = request.raw_path.partition("?")
        path = split_scope(path)[1] if name else path
        path = spelt(Request(request.method, path), live.space.contract).path
        headers = request.headers.copy()
        own = headers.get("authorization")
        if own is not None:
            # A client without a key is to see what the service says to that.
            headers["Authorization"] = f"Bearer {self._key}"
        _UNDER.set(_Under(live, own))
        target = URL(path + mark + query, encoded=True)
        return await super().handle(request.clone(headers=headers, rel_url=target))


def _is_whole(exchange: Exchange) -> bool:
    """Say whether a client has all it waits for when it has what has come."""
    headers = exchange.head.headers if exchange.head else ()
    length = next((value for name, value in headers if name.lower() == "content-length"), None)
    if length is not None and length.strip().isdecimal():
        return sum(len(piece.data) for piece in exchange.pieces) >= int(length)
    return exchange.is_done


class LiveSession:
    """Passes the calls of spaces to a real service at `url`, by its `key`.

    With a `folder` each space's calls are recorded there, without secrets. Raises ValueError for
    what is no URL of a server.
    """

    def __init__(self, url: str, key: str, folder: Path | None = None) -> None:
        address = read_address(url)
        self.address = replace(address, prefix=address.prefix.removesuffix("/v1"))
        self._key = key
        self._folder = folder
        self._relay = _Relay(self.address, key)
        self._thread = ServerThread(lambda: self._relay, "wafermock live")
        self._all: list[LiveSpace] = []
        # Why exchanges were not recorded that should have been.
        self.lost: list[str] = []

    def attach(self, space: Space, name: str) -> LiveSpace:
        """Let the real service answer the calls of a space. `name` is that of its cassette.

        Raises DocumentError where the cassette cannot be written.
        """
        if not self._thread.is_running:
            self._thread.start()
        cassette = _Cassette(self._folder / f"{name}.yaml") if self._folder else None
        live = LiveSpace(space, self._key, self.address.authority, cassette)
        self._relay.spaces[space.name] = live
        self._all.append(live)
        space.answered_at(lambda: self._thread.address)
        space.on_close(lambda: self._detach(live))
        return live

    def take_problems(self) -> list[str]:
        """Return what was wrong since the last time, call by call."""
        found: list[str] = []
        for live in self._all:
            taken, live.problems = live.problems, []
            found += taken
        return found

    def _detach(self, live: LiveSpace) -> None:
        """Pass nothing on any more for a space. What is under way comes to its end."""
        self._relay.spaces.pop(live.space.name, None)
        if live.recorder is None:
            self._all.remove(live)

    def stop(self) -> None:
        """Finish what is under way, and end."""
        self._thread.stop()
        for live in self._all:
            if live.cassette is not None:
                kept = live.cassette.close(is_good=live.is_answered)
                self.lost += [*live.lost, *([kept] if kept else [])]


def _received(recording: Recording) -> Received:
    arrivals = tuple(Arrival(piece.at, piece.data) for piece in recording.pieces)
    ended: Any = _ENDED.get(recording.ending, "cut")
    return Received(recording.status or 0, "", recording.headers, arrivals, ended)


def _answer(recording: Recording, received: Received) -> Answer:
    """Make the answer that the journal keeps: what it means, without content coding."""
    decoded = decode(received)
    headers = {name.lower(): value for name, value in recording.headers}
    headers.pop("content-encoding", None)
    # Nothing has come: a bad gateway, as a proxy would say it.
    status = recording.status or 502
    return Answer(status, headers, (decoded.text,), streamed=decoded.is_stream)
