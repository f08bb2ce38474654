"""Defects that act before the answer: something else is answered than what was asked."""

import gzip
import json
from typing import Any

import ormsgpack
from msgspec.structs import replace

from wafermock.mockserver.exchange import Request

from ..asked import asking
from .case import Case, Look

CHAT: dict[str, Any] = {
    "model": "gemma-4-31b",
    "messages": [{"role": "user", "content": "Tell me of rivers."}],
    "max_completion_tokens": 40,
}
PROMPT: dict[str, Any] = {"model": "gpt-oss-120b", "prompt": "Rivers", "max_tokens": 20}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
FORMAT = {"type": "json_object"}


def packed(body: Any, kind: str = "application/vnd.msgpack") -> Request:
    return asking(ormsgpack.packb(body), content_type=kind)


def zipped(body: Any) -> Request:
    raw = gzip.compress(json.dumps(body).encode(), mtime=0)
    return asking(raw, content_encoding="gzip")


STREAM = {**CHAT, "stream": True}

# Requests that are answered otherwise, and requests that are not.
DIFFER: list[tuple[str, Request, Request]] = [
    ("stream_differs", asking(STREAM), asking(CHAT)),
    ("stream_differs", asking({**PROMPT, "stream": True}, "/v1/completions"),
     asking(PROMPT, "/v1/completions")),
    ("null_differs", asking({**CHAT, "stop": None}), asking(CHAT)),
    ("n_one_differs", asking({**CHAT, "n": 1}), asking(CHAT)),
    ("default_differs", asking({**CHAT, "top_p": 1}), asking({**CHAT, "top_p": 0.5})),
    ("white_space_differs", asking(json.dumps(CHAT, indent=2).encode()), asking(CHAT)),
    ("key_order_differs", asking(dict(reversed(CHAT.items()))), asking(CHAT)),
    ("msgpack_differs", packed(CHAT), asking(CHAT)),
    ("msgpack_differs:spelling=x-msgpack",
     replace(packed(PROMPT, "application/x-msgpack"), path="/v1/completions"),
     replace(packed(PROMPT), path="/v1/completions")),
    ("gzip_differs", zipped(CHAT), asking(CHAT)),
    ("chunked_differs", asking(CHAT, transfer_encoding="chunked"), asking(CHAT)),
]  # fmt: skip

# What each defect does to a request that it acts on.
IGNORED: list[tuple[str, Request, Look]] = [
    ("length_ignored", asking({**CHAT, "max_completion_tokens": 3}), lambda s, p:
        s.usage["completion_tokens"] > 3),
    ("stop_ignored", asking({**CHAT, "stop": "e"}), lambda s, p: "e" in s.text),
    ("n_ignored", asking({**CHAT, "n": 2}), lambda s, p: len(s.choices) == 1),
    ("logprobs_ignored", asking({**CHAT, "logprobs": True, "top_logprobs": 2}), lambda s, p:
        b"logprobs" not in s.body),
    ("response_format_ignored", asking({**CHAT, "response_format": FORMAT}), lambda s, p:
        not s.text.startswith("{")),
    ("tool_choice_ignored", asking({**CHAT, "tools": [TOOL], "tool_choice": "required"}),
     lambda s, p: b"tool_calls" not in s.body),
    ("tool_choice_ignored", asking({**CHAT, "tools": [TOOL], "tool_choice": "none"}),
     lambda s, p: b'"tool_calls"' in s.body),
    ("stream_ignored", asking(STREAM), lambda s, p:
        s.headers["content-type"] == "application/json" and s.text == p.text),
    ("always_streams", asking(CHAT), lambda s, p:
        s.headers["content-type"].startswith("text/event-stream") and s.text == p.text),
    ("valid_refused", asking(CHAT), lambda s, p: s.status == 400),
    ("encoding_breaks", packed(CHAT), lambda s, p: s.status == 500),
    ("encoding_breaks:kind=gzip", zipped(CHAT), lambda s, p: s.status == 500),
    ("encoding_breaks:kind=chunked", asking(CHAT, transfer_encoding="chunked"), lambda s, p:
        s.status == 500),
]  # fmt: skip

