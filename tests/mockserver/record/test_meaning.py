"""A request is known again by what it means, whoever sends it."""

import gzip
import json
from typing import Any

import ormsgpack
import pytest

from wafermock.mockserver.bounds import MOST_VALUES
from wafermock.mockserver.exchange import Request
from wafermock.mockserver.record import meaning
from wafermock.mockserver.record.meaning import SEARCHED, request_digest

BODY = {
    "model": "m",
    "messages": [{"role": "user", "content": "Hi"}],
    "temperature": 1.0,
    "stream": False,
    "seed": None,
}


def digest(
    body: Any = BODY, query: str = "", method: str = "POST", path: str = "/v1/x", **headers: str
) -> str:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return request_digest(Request(method, path, query, names, raw))


def test_it_does_not_change() -> None:
    assert digest() == "c0934619f24dac654b7b498ddf0e3b83"


@pytest.mark.parametrize(
    "other",
    [
        digest({**dict(reversed(BODY.items())), "temperature": 1}),
        digest(json.dumps(BODY, indent=4).encode(), content_type="Application/JSON; charset=utf-8"),
        digest({k: v for k, v in BODY.items() if k not in ("stream", "seed")}),
        digest(ormsgpack.packb(BODY), content_type="application/vnd.msgpack"),
        digest(gzip.compress(json.dumps(BODY).encode()), content_encoding="gzip"),
        digest(authorization="Bearer another", user_agent="another", x_stainless_retry_count="1"),
    ],
)
def test_spellings_mean_the_same(other: str) -> None:
    assert other == digest()


@pytest.mark.parametrize(
    "other",
    [
        digest({**BODY, "stream": True}),
        digest({**BODY, "model": "n"}),
        digest(query="a=1"),
        digest(method="GET"),
        digest(path="/v1/y"),
        digest(b""),
        digest(b"not json"),
    ],
)
def test_other_requests_mean_something_else(other: str) -> None:
    assert other != digest()


def test_the_order_of_parameters_means_nothing() -> None:
    assert digest(query="a=1&b=2") == digest(query="b=2&a=1")


def test_no_secret_is_in_it() -> None:
    def with_secret(key: str, mail: str) -> str:
        body = {**BODY, "user": mail, "metadata": {"api_key": key, "note": f"key {key}"}}
        return digest(body, query=f"api_key={key}", authorization=f"Bearer {key}")

    assert with_secret("key-one-1", "ada@a.org") == with_secret("key-two-two", "bob@b.org")
    raw = digest(b"mail ada@a.org", content_type="text/plain")
    assert raw == digest(b"mail bob@b.org", content_type="text/plain")


SECRETS = [b"csk-0123456789abcdef0", b"csk-9876543210fedcba9"]


def test_what_is_too_large_to_be_looked_through_is_known_by_its_bytes() -> None:
    """Hostile bodies of the size that a server takes would cost half a minute each."""
    for count, alike in ((10, True), (SEARCHED, False)):
        bodies = [b'{"' + secret + b"x" * count for secret in SECRETS]
        assert (digest(bodies[0]) == digest(bodies[1])) == alike
    many = [{"key": secret.decode(), "more": [{}] * MOST_VALUES} for secret in SECRETS]
    assert digest(many[0]) == digest(many[0])
    assert digest(many[0]) != digest(many[1])


def test_gigabytes_in_kilobytes_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(json.dumps(BODY).encode(), mtime=0)
    assert digest(packed, content_encoding="gzip") == digest()
    monkeypatch.setattr(meaning, "LARGEST", len(packed))
    assert digest(packed, content_encoding="gzip") != digest()
