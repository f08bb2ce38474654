"""Masking: what is written down of an exchange has no secret in it, in whatever form it stands.

A secret is known by its value: the key, and headers of the user's own that hold one. It is found in
texts and bytes as it is, percent-encoded, escaped as in JSON, as hexadecimal digits, and in Base64
wherever it begins there. What is not known by value is known by the name of its header: cookies.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from wafermock.reports.run import Finding, Part, Run, Traffic

from .exchange import Exchange, Headers, Received, Sent
from .http1_request import framing_headers
from .packing import GZIP, packed, unpacked
from .planned import Subject
from .secret_forms import LONGEST_FORM, SHORTEST, Forms, header_form, written

# What stands in place of a secret. It holds none: shorter than the shortest.
MASK = "***"
# So much of an answer's body is kept, in bytes.
KEPT = 16 * 1024
# The value of a header of the user's own is a secret from so many characters on, whatever its name:
# it comes from the environment. Shorter ones (`prod`, `team-a`) are words of other texts as well.
PRIVATE = 8

# Headers whose values are secrets, whoever sent them.
SECRET_HEADERS = frozenset({
    "authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key",
    "x-auth-token", "x-goog-api-key", "ocp-apim-subscription-key", "authentication-info",
    "proxy-authentication-info",
})  # fmt: skip


class Masking:
    """Takes known secrets out of texts, bytes and exchanges. Those shorter than four characters
    are no secrets: they are in every text, and to take them out would spoil it."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        whole = [secret for secret in secrets if len(secret) >= SHORTEST and secret.strip("*")]
        known = {form for secret in whole for form in written(secret)}
        self._known = sorted(known, key=lambda data: (-len(data), data))
        self._forms = Forms(self._known)
        self._longest = max((len(secret) for secret in self._known), default=0)
        self._windows = {
            secret[start : start + SHORTEST]
            for secret in self._known
            for start in range(len(secret) - SHORTEST + 1)
        }

    @classmethod
    def of(cls, subject: Subject) -> "Masking":
        """Return a masking of everything secret that goes along with a subject's requests."""
        secrets = [] if subject.api_key is None else [subject.api_key]
        for name, value in subject.headers:
            if name.lower() in SECRET_HEADERS or len(value) >= PRIVATE:
                secrets += [value, *_credentials(value), *_cookies(name, value)]
        return cls(secrets)

    # ------------------------------------------------------------------- texts and bytes

    def data(self, data: bytes) -> bytes:
        """Return bytes without the secrets in them."""
        return b"".join(self.pieces([data]))

    def text(self, text: str) -> str:
        """Return a text without the secrets in it."""
        if not self._known:
            return text
        data = text.encode("utf-8", "surrogatepass")
        masked = self.data(data)
        return text if masked == data else masked.decode("utf-8", "replace")

    def pieces(self, pieces: Sequence[bytes], *, cut: bool = False) -> list[bytes]:
        """Return pieces that make up one body without the secrets in it, also those that stand
        across the pieces. `cut`: the body may go on, with the rest of a secret too."""
        masked = list(pieces)
        # What stands round a secret may make up another when it is gone. Each turn is shorter.
        while spans := self._forms.spans(b"".join(masked)):
            masked = _without(masked, spans)
        if cut and (beginning := self._forms.beginning_at_end(b"".join(masked))):
            size = sum(map(len, masked))
            masked = _without(masked, [(size - beginning, size)])
        return masked

    # ------------------------------------------------------------------- parts of an exchange

    def request_headers(self, headers: Headers) -> Headers:
        """Return a request's headers. A made-up key is kept, as it is what the request is about,
        unless it has something in common with a real one."""
        return tuple((self.text(name), self._credential(name, value)) for name, value in headers)

    def _credential(self, name: str, value: str) -> str:
        masked = self.text(value)
        if name.lower() not in SECRET_HEADERS or not self._resembles(masked):
            return masked
        scheme, space, _ = masked.partition(" ")
        return f"{scheme} {MASK}" if space and not self._resembles(scheme) else MASK

    def _resembles(self, text: str) -> bool:
        data = header_form(text)
        return any(
            data[start : start + SHORTEST] in self._windows
            for start in range(len(data) - SHORTEST + 1)
        )

    def answer_headers(self, headers: Headers) -> Headers:
        """Return an answer's headers, without cookies and whatever else is somebody's secret."""
        return tuple(
            (self.text(name), MASK if name.lower() in SECRET_HEADERS else self.text(value))
            for name, value in headers
        )

    def body(self, body: bytes, coding: str) -> bytes:
        """Return the body of a request; `coding` is its Content-Encoding. It is the judge's own:
        what cannot be unpacked is broken on purpose."""
        meaning, _ = unpacked(body, coding)
        masked = self.data(meaning)
        return self.data(body) if masked == meaning else packed(masked, coding)

    def parts(self, received: Received) -> tuple[tuple[Part, ...], int]:
        """Return the first 16 KiB of an answer's body, and how many bytes are left out."""
        # What is looked at goes on behind what is kept: a secret may stand across the cut.
        looked = received.shortened(KEPT + LONGEST_FORM * self._longest).arrivals
        hidden = self._hidden_in(received)
        if hidden is not None:
            masked = [b"" for _ in looked[:-1]] + [hidden[:KEPT]]
            left, omitted = KEPT, max(0, len(hidden) - KEPT)
        else:
            masked = self.pieces([arrival.data for arrival in looked], cut=True)
            behind = max(0, sum(len(arrival.data) for arrival in looked) - KEPT)
            left, omitted = sum(map(len, masked)) - behind, max(0, received.size - KEPT)
        parts = []
        for arrival, data in zip(looked, masked, strict=True):
            if left > 0 and data:
                parts.append(Part(arrival.at, data[:left]))
                left -= len(data)
        return tuple(parts), omitted

    def _hidden_in(self, received: Received) -> bytes | None:
        """Return a compressed body without the secrets in what it means; None: there are none.

        What cannot be looked into to its end is kept as far as it can be: a secret may stand
        behind that.
        """
        coding = received.header("content-encoding") or ""
        if not coding and received.raw[:2] == GZIP:
            coding = "gzip"
        if not (coding and self._known):
            return None
        meaning, whole = unpacked(received.raw, coding)
        masked = self.pieces([meaning], cut=True)[0]
        return None if masked == meaning and whole else packed(masked, coding)

    # ------------------------------------------------------------------- what is written down

    def traffic(self, exchange: Exchange) -> Traffic:
        """Return what is written down of an exchange: bounded, and with no secret in it."""
        sent, purpose = exchange.sent, exchange.purpose
        traffic = Traffic(
            self.text(exchange.id),
            self.text(purpose.campaign),
            self.text(purpose.kind),
            self.text(sent.method),
            self.text(sent.target),
            self.request_headers((*sent.headers, *_told(sent))),
            self.body(sent.body, sent.header("content-encoding") or ""),
            error=self.text(exchange.error),
            http=sent.http,
            chunks=sent.chunks or (),
            meant=purpose.meant,
            statuses=purpose.statuses,
            facts=dict(purpose.facts),
        )
        if exchange.received is None:
            return traffic
        return self._with_answer(traffic, exchange.received)

    def _with_answer(self, traffic: Traffic, received: Received) -> Traffic:
        parts, omitted = self.parts(received)
        return replace(
            traffic,
            status=received.status,
            reason=self.text(received.reason),
            headers=self.answer_headers(received.headers),
            parts=parts,
            ended=received.ended,
            error=self.text(received.framing_fault),
            omitted=omitted,
        )

    def run(self, run: Run) -> Run:
        """Return a run with no secret in any of its texts (its findings are masked already)."""
        findings = run.findings
        masked: Run = self._everywhere(replace(run, findings=()))
        return replace(masked, findings=findings)

    def _everywhere(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, tuple | list):
            return type(value)(map(self._everywhere, value))
        if isinstance(value, Mapping):
            return {self.text(key): self._everywhere(item) for key, item in value.items()}
        if is_dataclass(value) and not isinstance(value, type):
            parts = {
                part.name: self._everywhere(getattr(value, part.name)) for part in fields(value)
            }
            return replace(value, **parts)
        return value

    def finding(self, finding: Finding) -> Finding:
        """Return a finding whose texts have no secret in them (its traffic is masked already)."""
        return replace(
            finding,
            location=self.text(finding.location),
            kind=self.text(finding.kind),
            where=self.text(finding.where),
            expected=self.text(finding.expected),
            actual=self.text(finding.actual),
            curl=self.text(finding.curl),
            python=self.text(finding.python),
        )


