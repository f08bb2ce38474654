"""Secrets planted in every place, and everything else left as it was."""

import base64
import gzip
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wafermock.mockserver.exchange import Request
from wafermock.mockserver.record.bounded import Searcher, TooSlow, bounded
from wafermock.mockserver.record.catalogue import Pattern
from wafermock.mockserver.record.json_text import anatomy, literal
from wafermock.mockserver.record.redaction import Redactor, secrets_of

KEY = "csk-9f8e7d6c5b4a39281706f5e4d3c2b1a0"
EMAIL = "ada.lovelace+test@mail.example.org"
ORG = "org-Ab12Cd34Ef56"
PLANTED = (KEY, EMAIL, ORG)


def redacted(body: bytes, kind: str = "application/json", known: tuple[str, ...] = ()) -> bytes:
    return b"".join(Redactor(known=known).pieces([body], kind))


@pytest.mark.parametrize("secret", PLANTED)
@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "Write to {}.",
        "a\n{}\nb",
        '{{"a": "see {}"}}',
        '{{"{}": 1}}',
        '["\\n{}\\t"]',
        'before {{"a": "{}"}}',
        "https://example.org/?q={}&x=1",
        "a%20{}%20b",
        "x" * 5000 + " {}",
        "word_" * 100 + "{}",
        "{0}" * 20,
    ],
)
def test_a_form_is_found_anywhere(secret: str, text: str) -> None:
    assert secret not in Redactor().text(text.format(secret))


@pytest.mark.parametrize("secret", PLANTED)
def test_escapes_hide_nothing(secret: str) -> None:
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in secret)
    inside = json.dumps({"arguments": json.dumps({"to": json.dumps([secret])})})
    for body in (f'{{"a":"x {escaped} y","b":1}}', inside):
        out = redacted(body.encode())
        data = json.loads(out)
        assert secret not in json.dumps(data)
        assert secret not in out.decode()


@pytest.mark.parametrize("secret", PLANTED)
def test_base64_hides_nothing(secret: str) -> None:
    written = base64.b64encode(f"user:{secret}".encode()).decode()
    out = Redactor().text(f"Basic {written}")
    assert written not in out
    assert secret not in base64.b64decode(out.removeprefix("Basic ")).decode()


@pytest.mark.parametrize(
    "spell", [str, json.dumps, lambda s: base64.b64encode(s.encode()).decode()]
)
@pytest.mark.parametrize("shift", ["", "x", "xy"])
def test_a_known_secret_is_found_again(spell: object, shift: str) -> None:
    secret = "open sesame/42"
    text = spell(shift + secret)  # type: ignore[operator]
    out = Redactor(known=[secret]).text(f"you said {text}!")
    assert out != f"you said {text}!"
    assert secret not in out


def test_what_a_request_carries_is_known() -> None:
    basic = base64.b64encode(b"ada-the-user:long-password").decode()
    request = Request(
        "POST",
        "/v1/x",
        "key=query-secret&model=plain-model",
        {
            "authorization": "Bearer not-a-known-form",
            "proxy-authorization": f"Basic {basic}",
            "cookie": "a=cookie-one; b=cookie-two",
            "openai-organization": "my-organisation",
            "x-request-id": "request-0001",
            "user-agent": "python-client",
        },
    )
    assert secrets_of(request) == {
        "not-a-known-form",
        basic,
        "ada-the-user:long-password",
        "ada-the-user",
        "long-password",
        "cookie-one",
        "cookie-two",
        "my-organisation",
        "query-secret",
    }


@pytest.mark.parametrize(
    ("name", "value", "left"),
    [
        ("Authorization", "Bearer abc", "Bearer redacted"),
        ("X-Api-Key", "abc", "redacted"),
        ("Set-Cookie", "a=b; Path=/", "redacted"),
        ("OpenAI-Organization", "my-org", "redacted"),
        ("x-amz-security-token", "abc", "redacted"),
        ("x-ratelimit-remaining-tokens-minute", "1000", "1000"),
        ("www-authenticate", 'Bearer realm="x"', 'Bearer realm="x"'),
        ("x-served-for", EMAIL, "redacted@example.invalid"),
        ("location", f"https://example.org/?a=1&to={EMAIL}", None),
    ],
)
def test_headers(name: str, value: str, left: str | None) -> None:
    out = Redactor().header(name, value)
    assert out == left if left is not None else EMAIL not in out


