"""Base URLs, certificates, and redirects."""

from pathlib import Path

import pytest

from wafermock.conformance.endpoint import ANY_KEY, Endpoint, EndpointError, key_of
from wafermock.conformance.exchange import Received


@pytest.mark.parametrize(
    ("url", "host", "port", "base", "authority"),
    [
        ("http://127.0.0.1:4010", "127.0.0.1", 4010, "", "127.0.0.1:4010"),
        ("http://a.test/", "a.test", 80, "", "a.test"),
        ("HTTPS://A.test:443", "a.test", 443, "", "a.test"),
        ("https://a.test:80/", "a.test", 80, "", "a.test:80"),
        ("http://a.test/v1", "a.test", 80, "", "a.test"),
        ("http://a.test/v1/", "a.test", 80, "", "a.test"),
        ("http://a.test/x/v1", "a.test", 80, "/x", "a.test"),
        ("http://a.test/x/y/", "a.test", 80, "/x/y", "a.test"),
        ("http://a.test/v1/v1", "a.test", 80, "/v1", "a.test"),
        ("http://a.test/xv1", "a.test", 80, "/xv1", "a.test"),
        ("http://[::1]:8080/v1", "::1", 8080, "", "[::1]:8080"),
        ("https://bücher.test", "xn--bcher-kva.test", 443, "", "xn--bcher-kva.test"),
    ],
)
def test_base_urls(url: str, host: str, port: int, base: str, authority: str) -> None:
    endpoint = Endpoint.at(url)
    assert (endpoint.host, endpoint.port, endpoint.base_path) == (host, port, base)
    assert endpoint.authority == authority
    assert endpoint.url == f"{endpoint.scheme}://{authority}{base}"
    assert Endpoint.at(endpoint.url) == endpoint or base == "/v1"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "neither http"),
        ("localhost:4010", "neither http"),
        ("ftp://a.test", "neither http"),
        ("http://", "names no host"),
        ("http:///v1", "names no host"),
        ("http://a.test:99999", "no base URL"),
        ("http://a.test:x", "no base URL"),
        ("http://a.test:0", "port 0"),
        ("http://[::1", "no base URL"),
        ("http://a b.test", "no name of a host"),
        ("http://a.test/a b", "percent-encoded"),
        ("http://a.test/?x=1", "no query"),
        ("http://a.test/v1/chat/completions", "name the base URL, as http://a.test$"),
        ("http://a.test:81/api/v1/completions/", "name the base URL, as http://a.test:81/api$"),
        ("http://a.test/#x", "no query and no fragment"),
        ("http://" + "é" * 80 + ".test", "no name of a host"),
    ],
)
def test_what_is_no_base_url(url: str, says: str) -> None:
    with pytest.raises(EndpointError, match=says):
        Endpoint.at(url)


@pytest.mark.parametrize("url", ["http://u:csk-secret@a.test", "http://csk-secret@a.test"])
def test_a_key_in_the_url_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(EndpointError, match="--api-key-env") as caught:
        Endpoint.at(url)
    assert "csk-secret" not in str(caught.value)


def test_files_of_certificates_that_cannot_be_used(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing")
    for name, says in (("missing.pem", "No such file"), ("empty.pem", "no certificate in PEM")):
        endpoint = Endpoint.at("https://a.test", ca_file=str(tmp_path / name))
        with pytest.raises(EndpointError, match=f"{name}: .*{says}"):
            endpoint.tls()
    with pytest.raises(EndpointError, match="it is http"):
        Endpoint.at("http://a.test", insecure=True)


@pytest.mark.parametrize(
    ("status", "location", "note"),
    [
        (302, "/login", ""),
        (302, "http://a.test/x", ""),
        (302, "http://a.test:80/x", ""),
        (200, "http://b.test/", ""),
        (302, None, ""),
        (302, "//b.test/x", "http://b.test"),
        (308, "https://a.test/v1/x", "https://a.test"),
        (301, "http://a.test:81/", "http://a.test:81"),
        (301, "http://user:csk-1@b.test/?k=csk-1", "http://b.test"),
        (301, "http://[", "no URL"),
        (301, "http://b.test:x/", "no URL"),
    ],
)
def test_redirects_elsewhere_are_told(status: int, location: str | None, note: str) -> None:
    headers = () if location is None else (("Location", location),)
    said = Endpoint.at("http://a.test/").elsewhere(Received(status, headers=headers), "/v1/x")
    assert note in said
    assert bool(note) == bool(said)
    assert "csk-1" not in said


def test_the_key_that_is_sent() -> None:
    """A made-up key is for servers of this machine: it goes to nobody else."""
    here, there = Endpoint.at("http://127.0.0.1:4010"), Endpoint.at("https://api.example.test")
    assert key_of(here, None, {}) == ANY_KEY
    assert key_of(Endpoint.at("http://[::1]:1"), None, {}) == ANY_KEY
    assert key_of(there, None, {}) is None
    assert key_of(there, "KEY", {"KEY": " secret "}) == "secret"
    for environ in ({}, {"KEY": " "}):
        with pytest.raises(EndpointError, match="--api-key-env KEY"):
            key_of(there, "KEY", environ)
