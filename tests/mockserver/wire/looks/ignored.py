"""Defects of what was asked for and is not kept, and of requests spelt otherwise."""

import json

from msgspec.structs import replace

from wafermock.mockserver.exchange import Request

from ..asked import ASKED, asking
from .before import CHAT, PROMPT, differs
from .case import Case, Look
from .defects import entries
from .numbers import details, shown, tops

THINKING = {**CHAT, "model": "gpt-oss-120b", "max_completion_tokens": 100}
LOGPROBS = ASKED["logprobs"][1]
COMPLETIONS = "/v1/completions"
SHORT = {**CHAT, "max_completion_tokens": 300, "min_tokens": 250}
NAMED = {"content_type": "application/json; charset=utf-8"}


LOOKS: list[tuple[str, Request, Look]] = [
    ("least_ignored", asking(SHORT), lambda s, p:
        s.usage["completion_tokens"] < 250 <= p.usage["completion_tokens"]),
    ("echo_ignored", asking({**PROMPT, "echo": True}, COMPLETIONS), lambda s, p:
        p.text.startswith("Rivers") and not s.text.startswith("Rivers")),
    ("raw_tokens_ignored", asking({**PROMPT, "return_raw_tokens": True}, COMPLETIONS),
     lambda s, p: not p.text and bool(s.text)),
    ("reasoning_format_ignored", asking({**THINKING, "reasoning_format": "hidden"}),
     lambda s, p: shown(s, "reasoning") and not shown(p, "reasoning")),
    ("effort_ignored", asking({**CHAT, "model": "zai-glm-4.7", "reasoning_effort": "none"}),
     lambda s, p: details(s)["reasoning_tokens"] > 0),
    ("alternatives_more", asking(LOGPROBS), lambda s, p: {len(t) for t in tops(s)} == {5}),
    ("alternatives_fewer", asking(LOGPROBS), lambda s, p: {len(t) for t in tops(s)} == {2}),
    ("logprobs_unasked", asking(CHAT), lambda s, p: bool(entries(s)) and s.text == p.text),
    ("charset_differs", asking(CHAT, **NAMED), differs),
    ("expect_differs", asking(CHAT, expect="100-continue"), lambda s, p:
        json.loads(s.raw.split(b"\r\n\r\n")[-1])["choices"]
        != json.loads(p.raw.split(b"\r\n\r\n")[-1])["choices"]),
    ("accept_gzip_differs", asking(CHAT, accept_encoding="gzip"), differs),
    ("http2_differs", asking(CHAT, via="2.0 front"), differs),
    ("escapes_differ", asking(json.dumps({**CHAT, "user": "é"}).encode()), differs),
    ("key_told", replace(asking(b"{"), headers={
        "content-type": "application/json", "authorization": "Bearer key"}), lambda s, p:
        s.status == 400 and " key " in s.value["message"]),
]  # fmt: skip

IGNORED = [Case("defect", text, asked, look) for text, asked, look in LOOKS]