def test_a_query_keeps_its_spelling() -> None:
    query = "a=%41+b&api_key=abc&&to=ada%40example.org&flag&%6Bey=x"
    want = "a=%41+b&api_key=redacted&&to=redacted%40example.invalid&flag&%6Bey=redacted"
    assert Redactor().query(query) == want


def test_names_of_secrets_hide_values_of_any_form() -> None:
    body = {
        "organization_id": 12345,
        "orgId": "x",
        "apiKey": "y",
        "email": ["a", "b"],
        "password": "",
        "token": "Hello",
        "tokens": 3,
        "properties": {"email": {"type": "string"}},
        "secret": None,
    }
    out = json.loads(redacted(json.dumps(body).encode()))
    assert out == {
        **body,
        "organization_id": 0,
        "orgId": "redacted",
        "apiKey": "redacted",
        "email": ["redacted", "redacted"],
    }
    assert Redactor().data(body) == out


def test_every_other_byte_stays() -> None:
    body = b'{ "a" : 1.50,\t"e\\u0041":"x", "to": "%s", "b":[ ] }\r\n' % EMAIL.encode()
    out = redacted(body)
    assert out == body.replace(EMAIL.encode(), b"redacted@example.invalid")


@pytest.mark.parametrize(
    "text",
    [
        "Basic programming for 2 beginners; bearer instruments of 1999",
        "use sk-learn-extensions and org-mode-plus",
        "@app.route('/x') def f(a: int) -> str: ...",
        "chatcmpl-292e278f-514e-4186-9010-91ce6a14168b fp_70185065a4 049d9b129",
        "the password is short; secret sauce",
        "redacted@example.invalid csk-redacted org-redacted",
        '{"id": "chatcmpl-1", "token": "Hello", "organic": "food"}',
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert Redactor().text(text) == text


def chunk(content: str, index: int = 0, **more: object) -> dict[str, object]:
    choice = {"delta": {"content": content}, "index": index, **more}
    return {"id": "chatcmpl-1", "choices": [choice], "model": "m"}


def stream(*chunks: object) -> bytes:
    return b"".join(f"data: {json.dumps(c)}\n\n".encode() for c in chunks) + b"data: [DONE]\n\n"


def told(body: bytes, index: int = 0) -> str:
    lines = body.decode().split("\n\n")
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]
    choices = [choice for c in chunks for choice in c["choices"] if choice["index"] == index]
    return "".join(choice["delta"].get("content", "") for choice in choices)


@given(st.sampled_from(PLANTED), st.data())
def test_a_secret_told_piece_by_piece(secret: str, data: st.DataObject) -> None:
    whole = f"Ask {secret} about it, or not."
    cuts = sorted(data.draw(st.sets(st.integers(1, len(whole) - 1), max_size=12)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    other = [chunk("plain", index=1) for _ in pieces]
    chunks = [c for pair in zip([chunk(p) for p in pieces], other, strict=True) for c in pair]
    out = redacted(stream(*chunks), "text/event-stream; charset=utf-8")
    said = told(out)
    assert secret not in said
    assert said.startswith("Ask ")
    assert said.endswith(" about it, or not.")
    assert told(out, 1) == "plain" * len(pieces)


def test_arguments_told_piece_by_piece() -> None:
    arguments = json.dumps({"api_key": "short1", "city": "Paris"})
    calls = [
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": letter}}]}}]}
        for letter in arguments
    ]
    out = redacted(stream(*calls), "text/event-stream")
    events = [json.loads(e.removeprefix("data: ")) for e in out.decode().split("\n\n")[:-2]]
    joined = "".join(
        e["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] for e in events
    )
    assert json.loads(joined) == {"api_key": "redacted", "city": "Paris"}


def test_logprobs_tell_a_secret_neither() -> None:
    tokens = ["to ", "ada", "@exam", "ple.org", " now"]
    content = [
        {
            "token": t,
            "logprob": -1,
            "bytes": list(t.encode()),
            "top_logprobs": [{"token": t, "logprob": -1, "bytes": list(t.encode())}],
        }
        for t in tokens
    ]
    body = {
        "choices": [{"message": {"content": "".join(tokens)}, "logprobs": {"content": content}}]
    }
    out = json.loads(redacted(json.dumps(body).encode()))
    logprobs = out["choices"][0]["logprobs"]["content"]
    assert [entry["token"] for entry in logprobs] == [
        "to ",
        "redacted@example.invalid",
        "",
        "",
        " now",
    ]
    assert [entry["bytes"] for entry in logprobs][1:4] == [[], [], []]
    assert "ple.org" not in json.dumps(out)
    assert logprobs[0] == content[0]


def test_a_stream_keeps_its_other_bytes() -> None:
    body = b': hello\r\nid: 7\rdata:{"a":1}\n\ndata: x\ndata: [DONE]\n\nevent: e\n'
    assert redacted(body, "text/event-stream") == body


def test_a_cut_body_gives_no_beginning_away() -> None:
    body = b'data: {"message": "your key is open-sesame-4'
    out = redacted(body, "text/event-stream", known=("open-sesame-42",))
    assert b"sesame" not in out


def test_bytes_that_are_no_text() -> None:
    noise = gzip.compress(bytes(range(256)) * 50, mtime=0)
    assert redacted(noise, "application/octet-stream") == noise
    out = redacted(noise + b"\0mail: " + EMAIL.encode() + b"\0" + noise, "image/png")
    assert EMAIL.encode() not in out
    assert out.startswith(noise)
    assert out.endswith(noise)


@given(
    st.lists(st.sampled_from(["a", "é", EMAIL, KEY, "🙂", '"', "\\", " "]), max_size=8), st.data()
)
def test_pieces_keep_their_cuts(texts: list[str], data: st.DataObject) -> None:
    body = "".join(texts).encode()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(body)), max_size=4)))
    pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    out = Redactor().pieces(pieces, "text/plain")
    assert len(out) == len(pieces)
    assert b"".join(out) == redacted(body, "text/plain")
    assert EMAIL.encode() not in b"".join(out)
    assert KEY.encode() not in b"".join(out)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(JSON)
