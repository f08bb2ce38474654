"""The campaign of mutations: good requests with their bytes, headers or chunks changed."""

import gzip
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from wafermock.spec import Contract

from ..exchange import Meant, Sent
from ..generation.broken_json import WAYS, Broken
from ..generation.scene import Scene
from ..generation.source import Seeded, Source
from ..planned import JSON, Planned, Subject, encoded, plan, without_header
from .ordering import at_most, spread
from .possible import possible
from .telling import REFUSED, Tell, silent

CAMPAIGN = "mutations"

_MEDIA = (400, 415, 422)
_SIZES = (400, 413, 422)
_MANY = 100


@dataclass(frozen=True)
class Mutation:
    """A change of a good request. `statuses` are those that its answer may have; a success among
    them says that a server may also take it. `fault` is what the judge calls it.
    `head`: HTTP's own reader may refuse it, before it is known which operation is meant."""

    kind: str
    change: Callable[[Sent, Source], Sent | None]
    statuses: Sequence[int]
    fault: str
    meant: Meant = "broken"
    needs: tuple[str, ...] = ()
    head: bool = False


def mutations(
    contract: Contract,
    subject: Subject,
    seed: int = 0,
    count: int | None = None,
    tell: Tell = silent,
) -> Iterator[Planned]:
    """Plan mutations without end: every kind in every round, in another place each time.

    `tell` hears of operations for which no request can be made.
    """
    asked = possible(contract, subject.model, CAMPAIGN, tell)
    pairs = [(scene, mutation) for scene in asked for mutation in _mutations(scene)]
    return at_most(_rounds(pairs, subject, seed), count)


def _rounds(pairs: list[tuple[Scene, Mutation]], subject: Subject, seed: int) -> Iterator[Planned]:
    # What is wrong with bytes, headers and chunks takes turns, and so do the operations.
    order = list(spread(pairs, lambda pair: (pair[1].fault, pair[0].operation.id)))
    number = 0
    while order:
        made = 0
        for scene, mutation in order:
            planned = _planned(scene, mutation, subject, seed, number)
            if planned is not None:
                made += 1
                yield planned
        if not made:
            return
        number += 1


def _planned(
    scene: Scene, mutation: Mutation, subject: Subject, seed: int, number: int
) -> Planned | None:
    source = Seeded(CAMPAIGN, seed, scene.operation.id, mutation.kind, number)
    facts = {"fault": mutation.fault} if mutation.meant != "valid" else {}
    good = plan(
        scene.operation,
        scene.least,
        subject,
        campaign=CAMPAIGN,
        kind=mutation.kind,
        path_values=scene.path_values,
        meant=mutation.meant,
        statuses=mutation.statuses,
        tokens=scene.tokens(scene.least),
        needs=(*scene.needs(scene.least), *mutation.needs),
        facts={**facts, "head": True} if mutation.head else facts,
    )
    sent = mutation.change(good.sent, source)
    if sent is None:
        return None
    asked = scene.least if mutation.meant == "valid" else None
    return replace(good, sent=sent, asked=asked)


def _mutations(scene: Scene) -> list[Mutation]:
    content = scene.operation.request_body.content if scene.operation.request_body else {}
    msgpack = next((name for name in content if name.endswith("msgpack")), None)
    takes_members = {"temperature", "seed"} <= scene.properties.keys()
    return [
        *(_of_text(way) for way in WAYS if takes_members or not _adds_a_member(way)),
        *_OF_HEADERS,
        *_OF_CODING,
        *_OF_CHUNKS,
        *(_of_msgpack(msgpack) if msgpack else ()),
    ]


def _adds_a_member(way: Broken) -> bool:
    return way.source == "section 6" or way.kind in (
        "NaN", "Infinity", "leading zero", "plus sign", "hexadecimal number",
    )  # fmt: skip


def _of_text(way: Broken) -> Mutation:
    def change(sent: Sent, source: Source) -> Sent | None:
        body = way.make(sent.body, source)
        return None if body is None else replace(sent, body=body)

    statuses = _SIZES if way.kind == "deep nesting" else REFUSED
    return Mutation(way.kind, change, (200, *statuses) if way.tolerated else statuses, way.fault)


def _headed(*headers: tuple[str, str], without: str = "") -> Callable[[Sent, Source], Sent]:
    def change(sent: Sent, source: Source) -> Sent:
        rest = without_header(sent, without) if without else sent
        return replace(rest, headers=(*rest.headers, *headers))

    return change


def _typed(value: str) -> Callable[[Sent, Source], Sent]:
    return _headed(("Content-Type", value), without="Content-Type")


