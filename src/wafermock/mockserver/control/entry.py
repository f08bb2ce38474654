"""A call as the journal keeps it, and why it was answered as it was.

What masks and reads it is imported when someone looks: many calls come that nobody looks at.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ..decode import decode
from ..exchange import Answer, Request
from ..refusal import Refusal

if TYPE_CHECKING:
    from .masking import Mask
    from .reading import Said

# A body is inflated to so many bytes at most, to be shown.
_LARGEST = 64 * 1024 * 1024
# So much of what was asked is kept in words.
_SHOWN = 400
# Whatever the operation takes: an entry is read, not judged.
_MEDIA_TYPES = ("*/*",)


class Miss(Struct, frozen=True):
    """A rule that came near, and what did not fit, one sentence each."""

    rule: str
    differences: tuple[str, ...]


class Why(Struct, frozen=True):
    """Why a call was answered as it was.

    `rule` is the name of the rule that matched, `nearest` are those that nearly did. `failure`,
    `delivery` and `defect` are names of the catalogues, where one was in play.
    """

    rule: str | None = None
    nearest: tuple[Miss, ...] = ()
    failure: str | None = None
    delivery: str | None = None
    defect: str | None = None

    @property
    def in_play(self) -> list[tuple[str, str]]:
        """The catalogues something of which was in play, each with what it was."""
        named = (("failure", self.failure), ("delivery", self.delivery), ("defect", self.defect))
        return [(catalogue, name) for catalogue, name in named if name is not None]


PLAIN = Why()


class _Asked(Struct, frozen=True):
    """What a list shows of a request."""

    model: str | None
    stream: bool
    words: str


class Entry:
    """A call as the journal keeps it.

    `time` is the clock's reading, Unix seconds; `duration` is in seconds of passage, None while
    the call is in flight. `ending` says how the delivery ended: `complete`, `client gone`,
    `dropped`. `request` and `answer` are as they came and went: nothing of them is shown but by
    way of `mask` and the properties that use it. `size` is in bytes. `is_kept`: the journal has it
    still. `counted` is how much of it the metrics have: 0 nothing, 1 its beginning, 2 its end.
    """

    # Ten thousand are kept: slots, and `__dict__` for what is worked out once someone looks.
    __slots__ = (
        "__dict__", "answer", "counted", "duration", "ending", "is_kept", "number", "omitted",
        "operation", "request", "revision", "scope", "size", "time", "why",
    )  # fmt: skip

    def __init__(
        self,
        scope: str,
        time: float,
        request: Request,
        answer: Answer,
        operation: str | None = None,
        why: Why = PLAIN,
    ) -> None:
        self.scope = scope
        self.time = time
        self.request = request
        self.answer = answer
        self.operation = operation
        self.why = why
        self.duration: float | None = None
        self.ending: str | None = None
        self.number = self.revision = self.size = self.omitted = self.counted = 0
        self.is_kept = False

    def shorten(self, sample: int) -> None:
        """Leave out all but so many bytes of what is too large to keep; `omitted` says how many."""
        request, answer = self.request, self.answer
        body, sent = request.body[:sample], answer.body
        self.omitted = len(request.body) - len(body) + len(sent) - len(sent[:sample])
        offsets = answer.offsets and answer.offsets[-1:]
        self.request = replace(request, body=body)
        self.answer = replace(answer, parts=(sent[:sample],), offsets=offsets)

    @cached_property
    def mask(self) -> Mask:
        """Takes out of texts what must not be shown of this call."""
        from .masking import Mask, secrets_in

        return Mask([*secrets_in(self.request.headers), *secrets_in(self.answer.headers)])

    @property
    def request_headers(self) -> dict[str, str]:
        """The headers of the request, masked."""
        from .masking import masked_headers

        return masked_headers(self.request.headers)

    @property
    def answer_headers(self) -> dict[str, str]:
        """The headers of the answer, masked."""
        from .masking import masked_headers

        return masked_headers(self.answer.headers)

    @property
    def path(self) -> str:
        """The path, masked."""
        return self.mask.text(self.request.path)

    @property
    def query(self) -> str:
        """The query, masked."""
        return self.mask.query(self.request.query) if self.request.query else ""

    @property
    def request_body(self) -> bytes:
        """The body as it came, masked; a compressed one stays as it is, see `data`."""
        return self.mask.bytes(self.request.body)

    @property
    def data(self) -> Any:
        """The JSON data of the request body, inflated, as it came; None: there is none to read."""
        headers = self.request.headers
        if not self.request.body:
            return None
        try:
            return decode(
                self.request.body,
                headers.get("content-type"),
                headers.get("content-encoding"),
                media_types=_MEDIA_TYPES,
                max_body=_LARGEST,
            )
        except Refusal:
            return None

    @cached_property
    def _asked(self) -> _Asked:
        from .reading import asked

        # What lists and filters need is kept, the data is not: it is larger than its bytes.
        data = self.data
        body = data if isinstance(data, dict) else {}
        name = body.get("model")
        model = name if isinstance(name, str) else None
        return _Asked(model, body.get("stream") is True, self.mask.text(asked(data)[:_SHOWN]))

    @property
    def model(self) -> str | None:
        """The model that was asked for."""
        return self.answer.cost.model if self.answer.cost else self._asked.model

    @property
    def stream(self) -> bool:
        """Whether a stream was asked for, or was answered."""
        return self.answer.streamed or self._asked.stream

    @property
    def asked(self) -> str:
        """The beginning of what the request asked last, masked."""
        return self._asked.words

    @property
    def said(self) -> Said:
        """What the answer said, joined."""
        from .reading import read_answer

        answer = self.answer
        return read_answer(answer.status, answer.streamed, answer.parts)

    @property
    def missed(self) -> bool:
        """Whether there were rules and none fitted."""
        return self.why.rule is None and bool(self.why.nearest)
