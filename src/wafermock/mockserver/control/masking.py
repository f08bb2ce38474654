"""Masking: what a call carries and nobody else may see.

Headers that are secrets lose their value whole. In texts, keys are found by the form that vendors
give them, and by the name of the member or parameter that holds them.
"""

import re
from collections.abc import Iterable, Mapping

MASK = "***"
_SHORTEST = 6

# RFC 9110 and RFC 6265 name the first four; the others are what gateways and clouds call theirs.
SECRET_HEADERS = frozenset(
    {
        "authorization", "proxy-authorization", "cookie", "set-cookie", "api-key", "x-api-key",
        "x-auth-token", "x-access-token", "x-amz-security-token", "x-csrf-token",
        "x-goog-api-key", "ocp-apim-subscription-key",
    }
)  # fmt: skip
_SECRET_NAME = re.compile(r"(?:^|[-_])(?:api[-_]?key|secret|token|password|passwd)$", re.IGNORECASE)

# `csk-` is a Cerebras key, `sk-` what most others call theirs; `eyJ` begins a JSON Web Token.
_KEY = re.compile(
    rb"\b(csk-|sk-(?:[a-z]+-)*|gsk_|hf_|ghp_|xox[abp]-|AIza|AKIA)[A-Za-z0-9_-]{12,}"
    rb"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+"
    rb"|\b(Bearer )[A-Za-z0-9._~+/-]{8,}=*"
)
_MEMBER = re.compile(
    rb'("(?:[a-z_-]*(?:api[_-]?key|access[_-]?token|secret|password|passwd)|authorization)"\s*:\s*)'
    rb'"(?:[^"\\]|\\.)+"',
    re.IGNORECASE,
)
# What stands in everything that the two take out.
_KEY_SIGNS = (b"sk-", b"gsk_", b"hf_", b"ghp_", b"xox", b"AIza", b"AKIA", b"eyJ", b"Bearer ")
_MEMBER_SIGNS = (
    b'key"', b'access_token"', b'access-token"', b'accesstoken"', b'secret"', b'password"',
    b'passwd"', b'authorization"',
)  # fmt: skip
_PARAMETER = re.compile(
    r"((?:^|[&?;])(?:[a-z_-]*(?:api[_-]?key|token|secret|password|signature)|key|sig)=)[^&;#]+",
    re.IGNORECASE,
)


def masked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers (names in lower case) without secrets. A scheme, `Bearer`, stays."""
    return {
        name: _masked_header(name, value)[0] if _is_secret(name) else value
        for name, value in headers.items()
    }


def secrets_in(headers: Mapping[str, str]) -> list[str]:
    """Return the secrets that stand in headers (names in lower case), without their schemes."""
    return [_masked_header(name, value)[1] for name, value in headers.items() if _is_secret(name)]


class Mask:
    """Takes keys out of texts: what looks like one, and `known` secrets wherever they stand."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        # Shorter values are words of their own: `test` would spoil every text it stands in.
        self._known = [secret.encode() for secret in known if len(secret) >= _SHORTEST]

    def bytes(self, raw: bytes) -> bytes:
        """Return a body without the keys in it."""
        for secret in self._known:
            raw = raw.replace(secret, MASK.encode())
        # Most bodies hold none: to look for a few words is a hundred times as fast as to match.
        if any(sign in raw for sign in _KEY_SIGNS):
            raw = _KEY.sub(lambda found: (found[1] or found[2] or b"") + MASK.encode(), raw)
        lowered = raw.lower()
        if any(sign in lowered for sign in _MEMBER_SIGNS):
            raw = _MEMBER.sub(rb'\1"***"', raw)
        return raw

    def text(self, text: str) -> str:
        """Return a text without the keys in it."""
        return self.bytes(text.encode("utf-8", "replace")).decode("utf-8", "replace")

    def query(self, query: str) -> str:
        """Return a query without the keys in it."""
        return _PARAMETER.sub(rf"\1{MASK}", self.text(query))


def _is_secret(name: str) -> bool:
    return name in SECRET_HEADERS or _SECRET_NAME.search(name) is not None


def _masked_header(name: str, value: str) -> tuple[str, str]:
    """Return what may be shown of a secret header, and the secret in it."""
    if name in ("cookie", "set-cookie"):
        return MASK, value
    scheme, blank, rest = value.partition(" ")
    return (f"{scheme} {MASK}", rest.strip()) if blank and scheme.isalpha() else (MASK, value)
