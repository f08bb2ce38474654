"""Secrets do not leave the journal."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.control.masking import Mask, masked_headers, secrets_in
from wafermock.mockserver.exchange import Request
from wafermock.mockserver.record.catalogue import Pattern, catalogue
from wafermock.mockserver.record.redaction import Redactor
from wafermock.mockserver.script import Subject

SECRET = "csk-abcdefghijklmnop1234"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcDEF-123_xyz"


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("authorization", f"Bearer {SECRET}", "Bearer ***"),
        ("authorization", SECRET, "***"),
        ("proxy-authorization", "Basic dTpw", "Basic ***"),
        ("cookie", "session=abc; theme=dark", "***"),
        ("set-cookie", "a=b", "***"),
        ("x-api-key", SECRET, "***"),
        ("api-key", SECRET, "***"),
        ("x-company-token", "abc", "***"),
        ("x-client-secret", "abc", "***"),
        ("content-type", "application/json", "application/json"),
        ("x-ratelimit-remaining-tokens-minute", "5", "5"),
        ("user-agent", "tokenizer/1", "tokenizer/1"),
    ],
)
def test_headers(name: str, value: str, shown: str) -> None:
    assert masked_headers({name: value}) == {name: shown}


@pytest.mark.parametrize(
    "secret", [SECRET, "sk-proj-abcdefghijklmnop1234", JWT, f"Bearer {SECRET}"]
)
def test_keys_in_texts(secret: str) -> None:
    raw = json.dumps({"messages": [{"content": f"my key is {secret}, keep it"}]}).encode()
    masked = Mask().bytes(raw)
    assert secret.encode() not in masked
    assert b"my key is " in masked
    assert b", keep it" in masked
    json.loads(masked)


@pytest.mark.parametrize("name", ["api_key", "apiKey", "password", "client_secret", "access_token"])
def test_members_that_hold_secrets(name: str) -> None:
    raw = json.dumps({name: 'a"\\b', "text": "stays"}).encode()
    assert json.loads(Mask().bytes(raw)) == {name: "***", "text": "stays"}


@pytest.mark.parametrize(
    "text", ["sk-learn", "the token count", "eyJust", '{"max_tokens": "12"}', '{"key": "C major"}']
)
def test_words_that_look_a_little_like_keys(text: str) -> None:
    assert Mask().bytes(text.encode()) == text.encode()


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("api_key=abc&limit=5", "api_key=***&limit=5"),
        ("limit=5&key=abc", "limit=5&key=***"),
        ("access_token=a", "access_token=***"),
        ("monkey=banana", "monkey=banana"),
        (f"q={SECRET}", "q=csk-***"),
    ],
)
def test_queries(query: str, shown: str) -> None:
    assert Mask().query(query) == shown


def test_a_key_that_a_header_held_is_known_everywhere() -> None:
    headers = {"authorization": "Bearer hunter2!", "x-api-key": "abc"}
    assert (
        Mask(secrets_in(headers)).text("the key hunter2! is abc") == "the key *** is abc"
    )  # too short


# ---------------------------------------------------------------- one catalogue for all


@pytest.mark.parametrize("name", sorted(catalogue().credentials.headers))
def test_what_holds_a_credential_is_shown_by_nobody(name: str) -> None:
    """The journal, the templates of scripts and the recorder go by the same list."""
    header = f"x-{name}".replace("_", "-")
    request = Request("POST", "/", headers={header: "hunter2!", "accept": "*/*"})
    assert masked_headers(request.headers) == {header: "***", "accept": "*/*"}
    assert Subject(request, None, "").headers == {"accept": "*/*"}  # type: ignore[arg-type]
    assert Redactor().header(header, "hunter2!") == "redacted"


@pytest.mark.parametrize("name", sorted(catalogue().credentials.members))
def test_members_and_parameters_of_the_catalogue_are_masked(name: str) -> None:
    raw = json.dumps({f"my_{name}": "hunter2!", "n": 1}).encode()
    assert json.loads(Mask().bytes(raw)) == {f"my_{name}": "***", "n": 1}
    assert Mask().query(f"a=b&my_{name}=hunter2!&c=d") == f"a=b&my_{name}=***&c=d"


@pytest.mark.parametrize("pattern", catalogue().patterns, ids=lambda p: p.signs[0])
def test_a_form_shows_by_its_signs(pattern: Pattern) -> None:
    """A text without the signs is not searched: the expression must find nothing in it."""
    found = EXAMPLES[pattern.signs[0]]
    assert list(pattern.places(found))
    assert any(sign in found.lower() for sign in pattern.signs)
    assert (Mask().text(found) != found) == pattern.is_credential


EXAMPLES = {
    "csk-": SECRET,
    "sk-": "AKIAIOSFODNN7EXAMPLE",
    "eyj": JWT,
    "bearer": "BEARER abcdefghijklm1",
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nabc",
    "org": "org-abcdefgh1",
    "://": "https://ada:lovelace@example.org/",
    "key": "Password: hunter2!",
    "@": "ada@example.org",
}


@given(st.text(st.sampled_from('skpcgh_-aA1 :/@=".'), max_size=60))
def test_signs_lose_nothing(text: str) -> None:
    for pattern in catalogue().patterns:
        if not any(sign in text.lower() for sign in pattern.signs):
            assert not list(pattern.places(text))
