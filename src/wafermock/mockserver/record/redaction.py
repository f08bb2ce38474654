"""Taking secrets out of texts, headers, queries and bodies, and leaving every other byte alone.

Three things are secrets: what stands under a name that holds secrets, what has the form of one
(both from `secrets.yaml`), and what was seen as one before: a key that a request carried is taken
out wherever it shows up again, in Base64 and percent-encoded too.
"""

import base64
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import quote, unquote

from msgspec import Struct

from wafermock.spec.media_type import essence

from ..exchange import Request
from .catalogue import REDACTED, Catalogue, Pattern, catalogue
from .json_text import Anatomy, Leaf, anatomy, indices, literal, looks_like_json
from .spans import Span, applied, applied_to_pieces, distributed, in_bytes, merged

# Shorter values are words of their own: to take `test` out of everything would spoil the record.
SHORTEST = 6
# JSON in a text of JSON in a text of JSON: arguments of calls nest like that, not much deeper.
DEEPEST = 4


# Of secrets that stand wall to wall one may show only when the other is gone.
PASSES = 8


class Redactor:
    """Takes secrets out. `patterns` come on top of the catalogue's, `known` are secrets as such."""

    def __init__(self, patterns: Sequence[Pattern] = (), known: Iterable[str] = ()) -> None:
        self._catalogue: Catalogue = catalogue()
        self._own = tuple(patterns)
        self._known = frozenset(secret for secret in known if len(secret) >= SHORTEST)
        self._literals = _literals(self._known)

    def knowing(self, secrets: Iterable[str]) -> "Redactor":
        """Return a redactor that knows more secrets as such; itself, if it knows them all."""
        more = frozenset(secret for secret in secrets if len(secret) >= SHORTEST)
        if more <= self._known:
            return self
        return Redactor(self._own, self._known | more)

    # ------------------------------------------------------------------ texts

    def text(self, text: str) -> str:
        """Return a text without the secrets in it. JSON in it stays JSON."""
        if len(text) < SHORTEST and not self._own:
            return text
        for _ in range(PASSES):
            spans = self.spans(text)
            if not spans:
                break
            text = applied(spans, text)
        return text

    def spans(self, text: str, depth: int = 0) -> list[Span]:
        """Find the secrets of a text; the spans are in order and do not overlap."""
        if depth < DEEPEST and looks_like_json(text):
            return merged(self._in_json([(0, text)], depth), self._in_plain(text))
        return self._in_plain(text)

    def _in_plain(self, text: str) -> list[Span]:
        found = self._by_form(text)
        return merged(found, list(self._in_base64(text)))

    def _in_base64(self, text: str) -> Iterator[Span]:
        """Find Base64 (RFC 4648) that says a secret: `Basic` credentials, say."""
        for match in _BASE64.finditer(text):
            said = _from_base64(match[0])
            if said is not None and (hidden := applied(self._by_form(said), said)) != said:
                written = base64.b64encode(hidden.encode("utf-8", "surrogateescape")).decode()
                yield Span(*match.span(), written)

    def _by_form(self, text: str) -> list[Span]:
        found = []
        if self._literals:
            found += [Span(*m.span(), REDACTED) for m in self._literals.finditer(text)]
        lowered = text.lower()
        for pattern in (*self._own, *self._catalogue.patterns):
            if pattern.may_stand_in(lowered):
                found += [Span(*place, pattern.replacement) for place in pattern.places(text)]
        return merged(found)

    def _cut_short(self, text: str) -> list[Span]:
        """Find a known secret whose beginning is the end of a body that was cut there."""
        longest = max(
            (
                length
                for secret in self._known
                for length in range(SHORTEST, min(len(secret), len(text) + 1))
                if text.endswith(secret[:length])
            ),
            default=0,
        )
        return [Span(len(text) - longest, len(text), REDACTED)] if longest else []

    # ------------------------------------------------------------------ data

    def data(self, value: Any, member: str = "") -> Any:
        """Return JSON data without secrets; `member` is the name that the value stands under."""
        if isinstance(value, dict):
            return {self.text(name): self.data(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self.data(item, member) for item in value]
        is_secret = self._catalogue.is_secret_member(member)
        if isinstance(value, str):
            return (value and REDACTED) if is_secret else self.text(value)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return 0 if is_secret and is_number else value

    # ------------------------------------------------------------------ JSON

    def _in_json(self, documents: Sequence[tuple[int, str]], depth: int) -> list[Span]:
        """Find the secrets of JSON texts that tell one story, each with its place in the whole.

        The chunks of a stream are such texts. What is said piece by piece under the same path is
        read as one text, so that a secret is found though no single chunk holds all of it.
        """
        found: list[Span] = []
        told: dict[tuple[object, ...], list[tuple[_Part, Leaf]]] = {}
        for offset, text in documents:
            part = _Part(offset, text, anatomy(text))
            numbers = indices(part.anatomy)
            for leaf in part.anatomy.leaves:
                if leaf.is_number or self._is_secret(leaf):
                    found += self._hidden(part, leaf)
                elif leaf.is_name:
                    found += part.replaced(
                        leaf, applied(self.spans(leaf.value, DEEPEST), leaf.value)
                    )
                else:
                    told.setdefault(_story(leaf, numbers), []).append((part, leaf))
        for fragments in told.values():
            found += self._in_story(fragments, depth)
        return merged(found)

    def _is_secret(self, leaf: Leaf) -> bool:
        return not leaf.is_name and self._catalogue.is_secret_member(leaf.member)

    def _hidden(self, part: "_Part", leaf: Leaf) -> list[Span]:
        if not self._is_secret(leaf):
            return []
        if leaf.is_number:
            return [Span(part.offset + leaf.start, part.offset + leaf.end, "0")]
        return part.replaced(leaf, leaf.value and REDACTED)

    def _in_story(self, fragments: "list[tuple[_Part, Leaf]]", depth: int) -> Iterator[Span]:
        texts = [leaf.value for _, leaf in fragments]
        part, leaf = fragments[0]
        if len(fragments) == 1 and part.is_as_said(leaf) and not leaf.is_token:
            return  # what is found in the text as it stands is found here
        if len(set(texts)) == 1:  # said again, not said on: an id
            value = applied(self.spans(texts[0], depth + 1), texts[0])
            values = [value] * len(texts)
        else:
            values = distributed(self.spans("".join(texts), depth + 1), texts)
        for (part, leaf), before, after in zip(fragments, texts, values, strict=True):
            if before != after:
                yield from part.replaced(leaf, after)
                yield from part.without_bytes(leaf)

    # ------------------------------------------------------------------ bodies

    def pieces(self, pieces: Sequence[bytes], content_type: str = "") -> list[bytes]:
        """Return the pieces of a body, which is not compressed, without the secrets in it."""
        hidden = list(pieces)
        for _ in range(PASSES):
            spans = self.body_spans(b"".join(hidden), content_type)
            if not spans:
                break
            hidden = applied_to_pieces(spans, hidden)
        return hidden

    def body_spans(self, body: bytes, content_type: str = "") -> list[Span]:
        """Find the secrets of a body; the spans count bytes."""
        text = _as_text(body)
        if text is None:
            return self._in_binary(body)
        kind = essence(content_type)
        if kind == "text/event-stream":
            documents = list(data_lines(text))
            found = merged(self._in_json(documents, 0), self._in_plain(text))
        elif kind == "application/x-www-form-urlencoded":
            hidden = self.query(text)
            found = [Span(0, len(text), hidden)] if hidden != text else []
        elif kind.endswith(("jsonl", "ndjson", "json-seq")):
            lines = [(m.start(), m[0]) for m in _LINE.finditer(text)]
            found = merged(self._in_json(lines, 0), self._in_plain(text))
        else:
            found = self.spans(text)
        return in_bytes(merged(found, self._cut_short(text)), text)

    def _in_binary(self, body: bytes) -> list[Span]:
        """Look through what `strings` would show: elsewhere every `@` would be an address."""
        found = []
        for match in _PRINTABLE.finditer(body):
            at = match.start()
            for start, end, replacement in self._in_plain(match[0].decode("ascii")):
                found.append(Span(at + start, at + end, replacement))
        return found

    # ------------------------------------------------------------------ headers, query, path

    def header(self, name: str, value: str) -> str:
        """Return a header's value without secrets."""
        if not self._catalogue.is_secret_header(name):
            return self.text(value)
        scheme, blank, _ = value.partition(" ")
        return f"{scheme} {REDACTED}" if blank and scheme.isalpha() else REDACTED

    def query(self, query: str) -> str:
        """Return a query string without secrets, other parameters as they were spelled."""
        return "&".join(map(self._parameter, query.split("&")))

    def _parameter(self, pair: str) -> str:
        name, equals, value = pair.partition("=")
        said = unquote(value.replace("+", " "))
        if equals and self._catalogue.is_secret_parameter(unquote(name)):
            return f"{name}={REDACTED}"
        hidden = self.text(said)
        if hidden != said:
            value = quote(hidden, safe="")
        said = unquote(name)
        hidden = self.text(said)
        return f"{name if hidden == said else quote(hidden, safe='')}{equals}{value}"

    def path(self, path: str) -> str:
        """Return a percent-encoded path without secrets."""
        return "/".join(map(self._step, path.split("/")))

    def _step(self, step: str) -> str:
        said = unquote(step)
        hidden = self.text(said)
        return step if hidden == said else quote(hidden, safe="@")


class _Part(Struct, frozen=True):
    """One of several JSON texts, and its place in the whole."""

    offset: int
    text: str
    anatomy: Anatomy

    def is_as_said(self, leaf: Leaf) -> bool:
        """Whether a leaf stands there as it reads, without escapes."""
        return "\\" not in self.text[leaf.start : leaf.end]

    def replaced(self, leaf: Leaf, value: str) -> list[Span]:
        if value == leaf.value:
            return []
        written = literal(value, self.text[leaf.start : leaf.end])
        return [Span(self.offset + leaf.start, self.offset + leaf.end, written)]

    def without_bytes(self, leaf: Leaf) -> Iterator[Span]:
        """Empty what says a token again: its bytes and the tokens that could have stood there."""
        if not leaf.is_token:
            return
        if leaf.path[-1] == "token":
            places = [((*leaf.path[:-1], n), "[]") for n in ("bytes", "top_logprobs")]
        else:
            places = [((*leaf.path[:-2], "top_logprobs", leaf.path[-1]), "{}")]
        for path, empty in places:
            if path in self.anatomy.containers:
                start, end = self.anatomy.containers[path]
                yield Span(self.offset + start, self.offset + end, empty)


def _story(leaf: Leaf, numbers: dict[tuple[str | int, ...], int]) -> tuple[object, ...]:
    """Name the text that a fragment belongs to.

    Elements of an array are told apart by the `index` they give themselves, else by their place.
    Tokens in a row are one text.
    """
    path = leaf.path
    last_array = max((n for n, step in enumerate(path) if isinstance(step, int)), default=-1)
    steps: list[object] = []
    for n, step in enumerate(path):
        number = numbers.get(path[: n + 1]) if isinstance(step, int) else None
        if number is not None:
            steps.append(("index", number))
        else:
            steps.append("*" if leaf.is_token and n == last_array else step)
    return tuple(steps)


# ---------------------------------------------------------------------- reading

_LINE = re.compile("[^\r\n]+")
_PRINTABLE = re.compile(rb"[\x20-\x7e]{12,}")
# Longer Base64 is a file. Four thousand letters are three thousand bytes.
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{12,4096}={0,2}(?![A-Za-z0-9+/_=-])")
_DATA = re.compile(r"^(data:?[ ]?)([^\r\n]*)", re.MULTILINE)


def data_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the data of each line of an event stream that has some, with its place."""
    at = 0
    for line in re.split("(\r\n|\r|\n)", text):
        match = _DATA.match(line)
        if match and match[2]:
            yield at + match.start(2), match[2]
        at += len(line)


def _as_text(body: bytes) -> str | None:
    """Read a body as UTF-8, its last character perhaps cut; None for what is no text."""
    if b"\0" in body:
        return None
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(body) - 3:
            return None
    return body.decode("utf-8", "surrogateescape")


def _from_base64(written: str) -> str | None:
    """Return what Base64 says where that is text."""
    plain = written.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        said = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True).decode("utf-8")
    except ValueError:
        return None
    return said if said.isprintable() else None


def _literals(known: Iterable[str]) -> re.Pattern[str] | None:
    """Make the expression of known secrets in every spelling that they may come back in."""
    spellings = {spelling for secret in known for spelling in _spellings(secret)}
    if not spellings:
        return None
    longest_first = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))
    return re.compile("|".join(map(re.escape, longest_first)))


def _spellings(secret: str) -> Iterator[str]:
    yield secret
    yield quote(secret, safe="")
    yield quote(secret)
    raw = secret.encode("utf-8", "surrogateescape")
    for shift in range(3):  # where a secret begins among the bytes that Base64 takes by three
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            written = encode(b"\0" * shift + raw).decode().rstrip("=")
            cut = None if (shift + len(raw)) % 3 == 0 else -1
            inner = written[(0, 2, 3)[shift] : cut]
            if len(inner) >= SHORTEST:
                yield inner


def secrets_in_headers(headers: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return what headers hold under names of secrets: keys, cookies, users and passwords."""
    known = catalogue()
    found: set[str] = set()
    for name, value in headers:
        if known.is_secret_header(name):
            found |= _secrets_in(name.lower(), value.strip())
    return frozenset(secret for secret in found if len(secret) >= SHORTEST)


def secrets_of(request: Request) -> frozenset[str]:
    """Return what a request carries under such names, in its headers and its query."""
    found = set(secrets_in_headers(request.headers.items()))
    for pair in request.query.split("&"):
        name, _, value = pair.partition("=")
        if catalogue().is_secret_parameter(unquote(name)):
            found |= {value, unquote(value.replace("+", " "))}
    return frozenset(secret for secret in found if len(secret) >= SHORTEST)


def secrets_in_data(value: Any, member: str = "") -> frozenset[str]:
    """Return what JSON data holds under such names."""
    if isinstance(value, dict):
        return frozenset().union(*(secrets_in_data(item, name) for name, item in value.items()))
    if isinstance(value, list):
        return frozenset().union(*(secrets_in_data(item, member) for item in value))
    is_secret = isinstance(value, str) and catalogue().is_secret_member(member)
    return frozenset([value]) if is_secret else frozenset()


def _secrets_in(name: str, value: str) -> set[str]:
    if name == "cookie":
        return {part.partition("=")[2].strip().strip('"') for part in value.split(";")}
    if name == "set-cookie":
        return {value.partition(";")[0].partition("=")[2].strip().strip('"')}
    scheme, blank, rest = value.partition(" ")
    if not (blank and scheme.isalpha()):
        return {value}
    found = {rest.strip()}
    if scheme.lower() == "basic" and (said := _from_base64(rest.strip())) is not None:
        found |= {said, *said.split(":", 1)}
    return found