def _told(sent: Sent) -> Headers:
    """Return the headers that tell how a body went out; its length tells itself."""
    return tuple((name, value) for name, value in framing_headers(sent) if name != "Content-Length")


def _credentials(value: str) -> list[str]:
    """Return what stands behind the scheme of an `Authorization`, and what its Base64 says."""
    _, space, said = value.partition(" ")
    if not space:
        return []
    found = [said.strip()]
    try:
        plain = base64.b64decode(said.strip(), validate=True).decode("utf-8")
    except ValueError:
        return found
    return [*found, plain, plain.partition(":")[2]]


def _cookies(name: str, value: str) -> list[str]:
    if name.lower() != "cookie":
        return []
    return [pair.partition("=")[2].strip().strip('"') for pair in value.split(";")]


# ------------------------------------------------------------------------------- pieces


def _without(pieces: Sequence[bytes], spans: Sequence[tuple[int, int]]) -> list[bytes]:
    """Return pieces with a mask where each span begins, and nothing in the rest of it."""
    changed, start = [], 0
    for piece in pieces:
        end, at, kept = start + len(piece), start, b""
        for first, last in spans:
            if last <= at or first >= end:
                continue
            kept += piece[at - start : max(first - start, at - start)]
            kept += MASK.encode() if first >= start else b""
            at = min(last, end)
        changed.append(kept + piece[at - start :])
        start = end
    return changed
