"""Who may ask: this machine's own programs and page, and no page of another site."""

from typing import Any

import pytest

from wafermock.mockserver.control.guard import Guard, allowed

HOST = {"host": "127.0.0.1:4010"}
SAME = {**HOST, "origin": "http://127.0.0.1:4010", "sec-fetch-site": "same-origin"}


@pytest.mark.parametrize("remote", ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1", "::1%lo"])
def test_loopback(remote: str) -> None:
    assert allowed(remote)


@pytest.mark.parametrize(
    "remote", ["10.0.0.1", "::2", "::ffff:10.0.0.1", "", None, "localhost", "x"]
)
def test_not_loopback(remote: str | None) -> None:
    assert not allowed(remote)


@pytest.mark.parametrize(
    "headers",
    [
        HOST,
        SAME,
        {"host": "localhost:4010"},
        {"host": "LocalHost"},
        {"host": "[::1]:4010", "origin": "http://[::1]:4010"},
        {"host": "bench.localhost:4010"},
        {**HOST, "sec-fetch-site": "none"},
    ],
)
def test_may_pass(headers: dict[str, str]) -> None:
    assert Guard().refusal("127.0.0.1", headers) is None


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"host": "evil.example:4010"}, "DNS rebinding"),
        ({"host": "127.0.0.1.evil.example"}, "DNS rebinding"),
        ({"host": "localhost.evil.example"}, "DNS rebinding"),
        ({"host": "192.168.1.5:4010"}, "DNS rebinding"),
        ({"host": ""}, "DNS rebinding"),
        ({}, "DNS rebinding"),
        ({**HOST, "origin": "http://evil.example"}, "page of http://evil.example"),
        ({**HOST, "origin": "http://127.0.0.1:5000"}, "page of http://127.0.0.1:5000"),
        ({**HOST, "origin": "null"}, "page of null"),
        ({**HOST, "sec-fetch-site": "cross-site"}, "another site"),
        ({**HOST, "sec-fetch-site": "same-site"}, "another site"),
        ({**HOST, "x-forwarded-for": "203.0.113.9"}, "proxy"),
        ({**HOST, "forwarded": "for=203.0.113.9"}, "proxy"),
    ],
)
def test_may_not_pass(headers: dict[str, str], reason: str) -> None:
    assert reason in (Guard().refusal("127.0.0.1", headers) or "")


def test_another_machine_may_not() -> None:
    assert "this machine only" in (Guard().refusal("10.0.0.1", HOST) or "")


@pytest.mark.parametrize(
    ("host", "passes"),
    [
        ("192.168.1.5:4010", True),
        ("mock:4010", True),
        ("bench.lab.example", True),
        ("evil.example", False),
        ("mock.evil.example", False),
        ("-", False),
    ],
)
def test_another_machine_may_when_asked_by_a_name_nobody_can_rebind(
    host: str, passes: bool
) -> None:
    guard = Guard(anywhere=True, hosts={"bench.lab.example"})
    assert (guard.refusal("10.0.0.1", {"host": host}) is None) == passes


def test_even_then_no_page_of_another_site() -> None:
    headers = {"host": "10.0.0.2:4010", "origin": "http://evil.example"}
    assert Guard(anywhere=True).refusal("10.0.0.1", headers) is not None


def test_a_link_from_elsewhere_may_open_the_page_but_ask_nothing() -> None:
    link = {**HOST, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert Guard().refusal("127.0.0.1", link, opens_page=True) is None
    assert Guard().refusal("127.0.0.1", link) is not None
    frame: dict[str, Any] = {**link, "sec-fetch-mode": "no-cors"}
    assert Guard().refusal("127.0.0.1", frame, opens_page=True) is not None
