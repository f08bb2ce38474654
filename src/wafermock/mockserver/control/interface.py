"""The control interface: answers what stands under `/__wafermock__/`. No socket in sight.

Its own document, openapi.yaml, says what there is: a request is read by it, and the operation it
names is a method of `_Operations`, whose return value is the answer's body.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from wafermock.spec import DocumentError

from ..event_stream import encode_json
from ..exchange import Answer, Request
from ..limits import Limiter, parse_limits
from . import shown
from .armed import Arming, Kind
from .entry import Entry
from .export import curl, rule
from .guard import Guard
from .held import Order, Shown
from .journal import Filter
from .page import page
from .paths import METRICS, PREFIX
from .routes import Problem, Routes, Wanted

if TYPE_CHECKING:
    from .control import Control

# So many calls at once, unless asked for fewer or more.
_LIMIT = 1000

# Nothing here is kept by a browser, guessed at, or handed to another page.
_HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


class ControlInterface:
    """Answers requests for the paths of paths.py.

    Any thread may ask. `guard` says who may.
    """

    def __init__(self, control: "Control", guard: Guard) -> None:
        self.guard = guard
        self._control = control
        self._operations = _Operations(control, self)

    @cached_property
    def routes(self) -> Routes:
        """The document, read when the first request comes."""
        return Routes()

    def answer(self, request: Request, remote: str | None) -> Answer:
        """Answer a request of a peer (its IP address). Never raises for what was asked."""
        try:
            return self._answer(request, remote)
        except Problem as problem:
            error: dict[str, Any] = {"status": problem.status, "message": problem.message}
            if problem.at:
                error["at"] = list(problem.at)
            allow = {"allow": ", ".join(problem.allow)} if problem.allow else {}
            return _json(problem.status, {"error": error}, allow)

    def _answer(self, request: Request, remote: str | None) -> Answer:
        path = METRICS if request.path == METRICS else request.path.removeprefix(PREFIX)
        opens_page = path in ("", "/") and request.method in ("GET", "HEAD")
        refusal = self.guard.refusal(remote, request.headers, opens_page=opens_page)
        if refusal is not None:
            raise Problem(403, refusal)
        if path == "":
            # Relative addresses in the page need the slash.
            return Answer(308, {**_HEADERS, "location": f"{PREFIX}/"}, ())
        key, values = self.routes.find(request.method, path)
        bound = self._control.service.mock.settings.max_body
        if len(request.body) > bound:  # the server stops reading there
            raise Problem(413, f"the body is longer than {bound} bytes; --max-body sets the bound")
        wanted = self.routes.read(
            key, values, request.query, request.headers.get("content-type"), request.body
        )
        operation: Callable[[Wanted, Request], Any] = getattr(self._operations, wanted.operation)
        result = operation(wanted, request)
        if isinstance(result, Answer):
            return result
        return _json(201 if wanted.operation in ("arm", "holdNext") else 200, result)


def _json(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Answer:
    known = {"content-type": "application/json", **_HEADERS, **(headers or {})}
    return Answer(status, known, (encode_json(body),))


def _text(text: str, content_type: str) -> Answer:
    body = text.encode("utf-8", "replace")
    return Answer(200, {"content-type": f"{content_type}; charset=utf-8", **_HEADERS}, (body,))


class _Operations:
    """The operations, by their ids in the document."""

    def __init__(self, control: "Control", interface: ControlInterface) -> None:
        self._control = control
        self._interface = interface

    # ------------------------------------------------------------ about

    def page(self, wanted: Wanted, request: Request) -> Answer:
        body, headers = page()
        return Answer(200, {**_HEADERS, **headers}, (body,))

    def document(self, wanted: Wanted, request: Request) -> Any:
        return self._interface.routes.document

    def metrics(self, wanted: Wanted, request: Request) -> Answer:
        try:
            accept = request.headers.get("accept", "")
            content_type, body = self._control.metrics.exposition(accept)
        except ImportError:
            advice = "metrics need a package: pip install 'wafermock[metrics]'"
            raise Problem(501, advice) from None
        return Answer(200, {**_HEADERS, "content-type": content_type}, (body,))

    def state(self, wanted: Wanted, request: Request) -> Any:
        return self._control.state()

    def catalogues(self, wanted: Wanted, request: Request) -> Any:
        return {
            kind: [
                {"name": n, "says": catalogue[n].says, "advice": catalogue[n].advice}
                for n in catalogue
            ]
            for kind, catalogue in self._control.catalogues.items()
        }

    def reset(self, wanted: Wanted, request: Request) -> Any:
        return {"forgotten": self._control.reset(wanted.body.get("scope"))}

    # ------------------------------------------------------------ calls

    def journal(self, wanted: Wanted, request: Request) -> Any:
        given = dict(wanted.values)
        most = int(given.pop("limit", _LIMIT))
        for name in ("stream", "missed"):
            if name in given:
                given[name] = given[name] == "true"  # type: ignore[assignment]
        for name in ("after", "since"):
            if name in given:
                given[name] = int(given[name])  # type: ignore[assignment]
        # The span first: what comes in between is then read again, not missed.
        span = self._control.journal.span
        found = self._control.journal.changes(Filter(**given), most)  # type: ignore[arg-type]
        calls = [{**shown.call_shown(entry), "revision": revision} for revision, entry in found]
        return {"calls": calls, "journal": asdict(span)}

    def forget(self, wanted: Wanted, request: Request) -> Any:
        return {"forgotten": self._control.forget(wanted.values.get("scope"))}

    def call(self, wanted: Wanted, request: Request) -> Any:
        return shown.whole_call_shown(self._entry(wanted))

    def curl(self, wanted: Wanted, request: Request) -> Answer:
        base = f"http://{request.headers.get('host', '127.0.0.1')}"
        return _text(curl(self._entry(wanted), base), "text/plain")

    def rule(self, wanted: Wanted, request: Request) -> Answer:
        return _text(rule(self._entry(wanted)), "application/yaml")

    def coverage(self, wanted: Wanted, request: Request) -> Any:
        return shown.coverage_shown(self._control.covered(wanted.values.get("scope")))

    def _entry(self, wanted: Wanted) -> Entry:
        number = int(wanted.values["number"])
        try:
            return self._control.journal[number]
        except KeyError:
            span = self._control.journal.span
            kept = f"it keeps {span.first} to {span.last}" if span.kept else "it is empty"
            raise Problem(404, f"the journal has no call {number}; {kept}") from None

    # ------------------------------------------------------------ script and what is armed

    def script(self, wanted: Wanted, request: Request) -> Any:
        return {"rules": [asdict(rule) for rule in self._control.scripts.rules()]}

    def addScript(self, wanted: Wanted, request: Request) -> Any:
        return self._load(wanted, instead=False)

    def setScript(self, wanted: Wanted, request: Request) -> Any:
        return self._load(wanted, instead=True)

    def _load(self, wanted: Wanted, *, instead: bool) -> Any:
        from .scripts import TooLong

        try:
            self._control.scripts.load(wanted.body, "script", instead=instead)
        except TooLong as error:
            raise Problem(413, str(error)) from None
        except (DocumentError, ValueError) as error:
            raise Problem(422, str(error)) from None
        return {"rules": [asdict(rule) for rule in self._control.scripts.rules()]}

    def armed(self, wanted: Wanted, request: Request) -> Any:
        return shown.armed_shown(self._control.armed)

    def arm(self, wanted: Wanted, request: Request) -> Any:
        given = dict(wanted.body)
        kind: Kind = given.pop("kind", "failure")
        catalogue = self._control.catalogues.get(kind)
        if catalogue is None:
            has = ", ".join(self._control.catalogues)
            raise Problem(
                422, f"this server has no catalogue of {kind}s (it has {has})", ("/kind",)
            )
        try:
            chosen = catalogue.parse(given["name"])
        except ValueError as error:
            raise Problem(422, str(error), ("/name",)) from None
        self._control.armed.arm(Arming(kind, chosen=chosen, **given))
        return shown.armed_shown(self._control.armed)

    def disarm(self, wanted: Wanted, request: Request) -> Any:
        number = int(wanted.values["number"])
        if not self._control.armed.disarm(number):
            raise Problem(404, f"nothing is armed under {number}; it may be used up")
        return shown.armed_shown(self._control.armed)

    def disarmAll(self, wanted: Wanted, request: Request) -> Any:
        self._control.armed.reset()
        return shown.armed_shown(self._control.armed)

    # ------------------------------------------------------------ clock, limits, queue

    def clock(self, wanted: Wanted, request: Request) -> Any:
        return self._control.clock_shown()

    def setClock(self, wanted: Wanted, request: Request) -> Any:
        self._control.service.clock.set(wanted.body["time"])
        return self._control.clock_shown()

    def advance(self, wanted: Wanted, request: Request) -> Any:
        try:
            self._control.service.clock.advance(wanted.body["seconds"])
        except ValueError as error:
            raise Problem(422, str(error), ("/seconds",)) from None
        return self._control.clock_shown()

    def limits(self, wanted: Wanted, request: Request) -> Any:
        return {"limits": shown.limits_shown(self._control.service.limiter.limits)}

    def setLimits(self, wanted: Wanted, request: Request) -> Any:
        service = self._control.service
        try:
            limits = parse_limits(wanted.body["limits"], service.mock.contract.limits)
        except ValueError as error:
            raise Problem(422, str(error).removeprefix("--limits "), ("/limits",)) from None
        service.limiter = Limiter(limits, service.clock, retry_after=service.limiter.retry_after)
        return {"limits": shown.limits_shown(limits)}

    def queue(self, wanted: Wanted, request: Request) -> Any:
        return {"seconds": self._control.service.queue.seconds}

    def setQueue(self, wanted: Wanted, request: Request) -> Any:
        self._control.service.queue.seconds = wanted.body["seconds"]
        return self.queue(wanted, request)

    # ------------------------------------------------------------ held streams

    def held(self, wanted: Wanted, request: Request) -> Any:
        return shown.held_shown(self._control.holds)

    def holdNext(self, wanted: Wanted, request: Request) -> Any:
        self._control.holds.order(Order(**wanted.body))
        return shown.held_shown(self._control.holds)

    def releaseAll(self, wanted: Wanted, request: Request) -> Any:
        self._control.holds.reset()
        return shown.held_shown(self._control.holds)

    def emit(self, wanted: Wanted, request: Request) -> Any:
        parts = wanted.body.get("parts", 1)
        return self._moved(wanted, lambda number: self._control.holds.emit(number, parts))

    def hold(self, wanted: Wanted, request: Request) -> Any:
        return self._moved(wanted, self._control.holds.hold)

    def release(self, wanted: Wanted, request: Request) -> Any:
        return self._moved(wanted, self._control.holds.release)

    def drop(self, wanted: Wanted, request: Request) -> Any:
        return self._moved(wanted, self._control.holds.drop)

    def _moved(self, wanted: Wanted, move: Callable[[int], Shown]) -> Any:
        number = int(wanted.values["number"])
        try:
            return asdict(move(number))
        except KeyError:
            raise Problem(404, f"no stream of call {number} is under control") from None
