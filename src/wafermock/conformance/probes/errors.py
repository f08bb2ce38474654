"""Bad requests, one of each kind. Each says in `facts["fault"]` what is wrong with it."""

import gzip
import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from wafermock.reports.run import Meant
from wafermock.spec import Contract, Operation

from ..exchange import Sent
from ..planned import Planned, Subject, encoded, plan, pointer, without_header
from .asking import DEEP, QUICK, STANDARD, Asking, Weighted, cost, needs
from .requirements import breaking

CAMPAIGN = "errors"

# Over the bound of any server that has one, and a few KiB when it is sent: white space, gzip.
MIB = 2**20
LARGE = 16 * MIB
# The head of a gzip member: no flags, no time, the fastest compression, no system (RFC 1952).
GZIP = b"\x1f\x8b\x08\0\0\0\0\0\x04\xff"

NO_SUCH_MODEL = "no-such-model"


def error_probes(contract: Contract, subject: Subject, seed: int = 0) -> Iterator[Weighted]:
    """Plan the bad requests; those about keys only where there is a key to get wrong."""
    asking = Asking(contract, subject, seed)
    operation = asking.main
    if operation is None:
        return
    errors = _Errors(asking, operation)
    if subject.api_key is not None and any(operation.security):
        yield from errors.keys()
    yield from errors.places()
    yield from errors.bodies()
    yield from errors.dresses()
    yield from errors.requirements()
    yield from _models(asking)
    other = asking.text if operation is asking.chat else None
    if other is not None:
        yield from _Errors(asking, other).again()


def _models(asking: Asking) -> Iterator[Weighted]:
    """Ask for a model that is not there, and for the list of them without a key."""
    contract, subject = asking.contract, asking.subject
    for operation in contract.operations:
        names = [parameter.name for parameter in operation.parameters if parameter.place == "path"]
        if operation.answer == "model":
            yield Weighted(STANDARD, plan(
                operation, None, subject, campaign=CAMPAIGN, kind="unknown model", meant="invalid",
                statuses=allowed(contract, "model_not_found"), facts={"fault": "model"},
                path_values=dict.fromkeys(names, NO_SUCH_MODEL), needs=("models",),
            ))  # fmt: skip
        if operation.answer == "model.list" and subject.api_key and any(operation.security):
            yield Weighted(STANDARD, plan(
                operation, None, subject, campaign=CAMPAIGN, kind="no key", meant="broken",
                statuses=(401, 403), facts={"fault": "no key"}, needs=("models",),
                change=lambda sent: without_header(sent, "authorization"),
            ))  # fmt: skip


def allowed(contract: Contract, *names: str) -> tuple[int, ...]:
    """Return the statuses that errors of the catalogue may have.

    What is wrong with a body is 400 by recorded traffic and 422 by the documents. Where nobody has
    recorded an error, either is as good as what the catalogue assumes.
    """
    found: set[int] = set()
    for name in names:
        entry = contract.errors[name]
        found.add(entry.status)
        if entry.assumed or entry.status in (400, 422):
            found |= {400, 422}
    return tuple(sorted(found))


