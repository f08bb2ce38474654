"""No secret is written down, whatever form it has and wherever it stands."""

import base64
import gzip
import json
import zlib
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wafermock.conformance.exchange import Arrival, Exchange, Purpose, Received, Sent
from wafermock.conformance.packing import unpacked
from wafermock.conformance.planned import Subject
from wafermock.conformance.secrets import KEPT, MASK, Masking
from wafermock.reports.run import (
    Budget,
    Capability,
    Cell,
    Cost,
    Endpoint,
    Finding,
    Run,
    Tool,
    Traffic,
    Verdict,
)

KEY = 'csk-abc1"23\\XYZ+/=9-_~'
MASKING = Masking([KEY])


def exchange(
    sent: Sent = Sent("GET", "/"),  # noqa: B008
    received: Received | None = None,
    error: str = "",
) -> Exchange:
    return Exchange(
        "7", Purpose("probes", "plain", "#/paths"), sent, received=received, error=error
    )


FORMS: dict[str, Callable[[str], str]] = {
    "as it is": lambda key: key,
    "in JSON": lambda key: json.dumps(key)[1:-1],
    "in JSON, all escaped": lambda key: "".join(f"\\u{ord(sign):04X}" for sign in key),
    "in JSON in JSON": lambda key: json.dumps(json.dumps(key)[1:-1])[1:-1],
    "with slashes escaped": lambda key: key.replace("/", "\\/"),
    "percent-encoded": lambda key: quote(key, safe=""),
    "percent-encoded, all of it": lambda key: "".join(f"%{byte:02x}" for byte in key.encode()),
    "percent-encoded twice": lambda key: quote(quote(key, safe=""), safe=""),
    "in Base64": lambda key: base64.b64encode(key.encode()).decode(),
    "in Base64, one on": lambda key: base64.b64encode(b":" + key.encode()).decode(),
    "in Base64, two on": lambda key: base64.b64encode(b"u:" + key.encode() + b"@x").decode(),
    "in Base64 for URLs": lambda key: base64.urlsafe_b64encode(key.encode()).decode(),
    "in Base64, percent-encoded": lambda key: quote(base64.b64encode(key.encode()), safe=""),
    "as hexadecimal digits": lambda key: key.encode().hex().upper(),
}  # fmt: skip


