"""HEADERS: every rule is broken by its defects and by nothing legal."""

from typing import Any

import pytest

from wafermock.conformance.exchange import Probe, Sent
from wafermock.conformance.rule import Unsupported
from wafermock.conformance.rules.headers import is_date
from wafermock.mockserver.wire import DELIVERIES

from .judged import PROFILES, MockEndpoint, answer, broken, broken_in, run, verdict

DEFECTIVE: dict[str, set[str]] = {
    "no_request_id": {"HDR-REQUEST-ID"},
    "same_request_id": {"HDR-REQUEST-ID-OWN"},
    "inference_id": {"HDR-INFERENCE-ID"},
    "limit_exceeded": {"HDR-LIMIT-FITS"},
    "limit_not_a_number": {"HDR-LIMIT-NUMBER"},
    "limit_does_not_fall": {"HDR-LIMIT-FALLS"},
    "limit_reset_negative": {"HDR-LIMIT-RESET"},
    "limit_untold": {"HDR-LIMIT-TOLD"},
    "retry_after": {"HDR-RETRY-AFTER"},
    "cacheable": {"HDR-CACHE"},
    "cors": {"HDR-CORS"},
    "content_type_twice": {"HDR-CONTENT-TYPE-ONCE"},
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("defect", DEFECTIVE)
def test_a_defect_breaks_its_rules(defect: str, profile: str) -> None:
    tally = run(MockEndpoint(profile, [defect]), "headers", "capabilities")
    assert broken_in("HEADERS", tally) == DEFECTIVE[defect]


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("profile", PROFILES)
def test_what_is_legal_breaks_nothing_in_any_group(profile: str, delivery: str) -> None:
    assert broken(run(MockEndpoint(profile, delivery=delivery))) == {}


# ---------------------------------------------------------------------- one header


@pytest.mark.parametrize(
    ("value", "state"),
    [
        ("0", None), ("120", None), ("Sun, 06 Nov 1994 08:49:37 GMT", None),
        ("Sunday, 06-Nov-94 08:49:37 GMT", None), ("Sun Nov  6 08:49:37 1994", None),
        ("1.5", "WARN"), ("-1", "FAIL"), ("soon", "FAIL"), ("", "FAIL"), ("1e3", "FAIL"),
        ("Sun, 06 Nov 1994", "FAIL"), ("٣", "FAIL"),
    ],
)  # fmt: skip
def test_retry_after(value: str, state: str | None) -> None:
    found = verdict("HDR-RETRY-AFTER", answer(429, None, (("Retry-After", value),)))
    assert [breach.state or "FAIL" for breach in found] == ([state] if state else [])


@pytest.mark.parametrize(
    "text",
    ["", "now", "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 99 Foo 1994 99:99:99 GMT", "x" * 99],
)
def test_what_is_no_date(text: str) -> None:
    assert not is_date(text)
    assert len(verdict("HDR-DATE-FORM", answer(200, {}, (("Date", text),)))) == 1


def test_date_is_wanted() -> None:
    assert len(verdict("HDR-DATE", answer(200, {}))) == 1
    assert verdict("HDR-DATE", answer(200, {}, (("date", "whatever"),))) == []


@pytest.mark.parametrize(
    ("value", "method", "is_broken"),
    [
        ("no-store", "POST", False), ("public, no-store", "POST", False),
        ("private", "POST", False),
        ("max-age=0", "POST", False), ("max-age=60", "POST", True), ("public", "POST", True),
        ("private, max-age=60", "GET", False), ("public, max-age=60", "GET", True),
        ("s-maxage=5", "GET", True), ('max-age="60"', "POST", True), ("", "POST", False),
    ],
)  # fmt: skip
def test_caches(value: str, method: str, is_broken: bool) -> None:
    exchange = answer(200, {}, (("Cache-Control", value),), sent=Sent(method, "/v1/models"))
    assert bool(verdict("HDR-CACHE", exchange)) == is_broken


@pytest.mark.parametrize(
    ("rule", "headers"),
    [
        ("HDR-CONTENT-TYPE-ONCE", [("Content-Type", "a/b"), ("content-type", "a/b")]),
        ("HDR-LENGTH-ONCE", [("Content-Length", "2"), ("content-length", "2")]),
        ("HDR-LENGTH-ONCE", [("Content-Length", "2"), ("Transfer-Encoding", "chunked")]),
        ("HDR-ONCE", [("x-request-id", "1"), ("X-Request-Id", "2")]),
        ("HDR-HOP", [("Proxy-Connection", "keep-alive")]),
        ("HDR-HOP", [("Proxy-Authenticate", "Basic")]),
        ("HDR-HOP", [("Authorization", "Bearer x")]),
    ],
)
def test_headers_that_do_not_belong(rule: str, headers: list[tuple[str, str]]) -> None:
    assert len(verdict(rule, answer(200, {}, headers))) == 1


def test_a_body_has_a_media_type() -> None:
    assert len(verdict("HDR-CONTENT-TYPE", answer(200, {}, (("Content-Type", ""),)))) == 1
    assert verdict("HDR-CONTENT-TYPE", answer(200, {})) == []


def test_lists_may_stand_twice() -> None:
    legal = [("Vary", "a"), ("Vary", "b"), ("Set-Cookie", "a"), ("Set-Cookie", "b")]
    exchange = answer(200, {}, [*legal, ("Connection", "keep-alive"), ("Keep-Alive", "timeout=5")])
    assert verdict("HDR-ONCE", exchange) == []
    assert verdict("HDR-HOP", exchange) == []


def test_numbers_of_limits() -> None:
    def limits(**values: str) -> Any:
        return answer(200, {}, [(f"x-ratelimit-{k}-tokens-minute", v) for k, v in values.items()])

    assert verdict("HDR-LIMIT-NUMBER", limits(limit="10", remaining="0", reset="0.25")) == []
    for bad in ({"limit": "1.5"}, {"remaining": ""}, {"reset": "1s"}, {"limit": "1e3"}):
        assert len(verdict("HDR-LIMIT-NUMBER", limits(**bad))) == 1
    # Names of another vendor are no concern of the contract.
    with pytest.raises(AssertionError, match="does not apply"):
        verdict("HDR-LIMIT-NUMBER", answer(200, {}, [("x-ratelimit-reset-tokens", "1s")]))


def test_limits_that_do_not_fit() -> None:
    def limits(**values: str) -> Any:
        return answer(200, {}, [(f"x-ratelimit-{k}-tokens-minute", v) for k, v in values.items()])

    assert verdict("HDR-LIMIT-FITS", limits(limit="10", remaining="10")) == []
    assert len(verdict("HDR-LIMIT-FITS", limits(limit="10", remaining="11"))) == 1
    assert verdict("HDR-LIMIT-FITS", limits(limit="-1")) == []
    assert len(verdict("HDR-LIMIT-RESET", limits(limit="-1"))) == 1


# ---------------------------------------------------------------------- calls together


def calls(*left: str, limit: str = "100", quota: str = "requests-day", reset: str = "900") -> Probe:
    exchanges = {
        f"call {number}": answer(
            200,
            {},
            [
                (f"x-ratelimit-limit-{quota}", limit),
                (f"x-ratelimit-remaining-{quota}", remaining),
                (f"x-ratelimit-reset-{quota}", reset),
            ],
        )
        for number, remaining in enumerate(left)
    }
    return Probe("1", "calls", exchanges)


def test_limits_that_fall() -> None:
    assert verdict("HDR-LIMIT-FALLS", calls("99", "98", "97")) == []
    assert verdict("HDR-LIMIT-FALLS", calls("99", "99", "99")) == []
    assert verdict("HDR-LIMIT-FALLS", calls("0", "0", limit="0")) == []


def test_limits_that_do_not() -> None:
    assert len(verdict("HDR-LIMIT-FALLS", calls("100", "100", "100"))) == 1
    assert len(verdict("HDR-LIMIT-FALLS", calls("50", "51", "60"))) == 1


def test_limits_that_begin_anew() -> None:
    assert verdict("HDR-LIMIT-FALLS", calls("50", "99", reset="2")) == []
    assert verdict("HDR-LIMIT-FALLS", calls("50", "60", quota="tokens-minute")) == []


def test_no_limits_at_all() -> None:
    probe = Probe("1", "calls", {"a": answer(200, {}), "b": answer(200, {})})
    for rule in ("HDR-LIMIT-FALLS", "HDR-REQUEST-ID-OWN"):
        assert isinstance(verdict(rule, probe)[0], Unsupported)