_OF_HEADERS = (
    Mutation(
        "no content type", _headed(without="Content-Type"), (200, *_MEDIA), "media type"
    ),
    Mutation("content type of text", _typed("text/plain"), _MEDIA, "media type"),
    Mutation("content type of XML", _typed("application/xml"), _MEDIA, "media type"),
    Mutation(
        "content type of a form", _typed("application/x-www-form-urlencoded"), _MEDIA, "media type"
    ),
    Mutation(
        "content type of parts without a boundary", _typed("multipart/form-data"), _MEDIA,
        "media type",
    ),
    Mutation("content type that is none", _typed("json"), _MEDIA, "media type"),
    Mutation("content type with a hole", _typed("application/"), _MEDIA, "media type"),
    Mutation(
        "charset UTF-16 over UTF-8", _typed("application/json; charset=utf-16"), (200, *_MEDIA),
        "media type",
    ),
    Mutation(
        "two content types", _headed(("Content-Type", "text/plain")), (200, *_MEDIA), "media type",
        head=True,
    ),
    Mutation("content type in capitals", _typed("Application/JSON"), (), "", "valid"),
    Mutation(
        "long header", _headed(("X-Padding", "x" * 16_000)), (200, 400, 431), "bytes", head=True
    ),
    Mutation(
        "many headers", _headed(*((f"X-Padding-{n}", "x") for n in range(_MANY))), (200, 400, 431),
        "bytes", head=True,
    ),
    Mutation("unknown header", _headed(("X-Unknown-Of-Wafermock", "1")), (), "", "valid"),
)  # fmt: skip


def _coded(coding: str, change: Callable[[bytes, Source], bytes]) -> Callable[[Sent, Source], Sent]:
    def changed(sent: Sent, source: Source) -> Sent:
        headers = (*sent.headers, ("Content-Encoding", coding))
        return replace(sent, body=change(sent.body, source), headers=headers)

    return changed


def _zipped(body: bytes) -> bytes:
    return gzip.compress(body, mtime=0)


def _flip(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]


def _cut(body: bytes, source: Source) -> bytes:
    zipped = _zipped(body)
    return zipped[: source.integer(1, len(zipped) - 1)]


_OF_CODING = (
    Mutation("gzip said, plain sent", _coded("gzip", lambda body, _: body), _MEDIA, "gzip"),
    Mutation("gzip cut off", _coded("gzip", _cut), _MEDIA, "gzip"),
    Mutation(
        "gzip with a wrong checksum",
        _coded("gzip", lambda body, _: _flip(zipped := _zipped(body), len(zipped) - 6)),
        _MEDIA,
        "gzip",
    ),
    Mutation(
        "gzip with junk behind",
        _coded("gzip", lambda body, _: _zipped(body) + b"junk"),
        (200, *_MEDIA),
        "gzip",
    ),
    Mutation("gzip of nothing", _coded("gzip", lambda *_: _zipped(b"")), _MEDIA, "gzip"),
    Mutation("unknown coding", _coded("wafermock", lambda body, _: body), _MEDIA, "coding"),
    Mutation("brotli said, plain sent", _coded("br", lambda body, _: body), _MEDIA, "coding"),
    Mutation("deflate said, plain sent", _coded("deflate", lambda body, _: body), _MEDIA, "coding"),
)


def _chunked(lengths: Callable[[bytes, Source], Sequence[int]]) -> Callable[[Sent, Source], Sent]:
    def change(sent: Sent, source: Source) -> Sent:
        return replace(sent, chunks=tuple(lengths(sent.body, source)))

    return change


def _odd(body: bytes, source: Source) -> list[int]:
    lengths: list[int] = []
    while sum(lengths) < len(body):
        lengths.append(source.integer(1, min(16, len(body) - sum(lengths))))
    return lengths


# Any cut is legal (RFC 9112, section 7.1): these requests are valid.
_OF_CHUNKS = (
    Mutation("chunks of a byte", _chunked(lambda body, _: [1] * len(body)), (), "", "valid"),
    Mutation("chunks of odd lengths", _chunked(_odd), (), "", "valid"),
    Mutation("one chunk", _chunked(lambda body, _: [len(body)]), (), "", "valid"),
)


def _of_msgpack(media_type: str) -> Iterator[Mutation]:
    """Break bodies in MessagePack, a type of the operation's own."""
    needs = ("msgpack",)

    def packed(change: Callable[[bytes, Source], bytes]) -> Callable[[Sent, Source], Sent]:
        def changed(sent: Sent, source: Source) -> Sent:
            import json

            body = change(encoded(json.loads(sent.body), media_type), source)
            return replace(_typed(media_type)(sent, source), body=body)

        return changed

    for kind, change in (
        ("truncated MessagePack", lambda b, source: b[: source.integer(1, len(b) - 1)]),
        ("junk behind MessagePack", lambda b, _: b + b"\xc0"),
        ("MessagePack of a reserved byte", lambda b, _: b"\xc1" + b),
    ):
        yield Mutation(kind, packed(change), _MEDIA, "MessagePack", needs=needs)
    yield Mutation(
        "JSON sent as MessagePack", _typed(media_type), _MEDIA, "MessagePack", needs=needs
    )

    def as_json(sent: Sent, source: Source) -> Sent:
        return _typed(JSON)(packed(lambda body, _: body)(sent, source), source)

    yield Mutation("MessagePack sent as JSON", as_json, _MEDIA, "JSON")
