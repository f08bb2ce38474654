"""Who may ask: the security requirements of the contract against the headers of a request."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from wafermock.spec import Operation

from .refusal import Refusal

CHALLENGE = {"WWW-Authenticate": "Bearer"}  # RFC 9110, section 11.6.1


def authorise(
    operation: Operation,
    schemes: Mapping[str, Any],
    headers: Mapping[str, str],
    query: str,
    api_key: str | None,
) -> None:
    """Pass, or raise Refusal with the catalogue's error.

    Without `api_key` any credentials will do, as long as there are some.
    """
    if not operation.security or {} in operation.security:
        return
    refusals = []
    for requirement in operation.security:  # one of them is enough
        try:
            for name in requirement:
                _check(schemes.get(name, {}), headers, query, api_key)
        except Refusal as refusal:
            refusals.append(refusal)
        else:
            return
    raise refusals[0]


def _check(
    scheme: Mapping[str, Any], headers: Mapping[str, str], query: str, api_key: str | None
) -> None:
    if scheme.get("type") == "mutualTLS":
        return  # nothing of it shows in a request
    if scheme.get("type") == "apiKey":
        key = _api_key(scheme, headers, query)
        if not key:
            raise Refusal("missing_api_key")
    else:
        header = headers.get("authorization", "").strip()
        if not header:
            raise Refusal("missing_api_key", headers=CHALLENGE)
        kind, _, key = header.partition(" ")
        key = key.strip()
        wanted = str(scheme.get("scheme", "bearer")).lower()
        if kind.lower() != wanted or not key:
            raise Refusal("malformed_authorization", headers=CHALLENGE)
    if api_key is not None and key != api_key:
        raise Refusal("wrong_api_key", headers=CHALLENGE)


def _api_key(scheme: Mapping[str, Any], headers: Mapping[str, str], query: str) -> str:
    name = str(scheme.get("name", ""))
    if scheme.get("in") == "query":
        return parse_qs(query).get(name, [""])[0]
    if scheme.get("in") == "cookie":
        cookies = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
        return next((value for key, _, value in cookies if key == name), "")
    return headers.get(name.lower(), "")
