"""Rate limits: how much an account may ask for, and the headers that tell it.

The vendor's published page on rate limits: requests and tokens are counted a minute, an hour and a
day, by account and model, in token buckets that refill continuously; a request reserves its prompt
and the completion it may get, and whichever limit is passed first refuses it. On recorded answers
the `remaining` headers show the reservation, not what was used in the end: they are written before
the answer is (a stream's headers come first).
"""

import difflib
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from wafermock.spec.limits import LimitCatalogue, built_in

from .bucket import Bucket, Charge
from .clock import SECOND, Clock
from .refusal import Refusal

# How many accounts are kept apart, each with a model: some fifty megabytes. A client that sends
# another key each time shall not fill the memory.
MOST_ACCOUNTS = 16_384

_OWN = "a model's limits are a --limits of their own; give the option again for them"

_FACTORS = {"k": 1_000, "m": 1_000_000, "g": 1_000_000_000}
_LARGEST = 2**53 - 1  # every JSON reader, and so every client, keeps it exact


@dataclass(frozen=True)
class Limits:
    """The limits of an account, by the name of the quota: for all models, and for single ones.

    What a model does not say is as for all. None, and what nobody says, is unlimited. The
    `catalogue` says which quotas there are.
    """

    common: Mapping[str, int | None] = field(default_factory=dict)
    models: Mapping[str, Mapping[str, int | None]] = field(default_factory=dict)
    catalogue: LimitCatalogue = field(default_factory=built_in, compare=False, repr=False)

    def of(self, model: str) -> dict[str, int]:
        """Return what limits a model."""
        merged = {**self.common, **self.models.get(model, {})}
        return {name: limit for name, limit in merged.items() if limit is not None}


def parse_limits(texts: Iterable[str], catalogue: LimitCatalogue | None = None) -> Limits:
    """Read the values of `--limits`: `rpm=5,tpm=30K`, or for one model `gpt-oss-120b:rpm=5`.

    A limit is a whole number (`30000`, `30K`, `1M`) or `none`; the catalogue (default: the built-in
    one) says what can be limited. Raises ValueError with a sentence that names the option, the
    fault and what was meant.
    """
    catalogue = catalogue or built_in()
    names = tuple(quota.name for quota in catalogue.quotas)
    common: dict[str, int | None] = {}
    models: dict[str, dict[str, int | None]] = {}
    for text in texts:
        before, colon, _ = text.partition("=")[0].rpartition(":")
        model = before.strip()
        if colon and not model:
            raise _fault(text, "a model stands before the colon, as in gpt-oss-120b:rpm=5")
        if model.lower() in names:
            raise _fault(text, f"write {model.lower()}=5, with an equals sign")
        if "," in model:
            raise _fault(text, _OWN)
        target = models.setdefault(model, {}) if colon else common
        for item in text[len(before) + len(colon) :].split(","):
            name, limit = _parse_item(text, item.strip(), names)
            if name in target:
                raise _fault(text, f"{name} is given twice{f' for {model}' if colon else ''}")
            target[name] = limit
    return Limits(common, models, catalogue)


def _parse_item(text: str, item: str, names: tuple[str, ...]) -> tuple[str, int | None]:
    if ":" in item:
        raise _fault(text, _OWN)
    written, equals, value = (part.strip() for part in item.partition("="))
    name = written.lower()
    if name not in names and (equals or name[:3] not in names):
        close = difflib.get_close_matches(name, names, n=1)
        meant = f"; did you mean {close[0]}?" if close else ""
        raise _fault(text, f"there is no limit {written!r}{meant} (there are {', '.join(names)})")
    if not value:
        raise _fault(text, f"{item!r} lacks its number; write it as {name[:3]}=5")
    return name, _parse_number(text, name, value)


def _parse_number(text: str, name: str, value: str) -> int | None:
    if value.lower() == "none":
        return None
    factor = _FACTORS.get(value[-1].lower(), 1)
    try:
        number = Decimal(value[:-1] if factor > 1 else value) * factor
    except InvalidOperation:
        number = Decimal("NaN")
    if not (number.is_finite() and 0 <= number <= _LARGEST and number == int(number)):
        wanted = "a whole number from 0, as 30000, 30K or 1M, or none"
        raise _fault(text, f"{name}={value} is no limit; it can be {wanted}")
    return int(number)


def _fault(text: str, reason: str) -> ValueError:
    return ValueError(f"--limits {text}: {reason}")


def reservation(
    prompt_tokens: int, max_tokens: int | None, model: Mapping[str, Any], answers: int = 1
) -> int:
    """Return how many tokens a request reserves: its prompt, and the most it may get.

    `max_tokens` as the request has it: None where it says nothing (then the model's default
    counts), negative for all that the context leaves. `model` is an entry of the model catalogue,
    `answers` is how many completions are asked for.
    """
    room: int = max(model["context"]["paid"] - prompt_tokens, 0)
    if max_tokens is None:
        max_tokens = int(model["max_completion_tokens"]["default"])
    return prompt_tokens + answers * (room if max_tokens < 0 else min(max_tokens, room))


class Admission:
    """A request that may go on. `headers` are those of its answer.

    Settle it when the answer is known or given up: what was reserved and not used comes back.
    """

    def __init__(
        self, limiter: "Limiter", headers: dict[str, str], reserved: list[tuple[Bucket, Charge]]
    ) -> None:
        self.headers = headers
        self._limiter = limiter
        self._reserved = reserved

    def settle(self, tokens: int) -> None:
        """Say how many tokens were used, prompt and completion. Only the first call counts."""
        self._limiter._settle(self._reserved, tokens)


