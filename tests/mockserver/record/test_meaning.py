"""A request is known again by what it means, whoever sends it."""

import gzip
import json
from typing import Any

import ormsgpack
import pytest

from wafermock.mockserver.exchange import Request
from wafermock.mockserver.record.meaning import request_digest

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
