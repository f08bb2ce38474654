"""The header `Prefer`: what is understood, and what is passed over."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.exchange import Request
from wafermock.mockserver.mock import Mock
from wafermock.mockserver.prefer import NONE, Preferences, read_preferences
from wafermock.mockserver.refusal import Refusal
from wafermock.mockserver.service import Service
from wafermock.spec import load_contract


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        (None, NONE),
        ("", NONE),
        ("code=429", Preferences(code=429)),
        ("Code = 429", Preferences(code=429)),
        ('code="429"', Preferences(code=429)),
        ("example=Streaming", Preferences(example="Streaming")),
        ('example="Image Input"', Preferences(example="Image Input")),
        ('example="a, b; c=d"', Preferences(example="a, b; c=d")),
        (r'example="say \"hi\" \\o/"', Preferences(example=r'say "hi" \o/')),
        ("dynamic=true", Preferences(dynamic=True)),
        ("dynamic=TRUE", Preferences(dynamic=True)),
        ("code=404, example=x", Preferences(example="x", code=404)),
        ("code=404; example=x", Preferences(example="x", code=404)),
        ("respond-async, wait=10, code=503", Preferences(code=503)),
        ("respond-async; foo=bar; code=503", Preferences(code=503)),
        (",;, ,code=503,", Preferences(code=503)),
        # RFC 7240, section 2: the first of several counts.
        ("code=404, code=503", Preferences(code=404)),
        ("code=404, code=abc", Preferences(code=404)),
        ("dynamic=false", NONE),
        # Other preferences are passed over (RFC 7240, section 2).
        ("xcode=404", NONE),
        ("return=minimal", NONE),
        ("=404", NONE),
        ('"code=404"', NONE),
    ],
)
def test_read(header: str | None, wanted: Preferences) -> None:
    assert read_preferences(header) == wanted


STATUS = "a status from 100 to 599"
BOOLEAN = "true or false"
EXAMPLE = "the name of an example"


@pytest.mark.parametrize(
    ("header", "name", "value", "wanted"),
    [
        ("code=99", "code", "99", STATUS),
        ("code=600", "code", "600", STATUS),
        ("code=٤٢٩", "code", "٤٢٩", STATUS),
        ("code=4290", "code", "4290", STATUS),
        ("code=abc", "code", "abc", STATUS),
        ("code=abc, code=404", "code", "abc", STATUS),
        ("code=-404", "code", "-404", STATUS),
        ("code", "code", "", STATUS),
        ("code=", "code", "", STATUS),
        ("respond-async; code=4O4", "code", "4O4", STATUS),
        ("code=" + "9" * 1000, "code", "9" * 32 + "…", STATUS),
        ("example=", "example", "", EXAMPLE),
        ('example=""', "example", "", EXAMPLE),
        ("dynamic", "dynamic", "", BOOLEAN),
        ("dynamic=1", "dynamic", "1", BOOLEAN),
        ("dynamic=ture", "dynamic", "ture", BOOLEAN),
    ],
)
def test_a_slip_of_the_pen_is_told(header: str, name: str, value: str, wanted: str) -> None:
    with pytest.raises(Refusal) as caught:
        read_preferences(header)
    assert caught.value.error == "malformed_preference"
    assert caught.value.values == {"name": name, "value": value, "wanted": wanted}


@pytest.mark.parametrize("profile", ["documented", "observed"])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/models", "/v1/tcp_warming"])
def test_the_answer_says_what_was_meant(profile: str, path: str) -> None:
    method = "POST" if path.endswith("completions") else "GET"
    body = b'{"model": "gpt-oss-120b", "messages": [{"role": "user", "content": "Hi"}]}'
    headers = {
        "authorization": "Bearer key", "content-type": "application/json", "prefer": "code=abc"
    }  # fmt: skip
    request = Request(method, path, "", headers, body if method == "POST" else b"")
    answer = Service(Mock(load_contract(profile))).begin(request).answer
    assert answer.status == 400
    assert "preference-applied" not in answer.headers
    said = answer.body.decode() + answer.headers.get("x-wafermock-violations", "")
    assert "The preference code is a status from 100 to 599, not 'abc'." in said


@given(st.text(st.characters(exclude_characters="\r\n\x00", exclude_categories=["Cs"])))
def test_any_header_is_read_or_refused(header: str) -> None:
    with contextlib.suppress(Refusal):
        found = read_preferences(header)
        assert found.code is None or 100 <= found.code < 600


@given(st.text(st.sampled_from('ab"\\,;= é'), min_size=1), st.none() | st.integers(100, 599))
def test_what_was_applied_reads_back(example: str, code: int | None) -> None:
    preferences = Preferences(example=example, code=code, dynamic=code is None)
    assert read_preferences(preferences.applied) == preferences


def test_a_long_hostile_header_is_read_in_linear_time() -> None:
    # Quadratic reading would take minutes here, and linear reading milliseconds.
    assert read_preferences('"\\' * 500_000) == NONE
    assert read_preferences("a" * 1_000_000 + "=") == NONE