class Limiter:
    """Admits requests, or refuses them. Any thread may ask.

    Without limits it keeps nothing and admits everything; its headers are then those of a new
    account's first request, so they depend on the request alone. With `retry_after` a refusal says
    when the request would be admitted, which the API's own servers do not.
    """

    def __init__(self, limits: Limits, clock: Clock, *, retry_after: bool = False) -> None:
        self.limits = limits
        self.retry_after = retry_after
        self._quotas = limits.catalogue.quotas
        self._clock = clock
        self._lock = threading.Lock()
        self._accounts: dict[tuple[str, str], dict[str, Bucket]] = {}
        self._sweep_at = 1024

    @property
    def is_pure(self) -> bool:
        """Whether nothing is limited, so that headers depend on the request alone."""
        return not (self.limits.common or self.limits.models)

    def admit(self, account: str, model: str, tokens: int) -> Admission:
        """Let a request pass that reserves tokens. Raises Refusal where a limit forbids it.

        `account` is the API key, or whatever else tells accounts apart. A refused request takes
        nothing.
        """
        with self._lock:
            now = self._clock.nanoseconds()
            buckets = self._buckets(account, model, now)
            waits = {
                quota.name: buckets[quota.name].wait(quota.amount(tokens), now)
                for quota in self._quotas
                if quota.name in buckets
            }
            for quota in self._quotas:
                if waits.get(quota.name, 0) != 0:
                    headers = self._headers(buckets, now, None)
                    if self.retry_after:
                        headers |= _retry_after(waits.values())
                    raise Refusal(quota.error, headers=headers)
            reserved = []
            for quota in self._quotas:
                if bucket := buckets.get(quota.name):
                    own = quota.counted == "tokens"
                    charge = bucket.take(quota.amount(tokens), now, reserved=own)
                    if own:
                        reserved.append((bucket, charge))
            return Admission(self, self._headers(buckets, now, tokens), reserved)

    def headers(self, account: str, model: str) -> dict[str, str]:
        """Return the headers of an answer to what needs no admission, such as a refusal."""
        with self._lock:
            now = self._clock.nanoseconds()
            buckets = self._accounts.get((account, model)) or self._new(model, now)
            return self._headers(buckets, now, None)

    def _settle(self, reserved: Iterable[tuple[Bucket, Charge]], tokens: int) -> None:
        with self._lock:
            now = self._clock.nanoseconds()
            for bucket, charge in reserved:
                bucket.settle(charge, tokens, now)

    def _buckets(self, account: str, model: str, now: int) -> dict[str, Bucket]:
        key = (account, model)
        buckets = self._accounts.pop(key, None)
        if buckets is None:
            buckets = self._new(model, now)
            if buckets:
                self._sweep(now)
        if buckets:
            self._accounts[key] = buckets  # in the order in which they were last asked for
        return buckets

    def _new(self, model: str, now: int) -> dict[str, Bucket]:
        limits = self.limits.of(model)
        return {
            q.name: Bucket(limits[q.name], q.seconds, now) for q in self._quotas if q.name in limits
        }

    def _headers(
        self, buckets: Mapping[str, Bucket], now: int, tokens: int | None
    ) -> dict[str, str]:
        """Write the headers. `tokens` is what the request has reserved; None: not admitted."""
        catalogue = self.limits.catalogue
        return {**_generous(catalogue, tokens), **_shown(catalogue, buckets, now)}

    def _sweep(self, now: int) -> None:
        """Make room, now and then: forget accounts whose buckets are full, as good as new.

        Where that is not enough, those that have not asked for the longest are forgotten too.
        """
        if len(self._accounts) < self._sweep_at:
            return
        used = [
            (key, buckets)
            for key, buckets in self._accounts.items()
            if any(bucket.in_use(now) for bucket in buckets.values())
        ]
        self._accounts = dict(used[-MOST_ACCOUNTS // 2 :])
        self._sweep_at = max(1024, 2 * len(self._accounts))


@lru_cache(maxsize=1024)
def _generous(catalogue: LimitCatalogue, tokens: int | None) -> dict[str, str]:
    """Write the headers of a new account without limits after a request that reserved tokens."""
    buckets = {q.name: Bucket(catalogue.unlimited, q.seconds, 0) for q in catalogue.quotas}
    if tokens is not None:
        for quota in catalogue.quotas:
            buckets[quota.name].take(quota.amount(tokens), 0)
    return _shown(catalogue, buckets, 0)


def _shown(catalogue: LimitCatalogue, buckets: Mapping[str, Bucket], now: int) -> dict[str, str]:
    headers = {}
    for quota in catalogue.quotas:
        if bucket := buckets.get(quota.name):
            headers[quota.limit_header] = str(bucket.capacity)
            headers[quota.remaining_header] = str(bucket.remaining(now))
            if quota.reset_header is not None:
                headers[quota.reset_header] = _seconds(bucket.until_full(now))
    return headers


def _seconds(nanoseconds: int) -> str:
    """Write nanoseconds as seconds with a fraction, never as a power of ten: `11.38`, `60.0`."""
    whole, fraction = divmod(nanoseconds, SECOND)
    return f"{whole}.{f'{fraction:09d}'.rstrip('0') or '0'}"


def _retry_after(waits: Iterable[int | None]) -> dict[str, str]:
    """Say when all limits would admit the request; nothing where they never will.

    `retry-after` is in whole seconds (RFC 9110, section 10.2.3), `retry-after-ms` is what the
    official SDKs look for first; both are rounded up, so that the time is enough.
    """
    longest = 0
    for wait in waits:
        if wait is None:
            return {}
        longest = max(longest, wait)
    milliseconds = -(-longest // (SECOND // 1000))
    return {"retry-after": str(-(-longest // SECOND)), "retry-after-ms": str(milliseconds)}