def gives_away(text: str | bytes, key: str = KEY) -> bool:
    """Whether a secret stands in a text in any of its forms."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return any(form(key).encode() in data for form in FORMS.values())


def windows(said: bytes) -> set[bytes]:
    """Parts of a secret that are long enough to tell something of it."""
    return {said[start : start + 8] for start in range(len(said) - 7)}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_found(form: str) -> None:
    said = FORMS[form](KEY)
    masked = MASKING.text(f"before {said} behind")
    assert masked == f"before {MASK} behind"


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_may_stand_across_arrivals(form: str) -> None:
    data = b"before " + FORMS[form](KEY).encode() + b" behind"
    for cut in range(len(data)):
        arrivals = (Arrival(0.0, data[:cut]), Arrival(1.0, data[cut:]))
        parts, omitted = MASKING.parts(Received(200, arrivals=arrivals))
        assert b"".join(part.data for part in parts) == MASKING.data(data)
        assert omitted == 0


def test_bytes_without_secrets_stay() -> None:
    data = bytes(range(256)) * 10
    assert MASKING.data(data) == data
    assert MASKING.text("\ud800 csk-abc123 é") == "\ud800 csk-abc123 é"
    assert Masking().text(KEY) == KEY


def test_traffic_keeps_what_is_no_secret() -> None:
    sent = Sent("POST", "/v1/x?a=b", (("Content-Type", "a/b"), ("Authorization", f"Bearer {KEY}")),
                b'{"a": 1}', chunks=(1,), expect_continue=True)  # fmt: skip
    received = Received(
        200, "OK", (("X-A", "1"), ("Set-Cookie", "a=b"), ("x-ratelimit-limit-tokens", "5")),
        (Arrival(0.5, b"one"), Arrival(0.75, b"two")), "cut", framing_fault="closed",
    )  # fmt: skip
    assert MASKING.traffic(exchange(sent, received)) == Traffic(
        "7", "probes", "plain", "POST", "/v1/x?a=b",
        (("Content-Type", "a/b"), ("Authorization", f"Bearer {MASK}"),
         ("Transfer-Encoding", "chunked"), ("Expect", "100-continue")),
        b'{"a": 1}', 200, "OK",
        (("X-A", "1"), ("Set-Cookie", MASK), ("x-ratelimit-limit-tokens", "5")),
        MASKING.traffic(exchange(sent, received)).parts, "cut", "closed", 0, chunks=(1,),
    )  # fmt: skip
    assert MASKING.traffic(exchange(sent, received)).body == b"onetwo"


def test_no_answer_is_told_without_the_key() -> None:
    traffic = MASKING.traffic(exchange(error=f"nobody at {KEY}"))
    assert (traffic.status, traffic.error) == (None, f"nobody at {MASK}")


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("Bearer wafermock-wrong-key", "Bearer wafermock-wrong-key"),
        ("Bearer", "Bearer"),
        ("", ""),
        (f"Bearer {KEY}", f"Bearer {MASK}"),
        (f"bearer  {KEY} ", f"bearer  {MASK} "),
        (KEY, MASK),
        (f"Bearer {KEY[:-1]}", f"Bearer {MASK}"),
        (f"Bearer {KEY[::-1]}{KEY[:5]}", f"Bearer {MASK}"),
        (KEY[2:], MASK),
    ],
)
def test_made_up_keys_are_kept_unless_they_are_like_the_real_one(value: str, kept: str) -> None:
    assert MASKING.request_headers((("Authorization", value),)) == (("Authorization", kept),)


def test_headers_of_the_users_own_are_secrets() -> None:
    basic = base64.b64encode(b"user:hunter22").decode()
    masking = Masking.of(
        Subject(
            "m",
            "csk-1234",
            (
                ("Authorization", f"Basic {basic}"),
                ("Cookie", "sid=abcd1234"),
                ("X-Team", "rivers"),
                ("X-Gateway", "gw-token-1"),
            ),
        )
    )
    said = masking.text(f"{basic} hunter22 abcd1234 csk-1234 rivers gw-token-1")
    assert said == "*** *** *** *** rivers ***"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "GZIP"])
def test_secrets_in_compressed_bodies(coding: str) -> None:
    pack = zlib.compress if coding == "deflate" else gzip.compress
    unpack = zlib.decompress if coding == "deflate" else gzip.decompress
    body = pack(f"wrong key {KEY}, says the server".encode())
    received = Received(401, headers=(("Content-Encoding", coding),),
                        arrivals=(Arrival(0.0, body[:9]), Arrival(1.0, body[9:])))  # fmt: skip
    sent = Sent("POST", "/", (("Content-Encoding", coding),), body)
    traffic = MASKING.traffic(exchange(sent, received))
    assert unpack(traffic.body) == b"wrong key ***, says the server"
    assert unpack(traffic.request_body) == b"wrong key ***, says the server"
    clean = pack(b"no secret")
    assert MASKING.body(clean, coding) == clean


HIDDEN = {
    "behind more than is looked into": ("gzip", gzip.compress(b" " * 5_000_000 + KEY.encode())),
    "in a second member": ("gzip", gzip.compress(b"one") + gzip.compress(KEY.encode())),
    "packed twice": ("gzip, gzip", gzip.compress(gzip.compress(KEY.encode()))),
    "as gzip, unsaid": ("", gzip.compress(KEY.encode())),
    "as deflate without its head": ("deflate", zlib.compress(KEY.encode())[2:-4]),
    "in a coding that is not known here": ("br", b"\x0b\x02\x80" + KEY.encode()),
}


@pytest.mark.parametrize("how", HIDDEN)
def test_a_secret_that_a_server_hides_in_a_coding(how: str) -> None:
    coding, body = HIDDEN[how]
    headers = (("Content-Encoding", coding),) if coding else ()
    received = Received(200, headers=headers, arrivals=(Arrival(0.0, body),))
    kept = MASKING.traffic(exchange(received=received)).body
    assert kept[: len(body)] != body
    assert not gives_away(unpacked(kept, coding or "gzip")[0])
    assert Masking().traffic(exchange(received=received)).body == body


def test_what_was_forgotten_is_told() -> None:
    received = Received(200, arrivals=(Arrival(0.0, b"x" * 50_000), Arrival(1.0, b"y" * 50_000)))
    shortened = received.shortened(60_000)
    assert (shortened.size, len(shortened.raw), shortened.forgotten) == (100_000, 60_000, 40_000)
    assert shortened.shortened(60_000) == shortened
    assert MASKING.parts(shortened)[1] == MASKING.parts(received)[1] == 100_000 - KEPT


def test_no_text_of_a_run_has_a_secret_in_it() -> None:
    """Wherever a server can put a word: its name, its models, why it cannot do something."""
    run = Run(
        tool=Tool("1", "c", "documented", libraries={"a": KEY}),
        endpoint=Endpoint("http://h", KEY, f"server {KEY}"),
        began=1.0,
        seed=0,
        budget=Budget("quick"),
        cost=Cost(),
        rules=(),
        verdicts=(Verdict("R", "UNSUPPORTED", why=f"because {KEY}"),),
        cells=(Cell(KEY, "kind", "", "PASS", 1),),
        capabilities=(Capability("tools", "FAIL", KEY),),
        notes=(KEY,),
        settings={"facts": {KEY: [KEY, 1, None, True]}},
    )
    masked = MASKING.run(run)
    assert not gives_away(repr(masked))
    assert masked.settings == {"facts": {MASK: [MASK, 1, None, True]}}
    assert masked.endpoint.server == f"server {MASK}"
    assert Masking().run(run) == run


def test_a_compressed_body_that_is_cut() -> None:
    body = gzip.compress(f"{KEY} and {KEY}".encode() + bytes(range(256)) * 9)
    traffic = MASKING.traffic(exchange(received=Received(
        200, headers=(("Content-Encoding", "gzip"),), arrivals=(Arrival(0.0, body[:-30]),)
    )))  # fmt: skip
    assert not gives_away(gzip.decompress(traffic.body))


def test_long_bodies_are_cut_and_told() -> None:
    piece = b"x" * 10_000
    arrivals = (Arrival(0.0, piece), Arrival(1.0, piece), Arrival(2.0, piece))
    parts, omitted = MASKING.parts(Received(200, arrivals=arrivals))
    assert [len(part.data) for part in parts] == [10_000, KEPT - 10_000]
    assert omitted == 30_000 - KEPT


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("at", [0, 1, 5, 11, 40])
def test_a_secret_across_the_cut(form: str, at: int) -> None:
    said = FORMS[form](KEY).encode()
    body = b"." * (KEPT - at) + said + b"." * 100
    parts, omitted = MASKING.parts(Received(200, arrivals=(Arrival(0.0, body),)))
    kept = b"".join(part.data for part in parts)
    assert len(kept) <= KEPT
    assert omitted == len(body) - KEPT
    assert not [window for window in windows(said) if window in kept]


def test_a_secret_that_the_server_cut() -> None:
    for length in range(4, len(KEY)):
        arrivals = (Arrival(0.0, b"key " + KEY[:length].encode()),)
        parts, _ = MASKING.parts(Received(200, arrivals=arrivals))
        assert b"".join(part.data for part in parts) == b"key ***"


def test_findings() -> None:
    finding = Finding("1", "R", "FAIL", "#/x", "kind", KEY, f"not {KEY}", f"{KEY}!", curl=KEY,
                      python=KEY)  # fmt: skip
    assert not gives_away(repr(MASKING.finding(finding)))


# ------------------------------------------------------------------------- properties

KEYS = st.text(
    st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="*"),
    min_size=4, max_size=40,
)  # fmt: skip
TEXTS = st.text(max_size=30)


@settings(max_examples=150)
@given(KEYS, st.lists(st.one_of(TEXTS, st.sampled_from(sorted(FORMS))), max_size=8), st.data())
def test_no_secret_is_written_down(key: str, said: list[str], data: st.DataObject) -> None:
    """A body of texts and forms of the key, sent anyhow in pieces: nothing gives the key away."""
    text = "".join(FORMS[word](key) if word in FORMS else word for word in said)
    body = text.encode("utf-8", "surrogatepass")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=4)))
    pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    header = text.replace("\r", "").replace("\n", "").replace("\0", "")
    sent = Sent("POST", "/" + text, (("Authorization", f"Bearer {key}"), ("X-A", header)), body)
    arrivals = tuple(Arrival(float(at), piece) for at, piece in enumerate(pieces))
    received = Received(200, text, (("X-B", text), ("Cookie", text)), arrivals)
    traffic = Masking([key]).traffic(exchange(sent, received, text))
    headers = sum(traffic.headers + traffic.request_headers, ())
    texts = (traffic.target, traffic.reason, traffic.error, traffic.kind, *headers)
    for written in (*texts, traffic.body, traffic.request_body):
        assert not gives_away(written, key), written


@given(KEYS, st.text(max_size=60), st.text(max_size=60))
def test_masking_again_changes_nothing(key: str, before: str, behind: str) -> None:
    masking = Masking([key])
    once = masking.text(before + key + behind)
    assert masking.text(once) == once


@settings(max_examples=50)
@given(st.lists(st.text(min_size=4, max_size=8), max_size=4), st.binary(max_size=80))
def test_whatever_the_secrets_and_the_bytes(secrets: list[str], data: bytes) -> None:
    masking = Masking(secrets)
    masked = masking.data(data)
    for secret in secrets:
        if secret.strip("*"):
            assert secret.encode("utf-8", "surrogatepass") not in masked