def test_leaves_stand_where_they_are_said_to(value: object) -> None:
    for ascii_only in (True, False):
        text = json.dumps(value, ensure_ascii=ascii_only)
        for leaf in anatomy(text).leaves:
            part = text[leaf.start : leaf.end]
            if leaf.is_number:
                assert part == leaf.value
                continue
            assert json.loads(part) == leaf.value
            assert json.loads(literal(leaf.value, part)) == leaf.value


@given(st.text(max_size=60), st.integers(0, 60))
def test_any_text_can_be_looked_through(text: str, cut: int) -> None:
    redactor = Redactor()
    for each in (text, '{"' + text, json.dumps({"a": [text]})[:cut]):
        out = redactor.text(each)
        assert redactor.text(out) == out


def test_patterns_can_be_added() -> None:
    redactor = Redactor([Pattern(re.compile(r"PROJECT-\d+"))])
    assert redactor.text('{"a": "see \\u0050ROJECT-42"}') == '{"a": "see redacted"}'
    assert (
        redactor.knowing(["another-secret"]).text("PROJECT-1 another-secret") == "redacted redacted"
    )


# ---------------------------------------------------------------------- expressions of a user


def test_a_users_expression_is_searched_for_in_a_process_of_its_own() -> None:
    searcher = Searcher([re.compile(r"no: (?P<secret>\d+)"), re.compile("ä(?=b)")])
    redactor = Redactor(bounded(searcher))
    assert redactor.text("no: 12, äb, äc, no: 3") == "no: redacted, redactedb, äc, no: redacted"
    assert redactor.text("half a pair: \ud800 no: 1") == "half a pair: \ud800 no: redacted"
    searcher.close()
    assert redactor.text("no: 4") == "no: redacted"  # it starts again
    searcher.close()


def test_an_expression_that_takes_too_long_is_given_up() -> None:
    """It would take hours: the process is killed, and the next text has a fresh one."""
    searcher = Searcher([re.compile("(a+)+$")], patience=0.2)
    redactor = Redactor(bounded(searcher))
    with pytest.raises(TooSlow, match=re.escape("--redact '(a+)+$' took more")):
        redactor.text("a" * 60 + "b")
    searcher.close()
