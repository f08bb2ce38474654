"""The same request in every dress that the contract and HTTP have."""

import gzip
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from wafermock.spec import Contract, Operation

from ..exchange import Sent
from ..planned import Planned, PlannedProbe, Subject, encoded, plan, pointer
from .asking import QUICK, STANDARD, Asking, Weighted, cost, needs

CAMPAIGN = "encoding"


def encoding_probes(contract: Contract, subject: Subject, seed: int = 0) -> Iterator[Weighted]:
    """Plan the probes of an encoding each: what a rule of ENCODING compares."""
    asking = Asking(contract, subject, seed)
    for operation in asking.completing:
        weight = QUICK if operation is asking.main else STANDARD
        dressed = _Dressed(asking, operation)
        yield Weighted(weight, dressed.http())
        yield Weighted(weight, dressed.gzip())
        if dressed.spellings:
            yield Weighted(weight, dressed.msgpack())
        yield Weighted(weight, dressed.http2())


class _Dressed:
    def __init__(self, asking: Asking, operation: Operation) -> None:
        self.asking = asking
        self.operation = operation
        self.asked = asking.body(operation)
        self.text = encoded(self.asked)

    @property
    def spellings(self) -> list[str]:
        """The media types of MessagePack that the operation takes."""
        body = self.operation.request_body
        return [name for name in (body.content if body else ()) if "msgpack" in name]

    def http(self) -> PlannedProbe:
        size = len(self.text)
        first = size // 3
        roles = {
            "plain": self._plan("plain"),
            "chunked": self._plan("chunked", chunks=(1, first, size - first - 1)),
            "expect": self._plan("expect", expect_continue=True),
            "charset": self._plan("charset", media_type="application/json; charset=utf-8"),
            "accept gzip": self._plan("accept gzip", headers=(("Accept-Encoding", "gzip"),)),
            "accept identity": self._plan(
                "accept identity", headers=(("Accept-Encoding", "identity"),)
            ),
        }
        return self._probe("encoding", roles)

    def gzip(self) -> PlannedProbe:
        roles = {"plain": self._plan("plain"), "gzip": self._plan("gzip", gzipped=True)}
        return self._probe("gzip", roles, "gzip")

    def msgpack(self) -> PlannedProbe:
        roles = {"plain": self._plan("plain")}
        for name in self.spellings:
            roles[name] = self._plan(name, media_type=name)
        first = self.spellings[0]
        packed = gzip.compress(encoded(self.asked, first), mtime=0)
        coded = (("Content-Encoding", "gzip"),)
        roles["gzip"] = self._plan(f"{first}, gzip", media_type=first, body=packed, headers=coded)
        return self._probe("msgpack", roles, "msgpack")

    def http2(self) -> PlannedProbe:
        roles = {"plain": self._plan("plain"), "http2": self._plan("http2", http="2")}
        return self._probe("http2", roles, "http2")

    def _probe(self, name: str, roles: dict[str, Planned], *need: str) -> PlannedProbe:
        return PlannedProbe(name, roles, needs=(*needs(self.operation), *need))

    def _plan(
        self,
        kind: str,
        *,
        body: bytes | None = None,
        media_type: str = "application/json",
        gzipped: bool = False,
        headers: tuple[tuple[str, str], ...] = (),
        **sent: Any,
    ) -> Planned:
        def change(made: Sent) -> Sent:
            return replace(made, **sent)

        return plan(
            self.operation,
            self.asked,
            self.asking.subject,
            campaign=CAMPAIGN,
            kind=kind,
            location=pointer(self.operation, "requestBody", "content", media_type),
            body=body,
            media_type=media_type,
            gzipped=gzipped,
            headers=headers,
            tokens=cost(self.asked),
            change=change,
        )