NO_KEY = Request("POST", "/v1/chat/completions", "", {"content-type": "application/json"},
                 json.dumps(CHAT).encode())  # fmt: skip
# Requests that are to be refused.
ACCEPTED: list[tuple[str, Request]] = [
    ("no_key_accepted", NO_KEY),
    *(("no_key_accepted", replace(NO_KEY, headers={**NO_KEY.headers, "authorization": given}))
      for given in ("Basic x", "Bearer ")),
    ("invalid_accepted", asking({**CHAT, "temperature": 77})),
    ("invalid_accepted", asking({"model": "gpt-oss-120b"})),
    ("unknown_model_accepted", asking({**CHAT, "model": "no-such-model"})),
    ("wrong_key_accepted", asking(CHAT, authorization="Bearer wrong")),
    ("oversize_accepted", asking({**CHAT, "user": "x" * 120_000})),
    ("oversize_accepted", asking({**CHAT, "user": "x" * 120_000}, transfer_encoding="chunked")),
    ("media_type_accepted", asking(CHAT, content_type="text/plain")),
    ("malformed_accepted", asking(b"{")),
    ("malformed_accepted:kind=json", asking(b'{"prompt":', "/v1/completions")),
    ("malformed_accepted:kind=msgpack", asking(b"\xc1", content_type="application/vnd.msgpack")),
    ("malformed_accepted:kind=gzip", asking(b"no gzip", content_encoding="gzip")),
    ("method_accepted", replace(asking(CHAT), method="PUT")),
    ("path_accepted", asking(CHAT, "/v1/no/such/path")),
]  # fmt: skip


def differs(seen: Any, plain: Any) -> bool:
    """Say whether other words were said, and nothing was refused."""
    return bool(seen.status == plain.status == 200 and seen.text != plain.text)


def accepted(seen: Any, plain: Any) -> bool:
    """Say whether a client's fault was passed over, that was none of the server's."""
    return bool(400 <= plain.status < 500 and seen.status == 200)


def ask_another(defect: str, **more: Any) -> Any:
    """Return what puts a call between: one that has the defect too, and other words."""
    asked = asking({**PROMPT, "prompt": "Mountains", "echo": True, **more}, "/v1/completions")
    return lambda bench: bench.get(asked, "defect", defect)


def another_s(seen: Any, plain: Any) -> bool:
    """Say whether the answer is that of the call before."""
    return bool(seen.status == 200 and seen.text.startswith("Mountains"))


EXPECTING = asking(CHAT, expect="100-continue")
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

BEFORE: list[Case] = [
    *(Case("defect", text, other, differs) for text, other, _ in DIFFER),
    Case("defect", "unrepeatable", asking({**CHAT, "seed": 1, "temperature": 0}), differs),
    *(Case("defect", text, asked, look) for text, asked, look in IGNORED),
    *(Case("defect", text, asked, accepted) for text, asked in ACCEPTED),
    Case("defect", "mixed_up", asking(PROMPT, "/v1/completions"), another_s,
         ask_another("mixed_up")),
    Case("defect", "mixed_up", asking({**PROMPT, "stream": True}, "/v1/completions"), another_s,
         ask_another("mixed_up", stream=True)),
    Case("defect", "hang_up_spoils", asking(CHAT), lambda s, p:
         s.status == 500 and s.value["type"] == "server_error",
         lambda bench: bench.hang_up(asking(STREAM))),
    Case("defect", "no_continue", EXPECTING, lambda s, p:
         p.raw.startswith(CONTINUE) and s.raw.startswith(b"HTTP/1.1 200 ")
         and s.value == json.loads(p.raw.split(b"\r\n\r\n")[-1])),
]  # fmt: skip
