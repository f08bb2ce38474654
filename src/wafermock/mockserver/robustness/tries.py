"""Tries: what a client did, call by call, in the words a verdict needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from ..draws import Draws, digest
from ..wire import Plan, plan
from ..wire.failures import RETRY, SLOW

if TYPE_CHECKING:
    from wafermock.spec.errors import ErrorCatalogue

    from ..exchange import Answer, Request
    from ..wire import Chosen

# Whether a request that went wrong is to be sent again.
Again = Literal["should", "may", "must not"]


class Try(Struct, frozen=True):
    """One call. Times are seconds from a common start; `over` is None while it is under way.

    `request` is the same for the same request. `trouble` says what went wrong, in a few words;
    empty: nothing. `again` is what a client should make of that, `whole` whether all of an answer
    came, `slow` whether the mock was slow on purpose. `retry_after` is in seconds. `gone`: the
    client left before the end.
    """

    number: int
    came: float
    over: float | None
    request: bytes = b""
    status: int = 200
    trouble: str = ""
    again: Again = "must not"
    whole: bool = True
    slow: bool = False
    retry_after: float | None = None
    gone: bool = False

    @property
    def succeeded(self) -> bool:
        """Whether the client was given an answer, whole and in time."""
        left = self.gone or (self.slow and self.over is None)
        return self.status < 400 and self.whole and not left

    def lasted(self, now: float) -> float:
        """How long the client waited for it, in seconds."""
        return (now if self.over is None else self.over) - self.came


class Outcome(Struct, frozen=True):
    """What the client's caller was told: a value, or what was `raised`, as `Error: message`.

    `told`: the client has said in another way that it has no answer. `began` and `ended` are on
    the clock of the tries.
    """

    began: float
    ended: float
    raised: str = ""
    told: bool = False

    @property
    def failed(self) -> bool:
        """Whether the caller knows that there is no answer."""
        return bool(self.raised) or self.told


def read_try(
    number: int,
    came: float,
    over: float | None,
    request: Request,
    answer: Answer,
    failure: Chosen | None,
    ending: str | None,
    errors: ErrorCatalogue,
) -> Try:
    """Make a try of a call, its answer, and the failure that was chosen for it, if any.

    `ending` is how the journal has it: `complete`, `client gone`, `dropped`; None: not yet.
    """
    made = plan(answer, method=request.method, failure=failure, draws=Draws("wire"))
    happened = failure is not None and bool(made.applied)
    slow = happened and failure is not None and failure.entry.group == SLOW.group
    broken = (happened and not slow) or ending == "dropped"
    status = made.status
    again: Again = "must not"
    trouble = ""
    if happened and failure is not None:
        trouble = str(failure)
        again = "should" if failure.entry.advice.startswith(RETRY) else "may"
    elif ending == "dropped":
        trouble, again = "the stream was dropped", "may"
    if status >= 400 or _error_inside(failure):
        named = _error_inside(failure) or _code(answer)
        trouble = trouble or f"{status} {named}".strip()
        again = _again(errors, status, named)
    headers = {name.lower(): value for name, value in made.headers}
    if status >= 400 and (said := headers.get("x-should-retry")) in ("true", "false"):
        again = "should" if said == "true" else "must not"
    return Try(
        number=number,
        came=came,
        over=over,
        request=digest(request.method, request.path, request.query, request.body),
        status=status,
        trouble=trouble,
        again=again,
        whole=not (broken and status < 400),
        slow=slow,
        retry_after=_seconds(headers.get("retry-after")) if status >= 400 else None,
        gone=ending == "client gone" and not _ends_itself(made),
    )


def _ends_itself(made: Plan) -> bool:
    """Whether the mock ended the connection; then nobody can tell that the client left."""
    return made.ending in ("reset", "cut")


def _error_inside(failure: Chosen | None) -> str:
    """Return the error that a body of status 200 holds; empty: there is none."""
    return str(failure.values["error"]) if failure and failure.name == "error_as_200" else ""


def _again(errors: ErrorCatalogue, status: int, named: str) -> Again:
    """Say what the catalogue of errors says of one, by its name or code, else by its status."""
    same = [e for e in errors if named and named in (e.name, e.code)]
    found = [e for e in same if e.status == status] or same or errors.of_status(status)
    if found:
        return "should" if any(entry.retried for entry in found) else "must not"
    return "should" if status >= 500 else "must not"  # RFC 9110, sections 15.5 and 15.6


def _code(answer: Answer) -> str:
    """Return the code of an error's body."""
    import json

    try:
        body: Any = json.loads(answer.body)
    except (ValueError, RecursionError):
        return ""
    inner = body.get("error", body) if isinstance(body, dict) else None
    code = inner.get("code") if isinstance(inner, dict) else None
    return code if isinstance(code, str) else ""


def _seconds(value: str | None) -> float | None:
    """Read Retry-After, where it is a number of seconds (RFC 9110, section 10.2.3)."""
    text = (value or "").strip()
    return float(text) if text.isascii() and text.isdecimal() else None
