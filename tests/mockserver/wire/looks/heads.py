"""Defects of heads, of errors, and of the first bytes of a body."""

from msgspec.structs import replace

from wafermock.mockserver.exchange import Request

from ..asked import asking
from .before import CHAT
from .case import Case, Look
from .numbers import LIST

BAD_KEY = asking(CHAT, authorization="Bearer wrong")
BAD_METHOD = replace(asking(CHAT), method="DELETE")
BAD_CODING = asking(CHAT, content_encoding="x-unknown")

LOOKS: list[tuple[str | Request, str, Look]] = [
    ("error", "error_unanswered", lambda s, p: s.raw == b"" and s.ended == "closed"),
    ("error", "error_nested", lambda s, p: s.value == {"error": p.value}),
    ("chat stream", "error_event_without_message", lambda s, p:
        s.last["error"]["message"] == "" and s.last["status_code"] == 500),
    (BAD_KEY, "no_challenge", lambda s, p:
        s.status == 401 and "www-authenticate" in p.headers
        and "www-authenticate" not in s.headers),
    (BAD_METHOD, "no_allow", lambda s, p:
        s.status == 405 and "allow" in p.headers and "allow" not in s.headers),
    (BAD_CODING, "no_codings", lambda s, p:
        s.status == 415 and "accept-encoding" in p.headers and "accept-encoding" not in s.headers),
    ("chat", "json_bom", lambda s, p: s.body == b"\xef\xbb\xbf" + p.body),
    ("chat", "no_date", lambda s, p: "date" in p.headers and "date" not in s.headers),
    ("chat stream", "date_form", lambda s, p: s.headers["date"] == "2026-01-01T00:00:00Z"),
    ("chat", "no_content_type", lambda s, p:
        "content-type" not in s.headers and s.body == p.body),
    ("chat stream", "length_beside_chunks", lambda s, p:
        s.headers["content-length"] == "7" and s.headers["transfer-encoding"] == "chunked"
        and s.body == p.body),
    ("chat", "request_id_twice", lambda s, p:
        [name for name, _ in s.fields].count("x-request-id") == 2),
    ("chat", "hop_header", lambda s, p: s.headers["proxy-connection"] == "keep-alive"),
]  # fmt: skip

HEADS = [
    *(Case("defect", text, asked, look) for asked, text, look in LOOKS),
    # To the reader of these tests a body that HTTP does not have looks like any other.
    Case("defect", "body_behind_head", replace(LIST, method="HEAD"), lambda s, p:
         p.body == b"" and len(s.body) == int(s.headers["content-length"])),
]  # fmt: skip
