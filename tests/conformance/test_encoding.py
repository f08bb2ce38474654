"""ENCODING: every rule is broken by its defects and by nothing legal."""

import gzip
from dataclasses import replace
from typing import Any

import pytest

from wafermock.conformance.exchange import Probe, Sent
from wafermock.conformance.rule import Breach, Unsupported
from wafermock.conformance.rules.encoding import takes

from .judged import KEY, PROFILES, MockEndpoint, answer, broken_in, run, states, verdict

MSGPACK = {"ENC-MSGPACK", "ENC-MSGPACK-VND", "ENC-MSGPACK-X", "ENC-MSGPACK-GZIP"}

DEFECTIVE: dict[str, set[str]] = {
    "msgpack_differs": MSGPACK,
    "msgpack_differs:spelling=/msgpack": {"ENC-MSGPACK", "ENC-MSGPACK-GZIP"},
    "msgpack_differs:spelling=vnd": {"ENC-MSGPACK-VND"},
    "msgpack_differs:spelling=x-msgpack": {"ENC-MSGPACK-X"},
    "gzip_differs": {"ENC-GZIP", "ENC-MSGPACK-GZIP"},
    "chunked_differs": {"ENC-CHUNKED"},
    "encoding_breaks:kind=msgpack": MSGPACK,
    "encoding_breaks:kind=gzip": {"ENC-GZIP", "ENC-MSGPACK-GZIP"},
    "encoding_breaks:kind=chunked": {"ENC-CHUNKED"},
    "no_continue": {"ENC-CONTINUE"},
    "charset": {"ENC-CHARSET"},
    "lone_surrogate": {"ENC-SURROGATE"},
    "gzip_unasked": {"ENC-ACCEPTED", "ENC-IDENTITY"},
    "gzip_label": {"ENC-CODING", "ENC-ACCEPTED", "ENC-IDENTITY"},
    "gzip_unsaid": {"ENC-CODING"},
    "latin1": {"ENC-UTF8"},
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("defect", DEFECTIVE)
def test_a_defect_breaks_its_rules(defect: str, profile: str) -> None:
    campaigns = () if defect == "latin1" else ("encoding",)
    tally = run(MockEndpoint(profile, [defect]), *campaigns)
    assert broken_in("ENCODING", tally) == DEFECTIVE[defect]


def test_a_server_without_an_encoding_is_not_at_fault() -> None:
    """What is refused cleanly is unsupported, what breaks is not; HTTP's own is no option."""
    endpoint = MockEndpoint()
    refused = {"message": "No.", "type": "t", "param": "", "code": "c"}
    plain = endpoint.send(_planned(endpoint))
    for status, kind in ((415, Unsupported), (400, Unsupported), (500, Breach), (302, Breach)):
        probe = Probe("1", "gzip", {"plain": plain, "gzip": answer(status, refused)})
        assert isinstance(verdict("ENC-GZIP", probe, deterministic=True)[0], kind)
        probe = Probe("1", "encoding", {"plain": plain, "chunked": answer(status, refused)})
        assert isinstance(verdict("ENC-CHUNKED", probe, deterministic=True)[0], Breach)


def test_without_a_plain_answer_there_is_nothing_to_compare() -> None:
    endpoint = MockEndpoint()
    good = endpoint.send(_planned(endpoint))
    for probe in (
        Probe("1", "gzip", {"plain": answer(500), "gzip": good}),
        Probe("1", "gzip", {"gzip": good}),
        Probe("1", "gzip", {"plain": good}),
    ):
        assert isinstance(verdict("ENC-GZIP", probe)[0], Unsupported)


def test_a_server_that_is_not_deterministic_is_held_to_its_prompts() -> None:
    def said(words: str, tokens: int) -> Any:
        choice = {"index": 0, "message": {"content": words}, "finish_reason": "stop"}
        return answer(200, {"choices": [choice], "usage": {"prompt_tokens": tokens}})

    same = Probe("1", "gzip", {"plain": said("a", 5), "gzip": said("b", 5)})
    assert verdict("ENC-GZIP", same) == []
    (found,) = verdict("ENC-GZIP", same, deterministic=True)
    assert (found.where, found.state) == ("/choices/0, content", None)
    other = Probe("1", "gzip", {"plain": said("a", 5), "gzip": said("a", 6)})
    (found,) = verdict("ENC-GZIP", other)
    assert found.where == "/usage/prompt_tokens"


def _planned(endpoint: MockEndpoint) -> Any:
    from .judged import repeat

    return repeat(endpoint.contract.profile).requests["first"]


# ---------------------------------------------------------------------- one answer


@pytest.mark.parametrize(
    ("header", "coding", "taken"),
    [
        (None, "gzip", False), ("", "gzip", False), ("gzip", "gzip", True),
        ("gzip, br", "br", True), ("deflate, x-gzip", "gzip", True), ("GZIP;q=0.5", "gzip", True),
        ("gzip;q=0", "gzip", False), ("gzip; q=0.000, *", "gzip", False), ("*", "gzip", True),
        ("*;q=0", "gzip", False), ("identity", "gzip", False), (";;,", "gzip", False),
    ],
)  # fmt: skip
def test_accept_encoding(header: str | None, coding: str, taken: bool) -> None:
    assert takes(header, coding) == taken


def test_answers_that_are_coded_as_asked() -> None:
    body = gzip.compress(b"{}")
    headers = (("Content-Encoding", "gzip"), ("Content-Type", "application/json"))
    asks = Sent("GET", "/", (("Accept-Encoding", "gzip"), ("Authorization", f"Bearer {KEY}")))
    asked = answer(200, body, headers, sent=asks)
    assert verdict("ENC-ACCEPTED", asked) == []
    assert verdict("ENC-CODING", asked) == []
    assert len(verdict("ENC-ACCEPTED", answer(200, body, headers))) == 1


def test_an_answer_in_gzip_says_the_same() -> None:
    endpoint = MockEndpoint()
    planned = _planned(endpoint)
    plain = endpoint.send(planned)
    assert plain.received is not None
    arrival = replace(plain.received.arrivals[0], data=gzip.compress(plain.received.raw))
    headers = (*plain.received.headers, ("Content-Encoding", "gzip"))
    coded = plain.answered(replace(plain.received, arrivals=(arrival,), headers=headers))
    probe = Probe("1", "encoding", {"plain": plain, "accept gzip": coded})
    assert verdict("ENC-ANSWER-GZIP", probe, deterministic=True) == []
    torn = replace(arrival, data=arrival.data[:40])
    cut = plain.answered(replace(plain.received, arrivals=(torn,), headers=headers))
    probe = Probe("1", "encoding", {"plain": plain, "accept gzip": cut})
    assert len(verdict("ENC-ANSWER-GZIP", probe, deterministic=True)) == 1


def test_a_mark_before_json() -> None:
    assert len(verdict("ENC-BOM", answer(200, b"\xef\xbb\xbf{}"))) == 1
    assert verdict("ENC-BOM", answer(200, b"{}")) == []


def test_what_was_cut_is_not_judged() -> None:
    body = gzip.compress(b"{}" * 1000)[:-4]
    exchange = answer(200, body, (("Content-Encoding", "gzip"),))
    assert len(verdict("ENC-CODING", exchange)) == 1
    assert exchange.received is not None
    cut = exchange.answered(replace(exchange.received, ended="cut"))
    with pytest.raises(AssertionError, match="does not apply"):
        verdict("ENC-CODING", cut)


def test_http2_is_compared_where_there_is_any() -> None:
    supported = frozenset({"http2"})
    assert states(run(MockEndpoint(), "encoding", needs=supported))["ENC-HTTP2"] == "PASS"
    assert states(run(MockEndpoint(), "encoding"))["ENC-HTTP2"] == "NOT RUN"