class _Errors:
    def __init__(self, asking: Asking, operation: Operation) -> None:
        self.asking = asking
        self.contract = asking.contract
        self.operation = operation
        self.good = asking.body(operation)

    def _plan(
        self,
        weight: int,
        kind: str,
        fault: str,
        statuses: tuple[int, ...],
        *at: str,
        asked: Any = None,
        meant: Meant = "broken",
        facts: Mapping[str, Any] | None = None,
        need: tuple[str, ...] = (),
        **more: Any,
    ) -> Weighted:
        planned = plan(
            self.operation,
            asked,
            self.asking.subject,
            campaign=CAMPAIGN,
            kind=kind,
            location=pointer(self.operation, *at),
            meant=meant,
            statuses=statuses,
            tokens=cost(self.good) if asked is None else cost(asked),
            needs=(*needs(self.operation), *need),
            facts={"fault": fault, **(facts or {})},
            **more,
        )
        return Weighted(weight, planned)

    # ------------------------------------------------------------------ the key

    def keys(self) -> Iterator[Weighted]:
        key = self.asking.subject.api_key or ""
        wrong = f"Bearer {self.asking.word('key')}"
        cases = (
            (QUICK, "no key", "no key", None),
            (QUICK, "wrong key", "wrong key", wrong),
            (QUICK, "key of another scheme", "malformed key", f"Basic {key}"),
            (STANDARD, "scheme without a key", "malformed key", "Bearer"),
            (STANDARD, "key without a scheme", "malformed key", key),
            (STANDARD, "empty header", "malformed key", ""),
        )
        for weight, kind, fault, value in cases:
            yield self._key(weight, kind, fault, value)
        streamed = self._key(STANDARD, "wrong key, stream: true", "wrong key", wrong, stream=True)
        yield streamed

    def _key(self, weight: int, kind: str, fault: str, value: str | None, **more: Any) -> Weighted:
        def change(sent: Sent) -> Sent:
            bare = without_header(sent, "authorization")
            if value is None:
                return bare
            return replace(bare, headers=(("Authorization", value), *bare.headers))

        # RFC 9110, 15.5.4: who knows that the key will never do may say 403.
        statuses = (401, 403)
        asked = {**self.good, **more}
        return self._plan(weight, kind, fault, statuses, "security", asked=asked, change=change)

    # ------------------------------------------------------------------ where it goes

    def places(self) -> Iterator[Weighted]:
        path = f"{self.operation.path.rstrip('/')}/{self.asking.word('path')}"
        unknown = self._plan(
            QUICK, "unknown path", "path", (404,), asked=self.good,
            change=lambda sent: replace(sent, target=path),
        )  # fmt: skip
        yield _of_no_operation(unknown)
        known = self.contract.methods(self.operation.path)
        for weight, method in (
            (QUICK, "DELETE"),
            (STANDARD, "GET"),
            (DEEP, "PUT"),
            (DEEP, "PATCH"),
        ):
            if method not in known:
                # 404: no such thing under this method. 501: a method nobody knows.
                yield _of_no_operation(self._method(weight, method, (404, 405, 501)))

    def _method(self, weight: int, method: str, statuses: tuple[int, ...]) -> Weighted:
        return self._plan(
            weight,
            f"unknown method: {method}",
            "method",
            statuses,
            asked=None if method == "GET" else self.good,
            change=lambda sent: replace(sent, method=method),
        )

    # ------------------------------------------------------------------ what it says

    def bodies(self) -> Iterator[Weighted]:
        unknown = {**self.good, "model": NO_SUCH_MODEL}
        missing = allowed(self.contract, "model_not_found")
        wrong = {**self.good, "temperature": "hot", "stream": True}
        broken = allowed(self.contract, "validation_error")
        at = ("requestBody",)
        yield self._plan(
            QUICK, "unknown model", "model", missing, *at, asked=unknown, meant="invalid"
        )
        # A document of the user's own need not have the parameter: then any value will do.
        if not self.asking.keeps(self.operation, wrong):
            yield self._plan(
                QUICK, "wrong type, stream: true", "constraint", broken, *at, asked=wrong,
                meant="invalid",
            )  # fmt: skip
        yield self._plan(
            STANDARD, "unknown model, stream: true", "model", missing, *at,
            asked={**unknown, "stream": True}, meant="invalid",
        )  # fmt: skip
        torn = allowed(self.contract, "malformed_json")
        text = encoded(self.good)
        for weight, kind, body in (
            (QUICK, "torn JSON", text[: len(text) // 2]),
            (STANDARD, "JSON with a comma too many", text[:-1] + b",}"),
            (STANDARD, "JSON with single quotes", text.replace(b'"', b"'")),
            (DEEP, "two JSON texts", text + text),
            (DEEP, "no JSON", b"hello"),
        ):
            yield self._plan(weight, kind, "JSON", torn, *at, body=body)
        rubbish = text.replace("🙂".encode(), b"\xf0\x9f\x99")
        yield self._plan(QUICK, "JSON that is no UTF-8", "bytes", torn, *at, body=rubbish)
        empty = allowed(self.contract, "empty_body")
        yield self._plan(QUICK, "empty body", "empty", empty, *at, body=b"")
        for weight, value in ((QUICK, [self.good]), (STANDARD, "hello"), (STANDARD, None)):
            kind = f"body no object: {json.dumps(value)[:1]}"
            yield self._plan(weight, kind, "no object", broken, *at, body=encoded(value))

    # ------------------------------------------------------------------ how it comes

    def dresses(self) -> Iterator[Weighted]:
        text = encoded(self.good)
        at = ("requestBody",)
        media = allowed(self.contract, "unsupported_media_type")
        for weight, kind in ((QUICK, "text/plain"), (STANDARD, "application/xml")):
            yield self._plan(
                weight, f"media type: {kind}", "media type", media, *at, body=text, media_type=kind
            )
        torn = allowed(self.contract, "malformed_gzip", "unsupported_content_encoding")
        headers = (("Content-Encoding", "gzip"),)
        yield self._plan(
            QUICK, "plain body called gzip", "gzip", torn, *at, body=text, headers=headers,
            need=("gzip",),
        )  # fmt: skip
        yield self._plan(
            STANDARD, "torn gzip", "gzip", torn, *at, body=gzip.compress(text, mtime=0)[:-12],
            headers=headers, need=("gzip",),
        )  # fmt: skip
        coding = allowed(self.contract, "unsupported_content_encoding")
        yield self._plan(
            QUICK, "unknown content coding", "coding", coding, *at, body=text,
            headers=(("Content-Encoding", "x-unknown"),),
        )  # fmt: skip
        yield from self._msgpack(at)
        large = allowed(self.contract, "body_too_large", "unsupported_content_encoding")
        yield self._plan(
            QUICK, f"body of {LARGE // MIB} MiB, as gzip", "size", large, *at,
            body=blown_up(text), headers=headers, facts={"bytes": LARGE}, need=("gzip",),
        )  # fmt: skip

    def _msgpack(self, at: tuple[str, ...]) -> Iterator[Weighted]:
        body = self.operation.request_body
        spelling = next((name for name in (body.content if body else ()) if "msgpack" in name), "")
        if spelling:
            torn = allowed(self.contract, "malformed_msgpack", "unsupported_media_type")
            data = encoded(self.good, spelling)
            yield self._plan(
                QUICK, "torn MessagePack", "MessagePack", torn, *at, body=data[: len(data) // 2],
                media_type=spelling, need=("msgpack",),
            )  # fmt: skip

    # ------------------------------------------------------------------ rules between parameters

    def requirements(self, quick: int = 2) -> Iterator[Weighted]:
        for number, (requirement, asked) in enumerate(breaking(self.asking, self.operation)):
            statuses = tuple(sorted({requirement.error.status, 400, 422}))
            yield self._plan(
                QUICK if number < quick else STANDARD, f"requirement: {requirement.id}",
                "requirement", statuses, "requestBody", asked=asked, meant="invalid",
                facts={"requirement": requirement.id},
            )  # fmt: skip

    def again(self) -> Iterator[Weighted]:
        """Plan for another operation what may well be another's code: all of it, but later."""
        kinds = (self.bodies(), self.dresses(), self.requirements(quick=0))
        for weighted in (one for kind in kinds for one in kind):
            yield replace(weighted, weight=max(STANDARD, weighted.weight))


def _of_no_operation(weighted: Weighted) -> Weighted:
    assert isinstance(weighted.item, Planned)
    return replace(weighted, item=replace(weighted.item, operation=None))


def blown_up(text: bytes) -> bytes:
    """Blow JSON up with white space, and press it together again.

    One MiB of white space is pressed, once, since every run makes these bodies: behind a full flush
    it is the same bytes wherever it stands.
    """
    compressor = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS)
    white, first = b" " * MIB, text.ljust(MIB)
    pressed = compressor.compress(first) + compressor.flush(zlib.Z_FULL_FLUSH)
    times = max(0, -((len(first) - LARGE) // MIB))
    pressed += (compressor.compress(white) + compressor.flush(zlib.Z_FULL_FLUSH)) * times
    check = zlib.crc32(first)
    for _ in range(times):
        check = zlib.crc32(white, check)
    size = len(first) + times * MIB
    return GZIP + pressed + compressor.flush() + struct.pack("<LL", check, size)
